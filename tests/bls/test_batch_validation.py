"""What is checked of the batch engine's state between two calls: every kind of fault is found, and said of whom."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable
from functools import cache
from typing import Any

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


Plant = Callable[[BatchState], None]


def _set(column: int, value: int, *, running: bool) -> Plant:
    def plant(state: BatchState) -> None:
        state.jobs[column, _of(state, running=running)] = value

    return plant


def _add(part: str, place: Any, amount: int = 1) -> Plant:
    """Add to a value of an array of the state, given or found by its place."""

    def plant(state: BatchState) -> None:
        operator.attrgetter(part)(state)[place(state) if callable(place) else place] += amount

    return plant


def _flip(part: str, place: Callable[[BatchState], int], bit: Callable[[BatchState], int]) -> Plant:
    def plant(state: BatchState) -> None:
        operator.attrgetter(part)(state)[place(state)] ^= 1 << bit(state)

    return plant


def _swap(*parts: str, other: Callable[[BatchState], int] = lambda state: 1) -> Plant:
    def plant(state: BatchState) -> None:
        last = other(state)
        for part in parts:
            column = getattr(state, part)
            column[0], column[last] = column[last], column[0]

    return plant


def _rank_of(state: BatchState) -> int:
    return int(state.jobs[b.RANK, _of(state, running=False)])


def _core_set_free(state: BatchState) -> None:
    core = int(state.pool_lo[state.jobs[b.HELD_FIRST, _of(state, running=True)]])
    for level in range(len(state.free_starts) - 1):
        state.free_words[state.free_starts[level] + (core >> 5)] |= 1 << (core & 31)
        core >>= 5


def _core_held_twice(state: BatchState) -> None:
    rows = np.flatnonzero((state.jobs[b.STATE] < 0) & (state.jobs[b.START] >= 0))
    for column in (b.HELD_FIRST, b.HELD_COUNT, b.HELD_CORES, b.CORES):
        state.jobs[column, rows[0]] = state.jobs[column, rows[1]]


def _end_forgotten(state: BatchState) -> None:
    state.running_job[0] = state.running_job[1]


def _profile_order(state: BatchState) -> None:
    first = int(state.sizes[b.FIRST])
    state.profile_ns[first + 1] = state.profile_ns[first]


def _reservation_of_none(state: BatchState) -> None:
    state.jobs[b.SLOT, _of(state, running=False)] = state.clock[b.NOW] + 1


def _change_lost(state: BatchState) -> None:
    profile = state.cores_profile
    k = next(k for k in range(1, int(profile.used[b.SLICES])) if profile.first[k] >= 0)
    profile.first[k] = profile.after[profile.first[k]]


_not_queued = _flip("queue_words", lambda state: _rank_of(state) >> 5, lambda state: _rank_of(state) & 31)
_upper_level = _flip("queue_words", lambda state: int(state.queue_starts[1]), lambda state: 20)
_word = _flip("cores_profile.words", lambda s: int(np.flatnonzero(s.cores_profile.words)[0]), lambda state: 0)
_heap = _swap("running_ns", "running_job", other=lambda state: int(state.sizes[b.N_RUNNING]) - 1)
_slice = _add("profile_free", lambda state: state.sizes[b.LAST] - 1, -1)
_moved = _add("jobs", lambda state: (b.SLOT, np.flatnonzero(state.jobs[b.SLOT] != b.NEVER)[0]))

FAULTS = [
    ("easy", "first-fit", _not_queued, "waits and is not in the queue"),
    ("easy", "first-fit", _upper_level, "queue: level 1 of the tree is wrong"),
    ("easy", "first-fit", _add("sizes", b.N_WAITING), "waiting jobs: "),
    ("easy", "first-fit", _core_set_free, "held by job "),
    ("easy", "first-fit", _core_held_twice, " is held by job "),
    ("easy", "first-fit", _add("sizes", b.FREE_CORES, -1), "free cores: "),
    ("easy", "first-fit", _set(b.HELD_CORES, 1000, running=True), "and counts 1000"),
    ("easy", "first-fit", _set(b.HELD_COUNT, 0, running=True), "has no cores in the pool"),
    ("easy", "first-fit", _heap, "heap of ends: entry "),
    ("easy", "first-fit", _end_forgotten, "times among the ends that are to come"),
    ("easy", "first-fit", _slice, "cores are free at "),
    ("easy", "first-fit", _profile_order, "the slices of the profile are not ascending"),
    ("easy", "first-fit", _reservation_of_none, "where none are kept"),
    ("easy", "first-fit", _add("sizes", b.ENDED), "jobs that have ended: "),
    ("easy", "first-fit", _add("sizes", b.N_DOWN), "hosts that are down: 1 by its count, 0 there are"),
    ("easy", "first-fit", _add("sizes", b.OVERDUE_CORES, 7), "cores of overdue jobs: "),
    ("easy", "first-fit", _add("sizes", b.N_STARTED), "answers that are awaited: "),
    ("easy", "first-fit", _set(b.ELIGIBLE, 0, running=False), "was eligible before it could be"),
    ("easy", "first-fit", _set(b.ELIGIBLE, MAX_NS, running=True), "is eligible in the future"),
    ("easy", "first-fit", _set(b.END, 1, running=True), "ends before it starts"),
    ("easy", "first-fit", _set(b.STOP, 1, running=True), "ends after it is cut"),
    ("easy", "first-fit", _set(b.WHY, 9, running=True), "started for no reason that there is"),
    ("easy", "first-fit", _set(b.STATE, 0, running=True), "jobs that have ended: "),
    ("easy", "first-fit", _add("clock", b.NEXT_ARRIVAL), "has been passed over"),
    ("easy", "first-fit", _swap("by_rank"), "rank 0 is given to job "),
    ("easy", "first-fit", _add("partitions", (0, b.RUNNING_JOBS)), "running jobs of partition 0: "),
    ("conservative", "first-fit", _moved, "cores are free at "),
    ("conservative", "first-fit", _set(b.EXPECTED, MAX_NS, running=True), "cores are free at "),
    ("conservative", "contiguous", _moved, "cores are free at "),
    ("conservative", "contiguous", _add("cores_profile.free", 0), "cores are free at "),
    ("conservative", "contiguous", _word, "the profile has "),
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
