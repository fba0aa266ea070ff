"""Graphs in applications: what may be given, parts in sequence, and properties of every graph."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from applications import lengths
from graph_scenarios import GraphScenario, graph_scenarios, some_edges
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from inside import column, number
from reference.graph_records import edges_of, graph_ran
from reference.planning import RULES, related, upward_ranks
from refusing import refusals
from test_planners import HEFT_EDGES, HEFT_TIMES, PEFT_EDGES, PEFT_TIMES, order_of

from als.application import ApplicationSimulator
from als.application_parts import Edges, GraphPart
from als.metrics import GRAPH_METRICS
from als.metrics.graphs import measure_graph
from als.metrics.loops import by_name
from als.network import network_model, network_state
from als.planners import PLANNERS
from als.planners.contract import MAPPED
from als.techniques import Technique, technique
from als.workers import WorkerKind, WorkerSlots
from traces.base.errors import InputError

DATA = Path(__file__).with_name("data")


def test_the_published_graphs_take_as_long_as_published() -> None:
    """Figures 1 of the papers of HEFT and PEFT: a time on each of three processors; an edge takes as long as it has bytes."""
    takes = {}
    graphs = {"heft": (HEFT_TIMES, HEFT_EDGES), "peft": (PEFT_TIMES, PEFT_EDGES)}
    for graph, (times, edges) in graphs.items():
        given = edges_of([(*pair, size) for pair, size in edges.items()])
        kinds, number = (WorkerKind(name="second"), WorkerKind(name="third")), np.arange(3)
        for name in ("heft", "peft") if graph == "peft" else ("heft",):
            application = ApplicationSimulator(
                [row[0] for row in times],
                [1.0] * 3,
                PLANNERS[name],
                edges=given,
                core_host=[0, 1, 2],
                network=network_state(network_model("hockney"), "full", hosts=3, bandwidth_gbps=8e-9, latency_ns=0.0),
                workers=WorkerSlots(kinds, number, number - 1, gflop=np.array(times).T),
            )
            assert application.advance()
            takes[graph, name] = application.end_ns / 1e9
    assert takes == {("heft", "heft"): 80.0, ("peft", "heft"): 133.0, ("peft", "peft"): 122.0}


#: None of them learns or draws, and so none remembers anything of a part.
LOOPS = ("ss", "gss", "static", "fac", "static-steal", "mfac")
GRAPHS = (*LOOPS, "heft", "min-min", "critical-path", "hosts", "cores")


@dataclass(frozen=True)
class Part:
    """One of the parts: ``scheduler`` as of a GraphScenario; a loop, or None: serial, where ``graph`` is false."""

    scheduler: str | None
    graph: bool
    lengths: list[float]
    edges: list[tuple[int, int, float]]
    mapped: tuple[int, ...] = ()

    def kind(self, machine: GraphScenario) -> GraphPart | Technique | None:
        if self.graph:
            assert self.scheduler is not None
            rank = machine.by_rank and self.scheduler not in PLANNERS
            return replace(machine, scheduler=self.scheduler, mapped=self.mapped, by_rank=rank).part()
        return None if self.scheduler is None else technique(self.scheduler)


def application(
    machine: GraphScenario, parts: Sequence[Part], speeds: Sequence[float], start: int
) -> ApplicationSimulator:
    """These parts on the scenario's machine."""
    edges = [edges_of(part.edges) for part in parts]
    first = np.cumsum([0, *(len(part.edges) for part in parts)])
    columns = [np.concatenate([getattr(one, name) for one in edges]) for name in ("source", "target", "bytes")]
    return ApplicationSimulator(
        [gflop for part in parts for gflop in part.lengths],
        speeds,
        phases=[part.kind(machine) for part in parts],
        part_tasks=[len(part.lengths) for part in parts],
        start_ns=start,
        overhead_ns=machine.overhead,
        latency_ns=machine.latency,
        master=machine.master,
        edges=Edges(first, *columns) if any(part.graph for part in parts) else None,
        core_host=machine.core_host,
        network=machine.platform.state(),
    )


