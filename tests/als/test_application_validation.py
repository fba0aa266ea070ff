"""What is checked of an application's state between two calls: every kind of fault is found, and said of whom."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from als.application import Application
from als.engine import state as s
from als.engine.dag import state as g
from als.engine.dag.parts import Edges, GraphPart
from als.engine.state import ApplicationState
from als.engine.validation import validate
from als.techniques import TECHNIQUES
from traces.checks.jobs import InvariantError
from traces.compiled import Array


def _loop() -> ApplicationState:
    # Four cores in the middle of a loop; one was lost, and what it had was put back.
    application = Application(np.arange(1.0, 41.0), [1.0, 1.0, 1.0, 1.0], TECHNIQUES["gss"])
    application.advance(9_000_000_000)
    application.set_speed(0.0, 2)
    return application.state


def _graph() -> ApplicationState:
    # Two rows of six tasks, each of the second after two of the first.
    source = np.repeat(np.arange(6), 2)
    target = 6 + (source + np.tile([0, 1], 6)) % 6
    target = target[np.lexsort((target, source))]
    edges = Edges(np.array([0, 12]), source, target, np.zeros(12))
    application = Application(np.arange(1.0, 13.0), [1.0, 1.0, 1.0], phases=[GraphPart(TECHNIQUES["ss"])], edges=edges)
    application.advance(8_000_000_000)
    return application.state


Plant = Callable[[ApplicationState], None]


def _add(of: Callable[[ApplicationState], Array], at: int, amount: int = 1) -> Plant:
    def plant(state: ApplicationState) -> None:
        of(state)[at] += amount

    return plant


def _counter(counter: int, amount: int = 1) -> Plant:
    return _add(lambda state: state.counters, counter, amount)


def _number(number: int) -> Plant:
    return _add(lambda state: state.graph.numbers, number)


def _put(of: Callable[[ApplicationState], Array], at: Any, value: Any) -> Plant:
    """Write a value, or what it is of the state, at a place, or where the state says."""

    def plant(state: ApplicationState) -> None:
        of(state)[at(state) if callable(at) else at] = value(state) if callable(value) else value

    return plant


def _begun(state: ApplicationState) -> int:
    return int(np.flatnonzero(state.start_ns >= 0)[0])


def _held_twice(state: ApplicationState) -> None:
    one, other = np.flatnonzero(state.cores[s.HELD_STOP] > state.cores[s.HELD_FIRST])[:2].tolist()
    for row in (s.HELD_FIRST, s.HELD_STOP, s.HELD_SIZE):
        state.cores[row, one] = state.cores[row, other]


def _computing(state: ApplicationState) -> int:
    return int(np.flatnonzero(state.graph.cores[g.DOES] == g.COMPUTES)[0])


def _other_owner(state: ApplicationState) -> None:
    state.graph.tasks[g.AT, state.graph.cores[g.TASK, _computing(state)]] += 1


def _absent(state: ApplicationState) -> None:
    state.speed[0] = 0.0
    state.counters[s.PRESENT] -= 1


def _taken(state: ApplicationState) -> None:
    state.taken[int(np.flatnonzero(state.taken == 0)[0])] = 1
    state.counters[s.LEFT] -= 1


def _waits(state: ApplicationState) -> None:
    state.graph.pools[g.WAITING_SIZE, 0] += 1
    state.graph.waiting[state.graph.pools[g.WAITING_SIZE, 0] - 1] = 11
    state.graph.numbers[g.WAITING] += 1


def _last_ask(state: ApplicationState) -> int:
    return int(state.ask_ns[: state.counters[s.ASKING]].max()) + 1


IN_LOOPS: list[tuple[Plant, str]] = [
    (_counter(s.PRESENT), "cores that are there: 4 by its count, 3 there are"),
    (_counter(s.LEFT), "tasks that are left: "),
    (_counter(s.HOLES), "tasks that were passed over or put back: "),
    (_counter(s.PUT_BACK), "tasks that were put back: "),
    (_counter(s.LOWEST, 40), " was put back, and is looked for from "),
    (_counter(s.NEXT, 100), "the next task is "),
    (_counter(s.STATUS, 4), "status 4"),
    (_counter(s.GONE), "cores that are lost for good: 1 by its count, 0 there are"),
    (_put(lambda one: one.ask_ns, 0, _last_ask), "heap of requests: entry "),
    (_put(lambda one: one.ask_ns, 0, 0), "should have been served at 0 ns"),
    (_put(lambda one: one.ask_core, 1, lambda one: one.ask_core[0]), "is 2 times among those that ask"),
    (_put(lambda one: one.cores[s.AWAY], lambda one: one.ask_core[0], 1), "asks 1 times, and was sent away"),
    (_held_twice, "hold the same task of "),
    (_put(lambda one: one.cores[s.HELD_STOP], 0, 100), "core 0 has a chunk of "),
    (_put(lambda one: one.taken, 0, 0), "tasks that are left: "),
    (_put(lambda one: one.start_ns, lambda one: np.flatnonzero(one.end_ns > 0)[0], 10**18), " runs from "),
    (_put(lambda one: one.core, _begun, 99), "is on core 99"),
    (_put(lambda one: one.chunk, _begun, 99), "is of chunk 99"),
    (_put(lambda one: one.busy_ns, 1, -1), "core 1 has been busy for -1 ns"),
    (_put(lambda one: one.speed, 0, np.nan), "core 0 has speed nan"),
]

IN_GRAPHS: list[tuple[Plant, str]] = [
    (_counter(s.LEFT), "tasks that are left: "),
    (_number(g.UNDONE), "tasks that have not ended: "),
    (_number(g.WAITING), "tasks that wait: "),
    (_number(g.TURNED_AWAY), "cores that wait for the next round: "),
    (_number(g.TASK_0), "the graph has tasks "),
    (_put(lambda one: one.graph.cores[g.TASK], _computing, 11), "computes task 11, which core -1 has"),
    (_other_owner, " computes task "),
    (_put(lambda one: one.graph.cores[g.DOES], _computing, g.IDLES), "and its next event is of kind 0"),
    (_absent, "of speed 0.0, is 1 times among those that ask"),
    (_add(lambda one: one.graph.tasks[g.PENDING], 11), "producers that task 11 waits for: "),
    (_put(lambda one: one.graph.tasks[g.MISSING], 11, -1), "waits for 1 tasks and -1 data"),
    (_put(lambda one: one.graph.tasks[g.POSITION], 0, 1), "no task has place 0"),
    (_taken, "and core -1 has it"),
    (_put(lambda one: one.graph.cores[g.QUEUED], 0, lambda one: 1 - one.graph.cores[g.QUEUED, 0]),
     "times among those that wait for tasks"),
    (_waits, "task 11 is 1 times among those that wait for a core"),
    (_put(lambda one: one.graph.sent_ns, 3, 5), "and data take no time"),
    (_put(lambda one: one.graph.arrived_ns, 3, 5), "transfer 3 was sent at -1 ns, and arrived at 5 ns"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "plant", "words"),
    [(make, *row) for make, rows in ((_loop, IN_LOOPS), (_graph, IN_GRAPHS)) for row in rows],
)
def test_a_planted_fault_is_found(make: Callable[[], ApplicationState], plant: Plant, words: str) -> None:
    state = make()
    validate(state)
    plant(state)
    with pytest.raises(InvariantError) as caught:
        validate(state, "job 7")
    assert words in str(caught.value)
    assert str(caught.value).startswith("job 7 at ")


def test_an_application_is_checked_between_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    application = Application(np.ones(20), [1.0, 1.0], TECHNIQUES["ss"])
    application.checks = 2
    checked: list[int] = []
    monkeypatch.setattr("als.engine.validation.validate", lambda state: checked.append(int(state.counters[s.NOW])))
    for until in (1, 2, 3, 4, 5):
        application.advance(until * 10**9)
    assert application.advance()
    assert checked == [2 * 10**9, 4 * 10**9, 10**10]
