"""Ledgers for tests: built by hand from a list of jobs, or found by hypothesis."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from traces.ledger import STATES, WHY, JobRecords, Ledger, MachineShape, TaskRecords, TransferRecords
from traces.records.gpus import GpuRecords

#: (core, chunk, start_ns, end_ns) of one task.
Task = tuple[int, int, int, int]

#: (source, target, bytes, sent_ns, arrived_ns) of one transfer.
Transfer = tuple[int, int, float, int, int]

#: A task that never ran, since its job was cut.
NEVER: Task = (-1, -1, -1, -1)


@dataclass(frozen=True)
class Job:
    """One attempt at a job to be put into a ledger; ``tasks`` are in task order, ``transfers`` in that of edges.

    ``asked`` is how many of the cores it held it asked for, all by default; ``eligible`` is ``submit`` by default.
    """

    number: int
    submit: int
    start: int
    end: int
    held: list[tuple[int, int]]
    tasks: list[Task] = field(default_factory=list)
    asked: int | None = None
    attempt: int = 0
    why: str = "head"
    state: str = "completed"
    eligible: int | None = None
    transfers: list[Transfer] = field(default_factory=list)

    @property
    def n_held(self) -> int:
        return sum(hi - lo for lo, hi in self.held)


def never_started(number: int, submit: int, *, asked: int = 1, **fields: Any) -> Job:
    return Job(number, submit, -1, -1, [], asked=asked, why="never", state="cancelled", **fields)


def machine(*cores_of_host: int) -> MachineShape:
    first = np.concatenate([[0], np.cumsum(cores_of_host)]).astype(np.int64)
    return MachineShape("cluster", tuple(f"host {k}" for k in range(len(cores_of_host))), first)


def ledger(of: MachineShape, jobs: list[Job], *, with_tasks: bool = True, with_transfers: bool = False) -> Ledger:
    """A ledger of these jobs; without tasks, as of a run that did not keep them; with transfers, as of one with a network."""

    def column(values: list[int]) -> np.ndarray:
        return np.array(values, np.int64)

    tasks = [task for job in jobs for task in job.tasks]
    counts = column([len(job.tasks) for job in jobs])
    held = [interval for job in jobs for interval in job.held]
    records = JobRecords(
        job_id=column([job.number for job in jobs]),
        submit_ns=column([job.submit for job in jobs]),
        start_ns=column([job.start for job in jobs]),
        end_ns=column([job.end for job in jobs]),
        estimate_ns=column([job.end - job.start for job in jobs]),
        deadline_ns=column([job.end for job in jobs]),
        cores=column([job.n_held if job.asked is None else job.asked for job in jobs]),
        tasks=column([sum(task != NEVER for task in job.tasks) for job in jobs]),
        chunks=column([len({chunk for _, chunk, _, _ in job.tasks if chunk >= 0}) for job in jobs]),
        length_gflop=np.zeros(len(jobs)),
        imbalance=np.full(len(jobs), np.nan),
        cov=np.full(len(jobs), np.nan),
        attempt=column([job.attempt for job in jobs]),
        why=np.array([WHY.index(job.why) for job in jobs], np.int8),
        state=np.array([STATES.index(job.state) for job in jobs], np.int8),
        eligible_ns=column([job.submit if job.eligible is None else job.eligible for job in jobs]),
        held_cores=column([job.n_held for job in jobs]),
        allocation_first=np.concatenate([[0], np.cumsum([len(job.held) for job in jobs])]).astype(np.int64),
        allocation_lo=column([lo for lo, _ in held]),
        allocation_hi=column([hi for _, hi in held]),
    )
    kept = TaskRecords(
        first=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        start_ns=column([start for _, _, start, _ in tasks]),
        end_ns=column([end for _, _, _, end in tasks]),
        core=np.array([core for core, _, _, _ in tasks], np.int32),
        chunk=np.array([chunk for _, chunk, _, _ in tasks], np.int32),
        length_gflop=np.zeros(len(tasks)),
    )
    transfers = transfer_records(len(jobs), [(row, one) for row, job in enumerate(jobs) for one in job.transfers])
    return Ledger(of, records, kept if with_tasks else None, transfers if with_transfers else None)


@st.composite
def ledgers(draw: st.DrawFn) -> Ledger:
    """Sound ledgers: up to seven jobs on three hosts, with gaps, tasks of no length and jobs without tasks.

    A job starts once every core it takes is free; its tasks are dealt one by one to those of its cores that it asked for.
    Some jobs never start; some are cut, so that some of their tasks never run; some of these are tried again. Some machines
    have GPUs, which jobs share.
    """
    of = machine(*draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    free_from = [0] * of.n_cores
    first: list[Job] = []
    later: list[Job] = []
    for number in draw(st.lists(st.integers(0, 10**6), max_size=7, unique=True)):
        submit = draw(st.integers(0, 50))
        if draw(st.integers(0, 5)) == 5:
            first.append(never_started(number, submit, asked=draw(st.integers(1, 9))))
            continue
        job = _attempt(draw, of, free_from, number, submit, submit + draw(st.integers(0, 1)), 0)
        first.append(job)
        while job.state == "requeued":
            job = _attempt(draw, of, free_from, number, submit, job.end, job.attempt + 1)
            later.append(job)
    rows = [*draw(st.permutations(first)), *sorted(later, key=lambda job: job.eligible or 0)]
    made = ledger(of, rows, with_tasks=draw(st.booleans()))
    return _with_gpus(draw, made) if draw(st.booleans()) else made


def with_gpus(of: Ledger, gpus_of_host: list[int], held: list[tuple[int, int, int]]) -> Ledger:
    """The ledger with GPUs and the parts that jobs held: row of the job, number of the GPU, thousandths. Kinds of
    hosts are ``a`` and ``b`` by turns."""
    first_gpu = np.concatenate([[0], np.cumsum(gpus_of_host)]).astype(np.int64)
    gpus = GpuRecords.of(len(of.jobs), *np.array(held, np.int64).reshape(-1, 3).T)
    kinds = tuple("ab"[host % 2] if count else "" for host, count in enumerate(gpus_of_host))
    return replace(of, machine=replace(of.machine, first_gpu=first_gpu, gpu_kinds=kinds), gpus=gpus)


def _with_gpus(draw: st.DrawFn, of: Ledger) -> Ledger:
    # A job takes what is left of a GPU by all jobs that hold it at some time of its own.
    jobs, held = of.jobs, list[tuple[int, int, int]]()
    counts = draw(st.lists(st.integers(0, 2), min_size=of.machine.n_hosts, max_size=of.machine.n_hosts))
    for row in np.flatnonzero(jobs.started).tolist():
        cores = np.array([core for lo, hi in jobs.allocation(row) for core in range(lo, hi)])
        for host in np.unique(of.machine.host_of(cores)).tolist():
            for gpu in range(sum(counts[:host]), sum(counts[: host + 1])):
                over = [
                    milli
                    for other, one, milli in held
                    if one == gpu
                    and jobs.start_ns[other] < jobs.end_ns[row]
                    and jobs.start_ns[row] < jobs.end_ns[other]
                ]
                milli = draw(st.sampled_from((0, 250, 333, 1000)))
                if 0 < milli <= 1000 - sum(over):
                    held.append((row, gpu, milli))
    return with_gpus(of, counts, held)


def _attempt(
    draw: st.DrawFn, of: MachineShape, free_from: list[int], number: int, submit: int, eligible: int, attempt: int
) -> Job:
    cores = sorted(draw(st.sets(st.integers(0, of.n_cores - 1), min_size=1)))
    held: list[tuple[int, int]] = []
    for core in cores:
        if held and held[-1][1] == core:
            held[-1] = (held[-1][0], core + 1)
        else:
            held.append((core, core + 1))
    asked = draw(st.just(len(cores)) | st.integers(1, len(cores)))
    start = max(eligible, *(free_from[core] for core in cores)) + draw(st.integers(0, 3))
    clock = dict.fromkeys(cores[:asked], start)
    tasks: list[Task] = []
    for chunk in range(draw(st.integers(0, 4))):
        core = draw(st.sampled_from(cores[:asked]))
        clock[core] += draw(st.integers(0, 2))
        for _ in range(draw(st.integers(1, 3))):
            begun = clock[core]
            clock[core] += draw(st.integers(0, 10))
            tasks.append((core, chunk, begun, clock[core]))
    end = max(clock.values()) + (0 if tasks else draw(st.integers(0, 10)))
    state = draw(st.sampled_from(("completed", "completed", *(STATES[:5] if attempt < 2 else STATES[:4]))))
    if state != "completed" and tasks:
        end = draw(st.integers(start, end))
        tasks = [(c, k, s, min(e, end)) if s < end else NEVER for c, k, s, e in tasks]
    for core in cores:
        free_from[core] = end
    why = draw(st.sampled_from(WHY[:-1]))
    return Job(number, submit, start, end, held, tasks, asked, attempt, why, state, eligible)


@st.composite
def messaging_ledgers(draw: st.DrawFn) -> Ledger:
    """Sound ledgers with transfers: some pairs of a job's tasks of which one ended before the other started elsewhere."""
    of = draw(ledgers().filter(lambda one: one.tasks is not None))
    assert of.tasks is not None
    rows: list[tuple[int, Transfer]] = []
    for job in range(len(of.jobs)):
        here = slice(int(of.tasks.first[job]), int(of.tasks.first[job + 1]))
        ran = list(
            zip(*(column[here].tolist() for column in (of.tasks.core, of.tasks.start_ns, of.tasks.end_ns)), strict=True)
        )
        for source, (from_core, _, end) in enumerate(ran):
            for target, (to_core, start, _) in enumerate(ran):
                if -1 in (from_core, to_core) or from_core == to_core or end > start or not draw(st.booleans()):
                    continue
                sent = draw(st.integers(end, start))
                arrived = draw(st.just(start) | st.integers(sent, start))
                size = draw(st.sampled_from((0.0, 0.5, 1.5, 2.5, 4096.0, 1e12)))
                rows.append((job, (source, target, size, sent, arrived)))
    return replace(of, transfers=transfer_records(len(of.jobs), rows))


def transfer_records(n_jobs: int, rows: list[tuple[int, Transfer]]) -> TransferRecords:
    columns = list(zip(*(one for _, one in rows), strict=True)) or [()] * 5
    return TransferRecords(
        np.searchsorted([job for job, _ in rows], np.arange(n_jobs + 1)).astype(np.int64),
        *(np.array(column, kind) for column, kind in zip(columns, ("i4", "i4", "f8", "i8", "i8"), strict=True)),
    )
