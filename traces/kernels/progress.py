"""What is said while kernels are compiled: a bar on a terminal, a line every few seconds elsewhere; nothing if it is quick."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TextIO

#: So long nothing is said, s.
_QUIET_S = 1.5

#: The bar is drawn again after so long, and a line is written, s.
_REDRAW_S, _LINE_S = 0.1, 3.0

#: What is left of a unit when its last kernel has been gone through, as a share of what went before: to optimise it.
_REST = 0.35

_WIDTH = 24


class Compiling:
    """How far it is.

    - ``units``: how many kernels each unit has that is compiled; 0: nobody knows.
    - ``stream``: default stderr.
    - ``clock``: seconds that only grow.
    """

    def __init__(
        self, units: Mapping[str, int], *, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._units = dict(units)
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._began = clock()
        self._said_s = self._began - _LINE_S
        self._finished = 0  # kernels of units that are done
        self._here = 0  # of the one that is not
        self._bar = False

    @property
    def total(self) -> int:
        """How many kernels there are."""
        return max(sum(self._units.values()), self._finished + self._here)

    def waits_for(self, name: str) -> bool:
        """Whether a unit is among those that are compiled."""
        return name in self._units

    def kernel(self) -> None:
        """One more kernel has been gone through."""
        self._here += 1
        self.show()

    def unit(self, name: str, kernels: int) -> None:
        """A unit is done."""
        self._units[name] = kernels
        self._finished, self._here = self._finished + kernels, 0
        self.show()

    def text(self) -> str:
        """How far it is, in words."""
        done, total = self._finished + self._here, self.total
        elapsed_s = self._clock() - self._began
        work = self._finished * (1 + _REST) + self._here
        left_s = elapsed_s * (total * (1 + _REST) - work) / work if work else 0.0
        left = f", about {left_s:.0f} s left" if work and total and left_s >= 1 else ""
        if not all(self._units.values()):  # nobody knows how many there are
            return f"compiling for this version, once: {done} kernel{'s' * (done != 1)}"
        return f"compiling for this version, once: {done} of {total} kernels{left}"

    def show(self) -> None:
        """Say how far it is, if it is time for that."""
        now_s = self._clock()
        if now_s - self._began < _QUIET_S:
            return
        with contextlib.suppress(OSError, ValueError):  # nobody reads any more
            if self._stream.isatty():
                if now_s - self._said_s >= _REDRAW_S:
                    self._said_s, self._bar = now_s, True
                    share = (self._finished + self._here) / max(1, self.total)
                    bar = "━" * round(_WIDTH * share)
                    self._stream.write(f"\r\x1b[K{bar:<{_WIDTH}} {self.text()}")
                    self._stream.flush()
            elif now_s - self._said_s >= _LINE_S:
                self._said_s = now_s
                self._stream.write(f"{self.text()}\n")
                self._stream.flush()

    def close(self) -> None:
        """Take the bar away."""
        if self._bar:
            with contextlib.suppress(OSError, ValueError):
                self._stream.write("\r\x1b[K")
                self._stream.flush()


_LOCK = threading.RLock()
_NOW: Compiling | None = None
_SPENT_S = 0.0
_SINCE_S: float | None = None
_SAID: set[str] = set()


@contextlib.contextmanager
def compiling(units: Mapping[str, int]) -> Iterator[None]:
    """While these units are compiled: how many kernels each has, 0 where nobody knows. Within another, it is part of that."""
    global _NOW, _SINCE_S, _SPENT_S
    with _LOCK:
        if _NOW is not None or not units:
            yield
            return
        _NOW = Compiling(units)
        _SINCE_S = time.monotonic()
        try:
            yield
        finally:
            _SPENT_S, _SINCE_S = spent_s(), None
            _NOW.close()
            _NOW = None


def note() -> None:
    """One more kernel has been gone through."""
    if _NOW is not None:
        _NOW.kernel()


def unit_done(name: str, kernels: int) -> None:
    """A unit is done that has so many kernels, here or by whoever was waited for."""
    if _NOW is not None:
        _NOW.unit(name, kernels)


def unit_kept(name: str, kernels: int) -> None:
    """A unit is there; if it was to be compiled, another process has done that meanwhile."""
    if _NOW is not None and _NOW.waits_for(name):
        _NOW.unit(name, kernels)


def spent_s() -> float:
    """How long this process has compiled so far, or waited for one that does, wall s: no part of what a run takes."""
    since_s = _SINCE_S
    return _SPENT_S if since_s is None else _SPENT_S + time.monotonic() - since_s


def working_s() -> float:
    """The clock of whoever says how long a run takes: monotonic seconds, which stand still while this process compiles."""
    since_s = _SINCE_S
    return (time.monotonic() if since_s is None else since_s) - _SPENT_S


def not_kept(why: str) -> None:
    """Machine code is not kept: say why, once."""
    if not _SAID:  # what is wrong with one file is wrong with the others
        _SAID.add(why)
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(f"kernels are compiled again in every run: {why}\n")
