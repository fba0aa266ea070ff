"""The generators of task graphs, and a job's graph as it is drawn with them."""

import math
import re
from collections.abc import Iterator
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pages import ROOT, blocks, section, table
from reference import drawing
from tables import table_rows

from als.graphs import GENERATORS, GraphModel, graph_kernel, graph_model, takes_variation
from als.graphs.contract import GraphDraft
from als.graphs.draw import DrawnGraph, drawn_graph, room
from als.graphs.trial import try_out
from als.programs.program import Graph, Program
from als.programs.table import Programs, drawn_program
from als.streams import GRAPH_WORK, GRAPHS
from traces.base.errors import InputError, PluginError

pytestmark = pytest.mark.whole

Edges = list[tuple[int, int]]


def drawn(spec: str, tasks: int = 0, cores: int = 1, seed: int = 0, job: int = 0) -> DrawnGraph:
    """Without variation, with as much work as there are tasks' weights of 1."""
    model = graph_model(spec)
    return drawn_graph(model, seed, job, tasks, cores, 1.0, 1.0)


def edges(graph: DrawnGraph) -> Edges:
    return list(zip(graph.source.tolist(), graph.target.tolist(), strict=True))


def shape(spec: str, tasks: int = 0, cores: int = 1) -> tuple[int, Edges]:
    graph = drawn(spec, tasks, cores)
    assert len(set(graph.gflop.tolist())) == 1
    return len(graph.gflop), edges(graph)


@pytest.mark.parametrize(("spec", "tasks", "cores", "n", "expected"), table_rows(__file__, "small_graphs"))
def test_small_graphs(spec: str, tasks: int, cores: int, n: int, expected: str) -> None:
    found, its_edges = shape(spec, tasks, cores)
    assert (found, " ".join(f"{one}>{other}" for one, other in its_edges)) == (n, expected)


def factorisation(tiles: int, lower_only: bool) -> tuple[list[tuple[str, float]], Edges]:
    """Tasks (kernel and operations) and edges of Cholesky or LU by what each task reads and writes, in the program's order."""
    written: dict[tuple[int, int], int] = {}
    tasks: list[tuple[str, float]] = []
    found: set[tuple[int, int]] = set()

    def task(kernel: str, flops: float, tile: tuple[int, int], *read: tuple[int, int]) -> None:
        found.update((written[one], len(tasks)) for one in (tile, *read) if one in written)
        written[tile] = len(tasks)
        tasks.append((kernel, flops))

    for k in range(tiles):
        rest = range(k + 1, tiles)
        task("factor", 1 / 3 if lower_only else 2 / 3, (k, k))
        if not lower_only:
            for j in rest:
                task("solve", 1, (k, j), (k, k))
        for i in rest:
            task("solve", 1, (i, k), (k, k))
        for i in rest:
            for j in rest:
                if lower_only and j == i:
                    task("syrk", 1, (i, i), (i, k))
                elif not lower_only or j < i:
                    task("gemm", 2, (i, j), (i, k), (j, k) if lower_only else (k, j))
    return tasks, sorted(found)


@pytest.mark.parametrize("name", ["cholesky", "lu"])
@pytest.mark.parametrize("tiles", [1, 2, 3, 5])
def test_factorisations_have_the_dependences_of_their_tiles(name: str, tiles: int) -> None:
    tasks, expected = factorisation(tiles, name == "cholesky")
    model = graph_model(f"{name}:tiles={tiles}")
    work = sum(flops for _, flops in tasks)
    graph = drawn_graph(model, 1, 2, 0, 1, work, 3.0)
    assert edges(graph) == expected
    assert graph.gflop.tolist() == pytest.approx([flops for _, flops in tasks])
    assert (len(tasks), len(expected)) == room(model, 0, 1)
    assert len(set(graph.bytes.tolist())) <= 1
    # All of a factorisation of a matrix of T·b: n³/3 and 2n³/3 operations, if tiles are small in comparison.
    if name == "lu":
        assert work == pytest.approx(2 / 3 * tiles**3, rel=0.2 if tiles > 2 else 1)


@pytest.mark.parametrize(("name", "sizes"), [("cholesky", (1, 4, 10, 20, 35)), ("lu", (1, 5, 14, 30, 55))])
def test_factorisations_have_as_few_tiles_as_make_the_tasks(name: str, sizes: tuple[int, ...]) -> None:
    for fewer, more in pairwise(sizes):
        for wanted in (fewer + 1, more):
            assert len(drawn(name, wanted, 3).gflop) == more
    assert len(drawn(name, 0, 4).gflop) == sizes[1], "one a core, where nothing else is said"


