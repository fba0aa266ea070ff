// What is counted over time, above the rows: waiting jobs, busy cores, power; each a step function, drawn as its mean over each
// column of pixels, with a line at the most there.

import { type Colour, type Theme, hex } from "./colours.ts";
import type { Steps, TimelineData } from "./data.ts";
import type { View } from "./view.ts";

/** Most steps per column that are added up; with more, the difference of known sums is used. */
const FEW = 64;

export class Curve {
  readonly most: number;
  readonly #sum: Float64Array; // of value × time before each step
  readonly #blocks: Float64Array; // the most of each FEW steps

  constructor(readonly steps: Steps) {
    const { at, value } = steps;
    this.#sum = new Float64Array(at.length);
    this.#blocks = new Float64Array(Math.ceil(at.length / FEW)).fill(-Infinity);
    let most = 0;
    for (let row = 0; row < at.length; row++) {
      if (row) this.#sum[row] = this.#sum[row - 1]! + value[row - 1]! * (at[row]! - at[row - 1]!);
      const block = Math.floor(row / FEW);
      this.#blocks[block] = Math.max(this.#blocks[block]!, value[row]!);
      most = Math.max(most, value[row]!);
    }
    this.most = most;
  }

  /** The last step at or before an instant; -1 before the first. */
  row(instant: number): number {
    const { at } = this.steps;
    let low = -1;
    let high = at.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (at[middle]! <= instant) low = middle;
      else high = middle;
    }
    return low;
  }

  value(instant: number): number {
    const row = this.row(instant);
    return row < 0 ? 0 : this.steps.value[row]!;
  }

  /** Mean and most from one instant to another. */
  over(from: number, to: number): [number, number] {
    const { at, value } = this.steps;
    const first = this.row(from);
    const last = this.row(to);
    let most = first < 0 ? 0 : value[first]!;
    if (first === last) return [most, most];
    if (last - first <= FEW) {
      let sum = 0;
      for (let row = first; row <= last; row++) {
        const here = row < 0 ? 0 : value[row]!;
        const begin = row < 0 ? from : Math.max(from, at[row]!);
        const end = row + 1 < at.length ? Math.min(to, at[row + 1]!) : to;
        sum += here * (end - begin);
        if (end > begin) most = Math.max(most, here);
      }
      return [sum / (to - from), most];
    }
    for (let row = first + 1; row <= last; ) {
      if (row % FEW === 0 && row + FEW <= last) {
        most = Math.max(most, this.#blocks[row / FEW]!);
        row += FEW;
      } else most = Math.max(most, value[row++]!);
    }
    return [(this.#upto(to, last) - this.#upto(from, first)) / (to - from), most];
  }

  #upto(instant: number, row: number): number {
    return row < 0 ? 0 : this.#sum[row]! + this.steps.value[row]! * (instant - this.steps.at[row]!);
  }
}

export interface Strip {
  name: string;
  curve: Curve;
  limit: Curve | undefined;
  /** What is the top of the strip. */
  top: number;
  colour: string;
  format: (value: number) => string;
  image: HTMLCanvasElement;
}

export function strips(data: TimelineData): Strip[] {
  const found: Strip[] = [];
  const queue = data.series.get("queue");
  const busy = data.series.get("busy");
  const power = data.series.get("power");
  const limit = data.series.get("limit");
  const add = (name: string, steps: Steps, top: number, colour: string, format: Strip["format"], bound?: Steps) =>
    found.push({
      name,
      curve: new Curve(steps),
      limit: bound && new Curve(bound),
      top,
      colour,
      format,
      image: document.createElement("canvas"),
    });
  const most = (steps: Steps) => Math.max(1, steps.value.reduce((a, b) => Math.max(a, b), 0));
  if (queue) add("waiting jobs", queue, most(queue), "#cc7a29", (value) => short(value));
  if (busy) add("busy cores", busy, data.cores, "#4477aa", (value) => `${Math.round((100 * value) / data.cores)} %`);
  const gpus = data.series.get("gpus");
  if (gpus && data.gpus) {
    const all = 1000 * data.gpus.ofHost[data.hosts.length]!;
    add("busy GPUs", gpus, all, "#228833", (value) => `${Math.round((100 * value) / all)} %`);
  }
  if (power) {
    const top = Math.max(most(power), limit ? most(limit) : 0);
    add("power", power, top, "#7b68c8", (value) => watts(value / 1000), limit?.value.some((one) => one >= 0) ? limit : undefined);
  }
  return found;
}

function short(value: number): string {
  return value >= 1000 || Number.isInteger(value) ? Math.round(value).toLocaleString("en") : value.toPrecision(2);
}

export function watts(value: number): string {
  for (const [unit, size] of [["MW", 1e6], ["kW", 1e3]] as const) {
    if (Math.abs(value) >= size) return `${Number((value / size).toPrecision(3))} ${unit}`;
  }
  return `${Number(value.toPrecision(3))} W`;
}

/** Draw one from pixel (of CSS) `left`, `top` on, so high; column by column as a picture, since a path of thousands of points is
 * slow where the processor draws it. */
export function drawStrip(
  context: CanvasRenderingContext2D,
  strip: Strip,
  view: View,
  theme: Theme,
  left: number,
  top: number,
  height: number,
  scale: number,
): void {
  const { width } = view;
  const high = Math.round(height * scale);
  const { image } = strip;
  if (image.width !== width || image.height !== high) {
    image.width = width;
    image.height = high;
  }
  const picture = new ImageData(width, high);
  const pixels = new Uint32Array(picture.data.buffer);
  const line = packed(hex(strip.colour), 255);
  const body = packed(hex(strip.colour), 110);
  const y = (value: number) => Math.max(0, Math.min(high - 1, Math.round((high - 1) * (1 - (value / strip.top) * 0.94))));
  let before = -1;
  for (let column = 0; column < width; column++) {
    const [mean, most] = strip.curve.over(view.instantAt(column), view.instantAt(column + 1));
    for (let row = y(mean); row < high; row++) pixels[row * width + column] = body;
    const at = y(most);
    // The line goes up and down where it steps.
    const [from, to] = before < 0 ? [at, at] : [Math.min(at, before), Math.max(at, before)];
    for (let row = from; row <= to; row++) pixels[row * width + column] = line;
    before = at;
  }
  if (strip.limit) {
    const bound = packed(theme.strong, 255);
    const thick = Math.max(1, Math.round(1.5 * scale));
    for (let column = 0; column < width; column++) {
      const limit = strip.limit.value(view.instantAt(column + 0.5));
      if (limit < 0 || (view.column + column) % (8 * scale) >= 5 * scale) continue; // dashes that move with time
      const at = y(limit);
      for (let row = at; row < Math.min(high, at + thick); row++) pixels[row * width + column] = bound;
    }
  }
  image.getContext("2d")!.putImageData(picture, 0, 0);
  context.drawImage(image, left, top, width / scale, height);
}

function packed([red, green, blue]: Colour, alpha: number): number {
  return ((alpha << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}
