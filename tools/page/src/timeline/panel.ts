// Words beside the picture: what is under the pointer, all about the chosen job with the ways to its causes, the legend, and what is
// seen as a table for those who do not see it.

import type { Causes } from "./causes.ts";
import { type Colouring, css } from "./colours.ts";
import type { TimelineData } from "./data.ts";
import { button, element } from "./elements.ts";
import { type Line, jobLines, why } from "./found.ts";
import { exactly, instant } from "./units.ts";

/** At most so many jobs are listed. */
const LISTED = 50;
/** At most so many of those that waited are named. */
const NAMED = 8;

export function showLines(place: HTMLElement, lines: Line[]): void {
  place.replaceChildren(
    ...lines.map(([name, value]) =>
      name
        ? element("div", "", {}, element("span", "timeline-name", {}, name), element("span", "", {}, value))
        : element("strong", "", {}, value),
    ),
  );
}

const COMPARED: Record<string, string> = {
  release: "it waited for",
  dependency: "it depends on",
  retry: "it had to be tried again after",
  lost: "it waited, since cores were lost, for",
  unmatched: "it waited for a job that only this run ran:",
  freed: "it started on cores that were given back by",
  hinted: "it started on cores that were given back, on a hint, by",
  asked: "it started on cores that were asked for of",
  wished: "it started on cores that were no longer wished by",
};

/** Causes that name no job. */
const ALONE: Record<string, string> = {
  submit: "it did not wait",
  eligible: "it started as soon as it was eligible",
  boot: "it waited for its hosts to boot only",
  pass: "no cores came free just then: a window or a repair ended, a limit had been waited for, or deciding took time",
};

export function showJob(
  place: HTMLElement,
  data: TimelineData,
  job: number,
  causes: Causes,
  fly: (job: number) => void,
  close: () => void,
): void {
  const name = data.word("name", job);
  const link = (other: number) => button(data.jobName(other), `show ${data.jobName(other)}`, () => fly(other));
  const list = element("dl", "");
  const add = (term: string, ...values: (Node | string)[]) =>
    list.append(element("dt", "", {}, term), element("dd", "", {}, ...values));
  for (const [term, value] of jobLines(data, job)) if (value) add(term, value);
  if (causes.before.length) {
    const late = data.jobs.start.at(job) - causes.freed;
    const then = late > 0 ? `which gave the last of its cores back ${exactly(BigInt(Math.round(late)))} before` : "whose cores it got as they became free";
    add("waited for", ...causes.before.slice(0, NAMED).map(link), rest(causes.before, NAMED), then);
  }
  if (causes.compared >= 0) add("compared", `${COMPARED[causes.word] ?? causes.word} `, link(causes.compared));
  else if (causes.word) add("compared", ALONE[causes.word] ?? causes.word);
  if (causes.after.length) add("made way for", ...causes.after.slice(0, NAMED).map(link), rest(causes.after, NAMED));
  const head = element("h3", "", {}, data.jobName(job) + (name ? ` “${name}”` : ""));
  place.replaceChildren(element("header", "", {}, head, button("×", "close (Escape)", close)), list);
  place.hidden = false;
}

function rest(jobs: number[], named: number): string {
  return jobs.length > named ? ` and ${jobs.length - named} more ` : " ";
}

export function showLegend(place: HTMLElement, colouring: Colouring, tasks: boolean, lanes: boolean): void {
  const entry = (colour: string, text: string, kind = "") => {
    const box = element("i", kind);
    box.style.background = colour;
    return element("li", "", {}, box, text);
  };
  const entries = colouring.legend.map(({ colour, label }) => entry(css(colour), label));
  const grey = "#777";
  if (lanes) entries.push(entry(grey, "pale: waits", "timeline-pale"));
  else if (tasks) entries.push(entry(grey, "pale: held, no task", "timeline-pale"));
  const title = colouring.legend.length ? colouring.name : "a colour a job";
  place.replaceChildren(element("li", "timeline-name", {}, title), ...entries);
}

/** The jobs that are seen, as a table. */
export function showTable(place: HTMLElement, data: TimelineData, from: number, to: number): void {
  const { jobs, baseNs, startS } = data;
  const rows: number[] = [];
  let more = 0;
  for (let job = 0; job < jobs.count; job++) {
    if (!jobs.started[job] || jobs.end.at(job) <= from || jobs.start.at(job) >= to) continue;
    if (rows.length < LISTED) rows.push(job);
    else more++;
  }
  const head = ["job", "started", "ran", "waited", "cores", "why"];
  const cell = (text: string) => element("td", "", {}, text);
  const body = rows.map((job) =>
    element(
      "tr",
      "",
      {},
      cell(data.jobName(job)),
      cell(instant(jobs.start.exact(job) + baseNs, startS)),
      cell(exactly(jobs.end.exact(job) - jobs.start.exact(job))),
      cell(exactly(jobs.start.exact(job) - jobs.eligible.exact(job))),
      cell(String(jobs.held[job])),
      cell(why(data, job)),
    ),
  );
  const caption = `${rows.length + more} jobs run in what is seen${more ? `; the first ${rows.length} of them` : ""}`;
  place.replaceChildren(
    element("caption", "", {}, caption),
    element("thead", "", {}, element("tr", "", {}, ...head.map((text) => element("th", "", { scope: "col" }, text)))),
    element("tbody", "", {}, ...body),
  );
}
