// What is counted over time, above the rows: waiting jobs, busy cores, power; each a step function, drawn as its mean over each
// column of pixels, with a line at the most there.

import type { Theme } from "./colours.ts";
import type { Steps, TimelineData } from "./data.ts";
import type { View } from "./view.ts";

/** Up to so many steps a column are added up; of more, the difference of sums that are known is taken. */
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
}

export function strips(data: TimelineData): Strip[] {
  const found: Strip[] = [];
  const queue = data.series.get("queue");
  const busy = data.series.get("busy");
  const power = data.series.get("power");
  const limit = data.series.get("limit");
  const add = (name: string, steps: Steps, top: number, colour: string, format: Strip["format"], bound?: Steps) =>
    found.push({ name, curve: new Curve(steps), limit: bound && new Curve(bound), top, colour, format });
  const most = (steps: Steps) => Math.max(1, steps.value.reduce((a, b) => Math.max(a, b), 0));
  if (queue) add("waiting jobs", queue, most(queue), "#cc7a29", (value) => short(value));
  if (busy) add("busy cores", busy, data.cores, "#4477aa", (value) => `${Math.round((100 * value) / data.cores)} %`);
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

/** Draw one from pixel (of CSS) `left`, `top` on, so high. */
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
  const bottom = top + height;
  const y = (value: number) => bottom - (value / strip.top) * (height - 4);
  const line = new Path2D();
  const body = new Path2D();
  body.moveTo(left, bottom);
  for (let column = 0; column < view.width; column++) {
    const [mean, most] = strip.curve.over(view.instantAt(column), view.instantAt(column + 1));
    const x = left + column / scale;
    body.lineTo(x, y(mean));
    body.lineTo(x + 1 / scale, y(mean));
    if (column) line.lineTo(x, y(most));
    else line.moveTo(x, y(most));
    line.lineTo(x + 1 / scale, y(most));
  }
  body.lineTo(left + view.width / scale, bottom);
  context.fillStyle = strip.colour;
  context.globalAlpha = 0.45;
  context.fill(body);
  context.globalAlpha = 1;
  context.strokeStyle = strip.colour;
  context.lineWidth = 1;
  context.stroke(line);
  if (strip.limit) {
    context.strokeStyle = theme.accent;
    context.setLineDash([5, 3]);
    context.beginPath();
    let before = -1;
    for (let column = 0; column < view.width; column++) {
      const limit = strip.limit.value(view.instantAt(column + 0.5));
      const x = left + column / scale;
      if (limit >= 0 && before >= 0) context.lineTo(x, y(limit));
      else if (limit >= 0) context.moveTo(x, y(limit));
      before = limit;
    }
    context.stroke();
    context.setLineDash([]);
  }
}
