"""Planners and schedulers: against plain Python, against the papers' examples, by hand, and by name."""

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plans import Edges, planned
from reference.planning import RULES, oct_ranks, optimistic_costs, related, unlike, unrelated, upward_ranks
from tables import table_rows, table_text

from als.graphs.order import index_edges, topological_order
from als.planners import PLANNERS, Planner, PlanningProblem, planner, planner_kernel
from als.planners.contract import MAPPED
from als.planners.trial import try_out
from als.schedulers import loop_technique, scheduler, scheduler_name
from als.techniques import TECHNIQUES
from traces.base.errors import InputError, PluginError
from traces.compiled import Array, jit_enabled

# Few values, so that ties are frequent; zeros, and thirds and tenths, whose sums are rounded.
works = st.sampled_from((0.0, 0.0, 1.0, 1.0, 2.0, 3.0, 0.1, 7.3, 1 / 3))
sizes = st.sampled_from((0.0, 1.0, 2.0, 5.0, 0.7))
speeds = st.sampled_from((0.0, 1.0, 1.0, 2.0, 3.0, 0.7))
prices = st.sampled_from((0.0, 0.0, 1.0, 0.3, 4.0))


@st.composite
def graphs(draw: st.DrawFn, most: int = 14) -> tuple[list[float], Edges]:
    gflop = draw(st.lists(works, min_size=1, max_size=most))
    n = len(gflop)
    number = draw(st.permutations(range(n)))
    pairs = draw(st.sets(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=2 * n))
    return gflop, {(number[i], number[j]): draw(sizes) for i, j in sorted(pairs) if i < j}


@st.composite
def machines(draw: st.DrawFn, most: int = 6) -> tuple[list[float], list[int], list[float]]:
    speed = draw(st.lists(speeds, min_size=1, max_size=most))
    speed[draw(st.integers(0, len(speed) - 1))] = draw(st.sampled_from((1.0, 2.0)))
    host = [draw(st.integers(0, min(core, 2))) for core in range(len(speed))]
    return speed, host, draw(st.lists(prices, min_size=3, max_size=3))


def order_of(n: int, edges: Edges) -> list[int]:
    source, target = (np.array([pair[end] for pair in sorted(edges)], np.int64) for end in (0, 1))
    out_first, in_first, in_edge, order = (np.zeros(size, np.int64) for size in (n + 1, n + 1, len(edges), n))
    index_edges(source, target, n, out_first, in_first, in_edge)
    topological_order(out_first, target, in_first, n, order, np.zeros(n, np.int64))
    return [int(task) for task in order]


def agree(name: str, gflop: list[float], edges: Edges, speed: list[float], host: list[int], costs: list[float]) -> None:
    expected = related(gflop, dict(edges), speed, host, (costs[0], costs[1], costs[2]), order_of(len(gflop), edges))
    RULES[name](expected)
    core, begin, answer = planned(PLANNERS[name], gflop, edges, speed, host, costs)
    assert answer == 0
    assert core == [expected.core[task] for task in range(len(gflop))]
    assert begin == [expected.begin[task] for task in range(len(gflop))]


@settings(max_examples=150)
@given(graph=graphs(), machine=machines())
@pytest.mark.parametrize("name", PLANNERS)
def test_they_plan_as_the_reference_does(
    name: str, graph: tuple[list[float], Edges], machine: tuple[list[float], list[int], list[float]]
) -> None:
    agree(name, *graph, *machine)


@settings(max_examples=150)
@given(graph=graphs(), machine=machines(), data=st.data())
@pytest.mark.parametrize("name", PLANNERS)
def test_they_plan_unlike_workers_as_the_reference_does(
    name: str,
    graph: tuple[list[float], Edges],
    machine: tuple[list[float], list[int], list[float]],
    data: st.DataObject,
) -> None:
    """Each task has any work on each core; some cores cannot run some tasks."""
    (gflop, edges), (speed, host, costs) = graph, machine
    anywhere = speed.index(max(speed))
    times = [data.draw(st.lists(works | st.just(math.inf), min_size=len(speed), max_size=len(speed))) for _ in gflop]
    for row in times:
        row[anywhere] = data.draw(works)
    expected = unlike(times, dict(edges), speed, host, (costs[0], costs[1], costs[2]), order_of(len(gflop), edges))
    RULES[name](expected)
    rule = PLANNERS[name].unlike
    assert rule is not None
    core, begin, answer = planned(rule, gflop, edges, speed, host, costs, times)
    assert answer == 0
    assert core == [expected.core[task] for task in range(len(gflop))]
    assert begin == [expected.begin[task] for task in range(len(gflop))]


def edges_of(text: str) -> Edges:
    """From "0>1:18", a producer, a consumer and the bytes."""
    return {tuple(map(int, pair.split(">"))): float(size) for pair, _, size in (e.partition(":") for e in text.split())}


def times_of(text: str) -> list[list[float]]:
    return [[float(time) for time in row.split()] for row in text.split("|")]


# Figure 1 and table 1 of the HEFT paper: 10 tasks on three processors.
HEFT_EDGES = edges_of(
    "0>1:18 0>2:12 0>3:9 0>4:11 0>5:14 1>7:19 1>8:16 2>6:23 3>7:27 3>8:23 4>8:13 5>7:15 6>9:17 7>9:11 8>9:13"
)
HEFT_TIMES = times_of(
    "14 16 9 | 13 19 18 | 11 13 19 | 13 8 17 | 12 13 10 | 13 16 9 | 7 15 11 | 5 11 14 | 18 12 20 | 21 7 16"
)

