"""Steps that an interrupt must not separate, such as making a folder and noting that it exists."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class HeldInterrupts:
    """Interrupts of the main thread, deferred from :meth:`hold` to :meth:`let_through`.

    In other threads, and for signals without a Python handler, both do nothing. Signals are noted rather than masked: the
    kernel would deliver a masked signal to another thread, and Python would still raise it in the main thread.
    """

    def __init__(self) -> None:
        self._handlers: dict[signal.Signals, Callable[[int, FrameType | None], Any]] = {}
        self._came: signal.Signals | None = None

    def hold(self) -> None:
        """Defer interrupts from now on."""
        if self._handlers or threading.current_thread() is not threading.main_thread():
            return
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if callable(handler):
                self._handlers[number] = handler
                signal.signal(number, self._note)

    def let_through(self) -> None:
        """Stop deferring, and handle the interrupt that arrived."""
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
    """Defer interrupts until the context ends or lets them through; an error in the context takes precedence."""
    held = HeldInterrupts()
    try:
        held.hold()
        yield held
    finally:
        held.let_through()
