"""The profile of free cores by counts, against a list of the free cores at every instant."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bls.availability.count_profile import (
    PROFILE_NEVER,
    profile_add,
    profile_earliest,
    profile_move,
    profile_pack,
)

#: Instants that are looked at: after the last, nothing changes any more.
HORIZON = 60
N_CORES = 6


@dataclass
class Both:
    """A profile, and what it says in the slow way: ``free[t]`` cores at t, from ``now`` on."""

    ns: np.ndarray = field(default_factory=lambda: np.zeros(200, np.int64))
    cores: np.ndarray = field(default_factory=lambda: np.full(200, N_CORES, np.int64))
    first: int = 0
    end: int = 1
    now: int = 0
    free: list[int] = field(default_factory=lambda: [N_CORES] * HORIZON)

    def add(self, begin: int, stop: int, amount: int) -> None:
        """To [begin, stop)."""
        self.end = profile_add(self.ns, self.cores, self.first, self.end, begin, stop, amount)
        for t in range(begin, min(stop, HORIZON)):
            self.free[t] += amount

    def move(self, now: int) -> None:
        """Let time go on."""
        self.now = now
        self.first = profile_move(self.ns, self.first, self.end, now)

    def check(self) -> None:
        """The slices are what the list says, and there is one only where something changes."""
        slices = range(self.first, self.end)
        instants = self.ns[self.first : self.end].tolist()
        assert instants[0] == self.now
        changes = [t for t in range(self.now + 1, HORIZON) if self.free[t] != self.free[t - 1]]
        assert instants[1:] == changes
        assert [int(self.cores[k]) for k in slices] == [self.free[t] for t in instants]

    def fits(self, begin: int, n: int, length: int) -> bool:
        """By the list."""
        return all(self.free[min(t, HORIZON - 1)] >= n for t in range(begin, begin + length))


@settings(max_examples=400)
@given(data=st.data())
def test_it_says_what_a_list_of_instants_says(data: st.DataObject) -> None:
    both = Both()
    for _ in range(data.draw(st.integers(1, 25))):
        what = data.draw(st.integers(0, 3))
        if what == 0:
            both.move(both.now + data.draw(st.integers(0, 4)))
        elif what == 1 and both.first > 0 and data.draw(st.booleans()):
            both.end = profile_pack(both.ns, both.cores, both.first, both.end)
            both.first = 0
        elif both.now < HORIZON - 20:
            begin = both.now + data.draw(st.integers(0, 9))
            stop = data.draw(st.one_of(st.integers(begin, begin + 8), st.just(PROFILE_NEVER)))
            both.add(begin, stop, data.draw(st.integers(-3, 3)))
        both.check()
    n, length = data.draw(st.integers(1, N_CORES)), data.draw(st.integers(1, 12))
    kept = (both.ns, both.cores, both.first, both.end, n, length)
    assert (profile_earliest(*kept, both.now + 1) == both.now) == both.fits(both.now, n, length)
    before = data.draw(st.integers(both.now, HORIZON) | st.just(PROFILE_NEVER))
    slots = [t for t in range(both.now, HORIZON) if both.fits(t, n, length) and t < before]
    assert profile_earliest(*kept, before) == min(slots, default=PROFILE_NEVER)


def test_the_longest_jobs_fit_the_latest_slots() -> None:
    """Up to 2**62 each; no plan begins later than that, so that nothing overflows."""
    both, longest = Both(), 2**62 - 1
    both.end = profile_add(both.ns, both.cores, 0, both.end, 0, 2**62, -N_CORES)
    assert profile_earliest(both.ns, both.cores, 0, both.end, 1, longest, PROFILE_NEVER) == 2**62
    assert profile_earliest(both.ns, both.cores, 0, both.end, 1, longest, 1) == PROFILE_NEVER
    both.end = profile_add(both.ns, both.cores, 0, both.end, 2**62, 2**62 + longest, -N_CORES)
    assert profile_earliest(both.ns, both.cores, 0, both.end, 1, 1, PROFILE_NEVER) == PROFILE_NEVER
