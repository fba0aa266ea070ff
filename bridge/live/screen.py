"""A run under way on a screen or, where there is none, in a line of text now and then (``bridge.live.lines``)."""

from __future__ import annotations

import sys
from typing import TextIO

from rich.console import Console, Group
from rich.live import Live as Display

from bridge.live.file import Live
from bridge.live.lines import screen_lines, status_line

__all__ = ["LiveScreen"]


class LiveScreen:
    """Shows a run on a stream: a screen where that is a terminal, else a line of text a second.

    Parameters
    ----------
    stream : text stream
    whole : bool
        Whether the whole terminal is used, and left as it was; else the lines below the cursor.
    """

    def __init__(self, stream: TextIO, *, whole: bool = False) -> None:
        self._stream = stream
        # stderr is looked up anew for every line, so that warnings are written above the screen, not into it.
        self._console = Console(stderr=True) if stream is sys.stderr else Console(file=stream)
        # One that cannot go back to an earlier line is as good as none.
        self.terminal = stream.isatty() and not self._console.is_dumb_terminal
        #: So long a look is shown at least, s.
        self.every_s = 0.25 if self.terminal else 1.0
        self._whole = whole
        self._display: Display | None = None

    def show(self, live: Live, note: str = "") -> None:
        """Show this now, instead of what was shown before."""
        if not self.terminal:
            print(status_line(live, note), file=self._stream, flush=True)
            return
        if self._display is None:
            display = Display(
                console=self._console, screen=self._whole, transient=True, auto_refresh=False, vertical_overflow="crop"
            )
            display.start()
            self._display = display
        self._display.update(self._lines(live, note), refresh=True)

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._display is not None:
            self._display.stop()
            self._display = None

    def leave(self, live: Live, note: str = "") -> None:
        """Write this below what else is there, for good."""
        if self.terminal:
            self._console.print(self._lines(live, note))
        else:
            print(status_line(live, note), file=self._stream, flush=True)

    def _lines(self, live: Live, note: str) -> Group:
        # The last column and line stay free, or some terminals scroll.
        width, height = self._console.size
        ascii_only = not (self._stream.encoding or "").lower().startswith("utf")
        return Group(*screen_lines(live, width - 1, height - 1, note=note, ascii_only=ascii_only))
