"""How much memory this machine has to give."""

from __future__ import annotations

from pathlib import Path

__all__ = ["free_memory_bytes"]


def free_memory_bytes() -> int | None:
    """Bytes that can be had without swapping, or None on a system that does not say (Linux does)."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)
