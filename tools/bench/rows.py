"""A case of the benchmark, the row that comes of it, its bounds, and the table of all rows.

Bounds are written as ``≤ 10 s, ≤ 2048 MiB`` or ``≥ 50 M tasks/s``, in the unit of the case; a bound in MiB limits the memory of
the process. A text without a number, such as ``linear in jobs``, is for readers only.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing.connection
import os
import re
import socket
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

if TYPE_CHECKING:
    from multiprocessing.queues import SimpleQueue
    from multiprocessing.synchronize import Event

ROOT = Path(__file__).resolve().parents[2]
LOGS = Path(os.environ.get("TWOLEVEL_SHARED") or ROOT.parent / "shared") / "traces"
CURIE, HPC2N = "CEA-Curie-2011-2.1-cln.swf.gz", "HPC2N-2002-2.2-cln.swf.gz"
THUNDER = "LLNL-Thunder-2007-1.1-cln.swf.gz"

#: A value fails if it misses its bound by this factor.
_FAR = 1.5

#: Groups of cases that mostly run Python, as compilers do, and send messages; the others compute.
PYTHON = frozenset({"start", "first-use", "warm-up", "couplings"})

#: CPU times of the two fixed computations of :class:`Slowness` on the machine for which the bounds are made, s. A compiled
#: ``run sample`` took 0.49 s there.
_COMPUTING_S, _PYTHON_S = 0.083, 0.018

_BOUND = re.compile(r"([≤≥]) ([\d,.]*\d) ?(MiB)?")

T = TypeVar("T")


class Missing(Exception):
    """A case cannot run here: a log or a program is missing."""


@dataclass(frozen=True)
class Found:
    """Result of one call of a case's work: its values, and a note for the table."""

    figures: Sequence[float]
    note: str = ""
    memory_mib: float | None = None


@dataclass(frozen=True)
class Case:
    """One line of the table of cases.

    Several calls are preceded by a call that does not count, and one by ``work(short=True)``: the same work on little data,
    which loads the kernels. With 0 runs the work is called once, without a call before it.
    """

    group: str  # name for --case
    title: str  # name of the row, the same in all versions
    must: str  # bounds
    unit: str  # unit of the figure
    runs: int  # number of calls that count
    work: Callable[..., float | Found]  # returns the value, and checks the result
    note: str = ""  # constant part of the note, such as values of other simulators


@dataclass
class Row:
    """One line of the result: a measured figure and its bounds."""

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
        """Whether a bound is missed by more than half.

        A time fails above 1.5 times its bound, a rate below two thirds of it. Bounds of times and rates hold for a machine of
        ``slowness`` 1; bounds of sizes do not depend on it.
        """
        return any(
            value > _FAR * bound if sign == "≤" else value < bound / _FAR for sign, bound, value in self._bounds()
        )

    def _bounds(self) -> Iterator[tuple[str, float, float]]:
        for sign, number, unit in _BOUND.findall(self.must):
            value = self.memory_mib if unit == "MiB" and self.unit != "MiB" else self.figure
            slow = 1.0 if unit == "MiB" or self.unit in ("MiB", "MB") else self.slowness
            if value is not None:
                yield sign, float(number.replace(",", "")) * (slow if sign == "≤" else 1 / slow), value


def measured(case: Case) -> Row:
    """Call the work of a case and return its row."""
    if case.runs:
        case.work(**({"short": True} if case.runs == 1 else {}))
    calls = [case.work() for _ in range(max(1, case.runs))]
    found = [call if isinstance(call, Found) else Found((call,)) for call in calls]
    figures = [figure for one in found for figure in one.figures]
    figure, memory = statistics.median(figures), [one.memory_mib for one in found if one.memory_mib is not None]
    note = "; ".join(part for part in (found[-1].note, case.note) if part)
    span = (min(figures), max(figures), len(figures))
    return Row(case.title, figure, case.unit, case.must, *span, note, statistics.median(memory) if memory else None)


HEAD = "| case | median | bound | slowness | range | runs | note |\n|---|---|---|---|---|---|---|\n"


def line(row: Row) -> str:
    """Return a row as a line of a table in Markdown."""
    cells = (f"{row.figure:.3g} {row.unit}", row.must, f"{row.slowness:.2f}", f"{row.low:.3g} … {row.high:.3g}")
    return f"| {row.case} | {' | '.join(cells)} | {row.runs} | {row.note} |\n"


class Slowness:
    """The CPU time of the machine, while this is open, relative to the machine of the bounds; at least 1.

    Virtual processors lose up to half of their speed to others for seconds or minutes, depending on the kind of work. Every
    two seconds a separate process does a computation that resembles the group. The measure is its median CPU time.
    """

    def __init__(self, group: str) -> None:
        self._work, self._reference_s = (_python, _PYTHON_S) if group in PYTHON else (_computing, _COMPUTING_S)
        context = multiprocessing.get_context("spawn")
        self._times, self._over = context.SimpleQueue(), context.Event()
        self._process = context.Process(target=_sample, args=(self._work, self._times, self._over))
        self.value = 1.0

    def __enter__(self) -> Self:
        self._process.start()  # it is waited for, so that its start disturbs no case
        multiprocessing.connection.wait([self._times._reader, self._process.sentinel])  # type: ignore[attr-defined]
        if self._times.empty():
            self._process.join()
            raise RuntimeError(f"the process that measures the machine ended with {self._process.exitcode}")
        self._first = self._times.get()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._process.join()
        found = [self._first]
        while not self._times.empty():
            found.append(self._times.get())
        self.value = max(1.0, statistics.median(found) / self._reference_s)


def _sample(work: Callable[[], None], times: SimpleQueue[float], over: Event) -> None:
    while True:
        times.put(statistics.median(_cpu_s(work) for _ in range(3)))
        if over.is_set():
            return
        over.wait(2.0)


def _cpu_s(work: Callable[[], None]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def _computing() -> None:
    counts: dict[int, int] = {}
    for k in range(400_000):
        counts[k & 1023] = counts.get(k & 1023, 0) + k
    np.sort(np.arange(2_000_000)[::-1] * 7919 % 1_000_003)


def _python() -> None:
    compile(Path(argparse.__file__).read_text("utf-8"), "argparse.py", "exec")
    here, there = socket.socketpair()
    with here, there:
        for job in range(2000):
            here.sendall(
                json.dumps({"type": "start", "job": job, "cores": [job, job + 1], "at_ns": 1000 * job}).encode()
            )
            json.loads(there.recv(1000))


def timed(call: Callable[[], T]) -> tuple[float, T]:
    """Return the wall time of a call, s, and its result."""
    began = time.perf_counter()
    result = call()
    return time.perf_counter() - began, result


_AGREED: dict[str, Any] = {}


def agree(what: str, found: Any) -> None:
    """Assert that a value equals the first one of this name, from another run or another case."""
    assert np.array_equal(_AGREED.setdefault(what, found), found), f"{what} differ between runs"


def archive(name: str) -> Path:
    """Return the path of a real log."""
    path = LOGS / name
    if not path.is_file():
        raise Missing(f"{name} is not in {LOGS}")
    return path


@cache
def _folder() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="twolevel-bench-")


def scratch() -> Path:
    """Return the folder of this run of the benchmark, which is removed at its end."""
    return Path(_folder().name)
