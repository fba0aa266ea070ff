"""What is checked of the inline coupling between two calls: every kind of fault is found, and said of whom."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from als.engine import state as app
from bls import sample_path
from bls.engine import state as b
from bls.engine.state import BatchState
from bridge.couplings.inline_state import LEDGER_USED, TRANSFERS_USED, InlineState
from bridge.couplings.inline_validation import validate_inline
from traces.checks.jobs import InvariantError


@pytest.fixture(scope="module")
def ends() -> tuple[BatchState, InlineState]:
    """Both ends of a run of the sample, when a third of its jobs have ended."""
    seen: list[tuple[Any, Any]] = []

    def look(state: BatchState, coupled: InlineState) -> None:
        if not seen and state.sizes[b.ENDED] > 100:
            seen.append((copy.deepcopy(state), copy.deepcopy(coupled)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bridge.couplings.inline_validation.validate_inline", look)
        patch.setattr("bls.simulator.BatchSimulator.checks", 1)
        patch.setattr("bls.simulator.BatchSimulator.most_ends", 10)
        bridge.simulate(sample_path(), als="gss", variation=0.25)
    assert seen
    return seen[0]


def _done(state: BatchState) -> int:
    return int(np.flatnonzero(state.jobs[b.STATE] >= 0)[0])


def _tasks(state: BatchState, coupled: InlineState) -> None:
    coupled.n_tasks[_done(state)] += 1


def _fewer(state: BatchState, coupled: InlineState) -> None:
    coupled.n_tasks[_done(state)] -= 1


def _none(state: BatchState, coupled: InlineState) -> None:
    coupled.n_rows[_done(state)] = 0
    coupled.n_tasks[_done(state)] = 0


def _chunks(state: BatchState, coupled: InlineState) -> None:
    coupled.n_chunks[_done(state)] = -1


def _first(state: BatchState, coupled: InlineState) -> None:
    coupled.first[_done(state)] += 1


def _used(state: BatchState, coupled: InlineState) -> None:
    coupled.cursor[LEDGER_USED] += 1


def _sent(state: BatchState, coupled: InlineState) -> None:
    coupled.cursor[TRANSFERS_USED] += 1


def _before(state: BatchState, coupled: InlineState) -> None:
    coupled.application.start_ns[coupled.first[_done(state)]] = 0


def _after(state: BatchState, coupled: InlineState) -> None:
    coupled.application.end_ns[coupled.first[_done(state)]] = 2**60


def _never(state: BatchState, coupled: InlineState) -> None:
    row = coupled.first[_done(state)]
    coupled.application.start_ns[row] = coupled.application.end_ns[row] = -1


def _unended(state: BatchState, coupled: InlineState) -> None:
    coupled.application.counters[app.STATUS] = 0


@pytest.mark.parametrize(
    ("plant", "words"),
    [
        (_tasks, "ran more tasks than it has"),
        (_fewer, "was not cut, and did not run all of its tasks"),
        (_none, "has tasks, and no end, or the other way round"),
        (_chunks, "has fewer than no chunks"),
        (_first, "has records of tasks from "),
        (_used, " records of tasks; the jobs have "),
        (_sent, "1 records of transfers; the jobs have 0"),
        (_before, "has a task from 0 to "),
        (_after, "has a task from "),
        (_never, "have begun"),
        (_unended, "the application that ran last has status 0"),
    ],
)
def test_a_planted_fault_is_found(
    ends: tuple[BatchState, InlineState], plant: Callable[[BatchState, InlineState], None], words: str
) -> None:
    state, coupled = copy.deepcopy(ends[0]), copy.deepcopy(ends[1])
    validate_inline(state, coupled)
    plant(state, coupled)
    with pytest.raises(InvariantError) as caught:
        validate_inline(state, coupled)
    assert words in str(caught.value)
    assert str(caught.value).startswith("inline coupling at ")
