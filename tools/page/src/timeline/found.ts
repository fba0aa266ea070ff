// What lies at a place of the picture, and the words for it: the same for the pointer, the keyboard and screen readers.

import { type Cells, firstEnding } from "./cells.ts";
import type { TimelineData } from "./data.ts";
import type { Rows } from "./rows.ts";
import { duration } from "../format.ts";
import { exactly, instant } from "./units.ts";
import type { View } from "./view.ts";

export interface Found {
  /** First row, and one beyond the last: several where they are joined. */
  rows: [number, number];
  instant: number;
  /** -1 where nothing is. */
  job: number;
  /** -1 where it is no task. */
  task: number;
  /** Whether several bars may be where this one was found. */
  several: boolean;
}

/** What is at a row and an instant, where one column of pixels is `step` ns. */
export function find(rows: Rows, view: View, cells: Cells, row: number, at: number): Found | undefined {
  if (row < 0 || row >= rows.count) return undefined;
  const line = Math.floor(row / view.join);
  const first = line * view.join;
  const stop = Math.min(first + view.join, rows.count);
  const found: Found = { rows: [first, stop], instant: at, job: -1, task: -1, several: false };
  const place = rows.places[first]!;
  if (rows.places[stop]! - place !== 1) {
    const { window, full, pale } = cells;
    const cell = (line - window.firstLine) * window.width + Math.floor(at / window.step) - window.column;
    found.job = full.cover[cell]! > 0 ? full.job[cell]! : pale.cover[cell]! > 0 ? pale.job[cell]! : -1;
    found.several = true;
    return found;
  }
  if (rows.tasks) {
    const { tasks } = rows.tasks;
    // The task of the column that contains the instant, or the next task.
    const task = firstEnding(rows.tasks, place, at);
    if (task < tasks.first[place + 1]! && tasks.begin.at(task) < at + view.step) {
      found.task = task;
      found.job = tasks.job[task]!;
      found.several = tasks.end.at(task) - tasks.begin.at(task) < view.step;
      return found;
    }
  }
  for (const bars of [rows.full, rows.pale]) {
    const bar = bars?.find(at, place) ?? -1;
    if (bar >= 0) {
      found.job = bars!.job[bar]!;
      return found;
    }
  }
  return found;
}

const WHY: Record<string, string> = {
  head: "as the head of the queue",
  backfill: "by backfilling, ahead of waiting jobs",
  reserved: "at a reservation made in an earlier pass",
  preset: "running when the workload begins",
  never: "never started",
};

export function why(data: TimelineData, job: number): string {
  const word = data.word("why", job);
  const because = data.word("started_because", job);
  return (WHY[word] ?? word) + (because ? `: ${because}` : "");
}

export type Line = [name: string, value: string];

