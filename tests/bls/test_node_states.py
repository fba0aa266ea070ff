"""Host states over time: a case by hand, and against what a host is at every instant, said literally."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from small_schedules import Small, column, small_schedules

from bls.metrics.node_states import HOST_STATES, HostStates, core_windows, host_states, host_windows
from bls.metrics.schedule import Allocations


def rows(states: HostStates) -> list[tuple[int, int, int, str]]:
    return [
        (host, begin, end, HOST_STATES[state])
        for host, begin, end, state in zip(
            *(values.tolist() for values in (states.host, states.begin_ns, states.end_ns, states.state)), strict=True
        )
    ]


FIRST = column(0, 2, 4, 6)  # three hosts of two cores


def test_by_hand() -> None:
    """Job A holds cores 1 to 3 during [2, 6), job B cores 0 and 1 during [6, 8); job C never started.

    Host 1 is down during [6, 9), host 2 in maintenance during [1, 4) and down for good from 3 on; core 0 is reserved
    during [5, 20).
    """
    states = host_states(
        host_first=FIRST,
        start_ns=column(2, 6, -1),
        end_ns=column(6, 8, -1),
        allocations=Allocations(column(0, 1, 2, 2), column(1, 0), column(4, 2)),
        begin_ns=0,
        until_ns=10,
        outages=host_windows(FIRST, column(1, 2), column(6, 3), column(9, -1)),
        maintenance=host_windows(FIRST, column(2), column(1), column(4)),
        reservations=core_windows(column(0), column(1), column(5), column(20)),
    )
    assert rows(states) == [
        (0, 0, 2, "idle"),
        (0, 2, 6, "mixed"),  # A has one of its two cores; a reservation is not seen beside it
        (0, 6, 8, "allocated"),
        (0, 8, 10, "reserved"),
        (1, 0, 2, "idle"),
        (1, 2, 6, "allocated"),
        (1, 6, 9, "down"),
        (1, 9, 10, "idle"),
        (2, 0, 1, "idle"),
        (2, 1, 3, "maintenance"),
        (2, 3, 10, "down"),
    ]
    used = {"idle": 2 + 2 + 1 + 1, "mixed": 4, "allocated": 2 + 4, "down": 3 + 7, "maintenance": 2, "reserved": 2}
    assert states.host_ns() == used


def test_a_change_that_is_undone_at_once_is_none() -> None:
    """One job hands host 0 over to another; a third takes no time."""
    states = host_states(
        host_first=FIRST,
        start_ns=column(0, 5, 7),
        end_ns=column(5, 9, 7),
        allocations=Allocations(column(0, 1, 2, 3), column(0, 0, 4), column(2, 2, 5)),
        begin_ns=0,
        until_ns=9,
    )
    assert rows(states) == [(0, 0, 9, "allocated"), (1, 0, 9, "idle"), (2, 0, 9, "idle")]


def test_an_empty_span_has_no_states() -> None:
    none = Allocations(column(0), column(), column())
    empty = host_states(host_first=FIRST, start_ns=column(), end_ns=column(), allocations=none, begin_ns=4, until_ns=4)
    assert (len(empty), set(empty.host_ns().values())) == (0, {0})


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
def test_as_it_is_at_every_instant(small: Small, data: st.DataObject, unit: int) -> None:
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
