// Numbers and times as people read them.

const NS_PER_S = 1_000_000_000;

// Made once each: toLocaleString makes one for every number.
const WHOLE = new Intl.NumberFormat("en");
const REAL = Array.from({ length: 12 }, (_, digits) => new Intl.NumberFormat("en", { maximumFractionDigits: digits }));

/** What stands for a value that there is not. */
export const NONE = "–";

const two = (value: number): string => String(value).padStart(2, "0");

/** A duration, as everywhere in twolevel: `0.25 s`, `93.2 s`, `5 min 02 s`, `7 h 17 min`, `2 d 10 h`. */
export function duration(ns: number): string {
  if (ns < 0) return `−${duration(-ns)}`;
  const seconds = ns / NS_PER_S;
  if (seconds < 120) return `${Number(seconds.toPrecision(3))} s`;
  const minutes = Math.floor(Math.round(seconds) / 60);
  if (minutes < 120) return `${minutes} min ${two(Math.round(seconds) % 60)} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${two(minutes % 60)} min` : `${Math.floor(hours / 24)} d ${two(hours % 24)} h`;
}

/** An instant since time 0, to the second: `00:01:05`, `2 d 10:02:05`. */
export function clock(ns: number): string {
  if (ns < 0) return `−${clock(-ns)}`;
  const whole = Math.round(ns / NS_PER_S);
  const days = Math.floor(whole / 86_400);
  const text = `${two(Math.floor((whole % 86_400) / 3600))}:${two(Math.floor((whole % 3600) / 60))}:${two(whole % 60)}`;
  return days ? `${days} d ${text}` : text;
}

/** A number with at most five digits that are not of its size: `1,234.5`, `0.00012345`. */
export function real(value: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e15 || size < 1e-6) return value.toExponential(3).replace("-", "−");
  const digits = size >= 10_000 ? 0 : Math.max(0, 4 - Math.floor(Math.log10(size)));
  return REAL[digits]!.format(value).replace("-", "−");
}

/** A whole number with its thousands apart. */
export function whole(value: number | bigint): string {
  return WHOLE.format(value).replace("-", "−");
}

const UNITS_NS: ReadonlyMap<string, number> = new Map([
  ["ns", 1],
  ["us", 1e3],
  ["ms", 1e6],
  ["s", NS_PER_S],
  ["min", 60 * NS_PER_S],
  ["h", 3600 * NS_PER_S],
  ["d", 86_400 * NS_PER_S],
]);

/** The ns of a text as `90s`, `1.5h`, `2d`; undefined if it is none. Without a unit it is of seconds. */
export function parseTime(text: string): number | undefined {
  const match = /^([-−]?\d+(?:\.\d+)?)(ns|us|ms|s|min|h|d)?$/.exec(text);
  if (!match) return undefined;
  return Number(match[1]!.replace("−", "-")) * UNITS_NS.get(match[2] ?? "s")!;
}

/** The unit in which times of at most this many ns are drawn, and how many ns it has. */
export function unitOf(mostNs: number): [string, number] {
  for (const name of ["d", "h", "min", "s", "ms", "us"]) {
    const ns = UNITS_NS.get(name)!;
    if (mostNs >= 3 * ns) return [name, ns];
  }
  return ["ns", 1];
}
