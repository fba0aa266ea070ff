"""The machine, its hosts and its queue over time: by hand, and against what there is at every instant, said literally."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_schedules import Small, column, small_schedules

from bls.metrics.node_states import HOST_STATES, HostStates, core_windows, host_states, host_windows
from bls.metrics.occupancy import free_blocks, lasting_ns, occupancy
from bls.metrics.schedule import NO_DOWNTIME, Allocations, Downtime, Schedule


def at(instants: np.ndarray, values: np.ndarray, t: int) -> int:
    row = int(np.searchsorted(instants, t, side="right")) - 1
    return int(values[row]) if row >= 0 else 0


def test_how_long_rows_hold_within_a_span() -> None:
    assert lasting_ns(column(0, 1, 2, 3, 10, 15), 2, 12).tolist() == [0, 0, 1, 7, 2, 0]


def test_nobody_at_all() -> None:
    nobody = Schedule.of(submit_ns=column(), start_ns=column(), end_ns=column(), cores=column(), n_cores=3)
    assert len(occupancy(nobody).instant_ns) == 0
    blocks = free_blocks(nobody, Allocations(column(0), column(), column()), column(0, 3))
    assert (blocks.instant_ns.tolist(), blocks.cores.tolist(), blocks.squares.tolist()) == ([0], [3], [9])


@pytest.mark.parametrize(
    ("lo", "downtime"),
    [
        (column(0, 1), NO_DOWNTIME),
        (column(2, 1), NO_DOWNTIME),
        (column(0, 2), Downtime(column(1), column(2), column(4), column(6))),
        (column(0, 2), Downtime(column(0), column(2), column(2), column(-1))),
    ],
    ids=["begin twice", "end twice", "while down", "while down for good"],
)
def test_a_core_is_held_once(lo: np.ndarray, downtime: Downtime) -> None:
    schedule = Schedule.of(
        submit_ns=column(0, 0), start_ns=column(0, 3), end_ns=column(5, 8), cores=column(2, 2), n_cores=4
    )
    with pytest.raises(ValueError, match="held twice"):
        free_blocks(schedule, Allocations(column(0, 1, 2), lo, lo + 2), column(0, 2, 4), downtime)


def test_a_host_is_down_once_and_to_the_end_if_it_is_never_repaired() -> None:
    downtime = Downtime(column(1, 0, 1, 0), column(2, 3, 2, 3), column(4, 2, 6, 1), column(-1, 3, 7, 2))
    within = downtime.within(0, 10)
    assert within.host.tolist() == [0, 1]
    assert within.cores.tolist() == [3, 2]
    assert within.down_ns.tolist() == [1, 4]
    assert within.up_ns.tolist() == [3, 10]
    assert len(downtime.within(3, 4).host) == 0


@settings(max_examples=400)
@given(small=small_schedules(), unit=st.sampled_from((1, 2**55)))
def test_as_it_is_at_every_instant(small: Small, unit: int) -> None:
    schedule, downtime = small.schedule(unit), small.downtime(unit)
    steps = occupancy(schedule, downtime)
    assert (np.diff(steps.instant_ns) > 0).all()
    begin, end = small.span()
    last = max((row.gone for row in small.rows), default=0)
    for t in range(max(last, end) + 2):
        waiting = small.waiting(t)
        for values, expected in (
            (steps.queue_length, len(waiting)),
            (steps.queued_cores, sum(row.asked for row in waiting)),
            (steps.smallest_waiting, min((row.asked for row in waiting), default=0)),
            (steps.busy_cores, len(small.busy(t))),
            (steps.down_cores, len(small.down(t)) if begin <= t < end else 0),
        ):
            assert at(steps.instant_ns, values, t * unit) == expected

    blocks = free_blocks(schedule, small.allocations(), small.host_first, downtime)
    assert blocks.instant_ns[0] == begin * unit
    assert (np.diff(blocks.instant_ns) > 0).all()
    for t in range(begin, end):
        text = "".join("." if core in small.free(t) else " " for core in range(small.n_cores)).split()
        for values, expected in (
            (blocks.cores, sum(map(len, text))),
            (blocks.blocks, len(text)),
            (blocks.squares, sum(len(block) ** 2 for block in text)),
        ):
            assert at(blocks.instant_ns, values, t * unit) == expected


def rows(states: HostStates) -> list[tuple[int, int, int, str]]:
    return [
        (host, begin, end, HOST_STATES[state])
        for host, begin, end, state in zip(
            *(values.tolist() for values in (states.host, states.begin_ns, states.end_ns, states.state)), strict=True
        )
    ]


def literally(small: Small, windows: list[tuple[str, int, int, int, int]], host: int, t: int) -> str:
    cores = small.host_cores(host)
    lasting = {kind for kind, lo, hi, begin, end in windows if begin <= t < end and cores & set(range(lo, hi))}
    if cores & small.down(t):
        return "down"
    if "maintenance" in lasting:
        return "maintenance"
    held = len(cores & small.busy(t))
    if held:
        return "allocated" if held == len(cores) else "mixed"
    return "reserved" if "reserved" in lasting else "idle"


@settings(max_examples=400)
@given(small=small_schedules(), data=st.data(), unit=st.sampled_from((1, 2**55)))
def test_states_are_as_they_are_at_every_instant(small: Small, data: st.DataObject, unit: int) -> None:
    windows = []
    for _ in range(data.draw(st.integers(0, 3))):
        kind = data.draw(st.sampled_from(("maintenance", "reserved")))
        lo = data.draw(st.integers(0, small.n_cores - 1))
        hi = data.draw(st.integers(lo + 1, small.n_cores))
        if kind == "maintenance":  # of whole hosts
            host = int(np.searchsorted(small.host_first, lo, side="right")) - 1
            lo, hi = (int(border) for border in small.host_first[host : host + 2])
        begin = data.draw(st.integers(0, 9))
        windows.append((kind, lo, hi, begin, begin + data.draw(st.integers(0, 6))))

    def of_kind(kind: str) -> list[np.ndarray]:
        found = np.array([window[1:] for window in windows if window[0] == kind], np.int64).reshape(-1, 4)
        return [found[:, 0], found[:, 1], found[:, 2] * unit, found[:, 3] * unit]

    schedule, downs = small.schedule(unit), small.downtime(unit)
    begin, until = data.draw(st.integers(0, 3)), data.draw(st.integers(3, 15))
    states = host_states(
        host_first=small.host_first,
        start_ns=schedule.start_ns,
        end_ns=schedule.end_ns,
        allocations=small.allocations(),
        begin_ns=begin * unit,
        until_ns=until * unit,
        outages=host_windows(small.host_first, downs.host, downs.down_ns, downs.up_ns),
        maintenance=core_windows(*of_kind("maintenance")),
        reservations=core_windows(*of_kind("reserved")),
    )
    expected: list[tuple[int, int, int, str]] = []
    for host in range(len(small.sizes)):
        for t in range(begin, until):
            state = literally(small, windows, host, t)
            if expected and expected[-1][0] == host and expected[-1][3] == state:
                expected[-1] = (host, expected[-1][1], (t + 1) * unit, state)
            else:
                expected.append((host, t * unit, (t + 1) * unit, state))
    assert rows(states) == expected
    assert sum(states.host_ns().values()) == len(small.sizes) * (until - begin) * unit
