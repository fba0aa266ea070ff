"""The DOT language: what the statements of a directed graph say of its nodes and edges.

Grammar: https://graphviz.org/doc/info/lang.html. What a statement means is Graphviz' as well: a default is for what comes
behind it within its braces, an edge to a subgraph is one to each of its nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from als.graphs.readers.dot_tokens import END, ID, Tokens
from traces.base.errors import InputError

#: How deep subgraphs may be within each other.
MAX_DEPTH = 100


@dataclass(slots=True)
class DotNode:
    """A node."""

    line: int  # where it is first named
    defaults: dict[str, str]  # what it has from ``node [...]``
    # list of (int, dict of str to str): line and attributes of each of its statements, in order; none: only edges name it
    statements: list[tuple[int, dict[str, str]]] = field(default_factory=list)


@dataclass(slots=True)
class DotEdges:
    """Edges from each of some nodes to each of others: one, if no end is a subgraph."""

    line: int
    producers: tuple[str, ...]
    consumers: tuple[str, ...]
    attributes: dict[str, str]


@dataclass(slots=True)
class DotGraph:
    """A directed graph: its nodes by their names, in the order in which they are first named, and its edges."""

    nodes: dict[str, DotNode] = field(default_factory=dict)
    edges: list[DotEdges] = field(default_factory=list)


@dataclass(slots=True)
class _Scope:
    # The graph or a subgraph: the defaults where it is read, and its nodes, which are those of the one around it too.
    outer: _Scope | None = None
    depth: int = 0
    node: dict[str, str] = field(default_factory=dict)
    edge: dict[str, str] = field(default_factory=dict)
    members: dict[str, None] = field(default_factory=dict)
    named: dict[str, _Scope] = field(default_factory=dict)  # a second subgraph of a name is the first, continued


def parse_dot(text: str, keep: Collection[str], error: Callable[[str, str], InputError]) -> DotGraph:
    """Read the one directed graph of a text.

    - ``text``: DOT
    - ``keep``: the attributes of nodes and edges that matter; the others are read over
    - ``error``: ``error(place, what)`` makes the error about a place, ``"line 3"``

    Raises InputError: what ``error`` makes, if the text is not DOT, or one of the attributes is given twice in a statement.
    """
    return _Parser(text, frozenset(keep), error).graph()


class _Parser(Tokens):
    # A descent over the tokens without a step back.

    def __init__(self, text: str, keep: frozenset[str], error: Callable[[str, str], InputError]) -> None:
        super().__init__(text, error)
        self._keep = keep
        self._found = DotGraph()

    def graph(self) -> DotGraph:
        if self.kind == "strict":
            self.next()
        if self.kind == "graph":
            raise self.error("an undirected graph; allowed: a digraph")
        self.take("digraph")
        if self.kind == ID:
            self.next()
        self.take("{")
        self._statements(_Scope())
        if self.kind in ("strict", "graph", "digraph"):
            raise self.error("a second graph; allowed: one in a file")
        if self.kind != END:
            raise self.unexpected("nothing behind the graph")
        return self._found

    def _statements(self, scope: _Scope) -> None:
        # Up to the closing brace, and over it.
        while self.kind != "}":
            if self.kind == END:
                raise self.error("not DOT: the text ends before the graph does; allowed: a } for every {")
            self._statement(scope)
            if self.kind == ";":
                self.next()
        self.next()

    def _statement(self, scope: _Scope) -> None:
        line = self.line()
        if self.kind in ("node", "edge", "graph"):
            kind = self.kind
            self.next()
            if self.kind != "[":
                raise self.unexpected(f"[ behind {kind}")
            {"node": scope.node, "edge": scope.edge}.get(kind, {}).update(self._attributes())
            return
        alone = None
        if self.kind == ID:
            alone = name = self.value
            self.next()
            if self.kind == "=":  # an attribute of the graph
                self.next()
                self.take_id("a value")
                return
            end: Iterable[str] = self._node(name, scope, line)
        else:
            end = self._subgraph(scope)
            if self.kind == "[":
                raise self.unexpected("no attributes behind a subgraph")
        if self.kind not in ("->", "--"):
            if alone is not None:
                self._found.nodes[alone].statements.append((line, self._attributes()))
            return
        chain = [tuple(end)]
        while self.kind in ("->", "--"):
            if self.kind == "--":
                raise self.unexpected("-> in a digraph")
            self.next()
            if self.kind == ID:
                name = self.value
                self.next()
                chain.append(self._node(name, scope, line))
            else:
                chain.append(tuple(self._subgraph(scope)))
        attributes = {**scope.edge, **self._attributes()}
        for one, other in pairwise(chain):
            self._found.edges.append(DotEdges(line, one, other, attributes))

    def _node(self, name: str, scope: _Scope, line: int) -> tuple[str, ...]:
        # A node, whose name has been taken, and its port.
        for _ in range(2):
            if self.kind == ":":
                self.next()
                self.take_id("a port")
        if name not in self._found.nodes:
            self._found.nodes[name] = DotNode(line, dict(scope.node))
        around: _Scope | None = scope
        while around is not None and name not in around.members:
            around.members[name] = None
            around = around.outer
        return (name,)

    def _subgraph(self, outer: _Scope) -> dict[str, None]:
        # All nodes that it has by now.
        name = None
        if self.kind == "subgraph":
            self.next()
            if self.kind == ID:
                name = self.value
                self.next()
        elif self.kind != "{":
            raise self.unexpected("a name or a subgraph")
        if outer.depth == MAX_DEPTH:
            raise self.error(f"subgraphs are nested too deep; allowed: {MAX_DEPTH} within each other")
        self.take("{")
        scope = outer.named.get(name) if name is not None else None
        if scope is None:
            scope = _Scope(outer, outer.depth + 1, dict(outer.node), dict(outer.edge))
            if name is not None:
                outer.named[name] = scope
        self._statements(scope)
        return scope.members

    def _attributes(self) -> dict[str, str]:
        # Of any number of lists.
        found: dict[str, str] = {}
        while self.kind == "[":
            self.next()
            while self.kind != "]":
                key = self.take_id("an attribute or ]")
                self.take("=")
                value = self.take_id("a value")
                if key in self._keep:
                    if key in found:
                        raise self.error(f"{key} is given twice; allowed: once in a statement")
                    found[key] = value
                if self.kind in (",", ";"):
                    self.next()
            self.next()
        return found
