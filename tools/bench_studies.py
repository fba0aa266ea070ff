"""The benchmark's cases of studies: the paper's evaluation, what Dask adds to a cell, and whether many cells stay cheap.

What a cell adds is told from the moments at which cells end, behind the first ones: to start processes, to connect to a cluster
and to load kernels takes seconds, however many cells there are, and is not of a cell.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path

from bridge.studies.executors.dask_cluster import cluster_executor
from bridge.studies.executors.executor import Executor, Needs
from bridge.studies.executors.local import Workers
from bridge.studies.input.study_file import parse_study
from bridge.studies.journal import JOURNAL, Entry, Journal
from bridge.studies.results import RESULTS, write_tables
from bridge.studies.run_study import run_study
from bridge.studies.study import Study
from tools.bench_rows import CURIE, LOGS, ROOT, THUNDER, Row, command, log, row, timed

__all__ = ["dask_overhead", "many_cells", "paper_study"]

#: Cells of five jobs each, as small as a study's can be: what is left is what a cell costs beside its simulation.
_TINY = """
[study]
seeds = {seeds}
[[workload]]
file = "sample"
select = "first:5"
[grid]
bls = ["fcfs", "sjf", "edf", "wfp3"]
als = ["static", "ss", "gss", "tss", "fac"]
variation = {variations}
"""

#: So many cells at the beginning count for nothing.
_WARM = 200


class _Moments:
    """When each cell ended, and how much of a processor the command itself had used: a ``run_study.Watch``."""

    def __init__(self) -> None:
        self.at: list[float] = []
        self.own: list[float] = []
        self.failed = 0

    def begin(self, total: int, kept: int) -> None:
        assert kept == 0

    def __call__(self, done: int, failed: int, compiled_s: float) -> None:
        self.at.append(time.perf_counter())
        self.own.append(time.process_time())
        self.failed = failed


def _tiny(seeds: int, variations: int) -> Study:
    return parse_study(
        _TINY.format(seeds=seeds, variations=[k / 20 for k in range(1, variations + 1)]), [Path.cwd()], "tiny"
    )


def _two(needs: Needs) -> Executor:
    return Workers(2)


def paper_study() -> list[Row]:
    """The evaluation of the two-level paper: two logs, sixty combinations, ten seeds; with tables, comparisons and figures."""
    log(CURIE), log(THUNDER)
    file = ROOT / "tools" / "studies" / "two-level-paper.toml"
    words = ("study", str(file), "--data", str(LOGS), "--workers", "2")

    def work() -> float:
        import pandas as pd

        with tempfile.TemporaryDirectory() as scratch:
            took, _ = command(*words, "--out", "s", folder=Path(scratch))
            found = pd.read_parquet(Path(scratch) / "s" / RESULTS)
            assert (len(found), (found["error"] == "").all()) == (1200, True)
            assert dict(found.groupby("workload")["jobs"].unique().explode()) == {"W1": 9206, "W2": 2989}
            assert len(list((Path(scratch) / "s" / "figures").glob("*.svg"))) >= 6
            return took

    case = "the two-level paper's evaluation (CEA-Curie, LLNL-Thunder), 1,200 cells, 2 workers"
    return [row(case, "≤ 60 s", timed(work, 1), note="whole command")]


@contextmanager
def _cluster() -> Iterator[str]:
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, processes=True, threads_per_worker=1, dashboard_address=None, silence_logs=50
    ) as here:
        yield here.scheduler_address


def _a_cell(moments: _Moments) -> float:
    return (moments.at[-1] - moments.at[_WARM]) / (len(moments.at) - 1 - _WARM)


def dask_overhead() -> list[Row]:
    """2,000 tiny cells on two workers of a Dask cluster of this machine, and by two processes of our own: the same bytes."""
    study = _tiny(100, 1)
    rates: dict[str, list[float]] = {"dask": [], "own": []}
    processor: list[float] = []
    with _cluster() as address:
        executors = {"dask": cluster_executor(address, study, None), "own": _two}
        for _ in range(3):
            tables = []
            for name, executor in executors.items():
                with tempfile.TemporaryDirectory() as scratch:
                    moments, before = _Moments(), time.process_time()
                    report = run_study(study, Path(scratch) / "s", executor, watch=moments)
                    assert (report.total, report.failed, len(moments.at)) == (2000, 0, 2000)
                    if name == "dask":
                        processor.append(1e3 * (time.process_time() - before) / report.total)
                    tables.append((Path(scratch) / "s" / RESULTS).read_bytes())
                    rates[name].append(_a_cell(moments))
            assert tables[0] == tables[1]
    # Of two workers: what a worker loses of its time for each of its cells is twice what the study takes longer a cell.
    lost = [2e3 * (dask - own) for dask, own in zip(rates["dask"], rates["own"], strict=True)]
    dask, own = (1e3 * statistics.median(rates[name]) for name in rates)
    note = f"a cell of the study {dask:.1f} ms, by own processes {own:.1f} ms; scheduler and command on the same processors"
    busy = "scheduler and command, which are one process here"
    return [
        row("Dask, overhead a cell and worker, 2 workers", "≤ 10 ms", lost, unit="ms", note=note),
        row("Dask, cells a second, 2 workers, 5 jobs a cell", "", rates["dask"], per=1, unit="cells/s"),
        row("Dask, processor time a cell, without its worker", "", processor, unit="ms", note=busy),
    ]


def many_cells() -> list[Row]:
    """10,000 tiny cells on two processes, thousand by thousand; and a journal of 100,000 rows."""
    study = _tiny(100, 5)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "s"
        moments = _Moments()
        report = run_study(study, folder, _two, watch=moments)
        assert (report.total, report.failed, len(moments.at)) == (10_000, 0, 10_000)
        with Journal(folder) as journal:
            keys = list(dict.fromkeys(key for key, _ in journal.finished))
            tables = timed(lambda: _write(study, keys, journal, folder), 3)
            entry = next(one for one in journal.entries(iter([(keys[0], 0)])) if one is not None)
        bytes_a_row = (folder / JOURNAL).stat().st_size / len(study)
        rows = _journal(entry)
    # The first thousand without its beginning, in which processes start.
    ends = [_WARM, *range(1000, 10_000, 1000), 9_999]
    rates = [(hi - lo) / (moments.at[hi] - moments.at[lo]) for lo, hi in pairwise(ends)]
    times = rates[0] / rates[-1]
    own = [1e3 * (moments.own[hi] - moments.own[lo]) / (hi - lo) for lo, hi in pairwise(ends)]
    said = (
        f"the last thousand takes {times:.2f} times as long as the first; "
        f"of that the command itself {own[0]:.2f} ms a cell, in the last {own[-1]:.2f}"
    )
    return [
        row("10,000 cells of 5 jobs, 2 workers, a thousand", "must not grow", [1000 / one for one in rates], note=said),
        row("10,000 cells, tables from the journal", "", tables, note=f"{bytes_a_row:.0f} bytes a row of the journal"),
        *rows,
    ]


def _write(study: Study, keys: list[str], journal: Journal, folder: Path) -> None:
    assert write_tables(study, keys, journal, folder) == 0


def _journal(like: Entry) -> list[Row]:
    # As many rows as of a hundred thousand cells and seeds, each like one that was run.
    study = _tiny(1000, 5)
    keys = [f"{cell:020x}" for cell in range(len(study.cells))]
    tenths = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        with Journal(folder) as journal:
            entries = (replace(like, key=key, seed=seed) for key in keys for seed in study.seeds)
            for _ in range(10):
                began = time.perf_counter()
                for entry in islice(entries, len(study) // 10):
                    journal.add(entry)
                tenths.append(1e6 * (time.perf_counter() - began) / (len(study) // 10))
            assert len(journal.finished) == len(study)
            tables = timed(lambda: _write(study, keys, journal, folder), 1)
            size = (folder / RESULTS).stat().st_size
        began = time.perf_counter()
        with Journal(folder) as journal:
            read = time.perf_counter() - began
            assert len(journal.finished) == len(study)
    ratio = tenths[-1] / tenths[0]
    return [
        row("a journal of 100,000 rows, to add one", "must not grow", tenths, unit="µs",
            note=f"the last tenth {ratio:.2f} times the first"),
        row("100,000 rows, tables from the journal", "", tables,
            note=f"{10 * statistics.median(tables):.0f} s a million; {size / len(study):.0f} bytes a row of {RESULTS}"),
        row("100,000 rows, to go on: the journal read", "", [read]),
    ]  # fmt: skip
