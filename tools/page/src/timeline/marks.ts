// What lies over the picture: the bar under the pointer, the chosen job, arrows from its causes. It is drawn apart, so that nothing
// beneath is drawn again when the pointer moves.

import type { Causes } from "./causes.ts";
import type { Theme } from "./colours.ts";
import type { TimelineData } from "./data.ts";
import type { Found } from "./found.ts";
import type { Layout } from "./picture.ts";
import type { RowKinds, Rows } from "./rows.ts";
import type { View } from "./view.ts";

/** No more arrows than can be followed. */
const ARROWS = 12;

interface Box {
  x0: number;
  x1: number;
  y0: number;
  y1: number;
}

export class Marks {
  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly data: TimelineData,
    private readonly kinds: RowKinds,
  ) {}

  draw(
    view: View,
    rows: Rows,
    layout: Layout,
    theme: Theme,
    hovered: Found | undefined,
    chosen: { job: number; causes: Causes } | undefined,
  ): void {
    const context = this.canvas.getContext("2d")!;
    context.setTransform(layout.scale, 0, 0, layout.scale, 0, 0);
    context.clearRect(0, 0, layout.width, layout.height);
    context.save();
    context.beginPath();
    context.rect(layout.gutter, 0, layout.width - layout.gutter, layout.rowsTop + view.height);
    context.clip();
    if (hovered) this.#hovered(context, view, rows, layout, theme, hovered);
    context.beginPath();
    context.rect(layout.gutter, layout.rowsTop, layout.width - layout.gutter, view.height);
    context.clip();
    if (chosen) this.#chosen(context, view, rows, layout, theme, chosen.job, chosen.causes);
    context.restore();
  }

  #x(view: View, layout: Layout, instant: number): number {
    const x = layout.gutter + view.columnOf(instant) / layout.scale;
    return Math.max(-50, Math.min(layout.width + 50, x)); // far away numbers are too large to be drawn
  }

  #y(view: View, layout: Layout, row: number): number {
    return layout.rowsTop + (row - view.top) * view.rowHeight;
  }

  #hovered(
    context: CanvasRenderingContext2D,
    view: View,
    rows: Rows,
    layout: Layout,
    theme: Theme,
    found: Found,
  ): void {
    const x = this.#x(view, layout, found.instant);
    context.fillStyle = theme.quiet;
    context.globalAlpha = 0.6;
    context.fillRect(Math.round(x), 0, 1, layout.rowsTop + view.height);
    context.globalAlpha = 1;
    const y = this.#y(view, layout, found.rows[0]);
    const high = Math.max(3, (found.rows[1] - found.rows[0]) * view.rowHeight);
    context.strokeStyle = theme.ink;
    context.lineWidth = 1.5;
    const { tasks } = this.data;
    if (found.task >= 0 && rows.tasks) {
      const from = this.#x(view, layout, tasks!.begin.at(found.task));
      const to = this.#x(view, layout, tasks!.end.at(found.task));
      context.strokeRect(from, y, Math.max(2, to - from), high - 1);
    } else context.strokeRect(x - 2, y, 4, high - 1);
  }

  /** Where a job lies, in lanes, on cores or on GPUs; joined rows make it no smaller than can be seen. */
  #boxes(view: View, rows: Rows, layout: Layout, job: number): Box[] {
    const { jobs, holds } = this.data;
    const boxes: Box[] = [];
    const add = (begin: number, end: number, first: number, stop: number) => {
      const y0 = this.#y(view, layout, first);
      const x0 = this.#x(view, layout, begin);
      boxes.push({
        x0,
        x1: Math.max(x0 + 3, this.#x(view, layout, end)),
        y0,
        y1: Math.max(y0 + 3, this.#y(view, layout, stop) - 1),
      });
    };
    if (!jobs.started[job]) return boxes;
    if (rows.kind === "lanes") {
      const lane = this.kinds.lane![job]!;
      add(jobs.start.at(job), jobs.end.at(job), lane, lane + 1);
      return boxes;
    }
    if (rows.kind === "gpus" || rows.kind === "gpu-hosts") {
      const gpus = this.data.gpus!;
      for (let row = gpus.first[job]!; row < gpus.first[job + 1]!; row++) {
        const lane = gpus.lane[row]!;
        const at = rows.kind === "gpus" ? lane : gpus.place[this.data.gpuOf(lane).host]!;
        add(gpus.begin[row]!, gpus.end[row]!, at, at + 1);
      }
      return boxes;
    }
    for (let row = holds.first[job]!; row < holds.first[job + 1]!; row++) {
      const lo = rows.kind === "cores" ? holds.lo[row]! : this.data.hostOf(holds.lo[row]!);
      const hi = rows.kind === "cores" ? holds.hi[row]! : this.data.hostOf(holds.hi[row]! - 1) + 1;
      add(holds.begin[row]!, holds.end[row]!, lo, hi);
    }
    return boxes;
  }

  #chosen(
    context: CanvasRenderingContext2D,
    view: View,
    rows: Rows,
    layout: Layout,
    theme: Theme,
    job: number,
    causes: Causes,
  ): void {
    const boxes = this.#boxes(view, rows, layout, job);
    if (!boxes.length) return;
    const first = largest(boxes);
    context.strokeStyle = theme.accent;
    context.lineWidth = 2;
    for (const { x0, x1, y0, y1 } of boxes) context.strokeRect(x0, y0 + 0.5, x1 - x0, Math.max(2, y1 - y0 - 1));
    // Its wait, up to its start.
    const { jobs } = this.data;
    const middle = (first.y0 + first.y1) / 2;
    context.setLineDash([4, 3]);
    context.beginPath();
    context.moveTo(this.#x(view, layout, jobs.eligible.at(job)), middle);
    context.lineTo(first.x0, middle);
    context.stroke();
    context.setLineDash([]);
    for (const other of causes.before.slice(0, ARROWS)) {
      const others = this.#boxes(view, rows, layout, other);
      if (!others.length) continue; // without GPUs it is not in rows of these
      const from = largest(others);
      arrow(context, from.x1, (from.y0 + from.y1) / 2, first.x0, middle, theme.accent);
    }
    for (const other of causes.after.slice(0, ARROWS)) {
      const others = this.#boxes(view, rows, layout, other);
      if (!others.length) continue;
      const to = largest(others);
      arrow(context, first.x1, middle, to.x0, (to.y0 + to.y1) / 2, theme.quiet);
    }
  }
}

/** The part of a job's cores with most rows. */
function largest(boxes: Box[]): Box {
  return boxes.reduce((one, other) => (other.y1 - other.y0 > one.y1 - one.y0 ? other : one));
}

function arrow(context: CanvasRenderingContext2D, x0: number, y0: number, x1: number, y1: number, colour: string): void {
  context.strokeStyle = context.fillStyle = colour;
  context.lineWidth = 1.5;
  const bend = Math.max(18, Math.abs(x1 - x0) / 2);
  context.beginPath();
  context.moveTo(x0, y0);
  context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - 3, y1);
  context.stroke();
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x1 - 7, y1 - 4);
  context.lineTo(x1 - 7, y1 + 4);
  context.fill();
}
