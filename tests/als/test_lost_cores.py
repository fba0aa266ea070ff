"""Cores that come late, are lost, and return: small cases by hand. Where they are searched for: test_engine_reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from applications import ran
from reference.application import Ran

from als.application import Application
from als.application_faults import lost_error
from als.engine.injected_changes import MOST_FRUITLESS
from als.engine.state import FRUITLESS
from als.techniques import TECHNIQUES, Technique, technique_kernel
from als.techniques.contract import FIRST
from traces.base.errors import InputError

SS, STATIC, GSS, STEAL = (TECHNIQUES[name] for name in ("ss", "static", "gss", "static-steal"))
TEN = 1e-8  # GFLOP: ten nanoseconds at 1 GFLOP/s


def cores(application: Application) -> list[int]:
    return [int(core) for core in application.state.core]


def starts(application: Application) -> list[int]:
    return [int(start) for start in application.state.start_ns]


def test_what_a_lost_core_had_not_finished_is_done_again_lowest_first() -> None:
    """Core 0 has tasks 0-2 and is lost at 15, within task 1: at 20 core 1, which has done 3 and 4, begins with task 1."""
    application = Application([TEN] * 6, [1.0, 1.0], GSS)  # chunks of 3, 2 and 1
    application.advance(15)
    application.set_speed(0.0, 0)
    assert application.advance()
    assert cores(application) == [0, 1, 1, 1, 1, 1]
    assert starts(application) == [0, 20, 30, 0, 10, 40]
    state = application.state
    assert state.finish_ns.tolist() == [15, 50]
    assert state.busy_ns.tolist() == [15, 50]  # the five that were in vain are work, too


def test_a_task_that_is_cut_is_redone_whole() -> None:
    """Nine tenths of it were done: they are lost."""
    application = Application([TEN, TEN], [1.0, 1.0], SS)
    application.advance(9)
    application.set_speed(0.0, 0)
    assert application.advance()
    assert ran(application).tasks == [Ran(2, 1, 10, 20), Ran(1, 1, 0, 10)]


def test_a_task_that_ends_as_its_core_is_lost_is_done() -> None:
    application = Application([TEN, TEN], [1.0, 1.0], SS)
    application.advance(10)
    application.set_speed(0.0, 0)
    assert application.advance()
    assert ran(application).tasks == [Ran(0, 0, 0, 10), Ran(1, 1, 0, 10)]
    assert application.chunks == 2


def test_a_core_that_waits_for_its_answer_has_done_nothing() -> None:
    """Lost at 4, before the overhead of 5 is over: its chunk was given, and is given again."""
    application = Application([TEN, TEN], [1.0, 1.0], SS, overhead_ns=5)
    application.advance(4)
    application.set_speed(0.0, 0)
    assert application.advance()
    assert starts(application) == [20, 5]
    assert application.state.busy_ns.tolist() == [0, 20]
    assert application.state.finish_ns.tolist() == [0, 30]
    assert application.chunks == 3


def test_a_lost_core_returns_with_nothing_in_its_hands() -> None:
    """Core 0 loses task 0 at 5 and returns at 7: task 0 is the lowest that nobody has."""
    application = Application([TEN] * 4, [1.0, 1.0], SS)
    application.advance(5)
    application.set_speed(0.0, 0)
    application.advance(7)
    application.set_speed(2.0, 0)
    assert application.advance()
    assert ran(application).tasks == [Ran(2, 0, 7, 12), Ran(1, 1, 0, 10), Ran(3, 1, 10, 20), Ran(4, 0, 12, 17)]


def test_a_core_that_is_late_asks_when_it_comes() -> None:
    application = Application([TEN] * 5, [1.0, 0.0], SS)
    application.advance(13)
    application.set_speed(1.0, 1)
    assert application.advance()
    assert cores(application) == [0, 0, 1, 0, 1]
    assert starts(application) == [0, 10, 13, 20, 23]


def test_one_that_is_late_for_its_block_finds_it_taken() -> None:
    """STATIC keeps core 2's block of two as long as others work. At 20 both are idle, nobody knows when it comes, and of the
    two tasks each gets one."""
    application = Application([TEN] * 6, [1.0, 1.0, 0.0], STATIC)
    application.advance(25)
    application.set_speed(1.0, 2)
    assert application.advance()
    assert cores(application) == [0, 0, 1, 1, 0, 1]
    assert application.end_ns == 30


def test_one_that_comes_in_time_gets_its_block() -> None:
    application = Application([TEN] * 6, [1.0, 1.0, 0.0], STATIC)
    application.advance(15)
    application.set_speed(1.0, 2)
    assert application.advance()
    assert cores(application) == [0, 0, 1, 1, 2, 2]
    assert starts(application)[4] == 15


def test_the_idle_share_what_a_lost_core_had() -> None:
    """STATIC on three cores; core 2 has five times as much as the others, and is lost at 40: the others, idle since 20, get
    ⌈4/2⌉ and then what is left, though STATIC has nothing more for them."""
    application = Application([TEN] * 4 + [4 * TEN] + [TEN], [1.0, 1.0, 1.0], STATIC)
    application.advance(39)
    application.set_speed(0.0, 2)
    assert application.advance()
    assert ran(application).tasks[4:] == [Ran(3, 0, 39, 79), Ran(4, 1, 39, 49)]
    assert application.state.finish_ns.tolist() == [79, 49, 39]


def test_a_technique_that_chooses_its_tasks_is_not_asked_about_those() -> None:
    """Core 0's lists are 0-3, core 1's 4-7. Core 0 is lost at 15: task 1, which it had, is handed out first, and then its
    list is stolen from, to the last."""
    application = Application([TEN] * 8, [1.0, 1.0], STEAL)
    application.advance(15)
    application.set_speed(0.0, 0)
    assert application.advance()
    assert cores(application) == [0] + [1] * 7
    assert starts(application) == [0, 20, 60, 50, 0, 10, 30, 40]


def test_a_serial_part_whose_core_is_lost_begins_again_on_another() -> None:
    application = Application([TEN, TEN, TEN], [1.0, 1.0], phases=[None, SS], part_tasks=[1, 2])
    application.advance(6)
    application.set_speed(0.0, 0)
    assert application.advance()
    assert cores(application) == [1, 1, 1]
    assert starts(application) == [6, 16, 26]


def test_the_first_core_that_is_there_computes_the_serial_part() -> None:
    application = Application([TEN, TEN], [0.0, 1.0, 1.0], phases=[None, SS], part_tasks=[1, 1])
    application.advance(5)
    application.set_speed(1.0, 0)
    assert application.advance()
    assert cores(application) == [1, 0]
    assert starts(application) == [0, 10]


def test_the_barrier_waits_for_one_whose_last_message_is_lost() -> None:
    """Core 1 has ended task 1 at 210 and told nobody when it is lost, at 250. The master knows then: part 2 begins."""
    application = Application(
        [15 * TEN, TEN, TEN, TEN], [1.0, 1.0], phases=[SS], part_tasks=[2, 2], latency_ns=[0, 100]
    )
    application.advance(250)
    application.set_speed(0.0, 1)
    assert application.advance()
    assert cores(application) == [0, 1, 0, 0]
    assert starts(application) == [0, 200, 250, 260]


def test_a_core_that_comes_before_the_barrier_waits_for_it() -> None:
    """Core 1 is sent away at 310 and knows at 410: then part 2 begins, for core 2, which comes at 350, too."""
    application = Application(
        [15 * TEN, TEN, TEN, TEN], [1.0, 1.0, 0.0], phases=[SS], part_tasks=[2, 2], latency_ns=[0, 100, 0]
    )
    application.advance(350)
    application.set_speed(1.0, 2)
    assert application.advance()
    assert cores(application) == [0, 1, 0, 2]
    assert starts(application) == [0, 200, 410, 410]


def test_all_that_happens_at_an_instant_happens_before_anybody_asks() -> None:
    """Core 0, which was to compute the serial part, is lost before it began; core 2 comes at that instant and asks first of
    all, whether the engine was advanced in between or not."""
    for advanced in (False, True):
        application = Application([TEN] * 3, [1.0, 1.0, 0.0], phases=[None, SS], part_tasks=[1, 2])
        application.set_speed(0.0, 0)
        if advanced:
            application.advance(0)
        application.set_speed(1.0, 2)
        assert application.advance()
        assert cores(application) == [2, 1, 2]


def test_nobody_is_there_for_a_while() -> None:
    application = Application([TEN] * 3, [1.0], SS)
    application.advance(15)
    application.set_speed(0.0)
    assert not application.advance(1000)
    application.set_speed(1.0)
    assert application.advance()
    assert starts(application) == [0, 1000, 1010]


def test_nobody_is_there_and_nobody_comes() -> None:
    application = Application([TEN] * 3, [1.0], SS)
    application.advance(15)
    application.set_speed(0.0)
    with pytest.raises(InputError, match="all cores are lost, with 2 tasks left"):
        application.advance()


def test_a_job_without_cores_can_be_stopped() -> None:
    application = Application([TEN] * 3, [1.0, 0.0], SS)
    application.advance(15)
    application.set_speed(0.0)
    assert not application.run_to_stop(40)
    assert (application.end_ns, application.ran) == (40, 1)
    assert ran(application).tasks == [Ran(0, 0, 0, 10), None, None]


def test_a_learning_technique_does_not_hear_of_a_chunk_that_was_lost() -> None:
    """AWF-C: core 1 is lost with its first chunk of four and returns. When core 0 asks at 40, nine tasks are left; its weight
    is still 1, and not 4/3, as core 1 has finished nothing: it gets ⌈9/4⌉ = 3."""
    application = Application([TEN] * 16, [1.0, 0.5], TECHNIQUES["awf-c"])
    application.advance(5)
    application.set_speed(0.0, 1)
    application.advance(7)
    application.set_speed(0.5, 1)
    assert application.advance()
    assert np.bincount(application.state.chunk).tolist() == [4, 0, 3, 3, 2, 2, 2]
    assert cores(application) == [0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0]


def test_an_application_whose_cores_never_stay_for_a_task_ends_with_the_last_loss_of_many() -> None:
    """A task of 10 ns, and a core that is there for 5 ns at a time."""
    application = Application([TEN], [1.0], SS)
    application.state.counters[FRUITLESS] = MOST_FRUITLESS - 3  # so many times it was so
    for now in (5, 9):
        application.advance(now)
        application.set_speed(0.0, 0)
        application.set_speed(1.0, 0)
    application.advance(13)
    assert not application.finished
    application.set_speed(0.0, 0)
    assert (application.finished, application.lost, application.last_lost, application.end_ns) == (True, True, -1, 13)
    application.set_speed(1.0, 0)  # there is nothing more for it to do
    assert application.advance()
    said = "1 tasks are left, and cores are lost before any of them ends; allowed: cores that stay longer"
    assert str(lost_error(application)) == said


@pytest.mark.parametrize("technique", [STATIC, SS], ids=["within a chunk", "as a chunk"])
def test_a_task_that_ends_in_between_is_a_reason_to_go_on(technique: Technique) -> None:
    application = Application([TEN] * 3, [1.0], technique)
    application.state.counters[FRUITLESS] = MOST_FRUITLESS - 1
    application.advance(15)
    application.set_speed(0.0, 0)
    assert application.state.counters[FRUITLESS] == 1
    application.set_speed(1.0, 0)
    assert application.advance()
    assert starts(application) == [0, 15, 25]


def test_what_is_put_back_is_not_taken_for_what_a_rule_has_still_to_place() -> None:
    """Core 1 is lost with task 4 of its own: core 0 does that next, then its own, then what it can steal."""
    application = Application([TEN] * 8, [1.0, 1.0], STEAL)
    application.advance(5)
    application.set_speed(0.0, 1)
    assert application.advance()
    assert cores(application) == [0] * 8
    assert starts(application)[:5] == [0, 20, 30, 40, 10]
    assert sorted(starts(application)) == list(range(0, 80, 10))


@technique_kernel
def _own_half(
    n_tasks: int, n_cores: int, core: int, request: int, remaining: int, facts: Any, speed: Any, params: Any, memo: Any
) -> int:
    if memo[core] > 0.0:
        return 0
    memo[core] = 1.0
    facts[FIRST] = float(core * (n_tasks // n_cores))
    return n_tasks // n_cores


def test_what_a_rule_places_for_nobody_else_is_handed_out_all_the_same() -> None:
    """Each core has its half and steals nothing; core 1 never comes."""
    mine = Technique("halves", _own_half, memo_per_core=1, places=True)
    application = Application([TEN] * 6, [1.0, 0.0], mine)
    assert application.advance()
    assert starts(application) == [0, 10, 20, 30, 40, 50]
    assert application.chunks == 2
