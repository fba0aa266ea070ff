"""Metrics of a job's task graphs: bounds by their structure, and the cost of their data. The critical path is the longest path
of computation through a graph, without data, summed over all parts."""

import math

from als.engine.dag.setup import pose_part
from als.engine.dag.state import TransferColumns
from als.engine.loop import total_gflop
from als.engine.state import ApplicationState
from als.graphs.order import topological_order, upward_ranks
from traces.compiled import compiled
from traces.kernels.signatures import Floats


@compiled(inner=True)
def _critical_gflop(state: ApplicationState) -> float:
    """Return the work on the critical path, GFLOP, computed in the engine's work space, which is free once the application has
    ended."""
    problem, total = state.graph.problem, 0.0
    for part in range(state.part_first.size - 1):
        pose_part(state, part)
        out_first, target, order, ranks = problem.out_first, problem.target, problem.order, problem.begin
        topological_order(out_first, target, problem.in_first, ranks.size, order, state.graph.tasks.scratch)
        upward_ranks(problem.gflop, out_first, target, problem.bytes, order, ranks, 1.0, 0.0, 0.0)
        longest = 0.0
        for k in range(ranks.size):
            longest = max(longest, ranks[k])
        total += longest
    return total


@compiled(inner=True)
def _fill_shortest_s(state: ApplicationState) -> None:
    """Replace the work of each task on cores by its time on the worker that is fastest for it."""
    n, times = state.lengths.size, state.devices.gflop
    for task in range(n):
        shortest = math.inf
        for c in range(state.speed.size):
            shortest = min(shortest, times[state.devices.slots.kind[c] * n + task] / state.speed[c])
        times[task] = shortest


@compiled()
def measure_graph(
    values: Floats, state: ApplicationState, start_ns: int, end_ns: int, fastest: float, stopped: bool
) -> None:
    """Compute all ``als.metrics.GRAPH_METRICS`` of one application that has ended; the work space of its state is overwritten.

    With W the work of all tasks, C that of the critical path, v the speed of the fastest core at the start (0: none is present)
    and T the run time (``slr``, ``speedup``: Topcuoglu, Hariri and Wu 2002, doi:10.1109/71.993206, section 5.2), where tasks
    have a work on each kind of workers, with times of tasks on their fastest workers instead:

    - ``critical_path_ns``: C/v. ``parallelism``: W/C, the number of cores that the graph can use on average.
    - ``slr``, the schedule length ratio: T/(C/v). ``speedup``: (W/v)/T, over the fastest core alone. NaN if it was stopped.
    - ``transfers``, ``transfer_bytes``: the number of transfers of edges' data between hosts, and these data; repeated if a
      core that had fetched them was lost.
    - ``transfer_wait_ns``: the time, summed over cores, in which a core was free for its next task and all producers of that
      task had ended, but not all of its data were present.
    """
    lengths = state.lengths
    if state.devices.gflop.size > 0:
        _fill_shortest_s(state)
        state.lengths, fastest = state.devices.gflop[: lengths.size], 1.0
    critical, total, took = _critical_gflop(state), total_gflop(state), float(end_ns - start_ns)
    state.lengths = lengths
    values[0] = critical / fastest * 1e9 if fastest > 0.0 else math.nan
    values[1] = total / critical if critical > 0.0 else math.nan
    values[2] = took / values[0] if values[0] > 0.0 and not stopped else math.nan
    values[3] = total / fastest * 1e9 / took if fastest > 0.0 and not stopped else math.nan
    values[4] = float(state.graph.n_transfers)
    values[5] = state.graph.transfer_bytes
    values[6] = float(state.graph.wait_ns)


@compiled()
def copy_transfers(state: ApplicationState, to: TransferColumns, at: int) -> int:
    """Write the transfers between cores that have arrived, from row ``at`` on; return the row after the last one. The
    application has task records."""
    graph = state.graph
    for part in range(state.part_first.size - 1):
        for edge in range(graph.edge_first[part], graph.edge_first[part + 1]):
            here, there = state.part_first[part] + graph.source[edge], state.part_first[part] + graph.target[edge]
            # Data of a task that never ran, because the job was cut, do not count.
            ran = graph.arrived_ns[edge] >= 0 and state.start_ns[there] >= 0
            if ran and graph.tasks.at[here] != graph.tasks.at[there]:
                to.source[at], to.target[at], to.bytes[at] = here, there, graph.bytes[edge]
                to.sent_ns[at], to.arrived_ns[at] = graph.sent_ns[edge], graph.arrived_ns[edge]
                at += 1
    return at


def arrived_transfers(state: ApplicationState) -> TransferColumns:
    """Return the transfers of an application as :func:`copy_transfers` writes them."""
    columns = TransferColumns.new({"transfers": len(state.graph.source)})
    return columns.front(copy_transfers(state, columns, 0))
