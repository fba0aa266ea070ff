"""Measure the programs of this folder: every schedule of every program once in each repeat, in turn."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from bridge.measure.folder import MeasurementRecord, write_measurement
from bridge.measure.openmp import installed_openmp
from bridge.measure.run import MeasuredRuns, Plan, measured_runs
from traces.records.measurements import TABLES

HERE = Path(__file__).parent

#: Programs with a loop.
LOOPS: Final = ("mandelbrot", "triangle", "spmv", "nbody", "random")
TASKS: Final = "cholesky"  #: the program of tasks
THREADS: Final = 2

#: Values of OMP_SCHEDULE.
SCHEDULES: Final = ("static", "static,16", "dynamic,1", "dynamic,16", "guided", "trapezoidal", "static_steal")

#: Names of taskloops, and the word with which a program executes its loop so.
TASKLOOPS: Final = {"taskloop": "taskloop", "taskloop,16": "16"}


def built(name: str, folder: Path) -> Path:
    """Compile a program into a folder, with its name; return its path."""
    path = folder / name
    words = ["cc", "-O2", "-g", "-fopenmp", "-c", str(HERE / f"{name}.c"), "-o", f"{path}.o"]
    subprocess.run(words, check=True)
    # Only LLVM's runtime: gcc's would complain about schedules that it does not know.
    subprocess.run(["cc", f"{path}.o", "-o", str(path), str(installed_openmp().library), "-lm"], check=True)
    return path


def _plans(name: str, program: str) -> Iterator[tuple[str, Plan]]:
    # The name of a schedule that is not that of OMP_SCHEDULE, and the runs of one repeat.
    if name == TASKS:
        yield "tasks", Plan((program,), threads=(1, THREADS))
        return
    yield "", Plan((program, "for"), SCHEDULES, (THREADS,))
    for schedule, word in TASKLOOPS.items():
        yield schedule, Plan((program, word), threads=(THREADS,))


class _Joined:
    """The runs of a program, numbered in their order."""

    def __init__(self) -> None:
        self._parts: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES}
        self._regions: dict[tuple[str, str], int] = {}
        self._runs = 0
        self.records: list[MeasurementRecord] = []

    def add(self, done: MeasuredRuns, schedule: str, repeat: int, begin_ns: int) -> None:
        """Add runs that began at an instant of the machine's clock."""
        tables = {
            name: {column: np.asarray(values) for column, values in of.items()} for name, of in done.tables.items()
        }
        regions, runs = tables.pop("regions"), tables["runs"]
        pairs = zip(regions["name"].tolist(), regions["kind"].tolist(), strict=True)
        number = np.array([self._regions.setdefault(pair, len(self._regions)) for pair in pairs], np.int64)
        tables["loops"]["region"] = number[tables["loops"]["region"]]
        n = len(runs["run"])
        runs |= {
            "repeat": np.full(n, repeat),
            "begin_ns": runs["begin_ns"] + begin_ns,
            "end_ns": runs["end_ns"] + begin_ns,
        }
        if schedule:
            runs["schedule"] = np.array([schedule] * n)
        for name, table in tables.items():
            self._parts[name].append({**table, "run": table["run"] + self._runs})
        self._runs += n
        self.records.append(done.record)

    def tables(self) -> dict[str, dict[str, Any]]:
        """Return the tables of all runs."""
        found: dict[str, dict[str, Any]] = {
            name: {column: np.concatenate([part[column] for part in parts]) for column in TABLES[name]}
            for name, parts in self._parts.items()
            if parts
        }
        names, kinds = zip(*self._regions, strict=True)
        return found | {"regions": {"region": range(len(names)), "name": names, "kind": kinds}}


def measure(programs: Sequence[str], repeats: int, folder: Path) -> None:
    """Measure programs, and write the measurement of each into a new folder with its name."""
    (folder / "bin").mkdir(parents=True)
    paths = {name: built(name, folder / "bin") for name in programs}
    joined = {name: _Joined() for name in programs}
    start = time.monotonic_ns()
    for repeat in range(repeats):
        for name, path in paths.items():
            for schedule, plan in _plans(name, str(path)):
                began = time.monotonic_ns() - start
                joined[name].add(_silent(plan), schedule, repeat, began)
        sys.stderr.write(f"repeat {repeat + 1} of {repeats}\n")
    for name, of in joined.items():
        (folder / name).mkdir()
        costs = [record.overhead for record in of.records]
        overhead = {
            "event_ns": float(np.median([one["event_ns"] for one in costs])),
            "events": sum(one["events"] for one in costs),
            "share": float(np.median([one["share"] for one in costs])),
        }
        last = of.records[-1]
        record = MeasurementRecord(
            "openmp", [name], last.machine, last.versions, last.clock, overhead, last.affinity, last.remarks
        )
        write_measurement(folder / name, record, of.tables())


def _silent(plan: Plan) -> MeasuredRuns:
    done = measured_runs(plan)
    if done.failed:
        raise RuntimeError(done.failed[0])
    return done
