"""Cases of the benchmark about the application level: techniques alone, in Python, and in a study."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

from als.application import Application
from als.programs.tasks import drawn_lengths
from als.techniques import technique
from bls.machine.platform import Platform
from bridge.scenarios.scenario import Options, load_workload
from bridge.studies.grid import Grid, run_grid
from tools.bench_rows import CURIE, Row, log, row, timed

__all__ = ["application_engine", "python_technique", "technique_study"]

#: What each technique must pass, M tasks/s; the others have no figure to reach.
_MUST = {"ss": 10, "gss": 50, "fac": 50, "awf-c": 5, "af": 5}

#: The techniques of the study.
TWENTY = (
    "static", "ss", "mfsc", "gss", "guided", "tss", "fac", "fac-mu-sigma", "wf", "tfss", "fiss", "viss", "rnd", "pls",
    "tap", "static-steal", "awf-b", "awf-c", "af", "select:(gss,fac)",
)  # fmt: skip

_SEEDS = 10

_GSS = """
class Gss:
    def chunk(self, ask):
        return -(-ask.remaining // ask.n_cores)
"""


def application_engine() -> list[Row]:
    """The application engine alone: a million tasks on 256 cores, their records kept."""
    lengths = drawn_lengths(1, 1, 1_000_000, 1.0, 0.25, 1_000_000.0)
    rows = []
    for name in ("ss", "gss", "fac", "static", "tss", "fac-mu-sigma", "static-steal", "awf-b", "awf-c", "af", "bold"):

        def work(name: str = name) -> float:
            application = Application(lengths, np.full(256, 46.875), technique(name))
            began = time.perf_counter()
            assert application.advance()
            took = time.perf_counter() - began
            assert (application.state.end_ns > application.state.start_ns).all()
            assert application.ran == len(lengths)
            return took

        must = f"≥ {_MUST[name]} M tasks/s" if name in _MUST else ""
        case = f"application engine, {name}, 1 M tasks, 256 cores"
        rows.append(row(case, must, timed(work, 9), per=len(lengths) / 1e6, unit="M tasks/s"))
    return rows


def python_technique() -> list[Row]:
    """GSS written by hand in Python, on many loops: chunks a second."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "mine.py"
        path.write_text(_GSS)
        mine = technique(f"{path}:Gss")
        n_tasks, n_cores = 200_000, 4096
        lengths = drawn_lengths(1, 1, n_tasks, 1.0, 0.25, float(n_tasks))
        chunks = 0

        def work() -> float:
            nonlocal chunks
            application = Application(lengths, np.full(n_cores, 46.875), mine)
            began = time.perf_counter()
            assert application.advance()
            took = time.perf_counter() - began
            chunks = application.chunks
            return took

        seconds = timed(work, 9)
        known = Application(lengths, np.full(n_cores, 46.875), technique("gss"))
        assert known.advance()
        assert chunks == known.chunks
    return [row("a Python technique, gss by hand", "≥ 300,000 chunks/s", seconds, per=chunks, unit="chunks/s")]


def technique_study() -> list[Row]:
    """Twenty techniques × the busiest day of CEA-Curie × ten seeds, on two workers."""
    workload = load_workload(log(CURIE), Platform(), selection="busiest:24h", preset=False)

    def work() -> None:
        for seed in range(_SEEDS):
            options = Options(tasks_per_core=4, seed=seed, overhead_ns=1000)
            cells = run_grid(workload, "paper", Grid(("fcfs",), TWENTY, (0.25,), options), workers=2)
            assert len({cell["makespan_ns"] for cell in cells}) > 10

    case = f"{len(TWENTY)} techniques × busiest day of CEA-Curie × {_SEEDS} seeds, 2 workers"
    return [row(case, "≤ 60 s", timed(work, 1), note=f"{len(workload)} jobs, 4 tasks a core")]
