"""Inputs and records of the engine for one graph, in the form of the reference."""

from collections.abc import Sequence

import numpy as np
from inside import column, number

from als.application import ApplicationSimulator
from als.application_parts import Edges, GraphPart
from als.planners import planner
from reference.application import Ran
from reference.graph_run import GraphRun, Replan


def edges_of(edges: Sequence[tuple[int, int, float]]) -> Edges:
    ordered = sorted(edges)
    source, target = (np.array([edge[end] for edge in ordered], np.int64) for end in (0, 1))
    return Edges(np.array([0, len(ordered)]), source, target, np.array([edge[2] for edge in ordered], np.float64))


def planned(
    scheduler: str, lengths: Sequence[float], edges: Sequence[tuple[int, int, float]], speeds: Sequence[float]
) -> list[tuple[int, int]]:
    """Core and place of each task of a graph, by a planner, on cores of one host."""
    application = ApplicationSimulator(
        list(lengths), list(speeds), phases=[GraphPart(planner(scheduler))], edges=edges_of(edges)
    )
    columns = (column(application.state, f"graph.tasks.{name}").tolist() for name in ("plan", "position"))
    return list(zip(*columns, strict=True))


def planning_again(scheduler: str, lengths: Sequence[float], edges: Sequence[tuple[int, int, float]]) -> Replan:
    def replan(rest: list[int], seen: list[float]) -> list[tuple[int, int]]:
        place = {k: at for at, k in enumerate(rest)}
        among = [(place[a], place[b], size) for a, b, size in edges if a in place and b in place]
        return planned(scheduler, [lengths[k] for k in rest], among, seen)

    return replan


def graph_ran(application: ApplicationSimulator) -> GraphRun:
    state = application.state
    columns = (state.chunk, state.core, state.start_ns, state.end_ns)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    tasks = [None if row[2:] == (-1, -1) else Ran(*row) for row in rows]
    sent, arrived = state.graph.sent_ns.tolist(), state.graph.arrived_ns.tolist()
    for e, (a, b) in enumerate(zip(state.graph.source.tolist(), state.graph.target.tolist(), strict=True)):
        if tasks and (one := tasks[a]) is not None and (other := tasks[b]) is not None and one.core == other.core:
            sent[e] = arrived[e] = -1  # it was for the host
    return GraphRun(
        tasks,
        sent,
        arrived,
        state.cores.finish_ns[: len(state.speed)].tolist(),
        state.cores.busy_ns[: len(state.speed)].tolist(),
        application.chunks,
        number(state, "graph.wait_ns"),
    )
