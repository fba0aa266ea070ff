"""The parts of an application, loops and graphs, checked and converted for the engine."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from als.engine import state as s
from als.engine.dag import state as g
from als.engine.dag.state import Edges
from als.engine.hooks import graph_table
from als.engine.rule_table import RuleRows
from als.graphs.task_graph import TaskGraph
from als.network.state import NONE, NetworkState
from als.planners import Planner
from als.planners.contract import Mapped
from als.schedulers import AnyScheduler
from als.techniques import TECHNIQUES, Selection, Technique
from traces.base.errors import InputError, shown, whole
from traces.compiled import Array, own

if TYPE_CHECKING:
    from als.workers import WorkerSlots


@dataclass(frozen=True, eq=False)
class GraphPart:
    """A part that is a graph. Raises InputError if the attributes do not fit together."""

    scheduler: Technique | Selection | Planner | Mapped  #: the rule that assigns tasks to cores
    by_rank: bool = False  #: whether tasks wait by upward rank instead of by number; not with a planner
    host: Array | None = None  #: with ``Mapped``: int64 (n,), the host in the machine of each task
    #: with ``Mapped``, instead of hosts: int64 (n,), its core, counted within the job; tasks of a core run in order
    core: Array | None = None

    def __post_init__(self) -> None:
        if isinstance(self.scheduler, Selection):
            raise InputError(
                f"{self.scheduler.name}: looks ahead to the end of a loop; allowed with a graph: a technique"
            )
        mapped = isinstance(self.scheduler, Mapped)
        if mapped != ((self.host is None) != (self.core is None)):
            raise InputError("host, core: allowed: one of them with mapped, and with nothing else")
        if self.by_rank and isinstance(self.scheduler, Planner):
            raise InputError(f"by_rank: not with {self.scheduler.name}, which has an order of its own")

    @property
    def mode(self) -> int:
        """How tasks are assigned to cores, by ``als.engine.dag.state``."""
        if isinstance(self.scheduler, Mapped):
            return g.ON_CORES if self.host is None else g.ON_HOSTS
        return g.PLANNED if isinstance(self.scheduler, Planner) else g.BY_TECHNIQUE


def edges_of_parts(edges: Edges | None, kinds: Sequence[Any], part_first: Array) -> Edges:
    """Return the edges for kernels. Raises InputError if they do not fit these parts: unsorted, in a cycle, to or from an
    unknown task, or in a part that is not a graph."""
    none = np.zeros(0, np.int64)
    if edges is None:
        return Edges(np.zeros(len(part_first), np.int64), none, none, np.zeros(0))
    made = Edges(*map(own, edges, (np.int64, np.int64, np.int64, np.float64)))
    first, source, target, n_bytes = made
    n = len(source)
    if len(first) != len(part_first) or first[0] != 0 or first[-1] != n or (np.diff(first) < 0).any():
        raise InputError(f"edges.first: {shown(first)}; allowed: {len(part_first)} numbers from 0 to {n}, ascending")
    if len(target) != n or len(n_bytes) != n or not ((n_bytes >= 0) & np.isfinite(n_bytes)).all():
        raise InputError(f"edges: allowed: {n} targets, and bytes from 0 on, finite")
    part = np.repeat(np.arange(len(part_first) - 1), np.diff(first))
    tasks = np.diff(part_first)[part]
    if ((source < 0) | (source >= tasks) | (target < 0) | (target >= tasks)).any():
        raise InputError("edges: one is to or from a task that is not in its part")
    key = (part * (int(part_first[-1]) + 1) + source) * (int(part_first[-1]) + 1) + target
    if (np.diff(key) <= 0).any():
        raise InputError("edges: allowed: sorted by (source, target) in each part, none twice")
    for i in np.flatnonzero(np.diff(first)).tolist():
        if not isinstance(kinds[i % len(kinds)], GraphPart | Planner):
            raise InputError(f"edges: part {i} has {first[i + 1] - first[i]}; allowed: none, as it is no graph")
        producers, consumers = source[first[i] : first[i + 1]], target[first[i] : first[i + 1]]
        if (producers < consumers).all():
            continue
        try:
            TaskGraph(np.zeros(part_first[i + 1] - part_first[i]), producers, consumers, np.zeros(len(producers)))
        except InputError as error:
            raise InputError(f"edges: part {i}: {error.text.removeprefix('graph: ')}") from None
    return made


def graph_of(
    edges: Edges,
    kinds: Sequence[Any],
    part_first: Array,
    speed: Array,
    core_host: Array | list[int] | None,
    network: NetworkState,
    rules: RuleRows,
    room: int,
) -> g.GraphState:
    """Return the state of an application's graphs, with room for ``room`` cores; arguments as for
    ``als.application.ApplicationSimulator``. Raises InputError if a host or a core is invalid."""
    n_cores, n_tasks = len(speed), int(part_first[-1])
    machine_host = np.zeros(n_cores, np.int64) if core_host is None else own(core_host, np.int64)
    most = max(1, int(network.n_hosts))
    if machine_host.shape != speed.shape or not ((machine_host >= 0) & (machine_host < most)).all():
        raise InputError(f"core_host: allowed: a host for each of {n_cores} cores, 0 to {most - 1}")
    place = {host: at for at, host in enumerate(dict.fromkeys(machine_host.tolist()))}
    local = np.array([place[host] for host in machine_host.tolist()], np.int64)
    longest, most_edges = int(np.diff(part_first).max()), int(np.diff(edges.first).max(initial=0))
    hosts = np.pad(local, (0, room - n_cores)), np.array(list(place), np.int64)
    plan_room, given = rules.plan_room(longest, most_edges, room), _given(kinds, part_first, place, n_cores)
    hooks = graph_table(network.kind != NONE)
    return g.new_graph_state(edges, *hosts, network, hooks, n_tasks=n_tasks, plan_room=plan_room, given=given)


def _given(kinds: Sequence[Any], part_first: Array, hosts: dict[int, int], n_cores: int) -> Array | None:
    # The places of tasks of mapped parts.
    given = None
    for part in range(len(part_first) - 1):
        kind = kinds[part % len(kinds)]
        if not (isinstance(kind, GraphPart) and isinstance(kind.scheduler, Mapped)):
            continue
        if kind.host is None:
            what, places, allowed = "core", {core: core for core in range(n_cores)}, f"0 to {n_cores - 1}"
        else:
            what, places, allowed = "host", hosts, shown(sorted(hosts))
        wanted = own(kind.core if kind.host is None else kind.host, np.int64)
        first, stop = int(part_first[part]), int(part_first[part + 1])
        if len(wanted) != stop - first:
            raise InputError(f"mapped: {len(wanted)} places; allowed: one for each of {stop - first} tasks")
        given = np.zeros(int(part_first[-1]), np.int64) if given is None else given
        for k, where in enumerate(wanted.tolist()):
            if where not in places:
                raise InputError(f"mapped: task {k} is for {what} {where}; allowed: {allowed}")
            given[first + k] = places[where]
    return given


Kinds = Sequence[AnyScheduler | GraphPart | None]  #: the phases of an application, as given

MAX_CORES = 2**31 - 1  #: most cores of an application

#: The scheduler of a phase, whether it is a graph, and how its tasks are assigned and wait.
PhaseKey = tuple[AnyScheduler | None, bool, int, int]


def phase_key(kind: AnyScheduler | GraphPart | None) -> PhaseKey:
    """Return the data that determine the rules of a phase."""
    if isinstance(kind, GraphPart):
        return kind.scheduler, True, kind.mode, g.BY_RANK if kind.by_rank else 0
    return kind, isinstance(kind, Planner), g.PLANNED if isinstance(kind, Planner) else g.BY_TECHNIQUE, 0


@functools.lru_cache(maxsize=64)
def phase_rules(keys: tuple[PhaseKey, ...]) -> tuple[RuleRows, s.Phases]:
    """Return the rules of phases, and the phases for the state. Cached, since applications often share techniques."""
    schedulers = tuple(scheduler for scheduler, *_ in keys if scheduler is not None)
    rules = RuleRows(schedulers or (TECHNIQUES["ss"],))  # kernels read the first row even without loops
    rows = iter(rules.row)
    phases = [
        [s.SERIAL, 0, 0, 0] if scheduler is None else [s.GRAPH if is_graph else s.LOOP, next(rows), mode, order]
        for scheduler, is_graph, mode, order in keys
    ]
    return rules, s.Phases(*np.ascontiguousarray(np.array(phases, np.int64).T))


def unlike_parts(kinds: Kinds, workers: "WorkerSlots", speed: Array) -> Kinds:
    """Return the phases, with planners that know kinds of workers if tasks have a work on each. Raises InputError if a phase
    cannot run on these workers, or a task on none of them."""
    is_graph = [isinstance(kind, GraphPart | Planner) for kind in kinds]
    for worker in workers.kinds if any(is_graph) else ():
        if worker.changes_chunks:
            raise InputError(f"workers: {worker.name}: with a graph; allowed: count, speed and drivers alone")
    for place, mask in enumerate(() if workers.on is None else workers.on.tolist()[: len(kinds)]):
        needed = 1 if kinds[place] is None else 2 ** (len(workers.kinds) + 1) - 1 if is_graph[place] else 0
        if mask & needed != needed:
            raise InputError(
                f"workers: on: phase {place}: {mask}; allowed: cores in a serial part, all kinds in a graph"
            )
    if workers.gflop is None:
        return kinds
    if len(workers.gflop) != len(workers.kinds) + 1:
        raise InputError(f"workers: gflop: {len(workers.gflop)} rows; allowed: {len(workers.kinds) + 1}")
    able = np.isfinite(workers.gflop)
    there = able[np.unique(workers.kind[speed > 0])].any(axis=0)
    if not there.all():
        raise InputError(f"workers: task {int(np.argmin(there))} cannot run on any of the workers that are there")
    some = zip(kinds, is_graph, strict=True)
    return tuple(_knowing_kinds(kind, workers, able) if graph else kind for kind, graph in some)


def _knowing_kinds(kind: Any, workers: "WorkerSlots", able: Array) -> GraphPart | Planner:
    part = kind if isinstance(kind, GraphPart) else GraphPart(kind)
    scheduler = part.scheduler
    if isinstance(scheduler, Planner):
        if scheduler.unlike is None:
            raise InputError(f"planner {scheduler.name}: cannot plan tasks with a work on each kind of workers")
        return replace(part, scheduler=scheduler.unlike)
    if part.by_rank:
        raise InputError("by_rank: not with a work on each kind of workers; allowed: by number, or a planner")
    if not able.all():
        worker, task = np.argwhere(~able)[0].tolist()
        name = workers.kinds[worker - 1].name if worker else "cores"
        raise InputError(f"{scheduler.name}: task {task} cannot run on {name}; allowed: a planner")
    return part


def why_rigid(kinds: Kinds, network: NetworkState) -> str:
    """Return why an application of these phases cannot change its cores while it runs; empty if it can."""
    for kind in kinds:
        if isinstance(kind, GraphPart) and isinstance(kind.scheduler, Mapped):
            return "a graph whose tasks have hosts or cores of their own, mapped; allowed: techniques and planners"
    graphs = any(isinstance(kind, GraphPart | Planner) for kind in kinds)
    if graphs and network.kind != NONE:
        return "a graph whose data take time on a network; allowed: no network"
    return ""


def checked_wishes(given: Sequence[int], n_phases: int) -> Array:
    """Return the number of cores that each phase requests when it begins, int64 (phases,). Raises InputError unless there is a
    number from 0 to ``MAX_CORES`` for each phase."""
    if len(given) != n_phases:
        raise InputError(f"wishes: {len(given)} numbers; allowed: one for each of {n_phases} phases")
    for place, cores in enumerate(given):
        whole(f"wishes[{place}]", cores, 0, MAX_CORES)
    return np.array(given, np.int64)


def part_first(kinds: Kinds, part_tasks: Sequence[int] | Array | None, n_tasks: int, n_cores: int) -> Array:
    """Return the first task of each part, and after them the number of tasks, int64 (parts + 1,). Raises InputError if the
    parts are not the phases, once or more, or their tasks not all tasks, or a scheduler is not for them."""
    for part in kinds:
        kind = part.scheduler if isinstance(part, GraphPart) else part
        if isinstance(part, Mapped):
            raise InputError("technique mapped: allowed: a GraphPart whose tasks have hosts")
        if kind is not None and kind.only_cores not in (None, n_cores):
            raise InputError(f"technique {kind.name}: its weights are for {kind.only_cores} cores, not {n_cores}")
    if part_tasks is None:
        if len(kinds) == 1 and (n_tasks == 1 or kinds[0] is not None):
            return np.array([0, n_tasks])
        part_tasks = (n_tasks,)
    if not kinds or len(part_tasks) % len(kinds) or len(part_tasks) == 0:
        raise InputError(f"part_tasks: {len(part_tasks)} parts; allowed: all {len(kinds)} phases, once or more")
    for place, tasks in enumerate(part_tasks):
        whole(f"part_tasks[{place}]", tasks, 1, 1 if kinds[place % len(kinds)] is None else n_tasks)
    part_first = np.zeros(len(part_tasks) + 1, np.int64)
    np.cumsum(part_tasks, out=part_first[1:])
    if part_first[-1] != n_tasks:
        raise InputError(f"part_tasks: {part_first[-1]} tasks; there are {n_tasks} lengths")
    return part_first
