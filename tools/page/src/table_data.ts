// A table as a page carries it: columns of numbers, and of places among texts.

import type { NumberArray, Packed } from "./columns.ts";
import { clock, duration, NONE, real, whole } from "./format.ts";

export type Kind = "whole" | "real" | "duration" | "instant" | "text" | "truth";

export interface Column {
  name: string;
  label: string;
  kind: Kind;
  shown: boolean; // until somebody chooses others
  definition: string; // empty: there is none
  cells: NumberArray;
  texts: readonly string[]; // of a column of text: what its cells are places among
}

export interface TableData {
  rows: number;
  key: string; // the column that says which job a row is of; empty: rows are no jobs
  columns: Column[];
}

interface About {
  rows: number;
  key: string;
  columns: { name: string; label: string; kind: Kind; shown: boolean; definition: string; texts: string[] }[];
}

export function tableData(packed: Packed): TableData {
  const about = packed.about as unknown as About;
  const columns = about.columns.map((one) => {
    const cells = packed.columns.get(one.name);
    if (!cells || cells.length !== about.rows) throw new Error(`no column ${one.name}`);
    return { ...one, cells };
  });
  return { rows: about.rows, key: about.key, columns };
}

/** Columns of the jobs that caused a start (docs/reference/compare.md): -1 if none did. */
const CAUSES = /^cause_(job|attempt)_[ab]$/;

/** Columns of numbers that are names, without separators of thousands. */
const NAMES = /^seed$|job_id$|_job(_[ab])?$/;

/** Whether a cell has no value: NaN, no causing job, or the instant of an event that never happened. */
export function missing(column: Column, row: number): boolean {
  const cell = column.cells[row]!;
  if (CAUSES.test(column.name)) return cell < 0;
  if (column.kind === "instant") return cell < 0;
  if (column.kind === "text") return column.texts[Number(cell)] === "";
  return Number.isNaN(cell);
}

/** A cell as a number: of a text its place. */
export function numberAt(column: Column, row: number): number {
  return Number(column.cells[row]!);
}

export function textAt(column: Column, row: number): string {
  if (missing(column, row)) return NONE;
  const cell = column.cells[row]!;
  switch (column.kind) {
    case "text":
      return column.texts[Number(cell)]!;
    case "truth":
      return cell ? "yes" : "no";
    case "whole":
      return NAMES.test(column.name) ? String(cell).replace("-", "−") : whole(cell);
    case "real":
      return real(Number(cell));
    case "instant":
      return clock(Number(cell));
    default:
      return duration(Number(cell));
  }
}

/** What a cell says exactly, where its text is rounded; else empty. */
export function exactAt(column: Column, row: number): string {
  if (missing(column, row)) return "";
  if (column.kind === "duration" || column.kind === "instant") return `${column.cells[row]!} ns`;
  return column.kind === "real" ? String(column.cells[row]!) : "";
}

/** Rows as comma-separated values, exact: times in ns, nothing for a missing value. */
export function csv(columns: readonly Column[], order: Iterable<number>): string {
  const quoted = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const cell = (one: Column, row: number): string => {
    if (missing(one, row)) return "";
    return one.kind === "text" ? one.texts[Number(one.cells[row]!)]! : String(one.cells[row]!);
  };
  const lines = [columns.map((one) => quoted(one.name)).join(",")];
  for (const row of order) lines.push(columns.map((one) => quoted(cell(one, row))).join(","));
  return `${lines.join("\n")}\n`;
}

/** Rows in the order of a column; what is missing comes last, and equal rows stay as they were. */
export function sorted(order: Uint32Array, column: Column, descending: boolean): Uint32Array {
  let cells: NumberArray | Uint32Array = column.cells;
  if (column.kind === "text") {
    const places = column.texts.map((text, place) => ({ text, place }));
    places.sort((a, b) => a.text.localeCompare(b.text, "en", { numeric: true }));
    const ranks = new Uint32Array(places.length);
    places.forEach((one, rank) => (ranks[one.place] = rank));
    cells = Uint32Array.from(column.cells as ArrayLike<number>, (place) => ranks[place]!);
  }
  const sign = descending ? -1 : 1;
  const there = order.filter((row) => !missing(column, row));
  const others = order.filter((row) => missing(column, row));
  there.sort((a, b) => {
    const first = cells[a]!;
    const second = cells[b]!;
    return first < second ? -sign : first > second ? sign : a - b;
  });
  const all = new Uint32Array(order.length);
  all.set(there);
  all.set(others, there.length);
  return all;
}
