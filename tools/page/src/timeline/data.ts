// What a timeline shows, as the page carries it: jobs, what they held, tasks, and what is counted over time.

import type { Packed } from "../columns.ts";
import { CodedColumns, Whole } from "./coded.ts";

/** Tasks by core, then by time; core `c` has the rows first[c] up to, not including, first[c + 1]. */
export interface Tasks {
  first: Int32Array;
  begin: Whole;
  end: Whole;
  job: Int32Array;
  number: Int32Array;
  chunk: Int32Array;
}

export interface Steps {
  at: Float64Array;
  value: Float64Array;
}

/** Words of jobs: which of `texts` each has. */
export interface Words {
  code: Int32Array;
  texts: string[];
}

export interface Jobs {
  count: number;
  id: Whole;
  attempt: Int32Array;
  submit: Whole;
  eligible: Whole;
  start: Whole;
  end: Whole;
  started: Int32Array;
  cores: Int32Array;
  held: Int32Array;
  tasks: Whole;
  chunks: Whole;
  imbalance: Float64Array | undefined;
}

/** Which cores [lo, hi) jobs held from when until when; job `j` has the rows first[j] up to, not including, first[j + 1]. */
export interface Holds {
  first: Int32Array;
  job: Int32Array;
  lo: Int32Array;
  hi: Int32Array;
  begin: Float64Array;
  end: Float64Array;
}

/** What jobs held of GPUs, by job as holds are. A GPU has a lane for each job that it can have at once; lanes are numbered over the
 * machine. */
export interface Gpus {
  first: Int32Array;
  job: Int32Array;
  lane: Int32Array;
  /** Thousandths of the GPU. */
  milli: Int32Array;
  begin: Float64Array;
  end: Float64Array;
  /** First GPU of each host, and first lane of each GPU, and one beyond the last. */
  ofHost: Int32Array;
  ofGpu: Int32Array;
  /** The hosts that have GPUs, and the place of each host among them. */
  hosts: number[];
  place: Int32Array;
  /** Kind of each host's GPUs, empty if unknown. */
  kinds: string[];
}

export class TimelineData {
  /** What is to be added to every instant here to have ns since the workload's time 0. */
  readonly baseNs: bigint;
  /** Where that time 0 is, in seconds since 1970, where anybody says it. */
  readonly startS: number | null;
  readonly hosts: string[];
  readonly firstCore: Int32Array;
  readonly jobs: Jobs;
  readonly holds: Holds;
  readonly gpus: Gpus | undefined;
  readonly tasks: Tasks | undefined;
  readonly words = new Map<string, Words>();
  readonly series = new Map<string, Steps>();
  readonly causes: Int32Array | undefined;
  /** From 0 to here something happens. */
  readonly span: number;

  constructor(packed: Packed) {
    const about = packed.about;
    const columns = new CodedColumns(packed);
    this.baseNs = BigInt(about["base_ns"] as string);
    this.startS = about["start_s"] as number | null;
    this.hosts = about["hosts"] as string[];
    this.firstCore = sums(columns.small("first_core"));
    this.jobs = readJobs(columns, packed);
    this.holds = readHolds(columns, this.jobs);
    if (columns.has("gpu_job")) this.gpus = readGpus(columns, this.jobs, about["gpu_kinds"] as string[]);
    if (columns.has("core_tasks")) this.tasks = readTasks(columns);
    const texts = about["texts"] as Record<string, string[]>;
    for (const [name, list] of Object.entries(texts)) {
      this.words.set(name, { code: columns.small(`${name}_code`), texts: list });
    }
    for (const [name, at] of [["queue", "queue_at"], ["busy", "busy_at"], ["gpus", "gpus_at"], ["power", "power_at"], ["limit", "power_at"]] as const) {
      if (columns.has(name)) this.series.set(name, { at: columns.whole(at).floats(), value: columns.whole(name).floats() });
    }
    if (columns.has("cause_job")) this.causes = columns.small("cause_job");
    let last = 1;
    for (let job = 0; job < this.jobs.count; job++) last = Math.max(last, this.jobs.end.at(job));
    this.span = last;
  }

  get cores(): number {
    return this.firstCore[this.firstCore.length - 1]!;
  }

  word(name: string, job: number): string {
    const words = this.words.get(name);
    return words ? words.texts[words.code[job]!]! : "";
  }

  hostOf(core: number): number {
    return placeOf(this.firstCore, core);
  }

