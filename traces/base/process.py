"""This process and its machine: the processor, memory, and interrupts of functions that compiled code calls.

No exception can pass through compiled code. Python handles a signal between two steps of whatever function it is in. What a
function raises that compiled code has called is kept, and raised when that code is left; but at its very first and last steps
it cannot keep anything, and an exception is lost there. So an interrupt that comes just then is noted, and raised at the next
step at which it can be kept.
"""

import contextlib
import ctypes
import os
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import TypeVar


def processor_model() -> str:
    """The model as the system names it, ``AMD EPYC 7763``; the kind of machine where it does not (Linux on ARM)."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                name, _, value = line.partition(":")
                if name.strip() == "model name" and value.strip():
                    return value.strip()
    except OSError:
        pass
    return os.uname().machine


#: From so many rows on, columns are of a size that matters.
_MANY_ROWS = 50_000


def free_memory_bytes() -> int | None:
    """Bytes that can be had without swapping, or None on a system that does not say (Linux does)."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)


def give_back_memory(rows: int = _MANY_ROWS) -> None:
    """Give the memory of what has been freed back to the system, where the C library can (glibc's can).

    It keeps what was freed between things that were not: after columns of millions of rows that is as much as they were.

    - ``rows``: of what size the columns were; of a few nothing is given back, as a study's thousands of runs use it again.
    """
    if rows < _MANY_ROWS:
        return
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


_Function = TypeVar("_Function", bound=Callable[..., object])


class _Interrupts:
    """The interrupts of this process. ``noted``: whether one came that has not been raised. ``called``: what kernels
    call; only looked up in."""

    def __init__(self) -> None:
        self.noted = False
        self.called: set[CodeType] = set()

    def came(self, frame: FrameType | None) -> None:
        """For a handler of signals: raise, or note it where nobody could keep what is raised. ``frame``: where it came:
        what the handler was given. Raises KeyboardInterrupt."""
        if frame is not None and frame.f_code in self.called:
            self.noted = True
        else:
            raise KeyboardInterrupt

    def raise_noted(self) -> None:
        """Raise the one that was noted, if any was. Raises KeyboardInterrupt."""
        if self.noted:
            self.noted = False
            raise KeyboardInterrupt


#: Heard by the handlers of the command line.
INTERRUPTS = _Interrupts()


def called_by_kernels(function: _Function) -> _Function:
    """Mark what compiled code calls. All that it does is in one ``try`` that keeps whatever is raised, and begins there
    with ``INTERRUPTS.raise_noted()``."""
    INTERRUPTS.called.add(function.__code__)
    return function
