"""What is checked of an application's state between two calls: every kind of fault is found, and said of whom."""

from __future__ import annotations

from collections.abc import Callable

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


def _counter(counter: int, amount: int = 1) -> Callable[[ApplicationState], None]:
    def plant(state: ApplicationState) -> None:
        state.counters[counter] += amount

    return plant


def _number(number: int) -> Callable[[ApplicationState], None]:
    def plant(state: ApplicationState) -> None:
        state.graph.numbers[number] += 1

    return plant


def _heap(state: ApplicationState) -> None:
    state.ask_ns[0] = state.ask_ns[: state.counters[s.ASKING]].max() + 1


def _late(state: ApplicationState) -> None:
    state.ask_ns[0] = 0


def _asks_twice(state: ApplicationState) -> None:
    state.ask_core[1] = state.ask_core[0]


def _sent_away(state: ApplicationState) -> None:
    state.cores[s.AWAY, state.ask_core[0]] = 1


def _held_twice(state: ApplicationState) -> None:
    one, other = np.flatnonzero(state.cores[s.HELD_STOP] > state.cores[s.HELD_FIRST])[:2].tolist()
    for row in (s.HELD_FIRST, s.HELD_STOP, s.HELD_SIZE):
        state.cores[row, one] = state.cores[row, other]


def _held_beyond(state: ApplicationState) -> None:
    state.cores[s.HELD_STOP, 0] = 100


def _not_taken(state: ApplicationState) -> None:
    state.taken[0] = 0


def _record_backwards(state: ApplicationState) -> None:
    k = int(np.flatnonzero(state.end_ns > 0)[0])
    state.start_ns[k] = state.end_ns[k] + 1


def _record_elsewhere(state: ApplicationState) -> None:
    state.core[int(np.flatnonzero(state.start_ns >= 0)[0])] = 99


def _record_chunk(state: ApplicationState) -> None:
    state.chunk[int(np.flatnonzero(state.start_ns >= 0)[0])] = 99


def _busy(state: ApplicationState) -> None:
    state.busy_ns[1] = -1


def _speed(state: ApplicationState) -> None:
    state.speed[0] = np.nan


@pytest.mark.parametrize(
    ("plant", "words"),
    [
        (_counter(s.PRESENT), "cores that are there: 4 by its count, 3 there are"),
        (_counter(s.LEFT), "tasks that are left: "),
        (_counter(s.HOLES), "tasks that were passed over or put back: "),
        (_counter(s.PUT_BACK), "tasks that were put back: "),
        (_counter(s.LOWEST, 40), " was put back, and is looked for from "),
        (_counter(s.NEXT, 100), "the next task is "),
        (_counter(s.STATUS, 4), "status 4"),
        (_counter(s.GONE), "cores that are lost for good: 1 by its count, 0 there are"),
        (_heap, "heap of requests: entry "),
        (_late, "should have been served at 0 ns"),
        (_asks_twice, "is 2 times among those that ask"),
        (_sent_away, "asks 1 times, and was sent away"),
        (_held_twice, "hold the same task of "),
        (_held_beyond, "core 0 has a chunk of "),
        (_not_taken, "tasks that are left: "),
        (_record_backwards, " runs from "),
        (_record_elsewhere, "is on core 99"),
        (_record_chunk, "is of chunk 99"),
        (_busy, "core 1 has been busy for -1 ns"),
        (_speed, "core 0 has speed nan"),
    ],
)
def test_a_planted_fault_in_a_loop_is_found(plant: Callable[[ApplicationState], None], words: str) -> None:
    _found(_loop(), plant, words)


def _found(state: ApplicationState, plant: Callable[[ApplicationState], None], words: str) -> None:
    validate(state)
    plant(state)
    with pytest.raises(InvariantError) as caught:
        validate(state, "job 7")
    assert words in str(caught.value)
    assert str(caught.value).startswith("job 7 at ")


def _computing(state: ApplicationState) -> int:
    return int(np.flatnonzero(state.graph.cores[g.DOES] == g.COMPUTES)[0])


def _other_task(state: ApplicationState) -> None:
    state.graph.cores[g.TASK, _computing(state)] = 11


def _other_owner(state: ApplicationState) -> None:
    state.graph.tasks[g.AT, state.graph.cores[g.TASK, _computing(state)]] += 1


def _does(state: ApplicationState) -> None:
    state.graph.cores[g.DOES, _computing(state)] = g.IDLES


def _absent(state: ApplicationState) -> None:
    state.speed[0] = 0.0
    state.counters[s.PRESENT] -= 1


def _pending(state: ApplicationState) -> None:
    state.graph.tasks[g.PENDING, 11] += 1


def _negative(state: ApplicationState) -> None:
    state.graph.tasks[g.MISSING, 11] = -1


def _position(state: ApplicationState) -> None:
    state.graph.tasks[g.POSITION, 0] = 1


def _taken(state: ApplicationState) -> None:
    k = int(np.flatnonzero(state.taken == 0)[0])
    state.taken[k] = 1
    state.counters[s.LEFT] -= 1


def _queued(state: ApplicationState) -> None:
    state.graph.cores[g.QUEUED, 0] ^= 1


def _waits(state: ApplicationState) -> None:
    state.graph.pools[g.WAITING_SIZE, 0] += 1
    state.graph.waiting[state.graph.pools[g.WAITING_SIZE, 0] - 1] = 11
    state.graph.numbers[g.WAITING] += 1


def _sent(state: ApplicationState) -> None:
    state.graph.sent_ns[3] = 5


def _arrived(state: ApplicationState) -> None:
    state.graph.arrived_ns[3] = 5


@pytest.mark.parametrize(
    ("plant", "words"),
    [
        (_counter(s.LEFT), "tasks that are left: "),
        (_number(g.UNDONE), "tasks that have not ended: "),
        (_number(g.WAITING), "tasks that wait: "),
        (_number(g.TURNED_AWAY), "cores that wait for the next round: "),
        (_number(g.TASK_0), "the graph has tasks "),
        (_other_task, "computes task 11, which core -1 has"),
        (_other_owner, " computes task "),
        (_does, "and its next event is of kind 0"),
        (_absent, "of speed 0.0, is 1 times among those that ask"),
        (_pending, "producers that task 11 waits for: "),
        (_negative, "waits for 1 tasks and -1 data"),
        (_position, "no task has place 0"),
        (_taken, "and core -1 has it"),
        (_queued, "times among those that wait for tasks"),
        (_waits, "task 11 is 1 times among those that wait for a core"),
        (_sent, "and data take no time"),
        (_arrived, "transfer 3 was sent at -1 ns, and arrived at 5 ns"),
    ],
)
def test_a_planted_fault_in_a_graph_is_found(plant: Callable[[ApplicationState], None], words: str) -> None:
    _found(_graph(), plant, words)


def test_an_application_is_checked_between_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    application = Application(np.ones(20), [1.0, 1.0], TECHNIQUES["ss"])
    application.checks = 2
    checked: list[int] = []
    monkeypatch.setattr("als.engine.validation.validate", lambda state: checked.append(int(state.counters[s.NOW])))
    for until in (1, 2, 3, 4, 5):
        application.advance(until * 10**9)
    assert application.advance()
    assert checked == [2 * 10**9, 4 * 10**9, 10**10]
