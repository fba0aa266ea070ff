// A timeline in a page: makes its elements and holds its parts together. `twolevel:job` is raised where a job is chosen, and
// `twolevel:show-job`, to the document, flies to one; the detail of both is the job's number.

import type { Packed } from "../columns.ts";
import { type Causes, causesOf } from "./causes.ts";
import { Cells } from "./cells.ts";
import { colouring, schemes, theme } from "./colours.ts";
import { nextBar, sentence } from "./cursor.ts";
import { TimelineData } from "./data.ts";
import { type Found, find, linesOf } from "./found.ts";
import { fly, sightOf } from "./flight.ts";
import { listen } from "./gestures.ts";
import { type KeyActs, pressed } from "./keys.ts";
import { Marks } from "./marks.ts";
import { Overview } from "./overview.ts";
import { showJob, showLegend, showLines, showTable } from "./panel.ts";
import { type Parts, partsOf } from "./parts.ts";
import { type Layout, Picture, layoutOf } from "./picture.ts";
import { Pyramid } from "./pyramid.ts";
import { type RowKind, RowKinds } from "./rows.ts";
import { findJobs } from "./search.ts";
import { strips } from "./series.ts";
import { View } from "./view.ts";

/** A picture that takes longer (ms) is only stretched while zooming, and drawn this time (ms) after the last zoom. */
const SLOW = 24;
const STOPPED = 90;

/** What several timelines of a page show together: the one that was moved, and the rows and time that it shows. */
interface Sight {
  from: Timeline;
  beginNs: number;
  endNs: number;
  baseNs: bigint;
  top: number;
  rowHeight: number;
}

/** Mount the timelines of a page. Several zoom and pan together, over the time that all of them have. */
export function mountTimelines(places: { place: HTMLElement; packed: Packed }[]): void {
  const all = places.map(({ place, packed }) => ({ place, data: new TimelineData(packed) }));
  const ends = all.map(({ data }) => data.baseNs + BigInt(Math.round(data.span)));
  const last = ends.reduce((one, other) => (other > one ? other : one), ends[0] ?? 0n);
  const linked = all.length > 1;
  for (const { place, data } of all) new Timeline(place, data, linked ? Number(last - data.baseNs) : data.span, linked);
}

class Timeline {
  readonly #view: View;
  readonly #kinds: RowKinds;
  readonly #cells = new Cells();
  readonly #strips;
  readonly #picture: Picture;
  readonly #marks: Marks;
  readonly #overview: Overview;
  readonly #parts: Parts;
  #rows;
  #colouring;
  #layout: Layout = layoutOf(1, 1, 0, 1);
  #theme = theme(false);
  #printing = false;
  #hovered: Found | undefined;
  #chosen: { job: number; causes: Causes } | undefined;
  #visited: number[] = []; // chosen jobs before a jump to a cause
  #matches: { text: string; jobs: number[]; at: number } = { text: "", jobs: [], at: -1 };
  #due = false;
  #flight = 0;
  #took = 0; // ms, the last picture
  #stretched = false;
  #stopped = 0;

