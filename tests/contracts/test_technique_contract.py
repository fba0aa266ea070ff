"""The contract of loop-scheduling techniques: these tests run over the registry, so its entry there tests a new one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from als.application import ApplicationSimulator
from als.techniques import TECHNIQUES, technique
from traces.base.time import NS_PER_S

lengths = st.lists(st.integers(1, 9).map(lambda work: work * 1e-8), min_size=1, max_size=60)
speeds = st.lists(st.sampled_from((0.5, 1.0, 3.0)), min_size=1, max_size=9)


@pytest.mark.parametrize("name", TECHNIQUES)
def test_it_is_found_under_its_own_name_and_says_where_it_comes_from(name: str) -> None:
    assert technique(name).name == name == name.lower()
    assert TECHNIQUES[name].source


@settings(max_examples=30)
@given(works=lengths, core_speeds=speeds, overhead=st.sampled_from((0, 7)))
@pytest.mark.parametrize("name", TECHNIQUES)
def test_it_gives_every_task_once_in_chunks(
    name: str, works: list[float], core_speeds: list[float], overhead: int
) -> None:
    application = ApplicationSimulator(works, core_speeds, TECHNIQUES[name], overhead_ns=overhead)
    assert application.advance()
    state = application.state
    assert (state.start_ns >= overhead).all()
    assert (state.end_ns > state.start_ns).all()
    chunks, first = np.unique(state.chunk, return_index=True)
    assert chunks.tolist() == list(range(application.chunks))
    # A chunk is of consecutive tasks, all of one core; they are in task order but where the technique chooses them itself.
    assert np.count_nonzero(np.diff(state.chunk)) == len(chunks) - 1
    assert len(np.unique(np.stack((state.chunk, state.core)), axis=1).T) == len(chunks)
    assert TECHNIQUES[name].places or (np.diff(first) > 0).all()
    for core in range(len(core_speeds)):
        mine = np.flatnonzero(state.core == core)
        mine = mine[np.argsort(state.start_ns[mine])]
        assert (state.start_ns[mine][1:] >= state.end_ns[mine][:-1]).all(), "one task at a time"
        assert state.cores.finish_ns[core] == (state.end_ns[mine].max() if len(mine) else 0)
    # No job is faster than all of its work at all of its cores' speed, but for the rounding of each task.
    assert application.end_ns >= sum(works) / sum(core_speeds) * NS_PER_S - len(works)


@settings(max_examples=20)
@given(works=lengths, core_speeds=speeds, pauses=st.lists(st.integers(0, 400), max_size=6))
@pytest.mark.parametrize("name", TECHNIQUES)
def test_it_depends_on_its_arguments_only(
    name: str, works: list[float], core_speeds: list[float], pauses: list[int]
) -> None:
    """Suspended at any instants, and with another job of the same technique in between, it answers the same."""
    alone, paused = (ApplicationSimulator(works, core_speeds, TECHNIQUES[name]) for _ in range(2))
    other = ApplicationSimulator([1e-8] * 50, [1.0, 2.0, 1.0], TECHNIQUES[name])
    assert alone.advance()
    for pause in sorted(pauses):
        paused.advance(pause)
        other.advance(pause)
    assert paused.advance()
    for column in ("start_ns", "end_ns", "core", "chunk"):
        assert np.array_equal(getattr(alone.state, column), getattr(paused.state, column))
    assert np.array_equal(alone.state.cores.finish_ns, paused.state.cores.finish_ns)


@pytest.mark.parametrize("name", TECHNIQUES)
@pytest.mark.parametrize("cores", [1, 2, 7, 64])
def test_with_equal_tasks_a_core_each_it_is_perfect(name: str, cores: int) -> None:
    application = ApplicationSimulator([46.875 * 3600] * cores, [46.875] * cores, TECHNIQUES[name])
    assert application.advance()
    assert (application.state.cores.finish_ns == 3600 * NS_PER_S).all()


@settings(max_examples=20)
@given(
    works=lengths,
    core_speeds=speeds,
    n_steps=st.integers(1, 3),
    losses=st.lists(st.tuples(st.integers(0, 300), st.integers(0, 8), st.sampled_from((0.0, 0.0, 2.0))), max_size=4),
    latency=st.sampled_from((0, 9)),
    master=st.booleans(),
)
@pytest.mark.parametrize("name", TECHNIQUES)
def test_it_gives_every_task_whatever_happens_to_the_cores(
    name: str,
    works: list[float],
    core_speeds: list[float],
    n_steps: int,
    losses: list[tuple[int, int, float]],
    latency: int,
    master: bool,
) -> None:
    """In each of some time steps, with messages; core 0 is always there, others are lost and return."""
    n_cores = len(core_speeds)
    application = ApplicationSimulator(
        works * n_steps,
        core_speeds,
        phases=[TECHNIQUES[name]],
        part_tasks=[len(works)] * n_steps,
        latency_ns=[latency] * n_cores,
        master=master,
    )
    for at, core, speed in sorted(losses):
        application.advance(at)
        if core % n_cores:
            application.set_speed(speed, core % n_cores)
    assert application.advance()
    state = application.state
    assert application.ran == len(works) * n_steps
    assert (state.end_ns > state.start_ns).all()
    steps = state.start_ns.reshape(n_steps, -1), state.end_ns.reshape(n_steps, -1)
    assert (steps[0].min(axis=1)[1:] >= steps[1].max(axis=1)[:-1]).all(), "a barrier between time steps"
    assert application.end_ns >= state.end_ns.max()
