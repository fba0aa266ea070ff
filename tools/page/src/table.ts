// A table that shows only the rows that are in view, so that a hundred thousand are as quick as ten.

import { element } from "./elements.ts";
import { parseFilter, type Test } from "./filter.ts";
import { whole } from "./format.ts";
import { keep, kept } from "./kept.ts";
import { mountColumns } from "./table_columns.ts";
import { csv, exactAt, numberAt, sorted, textAt, type Column, type TableData } from "./table_data.ts";

const ROW_PX = 30; // as the style has it
const SPARE = 8; // rows above and below those in view
const PRINTED = 60;
const WIDEST_CH = 34;

/** What of the rows is chosen elsewhere, as in a diagram. */
export interface Chosen {
  table: string;
  words: string; // empty: nothing is chosen any more
  ranges: { column: string; low: number; high: number }[];
}

interface Kept {
  filter: string;
  sort: string;
  descending: boolean;
  shown: string[];
}

export class Table {
  readonly #place: HTMLElement;
  readonly #data: TableData;
  readonly #name: string;
  readonly #search = element("input", { type: "search", autocomplete: "off", spellcheck: "false" });
  readonly #said = element("p", { class: "said", role: "status" });
  readonly #scroll = element("div", { class: "rows", tabindex: "0", role: "region" });
  readonly #table = element("table");
  readonly #head = element("tr");
  readonly #body = element("tbody");
  readonly #chip = element("button", { type: "button", class: "chip", hidden: "" });
  readonly #key: Column | undefined;
  #shown: Set<string>;
  #order: Uint32Array;
  #sort = "";
  #descending = false;
  #test: Test = () => true;
  #chosen: Test = () => true;
  #marked = -1;
  #begin = -1;
  #height = 0;

  constructor(place: HTMLElement, name: string, caption: string, data: TableData) {
    this.#place = place;
    this.#name = name;
    this.#data = data;
    this.#key = data.columns.find((one) => one.name === data.key);
    this.#shown = new Set(data.columns.filter((one) => one.shown).map((one) => one.name));
    this.#order = new Uint32Array(data.rows);
    this.#restore();
    this.#build(caption);
    this.#refresh();
  }