@st.composite
def part(draw: st.DrawFn, machine: GraphScenario) -> Part:
    """A graph, or a loop, or a serial part."""
    what = draw(st.sampled_from(("graph", "graph", "graph", "loop", "serial")))
    n = 1 if what == "serial" else draw(st.integers(1, 8))
    works = draw(st.lists(lengths, min_size=n, max_size=n))
    if what != "graph":
        return Part(None if what == "serial" else draw(st.sampled_from(LOOPS)), False, works, [])
    scheduler = draw(st.sampled_from(GRAPHS))
    mapped: tuple[int, ...] = ()
    if scheduler in ("hosts", "cores"):
        places = sorted(set(machine.core_host)) if scheduler == "hosts" else range(len(machine.speeds))
        mapped = tuple(draw(st.lists(st.sampled_from(places), min_size=n, max_size=n)))
    return Part(scheduler, True, works, draw(some_edges(n)), mapped)


def alone(
    machine: GraphScenario, one: Part, speeds: list[float], start: int, stop: int | None
) -> tuple[ApplicationSimulator, int]:
    """A part, followed by a serial one, up to its beginning or the stop; and that instant.

    ``speeds`` become what they are then.
    """
    found = application(machine, [one, Part(None, False, [1e-9], [])], speeds, start)
    for at, core, speed in machine.changes:
        now = machine.start + at
        if now < start or (stop is not None and now >= stop):
            continue
        found.advance(now)
        if number(found.state, "part") > 0:
            break
        found.set_speed(speed, core)
        speeds[core] = speed
    if number(found.state, "part") > 0 or stop is None:
        found.advance()
    else:
        found.run_to_stop(stop)
    return found, int(found.state.start_ns[-1])


@settings(max_examples=150)
@given(
    data=st.data(),
    machine=graph_scenarios(schedulers=st.just("ss"), max_tasks=1),
    pauses=st.lists(st.integers(0, 300), max_size=3),
    steps=st.integers(1, 2),
)
def test_a_part_is_as_if_alone_from_where_it_begins(
    data: st.DataObject, machine: GraphScenario, pauses: list[int], steps: int
) -> None:
    phases = data.draw(st.lists(part(machine), min_size=1, max_size=3))
    parts = list(phases)
    for _ in range(steps - 1):
        # The same phases with other tasks and edges.
        parts += [
            replace(
                one,
                lengths=data.draw(st.permutations(one.lengths)),
                edges=data.draw(some_edges(len(one.lengths))) if one.graph else [],
            )
            for one in phases
        ]
    stop = None if machine.stop is None else machine.start + machine.stop
    whole = application(machine, parts, machine.speeds, machine.start)
    try:
        for at in sorted({at for at, _, _ in machine.changes} | set(pauses)):
            if stop is None or machine.start + at < stop:
                whole.advance(machine.start + at)
                for change, core, speed in machine.changes:
                    if change == at:
                        whole.set_speed(speed, core)
        if stop is None:
            whole.advance()
        else:
            whole.run_to_stop(stop)
        compare(machine, parts, whole, stop)
    except InputError:
        reject()  # all cores are lost


def compare(machine: GraphScenario, parts: list[Part], whole: ApplicationSimulator, stop: int | None) -> None:
    state, speeds, start = whole.state, list(machine.speeds), machine.start
    task = edge = chunks = ran = busy = waited = 0
    over = False
    for one in parts:
        tasks, edges = slice(task, task + len(one.lengths)), slice(edge, edge + len(one.edges))
        task, edge = tasks.stop, edges.stop
        if over:
            assert set(state.start_ns[tasks].tolist()) == {-1}
            assert set(state.graph.sent_ns[edges].tolist()) <= {-1}
            continue
        found, start = alone(machine, one, speeds, start, stop)
        n = len(one.lengths)
        for name in ("start_ns", "end_ns", "core"):
            assert getattr(state, name)[tasks].tolist() == getattr(found.state, name)[:n].tolist(), name
        chunk = found.state.chunk[:n]
        assert state.chunk[tasks].tolist() == np.where(chunk < 0, -1, chunk + chunks).tolist()
        if one.graph:
            assert state.graph.sent_ns[edges].tolist() == found.state.graph.sent_ns.tolist()
            assert state.graph.arrived_ns[edges].tolist() == found.state.graph.arrived_ns.tolist()
            waited += number(found.state, "graph.wait_ns")
        over = start < 0
        assert over or start >= found.state.end_ns[:n].max()
        dummy = found.state.end_ns[-1] - start if start >= 0 else 0
        chunks += found.chunks - (start >= 0)
        busy += int(found.state.cores.busy_ns.sum()) - int(dummy)
        ran += found.ran if over else n
        if over and one is not parts[-1]:
            assert state.cores.finish_ns.max() == stop
    if state.graph.exists:
        assert number(state, "graph.wait_ns") == waited
    assert whole.chunks == chunks
    assert int(state.cores.busy_ns.sum()) == busy
    assert whole.ran == ran