# Figure 1 of the PEFT paper: 10 tasks on three processors.
PEFT_EDGES = edges_of(
    "0>1:17 0>2:31 0>3:29 0>4:13 0>5:7 1>7:3 1>8:30 2>6:16 3>7:11 3>8:7 4>8:57 5>7:5 6>9:9 7>9:42 8>9:7"
)
PEFT_TIMES = times_of(
    "22 21 36 | 22 18 18 | 32 27 43 | 7 10 4 | 29 27 35 | 26 17 24 | 14 25 30 | 29 23 36 | 15 21 8 | 13 16 33"
)


def placed(problem: Any) -> str:
    return " ".join(f"{problem.core[task]}@{problem.begin[task]:g}" for task in range(10))


def test_the_reference_makes_the_schedule_of_the_heft_paper() -> None:
    """Its ranks (table 2) and figure 3a, of length 80."""
    problem = unrelated(HEFT_TIMES, HEFT_EDGES)
    ranks = upward_ranks(problem)
    upward = "108 77 80 80 69 63.3333 42.6667 35.6667 44.3333 14.6667"
    assert " ".join(f"{ranks[task]:.6g}" for task in range(10)) == upward
    RULES["heft"](problem)
    assert placed(problem) == "2@0 0@27 2@9 1@18 2@28 1@26 2@38 0@57 1@56 1@73"
    assert max(problem.end.values()) == 80.0


def test_the_reference_makes_the_schedule_of_the_peft_paper() -> None:
    """Its tables 1 and 2, of length 122, where HEFT's is 133."""
    problem = unrelated(PEFT_TIMES, PEFT_EDGES)
    table, ranks = optimistic_costs(problem), oct_ranks(problem)
    costs = times_of(
        "64 68 86 | 42 39 42 | 27 41 43 | 42 39 50 | 28 37 28 | 42 39 44 | 13 16 22 | 13 16 33 | 13 16 20 | 0 0 0"
    )
    assert [[table[task, core] for core in range(3)] for task in range(10)] == costs
    assert [round(ranks[task] * 3) for task in range(10)] == [218, 123, 111, 131, 93, 125, 51, 62, 49, 0]
    RULES["peft"](problem)
    assert placed(problem) == "0@0 0@29 0@51 0@22 2@35 1@29 0@83 1@54 2@81 1@106"
    assert max(problem.end.values()) == 122.0
    other = unrelated(PEFT_TIMES, PEFT_EDGES)
    RULES["heft"](other)
    assert max(other.end.values()) == 133.0


@pytest.mark.parametrize(
    ("find", "message"),
    [
        (
            lambda: scheduler("mapped:x=1", where="als"),
            r"^als: 'mapped:x=1'; allowed: mapped, which has no parameters$",
        ),
        (lambda: scheduler("heft:x=1", where="als"), r"^als: 'heft:x=1'; allowed: heft, which has no parameters$"),
        (lambda: loop_technique("mapped"), "^als='mapped': mapped is for graphs"),
        (lambda: loop_technique("heft"), "^als='heft': heft is for graphs"),
        (lambda: scheduler("heftt"), "^als='heftt': unknown application technique 'heftt'; known: heft, .*mapped"),
        (lambda: planner("hept", "--x"), "^--x: unknown planner 'hept'; known: heft, "),
    ],
)
def test_names_that_are_refused(find: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        find()
    assert loop_technique("gss") is TECHNIQUES["gss"]
    assert loop_technique("select:gss,fac").name.startswith("select")
    assert scheduler_name(MAPPED) == "mapped"


FAULTY = table_text(__file__, "faulty")


@pytest.mark.parametrize(("work", "floats", "none", "words"), table_rows(__file__, "a_faulty_planner_is_found_out"))
def test_a_faulty_planner_is_found_out_by_a_small_graph(
    tmp_path: Path, work: str, floats: str, none: str, words: str
) -> None:
    if not jit_enabled() and ("outside" in words or "inf" in words):
        pytest.skip("Python itself notices")
    file = tmp_path / "faulty.py"
    file.write_text(FAULTY.format(work=work, floats=floats, none=none), encoding="utf-8")
    if not words:
        assert planner(f"{file}:A").name == "a"
        return
    with pytest.raises(PluginError, match="planner a: .*" + re.escape(words)):
        planner(f"{file}:A")


def _takes_too_much(problem: PlanningProblem, params: Array) -> int:
    return 0


def _no_kernel(*arguments: object) -> int:
    return 0


def test_a_rule_must_be_a_kernel_of_its_arguments() -> None:
    with pytest.raises(InputError, match="_takes_too_much takes 2 arguments; allowed: problem"):
        planner_kernel(_takes_too_much)
    with pytest.raises(InputError, match="planner a: floats must be a function, not 3"):
        Planner("a", _no_kernel, "", 3, lambda n, e, p: 0)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="planner a: params 'x'; allowed: numbers"):
        Planner("a", _no_kernel, "", lambda n, e, p: 0, lambda n, e, p: 0, params="x")  # type: ignore[arg-type]
    if jit_enabled():
        with pytest.raises(PluginError, match=r"planner a: .*; decorate plan with planner_kernel"):
            try_out(Planner("a", _no_kernel, "", lambda n, e, p: 0, lambda n, e, p: 0))


@pytest.mark.parametrize("name", [*TECHNIQUES, *PLANNERS, "mapped"])
def test_names_and_their_owners(name: str) -> None:
    found = scheduler(name)
    assert found.name == (TECHNIQUES[name].name if name in TECHNIQUES else name)
    assert scheduler(scheduler_name(found) or "") is found
