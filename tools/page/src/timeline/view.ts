// What of the whole is seen: which stretch of time, which rows, how large. Nothing here draws.

/** No row is drawn higher than this, in pixels of CSS. */
const TALLEST = 48;
/** Where all rows fit, they are no higher than this. */
const FITTING = 22;

export class View {
  /** ns of a column of pixels. */
  step = 1;
  /** Column that is the first to be seen: it begins at column × step ns. */
  column = 0;
  /** Pixels (of CSS) of one row, which may be less than one; then rows are joined. */
  rowHeight = 10;
  /** Row that is the first to be seen, and a part of one. */
  top = 0;
  /** Columns, pixels of the screen, and the height in pixels of CSS, of where rows are. */
  width = 1;
  height = 1;
  #fits = true;

  constructor(
    readonly span: number,
    public rows: number,
  ) {}

  get from(): number {
    return this.column * this.step;
  }

  get to(): number {
    return (this.column + this.width) * this.step;
  }

  /** How many rows are joined to one line: a power of two, so that lines stay the same as one zooms. */
  get join(): number {
    return this.rowHeight >= 1 ? 1 : 2 ** Math.ceil(Math.log2(1 / this.rowHeight) - 1e-9);
  }

  get lineHeight(): number {
    return this.rowHeight * this.join;
  }

  /** Whether all rows can be seen at once, so that there is nothing to scroll. */
  get allRows(): boolean {
    return this.rows * this.rowHeight <= this.height + 0.5;
  }

  resize(width: number, height: number): void {
    const from = this.from;
    const seen = this.width * this.step;
    const before = this.width;
    this.width = Math.max(1, width);
    this.height = Math.max(1, height);
    if (before <= 1) return;
    this.step = seen / this.width;
    this.column = Math.round(from / this.step);
    if (this.#fits) this.fitRows();
    this.#clamp();
  }

  fit(): void {
    this.showTime(0, this.span, 0.01);
    this.fitRows();
  }

  fitRows(): void {
    this.rowHeight = Math.min(FITTING, this.height / Math.max(1, this.rows));
    this.top = 0;
    this.#fits = true;
  }

  setRows(rows: number): void {
    this.rows = rows;
    this.fitRows();
  }

  /** Show the time from `from` to `to`, with such a part of it empty at both sides. */
  showTime(from: number, to: number, margin = 0): void {
    const length = Math.max(to - from, this.#least * this.width);
    this.step = Math.min(this.#most, (length * (1 + 2 * margin)) / this.width);
    this.column = Math.round((from + to) / 2 / this.step - this.width / 2);
    this.#clamp();
  }

  /** Show rows from `first` up to, not including, `stop`: as they are where they can be seen, else scrolled to. */
  showRows(first: number, stop: number): void {
    if (this.allRows) return;
    const seen = this.height / this.rowHeight;
    if (first < this.top || stop > this.top + seen) this.top = (first + stop) / 2 - seen / 2;
    this.#clamp();
  }

  /** Show rows of this height, in pixels of CSS, from this one on. */
  showSame(rowHeight: number, top: number): void {
    this.rowHeight = rowHeight;
    this.top = top;
    this.#fits = this.allRows;
    this.#clamp();
  }

  /** Move by this many columns and pixels of CSS. */
  pan(columns: number, pixels: number): void {
    this.column += Math.round(columns);
    this.top += pixels / this.rowHeight;
    this.#clamp();
  }

  /** Make what is seen of time `factor` times as long, where the column `at` stays where it is. */
  zoom(factor: number, at: number): void {
    const instant = (this.column + at) * this.step;
    this.step = Math.min(this.#most, Math.max(this.#least, this.step * factor));
    this.column = Math.round(instant / this.step - at);
    this.#clamp();
  }

  /** Make rows `factor` times as high, where the one at pixel `at` of CSS stays where it is. */
  zoomRows(factor: number, at: number): void {
    const row = this.top + at / this.rowHeight;
    const least = Math.min(FITTING, this.height / Math.max(1, this.rows));
    this.rowHeight = Math.min(TALLEST, Math.max(least, this.rowHeight * factor));
    this.#fits = this.rowHeight <= least;
    this.top = row - at / this.rowHeight;
    this.#clamp();
  }

  instantAt(column: number): number {
    return (this.column + column) * this.step;
  }

  columnOf(instant: number): number {
    return instant / this.step - this.column;
  }

  // At least a twentieth of a ns, and at least the precision of a number.
  get #least(): number {
    return Math.max(0.05, this.span * 2 ** -50);
  }

  get #most(): number {
    return (this.span * 1.1) / this.width;
  }

  #clamp(): void {
    // The middle of the view always lies within the shown time.
    const half = Math.floor(this.width / 2);
    this.column = Math.min(Math.max(this.column, -half), Math.ceil(this.span / this.step) - half);
    const seen = this.height / this.rowHeight;
    this.top = Math.max(0, Math.min(this.top, this.rows - seen));
  }
}
