"""The machine, the clock and the versions for the record of a measurement. The name of the host is not recorded."""

import os
import re
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bridge.measure.folder import MeasurementRecord

_SCALING = Path("/sys/devices/system/cpu/cpu0/cpufreq")


def record_head(source: str, command: list[str], read_ns: float, overhead: tuple[float, int, int]) -> MeasurementRecord:
    """Return a record with all that is known about this computer.

    ``read_ns``: time of one read of the clock; ``overhead``: time of an event, ns, number of events, time of all threads, ns.
    """
    about = _text(Path("/proc/cpuinfo"))
    machine: dict[str, Any] = {"cores": len(os.sched_getaffinity(0)), "governor": _text(_SCALING / "scaling_governor")}
    for name, field in (("cpu", "model name"), ("frequency_mhz", "cpu MHz")):
        found = re.search(rf"^{field}\s*: (.*)$", about, re.MULTILINE)
        machine[name] = found[1] if found else ""
    event_ns, events, thread_ns = overhead
    share = min(1.0, event_ns * events / thread_ns) if thread_ns else 0.0
    resolution_ns = round(time.clock_getres(time.CLOCK_MONOTONIC) * 1e9)
    return MeasurementRecord(
        source,
        command,
        {name: value for name, value in machine.items() if value},
        {"twolevel": version("twolevel")},
        {"name": "CLOCK_MONOTONIC", "resolution_ns": resolution_ns, "read_ns": round(read_ns, 1)},
        {"event_ns": round(event_ns, 1), "events": events, "share": round(share, 6)},
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
