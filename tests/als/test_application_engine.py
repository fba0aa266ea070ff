"""The application engine without changes: the slow reference, suspending and resuming, cases by hand, faults."""

from __future__ import annotations

import math
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from applications import Case, cases, ran
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.application import Ran

from als.application import Application
from als.techniques import TECHNIQUES, Technique, technique, technique_kernel
from traces.base.errors import InputError, PluginError
from traces.base.time import MAX_NS
from traces.compiled import jit_enabled

SS = TECHNIQUES["ss"]


@settings(max_examples=1000)
@given(case=cases())
def test_as_the_slow_reference(case: Case) -> None:
    application, expected = case.application(), case.expected()
    assert application.advance()
    assert ran(application) == expected
    assert application.end_ns == expected.end == application.now_ns
    bare = case.application(keep_tasks=False)
    assert bare.advance()
    assert bare.state.finish_ns.tolist() == expected.finish
    assert (bare.chunks, bare.end_ns) == (expected.chunks, expected.end)


@settings(max_examples=600)
@given(case=cases(), steps=st.lists(st.integers(0, 60), max_size=12))
def test_suspending_at_any_instants_changes_nothing(case: Case, steps: list[int]) -> None:
    application, expected = case.application(), case.expected()
    until = case.start
    for step in steps:
        until += step
        finished = application.advance(until)
        # The last core's last request is an event too: it is simulated before the limit, or not yet.
        assert finished == (expected.end < until) == application.finished
        assert application.now_ns == (expected.end if finished else until)
        told = [task for task in ran(application).tasks if task is not None]
        assert told == expected.tasks[: len(told)]
        assert all(task in told for task in expected.tasks if task is not None and task.start < until)
    application.advance(case.start)  # back is nowhere
    assert application.advance()
    assert ran(application) == expected


def test_three_tasks_on_two_cores() -> None:
    """With lengths 1, 2 and 3 s, STATIC puts the first two on core 0 and is even; SS gives the last to core 0 at 1 s."""
    static = Application([1.0, 2.0, 3.0], [1.0, 1.0], TECHNIQUES["static"])
    assert static.advance()
    second = 10**9
    assert ran(static).tasks == [Ran(0, 0, 0, second), Ran(0, 0, second, 3 * second), Ran(1, 1, 0, 3 * second)]
    ss = Application([1.0, 2.0, 3.0], [1.0, 1.0], SS)
    assert ss.advance()
    assert ran(ss).tasks == [Ran(0, 0, 0, second), Ran(1, 1, 0, 2 * second), Ran(2, 0, second, 4 * second)]
    assert ran(ss).finish == [4 * second, 2 * second]
    assert ss.length_gflop == 6.0


def test_ties_go_to_the_lower_core() -> None:
    application = Application([2e-9] * 7, [1.0, 1.0, 1.0], SS)
    assert application.advance()
    assert application.state.core.tolist() == [0, 1, 2, 0, 1, 2, 0]


def test_the_overhead_is_paid_before_each_chunk() -> None:
    application = Application([1e-8] * 5, [1.0, 1.0], TECHNIQUES["gss"], overhead_ns=3)
    assert application.advance()
    # Chunks of 3, 1 and 1 tasks: core 0 runs from 3 on; core 1 asks at 0, 13 and 26.
    assert ran(application).tasks == [
        Ran(0, 0, 3, 13),
        Ran(0, 0, 13, 23),
        Ran(0, 0, 23, 33),
        Ran(1, 1, 3, 13),
        Ran(2, 1, 16, 26),
    ]
    assert application.state.finish_ns.tolist() == [33, 26]


def test_cores_that_get_nothing_finish_at_the_start() -> None:
    application = Application([1e-9], [1.0, 1.0, 1.0], TECHNIQUES["static"], start_ns=40)
    assert application.advance()
    assert application.state.finish_ns.tolist() == [41, 40, 40]


