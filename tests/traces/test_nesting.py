"""The invariants: sound records pass, and each kind of planted fault is found and named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import otf2
import pytest
from hypothesis import given, settings
from ledgers import NEVER, Job, ledger, ledgers, machine, never_started
from tables import table_rows

from traces.checks.ledger import InvariantError, check_ledger, core_bars
from traces.exporters.otf2.checks import check_nesting
from traces.ledger import JobRecords, Ledger, TaskRecords

SOUND = [
    Job(11, 0, 0, 10, [(0, 2)], [(0, 0, 0, 4), (1, 1, 0, 10), (0, 2, 5, 9)]),
    Job(22, 3, 10, 12, [(1, 3)], [(1, 0, 10, 12), (2, 1, 10, 11)]),
]


def with_job(row: int, **changes: object) -> Ledger:
    jobs = list(SOUND)
    jobs[row] = replace(jobs[row], **changes)  # type: ignore[arg-type]
    return ledger(machine(2, 2), jobs)


def with_columns(jobs: dict[str, object] | None = None, tasks: dict[str, object] | None = None) -> Ledger:
    of = ledger(machine(2, 2), SOUND)
    assert of.tasks is not None
    changed_jobs: JobRecords = replace(of.jobs, **(jobs or {}))  # type: ignore[arg-type]
    changed_tasks: TaskRecords = replace(of.tasks, **(tasks or {}))  # type: ignore[arg-type]
    return Ledger(of.machine, changed_jobs, changed_tasks)


@settings(max_examples=200, deadline=None)
@given(ledgers())
def test_sound_ledgers_pass(of: Ledger) -> None:
    check_ledger(of)


def test_a_job_of_no_length_before_another_at_one_instant_is_sound() -> None:
    """The later row ran first: it came and went at the instant at which the other started."""
    of = ledger(machine(1), [Job(1, 0, 5, 9, [(0, 1)]), Job(2, 0, 5, 5, [(0, 1)])])
    check_ledger(of)
    assert core_bars(of).job.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (lambda: with_job(1, submit=11), "job 22 starts before its submission: submitted 11, eligible 11, started 10"),
        (lambda: with_job(1, end=9), "job 22 ends before it starts"),
        (lambda: with_job(1, start=9, end=12), r"core 1 is held by jobs 11 and 22 at 9 ns"),
        (lambda: with_job(1, held=[(2, 3), (1, 2)]), "job 22: its intervals of cores are not ascending"),
        (lambda: with_job(1, held=[(1, 3), (2, 3)]), "job 22: its intervals of cores are not ascending"),
        (lambda: with_job(1, held=[(1, 5)]), r"job 22 holds cores \[1, 5\); the machine has cores 0 to 3"),
        (lambda: with_columns({"held_cores": np.array([2, 3])}), "job 22 holds 2 cores; it says 3"),
        (lambda: with_columns({"cores": np.array([2, 3])}), "job 22 holds 2 cores; it asks for 3"),
        (lambda: with_columns({"tasks": np.array([3, 4])}), "job 22 has 2 rows of tasks that ran; it computed 4 tasks"),
        (lambda: with_columns({"allocation_first": np.array([0, 2, 1])}), "jobs.allocation: the bounds"),
        (lambda: with_columns(None, {"first": np.array([0, 3, 4])}), "tasks: the bounds"),
        (
            lambda: with_job(1, tasks=[(1, 0, 10, 12), (9, 1, 10, 11)]),
            "job 22, task 1: core 9; the machine has cores 0 to 3",
        ),
        (
            lambda: with_job(1, tasks=[(1, 0, 10, 12), (3, 1, 10, 11)]),
            "job 22, task 1 runs on a core that its job does not hold, or does not use: core 3",
        ),
        (
            lambda: with_job(1, asked=1),
            "job 22, task 1 runs on a core that its job does not hold, or does not use: core 2",
        ),
        (
            lambda: with_job(1, tasks=[(1, 0, 9, 12), (2, 1, 10, 11)]),
            "job 22, task 0 starts before its job: core 1, 9 to 12 ns",
        ),
        (lambda: with_job(1, tasks=[(1, 0, 10, 13)]), "job 22, task 0 ends after its job"),
        (lambda: with_job(1, tasks=[(1, 0, 12, 10)]), "job 22, task 0 ends before it starts"),
        (
            lambda: with_job(1, tasks=[(1, 0, 10, 12), (1, 1, 11, 12)]),
            "core 1 does two things at 11 ns: job 22 task 0 and job 22 task 1",
        ),
    ],
)
def test_planted_faults_are_named(fault: Callable[[], Ledger], message: str) -> None:
    with pytest.raises(InvariantError, match=message):
        check_ledger(fault())


CUT = [
    Job(11, 0, 0, 10, [(0, 2)], [(0, 0, 0, 4), (1, 1, 0, 10), (0, 2, 5, 9)]),
    never_started(22, 3, asked=9),
    # Of its four tasks the second was cut, and the others behind it never ran.
    Job(33, 4, 10, 12, [(1, 3)], [(1, 0, 10, 11), (2, 1, 11, 12), NEVER, NEVER], state="requeued", eligible=5),
    Job(33, 4, 13, 20, [(0, 4)], [(0, 0, 13, 20), (1, 1, 13, 15)], 2, 1, "backfill", eligible=12),
]


def cut(row: int, **changes: object) -> Ledger:
    jobs = list(CUT)
    jobs[row] = replace(jobs[row], **changes)  # type: ignore[arg-type]
    return ledger(machine(2, 2), jobs)


def test_jobs_that_never_started_were_cut_and_tried_again_are_sound() -> None:
    check_ledger(ledger(machine(2, 2), CUT))
    check_ledger(ledger(machine(2, 2), CUT, with_tasks=False))
    check_ledger(ledger(machine(1), [never_started(1, 3)]))


def test_what_never_ran_is_no_bar() -> None:
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


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (lambda: cut(1, start=4, end=4), "job 22 started, or did not, otherwise than it says"),
        (lambda: cut(1, end=4), "job 22 never started, but has left something"),
        (lambda: cut(1, start=-2), "job 22 never started, but has left something"),
        (lambda: cut(1, held=[(3, 4)]), "job 22 never started, but has left something"),
        (lambda: cut(1, tasks=[(0, 0, 20, 21)]), "job 22 never started, but has left something: .* 1 tasks"),
        (lambda: cut(1, state="killed"), "job 22 never started, but was not cancelled: .*, state killed"),
        (lambda: cut(1, why="head"), "job 22 started, or did not, otherwise than it says: .*, why head"),
        (lambda: cut(0, why="never"), "job 11 started, or did not, otherwise than it says"),
        (lambda: cut(2, eligible=3), "job 33 is eligible before its submission or its begin: submitted 4, eligible 3"),
        (lambda: cut(2, eligible=11), "job 33 starts before it is eligible: submitted 4, eligible 11, started 10"),
        (lambda: cut(3, attempt=0), "job 33: attempt 0 does not follow on the attempt before it"),
        (lambda: cut(3, attempt=2), "job 33: attempt 2 does not follow on the attempt before it"),
        (lambda: cut(0, attempt=1), "job 11: attempt 1 has no attempt before it"),
        (lambda: cut(3, number=44), "job 44: attempt 1 has no attempt before it"),
        (lambda: cut(2, state="failed"), "job 33: attempt 0 was not requeued, but an attempt follows"),
        (lambda: cut(0, state="requeued"), "job 11: attempt 0 was requeued, but no attempt follows"),
        (lambda: cut(3, eligible=13), "job 33: attempt 1 does not wait from the end of the attempt before it"),
        (lambda: ledger(machine(4), [*CUT[:2], CUT[3], CUT[2]]), "job 33: attempt 1 stands before an earlier attempt"),
        (lambda: ledger(machine(4), CUT[::-1]), "job 33: attempt 1 stands before an earlier attempt"),
        (lambda: ledger(machine(4), [*CUT[1:], CUT[0]]), "job 11: attempt 0 stands behind later attempts"),
        (lambda: cut(0, tasks=[(0, 0, 0, 4), NEVER]), "job 11 completed, but 1 tasks never ran"),
        (
            lambda: cut(2, tasks=[(1, 0, 10, 11), (2, 1, 11, 12), (-1, 0, -1, -1)]),
            "job 33, task 2: core -1; the machine has cores 0 to 3",
        ),
        (
            lambda: cut(2, tasks=[(1, 0, 10, 11), (2, 1, 11, 13)]),
            "job 33, task 1 ends after its job: core 2, 11 to 13 ns",
        ),
        (lambda: with_columns({"why": np.array([0, 5])}), "job 22 has why 5; allowed: the place of one of head, "),
        (lambda: with_columns({"state": np.array([-1, 0])}), "job 11 has state -1; allowed: .* completed, killed, "),
    ],
)
def test_planted_faults_of_jobs_that_were_cut_are_named(fault: Callable[[], Ledger], message: str) -> None:
    with pytest.raises(InvariantError, match=message):
        check_ledger(fault())


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