def layered(
    n: int, depth: int, regularity: float, jump: int, density: float, degree: float, stream: Iterator[int]
) -> Edges:
    """The layered graph as the module's head says, drawn task by task with lists."""
    uniform = (drawing.uniform(word) for word in stream)
    sizes = [1.0 + ((1 - regularity) * (2 * next(uniform) - 1) if regularity < 1 else 0.0) for _ in range(depth)]
    ends, reached = [0], 0.0
    total = math.fsum(sizes) if regularity == 1 else sum(sizes)
    for layer, share in enumerate(sizes):
        reached += share
        ends.append(layer + 1 + math.floor((n - depth) * (reached / total)))
    found = []
    for layer in range(1, depth):
        for task in range(ends[layer], ends[layer + 1]):
            before = list(range(ends[layer - 1], ends[layer]))
            chosen = before[int(next(uniform) * len(before))]
            others = [k for k in range(ends[max(0, layer - jump)], ends[layer]) if k != chosen]
            p = min(1.0, (degree - 1) / len(others)) if degree and others else density if not degree else 0.0
            found.append((chosen, task))
            if p == 1:
                found += [(k, task) for k in others]
            elif p > 0:
                while others and (passed := math.log(next(uniform)) * (1 / math.log1p(-p))) < len(others):
                    others = others[int(passed) :]
                    found.append((others.pop(0), task))
                if not others:  # the word that finds that there are no more
                    next(uniform)
    return sorted(found)


@settings(max_examples=150)
@given(
    n=st.integers(1, 90),
    depth=st.integers(1, 12),
    regularity=st.sampled_from((0.0, 0.5, 0.9, 1.0)),
    jump=st.integers(1, 4),
    density=st.sampled_from((0.0, 0.1, 0.5, 1.0)),
    degree=st.sampled_from((0.0, 1.0, 2.5, 50.0)),
    seed=st.integers(0, 2**64 - 1),
    job=st.integers(0, 2**40),
)
def test_layered_graphs_are_those_of_the_reference(
    n: int, depth: int, regularity: float, jump: int, density: float, degree: float, seed: int, job: int
) -> None:
    edge = f"degree={degree}" if degree else f"density={density}"
    graph = drawn(f"layered:depth={depth},regularity={regularity},jump={jump},{edge}", n, 7, seed, job)
    stream = drawing.words(seed, job, GRAPHS)
    assert len(graph.gflop) == n
    assert edges(graph) == layered(n, min(depth, n), regularity, jump, density, degree, stream)


def test_the_variation_of_the_run() -> None:
    assert [takes_variation(spec) for spec in ("lu:tiles=3", "lu:cov=0.1", "file:nowhere")] == [True, False, False]
    with pytest.raises(InputError, match=r"variation=11\.0: 11\.0 is out of range"):
        graph_model("lu", variation=11.0)


def test_a_file_is_read_with_the_options_that_follow_its_name(tmp_path: Path) -> None:
    for name, text in (("a,b.dot", "a [size=1] b [size=2] a -> b"), ("c=d", "a [size=0] b [size=0]")):
        (tmp_path / name).write_text(f"digraph {{ {text} }}")
    model = graph_model(f"file:{tmp_path}/a,b.dot", variation=0.5)
    assert (model.name, model.ccr, model.cov, model.scale) == ("file", None, 0.0, True)
    assert room(model, 99, 9) == (2, 1)
    other = graph_model(f"file:{tmp_path}/c=d, scale=no,format=dot,cov=0.25")
    assert (other.cov, other.scale) == (0.25, False)
    with pytest.raises(InputError, match=r"c=d: all tasks have work 0, which cannot be scaled.*scale=no"):
        graph_model(f"file:{tmp_path}/c=d")


#: Parameters of :func:`by_parameters`: the answer, a trick, the work of task 2, two edges, the bytes of one, and the sizes.
ANSWER, TRICK, GFLOP, SOURCE_0, TARGET_0, SOURCE_1, TARGET_1, BYTES, TASKS, EDGES = range(10)
SOUND = [0.0, 0, 1.0, 0, 1, 1, 2, 1.0, 3, 2]


