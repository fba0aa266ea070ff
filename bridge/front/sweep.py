"""Sweeps and studies in one call, run in several processes with their progress shown."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bls.workloads.workload import Workload
from bridge.scenarios.scenario import RECORDED, Machine, Scenario
from bridge.studies.executors.local import local_executor
from bridge.studies.grid import Grid, GridRows, run_grid
from bridge.studies.study import Study, seeds_of
from traces.base.errors import InputError
from traces.base.options import by_keyword
from traces.base.retired import unknown

if TYPE_CHECKING:
    from bls.machine.platform import Platform
    from bridge.studies.run_study import Report

#: Options that are the axes of every grid; others vary by their keywords.
_AXES = ("bls", "als", "variation", "backfill")
_LISTS = frozenset(("limits", "speeds"))  #: options whose values are lists; a list of lists varies them


def sweep(
    workload: Workload | str | Path | Scenario,
    platform: Platform | str | Path | None = None,
    *,
    seeds: int | str | Sequence[int] | None = None,
    workers: int | None = None,
    progress: bool = True,
    replicate: str | None = None,
    warmup: str | None = None,
    shake: str | None = None,
    **options: Any,
) -> GridRows:
    """Simulate every combination of the options that have several values, for every seed.

    Parameters
    ----------
    workload : Workload, str, Path or Scenario
        As in ``twolevel.simulate``; a scenario gives the options that do not vary.
    platform : Platform, str or Path, optional
        As in ``twolevel.simulate``.
    seeds : int, str or sequence of int, optional
        Their number (from 0 on), or the seeds themselves, as ``"0-4 9"``; default: the scenario's seed.
    workers : int, optional
        Number of processes; default one per processor. Objects (policies, techniques, allocators) run in this process, one
        after another; the same classes given as ``FILE.py:NAME`` run in parallel.
    progress : bool
        Whether to show the progress on stderr.
    replicate, warmup, shake : str, optional
        As in :func:`bridge.run_grid`.
    **options
        Options by keyword, as in ``twolevel.simulate``. A list (or a range) varies the option over its values:
        ``bls=["fcfs", "sjf"]``, ``tasks_per_core=[1, 8]``. ``limits`` and ``speeds``, which are lists, vary over a list of
        lists.

    Returns
    -------
    GridRows
        One row per combination and seed with all metrics: a list of dicts, with ``frame`` (a DataFrame), ``report()`` and
        ``plot``. A notebook shows it as a table.

    Raises
    ------
    TwolevelError
        If there is no such option, or an option or a cell cannot be used.

    Examples
    --------
    >>> from bls.workloads.workload import Workload
    >>> jobs = Workload.from_jobs([(1, 0, 60, 256, 60), (2, 5, 30, 1, 60)])
    >>> rows = sweep(jobs, bls=["fcfs", "sjf"], als="gss", seeds=2, progress=False)
    >>> [(row["bls"], row["seed"]) for row in rows]
    [('fcfs', 0), ('fcfs', 1), ('sjf', 0), ('sjf', 1)]
    """
    varied = {name: tuple(value) for name, value in options.items() if isinstance(value, list | range)}
    for name in _LISTS & varied.keys():
        if not all(isinstance(one, list) for one in varied[name]):  # one value of an option that is a list itself
            del varied[name]
    fixed = {name: value for name, value in options.items() if name not in varied}
    known = by_keyword(Scenario)
    for name in varied:
        if name not in known:
            raise unknown("option", name, known, "")
    if isinstance(workload, Scenario):
        scenario = workload.with_options(**fixed)
    else:
        scenario = Scenario.flat(workload=workload, **fixed)
    batch, application = scenario.batch, scenario.application
    now = (batch.policy, application.technique, application.variation, batch.backfill)
    axes = {name: varied.pop(name, (value,)) for name, value in zip(_AXES, now, strict=True)}
    chosen = () if seeds is None else seeds_of(list(seeds) if isinstance(seeds, range) else seeds, "seeds")
    if scenario.workload.source is None:
        raise InputError("workload: None; allowed: a workload, or the name of one")
    if isinstance(platform, list | range):
        raise InputError("platform: several values; allowed: one, the same for all cells of a grid")
    if platform is not None:
        scenario = replace(scenario, machine=Machine(platform))
    jobs: Any = scenario.workload.source
    machine = scenario.machine.platform
    if isinstance(jobs, Workload):  # select and fit as simulate does; run_grid takes an object as it is
        replayed = axes["als"] == (RECORDED,)
        jobs, machine = scenario.jobs(jobs, replayed=replayed)
    grid = Grid(axes["bls"], axes["als"], axes["variation"], scenario, axes["backfill"], chosen, varied)
    return run_grid(
        jobs, machine, grid, workers=workers, progress=progress, replicate=replicate, warmup=warmup, shake=shake
    )


def study(
    file: Study | str | Path,
    out: str | Path,
    *,
    data: Sequence[str | Path] = (),
    workers: int | None = None,
    force: bool = False,
    progress: bool = True,
) -> Report:
    """Run a study, as ``twolevel study`` does: skip finished cells, then write its tables and comparisons.

    Parameters
    ----------
    file : Study, str or Path
        The study, or its TOML file (docs/reference/studies.md).
    out : str or Path
        Folder for the results; an interrupted study continues there.
    data : sequence of str or Path
        Further folders in which its files are searched.
    workers : int, optional
        Number of processes; default one per processor.
    force : bool
        Whether to discard finished cells.
    progress : bool
        Whether to show the progress on stderr.

    Returns
    -------
    Report
        With ``results`` (a DataFrame), ``plot`` and ``report()``.

    Raises
    ------
    InputError
        If the study cannot be run.
    """
    from bridge.live.progress import StudyProgress
    from bridge.studies.input.study_file import load_study
    from bridge.studies.results import compare_study
    from bridge.studies.run_study import run_study

    given = file if isinstance(file, Study) else load_study(file, tuple(map(str, data)))
    with StudyProgress() if progress else nullcontext() as watch:
        report = run_study(given, out, local_executor(workers), force=force, watch=watch)
    if report.study is not None and report.folder is not None:
        compare_study(report.study, report.results, report.folder)
    return report
