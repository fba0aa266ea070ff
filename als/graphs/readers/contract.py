"""The contract of readers of task graphs: a reader records the tasks, files and edges of a text one after another."""

import math
from array import array
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from typing import Protocol

import numpy as np

from als.graphs.task_graph import MAX_EDGES, TaskGraph, check_name
from als.options import MAX_TASKS_PER_JOB
from traces.base.errors import InputError, parse_real, shown
from traces.base.options import CORE_GFLOPS as MEASURED

#: Speed in GFLOP/s of the core on which run times were measured, for formats that give times and no work: a core of the
#: default platform.
CORE_GFLOPS = MEASURED.default

_LARGEST_HOST = 2**31 - 1

# Longer texts are not numbers of FLOP, bytes or hosts.
_LONGEST_NUMBER = 400


class Reader(Protocol):
    """Reads one format."""

    def __call__(self, data: bytes, rows: "GraphRows", core_gflops: float, /) -> None:
        """Record the contents of ``data``, the unpacked bytes of a file, in ``rows``: all tasks before the first edge.

        Nothing is repaired. ``core_gflops`` is the work in GFLOP of a second of run time. Invalid contents raise the
        ``InputError`` that ``rows.error`` makes.
        """


class GraphRows:
    """The tasks and edges of a file found so far. ``source``: the file's name, with which all errors begin."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._number: dict[str, int] = {}
        self._gflop = array("d")
        self._places = {"host": array("q"), "core": array("q")}
        self._kinds: dict[str, dict[int, float]] = {}
        self._producer, self._consumer, self._bytes = array("q"), array("q"), array("d")

    @property
    def n_tasks(self) -> int:
        """Number of tasks so far."""
        return len(self._gflop)

    @property
    def n_edges(self) -> int:
        """Number of edges so far."""
        return len(self._bytes)

    def error(self, place: str, what: str) -> InputError:
        """Return the error about a place of the file, such as ``"line 3"``; empty: about the whole file."""
        return InputError(f"{self.source}: {place}: {what}" if place else f"{self.source}: {what}")

    def __contains__(self, name: str) -> bool:
        return name in self._number

    def add_task(
        self, name: object, gflop: float, place: str, host: int | None = None, core: int | None = None
    ) -> None:
        """Add a task named ``name``, with its work from :meth:`amount` and its ``host`` or ``core`` from :meth:`place`; all
        tasks have one, or none. Raises InputError if the name is invalid or taken, or there are too many tasks."""
        known = check_name(f"{self.source}: {place}: task", name)
        if known in self._number:
            raise self.error(place, f"a second task {shown(known)}; allowed: different names")
        if self.n_tasks == MAX_TASKS_PER_JOB:
            raise self.error(place, f"more than {MAX_TASKS_PER_JOB} tasks; allowed: up to {MAX_TASKS_PER_JOB}")
        for what, number in (("host", host), ("core", core)):
            column = self._places[what]
            if self.n_tasks and (number is None) is not (column[0] < 0):
                first = next(iter(self._number))
                having, without = (first, known) if number is None else (known, first)
                raise self.error(
                    place, f"task {shown(without)} has no {what}, as task {shown(having)} has; allowed: all or none"
                )
            column.append(-1 if number is None else number)
        self._number[known] = self.n_tasks
        self._gflop.append(gflop)

    def add_work(self, task: str, kind: str, gflop: float) -> None:
        """Add the work of a known task on a kind of workers besides cores, from :meth:`amount`."""
        self._kinds.setdefault(kind, {})[self._number[task]] = gflop

    def add_edge(self, producer: str, consumer: str, bytes_: float, place: str) -> None:
        """Add an edge between two known tasks, with bytes from :meth:`amount`. Raises InputError if a task is unknown or there
        are too many edges."""
        try:
            ends = self._number[producer], self._number[consumer]
        except KeyError as error:
            edge = f"edge {shown(producer)} -> {shown(consumer)}"
            raise self.error(place, f"{edge}: there is no task {shown(error.args[0])}") from None
        if self.n_edges == MAX_EDGES:
            raise self.error(place, f"more than {MAX_EDGES} edges; allowed: up to {MAX_EDGES}")
        self._producer.append(ends[0])
        self._consumer.append(ends[1])
        self._bytes.append(bytes_)

    def amount(self, place: str, what: str, value: object) -> float:
        """Return a number from a file, or from its text: finite, at least 0. Raises InputError otherwise."""
        number = None
        if isinstance(value, str) and len(value) <= _LONGEST_NUMBER and value.isascii():
            with suppress(ValueError):
                number = parse_real(value.strip())
        elif isinstance(value, int | float) and not isinstance(value, bool):
            number = math.inf
            with suppress(OverflowError):  # a whole number beyond every float
                number = float(value)
        if number is None:
            raise self.error(place, f"{what}: {shown(value)} is not a number; allowed: at least 0")
        if not 0.0 <= number < math.inf:
            raise self.error(place, f"{what}: {shown(value)} is out of range; allowed: finite, at least 0")
        return number

    def place(self, place: str, what: str, attributes: Mapping[str, str]) -> int | None:
        """Return the number of a task's ``host`` or ``core`` from its attribute; None if the file gives none. Raises InputError
        if it is not a number."""
        if what not in attributes:
            return None
        value = attributes[what]
        text = value.strip()
        if not (text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER and int(text) <= _LARGEST_HOST):
            raise self.error(place, f"{what}: {shown(value)}; allowed: a whole number from 0 to {_LARGEST_HOST}")
        return int(text)

    def graph(self, name: str) -> TaskGraph:
        """Return the recorded graph. Raises InputError as :class:`~als.graphs.task_graph.TaskGraph`."""
        host, core = (
            np.array(column, np.int64) if column and column[0] >= 0 else None for column in self._places.values()
        )
        found = self._gflop, self._producer, self._consumer, self._bytes
        gflop, source, target, data = map(np.asarray, found)
        works = None
        if self._kinds:
            works = np.full((len(self._kinds), self.n_tasks), np.inf)
            for row, of_tasks in zip(works, self._kinds.values(), strict=True):
                row[list(of_tasks)] = list(of_tasks.values())
        names, kinds = tuple(self._number), tuple(self._kinds)
        return TaskGraph(gflop, source, target, data, names, host, name, core, self.source, kinds, works)


def text_of(data: bytes, rows: GraphRows, form: str) -> str:
    """Return the text of a UTF-8 file without its byte order mark. Raises InputError, which names the ``form`` (such as
    ``"DOT"``), if it is not UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise rows.error("", f"not valid {form}: byte {error.start} is not UTF-8") from None


