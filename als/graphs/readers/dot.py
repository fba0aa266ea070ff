"""Reader of DOT, Graphviz' language for graphs, with SimGrid's attributes of tasks and transfers.

Grammar: https://graphviz.org/doc/info/lang.html; SimGrid: ``create_DAG_from_dot``. pydot is not used: it takes 46 s for
10,000 nodes and 30,000 edges, and reads ``a -- b`` in a digraph as an edge. This reader is stricter than Graphviz, which reads
``1e9`` as 1 and e9, and ``a-1`` as two nodes: here, words that touch each other are an error. A default applies to the
statements after it within its braces. An edge to a subgraph is one edge to each of its nodes."""

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from als.graphs.readers.contract import GraphRows, edge_bytes, task_gflop, text_of
from traces.base.errors import InputError, shown

_KEYWORDS = ("strict", "digraph", "graph", "subgraph", "node", "edge")

# Every character beyond ASCII is a letter.
_LETTER = r"A-Za-z_\x80-\U0010ffff"
_WORD = rf"(?:[{_LETTER}][{_LETTER}0-9]*+|-?(?:\.[0-9]++|[0-9]++(?:\.[0-9]*+)?))"
_COMMENT = r"//[^\n]*+|/\*.*?\*/|(?<!\S)\#[^\n]*+"
_SKIP = rf"(?:[ \t\r\n\f\v]++|{_COMMENT})*+"
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_TOKEN = re.compile(
    rf"{_SKIP}(?:(?P<word>{_WORD})(?![{_LETTER}0-9.]|-[0-9.])|(?P<string>{_STRING}(?:{_SKIP}\+{_SKIP}{_STRING})*+)"
    r"|(?P<mark>->|--|[][{}=;,:])|(?P<end>\Z)|(?P<other>.))",
    re.DOTALL,
)
_PARTS = re.compile(rf'{_COMMENT}|"([^"\\]*+(?:\\.[^"\\]*+)*+)"', re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_HTML = re.compile(r"<!--.*?-->|[<>]", re.DOTALL)
_TOUCHING = re.compile(rf"[{_LETTER}0-9.]+(?:-[{_LETTER}0-9.]+)*|-[0-9.][{_LETTER}0-9.]*")

# Kinds of tokens. Keywords, in lower case, and marks are their own kinds.
ID, END = "a name", ""


def _unescaped(escape: re.Match[str]) -> str:
    # A quote, or nothing for the end of a line; other escapes matter for drawing only.
    return {'"': '"', "\n": ""}.get(escape[1], escape[0])


class Tokens:
    """The tokens of a text. ``kind``: the kind of the next token: ``ID``, ``END``, a keyword or a mark. ``value``: the text of
    an ``ID`` without its quotes; an HTML string keeps its brackets."""

    def __init__(self, text: str, error: Callable[[str, str], InputError]) -> None:
        self._text, self._make_error = text, error
        self._at = self._end = 0  # where the next token begins and ends
        self._counted, self._lines = 0, 1  # up to where line ends were counted
        self.kind, self.value = END, ""
        self.next()

    def take_id(self, what: str) -> str:
        """Consume the next token, which must be an ``ID``, and return its value; ``what`` describes it in the error."""
        if self.kind != ID:
            raise self.unexpected(what)
        value = self.value
        self.next()
        return value

    def take(self, mark: str) -> None:
        """Consume the next token, which must be of this kind."""
        if self.kind != mark:
            raise self.unexpected(mark)
        self.next()

    def next(self) -> None:
        """Move to the next token."""
        found = _TOKEN.match(self._text, self._end)
        assert found is not None  # its last choice is any character
        group = found.lastgroup or ""
        self._at, self._end = found.span(group)
        value = found[group]
        if group == "mark":
            self.kind = value
        elif group == "word":
            word = value.lower()
            self.kind, self.value = word if word in _KEYWORDS else ID, value
        elif group == "string":
            value = value[1:-1]
            if '"' in value or "\\" in value:
                value = _ESCAPE.sub(_unescaped, "".join(_PARTS.findall(found[group])))
            self.kind, self.value = ID, value
        elif group == "end":
            self.kind = END
        elif value == "<":
            self.kind, self.value = ID, self._html()
        else:
            raise self._unreadable(value)

    def _html(self) -> str:
        # From its < to the > that closes it, both included.
        depth = 0
        for mark in _HTML.finditer(self._text, self._at):
            depth += {"<": 1, ">": -1}.get(mark[0], 0)
            if depth == 0:
                self._end = mark.end()
                return self._text[self._at : self._end]
        raise self.error("not DOT: an HTML string that does not end; allowed: a > for every <")

    def line(self) -> int:
        """The line of the next token, from 1."""
        self._lines += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._lines

    def error(self, what: str) -> InputError:
        """The error about the next token."""
        return self._make_error(f"line {self.line()}", what)

    def unexpected(self, allowed: str) -> InputError:
        """The error for an unexpected next token."""
        if self.kind == END:
            return self.error(f"not DOT: the text ends; allowed: {allowed}")
        return self.error(f"not DOT: {shown(self._text[self._at : self._end])}; allowed: {allowed}")

    def _unreadable(self, character: str) -> InputError:
        if character == '"':
            return self.error('not DOT: a string that does not end; allowed: a second "')
        if self._text.startswith("/*", self._at):
            return self.error("not DOT: a comment that does not end; allowed: */")
        if (touching := _TOUCHING.match(self._text, self._at)) and touching[0] != "-":
            return self.error(
                f"not DOT: {shown(touching[0])} is neither a name nor a number; allowed: in quotes, as numbers with exponents"
            )
        return self.error(f"not DOT: {shown(character)}; allowed: in quotes")


MAX_DEPTH = 100  #: maximum nesting of subgraphs


@dataclass(slots=True)
class DotNode:
    """A node."""

    line: int  # its first mention
    defaults: dict[str, str]  # from ``node [...]``
    # list of (int, dict of str to str): line and attributes of each of its statements, in order; empty if only edges name it
    statements: list[tuple[int, dict[str, str]]] = field(default_factory=list)


@dataclass(slots=True)
class DotEdges:
    """Edges from each of some nodes to each of others: a single edge unless an end is a subgraph."""

    line: int
    producers: tuple[str, ...]
    consumers: tuple[str, ...]
    attributes: dict[str, str]


@dataclass(slots=True)
class DotGraph:
    """A directed graph: its nodes by name, in the order of first mention, and its edges."""

    nodes: dict[str, DotNode] = field(default_factory=dict)
    edges: list[DotEdges] = field(default_factory=list)


@dataclass(slots=True)
class _Scope:
    # The graph or a subgraph: the current defaults, and its nodes, which also belong to the enclosing one.
    outer: "_Scope | None" = None
    depth: int = 0
    node: dict[str, str] = field(default_factory=dict)
    edge: dict[str, str] = field(default_factory=dict)
    members: dict[str, None] = field(default_factory=dict)
    named: dict[str, "_Scope"] = field(default_factory=dict)  # a second subgraph of the same name continues the first


def parse_dot(text: str, keep: Collection[str], error: Callable[[str, str], InputError]) -> DotGraph:
    """Read the only directed graph of a text. Attributes not in ``keep`` are skipped; ``error(place, what)`` makes the error
    about a place such as ``"line 3"``. Raises InputError if the text is not DOT, or a statement gives an attribute twice."""
    return _Parser(text, frozenset(keep), error).graph()


class _Parser(Tokens):
    # Recursive descent over the tokens without backtracking.

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
            raise self.unexpected("nothing after the graph")
        return self._found

    def _statements(self, scope: _Scope) -> None:
        # Read up to and including the closing brace.
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
                raise self.unexpected(f"[ after {kind}")
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
                raise self.unexpected("no attributes after a subgraph")
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
        # A node, whose name has been consumed, and its port.
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
        # All nodes that it has so far.
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
        # Any number of attribute lists.
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


# SimGrid adds these without work, one before all tasks and one after them, where only edges name them.
_MADE_BY_SIMGRID = ("root", "end")

# SimGrid's edges of this size, and of sizes not above 0, only define the order.
_ONLY_ORDER = re.compile(r"-1(?:\.0*)?")

_WORK_NAMES = ("flops", "gflop", "size")
_KEPT = (*_WORK_NAMES, "bytes", "host", "core")


def read_dot(data: bytes, rows: GraphRows, core_gflops: float) -> None:
    """Read nodes as tasks, in the order of first mention. Raises InputError if the text is not DOT with one directed graph, a
    node has no work, or a node or an edge is given twice."""
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
    # Return a node's combined attributes, and the line with its work, or else of its first mention.
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
