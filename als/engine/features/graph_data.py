"""Transfers of data between tasks of a graph, between the hosts of one job, on the machine's network."""

import math

from als.engine.dag.state import GraphState
from als.engine.dag.tasks import host_of
from als.engine.hooks import GRAPH_HOOK
from als.network.flows import begin_flows, cancel, next_event, next_flow_ns, pop_flow, send, share
from als.network.routes import longest_route, mean_costs
from traces.compiled import compiled


@compiled(GRAPH_HOOK)
def begin(graph: GraphState, n_edges: int, t: int) -> int:
    """Begin a part with ``n_edges`` edges at ``t``: reset transfers and compute their expected costs."""
    if n_edges > 0:
        begin_flows(graph.flows, n_edges, longest_route(graph.net), t)
    mean_costs(graph.net, graph.host_number, graph.host_number.size, graph.flows.keys, graph.costs)
    return 0


@compiled(GRAPH_HOOK)
def send_edge(graph: GraphState, edge: int, t: int) -> int:
    """Begin the transfer of an edge of the part at ``t``; returns the result of ``als.network.flows.send``."""
    at, first = graph.first_edge + edge, graph.first_task
    producer = graph.tasks.at[first + graph.source[at]]
    here = graph.host_number[graph.cores.host[producer]]
    there = graph.host_number[host_of(graph, first + graph.target[at])]
    return int(send(graph.flows, graph.net, edge, here, there, graph.bytes[at], t))


@compiled(GRAPH_HOOK)
def arrived(graph: GraphState, rounded: int, t: int) -> int:
    """Take the next edge whose bytes have arrived by ``t``, or (``rounded`` = 1) at an instant rounded to ``t``; -1 if there is
    none. Without ``rounded``, transfers are then at ``t``."""
    flows, net, until = graph.flows, graph.net, -math.inf if rounded != 0 else float(t - graph.flows.base_ns)
    # Handle all events at one point before computing rates again.
    while True:
        at = next_event(flows)
        if at != flows.instant:
            if flows.n_dirty > 0:
                share(flows, net)
                at = next_event(flows)
            if not (at <= until or (rounded != 0 and next_flow_ns(flows) == t)):
                flows.instant = math.nan
                if rounded == 0:
                    flows.now = max(flows.now, float(t - flows.base_ns))
                return -1
            flows.instant = at
        edge = pop_flow(flows)
        if edge >= 0:
            return int(edge)


@compiled(GRAPH_HOOK)
def next_ns(graph: GraphState, _edge: int, _t: int) -> int:
    """The next end of a phase of a transfer; ``MAX_NS`` if there is none."""
    if graph.flows.n_dirty > 0:
        share(graph.flows, graph.net)
    return int(next_flow_ns(graph.flows))


@compiled(GRAPH_HOOK)
def cancel_edge(graph: GraphState, edge: int, _t: int) -> int:
    """Cancel the transfer of an edge of the part, if it is active."""
    cancel(graph.flows, edge)
    return 0
