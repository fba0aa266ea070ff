"""Reads DOT, Graphviz' language for graphs, with the attributes that SimGrid takes for tasks and transfers.

SimGrid: ``create_DAG_from_dot``, https://simgrid.org/doc/latest/Tutorial_DAG.html. The language is read by
:mod:`als.graphs.readers.dot_language`, not by pydot, which takes 46 s for a graph of 10,000 nodes and 30,000 edges, and takes
``a -- b`` in a digraph for an edge.
"""

from __future__ import annotations

import re

from als.graphs.readers.contract import GraphRows, edge_bytes, task_gflop, text_of
from als.graphs.readers.dot_language import DotNode, parse_dot
from traces.base.errors import shown

# SimGrid makes these of no work where only edges name them, one before all tasks and one behind them.
_MADE_BY_SIMGRID = ("root", "end")

# SimGrid's edges of this size, as of any that is not above 0, only say the order.
_ONLY_ORDER = re.compile(r"-1(?:\.0*)?")

_WORK_NAMES = ("flops", "gflop", "size")
_KEPT = (*_WORK_NAMES, "bytes", "host", "core")


def read_dot(data: bytes, rows: GraphRows, core_gflops: float) -> None:
    """Nodes as tasks called by their names, in the order in which the file names them first. Raises InputError if it is
    no DOT of one directed graph, a node has no work, or a node or an edge is given twice."""
    graph = parse_dot(text_of(data, rows, "DOT"), _KEPT, rows.error)
    for name, node in graph.nodes.items():
        line, attributes = _work_of(name, node, rows)
        place = f"line {line}: task {shown(name)}"
        if not node.statements:
            place += " (named by an edge only)"
            if name in _MADE_BY_SIMGRID and not attributes.keys() & set(_WORK_NAMES):
                attributes["size"] = "0"
        host, core = (rows.place(place, what, attributes) for what in ("host", "core"))
        rows.add_task(name, task_gflop(rows, place, attributes), place, host, core)
    for edges in graph.edges:
        line, attributes = edges.line, edges.attributes
        if _ONLY_ORDER.fullmatch(attributes.get("size", "")):
            attributes = {**attributes, "size": "0"}
        for producer in edges.producers:
            for consumer in edges.consumers:
                place = f"line {line}: edge {shown(producer)} -> {shown(consumer)}"
                rows.add_edge(producer, consumer, edge_bytes(rows, place, attributes), place)


def _work_of(name: str, node: DotNode, rows: GraphRows) -> tuple[int, dict[str, str]]:
    # What a node's statements say together, and the line that says its work, or else names it first.
    found, line, stated = dict(node.defaults), node.line, False
    for at, attributes in node.statements:
        if any(key in attributes for key in _WORK_NAMES):
            if stated:
                raise rows.error(
                    f"line {at}: task {shown(name)}", "is given twice; allowed: one statement with its work"
                )
            for key in _WORK_NAMES:  # that of a default
                found.pop(key, None)
            line, stated = at, True
        found.update(attributes)
    return line, found
