"""A run of a single graph: the application level of one job on its own cores, from tasks and edges to tables and metrics."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from als.application import ApplicationSimulator
from als.engine.dag.state import Edges
from als.graphs.draw import DrawnGraph
from als.graphs.order import index_edges, topological_order, upward_ranks
from als.graphs.task_graph import CORES, TaskGraph
from als.lengths.draw import length_cov
from als.metrics import GRAPH_METRICS
from als.metrics.graphs import arrived_transfers, measure_graph
from als.metrics.loops import LOOP_METRICS, by_name
from als.network.routes import longest_route
from als.options import ALS, WORKERS
from als.planners import Planner
from als.planners.contract import Mapped
from als.workers import works_of_tasks
from bridge.options.declared import HOSTS
from bridge.single.graph_options import GraphOptions
from bridge.single.own_cores import advance_to_end, measured, one_job_ledger, task_columns
from traces.base.columns import html_table
from traces.base.errors import InputError, shown
from traces.base.process import free_memory_bytes
from traces.base.time import format_ns
from traces.compiled import Array

if TYPE_CHECKING:
    from traces.ledger import Ledger

#: Memory per task and edge while a graph is simulated and written, without their names and a planner's work space; and
#: memory per edge for each link of its route, in both directions.
_TASK_BYTES, _EDGE_BYTES, _LINK_BYTES = 400, 150, 64


@dataclass(frozen=True)
class GraphResult:
    """The outcome of a graph."""

    options: GraphOptions
    graph: TaskGraph
    makespan_ns: int  # instant at which the last core has finished; the graph starts at 0
    n_chunks: int  # number of assigned chunks; with a planner, or mapped, each task is one
    # one row per task, columns ``traces.ledger_tables.TASKS`` and ``name``, a list of str
    tasks: dict[str, Array | list[str]]
    # one row per transfer between cores, columns ``traces.ledger_tables.TRANSFERS``, by (source, target); None without a
    # network
    transfers: dict[str, Array] | None
    loop_values: Array  # float64, by ``als.metrics.loops.LOOP_METRICS``
    graph_values: Array  # float64, by ``als.metrics.GRAPH_METRICS``

    @property
    def metrics(self) -> dict[str, float]:
        """All metrics of the application level and of its graph, by name."""
        return by_name(LOOP_METRICS, self.loop_values) | by_name(GRAPH_METRICS, self.graph_values)

    def _repr_html_(self) -> str:
        graph, makespan = self.graph, format_ns(self.makespan_ns)
        head = [("graph", graph.name or "–"), ("tasks", f"{graph.n_tasks}"), ("makespan", makespan)]
        return html_table(head + [(name, f"{value:g}") for name, value in self.metrics.items()])

    @cached_property
    def critical(self) -> Array:
        """The tasks of the critical path, in order, int64 (k,)."""
        return critical_path(self.graph)

    @property
    def ledger(self) -> Ledger:
        """The graph as the only job of a machine, for trace writers: job 0, which starts at 0."""
        from traces.ledger import TransferRecords

        sent, transfers = self.transfers, None
        if sent is not None:
            kept = {name: sent[name].copy() for name in ("source", "target", "bytes", "sent_ns", "arrived_ns")}
            transfers = TransferRecords(first=np.array([0, len(sent["source"])]), **kept)
        return one_job_ledger("graph", self, transfers)


def check_memory(name: str, n_tasks: int, n_edges: int, options: GraphOptions) -> None:
    """Raise InputError if a graph, called ``name``, and the plan of a planner do not fit into the free memory."""
    needed = (_TASK_BYTES + 16 * len(options.kinds)) * n_tasks + _EDGE_BYTES * n_edges
    if options.has_network:
        needed += _LINK_BYTES * int(longest_route(options.state)) * n_edges
    if isinstance(options.scheduler, Planner):
        size, rules = (n_tasks, n_edges, options.n_cores), [options.scheduler]
        if options.kinds and options.scheduler.unlike is not None:
            rules.append(options.scheduler.unlike)
        needed += 8 * max(rule.floats(*size) + rule.ints(*size) for rule in rules)
    free = free_memory_bytes()
    if free is not None and needed > free:
        raise InputError(
            f"{name}: about {n_tasks} tasks and {n_edges} edges need {needed / 2**30:.1f} GiB with {options.scheduler.name}, "
            f"and {free / 2**30:.1f} are free"
        )


def simulate_graph(graph: TaskGraph | DrawnGraph, options: GraphOptions) -> GraphResult:
    """Run a graph to its end.

    Parameters
    ----------
    graph : TaskGraph or DrawnGraph
        Hosts and cores of its tasks are used only if it is mapped.
    options : GraphOptions

    Raises
    ------
    InputError
        If the graph cannot be mapped, is too large for the memory, or all cores are lost before its end.
    PluginError
        If the technique gives an impossible chunk, or the planner makes an impossible plan.

    Examples
    --------
    >>> import numpy as np
    >>> pair = TaskGraph(np.array([1.0, 2.0]), np.array([0]), np.array([1]), np.array([0.0]))
    >>> simulate_graph(pair, GraphOptions("heft", (1.0, 1.0))).makespan_ns
    3000000000
    """
    whole = graph if isinstance(graph, TaskGraph) else TaskGraph(*graph)
    where = whole.name or "graph"
    if isinstance(options.scheduler, Mapped):
        _check_places(where, whole, options)
    check_memory(where, whole.n_tasks, whole.n_edges, options)
    try:
        works = _works(whole, options)
        base, workers = options.slots(gflop=works)
        at_start = base * options.changing.factors(np.arange(len(base)), 0)
        application = ApplicationSimulator(
            whole.gflop,
            at_start,
            phases=[options.part(whole.host, whole.core)],
            overhead_ns=options.overhead_ns,
            latency_ns=options.latencies_ns,
            master=options.assignment == "master",
            seed=options.seed,
            edges=Edges(np.array([0, whole.n_edges]), whole.source, whole.target, whole.bytes),
            core_host=options.core_host,
            network=options.state,
            workers=workers,
        )
        advance_to_end(application, options.changing, base)
        return _result(whole, options, application, at_start)
    except MemoryError:
        raise InputError(f"{where}: {whole.n_tasks} tasks and {whole.n_edges} edges do not fit into memory") from None
    except InputError as error:
        raise InputError(f"{where}: {error.text}") from None


def _works(graph: TaskGraph, options: GraphOptions) -> Array | None:
    # The work of tasks on cores and on each kind of workers; None if it is everywhere the same.
    names, given = [CORES, *(kind.name for kind in options.kinds)], {}
    if graph.kind_gflop is not None:
        given = {name: row for name, row in zip(graph.kinds, graph.kind_gflop, strict=True) if name in names}
    if CORES in given and not options.kinds:
        task, name = shown(graph.label(int(np.argmax(given[CORES])))), graph.kinds[0]
        raise InputError(f"task {task} cannot run on cores; allowed: {WORKERS}, as {name}:count=2")
    if not given and not any(kind.variation for kind in options.kinds):
        return None
    return works_of_tasks(options.kinds, graph.gflop, given, options.seed)


def critical_path(graph: TaskGraph) -> Array:
    """The tasks of the longest path of work, without data: int64 (k,); of equal paths the one with the lowest first tasks."""
    n, n_edges = graph.n_tasks, graph.n_edges
    out_first, in_first, in_edge = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64), np.empty(n_edges, np.int64)
    order, missing, ranks = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n)
    index_edges(graph.source, graph.target, n, out_first, in_first, in_edge)
    topological_order(out_first, graph.target, in_first, n, order, missing)
    upward_ranks(graph.gflop, out_first, graph.target, graph.bytes, order, ranks, 1.0, 0.0, 0.0)
    path = [int(ranks.argmax())]
    while out_first[path[-1]] < out_first[path[-1] + 1]:
        consumers = graph.target[out_first[path[-1]] : out_first[path[-1] + 1]]
        path.append(int(consumers[ranks[consumers].argmax()]))
    return np.array(path, np.int64)


def _check_places(where: str, graph: TaskGraph, options: GraphOptions) -> None:
    def refused(task: int, why: str) -> InputError:
        return InputError(f"{where}: {ALS:mapped}: task {shown(graph.label(task))} {why}")

    hosts = options.hosts
    if graph.host is None:
        raise refused(0, "has no host, like all tasks; allowed: a graph that states a host for each task")
    outside = np.flatnonzero(graph.host >= hosts)
    if len(outside):
        allowed = f"allowed with {HOSTS:{hosts}}: 0 to {hosts - 1}"
        raise refused(outside[0], f"is mapped to host {graph.host[outside[0]]}; {allowed}")
    if graph.core is None:
        return
    cores = np.diff(options.first_core)
    outside = np.flatnonzero(graph.core >= cores[graph.host])
    if len(outside):
        task = int(outside[0])
        host = int(graph.host[task])
        place = f"core {graph.core[task]} of host {host}; allowed there: 0 to {cores[host] - 1}"
        raise refused(task, f"is mapped to {place}")


def _result(graph: TaskGraph, options: GraphOptions, application: ApplicationSimulator, at_start: Array) -> GraphResult:
    tasks: dict[str, Array | list[str]] = {**task_columns(application, graph.gflop)}
    tasks["name"] = [graph.label(task) for task in range(graph.n_tasks)]
    cov = length_cov(graph.gflop, 0, graph.n_tasks) if graph.gflop.sum() > 0.0 else math.nan
    loop_values, graph_values = measured(application, at_start, graph.gflop, cov), np.empty(len(GRAPH_METRICS))
    transfers = _transfers(application) if options.has_network else None
    measure_graph(graph_values, application.state, 0, application.end_ns, float(at_start.max()), False)
    end_ns, n_chunks = application.end_ns, application.chunks
    return GraphResult(options, graph, end_ns, n_chunks, tasks, transfers, loop_values, graph_values)


def _transfers(application: ApplicationSimulator) -> dict[str, Array]:
    state = application.state
    source, target, n_bytes, sent_ns, arrived_ns = arrived_transfers(state)
    n = len(source)
    return {
        "job_id": np.zeros(n, np.int64),
        "source": source,
        "target": target,
        "source_core": state.core[source],
        "target_core": state.core[target],
        "bytes": n_bytes,
        "sent_ns": sent_ns,
        "arrived_ns": arrived_ns,
    }
