"""Applications of several parts, graphs and loops and serial ones: each part is as if it were alone from where it begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from applications import lengths
from graph_scenarios import GraphScenario, graph_scenarios, some_edges
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from reference.graph_records import edges_of

from als.application import Application
from als.engine import state as s
from als.engine.dag import state as g
from als.engine.dag.parts import Edges, GraphPart
from als.planners import PLANNERS
from als.techniques import Technique, technique
from traces.base.errors import InputError

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


def application(machine: GraphScenario, parts: Sequence[Part], speeds: Sequence[float], start: int) -> Application:
    """These parts on the scenario's machine."""
    edges = [edges_of(part.edges) for part in parts]
    first = np.cumsum([0, *(len(part.edges) for part in parts)])
    columns = [np.concatenate([getattr(one, name) for one in edges]) for name in ("source", "target", "bytes")]
    return Application(
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
) -> tuple[Application, int]:
    """A part, and a serial one behind it, up to where that begins or to the stop; and when that is.

    ``speeds`` become what they are then.
    """
    found = application(machine, [one, Part(None, False, [1e-9], [])], speeds, start)
    for at, core, speed in machine.changes:
        now = machine.start + at
        if now < start or (stop is not None and now >= stop):
            continue
        found.advance(now)
        if found.state.counters[s.PART] > 0:
            break
        found.set_speed(speed, core)
        speeds[core] = speed
    if found.state.counters[s.PART] > 0 or stop is None:
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


def compare(machine: GraphScenario, parts: list[Part], whole: Application, stop: int | None) -> None:
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
            waited += int(found.state.graph.numbers[g.WAIT_NS])
        over = start < 0
        assert over or start >= found.state.end_ns[:n].max()
        dummy = found.state.end_ns[-1] - start if start >= 0 else 0
        chunks += found.chunks - (start >= 0)
        busy += int(found.state.busy_ns.sum()) - int(dummy)
        ran += found.ran if over else n
        if over and one is not parts[-1]:
            assert state.finish_ns.max() == stop
    if state.graph.numbers.size:
        assert int(state.graph.numbers[g.WAIT_NS]) == waited
    assert whole.chunks == chunks
    assert int(state.busy_ns.sum()) == busy
    assert whole.ran == ran


def test_a_core_that_idles_behind_a_graph_may_change_its_speed() -> None:
    """A loop of two long tasks on two cores, a graph, and a serial part, in the middle of which the second core, which has
    nothing to do, changes its speed: what it had in the loop is none of its business any more."""
    found = Application(
        [1e-8, 1e-8, 1e-9, 1e-9, 5e-8],
        [1.0, 1.0],
        phases=[technique("ss"), GraphPart(technique("ss")), None],
        part_tasks=(2, 2, 1),
        edges=Edges(np.array([0, 0, 1, 1]), np.array([0]), np.array([1]), np.zeros(1)),
    )
    assert not found.advance(30)
    before = found.state.cores[s.HELD_FIRST : s.HELD_STOP + 1, 1].copy()
    assert before[0] == before[1]
    found.set_speed(2.0, core=1)
    assert found.advance()
    assert found.end_ns == 10 + 2 + 50
    assert found.state.busy_ns.sum() == 2 * 10 + 2 * 1 + 50
