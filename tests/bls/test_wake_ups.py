"""A policy is woken as often as it asks for, in order, whatever else happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bls import BatchSimulator, Platform, Rules, View, allocator
from bls.machine.platform import HostGroup
from bls.workloads.workload import Workload
from traces.base.errors import PluginError

MACHINE = Platform((HostGroup(1, 4, 1.0),))
S = 10**9


class Asks:
    """Asks for instants at each of its passes, and starts what fits from an instant on."""

    name = "asks"

    def __init__(self, asked: Callable[[View, int], None], from_ns: int = 0) -> None:
        self.asked, self.from_ns = asked, from_ns
        self.called: list[int] = []

    def decide(self, view: View) -> Iterator[Any]:
        self.called.append(view.now_ns)
        self.asked(view, len(self.called))
        free = view.free_cores
        for job in view.waiting:
            if view.now_ns >= self.from_ns and job.cores <= free:
                free -= job.cores
                yield job


def passes(order: Asks, jobs: list[Any], **options: Any) -> list[int]:
    simulator = BatchSimulator(
        Workload.from_jobs(jobs), MACHINE, order, allocator("first-fit"), recorded=True, **options
    )
    simulator.checks = 1
    while simulator.advance(1):
        pass
    return order.called


def test_what_is_beyond_the_last_end_does_not_prolong_the_run() -> None:
    assert passes(Asks(lambda view, n: view.wake_at(10**15)), [(1, 0, 20, 1, 20)]) == [0, 20 * S]


instants = st.lists(st.lists(st.integers(1, 60), max_size=4), min_size=1, max_size=8)


@settings(max_examples=100)
@given(rounds=instants, submits=st.lists(st.integers(0, 30), min_size=1, max_size=5).map(sorted))
def test_all_that_is_asked_for_and_all_that_happens(rounds: list[list[int]], submits: list[int]) -> None:
    wanted: set[int] = set()

    def asked(view: View, n: int) -> None:
        for second in rounds[n - 1] if n <= len(rounds) else ():
            if second * S > view.now_ns:
                wanted.add(second * S)
                view.wake_at(second * S)

    jobs = [(k, submit, 7, 1, 7) for k, submit in enumerate(submits)]
    order = Asks(asked)
    called = passes(order, [*jobs, (99, 100, 1, 4, 1)])  # the last one ends after all that can be asked for
    happens = {submit * S for submit in submits} | {100 * S, 101 * S}
    assert called == sorted(set(called))
    assert happens | wanted <= set(called)
    # Beside those there are ends only.
    assert all((instant // S - 7) in range(100) for instant in set(called) - happens - wanted)


def test_while_the_scheduler_is_busy_it_looks_when_it_is_not() -> None:
    def asked(view: View, n: int) -> None:
        if n == 1:
            view.wake_at(2 * S)
            view.wake_at(3 * S)
            view.wake_at(30 * S)

    rules = Rules(charge_decisions=True, decision_cost_ns=10 * S)
    called = passes(Asks(asked), [(1, 0, 50, 1, 50)], rules=rules)
    assert called == [0, 10 * S, 30 * S, 60 * S]  # and at the last end


def test_waiting_jobs_start_at_a_wake_up() -> None:
    order = Asks(lambda view, n: view.wake_at(8 * S) or view.wake_at(4 * S) if n == 1 else None, from_ns=8 * S)
    simulator = BatchSimulator(
        Workload.from_jobs([(1, 0, 2, 4, 2), (2, 0, 2, 4, 2)]), MACHINE, order, allocator("first-fit"), recorded=True
    )
    while simulator.advance(1):
        pass
    assert order.called == [0, 4 * S, 8 * S, 10 * S, 12 * S]
    assert simulator.now_ns == 12 * S


def test_when_all_are_over_and_nobody_starts_the_run_is_stuck() -> None:
    with pytest.raises(
        PluginError, match=r"the simulation is stuck at job 1, at 4 s: .* batch policy asks does not start it"
    ):
        passes(Asks(lambda view, n: view.wake_at(4 * S) if n == 1 else None, from_ns=9 * S), [(1, 0, 2, 4, 2)])


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (lambda view: view.wake_after(0), r"wake_after: 0 is out of range; allowed: 1 to \d+"),
        (lambda view: view.wake_after(-5), r"wake_after: -5 is out of range; allowed: 1 to \d+"),
        (lambda view: view.wake_after("1s"), r"wake_after: '1s' is not a whole number; allowed: 1 to \d+"),
        (lambda view: view.wake_after(2**62), rf"wake_after: {2**62} is out of range; allowed: 1 to {2**62 - S}"),
        (lambda view: view.wake_at(S), r"wake_at: 1000000000 is out of range; allowed: 1000000001 to \d+"),
    ],
)  # fmt: skip
def test_no_later_instant(asked: Callable[[View], None], message: str) -> None:
    with pytest.raises(PluginError, match=f"^batch policy asks, at 1000000000 ns: {message}$"):
        passes(Asks(lambda view, n: asked(view)), [(1, 1, 2, 4, 2)])
