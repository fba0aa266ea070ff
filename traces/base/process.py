"""This process and its machine: the processor, memory, and interrupts in functions that compiled code calls.

Exceptions cannot pass through compiled code. An exception of a function called by compiled code is kept, and raised after that
code. Python handles a signal between two steps of any function; at the first and last steps of a called function, nothing can
keep the exception, and it would be lost. An interrupt at such a step is noted, and raised at the next step where it can be
kept.
"""

import contextlib
import ctypes
import os
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import TypeVar


def processor_model() -> str:
    """Return the model as the system names it, ``AMD EPYC 7763``; else the kind of machine (Linux on ARM)."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                name, _, value = line.partition(":")
                if name.strip() == "model name" and value.strip():
                    return value.strip()
    except OSError:
        pass
    return os.uname().machine


_MANY_ROWS = 50_000  #: columns of at least this many rows are large enough to matter


def free_memory_bytes() -> int | None:
    """Return the bytes available without swapping, or None if the system does not report them (Linux does)."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)


def give_back_memory(rows: int = _MANY_ROWS) -> None:
    """Return freed memory to the system after columns of ``rows`` rows were freed, if the C library supports it (glibc does):
    it keeps memory that was freed between blocks in use. After few rows nothing is returned, since a study's thousands of runs
    reuse the memory."""
    if rows < _MANY_ROWS:
        return
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


_Function = TypeVar("_Function", bound=Callable[..., object])


class _Interrupts:
    """The interrupts of this process. ``noted``: whether one came that has not been raised. ``called``: the functions that
    kernels call, for lookups only."""

    def __init__(self) -> None:
        self.noted = False
        self.called: set[CodeType] = set()

    def came(self, frame: FrameType | None) -> None:
        """Raise KeyboardInterrupt, or note it if it would be lost. For signal handlers; ``frame``: where the signal came, as
        the handler received it."""
        if frame is not None and frame.f_code in self.called:
            self.noted = True
        else:
            raise KeyboardInterrupt

    def raise_noted(self) -> None:
        """Raise KeyboardInterrupt if an interrupt was noted."""
        if self.noted:
            self.noted = False
            raise KeyboardInterrupt


INTERRUPTS = _Interrupts()  #: used by the command line's signal handlers


def called_by_kernels(function: _Function) -> _Function:
    """Mark a function that compiled code calls. Its whole body is one ``try`` that keeps any exception, and begins there with
    ``INTERRUPTS.raise_noted()``."""
    INTERRUPTS.called.add(function.__code__)
    return function
