// The picture: labels of rows, strips of counts, an axis of time, and the cells of rows with their labels.

import type { Cells } from "./cells.ts";
import { type Colouring, type Theme, css, isLight } from "./colours.ts";
import type { TimelineData } from "./data.ts";
import type { Rows } from "./rows.ts";
import { type Strip, drawStrip } from "./series.ts";
import { ticksOf } from "./units.ts";
import type { View } from "./view.ts";

/** In pixels of CSS: a strip, the axis, and between strips. */
const STRIP = 40;
const AXIS = 22;
const GAP = 8;
/** Least width (columns) of bars that a line separates. */
const APART = 4;
const FONT = "11px system-ui, sans-serif";

/** Where things are, in pixels of CSS. */
export interface Layout {
  gutter: number;
  width: number;
  height: number;
  stripTops: number[];
  axisTop: number;
  rowsTop: number;
  scale: number; // pixels of the screen to one of CSS
}

export function layoutOf(width: number, height: number, strips: number, scale: number): Layout {
  const gutter = width < 520 ? 54 : 84;
  const stripTops = Array.from({ length: strips }, (_, at) => GAP + at * (STRIP + GAP));
  const axisTop = strips * (STRIP + GAP) + GAP;
  return { gutter, width, height, stripTops, axisTop, rowsTop: axisTop + AXIS, scale };
}

