// A grid of cells, one for each column of pixels and drawn row: how much of it was covered, and by which job most.

import { BRANCHES, type Pyramid } from "./pyramid.ts";
import type { Rectangles } from "./rectangles.ts";
import type { Rows } from "./rows.ts";

export class Layer {
  /** The covered part of a cell, from 0 to 1. */
  cover = new Float32Array(0);
  /** The job that covers more than half of the cell, if any; otherwise one of its jobs; -1 for none. */
  job = new Int32Array(0);
  vote = new Float32Array(0);

  /** Empty cells. */
  clear(cells: number): void {
    if (this.cover.length === cells) {
      this.cover.fill(0);
      this.vote.fill(0);
    } else {
      this.cover = new Float32Array(cells);
      this.vote = new Float32Array(cells);
      this.job = new Int32Array(cells);
    }
    this.job.fill(-1);
  }

  add(cell: number, busy: number, job: number, vote: number): void {
    this.cover[cell]! += busy;
    const votes = this.vote[cell]!;
    if (this.job[cell] === job) this.vote[cell] = votes + vote;
    else if (votes >= vote) this.vote[cell] = votes - vote;
    else {
      this.job[cell] = job;
      this.vote[cell] = vote - votes;
    }
  }

  /** Move every line of cells to the left by a number of columns (negative: to the right), and empty the rest. */
  shift(columns: number, width: number): void {
    for (const [array, empty] of [[this.cover, 0], [this.vote, 0], [this.job, -1]] as const) {
      for (let from = 0; from < array.length; from += width) {
        if (columns > 0) array.copyWithin(from, from + columns, from + width).fill(empty, from + width - columns, from + width);
        else array.copyWithin(from - columns, from, from + width + columns).fill(empty, from, from - columns);
      }
    }
  }
}

/** The drawn part: columns of `step` ns from number `column` on, and rows, `join` of which are one line. */
export interface Window {
  column: number;
  step: number;
  width: number;
  firstLine: number;
  lines: number;
  join: number;
}

export class Cells {
  readonly pale = new Layer();
  readonly full = new Layer();
  #rows: Rows | undefined;
  #window: Window = { column: 0, step: 1, width: 0, firstLine: 0, lines: 0, join: 1 };

  get window(): Window {
    return this.#window;
  }

  /** Make the cells what a window shows; say which columns are new. Where it has only moved in time these are few, and all others
   * lie `moved` columns farther left than before. */
  show(rows: Rows, window: Window): { from: number; to: number; moved: number } {
    const before = this.#window;
    const moved = window.column - before.column;
    const same =
      this.#rows === rows &&
      before.step === window.step &&
      before.width === window.width &&
      before.firstLine === window.firstLine &&
      before.lines === window.lines &&
      before.join === window.join;
    this.#rows = rows;
    this.#window = window;
    if (same && moved === 0) return { from: 0, to: 0, moved };
    if (same && Math.abs(moved) < window.width) {
      this.pale.shift(moved, window.width);
      this.full.shift(moved, window.width);
      const [from, to] = moved > 0 ? [window.width - moved, window.width] : [0, -moved];
      this.#paint(from, to);
      return { from, to, moved };
    }
    this.pale.clear(window.width * window.lines);
    this.full.clear(window.width * window.lines);
    this.#paint(0, window.width);
    return { from: 0, to: window.width, moved: 0 };
  }

