// What the rows of a timeline are: cores, hosts, lanes of jobs, or GPUs, and what lies on them.

import type { TimelineData } from "./data.ts";
import type { Pyramid } from "./pyramid.ts";
import { Rectangles } from "./rectangles.ts";

export type RowKind = "cores" | "hosts" | "lanes" | "gpus" | "gpu-hosts";

/** Rows of places: row `r` has the places first[r] up to, not including, first[r + 1]. A place is a core, a lane, or, where a row is
 * all GPUs of a host, a thousandth of one. */
export interface Rows {
  kind: RowKind;
  /** Rows of this kind, before any are joined to fit. */
  count: number;
  places: Int32Array;
  /** Drawn pale, beneath: what was held, or waited. */
  pale: Rectangles | undefined;
  /** Drawn full: what was held where there are no tasks, or when jobs ran. */
  full: Rectangles | undefined;
  /** Drawn full: tasks, by place. */
  tasks: Pyramid | undefined;
  name(row: number): string;
  /** Name of the host of a row of cores or GPUs, where there are several hosts; else empty. */
  host(row: number): string;
}

export class RowKinds {
  readonly #held: Rectangles;
  readonly #made = new Map<RowKind, Rows>();
  /** Lane of each job, -1 of one that never started; known when lanes have been drawn. */
  lane: Int32Array | undefined;

  constructor(
    private readonly data: TimelineData,
    private readonly pyramid: Pyramid | undefined,
  ) {
    const { begin, end, lo, hi, job } = data.holds;
    this.#held = new Rectangles(begin, end, lo, hi, job);
  }

  /** What jobs held, on cores. */
  get held(): Rectangles {
    return this.#held;
  }

  get(kind: RowKind): Rows {
    let rows = this.#made.get(kind);
    if (!rows) {
      if (kind === "lanes") rows = this.#lanes();
      else if (kind === "gpus") rows = this.#gpus();
      else rows = kind === "gpu-hosts" ? this.#gpuHosts() : this.#cores(kind);
      this.#made.set(kind, rows);
    }
    return rows;
  }

  #cores(kind: "cores" | "hosts"): Rows {
    const { data } = this;
    const hosts = kind === "hosts";
    const count = hosts ? data.hosts.length : data.cores;
    const places = hosts ? data.firstCore : new Int32Array(count + 1).map((_, core) => core);
    return {
      kind,
      count,
      places,
      pale: this.pyramid ? this.#held : undefined,
      full: this.pyramid ? undefined : this.#held,
      tasks: this.pyramid,
      name: (row) => (hosts ? data.hosts[row]! : `core ${row}`),
      host: (row) => (hosts || data.hosts.length < 2 ? "" : data.hosts[data.hostOf(row)]!),
    };
  }

  #gpus(): Rows {
    const { data } = this;
    const { begin, end, lane, job, ofGpu } = data.gpus!;
    const count = ofGpu[ofGpu.length - 1]!;
    return {
      kind: "gpus",
      count,
      places: new Int32Array(count + 1).map((_, row) => row),
      pale: undefined,
      full: new Rectangles(begin, end, lane, lane.map((one) => one + 1), job),
      tasks: undefined,
      name: (row) => {
        const { gpu, nth } = data.gpuOf(row);
        return `gpu ${gpu}` + (nth ? ` (${nth + 1})` : "");
      },
      host: (row) => (data.hosts.length < 2 ? "" : data.hosts[data.gpuOf(row).host]!),
    };
  }

  /** Jobs cover as many thousandths of a host's GPUs as they hold, wherever these lie: cells only count them. */
  #gpuHosts(): Rows {
    const { data } = this;
    const { begin, end, lane, job, milli, ofHost, hosts } = data.gpus!;
    const lo = lane.map((one) => 1000 * ofHost[data.gpuOf(one).host]!);
    return {
      kind: "gpu-hosts",
      count: hosts.length,
      places: Int32Array.from([...hosts.map((host) => 1000 * ofHost[host]!), 1000 * ofHost[data.hosts.length]!]),
      pale: undefined,
      full: new Rectangles(begin, end, lo, lo.map((one, row) => one + milli[row]!), job),
      tasks: undefined,
      name: (row) => data.hosts[hosts[row]!]!,
      host: () => "",
    };
  }

  #lanes(): Rows {
    const { jobs } = this.data;
    const ran: number[] = [];
    for (let job = 0; job < jobs.count; job++) if (jobs.started[job]) ran.push(job);
    const since = (job: number) => Math.min(jobs.eligible.at(job), jobs.start.at(job));
    ran.sort((a, b) => since(a) - since(b) || a - b);
    const lane = new Int32Array(jobs.count).fill(-1);
    const count = packLanes(ran, since, (job) => jobs.end.at(job), lane);
    this.lane = lane;
    const job = Int32Array.from(ran);
    const lo = job.map((one) => lane[one]!);
    const hi = lo.map((one) => one + 1);
    const column = (of: (job: number) => number) => Float64Array.from(ran, of);
    const start = column((one) => jobs.start.at(one));
    return {
      kind: "lanes",
      count,
      places: new Int32Array(count + 1).map((_, row) => row),
      pale: new Rectangles(column(since), start, lo, hi, job),
      full: new Rectangles(start, column((one) => jobs.end.at(one)), lo, hi, job),
      tasks: undefined,
      name: (row) => `lane ${row + 1}`,
      host: () => "",
    };
  }
}

/** Give each job, in the order in which they come, the lowest lane that is free; say how many there are. */
function packLanes(jobs: number[], begin: (job: number) => number, end: (job: number) => number, lane: Int32Array): number {
  const busy = new Heap(); // ends, of lanes that are taken
  const free = new Heap(); // numbers of lanes that are not
  let count = 0;
  for (const job of jobs) {
    while (busy.size && busy.least <= begin(job)) {
      const one = busy.pop();
      free.push(one, one);
    }
    const mine = free.size ? free.pop() : count++;
    lane[job] = mine;
    busy.push(end(job), mine);
  }
  return count;
}

/** Values by their keys, the least first. */
class Heap {
  readonly #keys: number[] = [];
  readonly #values: number[] = [];

  get size(): number {
    return this.#keys.length;
  }

  get least(): number {
    return this.#keys[0]!;
  }

  push(key: number, value: number): void {
    let at = this.#keys.length;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (this.#keys[above]! <= key) break;
      this.#keys[at] = this.#keys[above]!;
      this.#values[at] = this.#values[above]!;
      at = above;
    }
    this.#keys[at] = key;
    this.#values[at] = value;
  }

  pop(): number {
    const top = this.#values[0]!;
    const key = this.#keys.pop()!;
    const value = this.#values.pop()!;
    const size = this.#keys.length;
    if (!size) return top;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= size) break;
      if (below + 1 < size && this.#keys[below + 1]! < this.#keys[below]!) below++;
      if (this.#keys[below]! >= key) break;
      this.#keys[at] = this.#keys[below]!;
      this.#values[at] = this.#values[below]!;
      at = below;
    }
    this.#keys[at] = key;
    this.#values[at] = value;
    return top;
  }
}