@graph_kernel
def by_parameters(draft: GraphDraft) -> int:
    """Three tasks in a chain, except for the parameters."""
    gflop, source, target, bytes_, size, params = (
        draft.gflop, draft.source, draft.target, draft.bytes, draft.size, draft.params
    )  # fmt: skip
    trick = int(params[1])
    size[0], size[1] = int(params[8]), int(params[9])
    if (gflop.size < 3 and trick != 1) or (source.size < 2 and trick != 2):
        return -1
    for k in range(min(3, gflop.size)):
        gflop[k] = params[2] if k == 2 else 1.0
    for e in range(min(2, source.size)):
        source[e], target[e], bytes_[e] = int(params[3 + 2 * e]), int(params[4 + 2 * e]), params[7] if e else 1.0
    if trick == 3:
        gflop[gflop.size] = 1.0
    elif trick == 4:
        source[-1 - source.size] = 5
    elif trick == 5:
        raise ValueError("nothing")
    elif trick == 6:
        gflop[0] = float(gflop.size)
    elif trick == 7:
        draft.params[1] = 3.0
    elif trick == 8:
        size[2] = 0
    return int(params[0])


def of_three(wrong: dict[int, float], tasks: int = 5, edges: int = 4) -> GraphModel:
    params = [wrong.get(place, value) for place, value in enumerate(SOUND)]
    return GraphModel("w", by_parameters, np.array(params), lambda n, cores: (tasks, edges))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({TRICK: 1}, "its rule answers 0 to room for 2 tasks and 2 edges; allowed: -1, since it makes 3 and 2"),
        ({TRICK: 2}, "its rule answers 0 to room for 3 tasks and 1 edges; allowed: -1, since it makes 3 and 2"),
        ({TRICK: 3}, "its rule writes outside gflop, which has room for 5 there"),
        ({TRICK: 4}, "its rule writes outside source, which has room for 4 there"),
        ({TRICK: 5}, "its rule raises ValueError nothing; allowed: an answer"),
        ({TRICK: 6}, "its rule makes another graph of the same arguments"),
        ({TRICK: 7}, "its rule writes to params"),
        ({TRICK: 8}, "its rule writes outside size"),
        ({SOURCE_0: 1, TARGET_0: 0}, "its rule makes edge 0 from task 1 to 0 of 3; allowed: from a task to one of a higher"),
        ({TARGET_1: 3}, "its rule makes edge 1 from task 1 to 3 of 3"),
        ({SOURCE_1: 0, TARGET_1: 1}, "its rule makes edge 1 from task 0 to 1 after the edge from 0 to 1; allowed: sorted"),
        ({BYTES: 0.0}, "its rule makes edge 1 of the weight 0.0; allowed: above 0"),
        ({GFLOP: math.inf}, "its rule makes task 2 of the weight inf; allowed: above 0"),
        ({ANSWER: 7}, "its rule answers 7 to 16 tasks, 4 cores and room for 5 tasks and 4 edges; allowed: 0"),
        ({EDGES: -1}, "its rule makes 3 tasks and -1 edges"),
    ],
)  # fmt: skip
def test_forbidden_results_of_a_rule_are_refused(wrong: dict[int, float], words: str) -> None:
    try_out(of_three({}))
    with pytest.raises(PluginError, match=f"graph w: {words}"):
        try_out(of_three(wrong))


#: For each parameter of the rule, the values that break its contract where a graph is drawn.
BREAKS = {
    GFLOP: (0.0, -1.0, math.nan, math.inf), SOURCE_0: (-1, 1), TARGET_0: (0,), SOURCE_1: (0, 2), TARGET_1: (1, 3),
    BYTES: (0.0, math.inf, math.nan), TASKS: (0, 6), EDGES: (-1, 5)
}  # fmt: skip


@pytest.mark.parametrize(("place", "value"), [(place, one) for place, values in BREAKS.items() for one in values])
def test_a_rule_that_breaks_its_contract_is_named(place: int, value: float) -> None:
    assert drawn_graph(of_three({}), 1, 2, 0, 4, 3.0, 1.0).gflop.tolist() == [1.0] * 3
    wrong = {place: value} | ({TARGET_1: 1} if (place, value) == (SOURCE_1, 0) else {})  # the same edge twice
    with pytest.raises(PluginError, match="graph w: its rule makes no graph; allowed: weights above 0"):
        drawn_graph(of_three(wrong), 1, 2, 0, 4, 3.0, 1.0)


def test_a_generator_of_a_file_is_tried_when_it_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "graphs_of_mine.py"
    file.write_text(
        "from test_graph_generators import BYTES, of_three\nGOOD, BAD = of_three({}), of_three({BYTES: 0.0})\n"
    )
    assert drawn(f"{file}:GOOD").gflop.tolist() == pytest.approx([1 / 3] * 3)
    with pytest.raises(PluginError, match=r"graph w: its rule makes edge 1 of the weight 0\.0; allowed: above 0"):
        graph_model(f"{file}:BAD")
    with pytest.raises(InputError, match="w has no parameters"):
        graph_model(f"{file}:GOOD:ratio=3")


