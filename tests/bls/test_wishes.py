"""Running jobs that wish for cores: what the batch level is told, what it refuses, and what it does, on four cores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from bls.allocators import ALLOCATORS
from bls.constraints.job_constraints import JobConstraints
from bls.constraints.widths import Widths
from bls.engine.status import BatchStatus
from bls.machine.platform import HostGroup, Platform
from bls.policies import POLICIES
from bls.scheduler_options import Rules
from bls.simulator import BatchSimulator
from bls.workloads.workload import Workload

S = 10**9
NEVER = 2**63 - 1


def simulator(*jobs: tuple[int, int, int, int, int], most: int = 4) -> BatchSimulator:
    """Of jobs of which the first may have one core up to so many, at its start."""
    cores = np.array([row[3] for row in jobs])
    least, greatest = cores.copy(), cores.copy()
    least[0], greatest[0] = 1, most
    found = BatchSimulator(
        Workload.from_jobs(list(jobs)),
        Platform((HostGroup(1, 4, 1.0),)),
        POLICIES["fcfs"],
        ALLOCATORS["first-fit"],
        rules=Rules(resize="evolve"),
        circumstances=JobConstraints(widths=Widths(least, greatest)),
        recorded=False,
    )
    assert found.advance(100) == BatchStatus.STARTED
    return found


def told(batch: BatchSimulator, row: int, end_ns: int, wishes: Sequence[tuple[int, int]] = ()) -> None:
    """Tell when a job ends, for how many cores it wishes before, and that it releases none."""
    if wishes:
        assert wish(batch, row, wishes, end_ns)
    cores = np.array([core for lo, hi in batch.allocation(row) for core in range(lo, hi)])
    given = np.array(
        sorted(set(np.flatnonzero(batch.holds(row, np.arange(4))).tolist()) - set(cores.tolist())), np.int64
    )
    cores = np.concatenate([cores, given])
    assert batch.release(row, cores, np.full(len(cores), NEVER), end_ns)
    assert batch.outcome(row, end_ns)
    batch.validate()


def wish(batch: BatchSimulator, row: int, wishes: Sequence[tuple[int, int]], until_ns: int = 100 * S) -> bool:
    at, cores = np.array(wishes, np.int64).T.copy()
    return batch.wish(row, at, cores, until_ns)


def changes(batch: BatchSimulator) -> list[tuple[int, ...]]:
    return list(zip(*(column.tolist() for column in batch.width_columns()), strict=True))


@pytest.mark.parametrize(
    "wishes",
    [[(-1, 2)], [(3 * S, 0)], [(3 * S, 5)], [(3 * S, 2), (2 * S, 3)]],
    ids=["in the past", "for none", "for too many", "not in order"],
)
def test_wishes_that_cannot_be_are_refused(wishes: list[tuple[int, int]]) -> None:
    batch = simulator((1, 0, 10, 2, 10), most=4)
    assert not wish(batch, 0, wishes)
    batch.validate()
    told(batch, 0, 10 * S)
    assert batch.advance(100) == BatchStatus.DONE


def test_of_a_job_whose_width_never_changes_they_are_refused() -> None:
    batch = simulator((1, 0, 10, 2, 10), (2, 0, 10, 2, 10))
    assert wish(batch, 0, [(3 * S, 2)])
    assert not wish(batch, 1, [(3 * S, 2)])


def test_what_was_heard_cannot_be_taken_back() -> None:
    batch = simulator((1, 0, 10, 2, 10))
    told(batch, 0, 10 * S, [(3 * S, 4)])
    assert batch.advance(100) == BatchStatus.REACHED
    assert batch.take_back(0)
    assert not wish(batch, 0, [(4 * S, 4)])
    assert not wish(batch, 0, [(3 * S, 4), (2 * S, 3)])
    assert wish(batch, 0, [(3 * S, 4), (4 * S, 3)])


def test_what_is_told_again_replaces_what_was_to_come() -> None:
    """However often, and in as little room: the table holds sixteen."""
    batch = simulator((1, 0, 10, 2, 10))
    for _ in range(3):
        assert wish(batch, 0, [((1 + k) * S, 1 + k % 4) for k in range(40)])
        batch.validate()
    told(batch, 0, 3 * S, [(1 * S, 3), (4 * S, 1)])
    assert batch.advance(100) == BatchStatus.REACHED
    assert batch.resized(0) == ([2], [])
    assert [row[1:] for row in changes(batch)] == [(S, 3, 0), (S, 2, 1)]
