"""Where a job's cores ask for work: requests of one instant are served together, that of the lowest core first.

And what a technique is told of a loop's tasks, and of the chunk that a core has ended.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import simgrid


class Desk:
    """Requests that have arrived, and their answers; ``serve(core)`` answers by :meth:`answer`, at once or later.

    SimGrid runs all actors that wake at one instant before those that they wake in turn. So who has yielded once has let
    everybody else arrive who arrives at the same instant.
    """

    def __init__(self, n_cores: int, serve: Callable[[int], None]) -> None:
        self._serve = serve
        self._arrived: list[int] = []
        self._answers: list[Any] = [None] * n_cores
        self._bells = [simgrid.Semaphore(0) for _ in range(n_cores)]

    def ask(self, core: int) -> Any:
        """Ask as ``core``, in its actor, and wait for the answer."""
        heapq.heappush(self._arrived, core)
        self.settle()
        self._bells[core].acquire()
        return self._answers[core]

    def recall(self, core: int) -> None:
        """Serve a core again that has been waiting, with the others of this instant."""
        heapq.heappush(self._arrived, core)

    def settle(self) -> None:
        """Let everybody arrive who arrives now, and see that they are served."""
        simgrid.this_actor.yield_()
        while self._arrived:
            self._serve(heapq.heappop(self._arrived))

    def answer(self, core: int, what: Any) -> None:
        """The answer to a core that has asked."""
        self._answers[core] = what
        self._bells[core].release()


class LastChunk(NamedTuple):
    """A core's last chunk; of size 0 if it has had none, or the technique has heard of it."""

    size: int = 0
    work_ns: int = 0  # of its tasks
    total_ns: int = 0  # from the request to the end
    squares: float = 0.0  # sum over its tasks of (time - their mean time)², ns²

    @classmethod
    def of(cls, took_ns: Sequence[int], total_ns: int) -> LastChunk:
        """The chunk whose tasks took so long, one after the other."""
        work, shift, size = sum(took_ns), took_ns[0], len(took_ns)
        squares = math.fsum(float(took - shift) ** 2 for took in took_ns)
        beyond = float(work) - float(size) * float(shift)
        return cls(size, work, total_ns, max(0.0, squares - beyond * beyond / size))


def moments(gflop: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation (the population's) of lengths; equal ones have exactly 0."""
    beyond = 0.0
    for length in gflop:
        beyond += length - gflop[0]
    mean = gflop[0] + beyond / len(gflop)
    squares = 0.0
    for length in gflop:
        squares += (length - mean) * (length - mean)
    return mean, math.sqrt(squares / len(gflop))
