"""Ledgers for tests: built by hand from a list of jobs, or found by hypothesis."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from traces.ledger import JobRecords, Ledger, Machine, TaskRecords

#: (core, chunk, start_ns, end_ns) of one task.
Task = tuple[int, int, int, int]


@dataclass(frozen=True)
class Job:
    """One job to be put into a ledger; ``tasks`` are in task order."""

    number: int
    submit: int
    start: int
    end: int
    held: list[tuple[int, int]]
    tasks: list[Task] = field(default_factory=list)


def machine(*cores_of_host: int) -> Machine:
    """A machine of hosts with these core counts."""
    first = np.concatenate([[0], np.cumsum(cores_of_host)]).astype(np.int64)
    return Machine("cluster", tuple(f"host {k}" for k in range(len(cores_of_host))), first)


def ledger(of: Machine, jobs: list[Job], *, with_tasks: bool = True) -> Ledger:
    """A ledger of these jobs; without tasks, as of a run that did not keep them."""

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
        cores=column([sum(hi - lo for lo, hi in job.held) for job in jobs]),
        tasks=counts,
        chunks=column([len({chunk for _, chunk, _, _ in job.tasks}) for job in jobs]),
        length_gflop=np.zeros(len(jobs)),
        imbalance=np.full(len(jobs), np.nan),
        cov=np.full(len(jobs), np.nan),
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
    return Ledger(of, records, kept if with_tasks else None)


@st.composite
def ledgers(draw: st.DrawFn) -> Ledger:
    """Sound ledgers: up to seven jobs on three hosts, with gaps, tasks of no length and jobs without tasks.

    A job starts once every core it takes is free; its tasks are dealt to its cores one by one.
    """
    of = machine(*draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    free_from = [0] * of.n_cores
    numbers = draw(st.lists(st.integers(0, 10**6), max_size=7, unique=True))
    jobs = []
    for number in numbers:
        cores = sorted(draw(st.sets(st.integers(0, of.n_cores - 1), min_size=1)))
        held: list[tuple[int, int]] = []
        for core in cores:
            if held and held[-1][1] == core:
                held[-1] = (held[-1][0], core + 1)
            else:
                held.append((core, core + 1))
        submit = draw(st.integers(0, 50))
        start = max(submit, *(free_from[core] for core in cores)) + draw(st.integers(0, 3))
        clock = dict.fromkeys(cores, start)
        tasks: list[Task] = []
        for chunk in range(draw(st.integers(0, 4))):
            core = draw(st.sampled_from(cores))
            clock[core] += draw(st.integers(0, 2))
            for _ in range(draw(st.integers(1, 3))):
                begun = clock[core]
                clock[core] += draw(st.integers(0, 10))
                tasks.append((core, chunk, begun, clock[core]))
        end = max(clock.values()) + (0 if tasks else draw(st.integers(0, 10)))
        for core in cores:
            free_from[core] = end
        jobs.append(Job(number, submit, start, end, held, tasks))
    shuffled = draw(st.permutations(jobs))
    return ledger(of, list(shuffled), with_tasks=draw(st.booleans()))