  /** The host of a lane of a GPU, the GPU's number within it, and the lane's number on the GPU. */
  gpuOf(lane: number): { host: number; gpu: number; nth: number } {
    const { ofHost, ofGpu } = this.gpus!;
    const gpu = placeOf(ofGpu, lane);
    const host = placeOf(ofHost, gpu);
    return { host, gpu: gpu - ofHost[host]!, nth: lane - ofGpu[gpu]! };
  }


  jobName(job: number): string {
    const attempt = this.jobs.attempt[job]!;
    return `job ${this.jobs.id.exact(job)}` + (attempt ? `, attempt ${attempt + 1}` : "");
  }
}

/** The last place that begins at or before a number: no empty one, if the number lies in a place. */
function placeOf(first: Int32Array, number: number): number {
  let low = 0;
  let high = first.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (first[middle]! <= number) low = middle;
    else high = middle;
  }
  return low;
}

/** From counts to where each begins, and where the last ends. */
function sums(counts: Int32Array): Int32Array {
  const first = new Int32Array(counts.length + 1);
  for (let row = 0; row < counts.length; row++) first[row + 1] = first[row]! + counts[row]!;
  return first;
}

function readJobs(columns: CodedColumns, packed: Packed): Jobs {
  const id = columns.whole("job_id");
  const submit = columns.whole("submit");
  const eligible = submit.plus(columns.whole("eligible_after"));
  const start = eligible.plus(columns.whole("wait"));
  return {
    count: id.length,
    id,
    attempt: columns.small("attempt"),
    submit,
    eligible,
    start,
    end: start.plus(columns.whole("run")),
    started: columns.small("started"),
    cores: columns.small("cores"),
    held: columns.small("held_cores"),
    tasks: columns.whole("tasks"),
    chunks: columns.whole("chunks"),
    imbalance: packed.columns.get("imbalance") as Float64Array | undefined,
  };
}

function readHolds(columns: CodedColumns, jobs: Jobs): Holds {
  const job = columns.small("hold_job");
  const lo = columns.small("hold_lo");
  const cores = columns.small("hold_cores");
  const late = columns.whole("hold_late");
  const early = columns.whole("hold_early");
  const rows = job.length;
  const counts = new Int32Array(jobs.count);
  const hi = new Int32Array(rows);
  const begin = new Float64Array(rows);
  const end = new Float64Array(rows);
  for (let row = 0; row < rows; row++) {
    counts[job[row]!]!++;
    hi[row] = lo[row]! + cores[row]!;
    begin[row] = jobs.start.at(job[row]!) + late.at(row);
    end[row] = jobs.end.at(job[row]!) - early.at(row);
  }
  return { first: sums(counts), job, lo, hi, begin, end };
}

function readGpus(columns: CodedColumns, jobs: Jobs, kinds: string[]): Gpus {
  const job = columns.small("gpu_job");
  const early = columns.whole("gpu_early");
  const counts = new Int32Array(jobs.count);
  for (const one of job) counts[one]!++;
  const ofHost = sums(columns.small("host_gpus"));
  const has = ofHost.slice(1).map((stop, host) => Number(ofHost[host]! < stop));
  return {
    first: sums(counts),
    job,
    lane: columns.small("gpu_lane"),
    milli: columns.small("gpu_milli"),
    begin: Float64Array.from(job, (one) => jobs.start.at(one)),
    end: Float64Array.from(job, (one, row) => jobs.end.at(one) - early.at(row)),
    ofHost,
    ofGpu: sums(columns.small("gpu_lanes")),
    hosts: [...has.keys()].filter((host) => has[host]),
    place: sums(has),
    kinds,
  };
}

function readTasks(columns: CodedColumns): Tasks {
  const first = sums(columns.small("core_tasks"));
  const gap = columns.whole("task_gap");
  const run = columns.whole("task_run");
  // In place of the gaps and the run times: there may be ten millions of them.
  const begin = gap;
  const end = run;
  for (let core = 0; core + 1 < first.length; core++) {
    for (let row = first[core]!; row < first[core + 1]!; row++) {
      if (row > first[core]!) begin.setSum(row, gap.low[row]!, gap.high[row]!, end, row - 1);
      end.setSum(row, run.low[row]!, run.high[row]!, begin, row);
    }
  }
  return {
    first,
    begin,
    end,
    job: columns.small("task_job"),
    number: columns.small("task_number"),
    chunk: columns.small("task_chunk"),
  };
}
