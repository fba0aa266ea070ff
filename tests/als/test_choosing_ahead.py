"""Choosing among techniques by a simulation ahead: what was chosen, what it cost, and when it is chosen anew."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from applications import Scenario, ran, scenarios
from hypothesis import given, settings
from hypothesis import strategies as st

from als.application import Application
from als.chunk_sequence import chunk_sequence
from als.techniques import TECHNIQUES, Selection, Technique, technique, technique_kernel
from als.techniques.python_technique import Ask, PythonTechnique
from traces.base.errors import PluginError

NS = 1e-9  # GFLOP: one nanosecond at 1 GFLOP/s


def test_the_one_that_ends_first_runs() -> None:
    """Tasks of 9, 1, 1 and 1 ns: STATIC ends at 10, SS at 9."""
    application = Application([9 * NS, NS, NS, NS], [1.0, 1.0], technique("select:static,ss"))
    assert application.advance()
    assert application.end_ns == 9
    assert application.chosen == {"ss": 1}
    assert application.state.core.tolist() == [0, 1, 1, 1]
    assert application.ahead_chunks == 2 + 4  # of STATIC and of SS
    assert application.chunks == 4  # and these are only what ran


@pytest.mark.parametrize("names", ["static,ss", "ss,static"])
def test_of_equal_ones_it_is_the_first_named(names: str) -> None:
    application = Application([NS] * 4, [1.0, 1.0], technique(f"select:{names}"))
    assert application.advance()
    assert application.chosen == {names.split(",")[0]: 1}


def test_what_a_chunk_costs_is_seen() -> None:
    """Ten equal tasks on two cores: all are even, and SS is named first. At 5 ns a chunk STATIC pays least."""
    for overhead, best in ((0, "ss"), (5, "static")):
        application = Application([2 * NS] * 10, [1.0, 1.0], technique("select:ss,fac,static"), overhead_ns=overhead)
        assert application.advance()
        assert application.chosen == {best: 1}
    assert application.end_ns == 15
    assert application.scheduling_ns == 10  # the simulations ahead cost no simulated time


def test_speeds_are_those_of_the_moment() -> None:
    """With one core at a tenth of the speed STATIC would take ten times as long."""
    application = Application([NS] * 40, [1.0, 1.0], technique("select:static,ss"))
    application.set_speed(0.1, 1)
    assert application.advance()
    assert application.chosen == {"ss": 1}
    # What happens later is not known ahead: both end at 20 as the loop begins, and STATIC is the first.
    surprised = Application([NS] * 40, [1.0, 1.0], technique("select:static,ss"))
    surprised.advance(1)
    surprised.set_speed(0.1, 1)
    assert surprised.advance()
    assert surprised.chosen == {"static": 1}
    assert surprised.end_ns == 1 + 190


def test_chosen_anew_after_each_time() -> None:
    """SS is even with GSS, and first, whenever they are compared: at 0, 10, 20 and 30."""
    application = Application([NS] * 80, [1.0, 1.0], technique("select:ss,gss,every=10ns"))
    assert application.advance()
    assert application.end_ns == 40
    assert application.chosen == {"ss": 4}
    # Ahead SS takes a chunk for each task that is left; how many GSS needs for so many, GSS itself says.
    gss = sum(len(chunk_sequence(TECHNIQUES["gss"], left, 2)) for left in (80, 60, 40, 20))
    assert application.ahead_chunks == 80 + 60 + 40 + 20 + gss


def test_another_takes_what_is_left() -> None:
    """GSS is first: chunks of 32 and 16 tasks. At 16 core 1, now twenty times as slow, asks; GSS would give it 8 of the 16 that
    are left, which would take 160 ns. SS gives it one, and core 0, which has its 32 till then, the others."""
    choosing = Application([NS] * 64, [1.0, 1.0], technique("select:gss,ss,every=10ns"))
    alone = Application([NS] * 64, [1.0, 1.0], TECHNIQUES["gss"])
    for application in (choosing, alone):
        application.advance(16)
        application.set_speed(0.05, 1)
        assert application.advance()
    assert alone.end_ns == 16 + 160
    assert choosing.end_ns == 16 + 20 + 20  # its second task: core 0 comes at 32 and has done 14 more by 46
    assert choosing.chosen["gss"] >= 1
    assert choosing.chosen["ss"] >= 1
    assert np.bincount(choosing.state.chunk)[:4].tolist() == [32, 16, 1, 1]


def test_another_finds_what_a_stealing_one_left_behind_it() -> None:
    """Tasks of 2 ns in blocks 0-2, 3-5 and 6-7. At 1 ns core 1 is lost and core 0 as slow as a quarter. Core 2 does task 3,
    which was put back, from 2 to 4; then SS is chosen, and the first task that is left lies before that one."""
    application = Application([2 * NS] * 8, [1.0] * 3, technique("select:static-steal,ss,every=3ns"))
    application.advance(1)
    application.set_speed(0.0, 1)
    application.set_speed(0.25, 0)
    assert application.advance()
    assert application.chosen == {"static-steal": 1, "ss": 2}
    assert application.state.core.tolist() == [0, 2, 0, 2, 2, 2, 2, 2]
    assert application.state.start_ns.tolist() == [0, 4, 5, 2, 6, 8, 0, 10]
    assert application.end_ns == 5 + 8


def test_each_loop_chooses() -> None:
    """Two loops, in three time steps: the first of even tasks, where both are equal, the second of uneven ones."""
    choice = technique("select:static,ss")
    lengths = ([NS] * 4 + [9 * NS, NS, NS, NS]) * 3
    application = Application(lengths, [1.0, 1.0], phases=[choice, choice], part_tasks=[4] * 6)
    assert application.advance()
    assert application.chosen == {"static": 3, "ss": 3}
    assert application.end_ns == 3 * (2 + 9)


def test_a_learning_technique_goes_on_with_what_it_knows() -> None:
    """In the first step AWF is FAC, whose equal chunks are too much for core 1; from the second on AWF knows, and wins."""
    for names, in_the_first in (("fac,awf", "fac"), ("awf,fac", "awf")):
        choice = technique(f"select:{names}")
        application = Application([100 * NS] * 120, [1.0, 0.25], phases=[choice], part_tasks=[40, 40, 40])
        application.advance(1)
        assert application.chosen == {in_the_first: 1}
        assert application.advance()
        assert sum(application.chosen.values()) == 3
    assert application.chosen == {"awf": 3}


@settings(max_examples=40)
@given(
    scenario=scenarios(names=st.just("ss"), lost=False),
    names=st.lists(st.sampled_from(sorted(TECHNIQUES)), min_size=2, max_size=4, unique=True),
)
def test_it_is_as_good_as_the_best_where_nothing_changes(scenario: Scenario, names: list[str]) -> None:
    """One loop, and no surprises: the selection is its best candidate, in every record; its cost is all their chunks."""
    plain = replace(scenario, part_tasks=[len(scenario.lengths)], changes=(), stop=None)
    alone = []
    for name in names:
        application = replace(plain, phases=[name]).application()
        assert application.advance()
        alone.append(application)
    chooser = replace(plain, phases=[f"select:{','.join(names)}"]).application()
    assert chooser.advance()
    ends = [max(row.end for row in ran(one).tasks if row is not None) for one in alone]
    best = ends.index(min(ends))
    assert chooser.chosen == {names[best]: 1}
    assert ran(chooser).tasks == ran(alone[best]).tasks
    assert chooser.ahead_chunks == sum(one.chunks for one in alone)
    assert chooser.chunks == alone[best].chunks


class Growing:
    """Each chunk is one task more than the one before, over all time steps: it remembers."""

    def __init__(self) -> None:
        self.size = 0

    def chunk(self, ask: Ask) -> int:
        self.size += 1
        return min(self.size, ask.remaining)


def _sizes(application: Application) -> list[int]:
    assert application.advance()
    chunk = application.state.chunk
    return [int((chunk == k).sum()) for k in range(application.chunks)]


@pytest.mark.parametrize(("steps", "every_ns"), [(1, 0), (2, 0), (1, 30), (3, 7)])
def test_what_is_simulated_ahead_leaves_a_rule_in_python_alone(steps: int, every_ns: int) -> None:
    """It wins every time over one that takes a task for twenty times as long to hand out."""
    given = {"lengths_gflop": [NS * 4] * 40 * steps, "core_speed_gflops": [1.0, 1.0], "part_tasks": [40] * steps}
    alone = Application(phases=[PythonTechnique(Growing)], overhead_ns=50, **given)
    selection = Selection((PythonTechnique(Growing), TECHNIQUES["ss"]), every_ns)
    choosing = Application(phases=[selection], overhead_ns=50, **given)
    assert _sizes(choosing) == _sizes(alone)
    assert choosing.chosen["Growing"] >= steps
    assert choosing.end_ns == alone.end_ns


def test_a_candidate_at_fault_is_not_chosen_around() -> None:
    class Wrong:
        def chunk(self, ask: Ask) -> int:
            return 0

    application = Application([NS] * 9, [1.0, 1.0], Selection((TECHNIQUES["gss"], PythonTechnique(Wrong))))
    with pytest.raises(PluginError, match=r"^technique Wrong: chunk\(\) gave 0; allowed: 1 to 9, the tasks left$"):
        application.advance()


@technique_kernel
def _one_each(n_tasks: int, n_cores: int, core: int, request: int, remaining: int, memo: Any) -> int:
    return 1 if request < n_cores else 0


def test_nor_is_one_that_leaves_tasks() -> None:
    mine = Technique("mine", _one_each)
    application = Application([NS] * 9, [1.0, 1.0], Selection((mine, TECHNIQUES["gss"])))
    with pytest.raises(PluginError, match="technique mine sent every core away with tasks left, 7 of them"):
        application.advance()
