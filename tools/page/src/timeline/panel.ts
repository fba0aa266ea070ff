// Texts next to the picture: the bar under the pointer, the selected job with links to its causes, the legend, and the visible jobs
// as a table for readers who cannot see the picture.

import type { Causes } from "./causes.ts";
import { type Colouring, css } from "./colours.ts";
import type { TimelineData } from "./data.ts";
import { button, element } from "./elements.ts";
import { type Line, jobLines, why } from "./found.ts";
import { exactly, instant } from "./units.ts";

/** Most jobs in the list. */
const LISTED = 50;
/** Most named jobs of those that waited. */
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
  release: "it waited for the end of",
  dependency: "it depends on",
  retry: "it was requeued after",
  lost: "after a loss of cores, it waited for",
  unmatched: "it waited for a job that ran only in this run:",
  freed: "it started on cores released early by",
  hinted: "it started on cores released after a hint by",
  asked: "it started on cores that the scheduler requested from",
  wished: "it started on cores that the shrinking job released:",
};

/** Causes that name no job. */
const ALONE: Record<string, string> = {
  submit: "it did not wait",
  eligible: "it started as soon as it was eligible",
  boot: "it waited only for its hosts to boot",
  pass: "no cores became free then: a reservation or repair ended, a limit allowed it, or the decision took time",
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
    const then = late > 0 ? `which released the last of its cores ${exactly(BigInt(Math.round(late)))} before its start` : "and started when they released its cores";
    add("waited for", ...causes.before.slice(0, NAMED).map(link), rest(causes.before, NAMED), then);
  }
  if (causes.compared >= 0) add("compared", `${COMPARED[causes.word] ?? causes.word} `, link(causes.compared));
  else if (causes.word) add("compared", ALONE[causes.word] ?? causes.word);
  if (causes.after.length) add("released cores for", ...causes.after.slice(0, NAMED).map(link), rest(causes.after, NAMED));
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
  if (lanes) entries.push(entry(grey, "pale: waiting", "timeline-pale"));
  else if (tasks) entries.push(entry(grey, "pale: allocated but idle", "timeline-pale"));
  const title = colouring.legend.length ? colouring.name : "one colour per job";
  place.replaceChildren(element("li", "timeline-name", {}, title), ...entries);
}

/** The visible jobs as a table. */
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
  const caption = `${rows.length + more} jobs run in the visible time${more ? `; the first ${rows.length} are listed` : ""}`;
  place.replaceChildren(
    element("caption", "", {}, caption),
    element("thead", "", {}, element("tr", "", {}, ...head.map((text) => element("th", "", { scope: "col" }, text)))),
    element("tbody", "", {}, ...body),
  );
}
