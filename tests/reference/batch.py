"""The batch level in one call, for cores that are all alike: when and where every job runs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reference.cluster import run
from reference.machine import Host, Job, Machine, Rules
from reference.orders import ORDERS, deadline

__all__ = ["Job", "Placed", "deadline", "key", "simulate"]


@dataclass(frozen=True)
class Placed:
    """When and where a job ran."""

    start: int
    end: int
    cores: tuple[int, ...]


def key(job: Job, policy: str, slack: float) -> float | int:
    """Sort key of the queue at the job's submit, smallest first."""
    return deadline(job, slack) if policy == "edf" else ORDERS[policy](job, job.submit)


def simulate(
    jobs: Sequence[Job],
    n_cores: int,
    policy: str,
    slack: float,
    end_of: Callable[[int, int, tuple[int, ...]], int],
    *,
    depth: int | None = 0,
    keep: bool = False,
) -> list[Placed]:
    """Schedule jobs that are in workload order.

    ``end_of(row, start, cores)`` says when a job that starts now on these cores will end. Jobs get the cores they request
    by number, if they do, else the lowest.
    """
    machine = Machine((Host(n_cores),))
    allocator = "given" if any(job.wanted is not None for job in jobs) else "first-fit"
    rules = Rules(order=policy, depth=depth, keep=keep, allocator=allocator, slack=slack)
    return [Placed(each.start, each.end, each.cores) for each in run(jobs, machine, rules, end_of)]
