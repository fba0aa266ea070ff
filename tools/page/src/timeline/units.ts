// Times for people: how long something takes, when it happens, and where an axis has its ticks. Exact: instants are BigInt.

const S = 1_000_000_000n;
const DAY = 86_400n * S;

function grouped(whole: bigint): string {
  return whole.toString().replace(/\B(?=(\d{3})+(?!\d))/g, " ");
}

/** A duration, exact: `2 h 03 min 4.5 s`. */
export function exactly(ns: bigint): string {
  if (ns < 0n) return `−${exactly(-ns)}`;
  const days = ns / DAY;
  const hours = (ns / (3600n * S)) % 24n;
  const minutes = (ns / (60n * S)) % 60n;
  const rest = ns % (60n * S);
  const fraction = (rest % S).toString().padStart(9, "0").replace(/0+$/, "");
  const seconds = `${rest / S}${fraction ? `.${fraction}` : ""} s`;
  const parts: string[] = [];
  if (days) parts.push(`${days} d`);
  if (hours) parts.push(`${hours} h`);
  if (minutes) parts.push(`${minutes} min`);
  if (rest || !parts.length) parts.push(seconds);
  return parts.join(" ");
}

/** An instant since time 0, exact to the last digit that is not 0: `1 d 02:03:04.5`; and its date where the log has dates. */
export function instant(ns: bigint, startS: number | null): string {
  const sign = ns < 0n ? "−" : "";
  const size = ns < 0n ? -ns : ns;
  const days = size / DAY;
  const clock = hms(size % DAY);
  const text = `${sign}${days ? `${grouped(days)} d ` : ""}${clock}`;
  if (startS === null) return text;
  return `${date(ns, startS)} (${text})`;
}

function hms(ns: bigint): string {
  const two = (value: bigint) => value.toString().padStart(2, "0");
  const fraction = (ns % S).toString().padStart(9, "0").replace(/0+$/, "");
  return `${two(ns / (3600n * S))}:${two((ns / (60n * S)) % 60n)}:${two((ns / S) % 60n)}${fraction ? `.${fraction}` : ""}`;
}

/** Its date and time of day in UTC, to the second. */
export function date(ns: bigint, startS: number): string {
  const ms = Number(ns / 1_000_000n) + startS * 1000;
  const text = new Date(ms).toISOString(); // which is UTC
  return `${text.slice(0, 10)} ${text.slice(11, 19)}`;
}

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200];

/** The distance of ticks in ns, at least `atLeast`. */
export function tickStep(atLeast: number): number {
  const seconds = atLeast / 1e9;
  if (seconds > 43200) return decade(seconds / 86400) * 86400e9;
  if (seconds > 0.5) return STEPS.find((step) => step >= seconds)! * 1e9;
  return Math.max(1, decade(atLeast));
}

function decade(atLeast: number): number {
  const power = 10 ** Math.floor(Math.log10(atLeast) + 1e-9);
  for (const factor of [1, 2, 5, 10]) if (factor * power >= atLeast * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

export interface Ticks {
  /** What stands at the left where ticks are below a second: the instant that they are counted from. */
  anchor: string;
  ticks: { at: number; label: string }[];
}

/** Ticks from `from` to `to`, ns since the base, which is `base` ns since time 0. */
export function ticksOf(from: number, to: number, base: bigint, startS: number | null, atLeast: number): Ticks {
  const step = tickStep(atLeast);
  const whole = BigInt(Math.round(step));
  const start = BigInt(Math.floor(from)) + base;
  // Counted from time 0, or from midnight where days are known.
  const offset = startS === null ? 0n : BigInt(Math.round((startS % 86400) * 1000)) * 1_000_000n;
  let at = ((start + offset) / whole) * whole - offset;
  // In the unit of the step, from where the next larger one begins.
  const [unit, size] = ([["ns", 1n], ["µs", 1_000n], ["ms", 1_000_000n]] as const).findLast(([, one]) => one <= whole)!;
  const anchorAt = (start / (size * 1000n)) * size * 1000n;
  const since = (ns: bigint) => `+${Number(ns) / Number(size)} ${unit}`;
  const ticks: { at: number; label: string }[] = [];
  for (; Number(at - base) <= to; at += whole) {
    const place = Number(at - base);
    if (place < from) continue;
    ticks.push({ at: place, label: step < 1e9 ? since(at - anchorAt) : label(at, step, startS) });
  }
  return { anchor: step < 1e9 ? instant(anchorAt, startS) : "", ticks };
}

function label(at: bigint, step: number, startS: number | null): string {
  if (startS !== null) {
    const text = date(at, startS);
    if (step >= 86400e9) return text.slice(0, 10);
    const clock = step >= 60e9 ? text.slice(11, 16) : text.slice(11);
    return clock.startsWith("00:00") ? text.slice(0, 10) : clock;
  }
  const days = at / DAY;
  if (step >= 86400e9) return `${grouped(days)} d`;
  const clock = hms(at % DAY);
  const short = step >= 60e9 ? clock.slice(0, 5) : clock.slice(0, 8);
  if (at % DAY === 0n && days > 0n) return `${grouped(days)} d`;
  return days > 0n ? `${days} d ${short}` : short;
}
