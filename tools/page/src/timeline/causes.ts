// The jobs that a job waited for, and the jobs that waited for it: computed on request from the cores that jobs held.

import type { TimelineData } from "./data.ts";

export interface Causes {
  /** Of the jobs that held its cores between its becoming eligible and its start, those that gave them back last. */
  before: number[];
  /** When they did, ns since the base; that may be before its start, if it then waited for something else. */
  freed: number;
  /** Jobs that had waited and started on its cores at the very instant at which it gave them back. */
  after: number[];
  /** The job that a comparison names, or -1. */
  compared: number;
  /** In which way it does. */
  word: string;
}

export function causesOf(data: TimelineData, job: number): Causes {
  const [before, freed] = lastHolders(data, job);
  return {
    before,
    freed,
    after: followers(data, job),
    compared: data.causes ? data.causes[job]! : -1,
    word: data.word("cause", job),
  };
}

function lastHolders(data: TimelineData, job: number): [number[], number] {
  const { jobs, holds } = data;
  const start = jobs.start.at(job);
  const eligible = jobs.eligible.at(job);
  if (!jobs.started[job] || start <= eligible) return [[], NaN];
  let last = eligible;
  let found = new Set<number>();
  for (let row = 0; row < holds.job.length; row++) {
    const end = holds.end[row]!;
    if (end <= eligible || end > start || end < last || holds.job[row] === job || !onCoresOf(data, job, row)) continue;
    if (end > last) found = new Set();
    last = end;
    found.add(holds.job[row]!);
  }
  return [[...found], last];
}

function onCoresOf(data: TimelineData, job: number, row: number): boolean {
  const { holds } = data;
  for (let mine = holds.first[job]!; mine < holds.first[job + 1]!; mine++) {
    if (holds.lo[mine]! < holds.hi[row]! && holds.lo[row]! < holds.hi[mine]!) return true;
  }
  return false;
}

function followers(data: TimelineData, job: number): number[] {
  const { jobs, holds } = data;
  const ends = new Set<number>();
  for (let mine = holds.first[job]!; mine < holds.first[job + 1]!; mine++) ends.add(holds.end[mine]!);
  const found = new Set<number>();
  for (let row = 0; row < holds.job.length; row++) {
    const other = holds.job[row]!;
    if (other === job || !ends.has(holds.begin[row]!) || jobs.eligible.at(other) >= holds.begin[row]!) continue;
    if (onCoresOf(data, job, row)) found.add(other);
  }
  return [...found];
}
