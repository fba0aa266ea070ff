"""The generators of task graphs: those of slow references and of the shapes that their names say."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pages import ROOT, blocks, section, table
from reference import drawing

from als.graphs import GENERATORS, GraphDraft, GraphModel, graph_kernel, graph_model, takes_variation
from als.graphs.draw import DrawnGraph, drawn_graph, room
from als.graphs.trial import try_out
from als.streams import GRAPHS
from traces.base.errors import InputError, PluginError

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


@pytest.mark.parametrize(
    ("spec", "tasks", "cores", "n", "expected"),
    [
        ("chain:tasks=1", 9, 9, 1, ""),
        ("chain", 3, 9, 3, "0>1 1>2"),
        ("chain", 0, 2, 2, "0>1"),
        ("fork-join:width=2", 9, 9, 4, "0>1 0>2 1>3 2>3"),
        ("fork-join:stages=2", 1, 9, 5, "0>1 1>2 2>3 3>4"),
        ("fork-join:stages=2", 2, 9, 7, "0>1 0>2 1>3 2>3 3>4 3>5 4>6 5>6"),
        ("tree:depth=1", 9, 9, 1, ""),
        ("tree:depth=2,arity=3", 9, 9, 4, "0>3 1>3 2>3"),
        ("tree:depth=3,direction=out", 9, 9, 7, "0>1 0>2 1>3 1>4 2>5 2>6"),
        ("tree:direction=in", 4, 9, 7, "0>4 1>4 2>5 3>5 4>6 5>6"),
        ("tree:depth=3,arity=1", 9, 9, 3, "0>1 1>2"),
        ("stencil:width=1,steps=3", 9, 9, 3, "0>1 1>2"),
        ("stencil:width=2,steps=2,points=5", 9, 9, 4, "0>2 0>3 1>2 1>3"),
        ("stencil", 5, 3, 6, "0>3 0>4 1>3 1>4 1>5 2>4 2>5"),
        ("stencil:points=5,steps=2", 99, 4, 8, "0>4 0>5 0>6 1>4 1>5 1>6 1>7 2>4 2>5 2>6 2>7 3>5 3>6 3>7"),
        ("layered:width=1", 4, 9, 4, "0>1 1>2 2>3"),
        ("layered:depth=1", 4, 9, 4, ""),
        ("layered:depth=2,density=1,regularity=1", 5, 9, 5, "0>2 0>3 0>4 1>2 1>3 1>4"),
        ("layered:depth=3,density=1,jump=2", 3, 9, 3, "0>1 0>2 1>2"),
    ],
)
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
    # All of a factorisation of a matrix of T·b: n³/3 and 2n³/3 operations, as long as tiles are small beside it.
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


def test_other_jobs_have_other_random_graphs_and_the_same_regular_ones() -> None:
    for name in GENERATORS:
        same = edges(drawn(name, 60, 4, 1, 2)) == edges(drawn(name, 60, 4, 1, 3))
        assert same == (name != "layered")
        assert edges(drawn(name, 60, 4, 1, 2)) == edges(drawn(name, 60, 4, 1, 2))


def test_the_variation_of_the_run() -> None:
    assert takes_variation("lu:tiles=3")
    assert not takes_variation("lu:cov=0.1")
    assert not takes_variation("file:nowhere")
    with pytest.raises(InputError, match=r"--variation: 11\.0 is out of range"):
        graph_model("lu", variation=11.0)


def test_a_file_is_read_with_what_is_said_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def read_graph(path: str, *, format: str = "") -> Any:
        asked.append((path, format))
        work = [0.0, 0.0] if "idle" in path else [1.0, 3.0]
        return SimpleNamespace(
            gflop=np.array(work), source=np.array([0]), target=np.array([1]), bytes=np.array([8.0]), name="g"
        )

    readers: Any = ModuleType("als.graphs.readers")
    readers.read_graph = read_graph
    monkeypatch.setitem(sys.modules, "als.graphs.readers", readers)
    model = graph_model("file:a,b.dot", variation=0.5)
    assert (model.name, model.ccr, model.cov, model.scale) == ("file", None, 0.0, True)
    assert room(model, 99, 9) == (2, 1)
    other = graph_model("file:c=d.xml, scale=no,format=dax,cov=0.25")
    assert (other.cov, other.scale) == (0.25, False)
    assert asked == [("a,b.dot", ""), ("c=d.xml", "dax")]
    with pytest.raises(InputError, match=r"idle: all tasks have work 0, which cannot be scaled.*scale=no"):
        graph_model("file:idle")
    assert not graph_model("file:idle,scale=no").scale


@graph_kernel
def badly(draft: GraphDraft) -> int:
    """Three tasks in a chain, but for what ``params[0]`` says."""
    gflop, source, target, bytes_, size = draft.gflop, draft.source, draft.target, draft.bytes, draft.size
    wrong = int(draft.params[0])
    size[0], size[1] = 3, 2
    if (gflop.size < 3 and wrong != 1) or (source.size < 2 and wrong != 2):
        return -1
    for k in range(min(3, gflop.size)):
        gflop[k] = 1.0
    for e in range(min(2, source.size)):
        source[e], target[e], bytes_[e] = e, e + 1, 1.0
    if wrong == 3:
        gflop[gflop.size] = 1.0
    elif wrong == 4:
        source[-1 - source.size] = 5
    elif wrong == 5:
        raise ValueError("nothing")
    elif wrong == 6:
        source[0], target[0] = 1, 0
    elif wrong == 7:
        target[1] = 3
    elif wrong == 8:
        source[1], target[1] = 0, 1
    elif wrong == 9:
        bytes_[1] = 0.0
    elif wrong == 10:
        gflop[2] = np.inf
    elif wrong == 11:
        size[0] = 4
    elif wrong == 12:
        return 7
    elif wrong == 13:
        gflop[0] = float(gflop.size)
    elif wrong == 14:
        draft.params[0] = 3.0
    elif wrong == 15:
        size[1] = -1
    elif wrong == 16:
        size[2] = 0
    return 0


def of_three(wrong: int, tasks: int = 5, edges: int = 4) -> GraphModel:
    return GraphModel("w", badly, np.array([float(wrong)]), lambda n, cores: (tasks, edges))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (1, "its rule answers 0 to room for 2 tasks and 2 edges; allowed: -1, since it makes 3 and 2"),
        (2, "its rule answers 0 to room for 3 tasks and 1 edges; allowed: -1, since it makes 3 and 2"),
        (3, "its rule writes outside gflop, which has room for 5 there"),
        (4, "its rule writes outside source, which has room for 4 there"),
        (5, "its rule raises ValueError nothing; allowed: an answer"),
        (6, "its rule makes edge 0 from task 1 to 0 of 3; allowed: from a task to one of a higher number"),
        (7, "its rule makes edge 1 from task 1 to 3 of 3"),
        (8, "its rule makes edge 1 from task 0 to 1 behind that from 0 to 1; allowed: sorted, none twice"),
        (9, "its rule makes edge 1 of the weight 0.0; allowed: above 0"),
        (10, "its rule makes task 2 of the weight inf; allowed: above 0"),
        (12, "its rule answers 7 to 16 tasks, 4 cores and room for 5 tasks and 4 edges; allowed: 0"),
        (13, "its rule makes another graph of the same arguments"),
        (14, "its rule writes to params"),
        (15, "its rule makes 3 tasks and -1 edges"),
        (16, "its rule writes outside size"),
    ],
)
def test_what_a_rule_must_not_do_is_said(wrong: int, words: str) -> None:
    try_out(of_three(0))
    with pytest.raises(PluginError, match=f"graph w: {words}"):
        try_out(of_three(wrong))


def test_a_generator_of_a_file_is_tried_when_it_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "graphs_of_mine.py"
    file.write_text("from test_graph_generators import of_three\nGOOD, BAD = of_three(0), of_three(9)\n")
    assert drawn(f"{file}:GOOD").gflop.tolist() == pytest.approx([1 / 3] * 3)
    with pytest.raises(PluginError, match=r"graph w: its rule makes edge 1 of the weight 0\.0; allowed: above 0"):
        graph_model(f"{file}:BAD")
    with pytest.raises(InputError, match="w has no parameters"):
        graph_model(f"{file}:GOOD:ratio=3")


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (
            of_three(0, 2),
            "its rule answers -1 to 16 tasks, 4 cores and room for 2 tasks and 4 edges; allowed: 0, see its n",
        ),
        (of_three(11, 3), "its rule makes 4 tasks and 2 edges; allowed: as many as there is room for"),
        (GraphModel("w", badly, np.zeros(1), lambda n, cores: n), r"n_tasks answers 16; allowed: a number"),  # type: ignore[arg-type, return-value]
        (GraphModel("w", badly, np.zeros(1), lambda n, cores: (0, 0)), r"n_tasks answers \(0, 0\); allowed"),
        (GraphModel("w", badly, np.zeros(1), lambda n, cores: (n // 0, 0)), "n_tasks raises ZeroDivisionError"),
        (
            GraphModel("w", lambda *arguments: 0, np.zeros(1), lambda n, cores: (1, 0)),
            "not compiled for .*; decorate make with graph_kernel",
        ),
    ],
)
def test_what_a_model_must_not_be_is_said(model: GraphModel, words: str) -> None:
    with pytest.raises(PluginError, match=f"graph w: .*{words}|graph w: {words}"):
        try_out(model)


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


@pytest.mark.parametrize(
    ("spec", "given_ones"),
    [
        ("chain:tasks=7", {"n": 7}),
        ("fork-join:width=5,stages=3", {"w": 5, "s": 3}),
        ("cholesky:tiles=6", {"T": 6}),
        ("lu:tiles=6", {"T": 6}),
        ("stencil:width=7,steps=4,points=5", {"w": 7, "s": 4, "p": 5, "r": 2}),
        ("stencil:width=2,steps=4", {"w": 2, "s": 4, "p": 3, "r": 1}),
        ("tree:depth=4,arity=3", {"a": 3, "d": 4}),
    ],
)
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
