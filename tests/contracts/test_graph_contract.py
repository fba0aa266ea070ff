"""The contract of generators of task graphs: these tests run over the registry, so its entry there tests a new one."""

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from als.graphs import GENERATORS, GraphModel, graph_model
from als.graphs.contract import IMPOSSIBLE, NO_ROOM, GraphDraft
from als.graphs.draw import drawn_graph, room
from als.graphs.trial import try_out
from als.streams import GRAPHS, fill_round_keys, start_stream
from traces.base.errors import InputError
from traces.compiled import Array

#: What each parameter may be in these tests; one that is not here is an error, so that a new one is thought of.
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "tasks": st.sampled_from((0, 0, 1, 2)) | st.integers(1, 80),
    "width": st.sampled_from((1, 2)) | st.integers(1, 12),
    "depth": st.integers(1, 5),
    "density": st.sampled_from((0.0, 1.0)) | st.floats(0, 1),
    "degree": st.sampled_from((1.0, 1e8)) | st.floats(1, 20),
    "jump": st.integers(1, 6),
    "regularity": st.sampled_from((0.0, 1.0)) | st.floats(0, 1),
    "stages": st.integers(1, 5),
    "steps": st.integers(0, 6),
    "points": st.sampled_from((3, 5)),
    "tiles": st.integers(0, 7),
    "arity": st.integers(1, 4),
    "direction": st.sampled_from(("in", "out")),
    "ccr": st.sampled_from((0.0, 1.0)) | st.floats(0.01, 100),
    "cov": st.none() | st.sampled_from((0.0, 0.25, 10.0)),
}
JOBS = st.tuples(st.integers(0, 70), st.integers(1, 9))


@st.composite
def models(draw: st.DrawFn, name: str) -> GraphModel:
    """The generator with any of its parameters, and others by default."""
    generator: Any = GENERATORS[name]
    known = [field.name for field in fields(generator)]
    given_ones = {key: draw(VALUES[key]) for key in draw(st.lists(st.sampled_from(known), unique=True))}
    for one, other in (("width", "depth"), ("density", "degree")):
        if name == "layered" and one in given_ones:
            given_ones.pop(other, None)
    if name == "layered" and (tasks := given_ones.get("tasks")):
        for part in {"width", "depth"} & set(given_ones):
            given_ones[part] = min(given_ones[part], tasks)
    made: GraphModel = replace(generator, **given_ones).graph(draw(st.sampled_from((0.0, 0.5))))
    return made


def made(model: GraphModel, tasks: int, cores: int, room_tasks: int, room_edges: int, seed: int = 1) -> list[Array]:
    keys, cursor, words = np.empty(20, np.uint64), np.empty(3, np.int64), np.empty(4, np.uint64)
    fill_round_keys(keys, np.uint64(seed), np.uint64(2))
    start_stream(cursor, GRAPHS)
    # What was in the arrays does not matter.
    gflop, bytes_ = np.full(room_tasks, np.nan), np.full(room_edges, -7.0)
    source, target, size = np.full(room_edges, 99), np.full(room_edges, -99), np.full(2, -5)
    columns = {"gflop": gflop, "source": source, "target": target, "bytes": bytes_, "size": size}
    stream = {"keys": keys, "cursor": cursor, "words": words}
    status = model.make(GraphDraft(n_tasks=tasks, n_cores=cores, params=model.params, **stream, **columns))
    return [gflop, source, target, bytes_, size, np.array([status])]


@pytest.mark.parametrize("name", GENERATORS)
def test_it_is_found_under_its_own_name_and_passes_the_trial_of_foreign_ones(name: str) -> None:
    model = graph_model(name)
    assert model.name == GENERATORS[name].name == name == name.lower()
    assert (model.ccr, model.cov, model.source, model.scale) == (1.0, 0.0, None, True)
    assert graph_model(name, variation=0.3).cov == 0.3
    assert graph_model(f"{name}:cov=0.2,ccr=0.5", variation=0.3).cov == 0.2
    assert graph_model(f"{name}:cov=0.2,ccr=0.5").ccr == 0.5
    try_out(model)


