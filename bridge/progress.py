"""A progress bar for a person at a terminal: jobs done, simulated time, rate. In a pipe it shows nothing."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

from traces.time import format_ns

__all__ = ["Progress"]

#: A run shorter than this shows no bar, s.
_QUIET_S = 1.0


class Progress:
    """A ``bridge.couplings.Watch`` that shows a bar on stderr once a run has taken a second.

    Parameters
    ----------
    jobs : int
        How many there are.
    what : str
        What is counted, for the bar.
    """

    def __init__(self, jobs: int, what: str = "jobs") -> None:
        self._jobs, self._what = jobs, what
        self._began = time.monotonic()
        self._shown: Any = None
        self._task: Any = None
        self._terminal = sys.stderr.isatty()

    def __call__(self, ended: int, now_ns: int) -> None:
        """Tell that so many have ended, at this simulated instant."""
        elapsed_s = time.monotonic() - self._began
        if not self._terminal or elapsed_s < _QUIET_S:
            return
        if self._shown is None:
            self._open()
        self._shown.update(
            self._task,
            completed=ended,
            clock=format_ns(now_ns) if now_ns >= 0 else "",
            rate=f"{ended / elapsed_s:,.0f} {self._what}/s",
        )

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as Bar

        self._shown = Bar(
            TextColumn(self._what),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("simulated {task.fields[clock]}"),
            TextColumn("{task.fields[rate]}"),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._shown.add_task("", total=self._jobs, clock="", rate="")
        self._shown.start()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown is not None:
            self._shown.stop()