def modelled(n_tasks: Any, make: Any = by_parameters) -> GraphModel:
    return GraphModel("w", make, np.array(SOUND), n_tasks)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (of_three({}, 2), "its rule answers -1 to 16 tasks, 4 cores and room for 2 tasks and 4 edges; allowed: 0, see its n"),
        (of_three({TASKS: 4}, 3), "its rule makes 4 tasks and 2 edges; allowed: as many as there is room for"),
        (modelled(lambda n, cores: n), r"n_tasks answers 16; allowed: a number"),
        (modelled(lambda n, cores: (0, 0)), r"n_tasks answers \(0, 0\); allowed"),
        (modelled(lambda n, cores: (n // 0, 0)), "n_tasks raises ZeroDivisionError"),
        (modelled(lambda n, cores: (1, 0), lambda *a: 0), ".*not compiled for .*; decorate make with graph_kernel"),
    ],
)  # fmt: skip
def test_invalid_models_are_refused(model: GraphModel, words: str) -> None:
    with pytest.raises(PluginError, match=f"graph w: {words}"):
        try_out(model)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        *table_rows(__file__, "models_that_cannot_be"),
        ({"n_tasks": (1, 0)}, r"graph w: n_tasks must be a function, not \(1, 0\)"),
        ({"ccr": None}, "graph w: ccr None; allowed: 0 to 1e[+]06"),
    ],
)
def test_models_that_cannot_be(wrong: dict[str, Any], words: str) -> None:
    known: dict[str, Any] = {"name": "w", "make": by_parameters, "params": [0.0], "n_tasks": lambda n, cores: (1, 0)}
    with pytest.raises(InputError, match=words):
        GraphModel(**(known | wrong))


def test_a_kernel_of_graphs_takes_a_draft() -> None:
    with pytest.raises(InputError, match="graph_kernel: <lambda> takes 2 arguments; allowed: draft"):
        graph_kernel(lambda one, other: one)
    with pytest.raises(PluginError, match="graph w: make is not made by graph_kernel"):
        drawn_graph(modelled(lambda n, p: (1, 0), lambda *a: 0), 1, 2, 0, 4, 3.0, 1.0)


PAGE = ROOT / "docs" / "reference/graph-generators.md"


def test_the_page_names_every_generator_and_its_parameters() -> None:
    rows = {row[0].strip("`"): row for row in table(section(PAGE, "The generators"))}
    assert set(rows) == set(GENERATORS)
    for name, row in rows.items():
        named = re.findall(r"`(\w+)`", row[3])
        generator: Any = GENERATORS[name]
        assert named == [field.name for field in fields(generator) if field.name not in ("ccr", "cov")]
        for key, number in re.findall(r"`(\w+)` (?:\w = )?([\d.]+|in)\b", row[3]):
            default = getattr(generator, key)
            assert str(default if default is not None else 3) == number


@pytest.mark.parametrize(("spec", "given_ones"), table_rows(__file__, "the_formulas_of_the_page"))
def test_the_formulas_of_the_page(spec: str, given_ones: dict[str, int]) -> None:
    row = next(row for row in table(section(PAGE, "The generators")) if row[0] == f"`{spec.split(':')[0]}`")
    n, n_edges = (
        re.sub(r"[¹²]|, r = .*", "", cell).replace("·", "*").replace("−", "-").replace("^", "**") for cell in row[1:3]
    )
    graph = drawn(spec)
    assert len(graph.gflop) == eval(n, {}, given_ones)
    assert len(graph.source) == eval(n_edges, {}, given_ones | {"N": len(graph.gflop)})


def test_the_generator_of_the_page(tmp_path: Path) -> None:
    (block,) = (text for text in blocks(PAGE, "python") if text.startswith("# mine.py\n"))
    (tmp_path / "mine.py").write_text(block, encoding="utf-8")
    graph = drawn(f"{tmp_path / 'mine.py'}:MINE:ratio=3", 6)
    assert graph.gflop.tolist() == pytest.approx([0.25, 1 / 12] * 3)
    assert edges(graph) == [(0, 1), (0, 2), (1, 3), (2, 3), (2, 4), (3, 5), (4, 5)]
    assert len(drawn(f"{tmp_path / 'mine.py'}:MINE", 16).gflop) == 16


