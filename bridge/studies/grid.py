"""Grids from Python: every combination of values of options, for several seeds, as rows. Nothing is written, and workloads,
policies and techniques may be objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from als.lengths import check_variation
from als.techniques import spelled
from bls.machine.platform import Platform
from bls.workloads.workload import Workload
from bridge.scenarios.conflicts import check_used
from bridge.scenarios.ready import ReadyScenario
from bridge.scenarios.scenario import RECORDED, Execution, Machine, Scenario, platform_for, warn_of_paper_machine
from bridge.studies.executors.executor import Executor, Prepared, Unit
from bridge.studies.executors.local import Here, Workers
from bridge.studies.replicates import Replicates, check_shaken, given_replicates, of_windows, same_for_all_seeds
from bridge.studies.replicates import replicate as replicate_jobs
from traces.base.errors import InputError, PluginError, shown
from traces.base.options import Choice, by_keyword
from traces.compiled import Array
from traces.statistics.comparisons import WINDOW_BEGIN
from traces.tables import rows_frame

if TYPE_CHECKING:
    import pandas as pd

    from bridge.report.page import Page
    from bridge.studies.drawing import StudyPlots

Cell = dict[str, Any]  #: one run's row: its coordinates and its metrics

#: The axes that every grid has, from the slowest to the fastest; further ones come before the variation.
_FIRST_AXES, _LAST_AXES = ("bls", "backfill", "als"), ("variation", "seed")

#: Parts of a scenario whose options are the same in all cells of a grid.
_FIXED_PARTS = ("workload", "machine", "execution", "seed")


@dataclass(frozen=True)
class Grid:
    """The axes of a study. Every combination is a cell; a single value is one of an axis."""

    bls: Sequence[Any]  # batch policies: names, ``FILE.py:NAME``, or objects
    als: Sequence[Any]  # application techniques, the same
    variation: Sequence[float]  # task variation factors
    options: Scenario  # all other options, the same in all cells
    backfill: Sequence[str] = ()  # kinds of backfilling; empty: the kind in ``options``
    # in all cells of one seed and variation a job has the same tasks; empty: the seed in ``options``
    seeds: Sequence[int] = ()
    # values of further options that vary, by keyword: ``{"tasks_per_core": (1, 8)}``
    others: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        given: dict[str, Any] = {
            "bls": self.bls,
            "backfill": self.backfill or (self.options.batch.backfill,),
            "als": self.als,
            "variation": self.variation,
            "seeds": self.seeds or (self.options.seed,),
        }
        of_several = (list, tuple, range)
        axes = {name: tuple(value) if isinstance(value, of_several) else (value,) for name, value in given.items()}
        axes["als"] = tuple(spelled(one) if isinstance(one, str) else one for one in axes["als"])
        known = by_keyword(Scenario)
        others = {name: tuple(values) for name, values in self.others.items()}
        for name in others.keys() & known.keys():
            if isinstance(option := known[name].option, Choice):
                others[name] = tuple(map(option.named, others[name]))
        for name, values in (axes | others).items():
            if not values:
                raise InputError(f"{name}: empty; allowed: one or more")
            if len(set(values)) < len(values):
                raise InputError(f"{name}: {shown(','.join(map(str, values)))} has a value twice")
        for name in others:
            if name in known and known[name].path[0] in _FIXED_PARTS:
                raise InputError(f"{name}: several values; allowed: one, the same for all cells of a grid")
        for name, values in axes.items():
            object.__setattr__(self, name, values)
        object.__setattr__(self, "others", others)
        if self.options.application.map is None and self.als != (RECORDED,):
            for variation in self.variation:
                check_variation(self.options.application.lengths, variation)

    def __len__(self) -> int:
        return prod(len(values) for values in self._values())

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the axes, from the slowest to the fastest."""
        return (*_FIRST_AXES, *self.others, *_LAST_AXES)

    def _values(self) -> tuple[Sequence[Any], ...]:
        return (self.bls, self.backfill, self.als, *self.others.values(), self.variation, self.seeds)

    def axes(self) -> Iterator[Cell]:
        """The place of every run on the axes: policies slowest, seeds fastest."""
        for place in product(*self._values()):
            yield dict(zip(self.names, place, strict=True))

    def cells(self) -> Iterator[Scenario]:
        """The options of every run, in the order of :meth:`axes`."""
        for place in self.axes():
            cell = self.options.with_options(**place)
            # Recorded run times next to techniques are a reference: options of the application level do not apply to them.
            alone = cell.application.simulated or len(self.als) == 1
            yield cell if alone else cell.without_applications()


