"""Cases of the benchmark about studies: the techniques, and the cost of many cells.

The cost of a cell is computed from the ends of cells, without the first ones: starting processes, connecting to a cluster
and loading kernels take seconds, for any number of cells.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cache
from itertools import islice, pairwise
from pathlib import Path

from bls import Platform
from bridge import Grid, Scenario, Study, run_grid, run_study
from bridge.scenarios.ready import load_workload
from bridge.studies.executors.dask_cluster import cluster_executor
from bridge.studies.executors.local import Workers
from bridge.studies.input.study_file import parse_study
from bridge.studies.journal import JOURNAL, Journal
from bridge.studies.results import RESULTS, write_tables
from tools.bench.rows import CURIE, Found, archive, scratch, timed

_TWENTY = (
    "static", "ss", "mfsc", "gss", "guided", "tss", "fac", "fac-mu-sigma", "wf", "tfss", "fiss", "viss", "rnd", "pls",
    "tap", "static-steal", "awf-b", "awf-c", "af", "select:(gss,fac)",
)  # fmt: skip

#: Cells of five jobs: nearly all of their time is the overhead of a cell.
_TINY = """
[study]
seeds = {seeds}
[workload]
source = "sample"
select = "first:5"
[batch]
policy = ["fcfs", "sjf", "edf", "wfp3"]
[application]
technique = ["static", "ss", "gss", "tss", "fac"]
variation = {variations}
"""

#: Number of first cells that do not count.
_WARM = 200


def twenty_techniques(*, short: bool = False) -> Found:
    """Wall time of twenty techniques × the busiest day of CEA-Curie × ten seeds, on two workers."""
    select = "first:20" if short else "busiest:24h"
    workload = load_workload(archive(CURIE), Platform(), selection=select, preset=False)

    def work() -> None:
        for seed in range(1 if short else 10):
            options = Scenario.flat(tasks_per_core=4, seed=seed, overhead_ns=1000)
            cells = run_grid(workload, "paper", Grid(("fcfs",), _TWENTY, (0.25,), options), workers=2)
            assert len(cells) == 20
            assert short or len({cell["makespan_ns"] for cell in cells}) > 10

    return Found((timed(work)[0],), f"{len(workload)} jobs, 4 tasks per core")


class _Moments:
    """When each cell ended: a ``run_study.Watch``."""

    def __init__(self) -> None:
        self.at: list[float] = []

    def begin(self, total: int, kept: int) -> None:
        assert kept == 0

    def __call__(self, done: int, failed: int, waited_s: float = 0.0) -> None:
        self.at.append(time.perf_counter())

    def ms(self, first: int, last: int) -> float:
        """Wall time of each cell between two cells."""
        return 1e3 * (self.at[last] - self.at[first]) / (last - first)


def _tiny(seeds: int, variations: int) -> Study:
    text = _TINY.format(seeds=seeds, variations=[k / 20 for k in range(1, variations + 1)])
    return parse_study(text, [Path.cwd()], "tiny")


@cache
def cells() -> dict[str, Found]:
    """Time of a cell by two processes, ms, and the overhead of Dask per cell and worker, with the same results."""
    from distributed import LocalCluster

    study, moments, tables = _tiny(50, 1), {"dask": _Moments(), "own": _Moments()}, []
    with LocalCluster(
        n_workers=2, processes=True, threads_per_worker=1, dashboard_address=None, silence_logs=50
    ) as cluster:
        by_dask = cluster_executor(cluster.scheduler_address, study, None)
        for name, executor in {"dask": by_dask, "own": lambda needs: Workers(2)}.items():
            report = run_study(study, scratch() / name, executor, watch=moments[name])
            assert (report.total, report.failed, len(moments[name].at)) == (1000, 0, 1000)
            tables.append((scratch() / name / RESULTS).read_bytes())
    assert tables[0] == tables[1]
    dask_ms, own_ms = (one.ms(_WARM, 999) for one in moments.values())
    parts = [moments["own"].ms(*ends) for ends in pairwise([_WARM, 400, 600, 800, 999])]
    return {
        # Each of the two workers loses twice the additional time per cell.
        "overhead": Found((2 * (dask_ms - own_ms),), f"{dask_ms:.1f} ms per cell, {own_ms:.1f} ms without Dask"),
        "own": Found(parts, f"the last quarter {parts[-1] / parts[0]:.2f} times the first"),
    }


@cache
def journal() -> dict[str, Found]:
    """Time to add a row to a journal of 20,000, µs; to write its tables, s; to read it when a study continues, s."""
    study, tenths = _tiny(200, 5), []
    run_study(_tiny(1, 1), scratch() / "one", lambda needs: Workers(1))
    with Journal(scratch() / "one") as made:
        like = next(one for one in made.entries(iter(list(made.finished)[:1])) if one is not None)
    keys = [f"{cell:020x}" for cell in range(len(study.cells))]
    folder = scratch() / "journal"
    folder.mkdir()
    with Journal(folder) as made:
        entries = (replace(like, key=key, seed=seed) for key in keys for seed in study.seeds)
        for _ in range(10):
            took, _ = timed(lambda: [made.add(entry) for entry in islice(entries, len(study) // 10)])
            tenths.append(1e6 * took / (len(study) // 10))
        assert len(made.finished) == len(study)
        tables_s, failed = timed(lambda: write_tables(study, keys, made, folder))
        assert failed == 0
    read_s, again = timed(lambda: Journal.as_it_stands(folder))
    assert len(again.finished) == len(study)
    note = f"{(folder / JOURNAL).stat().st_size / len(study):.0f} bytes per row of the journal"
    return {
        "add": Found(tenths, f"the last tenth {tenths[-1] / tenths[0]:.2f} times the first"),
        "tables": Found((tables_s,), f"{50 * tables_s:.0f} s per million; {note}"),
        "read": Found((read_s,)),
    }
