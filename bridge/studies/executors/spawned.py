"""Processes started with a new interpreter: they inherit nothing of the program, and leave interrupts to it."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker


@contextmanager
def deaf_children() -> Iterator[None]:
    """Start processes that ignore an interrupt at the terminal: the program that started them handles it."""
    resource_tracker.ensure_running()  # otherwise the first process would start it, which unblocks interrupts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def nothing_imported() -> Iterator[None]:
    """Prevent new processes from importing the main program, which might begin its study again."""
    program = sys.modules["__main__"]
    hidden = {name: vars(program).pop(name) for name in ("__file__", "__spec__") if name in vars(program)}
    vars(program)["__spec__"] = None
    try:
        yield
    finally:
        for name, value in hidden.items():
            setattr(program, name, value)
