"""Grids from Python: batch policies × application techniques × task variations × seeds of one workload, as rows.

``twolevel grid`` and ``twolevel study`` keep finished runs and write tables; this module writes nothing, and workloads,
policies and techniques may be objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from als.lengths import check_variation
from als.techniques import spelled
from bls.machine.platform import Platform
from bls.workloads.workload import Workload
from bridge.scenarios.conflicts import check_used
from bridge.scenarios.machine import platform_for, warn_of_paper_machine
from bridge.scenarios.ready import ReadyScenario
from bridge.scenarios.scenario import RECORDED, Execution, Scenario
from bridge.studies.executors.executor import Executor, Prepared, Unit, UnitOutcome
from bridge.studies.executors.local import Here, Workers
from bridge.studies.replicates import Replicates, check_shaken, given_replicates, of_windows, same_for_all_seeds
from bridge.studies.replicates import replicate as replicate_jobs
from traces.base.errors import InputError, PluginError, shown
from traces.compiled import Array
from traces.statistics.comparisons import WINDOW_BEGIN
from traces.tables import rows_frame

if TYPE_CHECKING:
    import pandas as pd

    from bridge.report.page import Page
    from bridge.studies.drawing import StudyPlots

#: One run's row: its coordinates and its metrics.
Cell = dict[str, Any]

_AXES = ("bls", "backfill", "als", "variation", "seed")


@dataclass(frozen=True)
class Grid:
    """The axes of a study. Every combination is a cell.

    Attributes
    ----------
    bls, als : tuple of str
        Batch policies and application techniques by name.
    variation : tuple of float
        Task variation factors.
    options : Scenario
        All other options, the same in all cells.
    backfill : tuple of str
        Kinds of backfilling; empty: the one in the options.
    seeds : tuple of int
        Each cell is run for each seed; a job has the same tasks in every cell of one seed and variation. Empty: the one in the
        options.
    """

    bls: tuple[str, ...]
    als: tuple[str, ...]
    variation: tuple[float, ...]
    options: Scenario
    backfill: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.backfill:
            object.__setattr__(self, "backfill", (self.options.batch.backfill,))
        if not self.seeds:
            object.__setattr__(self, "seeds", (self.options.seed,))
        object.__setattr__(self, "als", tuple(spelled(one) if isinstance(one, str) else one for one in self.als))
        for name in ("bls", "backfill", "als", "variation", "seeds"):
            values = getattr(self, name)
            if not values:
                raise InputError(f"{name}: empty; allowed: one or more")
            if len(set(values)) < len(values):
                raise InputError(f"{name}: {shown(','.join(map(str, values)))} has a value twice")
        if self.options.application.map is None and self.als != (RECORDED,):
            for variation in self.variation:
                check_variation(self.options.application.lengths, variation)

    def __len__(self) -> int:
        return len(self.bls) * len(self.backfill) * len(self.als) * len(self.variation) * len(self.seeds)

    def axes(self) -> Iterator[Cell]:
        """The coordinates of every run: policies slowest, seeds fastest."""
        for place in product(self.bls, self.backfill, self.als, self.variation, self.seeds):
            yield dict(zip(_AXES, place, strict=True))

    def cells(self) -> Iterator[Scenario]:
        """The options of every run, in the order of :meth:`axes`."""
        for place in self.axes():
            cell = self.options.with_options(**place)
            # Compared with simulated applications, recorded run times take the same options.
            alone = cell.application.simulated or len(self.als) == 1
            yield cell if alone else cell.without_applications()


class GridRows(list[Cell]):
    """The rows of a grid, a list of dicts. A notebook displays it. ``source``: the workload's, for titles."""

    def __init__(self, rows: Iterable[Cell] = (), source: str = "") -> None:
        super().__init__(rows)
        self.source = source

    @property
    def frame(self) -> pd.DataFrame:
        """The same as a DataFrame, one row per run, with the columns that the results of a study have."""
        axes = (*_AXES, *([WINDOW_BEGIN] if self and WINDOW_BEGIN in self[0] else []))
        rows = []
        for row in self:
            named = {name: getattr(row[name], "name", row[name]) for name in axes}  # objects by their names
            rows.append({"workload": self.source, **named, "error": "", **row, **named})
        return rows_frame(rows)

    @property
    def plot(self) -> StudyPlots:
        """Figures, as for a study with one workload: ``rows.plot.makespan()``."""
        from bridge.studies.drawing import OF_RESULTS, FigureData, StudyPlots

        words = f"{self.source}: batch policy × technique"

        def parts(name: str) -> list[FigureData]:
            return [FigureData("", words, self.frame)] if name in OF_RESULTS else []

        return StudyPlots(parts)

    def report(self) -> Page:
        """The report page (docs/reference/report.md): ``save(path)`` writes it, and a notebook shows it."""
        from bridge.studies.page import page_of_rows

        return page_of_rows(self.source, self.frame)

    def _repr_html_(self) -> str:
        return str(self.frame._repr_html_())  # type: ignore[operator]


def _failure(outcome: UnitOutcome, options: Scenario) -> Exception:
    kind = InputError if outcome.code == InputError.exit_code else PluginError
    bls, als, variation = options.batch.decides, options.application.technique, options.application.variation
    place = f"bls {bls}, als {als}, variation {variation:g}, seed {options.seed}"
    return kind(f"{outcome.error} ({place})")


