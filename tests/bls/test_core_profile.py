"""The profile of free cores one by one, against sets of cores and amounts at every instant."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from batch_cases import BatchCase
from batch_drives import engine_of
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.machine import Host, Job, Machine, Rules

from bls.availability.free_cores import new_free
from bls.engine import state as b
from bls.engine.core_profile import hold_cores, move_profile
from bls.engine.state import BatchState
from traces.compiled import Array, compiled

HORIZON = 60

#: Cores 0 … 33 in words of 32, on hosts that begin and end within them.
SIZES = (3, 9, 21, 1)
MEMORY, GPUS, LICENCES = 20, 3, 4


@compiled()
def hold(state: BatchState, job: int, lo: Array, hi: Array, begin: int, stop: int, sign: int) -> int:
    hold_cores(state, state.cores_profile, job, lo, hi, lo.size, begin, stop, sign)
    return 0


@compiled()
def move(state: BatchState, now: int) -> int:
    move_profile(state, state.cores_profile, now)
    return 0


def new_state() -> BatchState:
    """Three jobs: single cores, units of two cores with memory and a licence, units of three with a GPU."""
    amounts = (("gpu", GPUS), ("memory", MEMORY))
    jobs = (
        Job(1, 0, 1, 1, 1),
        Job(2, 0, 1, 2, 1, unit_cores=2, needs=(("memory", 2),), licences=(("solver", 1),)),
        Job(3, 0, 1, 3, 1, unit_cores=3, needs=(("gpu", 1),)),
    )
    machine = Machine(tuple(Host(cores, amounts) for cores in SIZES), licences=(("solver", LICENCES),))
    narrow = replace(machine, hosts=(Host(3, amounts), Host(9, amounts), Host(19, amounts), Host(1, amounts)))
    # The masks of the driver are of one word: the state of a machine of two words is made from that of a narrower one.
    state = engine_of(BatchCase(jobs, narrow, Rules(depth=None))).state
    first = np.cumsum([0, *SIZES])
    words, starts = new_free(sum(SIZES))
    return state._replace(
        host_first=first,
        host_of=np.repeat(np.arange(len(SIZES)), SIZES),
        free_words=words,
        free_starts=starts,
        cores_profile=wide(state.cores_profile, words),
    )


def wide(profile: Any, words: Array) -> Any:
    n = 300
    return profile._replace(
        ns=np.zeros(n, np.int64),
        free=np.full(n, sum(SIZES)),
        first=np.full(n, -1),
        **{name: np.zeros(10 * n, np.int64) for name in ("lo", "hi", "amount", "after")},
        words=words.copy(),
        hosts=np.array(SIZES),
    )


@dataclass
class Slow:
    """Who holds what: (job, cores, begin, stop)."""

    now: int = 0
    held: list[tuple[int, frozenset[int], int, int]] = field(default_factory=list)

    def at(self, instant: int) -> tuple[set[int], list[int]]:
        """The free cores at an instant; and the amounts left, host by host, then the licences."""
        cores = set(range(sum(SIZES)))
        first = np.cumsum([0, *SIZES]).tolist()
        left = [[GPUS, MEMORY] for _ in SIZES]
        licences = LICENCES
        for job, held, begin, stop in self.held:
            if not begin <= instant < stop:
                continue
            cores -= held
            licences -= job == 1
            for host in range(len(SIZES)):
                here = len([core for core in held if first[host] <= core < first[host + 1]])
                left[host][0] -= here // 3 if job == 2 else 0
                left[host][1] -= here // 2 * 2 if job == 1 else 0
        return cores, [*(amount for host in left for amount in host), licences]


def changes(profile: Any, k: int) -> list[tuple[int, int, int]]:
    """What changes when slice k begins."""
    found, change = [], int(profile.first[k])
    while change >= 0:
        found.append((int(profile.lo[change]), int(profile.hi[change]), int(profile.amount[change])))
        change = int(profile.after[change])
    return found


def said(profile: Any, instant: int) -> tuple[set[int], int, list[int]]:
    """What a profile says about an instant."""
    n = int(profile.used[b.SLICES])
    k = int(np.searchsorted(profile.ns[:n], instant, "right")) - 1
    cores = {core for core in range(64) if int(profile.words[core // 32]) >> core % 32 & 1}
    amounts = profile.amounts.tolist()
    for at in range(1, k + 1):
        for lo, hi, amount in sorted(changes(profile, at), key=lambda change: -change[2]):  # given back first
            if hi < 0:
                amounts[lo] += amount
            else:
                cores = cores | set(range(lo, hi)) if amount > 0 else cores - set(range(lo, hi))
    return cores, int(profile.free[k]), amounts


def check(state: BatchState, slow: Slow) -> None:
    profile = state.cores_profile
    n = int(profile.used[b.SLICES])
    instants = profile.ns[:n].tolist()
    assert instants[0] == slow.now
    assert instants == sorted(set(instants))
    # A slice is there because something changes; what has passed, or was undone, is not kept.
    there = [changes(profile, k) for k in range(n)]
    assert all(there[1:])
    assert not there[0]
    assert profile.used[b.CHANGES] == sum(map(len, there)) <= profile.used[b.EVER]
    free, first = slow.at(slow.now)[0], np.cumsum([0, *SIZES]).tolist()
    assert profile.hosts.tolist() == [len(free & set(range(*first[h : h + 2]))) for h in range(len(SIZES))]
    for instant in range(slow.now, HORIZON):
        cores, amounts = slow.at(instant)
        assert said(profile, instant) == (cores, len(cores), amounts)


def intervals(cores: frozenset[int]) -> tuple[Array, Array]:
    """Neighbours are one interval, over the bounds of hosts, too."""
    lo = [core for core in sorted(cores) if core - 1 not in cores]
    hi = [core + 1 for core in sorted(cores) if core + 1 not in cores]
    return np.array(lo, np.int64), np.array(hi, np.int64)


@settings(max_examples=200)
@given(data=st.data())
def test_it_says_what_sets_of_cores_say(data: st.DataObject) -> None:
    state, slow = new_state(), Slow()
    for _ in range(data.draw(st.integers(1, 14))):
        what = data.draw(st.integers(0, 4))
        if what == 0:
            slow.now += data.draw(st.integers(0, 4))
            move(state, slow.now)
        elif what == 1 and slow.held:
            job, cores, begin, stop = slow.held.pop(data.draw(st.integers(0, len(slow.held) - 1)))
            hold(state, job, *intervals(cores), max(begin, slow.now), stop, 1)
        elif slow.now < HORIZON - 20:
            begin = slow.now + data.draw(st.integers(0, 8))
            stop = data.draw(st.integers(begin + 1, begin + 9) | st.just(b.NEVER))
            free = set.intersection(*(slow.at(t)[0] for t in range(begin, min(stop, HORIZON))))
            job = data.draw(st.integers(-1, 2))
            some = data.draw(st.sets(st.sampled_from(sorted(free)))) if free else set()
            if some:
                slow.held.append((job, frozenset(some), begin, stop))
                hold(state, job, *intervals(frozenset(some)), begin, stop, -1)
        check(state, slow)


# ---- which slices a job is asked about ----
