"""Task graphs whose width changes while they run: by hand, and against the slow reference."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from applications import NAMES
from graph_scenarios import Platform
from reference.application import AllLost, Resize, TasksLeft
from reference.graph_records import edges_of, graph_ran, planned, planning_anew
from reference.graph_run import GraphRun, run_graph
from reference.graph_ways import Plan
from reference.sharing import Network
from test_widths import driven

from als.application import Application
from als.engine.dag import state as g
from als.engine.dag.parts import GraphPart
from als.planners import PLANNERS, planner
from als.planners.mapped import MAPPED
from als.techniques import technique
from traces.base.errors import InputError

TEN = 1e-8  # GFLOP: ten nanoseconds at 1 GFLOP/s
NONE = Network("none")


def drawn(seed: int, names: tuple[str, ...] = (*NAMES, *PLANNERS, *PLANNERS)) -> tuple[dict[str, Any], dict[str, Any]]:
    """A graph, and what happens to it."""
    chance = random.Random(seed)
    n_cores, n_tasks, start = chance.randint(1, 5), chance.randint(1, 16), chance.choice((0, 1000))
    pairs = [(a, b) for a in range(n_tasks) for b in range(a + 1, n_tasks)]
    edges = chance.sample(pairs, min(len(pairs), chance.choice((0, n_tasks // 2, n_tasks, 2 * n_tasks))))
    span = 30 * n_tasks // n_cores + 20
    label = iter(range(100, 200))
    resizes: list[Resize[float]] = []
    for at in sorted({start + chance.randint(0, span) for _ in range(chance.randint(1, 4))}):
        labels = {
            chance.randrange(n_cores) if chance.random() < 0.3 else next(label)
            for _ in range(chance.choice((0, 1, 1, 2)))
        }
        given = tuple(
            (one, chance.choice((0.5, 1.0, 2.0, 0.0 if chance.random() < 0.2 else 1.0)), chance.choice((0, 3)))
            for one in sorted(labels)
        )
        taken = frozenset(chance.randint(0, n_cores + 1) for _ in range(chance.choice((0, 1, 1, 2))))
        resizes.append(Resize(at, given, taken, chance.choice((0, 0, 7))))
    changes: list[tuple[int, int, float]] = []
    if chance.random() < 0.5:
        some = [
            (start + chance.randint(0, span), chance.randrange(n_cores), chance.choice((0.0, 0.5, 1.0)))
            for _ in range(chance.randint(1, 4))
        ]
        changes = sorted({(at, core): (at, core, speed) for at, core, speed in some}.values())
    what = {
        "lengths": [chance.choice((1, 1, 2, 3)) * TEN * chance.choice((0.7, 1.0)) for _ in range(n_tasks)],
        "edges": sorted((a, b, 0.0 if chance.random() < 0.5 else 3.0) for a, b in edges),
        "speeds": [chance.choice((0.5, 1.0, 2.0)) for _ in range(n_cores)],
        "scheduler": chance.choice(names),
        "by_rank": chance.random() < 0.3,
        "start": start,
        "overhead": chance.choice((0, 2)),
        "latency": [chance.choice((0, 4)) for _ in range(n_cores)] if chance.random() < 0.4 else [0] * n_cores,
        "master": chance.random() < 0.3,
        "seed": seed,
    }
    stop = start + chance.randint(30, span + 20) if chance.random() < 0.2 else None
    return what, {"resizes": resizes, "changes": changes, "hints": [], "stop": stop}


def engine(what: dict[str, Any]) -> Application:
    named = what["scheduler"]
    part = GraphPart(planner(named)) if named in PLANNERS else GraphPart(technique(named), what["by_rank"])
    return Application(
        what["lengths"],
        what["speeds"],
        phases=[part],
        start_ns=what["start"],
        overhead_ns=what["overhead"],
        latency_ns=what["latency"],
        master=what["master"],
        edges=edges_of(what["edges"]),
        seed=what["seed"],
        job=1,
        max_cores=len(what["speeds"]) + 12,
    )


def expected(what: dict[str, Any], happens: dict[str, Any]) -> GraphRun | str:
    """What the reference makes of it."""
    lengths, edges, speeds, named = (what[key] for key in ("lengths", "edges", "speeds", "scheduler"))
    plan, order = None, engine(what).state.graph.tasks[g.POSITION].tolist()
    if named in PLANNERS:
        core, places = zip(*planned(named, lengths, edges, speeds), strict=True)
        plan = Plan(core, places)
    try:
        return run_graph(
            lengths,
            edges,
            speeds,
            [0] * len(speeds),
            NONE,
            technique="" if plan else named,
            plan=plan,
            order=order,
            overhead_ns=what["overhead"],
            latency_ns=what["latency"],
            master=what["master"],
            speed_changes=happens["changes"],
            start_ns=what["start"],
            stop_ns=happens["stop"],
            seed=what["seed"],
            job=1,
            resizes=happens["resizes"],
            replan=planning_anew(named, lengths, edges),
        )
    except TasksLeft:
        return "tasks left"
    except AllLost:
        return "all lost"


def rows(run: GraphRun, numbers: bool) -> list[tuple[int, ...] | None]:
    """Its tasks, with the numbers of chunks or without."""
    return [None if one is None else (one.chunk if numbers else 0, one.core, one.start, one.end) for one in run.tasks]


def differs(seed: int, names: tuple[str, ...] = (*NAMES, *PLANNERS, *PLANNERS)) -> str:
    """Why engine and reference differ, "" if they do not."""
    what, happens = drawn(seed, names)
    wanted = expected(what, happens)
    pauses = [random.Random(seed + 1).randint(0, 200) for _ in range(seed % 3)]
    application = engine(what)
    if not isinstance(wanted, str):  # what is decided while only messages are under way changes nothing
        happens["resizes"] = [one for one in happens["resizes"] if one.at + 1 <= wanted.end]
    how = driven(application, what["start"], happens, pauses)
    if isinstance(wanted, str) or how:
        return "" if how == wanted else f"{how!r}, and not {wanted!r}"
    found = graph_ran(application)
    numbers = what["scheduler"] not in PLANNERS
    released = [None if at == 2**63 - 1 else at for at in application.released_ns.tolist()]
    for name, one, other in (
        ("tasks", rows(found, numbers), rows(wanted, numbers)),
        ("finish", found.finish, wanted.finish),
        ("busy", found.busy, wanted.busy),
        ("chunks", found.chunks, wanted.chunks),
        ("released", released, wanted.released),
    ):
        if one != other:
            return f"{name}: {one}, and not {other}"
    return ""


@pytest.mark.parametrize("part", range(4))
def test_as_the_reference(part: int) -> None:
    for seed in range(part, 1200, 4):
        assert differs(seed) == "", seed


@pytest.mark.parametrize("part", range(2))
def test_those_that_choose_their_tasks_as_the_reference(part: int) -> None:
    for seed in range(2000 + part, 2300, 2):
        assert differs(seed, ("static-steal", "static-steal:chunk=2")) == "", seed


FORK = [(0, k, 0.0) for k in range(1, 7)]


def graph(n: int, edges: list[tuple[int, int, float]], scheduler: str, speeds: list[float], **said: Any) -> Application:
    """An application of one graph of tasks of 10 ns."""
    part = GraphPart(planner(scheduler) if scheduler in PLANNERS else technique(scheduler))
    return Application([TEN] * n, speeds, phases=[part], edges=edges_of(edges), **said)


@pytest.mark.parametrize("scheduler", ["ss", "heft"])
def test_a_core_that_comes_helps_at_once(scheduler: str) -> None:
    """Task 0 frees six more; one core is at the second of these as another comes, and the two share the other four."""
    application = graph(7, FORK, scheduler, [1.0], max_cores=2)
    application.advance(26)
    application.resize([(7, 1.0, 0)])
    application.validate()
    assert application.advance()
    asked, planned_anew = [26, 30, 36, 40], [30, 26, 40, 36]  # HEFT gives the first to the first core
    assert application.state.start_ns.tolist() == [0, 10, 20, *(asked if scheduler == "ss" else planned_anew)]
    assert sorted(application.state.core.tolist()) == [0, 0, 0, 0, 0, 7, 7]
    assert application.end_ns == 50


@pytest.mark.parametrize("scheduler", ["ss", "heft"])
def test_a_core_that_is_to_leave_ends_its_task(scheduler: str) -> None:
    """Core 1 would have computed tasks 4 and 6, too."""
    application = graph(7, FORK, scheduler, [1.0, 1.0])
    application.advance(16)
    application.resize(taken=[1])
    application.validate()
    assert application.advance()
    assert application.state.core.tolist() == [0, 0, 1, 0, 0, 0, 0]
    assert application.released_ns.tolist() == [2**63 - 1, 20]
    assert application.end_ns == 60


@pytest.mark.parametrize("scheduler", ["ss", "heft"])
def test_one_that_has_nothing_leaves_at_once(scheduler: str) -> None:
    application = graph(7, FORK, scheduler, [1.0, 1.0])
    application.advance(6)
    application.resize(taken=[1])
    assert application.advance()
    assert application.released_ns.tolist() == [2**63 - 1, 6]
    assert application.end_ns == 70


@pytest.mark.parametrize("scheduler", ["ss", "heft"])
def test_each_core_pays_once_for_a_change(scheduler: str) -> None:
    application = graph(6, [], scheduler, [1.0], max_cores=2)
    application.advance(16)
    application.resize([(7, 1.0, 0)], cost_ns=3)
    assert application.advance()
    assert sorted(application.state.start_ns.tolist()) == [0, 10, 19, 23, 29, 33]
    assert application.scheduling_ns == 6


def test_the_round_begins_anew_for_those_who_stay() -> None:
    """GSS on two cores: 4 of 8, and 2 of 4; as two more come, 2 are left: one for each of them."""
    application = graph(8, [], "gss", [1.0, 1.0], max_cores=4)
    application.advance(5)
    application.resize([(5, 1.0, 0), (6, 1.0, 0)])
    assert application.advance()
    assert application.state.core.tolist() == [0, 0, 0, 0, 1, 1, 5, 6]


@pytest.mark.parametrize("scheduler", ["ss", "heft"])
def test_the_last_core_stays(scheduler: str) -> None:
    """Core 1 is to leave; core 0 is lost for good meanwhile."""
    application = graph(4, [], scheduler, [1.0, 1.0])
    application.advance(6)
    application.resize(taken=[1])
    application.lose(0)
    application.validate()
    assert application.advance()
    assert application.state.core.tolist() == [1, 1, 1, 1]
    assert application.end_ns == 40


def test_a_graph_behind_a_loop_is_planned_for_those_who_stay() -> None:
    application = Application(
        [TEN] * 8, [1.0, 1.0], phases=[technique("ss"), planner("heft")], part_tasks=[4, 4], max_cores=3
    )
    application.advance(6)
    application.resize([(7, 1.0, 0)], [1])
    assert application.advance()
    assert application.state.core.tolist() == [0, 1, 7, 0, 0, 7, 0, 7]


def test_data_that_take_time_are_refused() -> None:
    application = graph(3, [], "ss", [1.0, 1.0], network=Platform("hockney").state())
    with pytest.raises(InputError, match="resize: a graph whose data take time on a network; allowed: no network"):
        application.resize(taken=[0])


def test_tasks_that_have_places_are_refused() -> None:
    application = Application([TEN] * 2, [1.0, 1.0], phases=[GraphPart(MAPPED, core=np.zeros(2, np.int64))])
    with pytest.raises(InputError, match="resize: a graph whose tasks have hosts or cores of their own, mapped"):
        application.resize(taken=[0])