#: Attributes of a task's work, and their units in GFLOP. SimGrid uses ``size``.
_WORK = {"flops": 1e9, "gflop": 1.0, "size": 1e9}
_DATA = ("bytes", "size")


def _only(rows: GraphRows, place: str, known: tuple[str, ...], given: Mapping[str, str]) -> str | None:
    found = [name for name in known if name in given]
    if len(found) > 1:
        raise rows.error(place, f"has {' and '.join(found)}; allowed: one of them")
    return found[0] if found else None


def task_gflop(rows: GraphRows, place: str, attributes: Mapping[str, str]) -> float:
    """Return a task's work in GFLOP, from ``flops`` or ``size`` in FLOP or ``gflop`` in GFLOP. Raises InputError unless
    exactly one is given and valid."""
    name = _only(rows, place, tuple(_WORK), attributes)
    if name is None:
        raise rows.error(place, "has no flops; allowed: flops or size (FLOP), or gflop (GFLOP)")
    return rows.amount(place, name, attributes[name]) / _WORK[name]


def edge_bytes(rows: GraphRows, place: str, attributes: Mapping[str, str]) -> float:
    """Return an edge's bytes, from ``bytes`` or ``size``; 0 by default. Raises InputError if both are given, or one is
    invalid."""
    name = _only(rows, place, _DATA, attributes)
    return 0.0 if name is None else rows.amount(place, name, attributes[name])


class Files:
    """The files of a workflow. ``rows``: makes the errors."""

    def __init__(self, rows: GraphRows) -> None:
        self._rows = rows
        #: The files that each task writes, and reads: each with its size in bytes, if given.
        self.written: dict[str, dict[str, float | None]] = defaultdict(dict)
        self.read: dict[str, dict[str, float | None]] = defaultdict(dict)

    def passed(self, producer: str, consumer: str, place: str) -> float:
        """Return the bytes of all files that the producer writes and the consumer reads, with their size when written. Raises
        InputError if a file has no size on either side."""
        written, read = self.written[producer], self.read[consumer]
        fewer, others = (written, read) if len(written) <= len(read) else (read, written)
        sizes = []
        for file in fewer:
            if file not in others:
                continue
            size = written[file] if written[file] is not None else read[file]
            if size is None:
                edge = f"edge {shown(producer)} -> {shown(consumer)}"
                raise self._rows.error(place, f"{edge}: the file {shown(file)} has no size")
            sizes.append(size)
        try:
            return math.fsum(sizes)  # independent of their order
        except OverflowError:
            return math.inf
