"""Studies over a grid: batch policies × application techniques × task variations, on common random numbers."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import quote

from als.graph_metrics import GRAPH_METRICS, graph_distribution
from als.lengths import check_variation
from bls.platform import Platform
from bls.workload import Workload
from bridge.couplings import PeerOptions
from bridge.process_names import die_with_parent
from bridge.scenario import RECORDED, Options, Scenario
from bridge.simulation import run
from traces.compiled import Array
from traces.errors import InputError, PeerError, shown
from traces.tables import write_jobs

__all__ = ["GRAPH_MEANS", "METRICS", "Cell", "Grid", "batch_label", "makespan_table", "run_grid"]

#: Metrics that the table of a grid holds, in order, after bls, backfill, als and variation.
METRICS = (
    "makespan_ns",
    "mean_wait_ns",
    "max_wait_ns",
    "mean_response_ns",
    "mean_slowdown",
    "mean_bounded_slowdown",
    "max_bounded_slowdown",
    "utilisation",
    "throughput_jobs_per_s",
    "tasks",
    "chunks",
    "mean_imbalance",
    "mean_cov",
)

#: What it holds behind them where a job of some cell may have a graph: means over the jobs that have the metric.
GRAPH_MEANS = tuple(f"mean_{name}" for name, _ in GRAPH_METRICS)

#: The file of a plug-in, alone or among the candidates of a selection.
_PLUG_IN_FILE = re.compile(r"[^,:()]*\.py:")

#: Longest name of a policy in the name of a folder.
_LONGEST_WORD = 80


@dataclass(frozen=True)
class Grid:
    """The axes of a study. Every combination is a cell.

    Attributes
    ----------
    bls, als : tuple of str
        Batch policies and application techniques by name.
    variation : tuple of float
        Task variation factors.
    options : Options
        Everything else, the same in all cells; above all the seed, so that a job has the same tasks in every cell of one
        variation.
    backfill : tuple of str
        Kinds of backfilling; empty: that of the options.
    """

    bls: tuple[str, ...]
    als: tuple[str, ...]
    variation: tuple[float, ...]
    options: Options
    backfill: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.backfill:
            object.__setattr__(self, "backfill", (self.options.rules.backfill,))
        axes = (
            ("--bls", self.bls),
            ("--backfill", self.backfill),
            ("--als", self.als),
            ("--variation", self.variation),
        )
        for name, values in axes:
            if not values:
                raise InputError(f"{name}: empty; allowed: one or more, separated by commas")
            if len(set(values)) < len(values):
                raise InputError(f"{name}: {shown(','.join(map(str, values)))} has one twice")
        if self.options.level.map is None and self.als != (RECORDED,):
            for variation in self.variation:
                check_variation(self.options.level.lengths, variation)

    def __len__(self) -> int:
        return len(self.bls) * len(self.backfill) * len(self.als) * len(self.variation)

    def cells(self) -> Iterator[Options]:
        """The options of every cell: policies slowest, variations fastest."""
        for bls, backfill, als, variation in product(self.bls, self.backfill, self.als, self.variation):
            rules = replace(self.options.rules, backfill=backfill)
            cell = replace(self.options, bls=bls, als=als, variation=variation, rules=rules)
            # Beside others recorded run times are what they are compared with, and the options are theirs.
            yield cell.without_applications() if als == RECORDED and len(self.als) > 1 else cell


#: One cell's row: its place on the axes and its metrics.
Cell = dict[str, Any]


def _run_cell(
    workload: Workload, platform: Platform, known_jobs: Array | None, options: Options, target: Path | None
) -> Cell:
    result = run(Scenario.of(workload, platform, options, known_jobs=known_jobs), keep_tasks=False)
    if target is not None:
        target.mkdir(parents=True)
        write_jobs(result.ledger, target / "jobs.parquet", result.further_columns)
    row: Cell = {
        "bls": options.bls,
        "backfill": options.rules.backfill,
        "als": options.als,
        "variation": options.variation,
    }
    row |= {name: result.main_metrics[name] for name in METRICS}
    graphs = result.application_notes.graphs
    if graphs is not None:
        row |= {f"mean_{name}": found["mean"] for name, found in graph_distribution(graphs.T).items()}
    return row


def _even(rows: list[Cell]) -> list[Cell]:
    # All with the same columns: beside cells with graphs one of recorded run times has none.
    if any(name in row for row in rows for name in GRAPH_MEANS):
        return [row | {name: row.get(name) for name in GRAPH_MEANS} for row in rows]
    return rows


def batch_label(bls: str, backfill: str) -> str:
    """A batch policy and its backfilling in one word: ``sjf+easy``, or just ``sjf`` where there is none."""
    return bls if backfill == "none" else f"{bls}+{backfill}"


def _word(name: str) -> str:
    # A policy or a technique in the name of a folder: a plug-in FILE.py:NAME is known by its NAME.
    word = quote(_PLUG_IN_FILE.sub("", name), safe=" +-=,:()*")
    return word if len(word) <= _LONGEST_WORD else f"{word[:_LONGEST_WORD]}…{sha256(word.encode()).hexdigest()[:8]}"


def _cell_name(options: Options) -> str:
    # A folder's name; 0.0 is 0.
    variation = f"{options.variation:g}"
    if float(variation) != options.variation:
        variation = repr(options.variation)
    batch = batch_label(_word(str(options.bls)), options.rules.backfill)
    return f"{batch}-{_word(str(options.als))}-{variation}"


_shared: tuple[Workload, Platform, Array | None] | None = None


def _share(workload: Workload, platform: Platform, known_jobs: Array | None, parent: int) -> None:
    # Sent to a worker once, not with every cell.
    global _shared
    die_with_parent(parent)
    _shared = (workload, platform, known_jobs)


def _run_shared_cell(options: Options, target: Path | None) -> Cell:
    assert _shared is not None
    return _run_cell(*_shared, options, target)


@contextmanager
def _deaf_children() -> Iterator[None]:
    # Processes that are started in here never hear an interrupt at the terminal: what becomes of them is for us to say.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def run_grid(
    workload: Workload,
    platform: Platform,
    grid: Grid,
    *,
    workers: int | None = None,
    folder: Path | None = None,
    watch: Callable[[int, int], None] = lambda ended, now_ns: None,
    known_jobs: Array | None = None,
) -> list[Cell]:
    """Run every cell.

    Parameters
    ----------
    workload : Workload
        Fitted and selected.
    platform : Platform
    grid : Grid
    workers : int, optional
        How many cells run at once, each in a process of its own kind; default one a processor.
    folder : Path, optional
        Where each cell's jobs.parquet goes, under its name.
    watch : callable
        Told how many cells are done.
    known_jobs : ndarray of int64, optional
        All job numbers that a file of requests may name.

    Returns
    -------
    list of dict
        A row a cell, in the grid's order, whatever the order in which they ended: its place on the axes, :data:`METRICS`,
        and, if a job of some cell may have a graph, :data:`GRAPH_MEANS`. None where a cell has no such metric.

    Raises
    ------
    TwolevelError
        If a cell cannot be run.
    """
    workers = PeerOptions(workers).how_many()
    cells = list(grid.cells())
    for options in cells:
        Scenario.of(
            workload, platform, options, known_jobs=known_jobs
        )  # an unknown name is said before anything is simulated
    names = [_cell_name(options) for options in cells]
    if folder is not None and len(set(names)) < len(names):
        raise InputError("two cells of the grid would have the same name; name their plug-ins differently")
    targets = [None if folder is None else folder / name for name in names]
    rows: list[Cell] = []
    if min(workers, len(cells)) == 1:
        for options, target in zip(cells, targets, strict=True):
            rows.append(_run_cell(workload, platform, known_jobs, options, target))
            watch(len(rows), -1)
        return _even(rows)
    # The first cell runs here: it fills the kernel cache that the workers then load from.
    rows.append(_run_cell(workload, platform, known_jobs, cells[0], targets[0]))
    watch(1, -1)
    context = multiprocessing.get_context("spawn")
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(
        min(workers, len(cells) - 1),
        context,
        initializer=_share,
        initargs=(workload, platform, known_jobs, os.getpid()),
    ) as pool:
        try:
            with _deaf_children():
                futures = [pool.submit(_run_shared_cell, *cell) for cell in zip(cells[1:], targets[1:], strict=True)]
            left = set(futures)
            while left:
                done, left = wait(left, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()
                watch(len(cells) - len(left), -1)
        except BaseException as error:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in set(multiprocessing.active_children()) - others:
                child.kill()  # nobody waits for the cells it is at
            if isinstance(error, BrokenProcessPool):
                raise PeerError("a process that ran cells of the grid was killed; nothing was written") from None
            raise
    return _even(rows + [future.result() for future in futures])


def makespan_table(rows: Sequence[Cell], grid: Grid) -> str:
    """The makespans as text: a line a combination, a column a variation, in hours, and the ratio to the first column."""
    hour = 3600e9
    head = ["batch × application", *(f"Υ={value:g}" for value in grid.variation)]
    lines = [head]
    for at in range(0, len(rows), len(grid.variation)):
        group = rows[at : at + len(grid.variation)]
        base = group[0]["makespan_ns"]
        texts = [f"{group[0]['makespan_ns'] / hour:.3f} h"]
        for row in group[1:]:
            ratio = f" ({row['makespan_ns'] / base:.3f}×)" if base else ""  # 0: no job ran
            texts.append(f"{row['makespan_ns'] / hour:.3f} h{ratio}")
        lines.append([f"{batch_label(group[0]['bls'], group[0]['backfill'])} × {group[0]['als']}", *texts])
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return os.linesep.join(
        line[0].ljust(widths[0])
        + "".join("  " + text.rjust(width) for text, width in zip(line[1:], widths[1:], strict=True))
        for line in lines
    )