SS = technique("ss")


def edges(*pairs: tuple[int, int], first: tuple[int, ...] | None = None, n_bytes: float = 0.0) -> Edges:
    """Edges of one part, or of parts from ``first`` on."""
    source, target = (np.array([pair[end] for pair in pairs], np.int64) for end in (0, 1))
    return Edges(
        np.array((0, len(pairs)) if first is None else first), source, target, np.full(len(pairs), float(n_bytes))
    )


def small_application(n: int = 4, cores: int = 2, **given: Any) -> ApplicationSimulator:
    """``n`` tasks of 1 GFLOP on cores of 1 GFLOP/s."""
    return ApplicationSimulator([1.0] * n, [1.0] * cores, **{"phases": [GraphPart(SS)]} | given)


@pytest.mark.parametrize("scheduler", [SS, PLANNERS["heft"]], ids=lambda one: one.name)
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (edges((1, 1)), "edges: part 0: the task 1 waits for itself"),
        (edges((0, 1), (1, 0)), "edges: part 0: the tasks 0 -> 1 -> 0 wait for each other"),
        (edges((0, 1), (1, 2), (2, 3), (3, 1)), "edges: part 0: the tasks 1 -> 2 -> 3 -> 1 wait for each other"),
    ],
)
def test_cycles_are_refused_by_name(scheduler: Any, given: Edges, message: str) -> None:
    with pytest.raises(InputError) as caught:
        small_application(phases=[GraphPart(scheduler)], edges=given)
    assert str(caught.value) == message


undisturbed = graph_scenarios(lost=False, changing=False, max_tasks=16)


@settings(max_examples=120)
@given(scenario=undisturbed)
def test_no_sooner_than_the_critical_path_and_all_cores_allow(scenario: GraphScenario) -> None:
    application = scenario.application()
    assert application.advance()
    run = graph_ran(application)
    took = run.end - scenario.start
    longest = [Fraction(0)] * len(scenario.lengths)
    for k, gflop in enumerate(scenario.lengths):
        longest[k] = Fraction(gflop) + max([longest[a] for a, b, _ in scenario.edges if b == k], default=Fraction(0))
    n, fastest, work = len(scenario.lengths), max(scenario.speeds), sum(map(Fraction, scenario.lengths))
    assert took >= float(max(longest)) / fastest * 1e9 - n
    assert took >= float(work) / sum(scenario.speeds) * 1e9 - n
    assert sum(run.busy) == sum(row.end - row.start for row in run.tasks if row is not None)
    # And what is said of it.
    values = np.empty(len(GRAPH_METRICS))
    measure_graph(values, application.state, scenario.start, run.end, max(scenario.speeds), False)
    found = by_name(GRAPH_METRICS, values)
    assert found["critical_path_ns"] == pytest.approx(float(max(longest)) / fastest * 1e9)
    assert found["parallelism"] == pytest.approx(float(work / max(longest)))
    assert found["slr"] == pytest.approx(took / found["critical_path_ns"])
    assert found["speedup"] == pytest.approx(float(work) / fastest * 1e9 / took)
    host = [scenario.core_host[row.core] for row in run.tasks if row is not None]
    across = [n for a, b, n in scenario.edges if host[a] != host[b] and n > 0 and scenario.platform.model != "none"]
    assert found["transfers"] == len(across)
    assert found["transfer_bytes"] == pytest.approx(sum(across))
    assert found["transfer_wait_ns"] == run.transfer_wait


