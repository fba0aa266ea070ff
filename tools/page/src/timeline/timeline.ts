// A timeline in a page: makes its elements and holds its parts together. `twolevel:job` is raised where a job is chosen, and
// `twolevel:show-job`, to the document, flies to one; the detail of both is the job's number.

import type { Packed } from "../columns.ts";
import { type Causes, causesOf } from "./causes.ts";
import { Cells } from "./cells.ts";
import { colouring, schemes, theme } from "./colours.ts";
import { controls } from "./controls.ts";
import { nextBar, sentence } from "./cursor.ts";
import { TimelineData } from "./data.ts";
import { element } from "./elements.ts";
import { type Found, find, linesOf } from "./found.ts";
import { listen } from "./gestures.ts";
import { Marks } from "./marks.ts";
import { Overview } from "./overview.ts";
import { showJob, showLegend, showLines, showTable } from "./panel.ts";
import { type Layout, Picture, layoutOf } from "./picture.ts";
import { Pyramid } from "./pyramid.ts";
import { type RowKind, RowKinds } from "./rows.ts";
import { findJobs } from "./search.ts";
import { strips } from "./series.ts";
import { View } from "./view.ts";

const HELP =
  "Keys: left and right move in time, up and down in rows, plus and minus zoom, with Shift the height of rows; n and p go to the " +
  "next and the previous bar of a row, Enter chooses its job, c goes to the job that it waited for, b back; / searches, 0 shows " +
  "everything, Escape closes.";

/** Of a flight to a job, ms. */
const FLIGHT = 260;

export function mountTimeline(place: HTMLElement, packed: Packed): void {
  new Timeline(place, new TimelineData(packed));
}

class Timeline {
  readonly #view: View;
  readonly #kinds: RowKinds;
  readonly #cells = new Cells();
  readonly #strips;
  readonly #picture: Picture;
  readonly #marks: Marks;
  readonly #overview: Overview;
  readonly #stage: HTMLElement;
  readonly #canvas = element("canvas", "timeline-picture", { "aria-hidden": "true" });
  readonly #over = element("canvas", "timeline-marks", { "aria-hidden": "true" });
  readonly #tip = element("div", "timeline-tip", { "aria-hidden": "true" });
  readonly #panel = element("section", "timeline-job", { "aria-label": "chosen job" });
  readonly #legend = element("ul", "timeline-legend", { "aria-label": "legend" });
  readonly #said = element("div", "timeline-said", { role: "status", "aria-live": "polite" });
  readonly #table = element("table", "");
  readonly #details: HTMLDetailsElement;
  readonly #search: HTMLInputElement;
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

