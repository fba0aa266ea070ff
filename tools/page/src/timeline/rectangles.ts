// Bars over several rows, as what jobs hold: sorted by begin, in blocks that say when the last of their bars ends, so that the
// bars of a stretch of time are found without looking at all.

const BLOCK = 256;

export class Rectangles {
  readonly begin: Float64Array;
  readonly end: Float64Array;
  readonly lo: Int32Array;
  readonly hi: Int32Array;
  readonly job: Int32Array;
  readonly #latest: Float64Array;

  constructor(begin: Float64Array, end: Float64Array, lo: Int32Array, hi: Int32Array, job: Int32Array) {
    const order = new Uint32Array(begin.length).map((_, row) => row);
    let sorted = true;
    for (let row = 1; row < begin.length && sorted; row++) sorted = begin[row - 1]! <= begin[row]!;
    if (!sorted) order.sort((a, b) => begin[a]! - begin[b]! || a - b);
    this.begin = new Float64Array(order.length);
    this.end = new Float64Array(order.length);
    this.lo = new Int32Array(order.length);
    this.hi = new Int32Array(order.length);
    this.job = new Int32Array(order.length);
    this.#latest = new Float64Array(Math.ceil(order.length / BLOCK)).fill(-Infinity);
    for (let to = 0; to < order.length; to++) {
      const from = order[to]!;
      this.begin[to] = begin[from]!;
      this.end[to] = end[from]!;
      this.lo[to] = lo[from]!;
      this.hi[to] = hi[from]!;
      this.job[to] = job[from]!;
      const block = Math.floor(to / BLOCK);
      this.#latest[block] = Math.max(this.#latest[block]!, end[from]!);
    }
  }

  /** Call `visit` with every row that lies in [from, to), at least in part. */
  within(from: number, to: number, visit: (row: number) => void): void {
    for (let block = 0; block < this.#latest.length; block++) {
      const first = block * BLOCK;
      if (this.begin[first]! >= to) return;
      if (this.#latest[block]! <= from) continue;
      const stop = Math.min(first + BLOCK, this.begin.length);
      for (let row = first; row < stop && this.begin[row]! < to; row++) if (this.end[row]! > from) visit(row);
    }
  }

  /** The row that covers an instant and a place, the last one that began; -1 if none does. */
  find(instant: number, place: number): number {
    let found = -1;
    this.within(instant, instant + Math.max(1, Math.abs(instant) * 2 ** -50), (row) => {
      if (this.lo[row]! <= place && place < this.hi[row]! && this.begin[row]! <= instant) found = row;
    });
    return found;
  }
}
