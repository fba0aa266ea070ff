"""The machine, the clock and the versions for the record of a measurement. The name of the host is not recorded."""

import os
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

CLOCK: Final = "CLOCK_MONOTONIC"
_NS_PER_S = 1e9


def machine() -> dict[str, Any]:
    """Return the processor, the number of cores that this process may use and, if readable, governor and frequency (MHz)."""
    about = _fields(Path("/proc/cpuinfo"))
    found: dict[str, Any] = {"cpu": about.get("model name", "unknown"), "cores": len(os.sched_getaffinity(0))}
    scaling = Path("/sys/devices/system/cpu/cpu0/cpufreq")
    if governor := _text(scaling / "scaling_governor"):
        found["governor"] = governor
    if limit := _text(scaling / "scaling_max_freq"):
        found["highest_mhz"] = round(int(limit) / 1000)
    if now := about.get("cpu MHz"):
        found["frequency_mhz"] = round(float(now))
    return found


def clock(read_ns: float) -> dict[str, Any]:
    """Return the clock's name, resolution and cost of one read, ns."""
    resolution_ns = round(time.clock_getres(time.CLOCK_MONOTONIC) * _NS_PER_S)
    return {"name": CLOCK, "resolution_ns": resolution_ns, "read_ns": round(read_ns, 1)}


def own_version() -> dict[str, str]:
    """Return the version of this software."""
    return {"twolevel": version("twolevel")}


def _fields(path: Path) -> dict[str, str]:
    # The first value of each name in lines ``name : value``.
    found: dict[str, str] = {}
    for line in _text(path).splitlines():
        name, colon, value = line.partition(":")
        if colon:
            found.setdefault(name.strip(), value.strip())
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