  #paint(from: number, to: number): void {
    const rows = this.#rows!;
    if (rows.pale) this.#rectangles(rows.pale, this.pale, from, to);
    if (rows.full) this.#rectangles(rows.full, this.full, from, to);
    if (rows.tasks) this.#tasks(rows.tasks, from, to);
  }

  /** Call `visit` with every full bar that is seen and at least `wide` columns long, where a line is one place: line, begin, end,
   * job, and the task, which is -1 where bars are no tasks. */
  bars(wide: number, visit: (line: number, begin: number, end: number, job: number, task: number) => void): void {
    const { column, step, width, lines } = this.#window;
    const from = column * step;
    const to = (column + width) * step;
    const edges = Array.from({ length: lines }, (_, line) => this.places(line));
    const rows = this.#rows!;
    const pyramid = rows.tasks;
    if (pyramid) {
      const { begin, end, job, first } = pyramid.tasks;
      edges.forEach(([core, stop], line) => {
        if (stop - core !== 1) return;
        // No more bars of that width than there is room for, but perhaps many others: those are not looked for.
        const one = firstEnding(pyramid, core, from);
        const last = first[core + 1]!;
        let looked = 4 * width;
        for (let task = one; task < last && begin.at(task) < to && looked-- > 0; task++) {
          if (end.at(task) - begin.at(task) >= wide * step) visit(line, begin.at(task), end.at(task), job[task]!, task);
        }
      });
      return;
    }
    const line0 = edges[0]?.[0] ?? 0;
    rows.full?.within(from, to, (bar) => {
      const { begin, end, lo, hi, job } = rows.full!;
      if (end[bar]! - begin[bar]! < wide * step) return;
      for (let place = Math.max(lo[bar]!, line0); place < hi[bar]!; place++) {
        const line = rows.kind === "hosts" || rows.kind === "gpu-hosts" ? -1 : place - line0;
        if (line < 0 || line >= lines || edges[line]![1] - edges[line]![0] !== 1) return;
        visit(line, begin[bar]!, end[bar]!, job[bar]!, -1);
      }
    });
  }

  /** The places of a line of cells: first, and one beyond the last. */
  places(line: number): [number, number] {
    const { firstLine, join } = this.#window;
    const rows = this.#rows!;
    const first = (firstLine + line) * join;
    return [rows.places[Math.min(first, rows.count)]!, rows.places[Math.min(first + join, rows.count)]!];
  }

  #rectangles(bars: Rectangles, layer: Layer, from: number, to: number): void {
    const { column, step, width, lines } = this.#window;
    const base = column * step;
    const edges = new Int32Array(lines + 1);
    for (let line = 0; line < lines; line++) [edges[line], edges[line + 1]] = this.places(line);
    const regular = (edges[lines]! - edges[0]!) / lines; // a first guess of where a place is
    bars.within(base + from * step, base + to * step, (bar) => {
      const lo = Math.max(bars.lo[bar]!, edges[0]!);
      const hi = Math.min(bars.hi[bar]!, edges[lines]!);
      if (lo >= hi) return;
      let line = Math.min(lines - 1, Math.floor((lo - edges[0]!) / regular));
      while (edges[line]! > lo) line--;
      while (edges[line + 1]! <= lo) line++;
      const begin = (bars.begin[bar]! - base) / step;
      const end = (bars.end[bar]! - base) / step;
      for (; line < lines && edges[line]! < hi; line++) {
        const places = edges[line + 1]! - edges[line]!;
        const share = (Math.min(hi, edges[line + 1]!) - Math.max(lo, edges[line]!)) / places;
        stretch(layer, line * width, begin, end, share, bars.job[bar]!, from, to);
      }
    });
  }

  #tasks(pyramid: Pyramid, from: number, to: number): void {
    const { column, step, width, lines } = this.#window;
    const top = pyramid.levels.length - 1;
    const layer = this.full;
    const base = column * step;
    const { tasks, levels } = pyramid;
    const walk = (level: number, first: number, last: number, core: number, line: number, share: number): void => {
      // A level of nodes, then that of tasks.
      if (level < 0) {
        const { begin, end, job } = tasks;
        for (let task = first; task < last; task++) {
          const a = (begin.at(task) - base) / step;
          const b = (end.at(task) - base) / step;
          if (b > from && a < to) stretch(layer, line, a, b, share, job[task]!, from, to);
        }
        return;
      }
      const nodes = levels[level]!;
      const below = level ? levels[level - 1]!.first : tasks.first;
      for (let node = first; node < last; node++) {
        const a = (nodes.begin[node]! - base) / step;
        const b = (nodes.end[node]! - base) / step;
        if (a >= to) return;
        if (b <= from) continue;
        const cell = Math.floor(a);
        if (cell >= from && b <= cell + 1) {
          layer.add(line + cell, (nodes.busy[node]! / step) * share, nodes.job[node]!, (nodes.vote[node]! / step) * share);
          continue;
        }
        const child = below[core]! + (node - nodes.first[core]!) * BRANCHES;
        walk(level - 1, child, Math.min(child + BRANCHES, below[core + 1]!), core, line, share);
      }
    };
    for (let line = 0; line < lines; line++) {
      const [first, stop] = this.places(line);
      const share = 1 / (stop - first);
      for (let core = first; core < stop; core++) {
        const nodes = levels[top]!.first;
        walk(top, nodes[core]!, nodes[core + 1]!, core, line * width, share);
      }
    }
  }
}

/** Add a bar from `begin` to `end`, in columns, to the cells from column `from` up to, not including, `to`. */
function stretch(
  layer: Layer,
  line: number,
  begin: number,
  end: number,
  share: number,
  job: number,
  from: number,
  to: number,
): void {
  const first = Math.max(from, Math.floor(begin));
  const last = Math.min(to, Math.ceil(end));
  for (let cell = first; cell < last; cell++) {
    const part = (Math.min(end, cell + 1) - Math.max(begin, cell)) * share;
    layer.add(line + cell, part, job, part);
  }
}

/** The first task of a core that ends after an instant, or where its tasks stop. */
export function firstEnding(pyramid: Pyramid, core: number, instant: number): number {
  const { first, end } = pyramid.tasks;
  let low = first[core]!;
  let high = first[core + 1]!;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (end.at(middle) > instant) high = middle;
    else low = middle + 1;
  }
  return low;
}
