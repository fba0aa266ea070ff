"""What an application that is driven from Python is given of a task graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from als.engine.dag import hooks as graph_hooks
from als.engine.dag import state as g
from als.engine.dag.state import Edges
from als.engine.rule_table import RuleRows
from als.graphs.task_graph import TaskGraph
from als.network.state import NONE, NetworkState
from als.planners import Planner
from als.planners.mapped import Mapped
from als.techniques import Selection, Technique
from traces.base.errors import InputError, shown
from traces.compiled import Array, own

__all__ = ["Edges", "GraphPart", "edges_of_parts", "graph_of"]


@dataclass(frozen=True, eq=False)
class GraphPart:
    """A part that is a graph.

    Attributes
    ----------
    scheduler : Technique, Planner or Mapped
        Which core gets which tasks.
    by_rank : bool
        Whether tasks wait by upward rank, and not by number; not with a planner.
    host, core : int64 (n,), optional
        With ``Mapped``: the machine's host for each of the part's tasks, or its core, counted within the job; the tasks
        of a core follow one another in order.

    Raises
    ------
    InputError
        If these do not go together.
    """

    scheduler: Technique | Selection | Planner | Mapped
    by_rank: bool = False
    host: Array | None = None
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
        """How tasks come to cores, by ``als.engine.dag.state``."""
        if isinstance(self.scheduler, Mapped):
            return g.ON_CORES if self.host is None else g.ON_HOSTS
        return g.PLANNED if isinstance(self.scheduler, Planner) else g.BY_TECHNIQUE

    @property
    def order(self) -> int:
        """How they wait."""
        return g.BY_RANK if self.by_rank else 0


def edges_of_parts(edges: Edges | None, kinds: Sequence[Any], part_first: Array) -> Edges:
    """The edges as kernels take them. Raises InputError if they are not those of these parts: unsorted, in a cycle, to
    or from a task that is not there, or in a part that is no graph."""
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
    """The state of an application's graphs; arguments as of ``als.application.ApplicationSimulator``, with ``room`` for so many
    cores. Raises InputError if a host or a core cannot be."""
    n_cores, n_tasks = len(speed), int(part_first[-1])
    machine_host = np.zeros(n_cores, np.int64) if core_host is None else own(core_host, np.int64)
    most = max(1, int(network.n_hosts))
    if machine_host.shape != speed.shape or not ((machine_host >= 0) & (machine_host < most)).all():
        raise InputError(f"core_host: allowed: a host for each of {n_cores} cores, 0 to {most - 1}")
    place = {host: at for at, host in enumerate(dict.fromkeys(machine_host.tolist()))}
    local = np.array([place[host] for host in machine_host.tolist()], np.int64)
    longest, most_edges = int(np.diff(part_first).max()), int(np.diff(edges.first).max(initial=0))
    return g.new_graph_state(
        edges,
        np.pad(local, (0, room - n_cores)),
        np.array(list(place), np.int64),
        network,
        graph_hooks.table(network.kind != NONE),
        n_tasks=n_tasks,
        plan_room=rules.plan_room(longest, most_edges, room),
        given=_given(kinds, part_first, place, n_cores),
    )


def _given(kinds: Sequence[Any], part_first: Array, hosts: dict[int, int], n_cores: int) -> Array | None:
    # Where tasks are to run, of parts that are mapped.
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
