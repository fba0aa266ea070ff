"""Random graphs on networks, and the engine's records in the words of the slow reference."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
from applications import NAMES, Happening, any_times, lengths, released, some_resizes, some_times
from hypothesis import strategies as st
from inside import column
from reference.application import AllLost, TasksLeft
from reference.graph_records import edges_of, graph_ran, planned, planning_again
from reference.graph_run import GraphRun, run_graph
from reference.graph_ways import Plan
from reference.sharing import Link, Network

from als.application import ApplicationSimulator
from als.application_parts import GraphPart
from als.network import SharingModel, network_model, network_state
from als.network.state import NetworkState
from als.planners import PLANNERS, planner
from als.planners.contract import MAPPED
from als.techniques import technique
from als.workers import WorkerKind, WorkerSlots

#: Hosts of the machine.
HOSTS = 4

#: A byte per ns.
GBPS = 8.0

MODELS = ("none", "hockney", "cm02", "cm02:crosstraffic=no", "lv08", "lv08:crosstraffic=no")
TOPOLOGIES = ("full", "shared", "star")


@dataclass(frozen=True)
class Platform:
    """A network by its names; latency in ns, memory in bytes/ns."""

    model: str = "none"
    topology: str = "full"
    latency: float = 0.0
    memory: float | None = None
    bandwidth: float = 1.0  # bytes/ns

    def state(self) -> NetworkState:
        return network_state(
            network_model(self.model),
            self.topology,
            hosts=HOSTS,
            bandwidth_gbps=GBPS * self.bandwidth,
            latency_ns=self.latency,
            memory_gbps=None if self.memory is None else GBPS * self.memory,
        )

    def route(self, a: int, b: int) -> list[Link]:
        bandwidth, latency = 1e9 * self.bandwidth, self.latency * 1e-9
        if self.topology == "star":
            return [(("up", a), bandwidth, latency / 2), (("down", b), bandwidth, latency / 2)]
        key = (a, b) if self.topology == "full" else (min(a, b), max(a, b))
        return [(key, bandwidth, latency)]

    def reference(self) -> Network:
        model = network_model(self.model)
        memory = None if self.memory is None else 1e9 * self.memory
        if not isinstance(model, SharingModel):
            return Network(self.model, self.route, memory=memory)
        factors = (model.latency_factor, model.bandwidth_factor, model.weight_s, model.gamma, model.crosstraffic)
        return Network("sharing", self.route, *factors, memory)


@dataclass(frozen=True)
class GraphScenario(Happening):
    """A graph and its machine; other widths only with a technique or a planner, on one host, without a network.

    ``scheduler`` is the name of a technique or a planner, or ``hosts`` or ``cores``, by which the tasks are then mapped.
    """

    lengths: list[float]
    edges: list[tuple[int, int, float]]
    speeds: list[float]
    core_host: list[int]
    scheduler: str = "ss"
    mapped: tuple[int, ...] = ()
    by_rank: bool = False
    platform: Platform = Platform()
    works: tuple[tuple[float, ...], ...] = ()  #: of each task on each core; none: ``lengths``
    job: int = field(default=1, kw_only=True)

    @property
    def by_technique(self) -> bool:
        """Whether cores ask."""
        return self.scheduler not in PLANNERS and self.scheduler not in ("hosts", "cores")

    def part(self) -> GraphPart:
        if self.scheduler in ("hosts", "cores"):
            return GraphPart(MAPPED, self.by_rank, **{self.scheduler[:-1]: np.array(self.mapped, np.int64)})
        if self.scheduler in PLANNERS:
            return GraphPart(planner(self.scheduler))
        return GraphPart(technique(self.scheduler), self.by_rank)

    def work(self) -> dict[str, Any]:
        given = {"lengths_gflop": self.lengths, "core_speed_gflops": self.speeds, "core_host": self.core_host}
        if self.works:
            kinds = tuple(WorkerKind(name=f"w{core}") for core in range(1, len(self.speeds)))
            number = np.arange(len(self.speeds))
            given["workers"] = WorkerSlots(kinds, number, number - 1, gflop=np.array(self.works, np.float64).T)
        return given | {"phases": [self.part()], "edges": edges_of(self.edges), "network": self.platform.state()}

    def records(self, application: ApplicationSimulator) -> GraphRun:
        return replace(graph_ran(application), released=released(application))

    def expected(self) -> GraphRun | str:
        """The reference's result; a word if it cannot end. Order and plan are those of the engine."""
        state = self.application().state
        position, cores = (column(state, f"graph.tasks.{name}").tolist() for name in ("position", "plan"))
        by_plan = self.scheduler in PLANNERS or self.scheduler == "cores"
        if self.scheduler == "cores":
            cores = list(self.mapped)
        if by_plan and min(cores) < 0:
            cores = [self.speeds.index(0.0) if c < 0 else c for c in cores]  # all are lost
        places = position
        if self.resizes and by_plan:
            cores, places = zip(*planned(self.scheduler, self.lengths, self.edges, self.speeds), strict=True)
        try:
            return run_graph(
                self.lengths,
                sorted(self.edges),
                self.speeds,
                self.core_host,
                self.platform.reference(),
                technique=self.scheduler if self.by_technique else "",
                plan=Plan(cores, places) if by_plan else None,
                mapped=self.mapped if self.scheduler == "hosts" else None,
                order=position,
                overhead_ns=self.overhead,
                latency_ns=self.latency or (),
                master=self.master,
                speed_changes=[(self.start + at, core, speed) for at, core, speed in self.changes],
                start_ns=self.start,
                stop_ns=None if self.stop is None else self.start + self.stop,
                seed=self.seed,
                job=1,
                works=self.works,
                resizes=[replace(one, at=self.start + one.at) for one in self.resizes],
                replan=planning_again(self.scheduler, self.lengths, self.edges) if self.resizes else None,
            )
        except TasksLeft:
            return "tasks left"
        except AllLost:
            return "all lost"


