// Whole numbers as traces/timeline.py codes them: planes of bytes, perhaps of differences. They are decoded in two halves
// of 32 bits, since a number of JavaScript is exact up to 2^53 only, and instants of a log of years in ns are beyond that.

import type { Packed } from "../columns.ts";

interface How {
  rows: number;
  width: number;
  differences: boolean;
  signed: boolean;
}

const HALF = 4294967296;

/** Numbers of 64 bits: near enough as `at`, for positions on a screen, and as they are as `exact`. */
export class Whole {
  constructor(
    readonly low: Uint32Array,
    readonly high: Int32Array,
  ) {}

  static of(rows: number): Whole {
    return new Whole(new Uint32Array(rows), new Int32Array(rows));
  }

  get length(): number {
    return this.low.length;
  }

  at(row: number): number {
    return this.high[row]! * HALF + this.low[row]!;
  }

  exact(row: number): bigint {
    return (BigInt(this.high[row]!) << 32n) + BigInt(this.low[row]!);
  }

  /** Make row `to` what `to` says and row `row` of another says together; exact. */
  setSum(to: number, low: number, high: number, other: Whole, row: number): void {
    const sum = low + other.low[row]!;
    this.low[to] = sum;
    this.high[to] = high + other.high[row]! + (sum >= HALF ? 1 : 0);
  }

  plus(other: Whole): Whole {
    const sums = Whole.of(this.length);
    for (let row = 0; row < this.length; row++) sums.setSum(row, this.low[row]!, this.high[row]!, other, row);
    return sums;
  }

  floats(): Float64Array {
    const numbers = new Float64Array(this.length);
    for (let row = 0; row < this.length; row++) numbers[row] = this.at(row);
    return numbers;
  }
}

export class CodedColumns {
  readonly #packed: Packed;
  readonly #how: Record<string, How>;

  constructor(packed: Packed) {
    this.#packed = packed;
    this.#how = packed.about["coded"] as Record<string, How>;
  }

  has(name: string): boolean {
    return name in this.#how;
  }

  whole(name: string): Whole {
    const how = this.#how[name];
    const bytes = this.#packed.columns.get(name) as Uint8Array | undefined;
    if (!how || !bytes) throw new Error(`no column ${name}`);
    const { rows, width, differences, signed } = how;
    const numbers = Whole.of(rows);
    const { low, high } = numbers;
    for (let plane = 0; plane < width; plane++) {
      const half = plane < 4 ? low : high;
      const shift = (plane & 3) * 8;
      const from = plane * rows;
      for (let row = 0; row < rows; row++) half[row]! |= bytes[from + row]! << shift;
    }
    if (signed) {
      for (let row = 0; row < rows; row++) {
        const flip = -(low[row]! & 1);
        low[row] = ((low[row]! >>> 1) | (high[row]! << 31)) ^ flip;
        high[row] = (high[row]! >>> 1) ^ flip;
      }
    }
    if (differences) for (let row = 1; row < rows; row++) numbers.setSum(row, low[row]!, high[row]!, numbers, row - 1);
    return numbers;
  }

  /** Numbers that all fit into 32 bits. */
  small(name: string): Int32Array {
    const { low } = this.whole(name);
    return new Int32Array(low.buffer);
  }
}
