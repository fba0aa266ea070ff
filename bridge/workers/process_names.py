"""Starts, names and ends of processes on Linux: new interpreters that inherit nothing from the program and ignore interrupts;
names in ``ps``; dying with the parent; and how a process ended."""

import ctypes
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

#: Names in ``ps`` of an application process, and of the server that forks them; at most 15 bytes.
PROCESS_NAME: Final = "twolevel-als"
SERVER_NAME: Final = "twolevel-fork"

_PR_SET_PDEATHSIG, _PR_SET_NAME = 1, 15
_prctl = ctypes.CDLL(None).prctl
_prctl.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong)


def name_process(name: str) -> None:
    """Set the name that ``ps`` shows for this process."""
    _prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)


def die_with_parent(parent: int, by: signal.Signals = signal.SIGKILL) -> None:
    """Have a signal sent to this process when its parent dies, for whatever reason."""
    _prctl(_PR_SET_PDEATHSIG, int(by), 0, 0, 0)
    if os.getppid() != parent:  # it died before the request above
        os._exit(1)


def how_ended(code: int) -> str:
    """How a process ended, such as "was killed by SIGKILL". ``code``: exit status, or negative number of the signal."""
    if code >= 0:
        return f"exited with status {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:  # a real-time signal has no name
        return f"was killed by signal {-code}"


@contextmanager
def deaf_children() -> Iterator[None]:
    """Start processes that ignore an interrupt at the terminal: the program that started them handles it."""
    from multiprocessing import resource_tracker

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