def run_grid(
    workload: Workload,
    platform: Platform | str | Path,
    grid: Grid,
    *,
    workers: int | None = None,
    watch: Callable[[int, int], None] = lambda ended, now_ns: None,
    known_jobs: Array | None = None,
    replicate: str | None = None,
    warmup: str | None = None,
    shake: str | None = None,
) -> GridRows:
    """Run every cell for every seed.

    Parameters
    ----------
    workload : Workload
        Fitted and selected.
    platform : Platform, str or Path
        A platform, the path of a TOML file, ``paper`` (the two-level paper's 4 hosts × 64 cores), or ``log``: the machine that
        the log names. ``Platform()`` is the paper's machine, too, with a warning if the log names another one.
    grid : Grid
    workers : int, optional
        Number of runs at once, each in its own process; default one per processor. Policies, techniques and allocators that
        are objects are run in this process, one after another.
    watch : callable
        Called with the number of finished runs.
    known_jobs : ndarray of int64, optional
        All job numbers that a file of requests may name.
    replicate : str, optional
        Run every cell for every window of this length of the workload, such as ``"7d"``: ``seed`` of a row is the window's
        number. All windows, or, if the grid has several seeds, the windows with these numbers.
    warmup : str, optional
        Simulate jobs for this time before each window without counting them, such as ``"1d"``.
    shake : str, optional
        Delay each submit by a random time up to this, such as ``"1min"``, drawn for each seed; seed 0 keeps the log's times.

    Returns
    -------
    Rows
        A list with one dict per run, in the grid's order: ``bls``, ``backfill``, ``als``, ``variation``, ``seed``, with
        windows ``window_begin_ns``, and all metrics (``bridge.studies.unit.all_metrics``), None if a run does not have one. A
        cell without randomness is run once, and every seed has its metrics.

    Raises
    ------
    TwolevelError
        If a run fails.
    """
    if isinstance(platform, Platform):
        warn_of_paper_machine(workload, platform)
    else:
        platform = platform_for(platform, workload, replayed=False)
    given = given_replicates(replicate, warmup, shake)
    check_shaken(given, grid.seeds)
    begins: tuple[int, ...] = ()
    if given.length_ns:
        name = Path(workload.source).name
        seeds, found = of_windows([(name, workload)], given, grid.seeds if len(grid.seeds) > 1 else ())
        grid, begins = replace(grid, seeds=seeds), found[name]
    runs, axes = list(grid.cells()), list(grid.axes())
    check_used({"slack": run.batch.slack, "bls": run.batch.decides} for run in runs)
    jobs_of_seed = grid.seeds if given.by_seed else grid.seeds[:1]
    place_of = {seed: k for k, seed in enumerate(jobs_of_seed)}
    prepared = {}
    for seed, k in place_of.items():
        jobs = replicate_jobs(workload, workload, platform, given, begins, seed) if given.by_seed else workload
        prepared[k] = Prepared(jobs, platform, known_jobs)
    for options in runs:  # report unknown names before anything is simulated
        if options.seed == grid.seeds[0]:
            ReadyScenario.of(prepared[0].workload, platform, options, known_jobs=known_jobs)
    run_as = [_run_as(place, options, given, len(grid.seeds)) for place, options in enumerate(runs)]
    units = [
        Unit(place, place_of.get(options.seed, 0), options, group=_group(options))
        for place, options in enumerate(runs)
        if run_as[place] == place
    ]
    units.sort(key=lambda unit: unit.group)
    n = min(Execution(workers=workers).how_many(), len(units))
    # Objects may be anything; only named ones can be found in any process.
    executor: Executor = Here() if n == 1 or not all(map(_named, runs)) else Workers(n)
    rows: dict[int, Cell] = {}
    for outcome in executor.outcomes(units, prepared):
        options = runs[outcome.place]
        if outcome.metrics is None:
            raise _failure(outcome, options)
        begin = {WINDOW_BEGIN: begins[options.seed]} if begins else {}
        for place in range(outcome.place, len(runs)):
            if run_as[place] != outcome.place:
                break
            rows[place] = axes[place] | begin | outcome.metrics
            watch(len(rows), -1)
    return GridRows(_even([rows[place] for place in range(len(runs))]), Path(workload.source).name)


def _run_as(place: int, options: Scenario, given: Replicates, seeds: int) -> int:
    # Index of the run whose metrics it shares. Objects may use randomness, even with the name of a built-in.
    named = _named(options) and isinstance(options.batch.estimates, str)
    return place - place % seeds if named and same_for_all_seeds(given, options.names()) else place


def _named(options: Scenario) -> bool:
    return all(
        isinstance(one, str) for one in (options.batch.decides, options.application.technique, options.batch.allocator)
    )


def _group(options: Scenario) -> str:
    return repr((options.application.technique, options.application.variation, options.seed))


def _even(rows: list[Cell]) -> list[Cell]:
    # All with the same columns: rows of recorded run times lack those of graphs.
    names = list(dict.fromkeys(name for row in rows for name in row))
    return [{name: row.get(name) for name in names} for row in rows]
