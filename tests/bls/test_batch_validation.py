"""What is checked of the batch engine's state between two calls: every kind of fault is found, and said of whom."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from bls import Platform, read_workload, sample_path
from bls.allocators import ALLOCATORS
from bls.constraints.job_constraints import JobConstraints
from bls.engine import state as b
from bls.engine.state import BatchState
from bls.engine.status import BatchStatus
from bls.engine.validation import validate
from bls.machine.partitions import Partition
from bls.policies import POLICIES
from bls.scheduler_options import Rules
from bls.simulator import BatchSimulator
from traces.base.time import MAX_NS
from traces.checks.jobs import InvariantError


@cache
def _paused(backfill: str, allocator: str) -> BatchState:
    # In the middle of a day: jobs run, wait and have ended.
    workload = read_workload(sample_path())
    every = Partition("all", default=True, max_jobs_per_user=40)
    simulator = BatchSimulator(
        workload,
        Platform(partitions=(every,)),
        POLICIES["fcfs"],
        ALLOCATORS[allocator],
        rules=Rules(backfill=backfill),
        circumstances=JobConstraints(partition=np.zeros(len(workload), np.int64)),
        recorded=True,
    )
    while simulator.ended < 100 or simulator.state.sizes[b.N_WAITING] < 5:
        assert simulator.advance(1) == BatchStatus.PAUSED
    return simulator.state


def _of(state: BatchState, *, running: bool) -> int:
    jobs = state.jobs
    rows = np.flatnonzero((jobs[b.STATE] < 0) & (jobs[b.ELIGIBLE] >= 0) & ((jobs[b.START] >= 0) == running))
    return int(rows[0])


def _set(column: int, value: int, *, running: bool) -> Callable[[BatchState], None]:
    def plant(state: BatchState) -> None:
        state.jobs[column, _of(state, running=running)] = value

    return plant


def _add(size: int, amount: int = 1) -> Callable[[BatchState], None]:
    def plant(state: BatchState) -> None:
        state.sizes[size] += amount

    return plant


def _no_longer_queued(state: BatchState) -> None:
    rank = int(state.jobs[b.RANK, _of(state, running=False)])
    state.queue_words[rank >> 5] &= ~(1 << (rank & 31))


def _upper_level(state: BatchState) -> None:
    state.queue_words[state.queue_starts[1]] ^= 1 << 20


def _core_set_free(state: BatchState) -> None:
    core = int(state.pool_lo[state.jobs[b.HELD_FIRST, _of(state, running=True)]])
    state.free_words[core >> 5] |= 1 << (core & 31)
    for level in range(1, len(state.free_starts) - 1):
        core >>= 5
        state.free_words[state.free_starts[level] + (core >> 5)] |= 1 << (core & 31)


def _core_held_twice(state: BatchState) -> None:
    jobs = state.jobs
    rows = np.flatnonzero((jobs[b.STATE] < 0) & (jobs[b.START] >= 0))
    one, other = rows[:2]
    for column in (b.HELD_FIRST, b.HELD_COUNT, b.HELD_CORES, b.CORES):
        jobs[column, one] = jobs[column, other]


def _heap_out_of_order(state: BatchState) -> None:
    last = int(state.sizes[b.N_RUNNING]) - 1
    for column in (state.running_ns, state.running_job):
        column[0], column[last] = column[last], column[0]


def _end_forgotten(state: BatchState) -> None:
    state.running_job[0] = state.running_job[1]


def _profile_slice(state: BatchState) -> None:
    state.profile_free[state.sizes[b.LAST] - 1] -= 1


def _profile_order(state: BatchState) -> None:
    first = int(state.sizes[b.FIRST])
    state.profile_ns[first + 1] = state.profile_ns[first]


def _reservation_moved(state: BatchState) -> None:
    rows = np.flatnonzero(state.jobs[b.SLOT] != b.NEVER)
    state.jobs[b.SLOT, rows[0]] += 1


def _reservation_of_none(state: BatchState) -> None:
    state.jobs[b.SLOT, _of(state, running=False)] = state.clock[b.NOW] + 1


def _profile_of_cores(state: BatchState) -> None:
    state.cores_profile.free[0] += 1


def _word_of_profile(state: BatchState) -> None:
    state.cores_profile.words[int(np.flatnonzero(state.cores_profile.words)[0])] ^= 1


def _change_lost(state: BatchState) -> None:
    profile = state.cores_profile
    k = next(k for k in range(1, int(profile.used[b.SLICES])) if profile.first[k] >= 0)
    profile.first[k] = profile.after[profile.first[k]]


def _tally(state: BatchState) -> None:
    state.partitions[0, b.RUNNING_JOBS] += 1


def _passed_over(state: BatchState) -> None:
    state.clock[b.NEXT_ARRIVAL] += 1


def _rank(state: BatchState) -> None:
    state.by_rank[0], state.by_rank[1] = state.by_rank[1], state.by_rank[0]


FAULTS = [
    ("easy", "first-fit", _no_longer_queued, "waits and is not in the queue"),
    ("easy", "first-fit", _upper_level, "queue: level 1 of the tree is wrong"),
    ("easy", "first-fit", _add(b.N_WAITING), "waiting jobs: "),
    ("easy", "first-fit", _core_set_free, "held by job "),
    ("easy", "first-fit", _core_held_twice, " is held by job "),
    ("easy", "first-fit", _add(b.FREE_CORES, -1), "free cores: "),
    ("easy", "first-fit", _set(b.HELD_CORES, 1000, running=True), "and counts 1000"),
    ("easy", "first-fit", _set(b.HELD_COUNT, 0, running=True), "has no cores in the pool"),
    ("easy", "first-fit", _heap_out_of_order, "heap of ends: entry "),
    ("easy", "first-fit", _end_forgotten, "times among the ends that are to come"),
    ("easy", "first-fit", _profile_slice, "cores are free at "),
    ("easy", "first-fit", _profile_order, "the slices of the profile are not ascending"),
    ("easy", "first-fit", _reservation_of_none, "where none are kept"),
    ("easy", "first-fit", _add(b.ENDED), "jobs that have ended: "),
    ("easy", "first-fit", _add(b.N_DOWN), "hosts that are down: 1 by its count, 0 there are"),
    ("easy", "first-fit", _add(b.OVERDUE_CORES, 7), "cores of overdue jobs: "),
    ("easy", "first-fit", _add(b.N_STARTED), "answers that are awaited: "),
    ("easy", "first-fit", _set(b.ELIGIBLE, 0, running=False), "was eligible before it could be"),
    ("easy", "first-fit", _set(b.ELIGIBLE, MAX_NS, running=True), "is eligible in the future"),
    ("easy", "first-fit", _set(b.END, 1, running=True), "ends before it starts"),
    ("easy", "first-fit", _set(b.STOP, 1, running=True), "ends after it is cut"),
    ("easy", "first-fit", _set(b.WHY, 9, running=True), "started for no reason that there is"),
    ("easy", "first-fit", _set(b.STATE, 0, running=True), "jobs that have ended: "),
    ("easy", "first-fit", _passed_over, "has been passed over"),
    ("easy", "first-fit", _rank, "rank 0 is given to job "),
    ("easy", "first-fit", _tally, "running jobs of partition 0: "),
    ("conservative", "first-fit", _reservation_moved, "cores are free at "),
    ("conservative", "first-fit", _set(b.EXPECTED, MAX_NS, running=True), "cores are free at "),
    ("conservative", "contiguous", _reservation_moved, "cores are free at "),
    ("conservative", "contiguous", _profile_of_cores, "cores are free at "),
    ("conservative", "contiguous", _word_of_profile, "the profile has "),
    ("conservative", "contiguous", _change_lost, "more free cores, and changes of"),
]


@pytest.mark.parametrize(("backfill", "allocator", "plant", "words"), FAULTS)
def test_a_planted_fault_is_found(
    backfill: str, allocator: str, plant: Callable[[BatchState], None], words: str
) -> None:
    state = copy.deepcopy(_paused(backfill, allocator))
    validate(state)
    plant(state)
    with pytest.raises(InvariantError) as caught:
        validate(state)
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"batch engine at {state.clock[b.NOW]} ns: ")


def test_an_engine_is_checked_at_its_end_and_between_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    simulator = BatchSimulator(
        read_workload(sample_path()), Platform(), POLICIES["fcfs"], ALLOCATORS["first-fit"], recorded=True
    )
    simulator.checks, simulator.most_ends = 2, 20
    checked: list[int] = []
    monkeypatch.setattr("bls.engine.validation.validate", lambda state: checked.append(int(state.sizes[b.ENDED])))
    while simulator.advance(10**6) != BatchStatus.DONE:
        pass
    assert len(checked) == 320 // 40 + (simulator._entered % 2)
    assert checked[-1] == 320
