"""What holds for every schedule of tasks on cores, whatever the technique: bounds, conservation, balance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from applications import Scenario, ran, scenarios
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.chunk_rules import sizes

from als.application import Application
from als.techniques import TECHNIQUES, technique
from traces.base.time import NS_PER_S

unchanged = scenarios(lost=False).map(lambda scenario: replace(scenario, changes=(), stop=None))


def part_of(scenario: Scenario) -> list[int]:
    """The part of each task."""
    return np.repeat(np.arange(len(scenario.part_tasks)), scenario.part_tasks).tolist()


@settings(max_examples=80)
@given(scenario=unchanged)
def test_work_is_conserved_and_chunks_add_up(scenario: Scenario) -> None:
    """With nothing that changes: each task takes length/speed, chunks are of consecutive tasks, the bounds hold."""
    found = scenario.found()
    assert not isinstance(found, str)
    tasks = [task for task in found.tasks if task is not None]
    for task, length in zip(tasks, scenario.lengths, strict=True):
        exact = length / scenario.speeds[task.core] * NS_PER_S
        assert abs(task.end - task.start - exact) <= 0.5 + 1e-6 or task.end - task.start == 1
    for core in range(len(scenario.speeds)):
        assert found.busy[core] == sum(task.end - task.start for task in tasks if task.core == core)
    chunks: dict[int, list[int]] = {}
    for place, task in enumerate(tasks):
        chunks.setdefault(task.chunk, []).append(place)
    assert sorted(chunks) == list(range(found.chunks))
    parts = part_of(scenario)
    for places in chunks.values():
        assert places == list(range(places[0], places[-1] + 1))
        assert len({tasks[place].core for place in places}) == 1
        assert len({parts[place] for place in places}) == 1
        assert all(tasks[a].end == tasks[a + 1].start for a in places[:-1])
    loops = [chunk for chunk, places in chunks.items() if scenario.phases[parts[places[0]] % len(scenario.phases)]]
    assert found.scheduling >= len(loops) * scenario.overhead
    length = found.end - scenario.start
    assert length >= max(task.end - task.start for task in tasks)
    assert length >= sum(scenario.lengths) / sum(scenario.speeds) * NS_PER_S - len(tasks)


@settings(max_examples=100)
@given(
    works=st.lists(st.integers(1, 100), min_size=1, max_size=40),
    n_cores=st.integers(1, 8),
    name=st.sampled_from(("ss", "ss", "gss", "fac", "tss", "rnd")),
)
def test_within_the_bound_of_graham(works: list[int], n_cores: int, name: str) -> None:
    """No core is idle while a chunk waits, so P equal cores end at work/P + (1 − 1/P)·longest chunk at the latest.

    With SS the chunks are the tasks. (Graham, SIAM J. Applied Mathematics 17(2), 1969, doi:10.1137/0117039.)
    """
    application = Application([work * 1e-9 for work in works], [1.0] * n_cores, technique(name))
    assert application.advance()
    chunks = np.bincount(application.state.chunk, weights=np.array(works))
    assert application.end_ns * n_cores <= sum(works) + (n_cores - 1) * chunks.max()
    if name == "ss":
        assert chunks.tolist() == works


#: What a technique needs to give each of P cores the same share of N tasks where P divides N. Nothing, but for those whose
#: chunks do not come in rounds of P equal ones: they do so if told, or if N is such that their rounds are whole.
PARAMETERS = {
    "gss": "min={share}",
    "guided": "chunk={share}",
    "tss": "first={share},last={share}",
    "rnd": "low={share},high={share}",
    "pls": "swr=1",
}
ROUNDS = ("mfsc", "tfss", "fiss", "viss", "tap")


def whole_rounds(name: str, n_tasks: int, n_cores: int) -> bool:
    """Whether P chunks at a time are of one size."""
    of_chunks = list(sizes(name, n_tasks, n_cores))
    rounds = [of_chunks[k : k + n_cores] for k in range(0, len(of_chunks), n_cores)]
    return all(len(one) == n_cores and len(set(one)) == 1 for one in rounds)


@pytest.mark.parametrize("name", TECHNIQUES)
@settings(max_examples=12)
@given(n_cores=st.integers(1, 7), length=st.integers(1, 40), data=st.data())
def test_all_are_equal_when_tasks_are(name: str, n_cores: int, length: int, data: st.DataObject) -> None:
    shares = list(range(1, 13))
    if name in ROUNDS:
        shares = [share for share in shares if whole_rounds(name, share * n_cores, n_cores)]
    share = data.draw(st.sampled_from(shares))
    spec = f"{name}:{PARAMETERS[name].format(share=share)}" if name in PARAMETERS else name
    application = Application([length * 1e-9] * (n_cores * share), [1.0] * n_cores, technique(spec))
    assert application.advance()
    assert application.end_ns == share * length
    assert (application.state.finish_ns == share * length).all()
    assert (application.state.busy_ns == share * length).all()


@settings(max_examples=40)
@given(scenario=unchanged, instants=st.lists(st.integers(0, 250), max_size=6))
def test_it_does_not_end_before_it_said(scenario: Scenario, instants: list[int]) -> None:
    application = scenario.application()
    said = scenario.start
    for instant in sorted(instants):
        application.advance(scenario.start + instant)
        if not application.finished:
            said = max(said, application.not_before_ns)
    assert application.advance()
    assert application.end_ns >= said


@settings(max_examples=30)
@given(scenario=unchanged)
def test_another_job_of_the_same_techniques_in_between_changes_nothing(scenario: Scenario) -> None:
    """Whatever a technique keeps belongs to one job: two that take turns are as each alone."""
    one, two = scenario.application(), replace(scenario, seed=scenario.seed + 1).application()
    for instant in range(0, 120, 10):
        one.advance(scenario.start + instant)
        two.advance(scenario.start + instant)
    assert one.advance()
    assert ran(one) == scenario.found()