def test_durations_are_rounded_half_to_even_and_never_nothing() -> None:
    lengths = [0.5e-9, 1.5e-9, 2.5e-9, 1e-300, 0.4e-9]
    application = Application(lengths, [1.0], TECHNIQUES["static"])
    assert application.advance()
    assert (application.state.end_ns - application.state.start_ns).tolist() == [1, 2, 2, 1, 1]


def test_records_call_cores_as_they_are_told_and_arguments_stay_as_they_are() -> None:
    lengths, speeds, numbers = np.array([1.0, 2.0]), np.array([1.0, 2.0]), np.array([70, 9])
    for given_array in (lengths, speeds, numbers):
        given_array.flags.writeable = False
    application = Application(lengths, speeds, SS, core_number=numbers)
    application.set_speed(5.0)
    assert application.advance()
    assert application.state.core.tolist() == [70, 9]
    assert speeds.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lengths_gflop": []}, "lengths_gflop: allowed: at least one number, all finite and above 0"),
        ({"lengths_gflop": [1.0, 0.0]}, "lengths_gflop: allowed: at least one number, all finite and above 0"),
        ({"lengths_gflop": [np.inf]}, "lengths_gflop: allowed: at least one number, all finite and above 0"),
        (
            {"core_speed_gflops": [np.nan]},
            "core_speed_gflops: allowed: at least one number, all finite and none below 0",
        ),
        (
            {"core_speed_gflops": [[1.0]]},
            "core_speed_gflops: allowed: at least one number, all finite and none below 0",
        ),
        ({"start_ns": -1}, f"start_ns: -1 is out of range; allowed: 0 to {MAX_NS}"),
        ({"overhead_ns": MAX_NS + 1}, f"overhead_ns: {MAX_NS + 1} is out of range; allowed: 0 to {MAX_NS}"),
    ],
)
def test_arguments_that_cannot_be(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        Application(**{"lengths_gflop": [1.0], "core_speed_gflops": [1.0], "technique": SS, **changes})
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("work", "start", "overhead"),
    [(1e30, 0, 0), (1e30, MAX_NS - 1, 0), (1e30, MAX_NS, 0), (1e-9, MAX_NS, MAX_NS), (1e-9, MAX_NS - 1, 0)],
)
@pytest.mark.parametrize("keep_tasks", [False, True])
def test_the_end_of_time_is_an_error(work: float, start: int, overhead: int, keep_tasks: bool) -> None:
    application = Application(
        [work, work], [1.0], TECHNIQUES["static"], start_ns=start, overhead_ns=overhead, keep_tasks=keep_tasks
    )
    with pytest.raises(InputError, match=f"would not end before the last simulated instant, {MAX_NS} ns"):
        application.advance()


def test_the_last_instant_before_the_end_of_time_can_be_reached() -> None:
    application = Application([1e-9], [1.0], SS, start_ns=MAX_NS - 2)
    assert application.advance()
    assert application.end_ns == MAX_NS - 1


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
    application = Application([1.0] * 5, [1.0, 1.0], Technique("mine", kernel))
    with pytest.raises(PluginError) as caught:
        application.advance()
    assert str(caught.value) == f"application technique mine {fault}"
    with pytest.raises(PluginError, match=fault):  # and it stays at fault
        application.advance()


def test_a_technique_that_is_not_compiled_is_refused() -> None:
    fault = pytest.raises(PluginError, match=r"technique plain: .* use technique_kernel")
    with fault if jit_enabled() else nullcontext():  # in a debugger everything is plain
        Application([1.0], [1.0], Technique("plain", lambda n, p, core, request, left, memo: 1))


def test_a_technique_of_neither_form_is_refused() -> None:
    with pytest.raises(
        InputError, match="technique plain: next_chunk takes 1 arguments; allowed: n_tasks, n_cores, core"
    ):
        Technique("plain", lambda *arguments: 1)


