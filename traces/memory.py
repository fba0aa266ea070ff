"""How much memory this machine has to give, and what it gets back."""

from __future__ import annotations

import contextlib
import ctypes
from pathlib import Path

__all__ = ["free_memory_bytes", "give_back_memory"]


def free_memory_bytes() -> int | None:
    """Bytes that can be had without swapping, or None on a system that does not say (Linux does)."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)


def give_back_memory() -> None:
    """Give the memory of what has been freed back to the system, where the C library can (glibc's can).

    It keeps what was freed between things that were not: after columns of millions of rows that is as much as they were.
    It takes about a millisecond.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
