"""The batch level: at one instant ends, then arrivals, then one pass in which the head starts while it can be placed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Job:
    """A job as the workload has it; times in ns. ``wanted`` are the cores it asks for by number, if it does."""

    number: int
    submit: int
    run: int
    cores: int
    estimate: int
    wanted: frozenset[int] | None = None


@dataclass(frozen=True)
class Placed:
    """When and where a job ran."""

    start: int
    end: int
    cores: tuple[int, ...]


def deadline(job: Job, slack: float) -> int:
    """submit + slack × estimate, rounded to ns."""
    return job.submit + round(Fraction(slack) * job.estimate)


def key(job: Job, policy: str, slack: float) -> int:
    """What the queue is ordered by, smallest first."""
    return {"fcfs": job.submit, "edf": deadline(job, slack), "sjf": job.estimate}[policy]


def simulate(
    jobs: Sequence[Job], n_cores: int, policy: str, slack: float, end_of: Callable[[int, int, tuple[int, ...]], int]
) -> list[Placed]:
    """Schedule jobs that are in workload order.

    ``end_of(row, start, cores)`` says when a job that starts now on these cores will end.
    """
    placed: dict[int, Placed] = {}
    unsubmitted = list(range(len(jobs)))
    waiting: list[int] = []
    running: list[int] = []
    free = set(range(n_cores))
    while unsubmitted or running:
        now = min([jobs[row].submit for row in unsubmitted] + [placed[row].end for row in running])
        for row in [row for row in running if placed[row].end == now]:
            running.remove(row)
            free |= set(placed[row].cores)
        for row in [row for row in unsubmitted if jobs[row].submit == now]:
            unsubmitted.remove(row)
            waiting.append(row)
        while waiting:
            head = min(waiting, key=lambda row: (key(jobs[row], policy, slack), jobs[row].submit, row))
            cores = sorted(free)[: jobs[head].cores]
            wanted = jobs[head].wanted
            if wanted is not None:
                cores = sorted(wanted & free)
            if len(cores) < jobs[head].cores:
                break
            waiting.remove(head)
            free -= set(cores)
            placed[head] = Placed(now, end_of(head, now, tuple(cores)), tuple(cores))
            running.append(head)
    assert not waiting, "the head asks for cores that the machine has not"
    return [placed[row] for row in range(len(jobs))]