@settings(max_examples=60)
@given(data=st.data(), job=JOBS, seed=st.integers(0, 2**64 - 1))
@pytest.mark.parametrize("name", GENERATORS)
def test_whatever_its_parameters_it_makes_a_graph_without_cycles(
    name: str, data: st.DataObject, job: tuple[int, int], seed: int
) -> None:
    model = data.draw(models(name))
    tasks, edges = room(model, *job)
    gflop, source, target, bytes_, size, status = made(model, *job, tasks, edges, seed)
    assert status == 0
    n, n_edges = size.tolist()
    assert 1 <= n == tasks
    assert n_edges <= edges
    assert n_edges == edges or name == "layered"
    pairs = list(zip(source[:n_edges].tolist(), target[:n_edges].tolist(), strict=True))
    assert pairs == sorted(set(pairs))
    assert all(0 <= one < other < n for one, other in pairs)
    assert (gflop[:n] > 0).all()
    assert np.isfinite(gflop[:n]).all()
    assert (bytes_[:n_edges] == 1.0).all()


@settings(max_examples=30)
@given(data=st.data(), job=JOBS, more=st.integers(0, 50))
@pytest.mark.parametrize("name", GENERATORS)
def test_it_depends_on_its_arguments_only(name: str, data: st.DataObject, job: tuple[int, int], more: int) -> None:
    """However much room there is it makes the same, and it says how much it needs where there is less."""
    model = data.draw(models(name))
    one = made(model, *job, *room(model, *job))
    n, n_edges = one[4].tolist()
    for room_tasks, room_edges in ((n, n_edges), (n + more, n_edges + more)):
        other = made(model, *job, room_tasks, room_edges)
        for column, length in enumerate((n, n_edges, n_edges, n_edges, 2, 1)):
            assert np.array_equal(one[column][:length], other[column][:length])
    less = made(model, *job, n - 1, n_edges)
    assert (int(less[5][0]), int(less[4][0])) == (NO_ROOM, n)
    if n_edges:
        less = made(model, *job, n, data.draw(st.integers(0, n_edges - 1)))
        assert (int(less[5][0]), less[4].tolist()) == (NO_ROOM, [n, n_edges])


@settings(max_examples=30)
@given(data=st.data(), job=JOBS, total=st.floats(1e-6, 1e12), rate=st.floats(1e-3, 1e12))
@pytest.mark.parametrize("name", GENERATORS)
def test_its_graph_has_the_work_of_the_job_and_the_ratio_of_communication(
    name: str, data: st.DataObject, job: tuple[int, int], total: float, rate: float
) -> None:
    model = data.draw(models(name))
    graph = drawn_graph(model, 3, 4, *job, total, rate)
    assert graph.gflop.sum() == pytest.approx(total, rel=1e-12)
    assert (graph.gflop > 0).all()
    if len(graph.bytes):
        assert graph.bytes.mean() == pytest.approx((model.ccr or 0.0) * graph.gflop.mean() * rate, rel=1e-12)


@pytest.mark.parametrize("name", GENERATORS)
@pytest.mark.parametrize("wanted", [1, 2, 10, 64, 1000])
def test_it_has_about_the_tasks_that_are_wanted(name: str, wanted: int) -> None:
    n = len(drawn_graph(graph_model(name), 1, 2, wanted, 4, 1.0, 1.0).gflop)
    assert wanted <= n <= 2.1 * wanted + 4


@pytest.mark.parametrize("name", GENERATORS)
def test_a_graph_that_is_too_large_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=rf"graph {name}: \d+ tasks in one job; allowed: 1 to 100000000"):
        room(graph_model(name), 100_000_001, 1000)


def test_the_answers_of_a_rule_are_no_sizes() -> None:
    assert NO_ROOM < 0 > IMPOSSIBLE != NO_ROOM
