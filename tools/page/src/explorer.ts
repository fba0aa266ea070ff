// A diagram of a table: two of its columns as points, or one as a histogram, coloured by a third.

import { parse, View } from "vega";
import { expressionInterpreter } from "vega-interpreter";
import { compile } from "vega-lite";

import { element } from "./elements.ts";
import { diagram, KINDS, type Choice } from "./diagram.ts";
import { unitOf, whole } from "./format.ts";
import { keep, kept } from "./kept.ts";
import type { Chosen } from "./table.ts";
import { missing, numberAt, textAt, type Column, type TableData } from "./table_data.ts";

const COUNT = "count";
const NO_COLOUR = "none";
const MOST_ROWS = 20_000;
const MOST_COLOURS = 12;

/** One diagram and its three lists: what is across, what is up, and what colours say. */
export function mountExplorer(place: HTMLElement, table: string, data: TableData): void {
  new Explorer(place, table, data);
}

class Explorer {
  readonly #table: string;
  readonly #data: TableData;
  readonly #canvas = element("div", { class: "diagram" });
  readonly #tip = element("div", { class: "tip", role: "presentation" });
  readonly #said = element("p", { class: "said", role: "status" });
  readonly #lists: { x: HTMLSelectElement; y: HTMLSelectElement; colour: HTMLSelectElement };
  #view: View | undefined;
  #width = 0;

