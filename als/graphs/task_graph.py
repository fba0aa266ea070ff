"""A task graph: tasks with work, and edges with the data that one task needs from another. Converts from and to networkx."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import InitVar, dataclass
from typing import TYPE_CHECKING, Any
from unicodedata import category

import numpy as np

from als.graphs.order import index_edges, topological_order
from als.options import MAX_TASKS_PER_JOB
from traces.base.errors import InputError, real, shown, whole
from traces.compiled import Array

if TYPE_CHECKING:
    import networkx as nx

MAX_EDGES = MAX_TASKS_PER_JOB  #: graphs with more edges are refused
CORES = "cores"  #: the kind of workers that are cores: among ``kinds`` if some tasks cannot run on them
_CYCLE_SHOWN = 8  #: number of tasks of a cycle shown in an error

_FLOP_PER_GFLOP = 1e9
_LARGEST = float(np.finfo(np.float64).max)
_LARGEST_HOST = 2**31 - 1

# Unicode's control characters, surrogates, and line and paragraph separators.
_CONTROL = ("Cc", "Cs", "Zl", "Zp")


@dataclass(frozen=True, eq=False)
class TaskGraph:
    """A directed acyclic graph of tasks. It owns its arrays, which are read-only. Raises InputError if it is invalid; the
    message names the tasks."""

    gflop: Array  #: work of each task in GFLOP, (N,), finite, >= 0; at least one task
    #: Producer of each edge, (E,); edges are sorted by (source, target) and may be given in any order. No pair twice, no cycle.
    source: Array
    target: Array  #: consumer of each edge, (E,)
    bytes: Array  #: data that the consumer needs from the producer, (E,), finite, >= 0; 0: the edge only orders tasks
    #: names of the tasks: N different ones that are not empty and hold no control characters; or none, for "0", "1", …
    names: tuple[str, ...] = ()
    host: Array | None = None  #: host on which each task must run, (N,), >= 0; None: any
    name: str = ""  #: name of the graph, for tables
    core: Array | None = None  #: core of that host, (N,), >= 0; None: any
    where: InitVar[str] = "graph"  # beginning of errors
    kinds: tuple[str, ...] = ()  #: kinds of workers with another work of each task, as ``gpu``
    #: work of each task on each of them, GFLOP, (kinds, N), >= 0; inf: it cannot run there
    kind_gflop: Array | None = None

    def __post_init__(self, where: str) -> None:
        gflop = _column(f"{where}: gflop", self.gflop, np.float64)
        n_tasks = len(gflop)
        if not n_tasks:
            raise InputError(f"{where}: a graph without tasks; allowed: at least 1")
        if n_tasks > MAX_TASKS_PER_JOB:
            raise InputError(f"{where}: {n_tasks} tasks; allowed: up to {MAX_TASKS_PER_JOB}")
        # Names come first, since all other errors use them.
        object.__setattr__(self, "names", _checked_names(where, self.names, n_tasks))
        self._check_amounts(where, "work", "gflop", gflop)
        self._set_edges(where, n_tasks)
        for what in ("host", "core"):
            self._set_places(where, what, n_tasks)
        self._set_kinds(where, n_tasks)
        if self.core is not None and self.host is None:
            raise InputError(f"{where}: cores, and no hosts; allowed: a core of a host, or a host alone")
        object.__setattr__(self, "gflop", gflop)
        self._check_order(where)

    @property
    def n_tasks(self) -> int:
        """N, at least 1."""
        return len(self.gflop)

    @property
    def n_edges(self) -> int:
        """E."""
        return len(self.source)

    def label(self, task: int) -> str:
        """Return the name of a task."""
        return self.names[task] if self.names else str(task)

    def _set_kinds(self, where: str, n_tasks: int) -> None:
        if (self.kind_gflop is None) != (not self.kinds):
            raise InputError(f"{where}: kinds, kind_gflop: allowed: both, or none")
        if self.kind_gflop is None:
            return
        works = np.array(self.kind_gflop, np.float64)
        works.flags.writeable = False
        if works.shape != (len(self.kinds), n_tasks) or not (works >= 0).all():
            allowed = f"{len(self.kinds)} × {n_tasks} numbers, at least 0, or inf"
            raise InputError(f"{where}: kind_gflop: {works.shape}; allowed: {allowed}")
        object.__setattr__(self, "kind_gflop", works)

    def _set_places(self, where: str, what: str, n_tasks: int) -> None:
        if getattr(self, what) is None:
            return
        place = _column(f"{where}: {what}", getattr(self, what), np.int64)
        if len(place) != n_tasks:
            raise InputError(f"{where}: {len(place)} {what}s for {n_tasks} tasks; allowed: one a task, or none")
        if (bad := np.flatnonzero((place < 0) | (place > _LARGEST_HOST))).size:
            task = shown(self.label(int(bad[0])))
            raise InputError(f"{where}: task {task}: {what} {place[bad[0]]}; allowed: 0 to {_LARGEST_HOST}")
        object.__setattr__(self, what, place)

    def _set_edges(self, where: str, n_tasks: int) -> None:
        columns = {name: _column(f"{where}: {name}", getattr(self, name), np.int64) for name in ("source", "target")}
        columns["bytes"] = _column(f"{where}: bytes", self.bytes, np.float64)
        source, target, data = columns.values()
        if not len(source) == len(target) == len(data):
            given = f"{len(source)} sources, {len(target)} targets, {len(data)} bytes"
            raise InputError(f"{where}: {given}; allowed: one each an edge")
        if len(source) > MAX_EDGES:
            raise InputError(f"{where}: {len(source)} edges; allowed: up to {MAX_EDGES}")
        outside = (source < 0) | (source >= n_tasks) | (target < 0) | (target >= n_tasks)
        if outside.any():
            edge = int(np.argmax(outside))
            ends = int(source[edge]), int(target[edge])
            lost = next(end for end in ends if not 0 <= end < n_tasks)
            known = [shown(self.label(end)) if 0 <= end < n_tasks else str(end) for end in ends]
            edge_said = " -> ".join(known)
            raise InputError(f"{where}: edge {edge_said}: there is no task {lost}; allowed: 0 to {n_tasks - 1}")
        key = source * n_tasks + target
        if len(key) > 1 and (key[1:] <= key[:-1]).any():
            places = np.argsort(key, kind="stable")
            key = key[places]
            columns = {name: column[places] for name, column in columns.items()}
            if (twice := key[1:] == key[:-1]).any():
                ends_twice = (columns[end][int(np.argmax(twice))] for end in ("source", "target"))
                raise InputError(f"{where}: edge {self._edge(*ends_twice)} is given twice")
        for name, column in columns.items():
            object.__setattr__(self, name, column)
        self._check_amounts(where, "data", "bytes", columns["bytes"])

    def _edge(self, source: int, target: int) -> str:
        return f"{shown(self.label(int(source)))} -> {shown(self.label(int(target)))}"

    def _check_amounts(self, where: str, what: str, unit: str, amounts: Array) -> None:
        good = (amounts >= 0) & (amounts <= _LARGEST)
        if good.all():
            return
        bad = np.flatnonzero(~good)
        at = int(bad[0])
        is_task = unit == "gflop"
        place = f"task {shown(self.label(at))}" if is_task else f"edge {self._edge(self.source[at], self.target[at])}"
        others = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        raise InputError(f"{where}: {place}: {what} of {amounts[at]:g} {unit}{others}; allowed: finite, at least 0")

    def _check_order(self, where: str) -> None:
        n_tasks, n_edges = self.n_tasks, self.n_edges
        out_first, in_first = np.empty(n_tasks + 1, np.int64), np.empty(n_tasks + 1, np.int64)
        in_edge = np.empty(n_edges, np.int64)
        order, missing = np.empty(n_tasks, np.int64), np.empty(n_tasks, np.int64)
        index_edges(self.source, self.target, n_tasks, out_first, in_first, in_edge)
        if topological_order(out_first, self.target, in_first, n_tasks, order, missing) == n_tasks:
            return
        # Each remaining task has a remaining producer: going back from one to the next leads into a cycle.
        seen: dict[int, int] = {}
        path: list[int] = []
        task = int(np.argmax(missing > 0))
        while task not in seen:
            seen[task] = len(path)
            path.append(task)
            producers = self.source[in_edge[in_first[task] : in_first[task + 1]]]
            task = int(producers[np.argmax(missing[producers] > 0)])
        cycle = path[seen[task] :][::-1]
        begin = cycle.index(min(cycle))
        raise InputError(f"{where}: {self._cycle(cycle[begin:] + cycle[:begin])}")

    def _cycle(self, tasks: list[int]) -> str:
        names = [_plain(self.label(task)) for task in tasks]
        if len(names) == 1:
            return f"the task {names[0]} waits for itself"
        count = ""
        if len(names) > _CYCLE_SHOWN:
            count = f"{len(names)} "
            names[_CYCLE_SHOWN - 1 : -1] = ["…"]
        return f"the {count}tasks {' -> '.join([*names, names[0]])} wait for each other"

    @classmethod
    def from_networkx(cls, graph: "nx.DiGraph", *, where: str = "graph", name: str = "") -> "TaskGraph":
        """Return the tasks and edges of a networkx graph, in its order.

        Parameters
        ----------
        graph : networkx.DiGraph
            Each node has an attribute ``flops`` (FLOP) or ``gflop`` (GFLOP), and optionally ``host``, or ``host`` and ``core``,
            which all nodes have or none; an edge without ``bytes`` has 0. A node's name is its ``str``.
        where : str
            Beginning of errors.
        name : str
            Replaces networkx's name of the graph.

        Raises
        ------
        InputError
            If it is not a ``DiGraph``, or as for the class.
        """
        nx = _networkx()

        if not isinstance(graph, nx.Graph) or not graph.is_directed() or graph.is_multigraph():
            raise InputError(f"{where}: a {type(graph).__name__}; allowed: a networkx.DiGraph")
        counts = (graph.number_of_nodes(), "tasks", MAX_TASKS_PER_JOB), (graph.number_of_edges(), "edges", MAX_EDGES)
        for count, what, limit in counts:
            if count > limit:
                raise InputError(f"{where}: {count} {what}; allowed: up to {limit}")
        number = {node: task for task, node in enumerate(graph)}
        gflop: Any = [_work(f"{where}: task {shown(str(node))}", about) for node, about in graph.nodes(data=True)]
        edges = list(graph.edges(data="bytes", default=0.0))
        source: Any = [number[a] for a, _, _ in edges]
        target: Any = [number[b] for _, b, _ in edges]
        data: Any = [
            real(f"{where}: edge {shown(str(a))} -> {shown(str(b))}: bytes", value, 0.0, _LARGEST)
            for a, b, value in edges
        ]
        host, core = (_places(graph, where, what) for what in ("host", "core"))
        return cls(gflop, source, target, data, tuple(map(str, graph)), host, name or str(graph.name), core, where)

    def to_networkx(self) -> "nx.DiGraph":
        """Return the graph for networkx: nodes named by their labels with ``gflop``, and ``host`` and ``core`` if given, and
        edges with ``bytes``."""
        nx = _networkx()

        graph = nx.DiGraph(name=self.name) if self.name else nx.DiGraph()
        given = {"gflop": self.gflop, "host": self.host, "core": self.core}
        columns = {name: column.tolist() for name, column in given.items() if column is not None}
        for task in range(self.n_tasks):
            graph.add_node(self.label(task), **{name: column[task] for name, column in columns.items()})
        for source, target, data in zip(self.source.tolist(), self.target.tolist(), self.bytes.tolist(), strict=True):
            graph.add_edge(self.label(source), self.label(target), bytes=data)
        return graph


def _networkx() -> Any:
    try:
        import networkx
    except ModuleNotFoundError as error:
        raise InputError(f"{error}; pip install 'twolevel[networkx]' brings it") from None
    return networkx


def check_name(where: str, name: object) -> str:
    """Return the name of a task if it is valid. Raises InputError if it is not text, empty, or holds control characters or
    invalid Unicode, since results repeat it."""
    if not isinstance(name, str) or not name:
        raise InputError(f"{where}: {shown(name)}; allowed: a name of at least 1 character")
    # A fast check for the usual case. Unusual spaces are not printable, but allowed.
    if not name.isprintable() and any(category(character) in _CONTROL for character in name):
        raise InputError(f"{where}: the name {shown(name)} holds control characters; allowed: none")
    return name


def _checked_names(where: str, given: Iterable[str], n_tasks: int) -> tuple[str, ...]:
    names = tuple(given)
    if not names:
        return names
    if len(names) != n_tasks:
        raise InputError(f"{where}: {len(names)} names for {n_tasks} tasks; allowed: one a task, or none")
    for task, name in enumerate(names):
        check_name(f"{where}: task {task}", name)
    if len(set(names)) != n_tasks:
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise InputError(f"{where}: two tasks are called {shown(twice)}; allowed: different names")
    return names


def _column(where: str, values: Any, dtype: type[np.float64 | np.int64]) -> Array:
    # A copy, so that nothing else can change it.
    try:
        given = np.asarray(values)
    except ValueError:  # rows of different lengths
        given = np.empty((0, 0))
    kinds = "iuf" if dtype is np.float64 else "iu"
    if given.ndim != 1 or (given.size and given.dtype.kind not in kinds):
        kind = "numbers" if dtype is np.float64 else "whole numbers"
        raise InputError(f"{where}: {shown(values)}; allowed: one row of {kind}")
    return np.array(given, dtype, order="C")


def _plain(name: str) -> str:
    # Quoted only if its end would not be visible otherwise.
    return name if len(name) <= 40 and name.isprintable() and " " not in name else shown(name, 40)


def _work(where: str, attributes: dict[str, Any]) -> float:
    match attributes:
        case {"flops": _, "gflop": _}:
            raise InputError(f"{where}: has flops and gflop; allowed: one of them")
        case {"flops": value}:
            return real(f"{where}: flops", value, 0.0, _LARGEST) / _FLOP_PER_GFLOP
        case {"gflop": value}:
            return real(f"{where}: gflop", value, 0.0, _LARGEST)
    raise InputError(f"{where}: has no flops; allowed: flops (FLOP) or gflop (GFLOP) at every task")


def _places(graph: "nx.DiGraph", where: str, what: str) -> Array | None:
    given = dict(graph.nodes(data=what))
    without = [node for node, place in given.items() if place is None]
    if len(without) == len(given):
        return None
    if without:
        raise InputError(f"{where}: task {shown(str(without[0]))}: has no {what}, as others do; allowed: all or none")
    return np.array(
        [whole(f"{where}: task {shown(str(node))}: {what}", place, 0, _LARGEST_HOST) for node, place in given.items()],
        np.int64,
    )
