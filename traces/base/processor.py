"""Which processor this machine has: what times that were measured are worth nothing without."""

from __future__ import annotations

import os


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
