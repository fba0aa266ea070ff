"""Figures of one run, drawn from its folder, or as methods of a result: ``result.plot.gantt(jobs="40-60")``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from bls.engine.features.decisions.options import DECISIONS
from bls.engine.features.domains.records import domain_table
from bls.engine.features.releases.records import ReleaseRecords
from bls.engine.features.widths.records import WidthRecords
from bls.options import POWER
from bls.workloads.job_words import JobWords
from bridge.options.declared import ONLY
from bridge.runs.directory import read_record
from bridge.runs.stored import hosts, job_words, no_tasks, run_title
from traces.base.errors import InputError, one_of, shown
from traces.base.options import PART_CORES, PART_JOBS, named
from traces.compiled import Array
from traces.holdings import HeldGpus, held_gpus
from traces.intervals import parse_intervals, within
from traces.ledger_tables import TASKS, LedgerTable
from traces.tables import read_columns, read_jobs, read_numbers, read_power

if TYPE_CHECKING:
    import pandas as pd

    from bridge.runs.result import Result
    from traces.figures.drawing.canvas import Axes, Figure
    from traces.figures.drawing.for_paper import ForPaper
    from traces.intervals import Intervals


class FigureView(NamedTuple):
    """What to draw of a run, in addition to a table."""

    first_core: Array  # int64 (hosts + 1,), first core of each host, and one beyond the last
    host_names: list[str]  # names of hosts
    # jobs, cores: sequence of (int, int), or None, half-open intervals of the job numbers and of the global core
    # numbers to show; None is all
    jobs: Intervals | None = None
    cores: Intervals | None = None
    title: str = ""
    releases: pd.DataFrame | None = None  # cores that jobs released before their end
    widths: pd.DataFrame | None = None  # requests and grants of cores after the start of jobs
    until_ns: int | None = None  # the last end; None if unknown
    run: Result | Path | None = None  # the result, or its folder, for tables of single figures

    @property
    def gpus(self) -> HeldGpus | None:
        """The GPUs that jobs held; None if no host has any."""
        if not isinstance(self.run, Path):
            return None if self.run is None else held_gpus(self.run.ledger)
        if "first_gpu" not in read_record(self.run)["machine"]:
            return None
        from bridge.runs.stored_trace import ledger_of_results  # few runs need it

        return held_gpus(ledger_of_results(self.run, tasks=False))


def view_of_result(result: Result) -> FigureView:
    """The whole of a result in memory."""
    ledger = result.ledger
    return FigureView(
        ledger.machine.first_core,
        list(ledger.machine.host_names),
        releases=None if ledger.of(ReleaseRecords) is None else result.releases,
        widths=None if ledger.of(WidthRecords) is None else result.widths,
        until_ns=int(ledger.jobs.end_ns.max()),
        run=result,
    )


def view_of_folder(folder: Path) -> FigureView:
    """The whole of a stored run; ``until_ns``, which only figures of power need, is not read."""
    releases, widths = (LedgerTable(kind).read_if_there(folder) for kind in (ReleaseRecords, WidthRecords))
    return FigureView(*hosts(folder), releases=releases, widths=widths, run=folder)


@dataclass(frozen=True)
class RunFigure:
    """One kind of figure of a run."""

    needs: Literal["jobs", "tasks", "power", "decisions"]  # the table that it is drawn from
    draw: Callable[[pd.DataFrame, FigureView], Figure]  # takes that table and what to draw, and gives the figure
    shows: str = ""  # a caption, in which {n} is the number of rows of the table
    columns: tuple[str, ...] = ()  # the columns of that table that are read; empty: all


def _utilisation(jobs: pd.DataFrame, view: FigureView) -> Figure:
    # Always of all jobs and cores: a part of the queue has no meaning.
    from traces.figures.run.utilisation import utilisation_figure

    cores = int(view.first_core[-1])
    more = {name: getattr(view, name) for name in ("releases", "widths", "gpus", "title")}
    return utilisation_figure(jobs, cores=cores, **more)


def _figure(function: str, *takes: str, chosen: bool = True) -> Callable[[pd.DataFrame, FigureView], Figure]:
    # Draws a figure of ``traces.figures`` with these fields of the view; ``chosen``: of the chosen jobs only.
    def draw(table: pd.DataFrame, view: FigureView) -> Figure:
        made = named(f"traces.figures.{function}")
        given = {field: getattr(view, field) for field in (*takes, "title")}
        figure: Figure = made(_chosen(table, view) if chosen else table, **given)
        return figure

    return draw


def _lengths(tasks: pd.DataFrame, view: FigureView) -> Figure:
    from traces.figures.application.task_lengths import task_lengths_figure

    chosen = _chosen(tasks, view)
    numbers = chosen["job_id"].unique()
    return task_lengths_figure(chosen, job_id=int(numbers[0]) if len(numbers) == 1 else None, title=view.title)


def _power(power: pd.DataFrame, view: FigureView) -> Figure:
    # Always of the whole machine.
    from traces.figures.run.power import power_figure

    until_ns = int(power["instant_ns"].max()) if view.until_ns is None else view.until_ns
    return power_figure(power, until_ns=until_ns, domains=domain_table(view.run), title=view.title)


_CORES = ("first_core", "host_names", "jobs", "cores")  # parameters of figures of tasks
_heat = _figure("run.core_heat:heat_figure", *_CORES, "releases", "widths", chosen=False)

#: The figures of a run by name, which is also the name of their files.
RUN_FIGURES: Mapping[str, RunFigure] = {
    "utilisation": RunFigure(
        "jobs", _utilisation, "Busy cores and the queue over time (n = {n} jobs). Dashed lines: means over time."
    ),
    "waits": RunFigure(
        "jobs",
        _figure("run.wait_times:waits_figure"),
        "Empirical distributions of the wait and of the bounded slowdown (τ = 10 s) of jobs (n = {n} jobs).",
    ),
    "imbalance": RunFigure(
        "jobs",
        _figure("run.job_imbalance:imbalance_jobs_figure"),
        "Load imbalance of jobs by number of cores (n = {n} jobs). Bars: quartiles; markers: medians; lines: 5th to 95th "
        "percentile of the jobs.",
    ),
    "held": RunFigure("jobs", _heat, "Share of time in which jobs hold cores (n = {n} jobs)."),
    "heat": RunFigure(
        "tasks", _heat, "Share of time in which cores compute (n = {n} tasks).", ("core", "start_ns", "end_ns")
    ),
    "gantt": RunFigure(
        "tasks",
        _figure("run.gantt:core_gantt_figure", *_CORES, "gpus", chosen=False),
        "Tasks on cores over time, coloured by job (n = {n} tasks).",
        ("job_id", "core", "start_ns", "end_ns"),
    ),
    "chunks": RunFigure(
        "tasks",
        _figure("application.chunk_sizes:chunks_figure"),
        "Chunk sizes of one job in the order of assignment.",
        ("job_id", "task", "chunk", "start_ns"),
    ),
    "lengths": RunFigure(
        "tasks",
        _lengths,
        "Distribution of task lengths (n = {n} tasks). Lines: mean, and one standard deviation on either side.",
        ("job_id", "length_gflop"),
    ),
    "power": RunFigure("power", _power, "Power of the machine and its limit over time."),
    "decisions": RunFigure(
        "decisions",
        _figure("run.decisions:decisions_figure", chosen=False),
        "Wall time of scheduling passes by the number of waiting jobs (n = {n} passes). Points: means; band: 5th to 95th "
        "percentile of the passes.",
    ),
}


_READERS: Mapping[str, Callable[[Path], pd.DataFrame]] = {
    "jobs": read_jobs,
    "power": read_power,
    "decisions": lambda path: read_columns(path, ("waiting", "decision_ns")),
}

_OF_ALL = {"power", "decisions"}  # tables without jobs: their figures always show the whole run

_HOW = {"jobs": "", "power": f"; simulate again with {POWER:held}", "decisions": f"; simulate again with {DECISIONS}"}


def draw_run_figures(
    folder: Path,
    names: Sequence[str] | None,
    target: Path,
    formats: Sequence[str] = ("svg", "png"),
    *,
    jobs: str | None = None,
    cores: str | None = None,
    paper: ForPaper | None = None,
) -> list[Path]:
    """Draw figures of a result of ``twolevel run``, each into ``target/NAME.FORMAT``; return the files in the order of the
    names.

    ``names``: of :data:`RUN_FIGURES`; None is every figure that the folder's files allow. ``jobs``, ``cores``: numbers as
    ``1542-1546 1600``; None is all. Cores are chosen for ``gantt``, ``heat`` and ``held``, jobs for every figure except
    ``utilisation``, ``power`` and ``decisions``. ``paper``: width and titles; with it, ``captions.txt`` is written next to the
    figures. Raises InputError if the folder is no such result, a name or a format is unknown, a file that a named figure needs
    is missing, there is nothing to draw, or a file cannot be written.
    """
    from traces.figures.drawing.canvas import save_all
    from traces.figures.drawing.for_paper import ForPaper, write_captions

    how, record = paper or ForPaper(), read_record(folder)  # a folder that is no result is reported before a name
    for name in names or ():
        if name not in RUN_FIGURES:
            raise one_of("figure of a run", name, RUN_FIGURES, str(ONLY))
    tables = _tables(folder, names)
    view = _view(folder, tables, jobs, cores, run_title(record) if how.titled else "")
    with_jobs = [table for name, table in tables.items() if name not in _OF_ALL]
    if view.jobs is not None and all(_chosen(figure_table(one, ("job_id",)), view).empty for one in with_jobs):
        raise InputError(f"{PART_JOBS}: {folder} has no such job")
    written: list[Path] = []
    captions: dict[str, str] = {}
    refused: InputError | None = None
    for name in dict.fromkeys(RUN_FIGURES if names is None else names):
        kind = RUN_FIGURES[name]
        if kind.needs not in tables:
            continue
        try:
            columns = kind.columns if view.jobs is None else tuple({*kind.columns, "job_id"})
            table = figure_table(tables[kind.needs], columns)
            figure = kind.draw(table, view)
        except InputError as error:
            if names is not None:
                raise
            refused = refused or error
            continue
        written += save_all(figure, [target / f"{name}.{form}" for form in dict.fromkeys(formats)], how.width_in)
        n = len(table if name in _OF_ALL else _chosen(table, view))
        shows = kind.shows.format(n=f"{n:,}")
        captions[name] = f"{run_title(record)}. {shows} One simulated run: no confidence interval."
    if not written and refused is not None:
        raise refused
    if paper is not None:
        write_captions(target, captions)
    return written


def _tables(folder: Path, names: Sequence[str] | None) -> dict[str, Any]:
    # The tables that the figures need; without named figures, some may be missing. For tasks it is the path: each figure reads
    # only its own columns of what may be millions of rows.
    hosts(folder)  # a folder that is no result is reported first
    needed = {RUN_FIGURES[name].needs: name for name in reversed(names or list(RUN_FIGURES))}
    tables: dict[str, Any] = {}
    for what, name in sorted(needed.items()):
        path = folder / f"{what}.parquet"
        if path.is_file():
            tables[what] = path if what == "tasks" else _READERS[what](path)
        elif names is not None:
            how = no_tasks(read_record(folder)) if what == "tasks" else _HOW[what]
            raise InputError(f"{folder} has no {what}.parquet, which the figure {name} needs{how}")
    if not tables.keys() - _OF_ALL and names is None:
        raise InputError(f"{folder} has neither jobs.parquet nor tasks.parquet, which figures need")
    return tables


def figure_table(table: pd.DataFrame | Path, columns: tuple[str, ...]) -> pd.DataFrame:
    """Return the table of a figure; from a tasks.parquet only these ``columns`` are read, or all if empty."""
    return read_numbers(table, columns or TASKS.columns) if isinstance(table, Path) else table


def _of_part(
    view: FigureView, words: Callable[[], JobWords], jobs: str | None, cores: str | None, title: str
) -> FigureView:
    """The same view of a part of the run. ``words``: of its jobs. Raises InputError if a job or core is unknown."""
    from traces.figures.run.gantt import chosen_cores

    view = view._replace(
        jobs=None if jobs is None else words().intervals(jobs, str(PART_JOBS)),
        cores=None if cores is None else parse_intervals(cores, str(PART_CORES)),
        title=title,
    )
    chosen_cores(view.first_core, view.cores)
    return view


def _view(folder: Path, tables: Mapping[str, Any], jobs: str | None, cores: str | None, title: str) -> FigureView:
    view = _of_part(view_of_folder(folder), lambda: job_words(folder), jobs, cores, title)
    if "power" not in tables:
        return view
    path = folder / "jobs.parquet"
    ends = tables["jobs"] if "jobs" in tables else read_jobs(path) if path.is_file() else None
    until_ns = None if ends is None else int(ends["end_ns"].max())
    return view._replace(until_ns=until_ns)


def _chosen(frame: pd.DataFrame, view: FigureView) -> pd.DataFrame:
    # The rows of the chosen jobs.
    if view.jobs is None or "job_id" not in frame.columns:
        return frame
    return frame[within(frame["job_id"].to_numpy(), view.jobs)]


def draw_run_figure(
    folder: Path,
    name: str,
    output: Path,
    *,
    jobs: str | None = None,
    cores: str | None = None,
    title: str | None = None,
) -> Path:
    """Draw one figure of a result into a png, svg or pdf file; the default title has the options of the run. Raises
    InputError as :func:`draw_run_figures`."""
    from traces.figures.drawing.canvas import figure_format, save

    figure_format(output)  # before millions of tasks are read
    kind, tables = RUN_FIGURES[name], _tables(folder, [name])
    view = _view(folder, tables, jobs, cores, run_title(read_record(folder)) if title is None else title)
    return save(kind.draw(figure_table(tables[kind.needs], kind.columns), view), output)


def _method(name: str, about: str) -> Callable[..., Figure]:
    # A method that draws a figure of this name.
    def draw(
        self: Plots, *, jobs: str | None = None, cores: str | None = None, title: str = "", ax: Axes | None = None
    ) -> Figure:
        return self._drawn(name, jobs, cores, title, ax)

    draw.__name__, draw.__doc__ = name, about
    return draw


class Plots:
    """Figures of a result: each method returns a matplotlib figure, which a notebook shows and ``savefig`` writes.

    ``jobs`` and ``cores`` are numbers as ``1542-1546 1600``; without them all are drawn, as the figures of the utilisation,
    power and decisions always do. Cores are chosen for ``gantt``, ``heat`` and ``held``. ``title`` is written above. With
    ``ax``, axes made by ``plt.subplots``, the figure replaces these axes in their figure, and the returned sub-figure has the
    panels (``.axes``). Figures of tasks need their records (``keep_tasks``), and an application level. Raises InputError if
    there is nothing to draw.
    """

    def __init__(self, result: Result) -> None:
        self._result = result

    utilisation = _method("utilisation", "Used cores and waiting jobs over time, for all jobs.")
    waits = _method("waits", "Waits and bounded slowdowns of jobs.")
    imbalance = _method("imbalance", "The load imbalance of jobs.")
    held = _method("held", "Share of time in which jobs held cores.")
    heat = _method("heat", "Share of time in which cores computed tasks.")
    gantt = _method("gantt", "Gantt chart: cores as rows, tasks over time, jobs as colours.")
    chunks = _method("chunks", "The sizes of chunks.")
    lengths = _method("lengths", "The lengths of tasks.")
    power = _method("power", "Power of the machine, its limit, and the level or the hosts out of service over time.")
    decisions = _method("decisions", "Time of scheduling passes by number of waiting jobs (needs ``keep_decisions``).")

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(str(one_of("figure", name, RUN_FIGURES)))

    def _drawn(self, name: str, jobs: str | None, cores: str | None, title: str, ax: Axes | None) -> Figure:
        from traces.figures.drawing.for_paper import placed

        kind, result = RUN_FIGURES[name], self._result
        if jobs is not None and (kind.needs in _OF_ALL or name == "utilisation"):
            raise InputError(f"jobs: {shown(jobs)}; allowed: none, as the figure {name} always shows all")
        if cores is not None and name not in ("gantt", "heat", "held"):
            raise InputError(f"cores: {shown(cores)}; allowed: none, as the figure {name} has no cores")
        words = partial(JobWords.of, result.ledger.jobs.job_id, result.notes.names)
        view = _of_part(view_of_result(result), words, jobs, cores, title)
        table = {"power": "power_over_time", "jobs": "stored_jobs"}.get(kind.needs, kind.needs)
        with placed(ax):
            return kind.draw(getattr(result, table), view)