def of_file(gflop: list[float], edges: list[tuple[int, int, float]], **given_ones: Any) -> GraphModel:
    source, target, n_bytes = np.array(edges, float).reshape(-1, 3).T
    graph: Any = SimpleNamespace(
        gflop=np.array(gflop), source=source.astype(int), target=target.astype(int), bytes=n_bytes.copy()
    )
    for column in vars(graph).values():
        column.flags.writeable = False
    given_ones |= {"ccr": None, "source": graph}
    return GraphModel("file", by_parameters, np.empty(0), lambda n, p: (len(gflop), len(edges)), **given_ones)


def factors(stream: Any, n: int, cov: float) -> list[float]:
    found: list[float] = []
    while len(found) < n:
        factor = 1 + cov * drawing.normal(next(stream))
        if factor > 0:
            found.append(factor)
    return found


def test_the_graphs_of_a_job_follow_each_other_in_its_streams() -> None:
    first, second = "layered:tasks=30,cov=0.3", "layered:tasks=50,cov=0.4"
    programs = Programs((Program((Graph("ss", first), Graph("ss", second))),), 0.0)
    found = drawn_program(programs, 0, 1, 2, 4, 1.0, 1.0, 1.0)
    alone, stream = drawn_graph(graph_model(first), 1, 2, 0, 4, 1.0, 1.0), drawing.words(1, 2, GRAPH_WORK)
    n = len(alone.source)
    assert (found.source[:n].tolist(), found.target[:n].tolist()) == (alone.source.tolist(), alone.target.tolist())
    assert found.source[n:].tolist() != drawn_graph(graph_model(second), 1, 2, 0, 4, 1.0, 1.0).source.tolist()
    for tasks, cov in ((found.lengths[:30], 0.3), (found.lengths[30:], 0.4)):
        drawn = factors(stream, len(tasks), cov)
        assert tasks.tolist() == pytest.approx([2 * factor / math.fsum(drawn) for factor in drawn])


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**64 - 1),
    job=st.integers(0, 2**62),
    n=st.integers(1, 40),
    cov=st.sampled_from((0.01, 0.25, 1.0, 10.0)),
    total=st.floats(1e-3, 1e9),
)
def test_work_is_weight_times_the_factor_of_the_reference(
    seed: int, job: int, n: int, cov: float, total: float
) -> None:
    graph = drawn_graph(graph_model(f"chain:cov={cov},ccr=2"), seed, job, n, 4, total, 10.0)
    drawn = factors(drawing.words(seed, job, GRAPH_WORK), n, cov)
    assert graph.gflop.tolist() == pytest.approx([total * factor / math.fsum(drawn) for factor in drawn], rel=1e-12)
    # All edges weigh the same: twice what a task of the mean work takes.
    assert graph.bytes.tolist() == pytest.approx([2 * total / n * 10.0] * (n - 1))


EDGES_OF_FILE = [(0, 1, 100.0), (0, 2, 0.0), (1, 2, 7.0)]


@pytest.mark.parametrize("cov", [0.0, 0.5])
def test_a_file_is_scaled_with_its_bytes_or_left_as_it_is_and_its_tasks_vary(cov: float) -> None:
    drawn = factors(drawing.words(1, 2, GRAPH_WORK), 3, cov)
    work = [drawn[0], 0.0, 3 * drawn[2]]
    for scale, factor in ((False, 1.0), (True, 8.0 / (work[0] + work[2]))):
        graph = drawn_graph(of_file([1.0, 0.0, 3.0], EDGES_OF_FILE, scale=scale, cov=cov), 1, 2, 99, 4, 8.0, 1e9)
        assert graph.gflop.tolist() == pytest.approx([factor * one for one in work])
        assert graph.bytes.tolist() == pytest.approx([factor * 100.0, 0.0, factor * 7.0])
        assert (graph.source.tolist(), graph.target.tolist()) == ([0, 0, 1], [1, 2, 2])


@pytest.mark.parametrize(
    "model", [of_file([0.0, 0.0], []), of_file([1e-300, 0.0], [(0, 1, 1e300)]), of_file([1e308, 1e308], [(0, 1, 1.0)])]
)
def test_a_file_that_cannot_be_scaled(model: GraphModel) -> None:
    with (
        np.errstate(over="ignore"),
        pytest.raises(InputError, match="graph file: its work cannot be scaled to the job's"),
    ):
        drawn_graph(model, 1, 2, 0, 4, 8e30, 1.0)
