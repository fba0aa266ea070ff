// The elements of a timeline, made and put into its place.

import { type Acts, controls } from "./controls.ts";
import type { TimelineData } from "./data.ts";
import { element } from "./elements.ts";
import { HELP } from "./keys.ts";
import type { RowKind } from "./rows.ts";

export interface Parts {
  search: HTMLInputElement;
  /** The whole time in one strip. */
  whole: HTMLCanvasElement;
  /** The focusable area: the picture and its overlays. */
  stage: HTMLElement;
  picture: HTMLCanvasElement;
  marks: HTMLCanvasElement;
  tip: HTMLElement;
  legend: HTMLElement;
  panel: HTMLElement;
  details: HTMLDetailsElement;
  table: HTMLTableElement;
  /** Announcements for screen readers. */
  said: HTMLElement;
}

const KINDS: { key: RowKind; label: string }[] = [
  { key: "cores", label: "cores" },
  { key: "hosts", label: "hosts" },
  { key: "lanes", label: "jobs" },
];

const GPU_KINDS: { key: RowKind; label: string }[] = [
  { key: "gpus", label: "GPUs" },
  { key: "gpu-hosts", label: "GPUs of hosts" },
];

export function partsOf(place: HTMLElement, data: TimelineData, schemes: { key: string; label: string }[], acts: Acts): Parts {
  const hidden = { "aria-hidden": "true" };
  const { bar, search } = controls(data.gpus ? [...KINDS, ...GPU_KINDS] : KINDS, schemes, acts);
  const help = element("p", "timeline-help", {}, HELP);
  help.id = `${place.dataset["timeline"] ?? "timeline"}-help`;
  const picture = element("canvas", "timeline-picture", hidden);
  const marks = element("canvas", "timeline-marks", hidden);
  const tip = element("div", "timeline-tip", hidden);
  const about = {
    tabindex: "0",
    role: "application",
    "aria-label": `timeline of ${data.jobs.count} jobs on ${data.cores} cores${data.gpus ? ` and ${data.gpus.ofHost[data.hosts.length]} GPUs` : ""}`,
    "aria-describedby": help.id,
  };
  const stage = element("div", "timeline-stage", about, picture, marks, tip);
  const whole = element("canvas", "timeline-overview", hidden);
  const legend = element("ul", "timeline-legend", { "aria-label": "legend" });
  const panel = element("section", "timeline-job", { "aria-label": "chosen job" });
  const table = element("table", "");
  const summary = element("summary", "", {}, "Visible jobs as a table");
  const details = element("details", "timeline-table", {}, summary, table);
  const keys = element("details", "timeline-keys", {}, element("summary", "", {}, "Keys"), help);
  const said = element("div", "timeline-said", { role: "status", "aria-live": "polite" });
  panel.hidden = tip.hidden = true;
  place.replaceChildren(bar, whole, stage, legend, panel, details, keys, said);
  return { search, whole, stage, picture, marks, tip, legend, panel, details, table, said };
}
