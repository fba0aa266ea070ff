"""How much memory this machine has to give, and what it gets back."""

from __future__ import annotations

import contextlib
import ctypes
from pathlib import Path

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
