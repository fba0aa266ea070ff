"""Loops and serial parts as SimGrid's actors compute them (``PROTOCOL.md``, section 7), and the desk for requests of work.

The desk serves the requests of one instant together, by core."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import simgrid

from .world import SimulatedPart, World, ask, put


class Desk:
    """Requests that have arrived, and their answers; ``serve(core)`` answers with :meth:`answer`, at once or later. After an
    actor has yielded once, all other actors that SimGrid wakes at its instant have arrived."""

    def __init__(self, n_cores: int, serve: Callable[[int], None]) -> None:
        self._serve = serve
        self._arrived: list[int] = []
        self._answers: list[Any] = [None] * n_cores
        self._bells = [simgrid.Semaphore(0) for _ in range(n_cores)]

    def ask(self, core: int) -> Any:
        """Request as ``core``, in its actor, and wait for the answer."""
        heapq.heappush(self._arrived, core)
        self.settle()
        self._bells[core].acquire()
        return self._answers[core]

    def recall(self, core: int) -> None:
        """Serve a waiting core again, with the others of this instant."""
        heapq.heappush(self._arrived, core)

    def settle(self) -> None:
        """Let all requests of this instant arrive, and have them served."""
        simgrid.this_actor.yield_()
        while self._arrived:
            self._serve(heapq.heappop(self._arrived))

    def answer(self, core: int, what: Any) -> None:
        """Answer the request of a core."""
        self._answers[core] = what
        self._bells[core].release()


class LastChunk(NamedTuple):
    """A core's last chunk; of size 0 if there is none, or the technique has been notified of it."""

    size: int = 0
    work_ns: int = 0  # of its tasks
    total_ns: int = 0  # from the request to the end
    squares: float = 0.0  # sum over its tasks of (time - their mean time)², ns²

    @classmethod
    def of(cls, took_ns: Sequence[int], total_ns: int) -> LastChunk:
        """The chunk whose tasks took these times."""
        work, shift, size = sum(took_ns), took_ns[0], len(took_ns)
        squares = math.fsum(float(took - shift) ** 2 for took in took_ns)
        beyond = float(work) - float(size) * float(shift)
        return cls(size, work, total_ns, max(0.0, squares - beyond * beyond / size))


def moments(gflop: Sequence[float]) -> tuple[float, float]:
    """Mean and (population) standard deviation of lengths; exactly 0 if all are equal."""
    beyond = 0.0
    for length in gflop:
        beyond += length - gflop[0]
    mean = gflop[0] + beyond / len(gflop)
    squares = 0.0
    for length in gflop:
        squares += (length - mean) * (length - mean)
    return mean, math.sqrt(squares / len(gflop))


class SerialPart(SimulatedPart):
    """One task, which the first core computes alone."""

    def __init__(self, world: World, number: int, first: int, tasks: int) -> None:
        self._world, self._task = world, first

    def core(self, c: int) -> None:
        world = self._world
        if c == 0:
            chunk, world.chunks = world.chunks, world.chunks + 1
            world.compute(c, self._task, chunk)

    def idles(self, c: int) -> bool:
        return c != 0


class LoopPart(SimulatedPart):
    """Tasks that a technique assigns chunk by chunk. ``first``, ``tasks``: its tasks in the job."""

    def __init__(self, world: World, number: int, first: int, tasks: int) -> None:
        self._world, self._number, self._first, self._tasks = world, number, first, tasks
        self._next, self._left, self._requests = first, tasks, 0
        self._learns: bool = world.job["parts"][number]["learns"]
        self._last = [LastChunk() for _ in world.speed]
        self._desk = Desk(len(world.speed), self._serve)
        self._begun, self._sent_away = False, [False] * len(world.speed)

    def core(self, c: int) -> None:
        world = self._world
        while True:
            asked_ns = world.now_ns()
            world.sleep(world.latency_s[c])
            first, size, chunk, worked_out_s = self._desk.ask(c)
            if size == 0:
                world.sleep(world.latency_s[c])
                return
            world.fetch_answer(c, asked_ns, worked_out_s)
            took = [world.compute(c, task, chunk) for task in range(first, first + size)]
            self._last[c] = LastChunk.of(took, world.now_ns() - asked_ns)

    def _serve(self, c: int) -> None:
        world = self._world
        size = place = 0
        if self._left > 0 or self._learns:
            if not self._begun:
                self._begun = True
                lengths = world.length[self._first : self._first + self._tasks]
                put("begin", self._number, -1, world.now_ns(), self._tasks, *moments(lengths))
            last, self._last[c] = self._last[c], LastChunk()
            size, place = ask("ask", c, self._requests, self._left, world.chunks, world.now_ns(), *last)
        if size == 0:
            self._sent_away[c] = True
            if all(self._sent_away) and self._left > 0:
                world.stuck(self._left)
            self._desk.answer(c, (0, 0, 0, 0.0))
            return
        first = self._next if place < 0 else self._first + place
        self._next += size
        self._left -= size
        self._requests += 1
        chunk, world.chunks = world.chunks, world.chunks + 1
        self._desk.answer(c, (first, size, chunk, world.worked_out_s()))

    def idles(self, c: int) -> bool:
        return self._sent_away[c]
