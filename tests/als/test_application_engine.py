"""The application engine by calls: arguments and calls that are refused, techniques at fault, and what no reference models."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from applications import ran
from reference.application import Ran

from als.application import Application
from als.application_faults import lost_error
from als.engine.dag.parts import GraphPart
from als.engine.injected_changes import MOST_FRUITLESS
from als.engine.state import FRUITLESS
from als.planners import planner
from als.planners.mapped import MAPPED
from als.techniques import TECHNIQUES, Selection, Technique, technique, technique_kernel
from als.techniques.contract import FIRST
from als.techniques.python_technique import Ask, PythonTechnique
from traces.base.errors import InputError, PluginError
from traces.base.time import MAX_NS
from traces.compiled import jit_enabled

SS, STATIC = TECHNIQUES["ss"], TECHNIQUES["static"]
NS, TEN = 1e-9, 1e-8  # GFLOP: one and ten nanoseconds at 1 GFLOP/s
INF, NAN = np.inf, np.nan

LENGTHS = "lengths_gflop: allowed: at least one number, all finite and above 0"
SPEEDS = "core_speed_gflops: allowed: at least one number, all finite and none below 0"
LATENCIES = "latency_ns: allowed: a number for each of 2 cores, 0 to 1000000000000"


def is_message(caught: pytest.ExceptionInfo[InputError], words: str) -> bool:
    """Whether the error says so; "…" at the end stands for any words."""
    return str(caught.value).startswith(words[:-1]) if words.endswith("…") else str(caught.value) == words


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        *(({"lengths_gflop": one}, LENGTHS) for one in ([], [[1.0]], [1.0, 0.0], [1.0, INF], [NAN, 1.0])),
        *(({"core_speed_gflops": one}, SPEEDS) for one in ([], [[1.0]], [1.0, -1.0], [1.0, INF], [1.0, NAN])),
        *(({"latency_ns": one}, LATENCIES) for one in ([0], [0, -1], [10**12 + 1, 0])),
        ({"start_ns": -1}, f"start_ns: -1 is out of range; allowed: 0 to {MAX_NS}"),
        ({"overhead_ns": MAX_NS + 1}, f"overhead_ns: {MAX_NS + 1} is out of range; allowed: 0 to {MAX_NS}"),
        ({"technique": None}, "technique: allowed: a technique, or phases…"),
        ({"phases": [SS]}, "technique: allowed: a technique, or phases…"),
        ({"technique": None, "phases": []}, "part_tasks: 1 parts; allowed: all 0 phases…"),
        ({"technique": None, "phases": [None]}, "part_tasks[0]: 2 is out of range; allowed: 1 to 1…"),
        ({"technique": None, "phases": [None, SS]}, "part_tasks: 1 parts; allowed: all 2 phases…"),
        ({"part_tasks": []}, "part_tasks: 0 parts…"),
        ({"part_tasks": [1]}, "part_tasks: 1 tasks; there are 2 lengths…"),
        ({"part_tasks": [0, 2]}, "part_tasks[0]: 0 is out of range…"),
        ({"technique": technique("wf:weights=1/1/1")}, "technique wf: its weights are for 3 cores, not 2…"),
        (
            {"technique": None, "phases": [SS, SS], "part_tasks": [1, 1], "wishes": [1]},
            "wishes: 1 numbers; allowed: one for each of 2 phases…",
        ),
        ({"wishes": [-1]}, "wishes[0]: -1…"),
    ],
)
def test_what_cannot_be_an_application(wrong: dict[str, Any], words: str) -> None:
    fit: dict[str, Any] = {"lengths_gflop": [1.0, 2.0], "core_speed_gflops": [1.0, 1.0], "technique": SS}
    assert Application(**fit).advance()
    with pytest.raises(InputError) as caught:
        Application(**(fit | wrong))
    assert is_message(caught, words)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda one: one.set_speed(-1.0), "speed_gflops: -1.0; allowed: finite, from 0 on"),
        (lambda one: one.set_speed(INF), "speed_gflops: inf; allowed: finite, from 0 on"),
        (lambda one: one.set_speed(1.0, 2), "core: 2; allowed: 0 to 1"),
        (lambda one: one.set_speed(1.0, -1), "core: -1; allowed: 0 to 1"),
        (lambda one: one.hint([2]), "core: 2; allowed: 0 to 1…"),
        (lambda one: one.hint([-1]), "core: -1…"),
        (lambda one: one.scale(0.0), "factor: 0.0 is out of range; allowed: 0.001 to 2…"),
        (lambda one: one.scale(2.1), "factor: 2.1 is out of range…"),
        (lambda one: one.scale(NAN), "factor: nan is out of range…"),
        (lambda one: one.scale(0.5, [2]), "core: 2; allowed: 0 to 1…"),
        (lambda one: one.scale(0.5, at_ns=3), "at_ns: 3; allowed: 5, or one ns before…"),
        (lambda one: one.scale(0.5, at_ns=6), "at_ns: 6; allowed: 5…"),
        (lambda one: one.run_to_stop(4), "stop_ns: 4; allowed: from now, 5, on"),
        (lambda one: one.resize([], [0, 1]), "taken: [0, 1]; allowed: some, not all, of [0, 1], none twice…"),
        (lambda one: one.resize([], [2]), "taken: [2]; allowed: some, not all, of [0, 1]…"),
        (lambda one: one.resize([], [0, 0]), "taken: [0, 0]; allowed: some…"),
        (lambda one: one.resize([(3, 1.0, 0)]), "given: 1 cores; allowed: 0, as max_cores is 2…"),
        (lambda one: one.resize([(3, -1.0, 0)]), "given: core 3: speed -1.0, latency 0; allowed: from 0 on…"),
    ],
)
def test_calls_that_are_refused(call: Callable[[Application], Any], message: str) -> None:
    application = Application([TEN] * 5, [1.0, 1.0], SS)
    application.advance(5)
    with pytest.raises(InputError) as caught:
        call(application)
    assert is_message(caught, message)
    assert application.run_to_stop(MAX_NS)
    assert application.run_to_stop(4)  # it ended long ago
    assert application.end_ns == 30


@pytest.mark.parametrize(
    ("work", "start", "overhead"),
    [(1e30, 0, 0), (1e30, MAX_NS - 1, 0), (1e30, MAX_NS, 0), (1e-9, MAX_NS, MAX_NS), (1e-9, MAX_NS - 1, 0)],
)
@pytest.mark.parametrize("keep_tasks", [False, True])
def test_the_end_of_time_is_an_error(work: float, start: int, overhead: int, keep_tasks: bool) -> None:
    application = Application([work] * 2, [1.0], STATIC, start_ns=start, overhead_ns=overhead, keep_tasks=keep_tasks)
    with pytest.raises(InputError, match=f"would not end before the last simulated instant, {MAX_NS} ns"):
        application.advance()


def test_what_is_just_within_the_limits() -> None:
    last = Application([1e-9], [1.0], SS, start_ns=MAX_NS - 2)
    assert last.advance()
    assert last.end_ns == MAX_NS - 1
    far = Application([1.0], [1.0], SS, latency_ns=[10**12])
    assert far.advance()
    assert far.end_ns == 2 * 10**12 + 10**9
    alone = Application([1.0], [1.0, 1.0], phases=[None])
    assert alone.advance()
    assert alone.end_ns == 10**9
    slow = Application([1.0], [1.0], SS)
    slow.advance(1)
    with pytest.raises(InputError, match=f"would not end before the last simulated instant, {MAX_NS} ns"):
        slow.set_speed(1e-12)


def test_records_call_cores_as_they_are_numbered_and_arguments_stay_as_they_are() -> None:
    lengths, speeds, numbers = np.array([1.0, 2.0]), np.array([1.0, 2.0]), np.array([70, 9])
    for given_array in (lengths, speeds, numbers):
        given_array.flags.writeable = False
    application = Application(lengths, speeds, SS, core_number=numbers)
    application.set_speed(5.0)  # of all cores
    assert application.length_gflop == 3.0
    assert application.advance()
    assert ran(application).tasks == [Ran(0, 70, 0, 200_000_000), Ran(1, 9, 0, 400_000_000)]
    assert speeds.tolist() == [1.0, 2.0]


# Techniques at fault, and techniques of Python.


@technique_kernel
def _below(n_tasks: int, n_cores: int, core: int, request: int, remaining: int, memo: Any) -> int:
    return -1


@technique_kernel
def _too_many(n_tasks: int, n_cores: int, core: int, request: int, remaining: int, memo: Any) -> int:
    return remaining + 1


@technique_kernel
def _one_each(n_tasks: int, n_cores: int, core: int, request: int, remaining: int, memo: Any) -> int:
    return 1 if request < n_cores else 0


@pytest.mark.parametrize(
    ("kernel", "fault"),
    [
        (_below, "gave a chunk of -1; allowed: 0 to the remaining tasks, 5"),
        (_too_many, "gave a chunk of 6; allowed: 0 to the remaining tasks, 5"),
        (_one_each, "sent every core away with tasks left, 3 of them"),
    ],
)
def test_an_impossible_answer_names_the_technique(kernel: Any, fault: str) -> None:
    mine = Technique("mine", kernel)
    application = Application([1.0] * 5, [1.0, 1.0], mine)
    for _ in range(2):  # and it stays at fault
        with pytest.raises(PluginError) as caught:
            application.advance()
        assert str(caught.value) == f"application technique mine {fault}"
    with pytest.raises(PluginError, match=f"technique mine {fault}"):  # nor is another chosen instead
        Application([1.0] * 5, [1.0, 1.0], Selection((mine, TECHNIQUES["gss"]))).advance()


def test_what_is_no_technique_is_refused() -> None:
    fault = pytest.raises(PluginError, match=r"technique plain: .* use technique_kernel")
    with fault if jit_enabled() else nullcontext():  # in a debugger everything is plain
        Application([1.0], [1.0], Technique("plain", lambda n, p, core, request, left, memo: 1))
    words = "technique plain: next_chunk takes 1 arguments; allowed: n_tasks, n_cores, core"
    with pytest.raises(InputError, match=words):
        Technique("plain", lambda *arguments: 1)


@technique_kernel
def _own_half(
    n_tasks: int, n_cores: int, core: int, request: int, remaining: int, facts: Any, speed: Any, params: Any, memo: Any
) -> int:
    if memo[core] > 0.0:
        return 0
    memo[core] = 1.0
    facts[FIRST] = float(core * (n_tasks // n_cores))
    return n_tasks // n_cores


def test_what_a_rule_places_for_an_absent_core_alone_is_handed_out_all_the_same() -> None:
    """Each core has its half and steals nothing; core 1 never comes."""
    mine = Technique("halves", _own_half, memo_per_core=1, places=True)
    application = Application([TEN] * 6, [1.0, 0.0], mine)
    assert application.advance()
    assert (application.state.start_ns.tolist(), application.chunks) == ([0, 10, 20, 30, 40, 50], 2)


class Growing:
    """Each chunk is one task more than the one before, over all time steps: it remembers."""

    def __init__(self) -> None:
        self.size = 0

    def chunk(self, ask: Ask) -> int:
        self.size += 1
        return min(self.size, ask.remaining)


@pytest.mark.parametrize(("steps", "every_ns"), [(1, 0), (2, 0), (1, 30), (3, 7)])
def test_what_is_simulated_ahead_leaves_a_rule_in_python_alone(steps: int, every_ns: int) -> None:
    """It wins every time over one that takes a task for twenty times as long to hand out."""
    given = {"lengths_gflop": [NS * 4] * 40 * steps, "core_speed_gflops": [1.0, 1.0], "part_tasks": [40] * steps}
    alone = Application(phases=[PythonTechnique(Growing)], overhead_ns=50, **given)
    choosing = Application(phases=[Selection((PythonTechnique(Growing), SS), every_ns)], overhead_ns=50, **given)
    assert alone.advance()
    assert choosing.advance()
    assert ran(choosing).tasks == ran(alone).tasks
    assert choosing.chosen["Growing"] >= steps


# Lost cores and widths.


def test_a_job_that_waits_for_a_core_that_never_comes_says_so() -> None:
    application = Application([TEN] * 3, [1.0], SS)
    application.advance(15)
    application.set_speed(0.0)
    assert not application.advance(1000)
    with pytest.raises(InputError, match="all cores are lost, with 2 tasks left"):
        application.advance()


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


@pytest.mark.parametrize("rule", [STATIC, SS], ids=["within a chunk", "as a chunk"])
def test_a_task_that_ends_in_between_is_a_reason_to_go_on(rule: Technique) -> None:
    application = Application([TEN] * 3, [1.0], rule)
    application.state.counters[FRUITLESS] = MOST_FRUITLESS - 1
    application.advance(15)
    application.set_speed(0.0, 0)
    assert application.state.counters[FRUITLESS] == 1
    application.set_speed(1.0, 0)
    assert application.advance()
    assert application.state.start_ns.tolist() == [0, 15, 25]


@pytest.mark.parametrize("by", [SS, GraphPart(SS), GraphPart(planner("heft"))], ids=["loop", "graph", "planned"])
def test_the_last_core_stays(by: Any) -> None:
    """Core 1 is to leave; core 0 is lost for good meanwhile."""
    application = Application([TEN] * 4, [1.0, 1.0], phases=[by])
    application.advance(6)
    application.resize(taken=[1])
    application.lose(0)
    application.validate()
    assert application.advance()
    assert application.state.core.tolist() == [1, 1, 1, 1]
    assert sorted(application.state.end_ns.tolist()) == [10, 20, 30, 40]


def test_scales_are_of_some_cores_and_of_those_that_come() -> None:
    """Core 1 runs at half its speed from 10 ns on; then all at a quarter, also the one that comes at 31 ns."""
    application = Application([TEN] * 8, [1.0, 1.0], SS, max_cores=3)
    application.advance(11)
    application.scale(0.5, [1], at_ns=10)
    application.advance(31)
    application.scale(0.25, at_ns=30)
    application.advance(31)
    assert application.resize([(2, 2.0, 0)]) == [2]
    assert application.advance()
    assert application.state.start_ns.tolist() == [0, 0, 10, 10, 20, 30, 30, 31]
    assert application.state.end_ns.tolist() == [10, 10, 20, 30, 30, 70, 70, 51]


def test_a_wish_is_known_just_after_the_part_would_have_begun() -> None:
    application = Application([TEN] * 8, [1.0, 1.0], phases=[STATIC] * 2, part_tasks=[4, 4], wishes=[2, 1])
    assert not application.advance(20)
    assert application.wishes == []
    assert not application.advance(21)
    assert application.wishes == [(20, 1)]


def test_tasks_that_have_places_have_no_other_width() -> None:
    application = Application([TEN] * 2, [1.0, 1.0], phases=[GraphPart(MAPPED, core=np.zeros(2, np.int64))])
    with pytest.raises(InputError, match="resize: a graph whose tasks have hosts or cores of their own, mapped"):
        application.resize(taken=[0])
