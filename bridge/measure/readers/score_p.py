"""OTF2 archives in Score-P's conventions: OpenMP loops, their implicit barriers and tasks, by location, in all MPI ranks.

Score-P does not record iterations: the part of each thread in a loop counts as one. If a region is named, its executions are
the iterations of a loop, numbered by an attribute if they have one.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from contextlib import redirect_stderr
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any, Final

from bridge.measure.readers.chrome import first_iteration
from bridge.measure.readers.rows import CollectedRows, Slice, chosen_region
from traces.base.errors import InputError, TwolevelError
from traces.base.time import NS_PER_S

_KINDS: Final = {
    "loop": re.compile(r"!\$omp (?:parallel )?(?:for/do|for|do|loop)\b"),
    "barrier": re.compile(r"!\$omp (?:implicit |i)?barrier\b"),
    "parallel": re.compile(r"!\$omp parallel\b"),
}


@dataclass
class _Visit:
    """The execution of a region by a location."""

    name: str
    rank: int  # reference of the location group, a process
    location: int  # reference
    begin: int
    end: int = -1
    first: int = -1  # number of the iteration, if an attribute has it
    kind: str = ""  # of _KINDS; empty: another region
    barrier: "_Visit | None" = None  # of a loop: the barrier in it or directly after it


@dataclass
class _Task:
    creator: Any  # the key of the task that created it; None: an implicit task
    parallel: _Visit | None  # in which it was created
    created: int
    location: int = -1
    begin: int = -1
    end: int = -1
    run: int = 0


@dataclass
class _Archive:
    """All executions of regions and all tasks of an archive; times in ns."""

    source: str
    visits: list[_Visit] = field(default_factory=list)
    tasks: dict[Any, _Task] = field(default_factory=dict)
    _stacks: dict[Any, list[_Visit]] = field(default_factory=lambda: defaultdict(list))  # of locations, and of tasks
    _current: dict[int, Any] = field(default_factory=dict)  # the task that a location executes, if any
    _since: dict[int, int] = field(default_factory=dict)
    _loops: dict[int, _Visit] = field(default_factory=dict)  # location → the loop that it has just left

    def add(self, location: Any, event: Any, now: int) -> None:
        """Add an event."""
        place, kind = location._ref, type(event).__name__
        stack = self._stacks[self._current.get(place) or place]  # a suspended task resumes in its own regions
        if kind == "Enter":
            values = {one.name: value for one, value in (event.attributes or {}).items()}
            name = event.region.name
            kind = next((kind for kind, pattern in _KINDS.items() if pattern.match(name)), "")
            visit = _Visit(name, location.group._ref, place, now, first=first_iteration(values), kind=kind)
            loop = stack[-1] if stack and stack[-1].kind == "loop" else self._loops.get(place)
            if kind == "barrier" and loop is not None and loop.barrier is None:
                loop.barrier = visit
            self._loops.pop(place, None)
            stack.append(visit)
            self.visits.append(visit)
        elif kind == "Leave":
            if not stack or stack[-1].name != event.region.name or now < stack[-1].begin:
                fault = f"{event.region.name} ends at {now} ns, but has not begun; is the archive truncated?"
                raise InputError(f"{self.source}: location {location.name}: {fault}")
            visit = stack.pop()
            visit.end = now
            if visit.kind == "loop":
                self._loops[place] = visit
        elif kind.startswith("ThreadTask"):
            key = location.group._ref, event.thread_team._ref, event.creating_thread, event.generation_number
            self._add_task(kind, place, key, now)

    def _add_task(self, kind: str, place: int, key: Any, now: int) -> None:
        current = self._current.get(place)
        if kind == "ThreadTaskCreate":
            parallel = [one for one in self._stacks[place] if one.kind == "parallel"]
            self.tasks[key] = _Task(current, parallel[-1] if parallel else None, now)
            return
        if current is not None:
            self.tasks[current].run += now - self._since[place]
        task = self.tasks.get(key)  # None: an implicit one
        self._current[place] = None
        if task is not None and kind == "ThreadTaskComplete":
            task.end = now
        elif task is not None:
            self._current[place] = key
            if task.begin < 0:
                task.begin, task.location = now, place
        self._since[place] = now


def reads(source: str, data: bytes, region: str) -> CollectedRows:
    """Return the loops and tasks of an archive, or with a ``region`` this OpenMP loop, or the loop whose iterations are its
    executions. Raises InputError if the archive is truncated, or has none; the message lists its regions."""
    rows = CollectedRows(source)
    found = _read(rows)
    loops = [one for one in found.visits if one.kind == "loop" and region in ("", one.name)]
    if not loops and (region or not found.tasks):
        names = sorted({one.name for one in found.visits})
        chosen_region(source, names, region, "no OpenMP loops and no tasks; name a region of the program")
        chosen = (one for one in found.visits if one.name == region)
        rows.add_slices(region, (Slice(one.location, one.begin, one.end, one.first) for one in chosen))
        return rows
    for parts in _instances(loops):
        ends = [one.end if one.barrier is None else min(one.end, one.barrier.begin) for one in parts]
        times = min(one.begin for one in parts), max(ends)
        loop = rows.add_loop(_place(parts[0]), len(parts), len(parts), times)
        for k, (one, end) in enumerate(zip(parts, ends, strict=True)):
            rows.add("chunks", loop, k, k, 1, 1, one.begin, end)
            if one.barrier is not None:
                rows.add("waits", loop, k, one.barrier.begin, one.barrier.end)
    if loops:
        rows.remarks["Score-P records no iterations: the part of each thread in a loop counts as one iteration"] = None
    if found.tasks and not region:
        _add_tasks(rows, found)
    if (ranks := len({one.rank for one in found.visits})) > 1:
        rows.remarks[f"{ranks} processes (MPI ranks): the loops of each are separate instances"] = None
    return rows


def _read(rows: CollectedRows) -> _Archive:
    from traces.exporters.otf2.library import reading  # loads OTF2

    found, events, first = _Archive(rows.source), 0, 0
    try:
        # The binding prints tracebacks if definitions are damaged.
        with redirect_stderr(StringIO()), reading(Path(rows.source)) as trace:
            ticks = int(trace.timer_resolution)
            for location, event in trace.events:
                now = event.time * NS_PER_S // ticks
                found.add(location, event, now)
                first, events = first if events else now, events + 1
                rows.span_ns = first, now
            declared = sum(location.number_of_events for location in trace.definitions.locations)
    except TwolevelError as error:
        raise InputError(error.text) from None
    if events < declared:
        raise InputError(f"{rows.source}: {events} of {declared} events; the archive is truncated")
    if left := [one.name for one in found.visits if one.end < 0]:
        raise InputError(f"{rows.source}: {left[0]} does not end; the archive is truncated")
    return found


def _instances(visits: Iterable[_Visit]) -> list[list[_Visit]]:
    """Return the executions of each instance of each region, by location.

    The k-th execution by each location of a process is the k-th instance, if all have the same number. Otherwise teams differ,
    and an instance ends where one of its locations begins again.
    """
    groups = defaultdict(list)
    for one in sorted(visits, key=lambda one: one.begin):
        groups[one.rank, one.name].append(one)
    instances: list[list[_Visit]] = []
    for group in groups.values():
        each = defaultdict(list)
        for one in group:
            each[one.location].append(one)
        if len({len(of_location) for of_location in each.values()}) == 1:
            instances += map(list, zip(*each.values(), strict=True))
            continue
        instances.append([])
        for one in group:
            if one.location in {other.location for other in instances[-1]}:
                instances.append([])
            instances[-1].append(one)
    instances.sort(key=lambda parts: (parts[0].rank, min(one.begin for one in parts)))
    return [sorted(parts, key=lambda one: one.location) for parts in instances]


def _add_tasks(rows: CollectedRows, found: _Archive) -> None:
    tasks = {key: one for key, one in found.tasks.items() if one.begin >= 0 and one.end >= 0 and one.parallel}
    if left := len(found.tasks) - len(tasks):
        rows.remarks[f"{left} tasks without an end, or outside of parallel regions, are left out"] = None
    rows.remarks["Score-P records no dependences of tasks"] = None
    numbers = {key: k for k, key in enumerate(tasks)}
    of_parallel = defaultdict(list)
    for key, one in tasks.items():
        of_parallel[id(one.parallel)].append(key)
    for parts in _instances(one for one in found.visits if one.kind == "parallel"):
        keys = [key for part in parts for key in of_parallel[id(part)]]
        if not keys:
            continue
        places = sorted({part.location for part in parts} | {tasks[key].location for key in keys})
        times = min(one.begin for one in parts), max(one.end for one in parts)
        loop = rows.add_loop(_place(parts[0]), 0, len(places), times, kind="tasks")
        for key in sorted(keys, key=numbers.__getitem__):
            one = tasks[key]
            of_task = places.index(one.location), one.created, one.begin, one.end, one.run
            rows.add("tasks", loop, numbers[key], numbers.get(one.creator, -1), *of_task)


def _place(one: _Visit) -> str:
    # ``file:line`` of ``!$omp for @file:line``.
    return one.name.partition("@")[2] or one.name
