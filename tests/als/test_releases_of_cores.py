"""Cores that an application releases, as it needs them no more: by hand, and against the slow reference."""

from __future__ import annotations

import numpy as np
import pytest
from applications import Scenario, driven, ran, scenarios, selections
from graph_scenarios import GraphScenario, graph_scenarios
from hypothesis import given, settings
from hypothesis import strategies as st

from als.application import Application
from als.engine.dag.parts import Edges, GraphPart
from als.engine.state import NEVER
from als.techniques import TECHNIQUES

SS, STATIC, GSS = (TECHNIQUES[name] for name in ("ss", "static", "gss"))
TEN = 1e-8  # GFLOP: ten nanoseconds at 1 GFLOP/s


def released(application: Application) -> list[int | None]:
    return [None if at == NEVER else at for at in application.released_ns.tolist()]


def run_out(application: Application) -> list[int | None]:
    assert application.advance()
    application.validate()
    return released(application)


def test_a_core_goes_when_it_hears_that_nothing_is_left() -> None:
    """Core 1 ends its task at 10, asks, and hears at once; core 0 works on until 30."""
    assert run_out(Application([3 * TEN, TEN], [1.0, 1.0], SS, releases=True)) == [None, 10]


def test_messages_take_their_time_first() -> None:
    """Asked at 10 + 2 + 2, arrived 2 later, heard 2 later."""
    assert run_out(Application([3 * TEN, TEN], [1.0, 1.0], SS, latency_ns=[2, 2], releases=True)) == [None, 18]


def test_what_would_come_after_the_end_is_no_release() -> None:
    assert run_out(Application([TEN, TEN], [1.0, 1.0], SS, releases=True)) == [None, None]
    assert run_out(Application([TEN + 1e-9, TEN], [1.0, 1.0], SS, latency_ns=[1, 1], releases=True)) == [None, None]


def test_a_core_without_work_goes_at_the_start() -> None:
    assert run_out(Application([TEN], [1.0, 1.0, 1.0], STATIC, start_ns=5, releases=True)) == [None, 5, 5]


def test_nothing_is_released_unless_asked_for() -> None:
    assert run_out(Application([3 * TEN, TEN], [1.0, 1.0], SS)) == [None, None]


def test_in_the_last_loop_only() -> None:
    """Both loops: core 1 waits at the barrier of the first, and goes in the second."""
    application = Application([3 * TEN, TEN, TEN], [1.0, 1.0], phases=[SS], part_tasks=[2, 1], releases=True)
    assert run_out(application) == [None, 30]


def test_behind_the_last_loop_a_serial_part_needs_one_core() -> None:
    """Core 0 ends first, and stays for the serial part; core 2 goes in the loop."""
    lengths = [TEN, 4 * TEN, 2 * TEN, 3 * TEN]
    application = Application(lengths, [1.0, 1.0, 1.0], phases=[SS, None], part_tasks=[3, 1], releases=True)
    assert run_out(application) == [None, 40, 20]
    assert application.end_ns == 70


def test_all_but_one_go_where_all_parts_are_serial() -> None:
    application = Application([TEN, TEN], [1.0, 1.0, 1.0], phases=[None], part_tasks=[1, 1], releases=True)
    assert run_out(application) == [None, 0, 0]


def test_a_released_core_does_not_come_back_for_what_a_lost_one_puts_back() -> None:
    """At 15 core 0 is lost within its task; core 1 has gone at 10: the task waits until core 0 is there again, at 20."""
    application = Application([3 * TEN, TEN], [1.0, 1.0], SS, releases=True)
    application.advance(15)
    application.set_speed(0.0, 0)
    application.advance(17)
    application.set_speed(5.0, 1)  # which is not the job's any more
    application.advance(20)
    application.validate()
    application.set_speed(1.0, 0)
    assert run_out(application) == [None, 10]
    assert application.end_ns == 50
    assert application.state.core.tolist() == [0, 1]


@pytest.mark.parametrize("name", sorted(TECHNIQUES))
def test_while_a_core_is_absent_those_that_are_there_are_kept_for_its_tasks(name: str) -> None:
    """Absent from the start, late, or lost in an earlier loop: all is done as without releases."""
    rule = TECHNIQUES[name]
    for late in (None, 1000):
        ends = []
        for releases in (False, True):
            application = Application([TEN] * 4, [1.0, 0.0, 1.0], rule, releases=releases)
            if late is not None:
                application.advance(late)
                application.set_speed(1.0, 1)
            assert application.advance()
            application.validate()
            ends.append((application.end_ns, application.state.core.tolist(), application.state.end_ns.tolist()))
        assert ends[0] == ends[1]
    ends = []
    for releases in (False, True):
        application = Application([TEN] * 4, [1.0, 1.0], phases=[rule], part_tasks=[2, 2], releases=releases)
        application.advance(5)
        application.set_speed(0.0, 1)
        assert application.advance()
        ends.append((application.end_ns, application.state.core.tolist(), application.state.end_ns.tolist()))
    assert ends[0] == ends[1]