def test_a_technique_may_send_some_cores_away() -> None:
    application = Application([1.0, 1.0], [1.0, 1.0, 1.0], Technique("mine", _one_each))
    assert application.advance()
    assert application.state.core.tolist() == [0, 1]


def test_a_memo_belongs_to_one_job() -> None:
    fac = TECHNIQUES["fac"]
    first, second = (Application([1.0] * n, [1.0, 1.0], fac) for n in (40, 6))
    first.advance(1)
    assert second.advance()
    assert first.advance()
    assert second.state.chunk.tolist() == [0, 0, 1, 1, 2, 3]
    assert np.bincount(first.state.chunk).tolist() == [10, 10, 5, 5, 3, 3, 1, 1, 1, 1]


INF, NAN = math.inf, math.nan


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"lengths_gflop": []}, "lengths_gflop: allowed: at least one number, all finite and above 0"),
        ({"lengths_gflop": [[1.0]]}, "lengths_gflop: "),
        ({"lengths_gflop": [1.0, 0.0]}, "lengths_gflop: "),
        ({"lengths_gflop": [1.0, INF]}, "lengths_gflop: "),
        ({"lengths_gflop": [NAN, 1.0]}, "lengths_gflop: "),
        ({"core_speed_gflops": []}, "core_speed_gflops: allowed: at least one number, all finite and none below 0"),
        ({"core_speed_gflops": [[1.0]]}, "core_speed_gflops: "),
        ({"core_speed_gflops": [1.0, -1.0]}, "core_speed_gflops: "),
        ({"core_speed_gflops": [1.0, INF]}, "core_speed_gflops: "),
        ({"core_speed_gflops": [1.0, NAN]}, "core_speed_gflops: "),
        ({"latency_ns": [0]}, "latency_ns: allowed: a number for each of 2 cores, 0 to 1000000000000"),
        ({"latency_ns": [0, -1]}, "latency_ns: "),
        ({"latency_ns": [10**12 + 1, 0]}, "latency_ns: "),
        ({"start_ns": -1}, "start_ns: -1 is out of range"),
        ({"overhead_ns": MAX_NS + 1}, "overhead_ns: "),
        ({"technique": None}, "technique: allowed: a technique, or phases"),
        ({"phases": [TECHNIQUES["ss"]]}, "technique: allowed: a technique, or phases"),
        ({"technique": None, "phases": []}, "part_tasks: 1 parts; allowed: all 0 phases"),
        ({"technique": None, "phases": [None]}, r"part_tasks\[0\]: 2 is out of range; allowed: 1 to 1"),
        ({"technique": None, "phases": [None, TECHNIQUES["ss"]]}, "part_tasks: 1 parts; allowed: all 2 phases"),
        ({"part_tasks": []}, "part_tasks: 0 parts"),
        ({"part_tasks": [1]}, "part_tasks: 1 tasks; there are 2 lengths"),
        ({"part_tasks": [0, 2]}, r"part_tasks\[0\]: 0 is out of range"),
        ({"technique": technique("wf:weights=1/1/1")}, "technique wf: its weights are for 3 cores, not 2"),
    ],
)
def test_what_cannot_be_an_application(wrong: dict[str, Any], words: str) -> None:
    fit: dict[str, Any] = {"lengths_gflop": [1.0, 2.0], "core_speed_gflops": [1.0, 1.0], "technique": TECHNIQUES["ss"]}
    assert Application(**fit).advance()
    with pytest.raises(InputError, match=f"^{words}"):
        Application(**(fit | wrong))


def test_the_highest_latency_and_a_serial_part_alone_are_allowed() -> None:
    far = Application([1.0], [1.0], TECHNIQUES["ss"], latency_ns=[10**12])
    assert far.advance()
    assert far.end_ns == 2 * 10**12 + 10**9
    alone = Application([1.0], [1.0, 1.0], phases=[None])
    assert alone.advance()
    assert alone.end_ns == 10**9
