"""Steps that an interrupt must not separate: a folder is made, and is known to be there; a process is started, and is known."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class HeldInterrupts:
    """Interrupts of the main thread, which wait from :meth:`hold` to :meth:`let_through`.

    Elsewhere, and for signals that have no Python handler, both do nothing: Python raises nothing there. Signals are noted, not
    masked: the kernel would give a masked one to another thread, and Python would raise it in the main thread nevertheless.
    """

    def __init__(self) -> None:
        self._handlers: dict[signal.Signals, Callable[[int, FrameType | None], Any]] = {}
        self._came: signal.Signals | None = None

    def hold(self) -> None:
        """Note interrupts from now on."""
        if self._handlers or threading.current_thread() is not threading.main_thread():
            return
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if callable(handler):
                self._handlers[number] = handler
                signal.signal(number, self._note)

    def let_through(self) -> None:
        """Note none any more, and have the one that came handled."""
        handlers, self._handlers = self._handlers, {}
        for number, handler in handlers.items():
            signal.signal(number, handler)
        came, self._came = self._came, None
        if came is not None:
            handlers[came](came, None)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._came = signal.Signals(number)


@contextmanager
def interrupts_held() -> Iterator[HeldInterrupts]:
    """Interrupts wait until the context ends, or until it lets them through; an error of the context goes first."""
    held = HeldInterrupts()
    try:
        held.hold()
        yield held
    finally:
        held.let_through()
