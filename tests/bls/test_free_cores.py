"""Intervals of free cores against a plain set of cores."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bls.free_cores import give_back, take

Intervals = list[tuple[int, int]]
N_CORES = 24


class Machine:
    """The kernels' arrays, as the batch engine has them."""

    def __init__(self) -> None:
        self.free_lo, self.free_hi, self.spare_lo, self.spare_hi = np.zeros((4, N_CORES // 2 + 2), np.int64)
        self.free_hi[0] = N_CORES
        self.n_free = 1

    @property
    def free(self) -> Intervals:
        return list(zip(self.free_lo[: self.n_free].tolist(), self.free_hi[: self.n_free].tolist(), strict=True))

    def call(self, kernel: object, intervals: Intervals) -> int:
        # With others before and after, as in the pool of allocations.
        lo, hi = np.array([(-9, -9), *intervals, (-9, -9)], np.int64).T.copy()
        spare = (self.spare_lo, self.spare_hi)
        return int(kernel(self.free_lo, self.free_hi, self.n_free, lo, hi, 1, len(intervals), *spare))  # type: ignore[operator]

    def take(self, intervals: Intervals) -> bool:
        left = self.call(take, intervals)
        self.n_free = self.n_free if left < 0 else left
        return left >= 0

    def give_back(self, intervals: Intervals) -> None:
        self.n_free = self.call(give_back, intervals)


def cores_of(intervals: Intervals) -> set[int]:
    return {core for lo, hi in intervals for core in range(lo, hi)}


def runs_of(cores: set[int]) -> Intervals:
    return [
        (core, next(stop for stop in range(core, N_CORES + 1) if stop not in cores))
        for core in sorted(cores)
        if core - 1 not in cores
    ]


@settings(max_examples=400)
@given(data=st.data())
def test_as_a_set(data: st.DataObject) -> None:
    machine, free, held = Machine(), set(range(N_CORES)), []
    for _ in range(data.draw(st.integers(1, 14))):
        if held and data.draw(st.booleans()):
            mine = held.pop(data.draw(st.integers(0, len(held) - 1)))
            machine.give_back(runs_of(mine))
            free |= mine
        else:
            wanted = data.draw(st.sets(st.integers(0, N_CORES - 1), min_size=1))
            assert machine.take(runs_of(wanted)) == (wanted <= free)
            if wanted <= free:
                free -= wanted
                held.append(wanted)
        assert machine.free == runs_of(free)


bounds = st.integers(-1, N_CORES + 1)


@settings(max_examples=800)
@given(
    busy=st.sets(st.integers(0, N_CORES - 1)),
    intervals=st.lists(st.tuples(bounds, bounds), min_size=1, max_size=5),
    ordered=st.booleans(),
)
def test_only_free_cores_in_ascending_intervals_can_be_taken(
    busy: set[int], intervals: Intervals, ordered: bool
) -> None:
    machine = Machine()
    if busy:
        assert machine.take(runs_of(busy))
    free = set(range(N_CORES)) - busy
    before = machine.free
    if ordered:
        intervals.sort()
    sound = all(lo < hi for lo, hi in intervals) and cores_of(intervals) <= free
    sound = sound and all(a[1] <= b[0] for a, b in pairwise(intervals))
    assert machine.take(intervals) == sound
    assert machine.free == (runs_of(free - cores_of(intervals)) if sound else before)
