"""Reader of GraphML: nodes and edges with named attributes, in XML, as written by networkx.

Specification: http://graphml.graphdrawing.org/specification.html. Read as events rather than with networkx, which merges nodes
of the same name, and creates nodes that only an edge names.
"""

from als.graphs.readers.contract import GraphRows, edge_bytes, task_gflop
from als.graphs.readers.xml_events import Place, read_xml
from traces.base.errors import shown

_GRAPH, _ITEM = 2, 3  # depth of elements


def read_graphml(data: bytes, rows: GraphRows, core_gflops: float) -> None:
    """Read nodes as tasks named by their ``id``; attributes by the names that the file's keys define. Raises InputError if it
    is not GraphML with one directed graph, a node has no work, or an edge names an unknown node."""
    reader = _GraphML(rows)
    read_xml(data, rows, "GraphML", reader.begin, reader.end)
    reader.finish()


class _GraphML:
    def __init__(self, rows: GraphRows) -> None:
        self._rows = rows
        self._depth = 0
        self._graphs = 0
        self._keys: dict[str, tuple[str, str]] = {}  # id → (its domain, its name)
        self._defaults: dict[str, dict[str, str]] = {"node": {}, "edge": {}}
        self._key = ""  # key of the data or default being read
        self._item: dict[str, str] | None = None  # attributes of the node or edge being read
        self._ends = ("", "")
        self._edges: list[tuple[str, str, float, str]] = []

    def begin(self, tag: str, attributes: dict[str, str], place: Place) -> None:
        self._depth += 1
        if tag in ("hyperedge", "port"):
            raise self._rows.error(place(), f"a {tag}; allowed: nodes and edges between two of them")
        if tag == "graph":
            self._begin_graph(attributes, place())
        elif tag == "key":
            self._begin_key(attributes, place())
        elif tag == "node" and self._depth == _ITEM:
            self._ends = (self._attribute(tag, "id", attributes, place()), "")
            self._item = {}
        elif tag == "edge" and self._depth == _ITEM:
            if attributes.get("directed", "true") != "true":
                raise self._rows.error(place(), "an undirected edge; allowed: directed ones")
            source, target = (self._attribute(tag, end, attributes, place()) for end in ("source", "target"))
            self._ends, self._item = (source, target), {}
        elif tag == "data":
            self._key = self._attribute(tag, "key", attributes, place())

    def end(self, tag: str, text: str, place: Place) -> None:
        if tag == "default" and self._depth == _ITEM and self._key in self._keys:
            kind, name = self._keys[self._key]
            for of in ("node", "edge") if kind == "all" else (kind,):
                self._defaults.setdefault(of, {})[name] = text
        elif tag == "data" and self._depth == _ITEM + 1 and self._item is not None:
            if self._key not in self._keys:
                raise self._rows.error(place(), f"data of the key {shown(self._key)}, which the file does not declare")
            name = self._keys[self._key][1]
            if name in self._item:
                raise self._rows.error(place(), f"a second {name} of {self._called()}; allowed: one")
            self._item[name] = text
        elif tag in ("node", "edge") and self._depth == _ITEM and self._item is not None:
            self._end_item(tag, {**self._defaults[tag], **self._item}, place())
            self._item = None
        self._depth -= 1

    def finish(self) -> None:
        if not self._graphs:
            raise self._rows.error("", "GraphML without a graph; allowed: one")
        for edge in self._edges:  # may come before their nodes in the file
            self._rows.add_edge(*edge)

    def _called(self) -> str:
        one, other = self._ends
        return f"edge {shown(one)} -> {shown(other)}" if other else f"task {shown(one)}"

    def _attribute(self, tag: str, name: str, attributes: dict[str, str], place: str) -> str:
        if not attributes.get(name):
            raise self._rows.error(place, f"{tag} without {name}")
        return attributes[name]

    def _begin_graph(self, attributes: dict[str, str], place: str) -> None:
        self._graphs += 1
        if self._depth != _GRAPH or self._graphs > 1:
            raise self._rows.error(place, "a second graph; allowed: one graph in a file, and none within a node")
        if attributes.get("edgedefault") != "directed":
            found = shown(attributes["edgedefault"]) if "edgedefault" in attributes else "none"
            raise self._rows.error(place, f"a graph of edgedefault {found}; allowed: 'directed'")

    def _begin_key(self, attributes: dict[str, str], place: str) -> None:
        key = self._attribute("key", "id", attributes, place)
        if key in self._keys:
            raise self._rows.error(place, f"a second key {shown(key)}; allowed: different ids")
        self._keys[key] = attributes.get("for", "all"), attributes.get("attr.name", key)
        self._key = key

    def _end_item(self, tag: str, attributes: dict[str, str], place: str) -> None:
        if tag == "node":
            called = f"{place}: {self._called()}"
            host, core = (self._rows.place(called, what, attributes) for what in ("host", "core"))
            self._rows.add_task(self._ends[0], task_gflop(self._rows, called, attributes), place, host, core)
        else:
            data = edge_bytes(self._rows, f"{place}: {self._called()}", attributes)
            self._edges.append((*self._ends, data, place))
