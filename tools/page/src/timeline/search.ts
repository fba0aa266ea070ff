// Which jobs somebody looks for: a number is a job's, anything else is a part of its name, user, technique or the like.

import type { TimelineData } from "./data.ts";

const SEARCHED = ["name", "user", "application", "technique", "state", "why"];

export function findJobs(data: TimelineData, text: string): number[] {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  const number = /^(?:job\s*)?#?(-?\d{1,19})$/.exec(wanted);
  const found: number[] = [];
  if (number) {
    const id = BigInt(number[1]!);
    for (let job = 0; job < data.jobs.count; job++) if (data.jobs.id.exact(job) === id) found.push(job);
    if (found.length) return found;
  }
  const wants = new Set<string>();
  for (const column of SEARCHED) {
    const words = data.words.get(column);
    const codes = words && new Set([...words.texts.keys()].filter((code) => words.texts[code]!.toLowerCase().includes(wanted)));
    if (!codes?.size) continue;
    for (let job = 0; job < data.jobs.count; job++) if (codes.has(words!.code[job]!)) found.push(job);
    wants.add(column);
    break; // the first kind of word that fits: a name rather than a technique that has it in it
  }
  return found;
}
