"""A progress bar for a person at a terminal: jobs done, simulated time, rate. In a pipe it shows nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, TextIO

from traces.time import format_ns

__all__ = ["Progress"]

#: A run shorter than this shows no bar, s.
QUIET_S = 1.0

#: The bar is drawn again after so long, s.
_REDRAW_S = 0.1


class Progress:
    """A ``bridge.couplings.Watch`` that shows a bar once a run has taken a second.

    Parameters
    ----------
    total : int
        How many there are.
    what : str
        What is counted, for the bar.
    stream : text stream, optional
        Where the bar goes, if that is a terminal; default stderr.
    clock : callable
        Seconds that only grow.
    """

    def __init__(
        self,
        total: int,
        what: str = "jobs",
        *,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._total, self._what, self._clock = total, what, clock
        self._stream = sys.stderr if stream is None else stream
        self._terminal = self._stream.isatty()
        self._began = clock()
        self._drawn_s = 0.0
        self._bar: Any = None
        self._task: Any = None

    def __call__(self, ended: int, now_ns: int) -> None:
        """Tell that so many have ended, at this simulated instant; below 0 there is none to show."""
        if not self._terminal:
            return
        elapsed_s = self._clock() - self._began
        if elapsed_s < QUIET_S or (self._bar is not None and elapsed_s < self._drawn_s + _REDRAW_S):
            return
        if self._bar is None:
            self._open()
        self._drawn_s = elapsed_s
        per_s = ended / elapsed_s
        rate = f"{per_s:,.0f}" if per_s >= 10 else f"{per_s:.2g}"
        simulated = f"  simulated {format_ns(now_ns)}" if now_ns >= 0 else ""
        self._bar.update(
            self._task,
            completed=ended,
            state=f"{ended:,} of {self._total:,} {self._what}{simulated}  {rate} {self._what}/s",
            refresh=True,
        )

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bar

        # stderr is looked up anew for every line, so that warnings are written above the bar, not into it.
        console = Console(stderr=True) if self._stream is sys.stderr else Console(file=self._stream)
        self._bar = Bar(BarColumn(), TextColumn("{task.fields[state]}"), console=console, transient=True)
        self._task = self._bar.add_task("", total=self._total, state="")
        self._bar.start()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
