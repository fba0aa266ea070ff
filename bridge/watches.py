"""How a run is watched: who is told of its progress, and how often."""

import time
from collections.abc import Callable
from typing import Protocol, runtime_checkable

from bls.simulator import BatchSimulator
from bridge.scenarios.ready import ReadyScenario

#: Wall time between two readings of the clock, s: a fraction of what a person at a screen notices.
_PAUSE_S = 0.05

#: The number of ends before the first pause of a run, when it is not known yet how long they take.
_FIRST_ENDS = 16

#: The most ends between two pauses of a run.
_MOST_ENDS = 10**9


class Watch(Protocol):
    """An observer of progress. It only looks."""

    def __call__(self, ended: int, now_ns: int) -> None:
        """``ended`` jobs have ended, and the simulated clock shows ``now_ns``."""


@runtime_checkable
class RunWatch(Watch, Protocol):
    """A watch that is also shown the run itself, and may look at it whenever it is called."""

    def begin(self, scenario: ReadyScenario, simulator: BatchSimulator, coupling: str) -> None:
        """Before the first event."""

    def finish(self) -> None:
        """After the last event; what is left is to work out the metrics and to write the results."""


class Pace:
    """After how many ends to read the clock again, so that it is read about 20 times a second.

    Parameters
    ----------
    clock : callable
        Seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock, self._ends = clock, _FIRST_ENDS
        self._last_s: float | None = None

    def ends(self) -> int:
        """To be called before each stretch of the run: how many ends it is to have, from 1."""
        now_s = self._clock()
        if self._last_s is not None:
            wanted = self._ends * _PAUSE_S / max(now_s - self._last_s, 1e-6)
            # By steps, up smaller than down: one stretch says little about the next.
            self._ends = int(min(max(wanted, self._ends / 8, 1), self._ends * 2, _MOST_ENDS))
        self._last_s = now_s
        return self._ends
