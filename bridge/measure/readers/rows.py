"""Rows of a measurement collected by a reader of another tool's file, and loops made of slices of time."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np

from traces.base.errors import InputError, listed, shown
from traces.compiled import Array
from traces.records.measurements import TABLES

MOST_ITERATIONS: Final = 20_000_000  #: of one loop that was measured iteration by iteration
_ROUNDING_NS: Final = 1_000  #: a slice may begin before the end of the one before it, in formats of microseconds
_TIMES: Final = ("begin_ns", "end_ns", "created_ns")


class Slice(NamedTuple):
    """Successive iterations executed by a thread."""

    thread: Any  # threads are numbered in the order of these
    begin_ns: int
    end_ns: int
    first: int = -1  # first iteration; -1: unknown
    iterations: int = 1


@dataclass
class CollectedRows:
    """The tables of one run. Times have any origin; :meth:`tables` makes them begin at 0."""

    source: str  # the file, for errors
    remarks: dict[str, None] = field(default_factory=dict)  # lines on what was put together or is not in the file
    span_ns: tuple[int, ...] = ()  # begin and end of the run; empty: those of its loops
    _rows: dict[str, list[tuple[Any, ...]]] = field(default_factory=lambda: {name: [] for name in TABLES})
    _regions: dict[tuple[str, str], int] = field(default_factory=dict)

    def add(self, table: str, *values: Any) -> None:
        """Add a row of a table; without the run."""
        self._rows[table].append((0, *values))

    def add_loop(self, name: str, iterations: int, threads: int, times: tuple[int, int], kind: str = "loop") -> int:
        """Add an instance of a region with its begin and end, and return its number. The schedule is unknown."""
        region = self._regions.setdefault((name, kind), len(self._regions))
        number = len(self._rows["loops"])
        self.add("loops", number, region, "other", iterations, threads, *times)
        return number

    def add_slices(self, name: str, slices: Iterable[Slice]) -> None:
        """Add the instances of a loop made of slices: an iteration that occurs again belongs to the next instance.

        If one is unknown, all are numbered by the begins of their slices. Raises InputError if slices of a thread overlap.
        """
        ordered = self._without_inner(name, sorted(slices, key=lambda one: (one.begin_ns, -one.end_ns)))
        if any(one.first < 0 for one in ordered):
            numbers = np.cumsum([0, *(one.iterations for one in ordered)]).tolist()
            ordered = [one._replace(first=k) for one, k in zip(ordered, numbers, strict=False)]
            self.remarks[f"{name}: the numbers of iterations are unknown; they are in the order of their begins"] = None
        threads = {thread: k for k, thread in enumerate(sorted({one.thread for one in ordered}))}
        for places in self.instances(name, [(one.first, one.iterations) for one in ordered]):
            rows = sorted((ordered[k] for k in places), key=lambda one: (one.thread, one.begin_ns))
            times = min(one.begin_ns for one in rows), max(one.end_ns for one in rows)
            loop = self.add_loop(name, max(one.first + one.iterations for one in rows), len(threads), times)
            for one in rows:
                self.add("chunks", loop, threads[one.thread], one.first, one.iterations, 1, one.begin_ns, one.end_ns)

    def instances(self, name: str, chunks: Sequence[tuple[int, int]]) -> list[list[int]]:
        """Return the places of the chunks of each instance of a loop. ``chunks``: in their order, first iteration and number of
        iterations. Raises InputError with more than ``MOST_ITERATIONS`` iterations."""
        n = max(first + size for first, size in chunks)
        if n > MOST_ITERATIONS:
            raise InputError(f"{self.source}: {name}: {n} iterations; allowed: up to {MOST_ITERATIONS}")
        seen: Array = np.zeros(n, np.int32)
        places = defaultdict(list)
        for place, (first, size) in enumerate(chunks):
            number = int(seen[first : first + size].max())
            seen[first : first + size] = number + 1
            places[number].append(place)
        return [places[number] for number in sorted(places)]

    def _without_inner(self, name: str, ordered: list[Slice]) -> list[Slice]:
        # A slice within another one of its thread is a recursive call.
        until: dict[Any, int] = {}
        kept = []
        for one in ordered:
            last = until.get(one.thread, one.begin_ns)
            if one.begin_ns < last and one.end_ns <= last:
                self.remarks[f"{name}: parts within others of the same name are left out"] = None
                continue
            if one.begin_ns < last - _ROUNDING_NS:
                fault = f"a part begins {last - one.begin_ns} ns before the end of the part before it"
                thread = "".join(str(one.thread).split())
                raise InputError(f"{self.source}: {name}: the clock of thread {thread} goes back: {fault}")
            kept.append(one._replace(begin_ns=max(one.begin_ns, last)))
            until[one.thread] = one.end_ns
        return kept

    def tables(self) -> dict[str, dict[str, list[Any]]]:
        """Return the columns by table. Raises InputError if there is no loop and no task."""
        if not self._regions:
            raise InputError(f"{self.source}: no loop, and no task that has ended")
        tables: dict[str, dict[str, list[Any]]] = {}
        for name, rows in self._rows.items():
            tables[name] = {column: [row[k] for row in rows] for k, column in enumerate(TABLES[name])}
        times = [column for columns in tables.values() for name, column in columns.items() if name in _TIMES]
        begin, end = (least((*self.span_ns, *(time for column in times for time in column))) for least in (min, max))
        for column in times:
            column[:] = [time - begin for time in column]
        names, kinds = zip(*self._regions, strict=True)
        tables["regions"] = {"region": list(self._regions.values()), "name": list(names), "kind": list(kinds)}
        run = (
            0,
            "",
            0,
            0,
            0,
            end - begin,
            -1,
            0,
        )  # no schedule, and no number of threads; not how quiet the machine was
        tables["runs"] = {name: [value] for name, value in zip(TABLES["runs"], run, strict=True)}
        return tables


def chosen_region(source: str, names: Iterable[str], region: str, needed: str = "") -> str:
    """Return the region to read: the given one, or the only one. Raises InputError, which lists the regions, if it is not
    there, or none is given and several are there, or none is enough for what is ``needed``."""
    known = list(dict.fromkeys(names))
    if region in known or (len(known) == 1 and not region and not needed):
        return region or known[0]
    fault = f"no region {shown(region)}" if region else needed or "name the region whose executions are iterations"
    raise InputError(f"{source}: {fault}; known: {listed(known) or 'none'}")
