"""Kernels of transfers, which only other kernels call, as Python can call them."""

from __future__ import annotations

from als.network import flows as f
from als.network import sharing
from als.network.flows import FlowState
from als.network.state import NetworkState
from traces.compiled import compiled

_begin, _send, _cancel, _next, _pop, _share = (
    f.begin_flows,
    f.send,
    f.cancel,
    f.next_event,
    f.pop_flow,
    sharing.share,
)


@compiled()
def begin_flows(flows: FlowState, n_edges: int, longest_route: int, t: int) -> None:
    _begin(flows, n_edges, longest_route, t)


@compiled()
def send(flows: FlowState, net: NetworkState, edge: int, source: int, target: int, n_bytes: float, t: int) -> int:
    return _send(flows, net, edge, source, target, n_bytes, t)


@compiled()
def cancel(flows: FlowState, edge: int) -> None:
    _cancel(flows, edge)


@compiled()
def next_event(flows: FlowState) -> float:
    return _next(flows)


@compiled()
def pop_flow(flows: FlowState) -> int:
    return _pop(flows)


@compiled()
def share(flows: FlowState, net: NetworkState) -> None:
    _share(flows, net)