/** The lines of a place's tooltip; the first has no name. */
export function linesOf(data: TimelineData, rows: Rows, found: Found): Line[] {
  const { jobs, tasks, baseNs, startS } = data;
  const { job, task } = found;
  const [first, stop] = found.rows;
  const ofGpus = rows.kind === "gpus" || rows.kind === "gpu-hosts";
  const named = (row: number) => rows.name(row) + (rows.kind === "gpus" ? `, ${data.hosts[data.gpuOf(row).host]}` : "");
  const last = ofGpus ? named(stop - 1) : `${stop - 1}`;
  const where = stop - first > 1 ? `${named(first)} to ${last}` : named(first);
  const host = rows.kind === "cores" ? `, ${data.hosts[data.hostOf(first)]}` : "";
  if (job < 0) return [["", "idle"], [rows.kind === "lanes" ? "lane" : "where", where + host]];
  const name = data.word("name", job);
  const title = data.jobName(job) + (name ? ` “${name}”` : "");
  const lines: Line[] = [["", found.several && task < 0 ? `mostly ${title}` : title]];
  if (task >= 0) {
    lines.push(["task", `${tasks!.number[task]}, of chunk ${tasks!.chunk[task]}${found.several ? ", one of several here" : ""}`]);
    lines.push(["began", instant(tasks!.begin.exact(task) + baseNs, startS)]);
    lines.push(["took", exactly(tasks!.end.exact(task) - tasks!.begin.exact(task))]);
  } else {
    lines.push(["started", instant(jobs.start.exact(job) + baseNs, startS)]);
    lines.push(["ran", exactly(jobs.end.exact(job) - jobs.start.exact(job))]);
    if (rows.tasks && !found.several) lines.push(["here", "no task: the core waits or receives a chunk"]);
  }
  if (ofGpus) lines.push(["held", heldGpus(data, job, rows.kind === "gpus" && stop - first === 1 ? first : -1)]);
  const technique = data.word("technique", job);
  if (technique) lines.push(["technique", technique]);
  lines.push(["job", `${jobs.held[job]} ${jobs.held[job] === 1 ? "core" : "cores"}, waited ${duration(jobs.start.at(job) - jobs.eligible.at(job))}`]);
  lines.push(["started", why(data, job)]);
  if (rows.kind !== "lanes") lines.push(["where", where + host]);
  return lines;
}

/** How much of a GPU a job held on one lane, or, for -1, of all GPUs, with their kinds. */
function heldGpus(data: TimelineData, job: number, lane: number): string {
  const { first, lane: lanes, milli, kinds } = data.gpus!;
  let sum = 0;
  const names = new Set<string>();
  for (let row = first[job]!; row < first[job + 1]!; row++) {
    if (lane >= 0 && lanes[row] !== lane) continue;
    sum += milli[row]!;
    const kind = kinds[data.gpuOf(lanes[row]!).host]!;
    if (kind) names.add(kind);
  }
  const share = lane >= 0 && sum < 1000 ? `${sum} milli of a GPU` : `${sum / 1000} ${sum > 1000 ? "GPUs" : "GPU"}`;
  return share + (names.size ? ` (${[...names].join(", ")})` : "");
}

/** The data of one job. */
export function jobLines(data: TimelineData, job: number): Line[] {
  const { jobs, baseNs, startS } = data;
  const lines: Line[] = [];
  const at = (name: string, ns: bigint) => lines.push([name, instant(ns + baseNs, startS)]);
  at("submitted", jobs.submit.exact(job));
  if (jobs.eligible.exact(job) !== jobs.submit.exact(job)) at("eligible", jobs.eligible.exact(job));
  if (jobs.started[job]) {
    at("started", jobs.start.exact(job));
    at("ended", jobs.end.exact(job));
    lines.push(["waited", exactly(jobs.start.exact(job) - jobs.eligible.exact(job))]);
    lines.push(["ran", exactly(jobs.end.exact(job) - jobs.start.exact(job))]);
  }
  lines.push(["why it started then", why(data, job)]);
  const words = [data.word("state", job), data.word("cut_because", job), data.word("rejected_because", job)];
  lines.push(["end", words.filter((word) => word).join(": ")]);
  const held = jobs.held[job]!;
  lines.push(["cores", held && held !== jobs.cores[job] ? `${held} (requested ${jobs.cores[job]})` : `${jobs.cores[job]}`]);
  if (data.gpus && data.gpus.first[job]! < data.gpus.first[job + 1]!) lines.push(["GPUs", heldGpus(data, job, -1)]);
  if (jobs.tasks.at(job)) lines.push(["tasks", `${jobs.tasks.exact(job)} in ${jobs.chunks.exact(job)} chunks`]);
  const imbalance = jobs.imbalance?.[job];
  if (imbalance !== undefined && !Number.isNaN(imbalance)) lines.push(["imbalance", imbalance.toPrecision(4)]);
  for (const name of ["technique", "application", "user"]) if (data.word(name, job)) lines.push([name, data.word(name, job)]);
  return lines;
}