  /** Bring the row of a job into view, and mark it; without one nothing happens. */
  show(job: number): void {
    if (!this.#key) return;
    const key = this.#key;
    const row = key.cells.findIndex((cell) => Number(cell) === job);
    if (row < 0) return;
    this.#marked = row;
    if (!this.#order.includes(row)) {
      this.#search.value = "";
      this.#chosen = () => true;
      this.#chip.hidden = true;
      this.#refresh();
    }
    this.#scroll.scrollTop = this.#order.indexOf(row) * ROW_PX - this.#scroll.clientHeight / 2;
    this.#draw(true);
  }

  /** Show only what is chosen elsewhere. */
  choose(chosen: Chosen): void {
    if (chosen.table !== this.#name) return;
    this.#chip.hidden = chosen.words === "";
    this.#chip.textContent = `${chosen.words} ×`;
    const ranges = chosen.ranges.map((range) => ({ ...range, column: this.#data.columns.find((one) => one.name === range.column)! }));
    this.#chosen = (row) =>
      ranges.every((one) => numberAt(one.column, row) >= one.low && numberAt(one.column, row) <= one.high);
    this.#refresh();
  }

  #build(caption: string): void {
    const id = `${this.#name}-filter`;
    this.#search.id = id;
    this.#search.setAttribute("placeholder", exampleOf(this.#data));
    const label = element("label", { for: id }, "Filter");
    const columns = mountColumns(this.#data.columns, this.#shown, () => {
      this.#headings();
      this.#draw(true);
      this.#keep();
    });
    const clear = "show all rows again";
    this.#chip.setAttribute("aria-description", clear);
    this.#chip.addEventListener("click", () => document.dispatchEvent(new CustomEvent("twolevel:unchosen", { detail: this.#name })));
    this.#scroll.setAttribute("aria-label", caption);
    this.#table.append(element("caption", { class: "unseen" }, caption), element("thead", {}, this.#head), this.#body);
    this.#scroll.append(this.#table);
    const save = element("button", { type: "button", title: "save these rows and columns, with exact values" }, "CSV");
    save.addEventListener("click", () => this.#save());
    this.#place.replaceChildren(element("div", { class: "tools" }, label, this.#search, this.#chip, columns, save), this.#said, this.#scroll);
    this.#search.addEventListener("input", () => this.#refresh());
    this.#scroll.addEventListener("scroll", () => this.#draw(false), { passive: true });
    new ResizeObserver(() => {
      if (this.#scroll.clientHeight !== this.#height) this.#draw(true);
    }).observe(this.#scroll);
    addEventListener("beforeprint", () => this.#print());
    addEventListener("afterprint", () => this.#draw(true));
  }

  #save(): void {
    const url = URL.createObjectURL(new Blob([csv(this.#columns(), this.#order)], { type: "text/csv" }));
    element("a", { href: url, download: `${this.#name.replace("-data", "")}.csv` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  }

  #restore(): void {
    const before = kept<Kept>(this.#name);
    if (!before) return;
    const names = new Set(this.#data.columns.map((one) => one.name));
    this.#search.value = before.filter;
    if (names.has(before.sort)) [this.#sort, this.#descending] = [before.sort, before.descending];
    const shown = before.shown.filter((name) => names.has(name));
    if (shown.length) this.#shown = new Set(shown);
  }

  #keep(): void {
    const state: Kept = { filter: this.#search.value, sort: this.#sort, descending: this.#descending, shown: [...this.#shown] };
    keep(this.#name, state);
  }

  #refresh(): void {
    const test = parseFilter(this.#search.value, this.#data);
    const wrong = typeof test === "string";
    if (!wrong) this.#test = test;
    this.#search.setAttribute("aria-invalid", String(wrong));
    const rows = new Uint32Array(this.#data.rows);
    let n = 0;
    for (let row = 0; row < this.#data.rows; row++) if (this.#test(row) && this.#chosen(row)) rows[n++] = row;
    this.#order = rows.subarray(0, n);
    const column = this.#data.columns.find((one) => one.name === this.#sort);
    if (column) this.#order = sorted(this.#order, column, this.#descending);
    const all = whole(this.#data.rows);
    const count = n === this.#data.rows ? `${all} row${n === 1 ? "" : "s"}` : `${whole(n)} of ${all} rows`;
    this.#said.textContent = wrong ? `${count}; ${test}` : count;
    this.#headings();
    this.#draw(true);
    this.#keep();
  }

  #columns(): Column[] {
    return this.#data.columns.filter((one) => this.#shown.has(one.name));
  }

  #headings(): void {
    const columns = this.#columns();
    const group = element("colgroup");
    let width = 0;
    const focused = this.#head.contains(document.activeElement) ? document.activeElement?.getAttribute("data-column") : null;
    this.#head.replaceChildren();
    for (const column of columns) {
      const ch = widthOf(column, this.#data.rows);
      width += ch;
      const col = element("col");
      col.style.width = `${ch}ch`;
      group.append(col);
      this.#head.append(this.#heading(column));
    }
    this.#table.querySelector("colgroup")?.remove();
    this.#table.querySelector("caption")!.after(group);
    this.#table.style.width = `max(100%, ${width}ch)`;
    this.#table.setAttribute("aria-rowcount", String(this.#order.length + 1));
    if (focused) this.#head.querySelector<HTMLElement>(`[data-column="${CSS.escape(focused)}"]`)?.focus();
  }

  #heading(column: Column): HTMLElement {
    const sortedBy = this.#sort === column.name;
    const arrow = sortedBy ? (this.#descending ? " ↓" : " ↑") : "";
    const button = element("button", { type: "button", "data-column": column.name }, column.label + arrow);
    if (column.definition) button.title = column.definition;
    button.addEventListener("click", () => this.#sortBy(column.name));
    const cell = element("th", { scope: "col", class: column.kind }, button);
    cell.setAttribute("aria-sort", sortedBy ? (this.#descending ? "descending" : "ascending") : "none");
    return cell;
  }

  // Up, down, as it was.
  #sortBy(name: string): void {
    if (this.#sort !== name) [this.#sort, this.#descending] = [name, false];
    else if (!this.#descending) this.#descending = true;
    else [this.#sort, this.#descending] = ["", false];
    this.#refresh();
  }

  #draw(always: boolean): void {
    const height = Math.min(this.#order.length + 2, 18) * ROW_PX;
    this.#scroll.style.maxHeight = `${height}px`;
    const first = Math.max(0, Math.floor(this.#scroll.scrollTop / ROW_PX) - SPARE);
    const begin = Math.max(0, Math.min(first - (first % 2), this.#order.length - 1));
    if (!always && begin === this.#begin) return;
    this.#begin = begin;
    this.#height = this.#scroll.clientHeight;
    this.#fill(begin, begin + Math.ceil((this.#scroll.clientHeight || 540) / ROW_PX) + 2 * SPARE);
  }

  #print(): void {
    this.#begin = -1;
    this.#fill(0, PRINTED);
    if (this.#order.length > PRINTED) this.#body.lastElementChild?.remove(); // the space of the others
  }

  #fill(begin: number, upTo: number): void {
    const columns = this.#columns();
    const end = Math.min(this.#order.length, upTo);
    const focused = this.#body.contains(document.activeElement) ? document.activeElement?.textContent : null;
    const rows: HTMLElement[] = [space(begin * ROW_PX, columns.length)];
    for (let at = begin; at < end; at++) rows.push(this.#row(this.#order[at]!, at, columns));
    rows.push(space((this.#order.length - end) * ROW_PX, columns.length));
    this.#body.replaceChildren(...rows);
    if (focused) [...this.#body.querySelectorAll("button")].find((one) => one.textContent === focused)?.focus({ preventScroll: true });
  }

  #row(row: number, at: number, columns: readonly Column[]): HTMLElement {
    const made = element("tr", { "aria-rowindex": String(at + 2) });
    if (at % 2) made.className = "odd";
    if (row === this.#marked) {
      made.classList.add("marked");
      made.setAttribute("aria-selected", "true");
    }
    for (const column of columns) {
      const text = textAt(column, row);
      const cell = element("td", { class: column.kind });
      const exact = exactAt(column, row);
      cell.title = exact || (text.length > 20 ? text : "");
      if (column === this.#key && document.querySelector("[data-timeline]")) {
        const button = element("button", { type: "button", class: "link", "aria-description": "show in the timeline" }, text);
        button.addEventListener("click", () => {
          this.#marked = row;
          this.#draw(true);
          document.dispatchEvent(new CustomEvent("twolevel:show-job", { detail: numberAt(column, row) }));
        });
        cell.append(button);
      } else cell.textContent = text;
      made.append(cell);
    }
    return made;
  }
}

function space(px: number, columns: number): HTMLElement {
  const cell = element("td", { colspan: String(Math.max(1, columns)) });
  cell.style.height = `${px}px`;
  const made = element("tr", { class: "space", "aria-hidden": "true" }, cell);
  made.hidden = px === 0;
  return made;
}

// What may be typed into the filter, of columns that there are.
function exampleOf(data: TableData): string {
  const known: [string, string][] = [
    ["cores", "cores>=64"],
    ["wait_ns", "wait>1h"],
    ["start_delta_ns", "start_delta>1h"],
    ["state", "state=killed"],
    ["seed", "seed=3"],
    ["ratio", "ratio<1"],
    ["makespan_ns", "makespan>1h"],
  ];
  const words = known.filter(([name]) => data.columns.some((one) => one.name === name)).map(([, example]) => example);
  return ["a word", ...(words.length ? [words.join(" ")] : [])].join(", or ");
}

// Width in characters that fits the heading and some cells; it does not change while scrolling.
function widthOf(column: Column, rows: number): number {
  let most = column.label.length + 2;
  const step = Math.max(1, Math.floor(rows / 200));
  for (let row = 0; row < rows; row += step) most = Math.max(most, textAt(column, row).length);
  return Math.min(most, WIDEST_CH) + 3;
}