  constructor(place: HTMLElement, table: string, data: TableData) {
    this.#table = table;
    this.#data = data;
    const before = kept<Choice>(`${table} diagram`);
    const first: Choice = { x: place.dataset["x"]!, y: place.dataset["y"]!, colour: place.dataset["colour"]! };
    const measured = data.columns.filter((one) => one.kind !== "text" && !constant(one, data.rows));
    const grouped = data.columns.filter((one) => groups(one) >= 2 && groups(one) <= MOST_COLOURS);
    const chosen = { ...first, ...before };
    this.#lists = {
      x: this.#list("x axis", measured, [], chosen.x),
      y: this.#list("y axis", [...measured, ...grouped], [COUNT], chosen.y),
      colour: this.#list("Colour", grouped, [NO_COLOUR], chosen.colour),
    };
    const reset = element("button", { type: "button" }, "Reset");
    reset.addEventListener("click", () => {
      for (const name of ["x", "y", "colour"] as const) select(this.#lists[name], first[name]);
      this.#draw();
    });
    const tools = element("div", { class: "tools" });
    for (const list of Object.values(this.#lists)) tools.append(list.parentElement!);
    tools.append(reset);
    place.replaceChildren(tools, this.#canvas, this.#tip, this.#said);
    document.addEventListener("twolevel:theme", () => this.#draw());
    document.addEventListener("twolevel:unchosen", (event) => {
      if ((event as CustomEvent<string>).detail === table) this.#draw();
    });
    new ResizeObserver(() => {
      if (Math.abs(this.#canvas.clientWidth - this.#width) > 1) this.#draw();
    }).observe(this.#canvas);
  }

  #list(name: string, columns: readonly Column[], others: readonly string[], chosen: string): HTMLSelectElement {
    const made = element("select");
    for (const word of others) made.append(element("option", { value: word }, word));
    for (const one of columns) made.append(element("option", { value: one.name }, one.label));
    select(made, chosen);
    made.addEventListener("change", () => this.#draw());
    element("label", {}, `${name} `, made);
    return made;
  }

  #column(name: string): Column | undefined {
    return this.#data.columns.find((one) => one.name === name);
  }

  #draw(): void {
    const choice: Choice = { x: this.#lists.x.value, y: this.#lists.y.value, colour: this.#lists.colour.value };
    keep(`${this.#table} diagram`, choice);
    const x = this.#column(choice.x);
    if (!x) return;
    const y = this.#column(choice.y);
    const by = this.#column(choice.colour);
    this.#width = this.#canvas.clientWidth;
    const axes = [x, ...(y && y.kind !== "text" ? [y] : [])];
    const scales = axes.map((one) => scaleOf(one, this.#data.rows));
    const values = this.#values(axes, scales, y, by);
    const labels = axes.map((one, k) => (scales[k]![0] ? `${one.label} [${scales[k]![0]}]` : one.label));
    const kind = !y ? KINDS.count : y.kind === "text" ? KINDS.groups : KINDS.points;
    const spec = diagram(kind, values, labels, y?.kind === "text" ? y.label : "", by?.label ?? "", this.#width);
    this.#view?.finalize();
    const runtime = parse(compile(spec).spec, undefined, { ast: true });
    const view = new View(runtime, { expr: expressionInterpreter, renderer: "canvas", container: this.#canvas, hover: true });
    this.#view = view;
    const told = new Set([this.#column(this.#data.key), ...axes, y, by]);
    view.tooltip((_handler, event, _item, row) => this.#show(event, told, row));
    const left = this.#data.rows - values.length;
    this.#say(values.length < this.#data.rows && this.#data.rows > MOST_ROWS ? `one row in ${stepOf(this.#data.rows)} is drawn` : left ? `${whole(left)} rows have no value` : "");
    view.addSignalListener("area", (_name, area) => this.#choose(axes, scales, area as Record<string, [number, number]>));
    this.#tell("", []);
    void view.runAsync().then(() => (this.#canvas.dataset["drawn"] = ""));
  }

  #values(axes: Column[], scales: [string, number][], y: Column | undefined, by: Column | undefined): Record<string, unknown>[] {
    const found: Record<string, unknown>[] = [];
    const step = stepOf(this.#data.rows);
    for (let row = 0; row < this.#data.rows; row += step) {
      if (axes.some((one) => missing(one, row))) continue;
      const value: Record<string, unknown> = {};
      axes.forEach((one, k) => (value[k ? "y" : "x"] = numberAt(one, row) / scales[k]![1]));
      if (y?.kind === "text") value["group"] = textAt(y, row);
      if (by) value["colour"] = textAt(by, row);
      value["row"] = row;
      found.push(value);
    }
    return found;
  }

  #choose(axes: Column[], scales: [string, number][], area: Record<string, [number, number]>): void {
    const ranges: Chosen["ranges"] = [];
    axes.forEach((one, k) => {
      const range = area[k ? "y" : "x"];
      if (range) ranges.push({ column: one.name, low: Math.min(...range) * scales[k]![1], high: Math.max(...range) * scales[k]![1] });
    });
    this.#tell(ranges.length ? "selected in the diagram" : "", ranges);
  }

  #tell(words: string, ranges: Chosen["ranges"]): void {
    const detail: Chosen = { table: this.#table, words, ranges };
    document.dispatchEvent(new CustomEvent("twolevel:chosen", { detail }));
  }

  #say(words: string): void {
    this.#said.textContent = `Drag over an area to show only its rows in the table${words ? `; ${words}` : ""}.`;
  }

  #show(event: MouseEvent, columns: Iterable<Column | undefined>, row: unknown): void {
    this.#tip.hidden = typeof row !== "number";
    if (typeof row !== "number") return;
    const lines = [...columns].flatMap((one) => (one ? [element("div", {}, element("span", {}, one.label), ` ${textAt(one, row)}`)] : []));
    this.#tip.replaceChildren(...lines);
    const left = Math.min(event.clientX + 14, innerWidth - this.#tip.offsetWidth - 8);
    this.#tip.style.left = `${left}px`;
    this.#tip.style.top = `${event.clientY + 14}px`;
  }
}

function select(list: HTMLSelectElement, wanted: string): void {
  const found = [...list.options].find((one) => one.value === wanted);
  if (found) list.value = wanted;
}

function stepOf(rows: number): number {
  return Math.max(1, Math.ceil(rows / MOST_ROWS));
}

function groups(column: Column): number {
  if (column.kind === "text") return column.texts.length;
  return 0;
}

function constant(column: Column, rows: number): boolean {
  for (let row = 1; row < rows; row++) if (!Object.is(column.cells[row], column.cells[0])) return false;
  return true;
}

function scaleOf(column: Column, rows: number): [string, number] {
  if (column.kind !== "duration" && column.kind !== "instant") return ["", 1];
  let most = 0;
  for (let row = 0; row < rows; row++) most = Math.max(most, Math.abs(numberAt(column, row)));
  return unitOf(most);
}
