// Diagrams as Vega-Lite describes them, in the colours of the page.

import type { TopLevelSpec } from "vega-lite";

import { colour } from "./elements.ts";

export interface Choice {
  x: string;
  y: string;
  colour: string;
}

/** A histogram; points; points in groups, with the mean of each. */
export const KINDS = { count: "count", points: "points", groups: "groups" } as const;
type Kind = (typeof KINDS)[keyof typeof KINDS];

const HEIGHT = 300;
const ROW_HEIGHT = 34;

// Of eight colours that are told apart by those who see fewer, too (Okabe and Ito), the darker half first.
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a6d00", "#7a7a7a", "#5b4ea3", "#a3322c", "#3f7d20", "#b05a9b"];

/**
 * The description of a diagram of values with `x`, perhaps `y` or `group`, perhaps `colour`, and `row`: whose cells hovering
 * tells.
 */
export function diagram(
  kind: Kind,
  values: readonly { group?: unknown }[],
  axes: readonly string[],
  group: string,
  by: string,
  width: number,
): TopLevelSpec {
  const area = { name: "area", select: { type: "interval", encodings: kind === KINDS.points ? ["x", "y"] : ["x"] } };
  const across = { field: "x", type: "quantitative", title: axes[0] };
  const ofColour = by ? { color: { field: "colour", type: "nominal", title: by, scale: { range: COLOURS } } } : {};
  const common = { data: { values }, width, autosize: { type: "fit-x", contains: "padding" }, background: null, config: config() };
  if (kind === KINDS.count) {
    return {
      ...common,
      height: HEIGHT,
      description: `Histogram of ${axes[0]}`,
      params: [area],
      mark: { type: "bar", color: colour("--accent") },
      encoding: {
        x: { ...across, bin: { maxbins: 50 } },
        y: { aggregate: "count", type: "quantitative", title: "rows" },
        ...ofColour,
      },
    } as unknown as TopLevelSpec;
  }
  if (kind === KINDS.points) {
    return {
      ...common,
      height: HEIGHT,
      description: `${axes[1]} against ${axes[0]}, one point per row`,
      params: [area],
      mark: { type: "point", filled: true, size: 26, opacity: 0.65, color: colour("--accent") },
      encoding: {
        x: across,
        y: { field: "y", type: "quantitative", title: axes[1] },
        tooltip: { field: "row" },
        ...ofColour,
      },
    } as unknown as TopLevelSpec;
  }
  const rows = { field: "group", type: "nominal", title: group, axis: { labelLimit: 220 } };
  return {
    ...common,
    height: ROW_HEIGHT * new Set(values.map((value) => value.group)).size,
    description: `${axes[0]} by ${group}, one point per row, and means`,
    layer: [
      {
        params: [area],
        mark: { type: "point", filled: true, size: 34, opacity: 0.6, color: colour("--accent") },
        encoding: { x: { ...across, scale: { zero: false } }, y: rows, tooltip: { field: "row" }, ...ofColour },
      },
      {
        mark: { type: "tick", thickness: 2, color: colour("--ink") },
        encoding: { x: { ...across, aggregate: "mean" }, y: rows },
      },
    ],
  } as unknown as TopLevelSpec;
}

function config(): Record<string, unknown> {
  const ink = colour("--ink");
  const quiet = colour("--quiet");
  const line = colour("--line");
  const font = getComputedStyle(document.body).fontFamily;
  return {
    font,
    view: { stroke: null },
    axis: { labelColor: quiet, titleColor: ink, gridColor: line, domainColor: line, tickColor: line, labelFontSize: 12, titleFontSize: 12, titleFontWeight: 500, titlePadding: 8 },
    legend: { labelColor: ink, titleColor: ink, labelFontSize: 12, titleFontSize: 12, titleFontWeight: 500, orient: "bottom", direction: "horizontal", columns: 4 },
  };
}