  constructor(
    private readonly place: HTMLElement,
    private readonly data: TimelineData,
  ) {
    this.#kinds = new RowKinds(data, data.tasks && data.tasks.job.length ? new Pyramid(data.tasks) : undefined);
    this.#rows = this.#kinds.get("cores");
    this.#view = new View(data.span, this.#rows.count);
    this.#strips = strips(data);
    this.#colouring = colouring(data, "job");
    this.#picture = new Picture(this.#canvas, data, this.#cells, this.#strips);
    this.#marks = new Marks(this.#over, data, this.#kinds);
    const whole = element("canvas", "timeline-overview", { "aria-hidden": "true" });
    this.#overview = new Overview(whole, data, this.#view, () => this.#redraw());
    const kinds: { key: RowKind; label: string }[] = [
      { key: "cores", label: "cores" },
      { key: "hosts", label: "hosts" },
      { key: "lanes", label: "jobs" },
    ];
    const { bar, search } = controls(kinds, schemes(data), {
      search: (text) => this.#find(text),
      rows: (kind) => this.#setRows(kind),
      colours: (key) => this.#setColours(key),
      zoom: (factor) => this.#zoom(factor, this.#view.width / 2),
      zoomRows: (factor) => this.#zoomRows(factor, this.#view.height / 2),
      fit: () => this.#fit(),
    });
    this.#search = search;
    const help = element("p", "timeline-help", {}, HELP);
    help.id = `${place.dataset["timeline"] ?? "timeline"}-help`;
    this.#stage = element(
      "div",
      "timeline-stage",
      {
        tabindex: "0",
        role: "application",
        "aria-label": `timeline of ${data.jobs.count} jobs on ${data.cores} cores`,
        "aria-describedby": help.id,
      },
      this.#canvas,
      this.#over,
      this.#tip,
    );
    this.#details = element(
      "details",
      "timeline-table",
      {},
      element("summary", "", {}, "What is seen, as a table"),
      this.#table,
    );
    this.#details.addEventListener("toggle", () => this.#redraw());
    const keys = element("details", "timeline-keys", {}, element("summary", "", {}, "Keys"), help);
    this.#panel.hidden = this.#tip.hidden = true;
    place.replaceChildren(bar, whole, this.#stage, this.#legend, this.#panel, this.#details, keys, this.#said);
    this.#listen();
    this.#resize();
    this.#fit();
    this.#legendChanged();
  }

  #listen(): void {
    new ResizeObserver(() => this.#resize()).observe(this.place);
    const restyle = () => {
      this.#theme = theme(this.#printing);
      this.#redraw(true);
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
    listen(this.#stage, {
      pan: (x, y) => {
        this.#view.pan(x * this.#layout.scale, y);
        this.#redraw();
      },
      zoom: (factor, x) => this.#zoom(factor, (x - this.#layout.gutter) * this.#layout.scale),
      zoomRows: (factor, y) => this.#zoomRows(factor, y - this.#layout.rowsTop),
      point: (x, y, touched) => this.#point(x, y, touched),
      leave: () => this.#unpoint(),
      choose: () => {
        if (this.#hovered && this.#hovered.job >= 0) this.#choose(this.#hovered.job, false);
      },
      key: (event) => this.#key(event),
    });
  }

  #resize(): void {
    const width = Math.max(220, Math.floor(this.place.clientWidth));
    const scale = window.devicePixelRatio || 1;
    const first = layoutOf(width, 0, this.#strips.length, scale);
    const most = Math.min(440, Math.max(200, window.innerHeight * 0.55));
    const rows = Math.min(most, Math.max(120, this.#rows.count * 22));
    this.#layout = { ...first, height: first.rowsTop + rows };
    for (const canvas of [this.#canvas, this.#over]) {
      const wide = Math.round(width * scale);
      const high = Math.round(this.#layout.height * scale);
      if (canvas.width !== wide) canvas.width = wide;
      if (canvas.height !== high) canvas.height = high;
      canvas.style.width = `${width}px`;
      canvas.style.height = `${this.#layout.height}px`;
    }
    this.#stage.style.height = `${this.#layout.height}px`;
    this.#view.resize(Math.floor((width - this.#layout.gutter) * scale), rows);
    this.#draw();
  }

  #redraw(now = false): void {
    if (now) this.#due = true;
    else if (this.#due) return;
    this.#due = true;
    requestAnimationFrame(() => {
      if (this.#due) this.#draw();
    });
  }

  #draw(): void {
    this.#due = false;
    this.#picture.draw(this.#view, this.#rows, this.#colouring, this.#theme, this.#layout);
    this.#overview.draw(this.#layout.width, this.#layout.scale, this.#theme);
    this.#mark();
    // A finger scrolls the page where there is nothing to scroll here.
    this.#stage.style.touchAction = this.#view.allRows ? "pan-y" : "none";
    if (this.#details.open) showTable(this.#table, this.data, this.#view.from, this.#view.to);
  }

  #mark(): void {
    this.#marks.draw(this.#view, this.#rows, this.#layout, this.#theme, this.#hovered, this.#chosen);
  }

  #zoom(factor: number, column: number): void {
    this.#view.zoom(factor, Math.max(0, column));
    this.#unpoint();
    this.#redraw();
  }

  #zoomRows(factor: number, y: number): void {
    this.#view.zoomRows(factor, Math.max(0, y));
    this.#unpoint();
    this.#redraw();
  }

  #fit(): void {
    this.#view.fit();
    this.#redraw();
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
    showLegend(this.#legend, this.#colouring, this.#rows.tasks !== undefined, this.#rows.kind === "lanes");
  }

  #point(x: number, y: number, touched: boolean): void {
    const { gutter, rowsTop, scale } = this.#layout;
    const view = this.#view;
    const row = Math.floor(view.top + (y - rowsTop) / view.rowHeight);
    const at = view.instantAt((x - gutter) * scale);
    this.#hovered = x < gutter || y < rowsTop ? undefined : find(this.#rows, view, this.#cells, row, at);
    if (!this.#hovered || this.#hovered.job < 0 || touched) this.#tip.hidden = true;
    else {
      showLines(this.#tip, linesOf(this.data, this.#rows, this.#hovered));
      this.#tip.hidden = false;
      this.#tipAt(x, y);
    }
    this.#mark();
  }

  #tipAt(x: number, y: number): void {
    const { offsetWidth: wide, offsetHeight: high } = this.#tip;
    const left = x + 14 + wide < this.#layout.width ? x + 14 : Math.max(0, x - wide - 14);
    const top = y + 14 + high < this.#layout.height + 40 ? y + 14 : Math.max(0, y - high - 14);
    this.#tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }

  #unpoint(): void {
    if (!this.#hovered) return;
    this.#hovered = undefined;
    this.#tip.hidden = true;
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

  #choose(job: number, fly: boolean): void {
    const causes = causesOf(this.data, job);
    this.#chosen = { job, causes };
    showJob(this.#panel, this.data, job, causes, (other) => this.#jump(other), () => this.#close());
    if (fly) this.#flyTo(job);
    this.#say(`${this.data.jobName(job)} is chosen`);
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
    this.#panel.hidden = true;
    this.#unpoint();
    this.#mark();
  }

  /** Move until the job, with its wait, takes a good part of what is seen. */
  #flyTo(job: number): void {
    const { jobs, holds } = this.data;
    if (!jobs.started[job]) return;
    const view = this.#view;
    const start = jobs.start.at(job);
    const end = jobs.end.at(job);
    const since = Math.max(Math.min(jobs.eligible.at(job), start), start - 2 * (end - start));
    const target = new View(this.data.span, view.rows);
    Object.assign(target, { width: view.width, height: view.height, rowHeight: view.rowHeight, top: view.top });
    target.showTime(since, end, 0.6);
    let [first, stop] = [this.#kinds.lane?.[job] ?? 0, (this.#kinds.lane?.[job] ?? 0) + 1];
    if (this.#rows.kind !== "lanes") {
      [first, stop] = [holds.lo[holds.first[job]!]!, holds.hi[holds.first[job + 1]! - 1]!];
      if (this.#rows.kind === "hosts") [first, stop] = [this.data.hostOf(first), this.data.hostOf(stop - 1) + 1];
    }
    target.showRows(first, stop);
    const from = [view.from + view.to, view.step, view.top] as const;
    const to = [target.from + target.to, target.step, target.top] as const;
    const began = performance.now();
    const flight = ++this.#flight;
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const move = (now: number) => {
      if (flight !== this.#flight) return;
      const part = still ? 1 : Math.min(1, Math.max(0, (now - began) / FLIGHT));
      const eased = part * part * (3 - 2 * part);
      const step = from[1] * (to[1] / from[1]) ** eased;
      // What grows evenly for the eye moves with it.
      const share = Math.abs(to[1] - from[1]) < 1e-9 * from[1] ? eased : (step - from[1]) / (to[1] - from[1]);
      const middle = (from[0] + (to[0] - from[0]) * share) / 2;
      view.showTime(middle - (step * view.width) / 2, middle + (step * view.width) / 2);
      view.top = from[2] + (to[2] - from[2]) * eased;
      this.#draw();
      if (part < 1) requestAnimationFrame(move);
    };
    move(began);
  }

  #say(text: string): void {
    this.#said.textContent = text;
  }

  /** The bar that keys are at: what is pointed at, or to begin with the middle of what is seen. */
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
    showLines(this.#tip, lines);
    this.#tip.hidden = false;
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
    if (cursor.rows[1] - cursor.rows[0] > 1 || this.#rows.kind === "hosts") {
      this.#say("several rows are one line here; make them higher to go from bar to bar (Shift and +)");
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

  #key(event: KeyboardEvent): boolean {
    const view = this.#view;
    const far = view.width / 8;
    const rowsSeen = view.height;
    switch (event.key) {
      case "ArrowLeft":
      case "a":
        view.pan(-far, 0);
        break;
      case "ArrowRight":
      case "d":
        view.pan(far, 0);
        break;
      case "ArrowUp":
      case "ArrowDown":
        this.#step(event.key === "ArrowUp" ? -1 : 1);
        return true;
      case "PageUp":
        view.pan(0, -rowsSeen);
        break;
      case "PageDown":
        view.pan(0, rowsSeen);
        break;
      case "+":
      case "=":
      case "*":
      case "w":
      case "W":
        if (event.shiftKey && event.key !== "=") this.#zoomRows(1.4, 0);
        else this.#zoom(1 / 1.4, view.width / 2);
        return true;
      case "-":
      case "_":
      case "s":
      case "S":
        if (event.shiftKey) this.#zoomRows(1 / 1.4, 0);
        else this.#zoom(1.4, view.width / 2);
        return true;
      case "0":
      case "Home":
        view.fit();
        break;
      case "n":
      case "p":
        this.#walk(event.key === "n" ? 1 : -1);
        return true;
      case "Enter":
        if (this.#hovered && this.#hovered.job >= 0) this.#choose(this.#hovered.job, false);
        return true;
      case "c": {
        const cause = this.#chosen?.causes.compared ?? -1;
        const [first] = this.#chosen?.causes.before ?? [];
        const to = cause >= 0 ? cause : first;
        if (to === undefined) this.#say("it waited for no job");
        else this.#jump(to);
        return true;
      }
      case "b": {
        const back = this.#visited.pop();
        if (back !== undefined) this.#choose(back, true);
        return true;
      }
      case "/":
        this.#search.focus();
        return true;
      case "Escape":
        this.#close();
        return true;
      default:
        return false;
    }
    this.#unpoint();
    this.#redraw();
    return true;
  }
}