  constructor(
    private readonly place: HTMLElement,
    private readonly data: TimelineData,
    span: number,
    private readonly linked: boolean,
  ) {
    this.#kinds = new RowKinds(data, data.tasks && data.tasks.job.length ? new Pyramid(data.tasks) : undefined);
    this.#rows = this.#kinds.get("cores");
    this.#view = new View(span, this.#rows.count);
    this.#strips = strips(data);
    this.#colouring = colouring(data, "job");
    this.#parts = partsOf(place, data, schemes(data), {
      search: (text) => this.#find(text),
      rows: (kind) => this.#setRows(kind),
      colours: (key) => this.#setColours(key),
      zoom: (factor) => this.#zoom(factor, this.#view.width / 2),
      zoomRows: (factor) => this.#zoomRows(factor, this.#view.height / 2),
      fit: () => this.#fit(),
    });
    this.#parts.details.addEventListener("toggle", () => this.#redraw());
    this.#picture = new Picture(this.#parts.picture, data, this.#cells, this.#strips);
    this.#marks = new Marks(this.#parts.marks, data, this.#kinds);
    this.#overview = new Overview(this.#parts.whole, data, this.#view, () => this.#moved());
    this.#listen();
    this.#resize();
    this.#fit();
    this.#legendChanged();
  }

  #listen(): void {
    let wide = this.place.clientWidth;
    new ResizeObserver(() => {
      // It grows by itself as a job is chosen: that changes nothing of the picture.
      if (this.place.clientWidth !== wide) this.#resize();
      wide = this.place.clientWidth;
    }).observe(this.place);
    const restyle = () => {
      this.#theme = theme(this.#printing);
      this.#redraw();
    };
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", restyle);
    new MutationObserver(restyle).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    // A sheet of paper is light, and is drawn before the browser makes it.
    const paper = (printing: boolean) => {
      this.#printing = printing;
      this.#theme = theme(printing);
      this.#draw();
    };
    matchMedia("print").addEventListener("change", (event) => paper(event.matches));
    window.addEventListener("beforeprint", () => paper(true));
    window.addEventListener("afterprint", () => paper(false));
    document.addEventListener("twolevel:show-job", (event) => {
      const wanted = String((event as CustomEvent<unknown>).detail);
      const [job] = /^-?\d{1,19}$/.test(wanted) ? findJobs(this.data, wanted) : [];
      if (job === undefined) return;
      this.place.scrollIntoView({ block: "nearest" });
      this.#choose(job, true);
    });
    document.addEventListener("twolevel:sight", (event) => this.#follow((event as CustomEvent<Sight>).detail));
    // What is seen, for tests: put into the event's detail.
    this.place.addEventListener("twolevel:seen", (event) => {
      this.#draw();
      const { column, step, width, lines } = this.#cells.window;
      const { cover, job } = this.#cells.full;
      const { gutter, rowsTop } = this.#layout;
      const base = this.data.baseNs.toString();
      const seen = { column, step, width, lines, base, gutter, rowsTop, rowHeight: this.#view.rowHeight };
      const { detail } = event as CustomEvent<{ cells?: boolean }>;
      Object.assign(detail, seen, detail.cells ? { cover: [...cover], job: [...job] } : {});
    });
    const acts = this.#keys();
    listen(this.#parts.stage, {
      pan: (x, y) => this.#pan(x * this.#layout.scale, y),
      zoom: (factor, x) => this.#zoom(factor, (x - this.#layout.gutter) * this.#layout.scale),
      zoomRows: (factor, y) => this.#zoomRows(factor, y - this.#layout.rowsTop),
      point: (x, y, touched) => this.#point(x, y, touched),
      leave: () => this.#unpoint(),
      choose: () => this.#chooseHovered(),
      key: (event) => pressed(event, acts),
    });
  }

  #resize(): void {
    // The inner width: the place may have a margin.
    const width = Math.max(220, Math.floor(this.#parts.stage.clientWidth));
    const scale = window.devicePixelRatio || 1;
    const first = layoutOf(width, 0, this.#strips.length, scale);
    const most = Math.min(440, Math.max(200, window.innerHeight * 0.55));
    const rows = Math.min(most, Math.max(88, this.#rows.count * 22));
    this.#layout = { ...first, height: first.rowsTop + rows };
    for (const canvas of [this.#parts.picture, this.#parts.marks]) {
      const wide = Math.round(width * scale);
      const high = Math.round(this.#layout.height * scale);
      if (canvas.width !== wide) canvas.width = wide;
      if (canvas.height !== high) canvas.height = high;
      canvas.style.width = `${width}px`;
      canvas.style.height = `${this.#layout.height}px`;
    }
    this.#parts.stage.style.height = `${this.#layout.height}px`;
    this.#view.resize(Math.floor((width - this.#layout.gutter) * scale), rows);
    this.#draw();
  }

  #redraw(): void {
    if (this.#due) return;
    this.#due = true;
    requestAnimationFrame(() => {
      if (this.#due) this.#draw(this.#stretched);
    });
  }

  #draw(stretched = false): void {
    this.#due = false;
    const began = performance.now();
    this.#picture.draw(this.#view, this.#rows, this.#colouring, this.#theme, this.#layout, stretched);
    if (!stretched) this.#took = performance.now() - began;
    this.#overview.draw(this.#layout.width, this.#layout.scale, this.#theme);
    this.#mark();
    // A finger scrolls the page where there is nothing to scroll here.
    this.#parts.stage.style.touchAction = this.#view.allRows ? "pan-y" : "none";
    if (this.#parts.details.open) showTable(this.#parts.table, this.data, this.#view.from, this.#view.to);
  }

  #mark(): void {
    this.#marks.draw(this.#view, this.#rows, this.#layout, this.#theme, this.#hovered, this.#chosen);
  }

  #pan(columns: number, pixels: number): void {
    this.#flight++; // moving by hand ends a flight
    this.#view.pan(columns, pixels);
    this.#unpoint();
    this.#moved();
  }

  #zoom(factor: number, column: number): void {
    this.#flight++;
    this.#view.zoom(factor, Math.max(0, column));
    this.#unpoint();
    if (this.#took > SLOW) {
      this.#stretched = true;
      clearTimeout(this.#stopped);
      this.#stopped = setTimeout(() => {
        this.#stretched = false;
        this.#redraw();
      }, STOPPED);
    }
    this.#moved();
  }

  /** Draw again after a move, and move the other timelines of the page. */
  #moved(): void {
    this.#redraw();
    if (!this.linked) return;
    const { from, to, top, rowHeight } = this.#view;
    const detail: Sight = { from: this, beginNs: from, endNs: to, baseNs: this.data.baseNs, top, rowHeight };
    document.dispatchEvent(new CustomEvent("twolevel:sight", { detail }));
  }

  #follow(sight: Sight): void {
    if (sight.from === this) return;
    const shift = Number(sight.baseNs - this.data.baseNs);
    this.#flight++;
    this.#view.showTime(sight.beginNs + shift, sight.endNs + shift);
    if (sight.from.#rows.kind === this.#rows.kind && sight.from.#rows.count === this.#rows.count) {
      this.#view.showSame(sight.rowHeight, sight.top);
    }
    this.#unpoint();
    this.#redraw();
  }

  #zoomRows(factor: number, y: number): void {
    this.#view.zoomRows(factor, Math.max(0, y));
    this.#unpoint();
    this.#moved();
  }

  #fit(): void {
    this.#view.fit();
    this.#moved();
  }

  #setRows(kind: RowKind): void {
    this.#rows = this.#kinds.get(kind);
    this.#view.setRows(this.#rows.count);
    this.#unpoint();
    this.#resize();
    this.#view.fitRows();
    this.#legendChanged();
    this.#redraw();
  }

  #setColours(key: string): void {
    this.#colouring = colouring(this.data, key);
    this.#legendChanged();
    this.#redraw();
  }

  #legendChanged(): void {
    showLegend(this.#parts.legend, this.#colouring, this.#rows.tasks !== undefined, this.#rows.kind === "lanes");
  }

  #point(x: number, y: number, touched: boolean): void {
    const { gutter, rowsTop, scale } = this.#layout;
    const view = this.#view;
    const row = Math.floor(view.top + (y - rowsTop) / view.rowHeight);
    const at = view.instantAt((x - gutter) * scale);
    this.#hovered = x < gutter || y < rowsTop ? undefined : find(this.#rows, view, this.#cells, row, at);
    if (!this.#hovered || this.#hovered.job < 0 || touched) this.#parts.tip.hidden = true;
    else {
      showLines(this.#parts.tip, linesOf(this.data, this.#rows, this.#hovered));
      this.#parts.tip.hidden = false;
      this.#tipAt(x, y);
    }
    this.#mark();
  }

  #tipAt(x: number, y: number): void {
    const { offsetWidth: wide, offsetHeight: high } = this.#parts.tip;
    const left = x + 14 + wide < this.#layout.width ? x + 14 : Math.max(0, x - wide - 14);
    const top = y + 14 + high < this.#layout.height + 40 ? y + 14 : Math.max(0, y - high - 14);
    this.#parts.tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }

  #unpoint(): void {
    if (!this.#hovered) return;
    this.#hovered = undefined;
    this.#parts.tip.hidden = true;
    this.#mark();
  }

  #find(text: string): string {
    if (text.trim() !== this.#matches.text) this.#matches = { text: text.trim(), jobs: findJobs(this.data, text), at: -1 };
    const matches = this.#matches;
    if (!matches.jobs.length) return matches.text ? "no such job" : "";
    matches.at = (matches.at + 1) % matches.jobs.length;
    this.#choose(matches.jobs[matches.at]!, true);
    return matches.jobs.length > 1 ? `${matches.at + 1} of ${matches.jobs.length}` : "";
  }

  #chooseHovered(): void {
    if (this.#hovered && this.#hovered.job >= 0) this.#choose(this.#hovered.job, false);
  }

  #choose(job: number, far: boolean): void {
    const causes = causesOf(this.data, job);
    this.#chosen = { job, causes };
    showJob(this.#parts.panel, this.data, job, causes, (other) => this.#jump(other), () => this.#close());
    if (far) this.#flyTo(job);
    this.#say(`${this.data.jobName(job)} is selected`);
    this.#mark();
    this.place.dispatchEvent(
      new CustomEvent("twolevel:job", { detail: this.data.jobs.id.exact(job).toString(), bubbles: true }),
    );
  }

  #jump(job: number): void {
    if (this.#chosen) this.#visited.push(this.#chosen.job);
    this.#choose(job, true);
  }

  #close(): void {
    this.#chosen = undefined;
    this.#visited = [];
    this.#parts.panel.hidden = true;
    this.#unpoint();
    this.#mark();
  }

  #flyTo(job: number): void {
    if (!this.data.jobs.started[job]) return;
    const target = sightOf(this.data, this.#kinds, this.#rows, this.#view, job);
    const flight = ++this.#flight;
    fly(
      this.#view,
      target,
      () => flight === this.#flight,
      () => {
        this.#draw();
        this.#moved();
      },
    );
  }

  #say(text: string): void {
    this.#parts.said.textContent = text;
  }

  /** The bar of the keyboard cursor: the bar under the pointer, or at first the middle of the visible time. */
  #cursor(): Found | undefined {
    const view = this.#view;
    if (this.#hovered) return this.#hovered;
    return find(this.#rows, view, this.#cells, Math.floor(view.top), (view.from + view.to) / 2);
  }

  #put(row: number, at: number): void {
    const view = this.#view;
    view.showRows(row, row + 1);
    if (at < view.from || at >= view.to) {
      const length = view.to - view.from;
      view.showTime(at - length / 2, at + length / 2);
    }
    this.#draw();
    this.#hovered = find(this.#rows, view, this.#cells, row, at);
    if (!this.#hovered) return;
    const { gutter, rowsTop, scale } = this.#layout;
    const lines = linesOf(this.data, this.#rows, this.#hovered);
    showLines(this.#parts.tip, lines);
    this.#parts.tip.hidden = false;
    this.#tipAt(gutter + view.columnOf(at) / scale, rowsTop + (row + 1 - view.top) * view.rowHeight);
    this.#say(sentence(lines));
    this.#mark();
  }

  #step(rows: number): void {
    const cursor = this.#cursor();
    if (!cursor) return;
    const row = this.#hovered ? cursor.rows[0] + rows * this.#view.join : cursor.rows[0];
    if (row >= 0 && row < this.#rows.count) this.#put(row, cursor.instant);
  }

  #walk(direction: 1 | -1): void {
    const cursor = this.#cursor();
    if (!cursor) return;
    if (cursor.rows[1] - cursor.rows[0] > 1 || this.#rows.kind.endsWith("hosts")) {
      this.#say("one line shows several rows here; make rows higher to go from bar to bar (Shift and +)");
      return;
    }
    const next = nextBar(this.#rows, cursor, direction);
    if (!next) {
      this.#say(direction > 0 ? "no bar after this one" : "no bar before this one");
      return;
    }
    // A bar that is too short to be seen is made longer; its middle is a place that is surely in it.
    if (next.end - next.at < this.#view.step * 3) this.#view.zoom((next.end - next.at || 1) / (this.#view.step * 40), 0);
    this.#put(cursor.rows[0], (next.at + next.end) / 2);
  }

  #cause(): void {
    const compared = this.#chosen?.causes.compared ?? -1;
    const to = compared >= 0 ? compared : this.#chosen?.causes.before[0];
    if (to === undefined) this.#say("it did not wait for a job");
    else this.#jump(to);
  }

  #back(): void {
    const back = this.#visited.pop();
    if (back !== undefined) this.#choose(back, true);
  }

  #keys(): KeyActs {
    const middle = () => this.#view.width / 2;
    return {
      move: (time, rows) => this.#pan(time * this.#view.width, rows * this.#view.height),
      zoom: (factor) => this.#zoom(factor, middle()),
      zoomRows: (factor) => this.#zoomRows(factor, 0),
      fit: () => this.#fit(),
      step: (rows) => this.#step(rows),
      walk: (direction) => this.#walk(direction),
      choose: () => this.#chooseHovered(),
      cause: () => this.#cause(),
      back: () => this.#back(),
      search: () => this.#parts.search.focus(),
      close: () => this.#close(),
    };
  }
}
