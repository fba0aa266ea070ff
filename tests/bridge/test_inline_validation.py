"""Checks of the inline coupling between two calls: every kind of fault is found, with the job at fault."""

import copy
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from inside import column, number

import bridge
from bls import HostGroup, Platform, Rules, sample_path
from bls.engine.state import BatchState
from bls.workloads.workload import Workload
from bridge.couplings.inline_state import InlineState
from bridge.couplings.inline_validation import validate_inline
from traces.checks.faults import InvariantError
from traces.kernels.slabs import CHANGING, HEADER, LAID_AT, WHOLE
from traces.kernels.state import fields_of


@pytest.fixture(scope="module")
def ends() -> tuple[BatchState, InlineState]:
    """Both ends of a run of the sample, when a third of its jobs have ended."""
    seen: list[tuple[Any, Any]] = []

    def look(state: BatchState, coupled: InlineState) -> None:
        if not seen and number(state, "n_ended") > 100:
            seen.append((copy.deepcopy(state), copy.deepcopy(coupled)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bridge.couplings.inline_validation.validate_inline", look)
        patch.setattr("bls.simulator.BatchSimulator.checks", 1)
        patch.setattr("bls.simulator.BatchSimulator.most_ends", 10)
        bridge.simulate(sample_path(), als="gss", variation=0.25)
    return seen[0]


#: Columns of a job that has ended, of its first task, or counts: what each becomes, from what it is; and words of the error.
PLANTED: list[tuple[dict[str, Callable[[int], int]], str]] = [
    ({"n_tasks": lambda n: n + 1}, "ran more tasks than it has"),
    ({"n_tasks": lambda n: n - 1}, "was not cut, and did not run all of its tasks"),
    ({"n_rows": lambda _: 0, "n_tasks": lambda _: 0}, "has tasks but no end, or an end but no tasks"),
    ({"n_chunks": lambda _: -1}, "has fewer than no chunks"),
    ({"first": lambda row: row + 1}, "has records of tasks from "),
    ({"ledger_used": lambda n: n + 1}, " records of tasks; the jobs have "),
    ({"transfers_used": lambda n: n + 1}, "1 records of transfers; the jobs have 0"),
    ({"start_ns": lambda _: 0}, "has a task from 0 to "),
    ({"end_ns": lambda _: 2**60}, "has a task from "),
    ({"start_ns": lambda _: -1, "end_ns": lambda _: -1}, "have begun"),
    ({"status": lambda _: 0}, "the application that ran last has status 0"),
]


def place_of(state: BatchState, coupled: InlineState, name: str) -> tuple[Any, Any]:
    """The array that has a value, and the value's place."""
    done = int(np.flatnonzero(column(state, "jobs.state") >= 0)[0])
    if name in ("start_ns", "end_ns"):
        return getattr(coupled.tasks, name), coupled.outcomes.first[done]
    if name == "status":
        return column(coupled.running.app, name), ...
    return (column(coupled, name), ...) if name.endswith("_used") else (getattr(coupled.outcomes, name), done)


@pytest.mark.parametrize(("planted", "words"), PLANTED, ids=[words for _, words in PLANTED])
def test_a_planted_fault_is_found(
    ends: tuple[BatchState, InlineState], planted: dict[str, Callable[[int], int]], words: str
) -> None:
    state, coupled = copy.deepcopy(ends[0]), copy.deepcopy(ends[1])
    validate_inline(state, coupled)
    for name, becomes in planted.items():
        array, at = place_of(state, coupled, name)
        array[at] = becomes(array[at])
    with pytest.raises(InvariantError) as caught:
        validate_inline(state, coupled)
    assert words in str(caught.value)
    assert str(caught.value).startswith("inline coupling at ")


def wrong_words(coupled: InlineState) -> list[tuple[str, Any, Any, int]]:
    """The error if a word of a stored application, or about it, has another value: the message, the column, the place."""
    words, first, ahead = (column(coupled, f"saved.{name}") for name in ("words", "first", "ahead"))
    at, fields = int(first.max()), fields_of(type(coupled.running))
    return [
        ("; its header says 0x", words, at + LAID_AT, 8),
        (" words change; it has ", words, at + CHANGING, 10**9),
        (" words change; it has ", words, at + WHOLE, 10**9),
        ("app is at 0x", words, at + HEADER + fields["app"].place, 8),
        ("base_gflops, [", words, at + HEADER + fields["base_gflops"].place, 8),
        ("the copy has the pointers of what is kept", ahead, LAID_AT, words[at + LAID_AT]),
        ("; those before end at ", first, first.argmax(), at + 1),
        (" words of kept applications; they end at ", column(coupled, "saved.used"), (), 0),
    ]


def test_kept_applications_say_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two jobs run at a time. There is room for a third of all; then those that run are moved."""
    found: list[str] = []

    def look(state: BatchState, coupled: InlineState) -> None:
        validate_inline(state, coupled)
        if found or coupled.saved.used == 0:
            return
        for words, values, place, wrong in wrong_words(coupled):
            before, values[place] = int(values[place]), wrong
            with pytest.raises(InvariantError, match=re.escape(words)):
                validate_inline(state, coupled)
            values[place] = before
            found.append(words)

    monkeypatch.setattr("bridge.couplings.inline_validation.validate_inline", look)
    monkeypatch.setattr("bls.simulator.BatchSimulator.checks", 1)
    monkeypatch.setattr("bls.simulator.BatchSimulator.most_ends", 4)
    workload = Workload.from_jobs([(number, 5 * number, 10, 8, 20) for number in range(1, 61)])
    options: dict[str, Any] = {"als": "ss", "tasks_per_core": 8, "rules": Rules(coordination="hint")}
    bridge.simulate(workload, Platform((HostGroup(4, 4, 4.0),)), **options)
    assert len(found) == 8
