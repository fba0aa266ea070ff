"""Observers of the progress of a run, and how often they are called."""

import time
from collections.abc import Callable
from typing import Protocol, runtime_checkable

from bls.simulator import BatchSimulator
from bridge.scenarios.ready import ReadyScenario

_PAUSE_S = 0.05  #: wall time between two readings of the clock, s: too short for a person at a screen to notice
_FIRST_ENDS = 16  #: the number of ends before the first pause of a run, while the time per end is unknown
_MOST_ENDS = 10**9  #: the most ends between two pauses of a run


class Watch(Protocol):
    """An observer of progress; it cannot change a run."""

    def __call__(self, ended: int, now_ns: int) -> None:
        """Receive the number of ended jobs and the simulated time."""


@runtime_checkable
class RunWatch(Watch, Protocol):
    """A watch that also receives the run itself, and may read it whenever it is called."""

    def begin(self, scenario: ReadyScenario, simulator: BatchSimulator, coupling: str) -> None:
        """Receive the run before the first event."""

    def finish(self) -> None:
        """Note the end of the last event; only metrics and results remain."""


class Pace:
    """The number of ends between two readings of ``clock``, for about 20 readings per second; it gives seconds that only
    grow."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock, self._ends = clock, _FIRST_ENDS
        self._last_s: float | None = None

    def ends(self) -> int:
        """Return the number of ends of the next stretch of the run, from 1; call this before each stretch."""
        now_s = self._clock()
        if self._last_s is not None:
            wanted = self._ends * _PAUSE_S / max(now_s - self._last_s, 1e-6)
            # Limit the change, upwards more than downwards: one stretch predicts the next poorly.
            self._ends = int(min(max(wanted, self._ends / 8, 1), self._ends * 2, _MOST_ENDS))
        self._last_s = now_s
        return self._ends
