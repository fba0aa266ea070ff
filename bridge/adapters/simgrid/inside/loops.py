"""Loops, and serial parts, as SimGrid's actors compute them: ``PROTOCOL.md``, section 7."""

from __future__ import annotations

from .desk import Desk, LastChunk, moments
from .talk import put, say
from .world import World


class SerialPart:
    """One task, which the first core computes alone."""

    def __init__(self, world: World, number: int, first: int, tasks: int) -> None:
        self._world, self._task = world, first

    def core(self, c: int) -> None:
        """What core ``c`` does, in its actor."""
        world = self._world
        if c == 0:
            chunk, world.chunks = world.chunks, world.chunks + 1
            world.compute(c, self._task, chunk)

    def idles(self, c: int) -> bool:
        """Whether it is another core than the one that computes."""
        return c != 0

    def number_chunks(self) -> None:
        """Its one task has had its number as it began."""


class LoopPart:
    """Tasks that a technique hands out chunk by chunk. ``first``, ``tasks``: its tasks in the job."""

    def __init__(self, world: World, number: int, first: int, tasks: int) -> None:
        self._world, self._number, self._first, self._tasks = world, number, first, tasks
        self._next, self._left, self._requests = first, tasks, 0
        self._learns: bool = world.job["parts"][number]["learns"]
        self._last = [LastChunk() for _ in world.speed]
        self._desk = Desk(len(world.speed), self._serve)
        self._begun, self._sent_away = False, [False] * len(world.speed)

    def core(self, c: int) -> None:
        """What core ``c`` does, in its actor: ask, compute, ask again."""
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
                put("loop", self._number, world.now_ns(), self._tasks, *moments(lengths))
            last, self._last[c] = self._last[c], LastChunk()
            size, place = say("ask", c, self._requests, self._left, world.chunks, world.now_ns(), *last)
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
        """Whether it was sent away."""
        return self._sent_away[c]

    def number_chunks(self) -> None:
        """They have had their numbers as they were assigned."""
