"""A job with a stop: it has completed if its last task ends at the stop or before, and is cut otherwise."""

from __future__ import annotations

import pytest
from applications import KNOWN, Case, cases, ran
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.application import Ran, Run

from als.application import Application
from als.engine import loop as engine
from als.engine.status import ApplicationStatus
from als.techniques import TECHNIQUES
from traces.base.errors import InputError
from traces.base.time import MAX_NS

#: An instant, a core and its speed from then on.
Change = tuple[int, int, float]


def near(draw: st.DrawFn, run: Run, start: int) -> int:
    """A stop: anywhere, or within a nanosecond of an instant at which something begins or ends."""
    moments = {start, *run.finish}
    moments |= {moment for task in run.tasks if task is not None for moment in (task.start, task.end)}
    at = draw(st.sampled_from(sorted(moments))) + draw(st.integers(-1, 1))
    return max(start, draw(st.integers(start, start + 150)) if draw(st.booleans()) else at)


@st.composite
def stopped(draw: st.DrawFn) -> tuple[Case, list[Change], int]:
    case = draw(cases())
    instants = st.integers(0, 120).map(lambda later: case.start + later)
    of_change = st.tuples(instants, st.integers(0, len(case.speeds) - 1), st.sampled_from((0.1, 0.5, 1.0, 2.0, 3.3)))
    changes = sorted(draw(st.lists(of_change, max_size=6)), key=lambda change: change[0])
    return case, changes, near(draw, case.expected(changes), case.start)


def check(application: Application, completed: bool, natural: Run, expected: Run, stop: int) -> None:
    assert completed == (natural.end <= stop)
    assert expected == natural or not completed
    assert application.finished
    assert application.stopped == (not completed)
    assert application.end_ns == (natural.end if completed else stop)
    assert application.state.finish_ns.tolist() == expected.finish
    assert application.chunks == expected.chunks
    assert application.ran == sum(task is not None for task in expected.tasks)


@settings(max_examples=1200)
@given(scenario=stopped(), keep_tasks=st.booleans(), changed_at_the_stop=st.booleans())
def test_a_job_completes_if_it_would_end_at_the_stop_or_before(
    scenario: tuple[Case, list[Change], int], keep_tasks: bool, changed_at_the_stop: bool
) -> None:
    case, changes, stop = scenario
    application = case.application(keep_tasks=keep_tasks)
    for at, core, speed in changes:
        # What changes at the stop comes too late, told or not.
        if at < stop or (at == stop and changed_at_the_stop):
            application.advance(at)
            application.set_speed(speed, core)
    completed = application.run_to_stop(stop)
    expected = case.expected(changes, stop)
    check(application, completed, case.expected(changes), expected, stop)
    if keep_tasks:
        assert ran(application) == expected
        never = [task is None for task in expected.tasks]
        for column in (application.state.core, application.state.chunk):
            assert [value == -1 for value in column.tolist()] == never


@settings(max_examples=300)
@given(scenario=stopped(), pauses=st.lists(st.integers(0, 150), max_size=3))
def test_to_advance_and_to_stop_is_the_same(scenario: tuple[Case, list[Change], int], pauses: list[int]) -> None:
    case, _, stop = scenario
    by_hand, at_once = case.application(), case.application()
    for pause in sorted(pauses):
        by_hand.advance(min(case.start + pause, stop))
    by_hand.advance(stop)
    by_hand.stop()
    at_once.run_to_stop(stop)
    assert ran(by_hand) == ran(at_once)
    assert (by_hand.stopped, by_hand.ran) == (at_once.stopped, at_once.ran)


def test_the_last_task_ends_at_the_stop() -> None:
    """Tasks of 3 and 4 ns on two cores: at 4 ns the job is complete; at 3 ns the second task is cut."""
    complete, cut, late = (Application([3e-9, 4e-9], [1.0, 1.0], TECHNIQUES["ss"]) for _ in range(3))
    assert complete.run_to_stop(4)
    assert (complete.end_ns, complete.stopped, complete.ran) == (4, False, 2)
    assert not cut.run_to_stop(3)
    assert ran(cut).tasks == [Ran(0, 0, 0, 3), Ran(1, 1, 0, 3)]
    assert (cut.end_ns, cut.stopped, cut.ran) == (3, True, 2)
    assert late.run_to_stop(5)
    assert ran(late) == ran(complete)


def test_a_core_that_asks_at_the_stop_gets_nothing() -> None:
    """Nothing runs any more at 3 ns, but the second task was not begun: the job has not completed."""
    application = Application([3e-9, 4e-9], [1.0], TECHNIQUES["ss"])
    assert not application.run_to_stop(3)
    assert ran(application).tasks == [Ran(0, 0, 0, 3), None]
    assert (application.end_ns, application.chunks, application.ran) == (3, 1, 1)


@pytest.mark.parametrize(("stop", "begun"), [(4, 0), (5, 0), (6, 1)])
def test_a_stop_within_the_overhead(stop: int, begun: int) -> None:
    """The core pays 5 ns before its chunk of two: a stop up to then leaves no task begun, though one chunk assigned."""
    application = Application([2e-9, 2e-9], [1.0], TECHNIQUES["static"], overhead_ns=5)
    assert not application.run_to_stop(stop)
    assert ran(application).tasks == [Ran(0, 0, 5, stop) if begun else None, None]
    assert (application.end_ns, application.chunks, application.ran) == (stop, 1, begun)


@pytest.mark.parametrize("technique", KNOWN)
@pytest.mark.parametrize("overhead", [0, 3])
def test_a_stop_at_the_start(technique: str, overhead: int) -> None:
    application = Application([1.0] * 5, [1.0] * 2, TECHNIQUES[technique], start_ns=7, overhead_ns=overhead)
    assert not application.run_to_stop(7)
    assert (application.end_ns, application.chunks, application.ran) == (7, 0, 0)
    assert ran(application).tasks == [None] * 5


def test_a_task_whose_speed_changes_at_the_stop_has_run() -> None:
    """Without records, too, where its beginning is not written down."""
    for keep_tasks in (True, False):
        application = Application([9e-9, 9e-9, 9e-9], [1.0], TECHNIQUES["static"], keep_tasks=keep_tasks)
        for at in (2, 4, 9, 13):
            application.advance(at)
            application.set_speed(1.0)
        assert not application.run_to_stop(13)
        assert application.ran == 2


def test_a_stop_in_the_past_is_an_error_until_the_end() -> None:
    application = Application([9e-9], [1.0], TECHNIQUES["ss"])
    application.advance(5)
    with pytest.raises(InputError) as caught:
        application.run_to_stop(4)
    assert str(caught.value) == "stop_ns: 4; allowed: from now, 5, on"
    assert application.run_to_stop(MAX_NS)
    assert application.run_to_stop(4)  # it has long ended
    assert application.end_ns == 9


def test_without_a_stop_the_kernel_runs_to_the_end() -> None:
    application = Application([1.0] * 5, [1.0] * 2, TECHNIQUES["gss"])
    assert engine.run_until_stop(application.state, engine.NEVER) == ApplicationStatus.FINISHED
    assert application.ran == 5
    assert application.end_ns == 3 * 10**9
