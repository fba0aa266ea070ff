"""Processes that are started anew: they have nothing of the program that starts them, and leave interrupts to it."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker


@contextmanager
def deaf_children() -> Iterator[None]:
    """Start processes that ignore an interrupt at the terminal: the program that started them handles it."""
    resource_tracker.ensure_running()  # the first process that is started would start it, and that unblocks interrupts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def nothing_imported() -> Iterator[None]:
    """A process that is started imports the program that started it, which may begin its study anew; in here it does not."""
    program = sys.modules["__main__"]
    hidden = {name: vars(program).pop(name) for name in ("__file__", "__spec__") if name in vars(program)}
    vars(program)["__spec__"] = None
    try:
        yield
    finally:
        for name, value in hidden.items():
            setattr(program, name, value)