def test_what_is_put_back_is_for_those_that_are_there() -> None:
    """Static over three cores, of which core 1 goes at 10 and core 0 is lost at 15, in its second task: core 2 does that."""
    application = Application([TEN, TEN, TEN, 3 * TEN], [1.0, 1.0, 1.0], phases=[STATIC], releases=True)
    application.advance(15)
    application.set_speed(0.0, 0)
    assert application.advance()
    assert released(application) == [None, 10, None]
    assert application.state.core.tolist() == [0, 2, 1, 2]
    assert application.end_ns == 40


@settings(max_examples=200)
@given(case=scenarios(names=st.sampled_from(tuple(TECHNIQUES)) | selections()), pauses=st.lists(st.integers(0, 150)))
def test_as_the_slow_reference(case: Scenario, pauses: list[int]) -> None:
    expected = case.expected(releases=True)
    application = case.application(releases=True)
    ended = driven(application, case.start, case.changes, case.stop, pauses)
    if isinstance(expected, str):
        assert ended == expected
        return
    assert ended == ""
    application.validate()
    assert ran(application) == expected
    assert released(application) == expected.released


@settings(max_examples=200)
@given(case=scenarios(lost=False))
def test_where_no_core_is_lost_the_job_does_what_it_does_without(case: Scenario) -> None:
    without = case.found()
    application = case.application(releases=True)
    if driven(application, case.start, case.changes, case.stop) == "":
        assert ran(application) == without
    else:
        assert isinstance(without, str)


@settings(max_examples=150)
@given(case=graph_scenarios(lost=False))
def test_a_graph_does_what_it_does_without(case: GraphScenario) -> None:
    without, application = case.application(), case.application(releases=True)
    ended = [driven(one, case.start, case.changes, case.stop) for one in (without, application)]
    assert ended[0] == ended[1]
    if ended[0] == "":
        application.validate()
        assert ran(application) == ran(without)
        never_used_again(application)


@settings(max_examples=150)
@given(case=graph_scenarios())
def test_no_core_of_a_graph_is_used_after_its_release(case: GraphScenario) -> None:
    application = case.application(releases=True)
    if driven(application, case.start, case.changes, case.stop) == "":
        application.validate()
        never_used_again(application)
        if case.stop is None:
            assert (application.state.end_ns >= 0).all()


def never_used_again(application: Application) -> None:
    """No task runs on a core that was released, and the last to work is none of them."""
    state, at = application.state, application.released_ns
    ran_at_all = state.core >= 0
    place = np.searchsorted(np.sort(state.core_number), state.core[ran_at_all])
    assert (state.end_ns[ran_at_all] <= at[np.argsort(state.core_number)[place]]).all()
    assert (state.finish_ns <= at).all()
    assert (at == NEVER).any()


def test_in_a_graph_a_core_goes_with_the_last_task_handed_out() -> None:
    """Task 0, then 1 and 2, then 3: core 1 has nothing to do from 30 on, when core 0 begins with task 3."""
    edges = Edges(np.array([0, 4]), np.array([0, 0, 1, 2]), np.array([1, 2, 3, 3]), np.zeros(4))
    application = Application([TEN, 2 * TEN, TEN, TEN], [1.0, 1.0], phases=[GraphPart(SS)], edges=edges, releases=True)
    assert run_out(application) == [None, 30]


@pytest.mark.parametrize("name", ["heft", "peft", "min-min", "critical-path"])
def test_under_a_planner_a_core_goes_behind_its_own_last_task(name: str) -> None:
    from als.planners import planner

    application = Application([4 * TEN, TEN], [1.0, 1.0], phases=[planner(name)], releases=True)
    at = run_out(application)
    assert sorted(at, key=lambda one: one is None) == [10, None]
    assert application.end_ns == 40


def test_a_stopped_job_has_released_what_it_had_released_before() -> None:
    application = Application([3 * TEN, TEN], [1.0, 1.0], SS, releases=True)
    assert not application.run_to_stop(20)
    assert released(application) == [None, 10]
    assert application.state.finish_ns.tolist() == [20, 10]
