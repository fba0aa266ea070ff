"""The invariants: sound records pass, and each kind of planted fault is found and named."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import otf2
import pytest
from hypothesis import given, settings
from ledgers import NEVER, Job, ledger, ledgers, machine, never_started
from nesting import check_nesting
from tables import table_rows

from traces.checks.ledger import InvariantError, check_ledger, core_bars
from traces.ledger import Ledger

SOUND = [
    Job(11, 0, 0, 10, [(0, 2)], [(0, 0, 0, 4), (1, 1, 0, 10), (0, 2, 5, 9)]),
    Job(22, 3, 10, 12, [(1, 3)], [(1, 0, 10, 12), (2, 1, 10, 11)]),
]


CUT = [
    Job(11, 0, 0, 10, [(0, 2)], [(0, 0, 0, 4), (1, 1, 0, 10), (0, 2, 5, 9)]),
    never_started(22, 3, asked=9),
    # Of its four tasks the second was cut, and the others after it never ran.
    Job(33, 4, 10, 12, [(1, 3)], [(1, 0, 10, 11), (2, 1, 11, 12), NEVER, NEVER], state="requeued", eligible=5),
    Job(33, 4, 13, 20, [(0, 4)], [(0, 0, 13, 20), (1, 1, 13, 15)], 2, 1, "backfill", eligible=12),
]


@settings(max_examples=200, deadline=None)
@given(ledgers())
def test_sound_ledgers_pass(of: Ledger) -> None:
    check_ledger(of)


def test_a_job_of_no_length_before_another_at_one_instant_is_sound() -> None:
    """The later row ran first: it came and went at the instant at which the other started."""
    of = ledger(machine(1), [Job(1, 0, 5, 9, [(0, 1)]), Job(2, 0, 5, 5, [(0, 1)])])
    check_ledger(of)
    assert core_bars(of).job.tolist() == [1, 0]


def test_jobs_that_never_started_were_cut_and_tried_again_are_sound() -> None:
    check_ledger(ledger(machine(2, 2), CUT))
    check_ledger(ledger(machine(2, 2), CUT, with_tasks=False))
    check_ledger(ledger(machine(1), [never_started(1, 3)]))


def test_tasks_that_never_ran_have_no_bar() -> None:
    bars = core_bars(ledger(machine(2, 2), CUT))
    assert list(zip(bars.job.tolist(), bars.task.tolist(), strict=True)) == [
        *[(0, 0), (0, 2), (3, 0)],
        *[(0, 1), (2, 0), (3, 1)],
        (2, 1),
    ]
    assert bars.first.tolist() == [0, 3, 6, 7, 7]


def test_a_job_without_tasks_is_a_bar_on_every_core_that_it_holds() -> None:
    bars = core_bars(ledger(machine(2, 2), CUT, with_tasks=False))
    assert bars.job.tolist() == [0, 3, 0, 2, 3, 2, 3, 3]
    assert set(bars.task.tolist()) == {-1}


def test_a_job_that_was_cut_before_any_task_began_is_no_bar() -> None:
    of = ledger(machine(1), [Job(1, 0, 0, 5, [(0, 1)], [NEVER, NEVER], state="killed")])
    check_ledger(of)
    assert len(core_bars(of).job) == 0


@pytest.mark.parametrize(("of", "part", "changes", "message"), table_rows(__file__, "planted_faults"))
def test_planted_faults_are_named(of: str, part: Any, changes: dict[str, Any], message: str) -> None:
    rows = list({"sound": SOUND, "columns": SOUND, "cut": CUT}[of])
    if isinstance(part, list):
        rows = [rows[row] for row in part]
    elif isinstance(part, int):
        changes["tasks"] = [tuple(task) for task in changes.get("tasks", rows[part].tasks)]
        rows[part] = replace(rows[part], **changes)
    fault = ledger(machine(2, 2), rows)
    if of == "columns":
        table = replace(getattr(fault, part), **{name: np.array(column) for name, column in changes.items()})
        fault = replace(fault, **{part: table})
    with pytest.raises(InvariantError, match=message):
        check_ledger(fault)


def archive(path: Path, events: list[tuple[str, int, str]]) -> Path:
    """A trace of one location, by the binding's own writer."""
    with otf2.writer.open(str(path), timer_resolution=10**9) as trace:
        tree = trace.definitions.system_tree_node("node")
        group = trace.definitions.location_group("host", system_tree_parent=tree)
        writer = trace.event_writer("core 0", group=group)
        for kind, time, name in events:
            region = trace.definitions.region(name)
            (writer.enter if kind == "enter" else writer.leave)(time, region)
    return path / "traces.otf2"


def test_nesting_of_a_sound_trace(tmp_path: Path) -> None:
    events = [("enter", 0, "a"), ("leave", 3, "a"), ("enter", 3, "b"), ("leave", 3, "b")]
    assert check_nesting(archive(tmp_path / "t", events)) == 2


@pytest.mark.parametrize(("events", "message"), table_rows(__file__, "faults_of_nesting_are_named"))
def test_faults_of_nesting_are_named(tmp_path: Path, events: list[tuple[str, int, str]], message: str) -> None:
    with pytest.raises(InvariantError, match=message):
        check_nesting(archive(tmp_path / "t", events))