class GridRows(list[Cell]):
    """The rows of a grid, which a notebook shows as a table; ``source`` names the workload, ``names`` are the axes."""

    def __init__(self, rows: Iterable[Cell] = (), source: str = "", names: Sequence[str] = ()) -> None:
        super().__init__(rows)
        self.source, self.names = source, tuple(names or (*_FIRST_AXES, *_LAST_AXES))

    @property
    def frame(self) -> pd.DataFrame:
        """A DataFrame of one row per run, with the columns that the results of a study have."""
        axes = (*self.names, *([WINDOW_BEGIN] if self and WINDOW_BEGIN in self[0] else []))
        named = ({name: _plain(row[name]) for name in axes} for row in self)
        head = {"workload": self.source}
        return rows_frame([head | axis | {"error": ""} | row | axis for row, axis in zip(self, named, strict=True)])

    @property
    def plot(self) -> StudyPlots:
        """Its figures, as those of a study with one workload: ``rows.plot.makespan()``."""
        from bridge.studies.drawing import StudyPlots, parts_of_rows

        return StudyPlots(partial(parts_of_rows, self.source, self.frame))

    def report(self) -> Page:
        """The report page (docs/reference/report.md): ``save(path)`` writes it, and a notebook shows it."""
        from bridge.studies.page import page_of_rows

        return page_of_rows(self.source, self.frame)

    def _repr_html_(self) -> str:
        return str(self.frame._repr_html_())  # type: ignore[operator]


def _plain(value: Any) -> Any:
    # Objects by their names, options with several values as one text.
    named = getattr(value, "name", value)
    return " ".join(map(str, named)) if isinstance(named, tuple) else named


def _given(
    workload: Workload | str | Path, platform: Platform | str | Path | None, grid: Grid, known_jobs: Array | None
) -> tuple[Workload, Platform, Array | None]:
    # The jobs and the machine of a grid; a name is read, selected and fitted as the grid's options say.
    replayed = grid.als == (RECORDED,)
    if isinstance(workload, Workload):
        if isinstance(platform, Platform):
            warn_of_paper_machine(workload, platform)
            return workload, platform, known_jobs
        return workload, platform_for(platform, workload, replayed=platform is None and replayed), known_jobs
    source = replace(grid.options.workload, source=workload)
    options = replace(grid.options, workload=source, machine=Machine(platform))
    read = options.log()
    jobs, machine = options.jobs(read, replayed=replayed)
    if platform is None:
        warn_of_paper_machine(jobs, machine)
    return jobs, machine, read.job_id if known_jobs is None else known_jobs


