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

from bls import batch_state as b
from bls.batch_state import BatchState
from bls.core_profile import copy_profile, hold_cores, move_profile
from traces.compiled import Array, compiled

HORIZON = 60

#: Cores 0 … 33 in words of 32, on hosts that begin and end within them.
SIZES = (3, 9, 21, 1)
MEMORY, GPUS, LICENCES = 20, 3, 4


@compiled(borrows=True)
def hold(state: BatchState, job: int, lo: Array, hi: Array, begin: int, stop: int, sign: int) -> int:
    hold_cores(state, state.cores_profile, job, lo, hi, lo.size, begin, stop, sign)
    return 0


@compiled(borrows=True)
def move(state: BatchState, now: int) -> int:
    move_profile(state.cores_profile, now)
    return 0


@compiled(borrows=True)
def copy(state: BatchState) -> int:
    copy_profile(state.cores_profile, state.cores_plan)
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
    profile = wide(state.cores_profile)
    return state._replace(
        host_first=first,
        host_of=np.repeat(np.arange(len(SIZES)), SIZES),
        cores_profile=profile,
        cores_plan=wide(state.cores_plan),
    )


def wide(profile: Any) -> Any:
    n = len(profile.ns) + 300
    words = np.zeros((n, 2), np.int64)
    words[0] = [2**32 - 1, 3]
    amounts = np.zeros((n, profile.amounts.shape[1]), np.int64)
    amounts[0] = profile.amounts[0]
    free = np.zeros(n, np.int64)
    free[0] = sum(SIZES)
    return type(profile)(np.ones(1, np.int64), np.zeros(n, np.int64), free, words, amounts)


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


def said(profile: Any, instant: int) -> tuple[set[int], int, list[int]]:
    """What a profile says about an instant."""
    n = int(profile.used[0])
    k = int(np.searchsorted(profile.ns[:n], instant, "right")) - 1
    cores = {core for core in range(64) if int(profile.words[k, core // 32]) >> core % 32 & 1}
    return cores, int(profile.free[k]), profile.amounts[k].tolist()


def check(state: BatchState, slow: Slow) -> None:
    profile = state.cores_profile
    instants = profile.ns[: int(profile.used[0])].tolist()
    assert instants[0] == slow.now
    assert instants == sorted(set(instants))
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
    copy(state)
    used = int(state.cores_profile.used[0])
    for column, copied in zip(state.cores_profile, state.cores_plan, strict=True):
        assert np.array_equal(column[:used], copied[:used])


def test_what_begins_when_it_ends_holds_nothing() -> None:
    state, slow = new_state(), Slow()
    hold(state, 1, *intervals(frozenset({0, 1})), 5, 5, -1)
    check(state, slow)
    assert state.cores_profile.used[0] == 1


def test_a_unit_may_lie_in_several_intervals_of_its_host() -> None:
    """Cores 4 and 6 are one unit of two cores; 3 to 12 are on the host that has cores 3 to 11, and on the next."""
    for cores, hosts in ((frozenset({4, 6}), [0, 1, 0, 0]), (frozenset({4, 6, 12, 13}), [0, 1, 1, 0])):
        state = new_state()
        hold(state, 1, *intervals(cores), 0, 9, -1)
        _, _, amounts = said(state.cores_profile, 0)
        assert amounts == [x for units in hosts for x in (GPUS, MEMORY - 2 * units)] + [LICENCES - 1]
        assert said(state.cores_profile, 9)[1] == sum(SIZES)