def without_chunk_numbers(run: GraphRun, *, ordered: bool = True) -> GraphRun:
    """The same where every task is a chunk: a core's are numbered as they begin, if it stays, others in between."""
    tasks = [task for task in run.tasks if task is not None]
    assert not ordered or len({task.chunk for task in tasks}) == len(tasks)
    in_order = sorted(tasks, key=lambda task: (task.core, task.chunk))
    assert not ordered or all(one.start < other.start for one, other in pairwise(in_order) if one.core == other.core)
    return replace(run, tasks=[None if task is None else replace(task, chunk=0) for task in run.tasks])


@st.composite
def platforms(draw: st.DrawFn) -> Platform:
    """Any network; where a latency is a whole number, transfers and tasks end together."""
    return Platform(
        draw(st.sampled_from(MODELS)),
        draw(st.sampled_from(TOPOLOGIES)),
        draw(st.sampled_from((0.0, 1.0, 5.3))),
        draw(st.sampled_from((None, None, 4.0))),
    )


@st.composite
def some_edges(draw: st.DrawFn, n_tasks: int) -> list[tuple[int, int, float]]:
    """Each from a lower to a higher task; a third are order only."""
    pairs = st.tuples(st.integers(0, n_tasks - 1), st.integers(0, n_tasks - 1)).filter(lambda pair: pair[0] < pair[1])
    found = draw(st.lists(pairs, max_size=3 * n_tasks, unique=True)) if n_tasks > 1 else []
    # Hardly any instant is half way between two ns, where the last digit of a float would count.
    size = st.just(0.0) | st.integers(1, 60).map(lambda k: k * 0.977) | st.sampled_from((1.0, 40.0))
    return [(a, b, draw(size)) for a, b in sorted(found)]


@st.composite
def graph_scenarios(
    draw: st.DrawFn,
    *,
    schedulers: st.SearchStrategy[str] = st.sampled_from((*NAMES, *PLANNERS, "hosts", "cores")),  # noqa: B008
    lost: bool = True,
    changing: bool = True,
    max_tasks: int = 14,
) -> GraphScenario:
    """Up to six cores on up to four hosts; ``lost``: whether some may be late, lost and return."""
    n_cores, n_tasks = draw(st.integers(1, 6)), draw(st.integers(1, max_tasks))
    scheduler = draw(schedulers)
    hosts = st.integers(0, HOSTS - 1)
    core_host = draw(st.lists(hosts, min_size=n_cores, max_size=n_cores))
    mapped: tuple[int, ...] = ()
    if scheduler in ("hosts", "cores"):
        places = st.sampled_from(sorted(set(core_host))) if scheduler == "hosts" else st.integers(0, n_cores - 1)
        mapped = tuple(draw(st.lists(places, min_size=n_tasks, max_size=n_tasks)))
    of_core = st.sampled_from((0.0, 0.5, 1.0, 2.0, 3.3)) if lost else st.sampled_from((0.5, 1.0, 2.0, 3.3))
    cores, instants = st.integers(0, n_cores - 1), st.integers(0, 200)
    changes = (
        draw(st.lists(st.tuples(instants, cores, of_core), max_size=8)) if changing and draw(st.booleans()) else []
    )
    at_first = st.sampled_from((0.0, 1.0, 1.0, 2.0)) if lost else st.sampled_from((1.0, 2.0, 0.5, 3.0))
    by_rank = scheduler not in PLANNERS and draw(st.booleans())
    return GraphScenario(
        draw(st.lists(lengths, min_size=n_tasks, max_size=n_tasks)),
        draw(some_edges(n_tasks)),
        draw(st.lists(at_first, min_size=n_cores, max_size=n_cores)),
        core_host,
        scheduler,
        mapped,
        by_rank,
        draw(platforms()),
        **any_times(draw, n_cores, 10**9, 200 if changing else None),
        changes=tuple(sorted(changes, key=lambda change: change[0])),
    )


def crowded_graph(seed: int, names: Sequence[str] = (*NAMES, *PLANNERS, *PLANNERS)) -> GraphScenario:
    chance = Random(seed)
    n_cores, n_tasks = chance.randint(1, 5), chance.randint(1, 16)
    pairs = [(a, b) for a in range(n_tasks) for b in range(a + 1, n_tasks)]
    some = chance.sample(pairs, min(len(pairs), chance.choice((0, n_tasks // 2, n_tasks, 2 * n_tasks))))
    last, scheduler = 30 * n_tasks // n_cores + 20, chance.choice(names)
    return GraphScenario(
        [chance.choice((1, 1, 2, 3)) * 1e-8 * chance.choice((0.7, 1.0)) for _ in range(n_tasks)],
        sorted((a, b, chance.choice((0.0, 3.0))) for a, b in some),
        [chance.choice((0.5, 1.0, 2.0)) for _ in range(n_cores)],
        [0] * n_cores,
        scheduler,
        by_rank=scheduler not in PLANNERS and chance.random() < 0.3,
        **some_times(chance, n_cores, last, last + 20),
        seed=seed,
        resizes=some_resizes(chance, n_cores, last),
    )