def run_grid(
    workload: Workload | str | Path,
    platform: Platform | str | Path | None,
    grid: Grid,
    *,
    workers: int | None = None,
    watch: Callable[[int, int], None] = lambda ended, now_ns: None,
    progress: bool = False,
    known_jobs: Array | None = None,
    replicate: str | None = None,
    warmup: str | None = None,
    shake: str | None = None,
) -> GridRows:
    """Run every cell for every seed.

    Parameters
    ----------
    workload : Workload, str or Path
        A workload that fits the platform, or its name; ``grid.options`` selects its jobs.
    platform : Platform, str, Path or None
        As in a :class:`bridge.Machine`.
    grid : Grid
    workers : int, optional
        Number of processes; default one per processor. Policies, techniques and allocators that are objects run in this
        process, one after another.
    watch : callable
        Called with the number of finished runs.
    progress : bool
        Whether to show the progress on stderr.
    known_jobs : ndarray of int64, optional
        All job numbers that a file of requests may name; with the name of a workload, its jobs.
    replicate, warmup, shake : str, optional
        As the keys of a study (docs/reference/studies.md#weeks-as-replications): the length of windows, as ``"7d"``;
        the uncounted time before each, as ``"1d"``; the longest random delay of submits, as ``"1min"``.

    Returns
    -------
    GridRows
        A list of one dict per run in the order of the grid: the axes, with windows ``window_begin_ns``, and all metrics, None
        where a run lacks one. A cell without randomness is run once, and every seed has its metrics.

    Raises
    ------
    TwolevelError
        If a cell cannot be run.
    """
    workload, platform, known_jobs = _given(workload, platform, grid, known_jobs)
    given = given_replicates(replicate, warmup, shake)
    check_shaken(given, tuple(grid.seeds))
    begins: tuple[int, ...] = ()
    if given.length_ns:
        name = Path(workload.source).name
        seeds, found = of_windows([(name, workload)], given, tuple(grid.seeds) if len(grid.seeds) > 1 else ())
        grid, begins = replace(grid, seeds=seeds), found[name]
    runs, axes = list(grid.cells()), list(grid.axes())
    check_used({"slack": run.batch.slack, "bls": run.batch.decides} for run in runs)
    jobs_of_seed = grid.seeds if given.by_seed else grid.seeds[:1]
    place_of = {seed: k for k, seed in enumerate(jobs_of_seed)}
    prepared = {}
    for seed, k in place_of.items():
        jobs = workload
        if given.by_seed:
            jobs = replicate_jobs(workload, workload, platform.n_cores, given, begins, seed, preset=None)
        prepared[k] = Prepared(jobs, platform, known_jobs)
    for options in runs:  # report an unknown name before anything is simulated
        if options.seed == grid.seeds[0]:
            ReadyScenario.of(prepared[0].workload, platform, options, known_jobs=known_jobs)
    run_as = [_run_as(place, options, given, len(grid.seeds)) for place, options in enumerate(runs)]
    units = [
        Unit(place, place_of.get(options.seed, 0), options, group=repr((options.application, options.seed)))
        for place, options in enumerate(runs)
        if run_as[place] == place
    ]
    units.sort(key=lambda unit: unit.group)
    n = min(Execution(workers=workers).how_many(), len(units))
    # Another process can find what has a name, but not every object.
    executor: Executor = Here() if n == 1 or not all(map(_named, runs)) else Workers(n)
    rows: dict[int, Cell] = {}
    with _shown(len(runs)) if progress else nullcontext(watch) as seen:
        for outcome in executor.outcomes(units, prepared):
            options = runs[outcome.place]
            if outcome.metrics is None:
                kind = InputError if outcome.code == InputError.exit_code else PluginError
                axis = axes[outcome.place].items()
                said = [f"{name} {_plain(value)}" for name, value in axis if name != "backfill"]
                raise kind(f"{outcome.error} ({', '.join(said)})")
            begin = {WINDOW_BEGIN: begins[options.seed]} if begins else {}
            for place in range(outcome.place, len(runs)):
                if run_as[place] != outcome.place:
                    break
                rows[place] = axes[place] | begin | outcome.metrics
                seen(len(rows), -1)
    # A cell of recorded run times lacks the metrics of graphs that others have.
    names = list(dict.fromkeys(name for place in range(len(runs)) for name in rows[place]))
    even = ({name: rows[place].get(name) for name in names} for place in range(len(runs)))
    return GridRows(even, Path(workload.source).name, grid.names)


@contextmanager
def _shown(total: int) -> Iterator[Callable[[int, int], None]]:
    from bridge.live.progress import StudyProgress

    with StudyProgress() as progress:
        progress.begin(total, 0)
        yield lambda ended, now_ns: progress(ended, 0)


def _run_as(place: int, options: Scenario, given: Replicates, seeds: int) -> int:
    # The place of the run whose metrics it shares. An object may use randomness, also one with a name of ours.
    named = _named(options) and isinstance(options.batch.estimates, str)
    return place - place % seeds if named and same_for_all_seeds(given, options.names()) else place


def _named(options: Scenario) -> bool:
    plug_ins = options.batch.decides, options.application.technique, options.batch.allocator
    return all(isinstance(one, str) for one in plug_ins)
