// What colours mean. A colouring gives every job a colour and a legend says which is what; nothing depends on hue alone, since the
// pointer and the keyboard tell the words of every bar. The hues can be told apart by people who see fewer of them (Okabe and Ito's
// and Tol's), the ordered ones become lighter as well (cividis).

import type { TimelineData } from "./data.ts";
import { duration } from "../format.ts";

export type Colour = [number, number, number];

export interface Colouring {
  name: string;
  /** Of each job. */
  colours: Uint8Array; // three bytes each
  legend: { colour: Colour; label: string }[];
}

const HUES = ["#4477aa", "#ee7733", "#228833", "#cc3377", "#56b4e9", "#ccbb44", "#7b68c8", "#009e73", "#c05a3c", "#ee99aa"].map(hex);
const GREY = hex("#8c8c8c");
const UNKNOWN = hex("#c3ccd6"); // none of the ordered colours, whose middle is grey
const ORDERED = ["#31446b", "#575d6d", "#7d7c78", "#a59c74", "#d0be60", "#ffea46"].map(hex);

export const SCHEMES: readonly { key: string; label: string }[] = [
  { key: "job", label: "job" },
  { key: "technique", label: "technique" },
  { key: "application", label: "application" },
  { key: "user", label: "user" },
  { key: "wait", label: "wait" },
  { key: "imbalance", label: "imbalance" },
  { key: "why", label: "why it started" },
  { key: "state", label: "how it ended" },
];

/** The colourings that the data allow. */
export function schemes(data: TimelineData): { key: string; label: string }[] {
  return SCHEMES.filter(({ key }) => {
    if (key === "job" || key === "wait") return true;
    if (key === "imbalance") return data.jobs.imbalance?.some((value) => !Number.isNaN(value)) ?? false;
    return data.words.has(key);
  });
}

export function colouring(data: TimelineData, key: string): Colouring {
  if (key === "wait") return byWait(data);
  if (key === "imbalance") return byImbalance(data);
  if (key === "job") return byJob(data);
  return byWord(data, key);
}

function byJob(data: TimelineData): Colouring {
  // Neighbours in the table differ; so do most neighbouring jobs.
  const colours = filled(data, (job) => HUES[(job * 7) % HUES.length]!);
  return { name: "job", colours, legend: [] };
}

function byWord(data: TimelineData, key: string): Colouring {
  const words = data.words.get(key)!;
  // Those with the most core time have hues of their own.
  const time = new Float64Array(words.texts.length);
  const { jobs } = data;
  for (let job = 0; job < jobs.count; job++) {
    time[words.code[job]!]! += (jobs.end.at(job) - jobs.start.at(job)) * jobs.held[job]! + 1e-9;
  }
  const ranked = [...time.keys()].sort((a, b) => time[b]! - time[a]!);
  const most = ranked.length > HUES.length ? HUES.length - 1 : HUES.length;
  const hue: Colour[] = words.texts.map(() => GREY);
  const legend: Colouring["legend"] = [];
  ranked.slice(0, most).forEach((code, place) => {
    hue[code] = HUES[place]!;
    legend.push({ colour: HUES[place]!, label: words.texts[code] || "(not said)" });
  });
  if (ranked.length > most) legend.push({ colour: GREY, label: `${ranked.length - most} others` });
  return { name: key, colours: filled(data, (job) => hue[words.code[job]!]!), legend };
}

const WAITS = [1e6, 1e7, 1e8, 1e9, 1e10, 60e9, 600e9, 3600e9, 21600e9, 86400e9, 604800e9];

function byWait(data: TimelineData): Colouring {
  const { jobs } = data;
  const wait = (job: number) => (jobs.started[job] ? jobs.start.at(job) - jobs.eligible.at(job) : NaN);
  let longest = 0;
  for (let job = 0; job < jobs.count; job++) longest = Math.max(longest, wait(job) || 0);
  // Familiar limits, up to the first above the longest wait.
  const top = WAITS.findIndex((limit) => limit >= longest);
  const last = top < 0 ? WAITS.length : top;
  const limits = [0, ...WAITS.slice(Math.max(0, last - 4), last)];
  return classes(data, "wait", wait, limits, (limit) => (limit ? duration(limit) : "no wait"));
}

function byImbalance(data: TimelineData): Colouring {
  const { imbalance } = data.jobs;
  return classes(data, "imbalance", (job) => imbalance![job]!, [0.02, 0.05, 0.1, 0.2, 0.5], (limit) => String(limit));
}

/** One colour for all up to each limit, and one for what is above the last. */
function classes(
  data: TimelineData,
  name: string,
  value: (job: number) => number,
  limits: number[],
  label: (limit: number) => string,
): Colouring {
  const shade = (at: number) => ORDERED[Math.round((at * (ORDERED.length - 1)) / limits.length)]!;
  let unknown = false;
  const colours = filled(data, (job) => {
    const one = value(job);
    if (Number.isNaN(one)) {
      unknown = true;
      return UNKNOWN;
    }
    const at = limits.findIndex((limit) => one <= limit);
    return shade(at < 0 ? limits.length : at);
  });
  const legend = limits.map((limit, at) => ({ colour: shade(at), label: at || limit ? `≤ ${label(limit)}` : label(limit) }));
  legend.push({ colour: shade(limits.length), label: `> ${label(limits[limits.length - 1]!)}` });
  if (unknown) legend.push({ colour: UNKNOWN, label: name === "wait" ? "never started" : "not known" });
  return { name, colours, legend };
}

function filled(data: TimelineData, colour: (job: number) => Colour): Uint8Array {
  const bytes = new Uint8Array(3 * data.jobs.count);
  for (let job = 0; job < data.jobs.count; job++) bytes.set(colour(job), 3 * job);
  return bytes;
}

export function hex(text: string): Colour {
  return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16)) as Colour;
}

export function css([red, green, blue]: Colour): string {
  return `rgb(${red} ${green} ${blue})`;
}

/** Whether black is read better on it than white. */
export function isLight([red, green, blue]: Colour): boolean {
  return 0.299 * red + 0.587 * green + 0.114 * blue > 140;
}

/** What is around the bars. */
export interface Theme {
  paper: Colour;
  line: string;
  ink: string;
  quiet: string;
  accent: string;
  strong: Colour;
}

const LIGHT: Theme = { paper: hex("#ffffff"), line: "#dfe2e6", ink: "#1d2126", quiet: "#5c646d", accent: "#b3261e", strong: hex("#b3261e") };
const DARK: Theme = { paper: hex("#15181c"), line: "#2f353c", ink: "#e6e9ec", quiet: "#9aa4ae", accent: "#ff9d8f", strong: hex("#ff9d8f") };

/** As the page says (data-theme), or else the system; on paper always light. */
export function theme(printing: boolean): Theme {
  if (printing) return LIGHT;
  const said = document.documentElement.dataset["theme"];
  const dark = said === "dark" || (said !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  return dark ? DARK : LIGHT;
}