export class Picture {
  readonly #image = document.createElement("canvas");
  #pixels = new ImageData(1, 1);
  #look: unknown[] = []; // inputs of the pixels: if they change, all pixels are made again
  readonly #names = new Map<string, string>(); // of rows, as far as they fit

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly data: TimelineData,
    private readonly cells: Cells,
    private readonly strips: Strip[],
  ) {}

  /** Draw what is seen; `stretched` is the last picture of rows, made longer or shorter, which is quick and not exact. */
  draw(view: View, rows: Rows, colouring: Colouring, theme: Theme, layout: Layout, stretched = false): void {
    const context = this.canvas.getContext("2d", { alpha: false })!;
    const { scale } = layout;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.fillStyle = css(theme.paper);
    context.fillRect(0, 0, layout.width, layout.height);
    context.font = FONT;
    this.#axis(context, view, theme, layout);
    this.strips.forEach((strip, at) => this.#strip(context, strip, view, theme, layout, layout.stripTops[at]!));
    if (!stretched || !this.#stretch(context, view, rows, theme, layout)) this.#rows(context, view, rows, colouring, theme, layout);
    context.fillStyle = theme.line;
    context.fillRect(layout.gutter - 1, GAP, 1, layout.height);
  }

  #stretch(context: CanvasRenderingContext2D, view: View, rows: Rows, theme: Theme, layout: Layout): boolean {
    const { column, step, width, firstLine, lines, join } = this.cells.window;
    if (!lines || join !== view.join) return false;
    const { gutter, rowsTop, scale } = layout;
    const x = gutter + view.columnOf(column * step) / scale;
    const wide = (width * step) / view.step / scale;
    const top = rowsTop + (firstLine * join - view.top) * view.rowHeight;
    context.save();
    context.beginPath();
    context.rect(0, rowsTop, layout.width, view.height);
    context.clip();
    context.imageSmoothingEnabled = false;
    context.drawImage(this.#image, 0, 0, width, lines, x, top, wide, lines * view.lineHeight);
    context.fillStyle = css(theme.paper);
    context.fillRect(0, rowsTop, gutter, view.height);
    this.#between(context, theme, layout, rows, view, top, lines);
    context.restore();
    return true;
  }

  #axis(context: CanvasRenderingContext2D, view: View, theme: Theme, layout: Layout): void {
    const { gutter, axisTop, scale } = layout;
    const perTick = view.step * scale * (this.data.startS === null ? 92 : 104);
    const { anchor, ticks } = ticksOf(view.from, view.to, this.data.baseNs, this.data.startS, perTick);
    context.textBaseline = "middle";
    context.textAlign = "center";
    for (const { at, label } of ticks) {
      const x = gutter + view.columnOf(at) / scale;
      context.fillStyle = theme.line;
      context.fillRect(Math.round(x), GAP, 1, axisTop + AXIS - GAP);
      if (x - gutter < (anchor ? 0 : 12) || layout.width - x < context.measureText(label).width / 2) continue;
      context.fillStyle = theme.quiet;
      context.fillText(label, x, axisTop + AXIS / 2);
    }
    context.textAlign = "left";
    if (!anchor) return;
    // What the ticks are counted from, on its own ground: it may lie over one of them.
    const wide = context.measureText(anchor).width + 10;
    context.fillStyle = css(theme.paper);
    context.fillRect(0, axisTop, Math.max(gutter, wide), AXIS);
    context.fillStyle = theme.ink;
    context.fillText(anchor, 4, axisTop + AXIS / 2);
  }

  #strip(
    context: CanvasRenderingContext2D,
    strip: Strip,
    view: View,
    theme: Theme,
    layout: Layout,
    top: number,
  ): void {
    const { gutter, scale } = layout;
    drawStrip(context, strip, view, theme, gutter, top, STRIP, scale);
    context.fillStyle = theme.line;
    context.fillRect(gutter, top + STRIP, layout.width - gutter, 1);
    context.textAlign = "left";
    context.textBaseline = "top";
    context.fillStyle = theme.ink;
    // Where the whole name has no room its first word, which says enough: waiting, busy; but GPUs of busy GPUs.
    const words = strip.name.replace("busy GPUs", "GPUs").split(" ");
    const short = context.measureText(strip.name).width > gutter - 8 ? words[0]! : strip.name;
    context.fillText(short, 4, top + 4);
    context.fillStyle = theme.quiet;
    const most = strip.format(strip.top);
    context.fillText(gutter < 70 ? most : `0 – ${most}`, 4, top + 19);
  }

  #rows(
    context: CanvasRenderingContext2D,
    view: View,
    rows: Rows,
    colouring: Colouring,
    theme: Theme,
    layout: Layout,
  ): void {
    const { gutter, rowsTop, scale } = layout;
    const join = view.join;
    const high = view.lineHeight;
    const firstLine = Math.floor(view.top / join);
    const lines = Math.max(
      0,
      Math.min(Math.ceil(rows.count / join), Math.ceil((view.top + view.height / view.rowHeight) / join)) - firstLine,
    );
    const fresh = this.cells.show(rows, { column: view.column, step: view.step, width: view.width, firstLine, lines, join });
    context.save();
    context.beginPath();
    context.rect(0, rowsTop, layout.width, view.height);
    context.clip();
    if (lines) {
      const apart = high >= 6 ? APART : Infinity;
      const look = [colouring, theme, apart];
      if (look.some((one, at) => one !== this.#look[at])) Object.assign(fresh, { from: 0, to: view.width, moved: 0 });
      this.#look = look;
      this.#paint(colouring, theme, apart, fresh);
      context.imageSmoothingEnabled = false;
      const top = rowsTop + (firstLine * join - view.top) * view.rowHeight;
      context.drawImage(this.#image, 0, 0, view.width, lines, gutter, top, view.width / scale, lines * high);
      this.#between(context, theme, layout, rows, view, top, lines);
      if (high >= 14 && join === 1) this.#words(context, colouring, layout, top, lines, high);
    }
    context.restore();
  }

  /** Cells as colours: paper, on it pale what was held, on it full what was computed. */
  #paint(colouring: Colouring, theme: Theme, apart: number, fresh: { from: number; to: number; moved: number }): void {
    const { width, lines } = this.cells.window;
    if (this.#image.width !== width || this.#image.height !== lines) {
      this.#image.width = width;
      this.#image.height = lines;
      this.#pixels = new ImageData(width, lines);
    }
    const { from, to, moved } = fresh;
    if (from === to) return;
    const pixels = new Uint32Array(this.#pixels.data.buffer);
    if (moved) {
      for (let line = 0; line < pixels.length; line += width) {
        if (moved > 0) pixels.copyWithin(line, line + moved, line + width);
        else pixels.copyWithin(line - moved, line, line + width + moved);
      }
    }
    for (let line = 0; line < lines; line++) this.#colour(pixels, line * width + from, line * width + to, colouring, theme);
    if (apart !== Infinity) this.#apart(pixels, theme, from, to);
    this.#image.getContext("2d")!.putImageData(this.#pixels, 0, 0);
  }

  #colour(pixels: Uint32Array, first: number, stop: number, colouring: Colouring, theme: Theme): void {
    const { pale, full } = this.cells;
    const [paperRed, paperGreen, paperBlue] = theme.paper;
    const colours = colouring.colours;
    for (let cell = first; cell < stop; cell++) {
      let red = paperRed;
      let green = paperGreen;
      let blue = paperBlue;
      const beneath = pale.cover[cell]!;
      if (beneath > 0) {
        const at = 3 * pale.job[cell]!;
        const part = 0.3 * Math.min(1, 0.15 + beneath);
        red += (colours[at]! - red) * part;
        green += (colours[at + 1]! - green) * part;
        blue += (colours[at + 2]! - blue) * part;
      }
      const above = full.cover[cell]!;
      if (above > 0) {
        // What is there is seen, however short.
        const at = 3 * full.job[cell]!;
        const part = Math.min(1, Math.max(0.2, above));
        red += (colours[at]! - red) * part;
        green += (colours[at + 1]! - green) * part;
        blue += (colours[at + 2]! - blue) * part;
      }
      pixels[cell] = 0xff000000 | ((blue & 255) << 16) | ((green & 255) << 8) | (red & 255);
    }
  }

  /** A line of paper where one bar begins right after another, where both are wide enough. */
  #apart(pixels: Uint32Array, theme: Theme, from: number, to: number): void {
    const { width, column, step } = this.cells.window;
    const [red, green, blue] = theme.paper;
    const mark = (line: number, begin: number, end: number) => {
      const at = begin / step - column;
      if (at < from || at >= to || end / step - column - at < APART) return;
      const cell = line * width + Math.floor(at);
      const old = pixels[cell]!;
      const mix = (shift: number, paper: number) => (((((old >>> shift) & 255) + 2 * paper) / 3) & 255) << shift;
      pixels[cell] = 0xff000000 | mix(16, blue) | mix(8, green) | mix(0, red);
    };
    this.cells.bars(APART, mark);
  }

  /** Lines of paper between rows that are high enough, and their names. */
  #between(
    context: CanvasRenderingContext2D,
    theme: Theme,
    layout: Layout,
    rows: Rows,
    view: View,
    top: number,
    lines: number,
  ): void {
    const { gutter } = layout;
    const high = view.lineHeight;
    context.textBaseline = "middle";
    context.textAlign = "left";
    const every = Math.max(1, Math.ceil(15 / high));
    const first = this.cells.window.firstLine;
    let above = ""; // the host that was named last
    for (let line = 0; line < lines; line++) {
      const y = top + line * high;
      if (high >= 5) {
        context.fillStyle = css(theme.paper);
        context.fillRect(gutter, y + high - 1, layout.width - gutter, 1);
      }
      if ((first + line) % every) continue;
      const middle = y + Math.max(high, 15) / 2;
      if (middle + 5 > layout.rowsTop + view.height && lines > 1) continue; // half a name says nothing
      const row = (first + line) * view.join;
      context.fillStyle = theme.quiet;
      const host = rows.host(row);
      const begins = host !== above;
      above = host;
      const key = `${rows.kind} ${gutter} ${row} ${begins}`;
      let name = this.#names.get(key);
      if (name === undefined) this.#names.set(key, (name = rowName(context, rows.name(row), gutter - 8, begins ? host : "")));
      if (begins) context.fillStyle = theme.ink;
      context.fillText(name, 4, middle);
    }
  }

  /** What bars are, on those that are wide enough for the words. */
  #words(
    context: CanvasRenderingContext2D,
    colouring: Colouring,
    layout: Layout,
    top: number,
    lines: number,
    high: number,
  ): void {
    const { gutter, scale } = layout;
    const { column, step, width } = this.cells.window;
    let left = 400; // no more words than anybody reads
    context.textBaseline = "middle";
    this.cells.bars(34 * scale, (line, begin, end, job, task) => {
      if (left <= 0 || line >= lines) return;
      const from = Math.max(0, begin / step - column);
      const to = Math.min(width, end / step - column);
      const wide = (to - from) / scale - 6;
      const tasks = this.data.tasks;
      const text = task < 0 ? `${this.data.jobs.id.exact(job)}` : `${this.data.jobs.id.exact(job)} · ${tasks!.number[task]}`;
      const said = [task < 0 ? this.data.jobName(job) : `job ${this.data.jobs.id.exact(job)} · task ${tasks!.number[task]}`, text];
      const one = said.find((words) => context.measureText(words).width <= wide);
      if (!one) return;
      left--;
      const colour: [number, number, number] = [0, 1, 2].map((at) => colouring.colours[3 * job + at]!) as never;
      context.fillStyle = isLight(colour) ? "#101418" : "#ffffff";
      context.fillText(one, gutter + from / scale + 4, top + line * high + high / 2);
    });
  }
}

/** A row's name; where it has no room without the word before its number, as in `core 12`. The second lane of a GPU is `0 (2)`. */
function rowName(context: CanvasRenderingContext2D, name: string, width: number, host: string): string {
  const number = /^(?:core|lane|gpu) (\d+(?: \(\d+\))?)$/.exec(name);
  const both = `${host} · ${number?.[1] ?? ""}`;
  if (host) return context.measureText(both).width > width ? fitted(context, host, width) : both;
  return fitted(context, number && context.measureText(name).width > width ? number[1]! : name, width);
}

/** The text, cut to fit. */
function fitted(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  let length = text.length;
  while (length > 1 && context.measureText(`${text.slice(0, length)}…`).width > width) length--;
  return `${text.slice(0, length)}…`;
}
