"""Changes in mid-run: speeds and stops, injected between any two instants, against per-core timelines."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from applications import KNOWN, Case, cases, ran
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.application import Ran, run

from als.application import Application
from als.techniques import TECHNIQUES
from traces.base.errors import InputError
from traces.base.time import MAX_NS

#: An instant, a core (or all of them) and its speed from then on.
Change = tuple[int, int | None, float]


def inject(
    application: Application, changes: list[Change], stop: int | None, pauses: list[int], start: int = 0
) -> None:
    """Advance from instant to instant, change what is to be changed there, and go on to the end."""
    instants = (
        {at for at, _, _ in changes} | {start + pause for pause in pauses} | ({stop} if stop is not None else set())
    )
    for now in sorted(instants):
        if stop is not None and now > stop:
            break
        application.advance(now)
        for at, core, speed in changes:
            if at == now:
                application.set_speed(speed, core)
        if now == stop:
            application.stop()
    assert application.advance()


@st.composite
def changed(draw: st.DrawFn) -> tuple[Case, list[Change], int | None]:
    case = draw(cases())
    instants = st.integers(0, 120).map(lambda later: case.start + later)
    cores = st.none() | st.integers(0, len(case.speeds) - 1)
    changes = draw(st.lists(st.tuples(instants, cores, st.sampled_from((0.1, 0.5, 1.0, 2.0, 3.3))), max_size=10))
    return case, sorted(changes, key=lambda change: change[0]), draw(st.none() | instants)


@settings(max_examples=1200)
@given(scenario=changed(), pauses=st.lists(st.integers(0, 150), max_size=4))
def test_changes_and_stops_as_the_slow_reference(
    scenario: tuple[Case, list[Change], int | None], pauses: list[int]
) -> None:
    case, changes, stop = scenario
    one_by_one = [
        (at, each, speed)
        for at, core, speed in changes
        for each in (range(len(case.speeds)) if core is None else [core])
    ]
    expected = case.expected(one_by_one, stop)
    application = case.application()
    inject(application, changes, stop, pauses, case.start)
    assert ran(application).finish == expected.finish
    assert ran(application) == expected
    assert application.end_ns == expected.end
    bare = case.application(keep_tasks=False)
    inject(bare, changes, stop, [])
    assert (bare.state.finish_ns.tolist(), bare.chunks) == (expected.finish, expected.chunks)


#: With work and instants that are multiples of this and speeds that are powers of two, every instant is whole: eight
#: changes and ten tasks one behind another divide by four at most eighteen times.
STEP = 2**42


@settings(max_examples=500)
@given(data=st.data())
def test_changes_as_exact_arithmetic_has_them(data: st.DataObject) -> None:
    works = data.draw(st.lists(st.integers(1, 9).map(lambda steps: steps * STEP), min_size=1, max_size=10))
    speeds = data.draw(st.lists(st.sampled_from((1, 2, 4)), min_size=1, max_size=4))
    technique = data.draw(st.sampled_from(KNOWN))
    of_change = st.tuples(
        st.integers(0, 20).map(lambda steps: steps * STEP),
        st.integers(0, len(speeds) - 1),
        st.sampled_from((1, 2, 4)),
    )
    changes = sorted(data.draw(st.lists(of_change, max_size=8)), key=lambda change: change[0])
    stop = data.draw(st.none() | st.integers(0, 40).map(lambda steps: steps * STEP))
    exact = run(
        [Fraction(work, 10**9) for work in works],
        [Fraction(speed) for speed in speeds],
        technique,
        changes=[(at, core, Fraction(speed)) for at, core, speed in changes],
        stop=stop,
    )
    application = Application([work / 1e9 for work in works], [float(speed) for speed in speeds], TECHNIQUES[technique])
    inject(application, [(at, core, float(speed)) for at, core, speed in changes], stop, [])
    # A task's work is below 2**46 ns at 1 GFLOP/s, which float64 holds to 2**-7 ns: rounding on the way is not seen.
    assert ran(application) == exact


def test_a_task_that_runs_goes_on_at_the_new_speed() -> None:
    """10 s of work; after 4 s at 1 GFLOP/s the other 6 take 2 s at 3 GFLOP/s. The next task is all at the new speed."""
    application = Application([10.0, 3.0], [1.0], TECHNIQUES["static"])
    assert not application.advance(4 * 10**9)
    application.set_speed(3.0)
    assert application.advance()
    assert ran(application).tasks == [Ran(0, 0, 0, 6 * 10**9), Ran(0, 0, 6 * 10**9, 7 * 10**9)]


def test_one_slow_core_sends_work_to_the_others() -> None:
    application = Application([1.0] * 6, [1.0, 1.0], TECHNIQUES["ss"])
    application.advance(10**9)
    application.set_speed(0.25, core=0)
    assert application.advance()
    assert application.state.core.tolist() == [0, 1, 0, 1, 1, 1]
    assert application.state.finish_ns.tolist() == [5 * 10**9, 4 * 10**9]


def test_a_change_comes_before_the_requests_of_its_instant() -> None:
    """Both cores ask at 1 s, when core 1 becomes ten times as fast: the request at that instant is served at the new speed."""
    application = Application([1.0, 1.0, 2.0, 2.0], [1.0, 1.0], TECHNIQUES["ss"])
    application.advance(10**9)
    application.set_speed(10.0, core=1)
    assert application.advance()
    assert application.state.end_ns.tolist()[2:] == [3 * 10**9, 1_200_000_000]


def test_the_overhead_does_not_depend_on_speed() -> None:
    application = Application([1e-7], [1.0], TECHNIQUES["ss"], overhead_ns=50)
    application.advance(20)
    application.set_speed(10.0)
    assert application.advance()
    assert ran(application).tasks == [Ran(0, 0, 50, 60)]


def test_a_stop_cuts_what_runs_and_begins_nothing() -> None:
    """Stopped at 5 ns: task 0 is done, 1 and 3 are cut; 2 and 4, which were assigned, and 5 never run."""
    application = Application([3e-9, 9e-9, 9e-9, 9e-9, 9e-9, 9e-9], [1.0, 1.0], TECHNIQUES["gss"])
    application.advance(5)
    application.stop()
    assert application.finished
    assert application.advance()
    assert application.end_ns == 5
    assert ran(application).tasks == [Ran(0, 0, 0, 3), Ran(0, 0, 3, 5), None, Ran(1, 1, 0, 5), None, None]
    assert application.chunks == 2
    application.set_speed(2.0)  # too late to matter
    assert application.end_ns == 5


@pytest.mark.parametrize("technique", KNOWN)
def test_a_stop_at_the_start_leaves_nothing(technique: str) -> None:
    application = Application([1.0] * 5, [1.0] * 2, TECHNIQUES[technique], start_ns=7)
    application.stop()
    assert application.end_ns == 7
    assert application.chunks == 0
    assert ran(application).tasks == [None] * 5


@settings(max_examples=300)
@given(
    lengths=st.lists(st.floats(1e-9, 1e-6), min_size=1, max_size=6),
    more_cores=st.integers(0, 3),
    rises=st.lists(st.tuples(st.integers(0, 700), st.integers(0, 5), st.floats(1.0, 20.0)), max_size=6),
    overhead=st.sampled_from((0, 10)),
)
def test_more_speed_is_never_slower_with_a_task_a_core(
    lengths: list[float], more_cores: int, rises: list[tuple[int, int, float]], overhead: int
) -> None:
    cores = len(lengths) + more_cores
    slow = Application(lengths, [1.0] * cores, TECHNIQUES["ss"], overhead_ns=overhead)
    fast = Application(lengths, [1.0] * cores, TECHNIQUES["ss"], overhead_ns=overhead)
    speeds = [1.0] * cores
    for at, core, factor in sorted(rises):
        fast.advance(at)
        speeds[core % cores] *= factor
        fast.set_speed(speeds[core % cores], core % cores)
    at_once = Application(lengths, speeds, TECHNIQUES["ss"], overhead_ns=overhead)
    assert slow.advance()
    assert fast.advance()
    assert at_once.advance()
    assert at_once.end_ns <= slow.end_ns
    # Each change rounds what is left of a task once more, by half a nanosecond at most.
    assert fast.end_ns <= slow.end_ns + len(rises)
    if not rises:
        assert fast.end_ns == slow.end_ns


@pytest.mark.parametrize(
    ("speed", "core", "message"),
    [
        (-1.0, None, "speed_gflops: -1.0; allowed: finite, from 0 on"),
        (math.inf, None, "speed_gflops: inf; allowed: finite, from 0 on"),
        (1.0, 2, "core: 2; allowed: 0 to 1"),
        (1.0, -1, "core: -1; allowed: 0 to 1"),
    ],
)
def test_changes_that_cannot_be(speed: float, core: int | None, message: str) -> None:
    application = Application([1.0] * 5, [1.0] * 2, TECHNIQUES["ss"])
    with pytest.raises(InputError) as caught:
        application.set_speed(speed, core)
    assert str(caught.value) == message


def test_a_speed_that_leads_beyond_the_end_of_time_is_an_error() -> None:
    application = Application([1.0], [1.0], TECHNIQUES["ss"])
    application.advance(1)
    with pytest.raises(InputError, match=f"would not end before the last simulated instant, {MAX_NS} ns"):
        application.set_speed(1e-12)
