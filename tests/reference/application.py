"""One job's tasks on its cores, one task after another, with all speed changes and the stop known from the start.

Every core has a timeline of speeds. A core that is handed a chunk walks each task along its timeline; whether the job
is stopped is looked at only when everything is known, by cutting what lies beyond the stop.

Numbers may be floats, as the project computes, or fractions, which are exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

Real = TypeVar("Real", float, Fraction)


def chunk_sizes(technique: str, tasks: int, cores: int) -> Iterator[int]:
    """The sizes of the chunks in the order in which cores ask; the first ``cores`` requests come in core order."""
    left = tasks
    if technique == "static":
        for core in range(cores):
            yield tasks // cores + (1 if core < tasks % cores else 0)
    elif technique == "ss":
        for _ in range(tasks):
            yield 1
    elif technique == "gss":
        while left:
            size = -(-left // cores)
            yield size
            left -= size
    elif technique == "fac":
        while left:
            of_batch = -(-left // (2 * cores))
            for _ in range(cores):
                if left:
                    size = min(of_batch, left)
                    yield size
                    left -= size
    else:
        raise ValueError(technique)


def duration_ns(work: Real, speed: Real) -> int:
    """Nanoseconds, rounded half to even, at least one."""
    return max(1, round(work / speed * 10**9))


@dataclass(frozen=True)
class Ran:
    """A task that ran, or had begun when the job was stopped."""

    chunk: int
    core: int
    start: int
    end: int


@dataclass(frozen=True)
class Run:
    """What became of a job: each task (None if it never began), each core's finishing instant, the chunks."""

    tasks: list[Ran | None]
    finish: list[int]
    chunks: int

    @property
    def end(self) -> int:
        """When the last core finished."""
        return max(self.finish)


def run(
    lengths: Sequence[Real],
    speeds: Sequence[Real],
    technique: str,
    *,
    start: int = 0,
    overhead: int = 0,
    changes: Sequence[tuple[int, int, Real]] = (),
    stop: int | None = None,
) -> Run:
    """Simulate a job.

    ``changes`` are (instant, core, speed from then on), ascending instants, from ``start`` on; of two changes of one
    core at one instant the later in the list counts.
    """
    timelines: list[list[tuple[int, Real]]] = [[(start, speed)] for speed in speeds]
    for at, core, speed in changes:
        timelines[core].append((at, speed))
    sizes = chunk_sizes(technique, len(lengths), len(speeds))
    idle_from = dict.fromkeys(range(len(speeds)), start)
    finish = [start] * len(speeds)
    tasks: list[Ran | None] = [None] * len(lengths)
    given = chunks = 0
    while idle_from:
        core = min(idle_from, key=lambda core: (idle_from[core], core))
        now = idle_from[core]
        if stop is not None and now >= stop:
            break
        size = next(sizes, 0)
        if size == 0:
            finish[core] = now
            del idle_from[core]
            continue
        now += overhead
        for task in range(given, given + size):
            begun, now = now, _end_of(lengths[task], timelines[core], now)
            tasks[task] = Ran(chunks, core, begun, now)
        given += size
        chunks += 1
        idle_from[core] = now
    if stop is not None:
        tasks = [_cut(task, stop) for task in tasks]
        for core in idle_from:
            finish[core] = stop
    return Run(tasks, finish, chunks)


def _cut(task: Ran | None, stop: int) -> Ran | None:
    if task is None or task.start >= stop:
        return None
    return Ran(task.chunk, task.core, task.start, min(task.end, stop))


def _end_of(work: Real, timeline: list[tuple[int, Real]], t: int) -> int:
    nano = Fraction(1, 10**9) if isinstance(work, Fraction) else 1e-9
    while True:
        speed = [gflops for at, gflops in timeline if at <= t][-1]
        end = t + duration_ns(work, speed)
        changed = min((at for at, _ in timeline if at > t), default=end)
        if end <= changed:
            return end
        # What is left goes on at the next speed, and is never nothing.
        work = max(work - (changed - t) * nano * speed, type(work)(1e-300))
        t = changed
