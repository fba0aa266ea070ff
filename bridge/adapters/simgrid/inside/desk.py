"""Where a job's cores ask for work: requests of one instant are served together, that of the lowest core first."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

import simgrid


class Desk:
    """Requests that have arrived, and their answers.

    Parameters
    ----------
    n_cores : int
    serve : callable
        ``serve(core)`` answers by :meth:`answer`, at once or later.

    Notes
    -----
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
