"""What the benchmark's cases share: a row of the table, where the logs are, and how a piece of work is timed.

What a row must reach is a text of bounds, ``≤ 10 s, ≤ 2048 MiB`` or ``≥ 50 M tasks/s``, in the row's own unit; one in MiB is of
the memory of the process. A text without a bound is for people.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
LOGS = Path(os.environ.get("TWOLEVEL_SHARED", ROOT.parent / "shared")) / "traces"
CURIE, HPC2N = "CEA-Curie-2011-2.1-cln.swf.gz", "HPC2N-2002-2.2-cln.swf.gz"
THUNDER = "LLNL-Thunder-2007-1.1-cln.swf.gz"


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
    memory_mib: float | None = None
    slowness: float = 1.0

    @property
    def far_off(self) -> bool:
        """Whether a bound is missed by more than half: half as long again, or as much; two thirds of a rate.

        Bounds of times and rates, not those of memory, are for a machine of ``slowness`` 1.
        """
        return any(
            value > _FAR * bound if sign == "≤" else value < bound / _FAR for sign, bound, value in self._bounds()
        )

    def _bounds(self) -> Iterator[tuple[str, float, float]]:
        for sign, number, unit in _BOUND.findall(self.must):
            value = self.memory_mib if unit == "MiB" and self.unit != "MiB" else self.figure
            slow = 1.0 if "MiB" in (unit, self.unit) else self.slowness
            if value is not None:
                yield sign, float(number.replace(",", "")) * (slow if sign == "≤" else 1 / slow), value


#: How much more than it must a row may take before the benchmark has failed.
_FAR = 1.5

#: What :func:`slowness` times, on the machine that the bounds are for, s.
_REFERENCE_S = 0.083

_BOUND = re.compile(r"([≤≥]) ([\d,.]*\d) ?(MiB)?")


def log(name: str) -> Path:
    """A real log's path."""
    path = LOGS / name
    if not path.is_file():
        raise FileNotFoundError(f"{name} is not in {LOGS}")
    return path


def slowness() -> float:
    """Return how many times slower the machine is now than the one that the bounds are for; at least 1.

    Virtual processors may lose half of their speed to others for minutes. The measure is the median wall time of a loop in
    Python and a sort in numpy.
    """
    seconds = []
    for _ in range(7):
        began = time.perf_counter()
        counts: dict[int, int] = {}
        for k in range(400_000):
            counts[k & 1023] = counts.get(k & 1023, 0) + k
        np.sort(np.arange(2_000_000)[::-1] * 7919 % 1_000_003)
        seconds.append(time.perf_counter() - began)
    return max(1.0, statistics.median(seconds) / _REFERENCE_S)


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
    case: str,
    must: str,
    seconds: list[float],
    *,
    per: float | None = None,
    unit: str = "s",
    note: str = "",
    memory_mib: float | None = None,
) -> Row:
    """The row of these seconds; with ``per`` as a rate, so many things a second."""
    figures = [per / s for s in seconds] if per else seconds
    return Row(case, statistics.median(figures), unit, must, min(figures), max(figures), len(figures), note, memory_mib)


def page(rows: Iterable[Row], where: str) -> str:
    """The rows as a page in Markdown, which says when and on which machine (``where``) they were measured."""
    lines = [f"Measured {where}. Medians; times are of this machine on this day: compare within one page.", ""]
    lines += ["| case | median | must reach | slowness | from … to | runs | |", "|---|---|---|---|---|---|---|"]
    lines += [
        f"| {one.case} | {one.figure:.3g} {one.unit} | {one.must} | {one.slowness:.2f} | {one.low:.3g} … {one.high:.3g} "
        f"| {one.runs} | {one.note} |"
        for one in rows
    ]
    return "\n".join(lines) + "\n"


# A process is charged with the memory of the one that it was made from: one of a small process in between is not.
_BETWEEN = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss)
sys.exit(status)
"""


@dataclass
class Cost:
    """What a process took, with those that it started and waited for."""

    wall_s: float
    cpu_s: float
    memory_mib: float


def python(*words: str, folder: Path, cache: Path | None = None) -> Cost:
    """The cost of a new Python with these arguments; its kernels are kept in ``cache``, if that is not the usual folder."""
    kept = {} if cache is None else {"XDG_CACHE_HOME": str(cache)}
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-S", "-c", _BETWEEN, sys.executable, *words],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **kept},
    )
    took = time.perf_counter() - began
    assert done.returncode == 0, done.stderr
    cpu_s, kib = done.stdout.split()
    return Cost(took, float(cpu_s), int(kib) / 1024)


def command(*words: str, folder: Path) -> tuple[float, float]:
    """Wall seconds and MiB of a whole command of ``twolevel``."""
    cost = python("-m", "bridge.cli", *words, folder=folder)
    return cost.wall_s, cost.memory_mib