@settings(max_examples=80)
@given(scenario=graph_scenarios(schedulers=st.sampled_from(("ss", "ss", *PLANNERS)), changing=False))
def test_order_and_plan_are_those_of_the_ranks(scenario: GraphScenario) -> None:
    state, n = scenario.application().state, len(scenario.lengths)
    place, planned = (column(state, f"graph.tasks.{name}").tolist() for name in ("position", "plan"))
    latency, across, within = (float(cost) for cost in state.graph.costs[:3])
    network, several = scenario.platform.reference(), len(set(scenario.core_host)) > 1
    if network.kind == "none":
        assert (latency, across, within) == (0, 0, 0)
    else:
        seconds, bandwidth = scenario.platform.latency * 1e-9, scenario.platform.bandwidth * 1e9
        if network.kind == "sharing" and seconds > 0:
            bandwidth = min(bandwidth, network.gamma / (2 * seconds))
        assert latency == pytest.approx(network.latency_factor * seconds if several else 0)
        assert across == pytest.approx(1 / (network.bandwidth_factor * bandwidth) if several else 0)
        assert within == pytest.approx(1 / (network.bandwidth_factor * network.memory) if network.memory else 0)
    if not any(scenario.speeds):
        return
    edges = {(a, b): n_bytes for a, b, n_bytes in scenario.edges}
    order = order_of(n, edges)
    at = {task: at for at, task in enumerate(order)}
    problem = related(scenario.lengths, edges, scenario.speeds, scenario.core_host, (latency, across, within), order)
    if scenario.scheduler in PLANNERS:
        RULES[scenario.scheduler](problem)
        assert planned == [problem.core[k] for k in range(n)]
        expected = sorted(range(n), key=lambda k: (problem.begin[k], at[k]))
    elif scenario.by_rank:
        ranks = upward_ranks(problem)
        expected = sorted(range(n), key=lambda k: (-ranks[k], at[k]))
    else:
        expected = list(range(n))
    assert [expected.index(k) for k in range(n)] == place


def test_it_ends_no_sooner_than_the_bound() -> None:
    met = []

    @settings(max_examples=60)
    @given(scenario=undisturbed, instants=st.lists(st.integers(0, 300), max_size=6))
    def check(scenario: GraphScenario, instants: list[int]) -> None:
        application, said = scenario.application(), []
        for instant in sorted(instants):
            if application.advance(scenario.start + instant):
                break
            said.append((application.not_before_ns, application.only_messages))
        application.advance()
        last = int(application.state.end_ns.max())
        for (instant, only), at in zip(said, sorted(instants), strict=False):
            assert instant <= max(last, scenario.start + at)
            assert only == (last < scenario.start + at)
            met.append(instant)

    check()
    assert len(met) > 20


def against_the_edges() -> object:
    """A core's tasks follow one another by number, and the first waits for the second."""
    mapped = GraphPart(MAPPED, core=np.zeros(2, np.int64))
    return small_application(2, 1, phases=[mapped], edges=edges((1, 0))).advance()


def endless() -> object:
    return ApplicationSimulator([1.0, 1e12, 2.0], [1e-6], phases=[GraphPart(SS)], edges=edges((0, 1))).advance()


def narrower_on_a_network() -> object:
    net = network_state(network_model("hockney"), "full", hosts=8, bandwidth_gbps=8, latency_ns=0)
    return small_application(3, network=net).resize(taken=[0])


