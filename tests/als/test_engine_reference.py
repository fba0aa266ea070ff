"""The whole application engine against the slow reference: every task's start, end, core and chunk, and all counts."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from applications import NAMES, Scenario, crowded, driven, mixed, pauses, ran, scenarios, selections
from hypothesis import given, settings
from hypothesis import strategies as st

from als.application import ApplicationSimulator
from als.engine.state import NEVER

pytestmark = pytest.mark.whole

BOTH = st.sampled_from(NAMES) | selections()


def check(scenario: Scenario, instants: list[int]) -> None:
    """The engine, run at once, in pieces and without records, is as the reference."""
    expected = scenario.expected()
    for found in (scenario.found(), scenario.found(instants)):
        assert found == expected
        if not isinstance(found, str) and not isinstance(expected, str):
            assert (found.released, found.wishes) == (expected.released, expected.wishes)
    bare = scenario.found(instants, keep_tasks=False)
    if isinstance(expected, str) or isinstance(bare, str):
        assert bare == expected
    else:
        expected.tasks.clear()
        assert bare == expected


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=8)
@given(data=st.data(), instants=pauses)
def test_each_technique(name: str, data: st.DataObject, instants: list[int]) -> None:
    check(data.draw(scenarios(names=st.just(name), max_tasks=24)), instants)


@pytest.mark.parametrize("name", NAMES)
def test_several_long_loops(name: str) -> None:
    """Loops of many tasks, in which small differences of measurements matter."""
    for seed in range(2):
        chance = Random(seed)
        lengths = [chance.choice((0.25, 1.0, 1.5, 7.0)) * 1e-7 for _ in range(360)]
        speeds = [chance.choice((0.5, 1.0, 2.0, 3.0)) for _ in range(chance.randint(2, 6))]
        check(Scenario(lengths, speeds, [name], [120] * 3, overhead=chance.choice((0, 3, 100))), [])


@pytest.mark.parametrize(
    "strategy",
    [scenarios(), scenarios(names=selections(), lost=False, max_tasks=14), scenarios(names=BOTH, coordinated=True)],
    ids=["lost cores", "choosing", "hints and releases"],
)
@settings(max_examples=500)
@given(data=st.data(), instants=pauses)
def test_all_that_can_happen(strategy: st.SearchStrategy[Scenario], data: st.DataObject, instants: list[int]) -> None:
    check(data.draw(strategy), instants)


@pytest.mark.parametrize(("choosing", "seeds"), [(False, 150), (True, 50)])
def test_scaled_speeds_and_other_widths(choosing: bool, seeds: int) -> None:
    for seed in range(seeds):
        check(crowded(seed, choosing=choosing), [Random(seed).randint(0, 200) for _ in range(seed % 3)])


@pytest.mark.parametrize(("choosing", "seeds"), [(False, 200), (True, 50)])
def test_cores_and_devices(choosing: bool, seeds: int) -> None:
    for seed in range(seeds):
        check(mixed(seed, choosing=choosing), [Random(seed).randint(0, 200) for _ in range(seed % 3)])


@settings(max_examples=400)
@given(case=scenarios(lost=False), data=st.data(), instants=pauses, keep_tasks=st.booleans())
def test_a_job_completes_if_it_would_end_at_the_stop_or_before(
    case: Scenario, data: st.DataObject, instants: list[int], keep_tasks: bool
) -> None:
    """With a stop within a nanosecond of an instant at which something begins or ends."""
    natural = replace(case, stop=None).expected()
    if isinstance(natural, str):
        return
    moments = {moment for task in natural.tasks if task is not None for moment in (task.start, task.end)}
    at = data.draw(st.sampled_from(sorted(moments | {case.start, *natural.finish}))) + data.draw(st.integers(-1, 1))
    at = max(case.start, at)
    stopped = replace(case, stop=at - case.start)
    expected = stopped.expected()
    assert not isinstance(expected, str)
    for until_stop in (False, True):
        application = stopped.application(keep_tasks=keep_tasks)
        assert driven(application, stopped, [*instants, at - case.start], until_stop=until_stop) == ""
        assert ran(application) == (expected if keep_tasks else replace(expected, tasks=[]))
        assert application.ran == sum(task is not None for task in expected.tasks)
        assert application.stopped == (natural.end > at)
        assert application.end_ns == min(natural.end, at)
    assert natural.end > at or expected == natural
    steady = replace(stopped, changes=())
    by_hand = steady.application()
    by_hand.advance(at)
    by_hand.stop()
    assert ran(by_hand) == steady.found()


@settings(max_examples=200)
@given(case=scenarios(names=BOTH, coordinated=True), instants=pauses)
def test_no_core_is_used_after_its_release(case: Scenario, instants: list[int]) -> None:
    application = replace(case, releases=True).application()
    if driven(application, replace(case, releases=True), instants) == "":
        never_used_again(application)


def never_used_again(application: ApplicationSimulator) -> None:
    """No task runs on a core that was released, and the last to work is none of them."""
    state, at = application.state, application.released_ns
    ran_at_all = state.core >= 0
    place = np.searchsorted(np.sort(state.core_number), state.core[ran_at_all])
    assert (state.end_ns[ran_at_all] <= at[np.argsort(state.core_number)[place]]).all()
    assert (state.cores.finish_ns <= at).all()
    assert (at == NEVER).any()


def test_a_job_with_devices_completes_if_it_would_end_at_the_stop_or_before() -> None:
    """Also where the tasks of a chunk have ended, and its transfer out has not."""
    for seed in range(60):
        case = replace(mixed(seed), stop=None, hints=())
        natural = case.expected()
        assert not isinstance(natural, str)
        moments = sorted({one.end for one in natural.tasks if one is not None} | set(natural.finish))
        for at in Random(seed).sample(moments, min(4, len(moments))):
            for stop in (at - 1, at, at + 1):
                stopped = replace(case, stop=max(0, stop - case.start))
                check(stopped, [])
                application = stopped.application()
                application.run_to_stop(max(stop, case.start))
                assert application.stopped == (natural.end > max(stop, case.start))
