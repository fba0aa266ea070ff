"""What the benchmark's cases share: a row of the table, where the logs are, and how a piece of work is timed."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOGS = Path(os.environ.get("TWOLEVEL_SHARED", ROOT.parent / "shared")) / "traces"
CURIE, HPC2N = "CEA-Curie-2011-2.1-cln.swf.gz", "HPC2N-2002-2.2-cln.swf.gz"


@dataclass
class Row:
    """One line of the table: a measured figure beside the one that must be reached."""

    case: str
    figure: float
    unit: str
    must: str
    low: float
    high: float
    runs: int
    note: str = ""


def log(name: str) -> Path:
    """A real log's path."""
    path = LOGS / name
    if not path.is_file():
        raise FileNotFoundError(f"{name} is not in {LOGS}")
    return path


def timed(work: Callable[[], float | None], runs: int) -> list[float]:
    """Seconds of each of ``runs`` calls after one that does not count; a call may return its own seconds."""
    seconds = []
    for at in range(runs + 1):
        began = time.perf_counter()
        own = work()
        took = time.perf_counter() - began if own is None else own
        if at:
            seconds.append(took)
    return seconds


def row(
    case: str, must: str, seconds: list[float], *, per: float | None = None, unit: str = "s", note: str = ""
) -> Row:
    """The row of these seconds; with ``per`` as a rate, so many things a second."""
    figures = [per / s for s in seconds] if per else seconds
    return Row(case, statistics.median(figures), unit, must, min(figures), max(figures), len(figures), note)


# A process is charged with the memory of the one that it was made from: one of a small process in between is not.
_BETWEEN = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(status)
"""


def command(*words: str, folder: Path) -> tuple[float, float]:
    """Wall seconds and MiB of a whole command of ``twolevel``."""
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-S", "-c", _BETWEEN, sys.executable, "-m", "bridge.cli", *words],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    return time.perf_counter() - began, int(done.stdout) / 1024