test_bad_input_is_refused = refusals(
    __file__,
    {"applications": lambda given: small_application(**given), "parts": GraphPart, "runs": lambda run: run()},
    {
        "applications": [
            ({"edges": edges((0, 4))}, "edges: one is to or from a task that is not in its part"),
            ({"edges": edges((-1, 2))}, "edges: one is to or from a task that is not in its part"),
            ({"edges": edges((1, 2), (0, 2))}, "edges: allowed: sorted by"),
            ({"edges": edges((0, 2), (0, 2))}, "edges: allowed: sorted by .* none twice"),
            ({"edges": edges((0, 2), n_bytes=-1)}, "edges: allowed: 1 targets, and bytes from 0 on, finite"),
            ({"edges": edges((0, 2), n_bytes=np.nan)}, "edges: allowed: 1 targets, and bytes from 0 on, finite"),
            ({"edges": edges((0, 2), first=(0, 1, 1))}, r"edges\.first: .*; allowed: 2 numbers from 0 to 1, ascending"),
            ({"edges": edges((0, 2), first=(1, 1))}, r"edges\.first"),
            ({"phases": [SS], "edges": edges((0, 2))}, "edges: given, but no part is a graph"),
            ({"phases": [SS, GraphPart(SS)], "part_tasks": (2, 2), "edges": edges((0, 1), first=(0, 1, 1))},
             "edges: part 0 has 1; allowed: none, as it is no graph"),
            ({"edges": edges(), "core_host": [0]}, "core_host: allowed: a host for each of 2 cores, 0 to 0"),
            ({"edges": edges(), "core_host": [0, 1]}, "core_host: allowed: a host for each of 2 cores, 0 to 0"),
            ({"phases": [GraphPart(MAPPED, core=np.array([0, 1, 2, 0]))]}, "mapped: task 2 is for core 2; allowed: 0 to 1"),
            ({"phases": [GraphPart(MAPPED, host=np.array([0, 1, 0, 0]))]}, "mapped: task 1 is for host 1; allowed: [0]"),
            ({"phases": [GraphPart(MAPPED, host=np.array([0]))]}, "mapped: 1 places; allowed: one for each of 4 tasks"),
        ],
        "parts": [
            (technique("select:gss,fac"), "select:gss,fac: looks ahead to the end of a loop"),
            (MAPPED, "host, core: allowed: one of them with mapped"),
            (SS, False, np.zeros(1), "host, core: allowed: one of them with mapped, and with nothing else"),
            (PLANNERS["heft"], True, "by_rank: not with heft, which has an order of its own"),
        ],
        "runs": [
            (against_the_edges, "mapped: the order of the cores' tasks contradicts the edges, with 2 tasks left"),
            (endless, r"last simulated instant, \d+ ns; its longest task, 1, has 1e\+12 GFLOP"),
            (narrower_on_a_network, "resize: a graph whose data take time on a network; allowed: no network"),
        ],
    },
)  # fmt: skip


@pytest.mark.parametrize("fine", [1, 10**6])
def test_graphs_with_a_work_on_each_kind_are_simgrids(fine: int) -> None:
    """Where each core runs its tasks by number, and data cross a network; how SimGrid did is written in the file. In fs, all
    instants are equal to 1e-9; in ns, each task or transfer on the way to one may have been rounded."""
    for case in json.loads((DATA / "simgrid_unlike.json").read_text(encoding="utf-8"))["cases"]:
        net = network_state(
            network_model("lv08"),
            "full",
            hosts=case["hosts"],
            bandwidth_gbps=case["bandwidth_gbps"] / fine,
            latency_ns=case["latency_ns"] * fine,
        )
        kind, n = np.array(case["kind"]), len(case["core"])
        kinds = [WorkerKind(name=f"k{k}") for k in (1, 2)]
        device = np.where(kind > 0, np.cumsum(kind > 0) - 1, -1)
        application = ApplicationSimulator(
            case["work"][0],
            np.array(case["speed"]) / fine,
            phases=[GraphPart(MAPPED, core=np.array(case["core"]))],
            edges=edges_of([(a, b, float(n_bytes)) for a, b, n_bytes in case["edges"]]),
            core_host=np.arange(len(kind)) // case["cores"],
            network=net,
            workers=WorkerSlots(tuple(kinds), kind, device, gflop=np.array(case["work"])),
        )
        assert application.advance()
        off = 0.1 if fine > 1 else 2.0 * n
        for ours, theirs in ((application.state.start_ns, "start_s"), (application.state.end_ns, "end_s")):
            assert np.abs(ours / fine - np.array(case[theirs]) * 1e9).max() < off
