"""Data between the tasks of a graph that take time: transfers between the hosts of one job, on the machine's network."""

import math

from als.engine.dag.state import GraphState
from als.engine.dag.tasks import host_of
from als.engine.hooks import GRAPH_HOOK
from als.network.flows import begin_flows, cancel, next_event, next_flow_ns, pop_flow, send, set_clock
from als.network.routes import longest_route, mean_costs
from als.network.sharing import share
from traces.compiled import compiled


@compiled(GRAPH_HOOK)
def begin(graph: GraphState, n_edges: int, t: int) -> int:
    """A part of so many edges begins at ``t``: nothing is under way; what transfers are expected to cost is worked out."""
    if n_edges > 0:
        begin_flows(graph.flows, n_edges, longest_route(graph.net), t)
    mean_costs(graph.net, graph.host_number, graph.host_number.size, graph.flows.keys, graph.costs)
    return 0


@compiled(GRAPH_HOOK)
def send_edge(graph: GraphState, edge: int, t: int) -> int:
    """Begin the transfer of an edge of the part at ``t``; returns what ``als.network.flows.send`` does."""
    at, first = graph.first_edge + edge, graph.first_task
    producer = graph.tasks.at[first + graph.source[at]]
    here = graph.host_number[graph.cores.host[producer]]
    there = graph.host_number[host_of(graph, first + graph.target[at])]
    return int(send(graph.flows, graph.net, edge, here, there, graph.bytes[at], t))


@compiled(GRAPH_HOOK)
def arrived(graph: GraphState, rounded: int, t: int) -> int:
    """Take the next edge whose bytes have arrived by ``t``, or with ``rounded`` (1, else 0) arrive at what is rounded to
    ``t``; -1 when there is none, and then, if not ``rounded``, transfers are as of ``t``."""
    flows, net, until = graph.flows, graph.net, -math.inf if rounded != 0 else float(t - graph.flows.base_ns)
    # All that happens at one point happens before rates are worked out again.
    while True:
        at = next_event(flows)
        if at != flows.instant:
            if flows.n_dirty > 0:
                share(flows, net)
                at = next_event(flows)
            if not (at <= until or (rounded != 0 and next_flow_ns(flows) == t)):
                flows.instant = math.nan
                if rounded == 0:
                    set_clock(flows, t)
                return -1
            flows.instant = at
        edge = pop_flow(flows)
        if edge >= 0:
            return int(edge)


@compiled(GRAPH_HOOK)
def next_ns(graph: GraphState, _edge: int, _t: int) -> int:
    """When the next phase of a transfer ends; ``MAX_NS`` if none does before time ends."""
    if graph.flows.n_dirty > 0:
        share(graph.flows, graph.net)
    return int(next_flow_ns(graph.flows))


@compiled(GRAPH_HOOK)
def cancel_edge(graph: GraphState, edge: int, _t: int) -> int:
    """End the transfer of an edge of the part, if it is under way."""
    cancel(graph.flows, edge)
    return 0
