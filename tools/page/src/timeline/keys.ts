// What keys mean to a timeline.

export interface KeyActs {
  /** By shares of the visible time and rows. */
  move(time: number, rows: number): void;
  zoom(factor: number): void;
  zoomRows(factor: number): void;
  fit(): void;
  /** To the row above or below; to the next or the previous bar. */
  step(rows: number): void;
  walk(direction: 1 | -1): void;
  choose(): void;
  cause(): void;
  back(): void;
  search(): void;
  close(): void;
}

export const HELP =
  "Left and right arrows move in time, up and down in rows. + and − zoom in time, with Shift they change the height of rows. n and p " +
  "go to the next and the previous bar of a row, Enter selects its job, c goes to the job that it waited for, b goes back. / searches, " +
  "0 shows everything, Escape closes. The wheel zooms; with Shift it moves in time, with Alt it changes the height of rows. On a touch " +
  "screen, use two fingers.";

const ZOOM = 1.4;

/** Do what a key means; say whether it means anything. */
export function pressed(event: KeyboardEvent, acts: KeyActs): boolean {
  const meaning = meanings[event.key];
  if (!meaning) return false;
  meaning(acts, event.shiftKey);
  return true;
}

type Meaning = (acts: KeyActs, shift: boolean) => void;

const larger: Meaning = (acts, shift) => (shift ? acts.zoomRows(ZOOM) : acts.zoom(1 / ZOOM));
const smaller: Meaning = (acts, shift) => (shift ? acts.zoomRows(1 / ZOOM) : acts.zoom(ZOOM));

// On many keyboards plus is typed with Shift: there it is `=`, or `*`, that is the other one's.
const meanings: Record<string, Meaning | undefined> = {
  ArrowLeft: (acts) => acts.move(-1 / 8, 0),
  ArrowRight: (acts) => acts.move(1 / 8, 0),
  a: (acts) => acts.move(-1 / 8, 0),
  d: (acts) => acts.move(1 / 8, 0),
  PageUp: (acts) => acts.move(0, -1),
  PageDown: (acts) => acts.move(0, 1),
  ArrowUp: (acts) => acts.step(-1),
  ArrowDown: (acts) => acts.step(1),
  "+": larger,
  "*": (acts) => acts.zoomRows(ZOOM),
  "=": (acts) => acts.zoom(1 / ZOOM),
  w: larger,
  W: larger,
  "-": smaller,
  _: smaller,
  s: smaller,
  S: smaller,
  "0": (acts) => acts.fit(),
  Home: (acts) => acts.fit(),
  n: (acts) => acts.walk(1),
  p: (acts) => acts.walk(-1),
  Enter: (acts) => acts.choose(),
  c: (acts) => acts.cause(),
  b: (acts) => acts.back(),
  "/": (acts) => acts.search(),
  Escape: (acts) => acts.close(),
};
