// The way to a job: from what is seen to where the job, with its wait, takes a good part of it.

import type { TimelineData } from "./data.ts";
import type { RowKinds, Rows } from "./rows.ts";
import { View } from "./view.ts";

/** ms. */
const LONG = 260;

/** What is to be seen of a job that has started. */
export function sightOf(data: TimelineData, kinds: RowKinds, rows: Rows, view: View, job: number): View {
  const { jobs, holds } = data;
  const start = jobs.start.at(job);
  const end = jobs.end.at(job);
  const since = Math.max(Math.min(jobs.eligible.at(job), start), start - 2 * (end - start));
  const target = new View(view.span, view.rows);
  Object.assign(target, { width: view.width, height: view.height, rowHeight: view.rowHeight, top: view.top });
  target.showTime(since, end, 0.6);
  let first = kinds.lane?.[job] ?? 0;
  let stop = first + 1;
  if (rows.kind === "gpus" || rows.kind === "gpu-hosts") {
    const lanes = data.gpus!.lane.subarray(data.gpus!.first[job]!, data.gpus!.first[job + 1]!);
    if (!lanes.length) return target; // it has no GPUs: only its time is shown
    [first, stop] = [lanes.reduce((a, b) => Math.min(a, b)), lanes.reduce((a, b) => Math.max(a, b)) + 1];
    if (rows.kind === "gpu-hosts") {
      const row = (lane: number) => data.gpus!.place[data.gpuOf(lane).host]!;
      [first, stop] = [row(first), row(stop - 1) + 1];
    }
  } else if (rows.kind !== "lanes") {
    first = holds.lo[holds.first[job]!]!;
    stop = holds.hi[holds.first[job + 1]! - 1]!;
  }
  if (rows.kind === "hosts") [first, stop] = [data.hostOf(first), data.hostOf(stop - 1) + 1];
  target.showRows(first, stop);
  return target;
}

/** Move a view there, drawing on the way, as long as `going` says so. */
export function fly(view: View, target: View, going: () => boolean, draw: () => void): void {
  const from = { sum: view.from + view.to, step: view.step, top: view.top };
  const to = { sum: target.from + target.to, step: target.step, top: target.top };
  const began = performance.now();
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const move = (now: number) => {
    if (!going()) return;
    const part = still ? 1 : Math.min(1, Math.max(0, (now - began) / LONG));
    const eased = part * part * (3 - 2 * part);
    const step = from.step * (to.step / from.step) ** eased;
    // The place moves as the length grows, so that both are evenly on their way to the eye.
    const share = Math.abs(to.step - from.step) < 1e-9 * from.step ? eased : (step - from.step) / (to.step - from.step);
    const middle = (from.sum + (to.sum - from.sum) * share) / 2;
    view.showTime(middle - (step * view.width) / 2, middle + (step * view.width) / 2);
    view.top = from.top + (to.top - from.top) * eased;
    draw();
    if (part < 1) requestAnimationFrame(move);
  };
  move(began);
}
