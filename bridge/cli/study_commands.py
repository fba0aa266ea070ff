"""The commands of studies: ``study`` runs one of a file, ``grid`` is its short form, ``repeat`` runs one again and compares."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from als.options import ALS, VARIATION
from bls.engine.features.decisions.options import DECISIONS
from bls.options import BACKFILL, BLS
from bridge.cli import INTERRUPTED
from bridge.options import declared as d
from bridge.options.bundles import TakenOptions, argument, bundled, option, switch
from bridge.options.output import PaperOptions
from bridge.runs.directory import named_folder
from bridge.scenarios.scenario import Scenario
from bridge.standard_error import put_text, say
from traces.base.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from bridge.studies.executors.executor import Executor, WorkSummary
    from bridge.studies.preparing import Preparation
    from bridge.studies.run_study import Report
    from bridge.studies.study import Study

DataOption = Annotated[list[str] | None, d.DATA]
ClusterOption = Annotated[str | None, d.CLUSTER]
_OUT = replace(d.OUT, help="Folder for the results; an interrupted or extended study in it is continued")
_WORKERS = replace(d.CLUSTER_WORKERS, help="Number of processes; at most 1024 on this machine")
_FORCE = replace(d.FORCE, help="Start again and discard finished cells")


@bundled
def study_command(
    *,
    file: Annotated[str, argument("FILE", "A study in TOML (docs/reference/studies.md).")],
    out: Annotated[str, _OUT],
    data: DataOption = None,
    workers: Annotated[int | None, _WORKERS] = d.WORKERS.default,
    cluster: ClusterOption = None,
    figures: Annotated[bool, switch("--figures/--no-figures", "Draw the figures of the study.")] = True,
    paper: PaperOptions,
    force: Annotated[bool, _FORCE] = d.FORCE.default,
) -> None:
    """Run the unfinished cells of a study, for every seed; write its tables and figures."""
    from bridge.studies.input.study_file import load_study

    try:
        with paper.drawing():
            _run(load_study(file, data or ()), named_folder(out), workers, cluster, force=force, figures=figures)
    except InputError as error:
        # Errors found late, such as an unknown metric, name their table only.
        raise InputError(f"{file}: {error.text}" if error.text.startswith("[") else error.text) from None


def _run(study: Study, target: Path, workers: int | None, cluster: str | None, *, force: bool, figures: bool) -> None:
    from bridge.live.progress import StudyProgress
    from bridge.runs.kernels import prepare_run
    from bridge.studies.drawing import read_results
    from bridge.studies.preparing import settled
    from bridge.studies.run_study import run_study
    from traces.figures.study.combinations import seeds_matter

    prepare_run(applications=True)
    given, study = study, settled(study)
    if len(study.seeds) < len(given.seeds):
        say(f"nothing is random, so each cell runs once, with seed {study.seeds[0]}")
    executor = _executor(study, workers, cluster)
    try:
        with StudyProgress() as watch:
            report = run_study(study, target, executor, force=force, watch=watch, prepared=_say_prepared)
        results = read_results(target)
        seeded = not study.exact and (seeds_matter(results) or len(study.seeds) > 1)
        _say_report(report, study, seeded=seeded)
        _show_results(study, target, results, figures=figures, seeded=seeded)
    except KeyboardInterrupt:
        say(f"twolevel: interrupted; finished cells are kept in {target}; the same command continues")
        sys.exit(INTERRUPTED)  # everything has been reported
    if report.failed:
        raise typer.Exit(1)


def _executor(study: Study, workers: int | None, cluster: str | None) -> Callable[[WorkSummary], Executor]:
    if cluster is not None:
        from bridge.studies.executors.dask_cluster import cluster_executor

        return cluster_executor(cluster, study, workers)
    from bridge.studies.executors.local import local_executor

    return local_executor(workers)


def _say_prepared(preparation: Preparation) -> None:
    # Every line of a file is accounted for, also the rejected ones.
    from bls.workloads.columns import lines_text
    from bridge.scenarios.remarks import balance_words, log_words, time_limit_words
    from bridge.studies.replicates import replicates_words

    said: set[str] = set()
    for replications in preparation.replications().values():
        if words := replicates_words(preparation.study.replicates, replications):
            say(f"workload {Path(replications[0].source).name}: {words}")
    for place, machine_words in preparation.words.items():
        ready = preparation.prepared[place]
        jobs = ready.workload
        windows = bool(preparation.study.replicates.length_ns)
        first = f"window {preparation.study.seeds[0]}: " * windows
        lines = lines_text(jobs.n_lines, jobs.rejects, jobs.rejected)
        selected = f"{first}{jobs.selected_text} for {ready.platform.n_cores} cores"
        say(f"workload {Path(jobs.source).name}: {selected}; {lines}")
        options = preparation.options.get(place, ())
        window = "" if windows else jobs.window_words
        of_log = log_words(jobs, ready.platform, options)
        of_options = (time_limit_words(jobs, options), balance_words(options))
        for words in (window, *jobs.remarks, *machine_words, *of_log, *of_options):
            if words and words not in said:
                say(words)
                said.add(words)


def _say_report(report: Report, study: Study, *, seeded: bool) -> None:
    kept = f", {report.kept:,} of them finished before" if report.kept else ""
    some = list(map(str, study.seeds))
    seeds = " ".join(some if len(some) <= 12 else [*some[:5], "…", some[-1]])
    which = f" ({len(study.cells):,} × {study.replicates.unit}{'s' * (len(some) > 1)} {seeds})" if seeded else ""
    say(f"{report.total:,} cell{'s' * (report.total > 1)}{which}{kept}")
    if report.others:
        say(f"{report.others:,} more finished cells are no longer part of this study; its tables omit them")
    if report.failed:
        say(f"{report.failed:,} failed; results.parquet has the reasons. The first:")
        for error in report.errors:
            say(f"  {error}")
        say("the same command tries them again")


def _show_results(study: Study, target: Path, results: pd.DataFrame, *, figures: bool, seeded: bool) -> None:
    from bridge.studies.drawing import draw_study_figures
    from bridge.studies.results import compare_study, why_no_comparison
    from bridge.studies.summary import study_text

    comparisons = compare_study(study, results, target)
    put_text(study_text(study, results, comparisons))
    if (why := why_no_comparison(study)) and (seeded or study.comparisons):
        say(why)
    if figures:
        drawn = draw_study_figures(target, study=study)
        say(f"figures: {target / 'figures'} ({len(drawn)} files)")
    say(f"results: {target / 'results.parquet'}")


#: Options that all cells of a grid share, without its lists and without options that a study replaces.
OF_CELLS = TakenOptions(
    without=(d.WORKLOAD, BLS, ALS, VARIATION, DECISIONS, "execution"),
    instead=(replace(BACKFILL, help=f"{BACKFILL.help}; several are separated by commas"),),
    raw_of=Scenario,
)


@bundled
def grid_command(
    *,
    workload: Annotated[str, d.WORKLOAD],
    out: Annotated[str, _OUT],
    bls: Annotated[str, d.POLICIES] = d.POLICIES.default,
    als: Annotated[str, d.TECHNIQUES] = d.TECHNIQUES.default,
    variation: Annotated[str | None, d.VARIATIONS] = None,
    seeds: Annotated[
        str | None, option("SEEDS", "Number of seeds, or a list, e.g. '0-4 9'; default: only --seed.")
    ] = None,
    replicate: Annotated[str | None, d.REPLICATE] = d.REPLICATE.default,
    warmup: Annotated[str | None, d.WARMUP] = d.WARMUP.default,
    shake: Annotated[str | None, d.SHAKE] = d.SHAKE.default,
    shared: Annotated[Mapping[str, Any], OF_CELLS],
    workers: Annotated[int | None, replace(d.WORKERS, first=True)] = d.WORKERS.default,
    paper: PaperOptions,
    force: Annotated[bool, _FORCE] = d.FORCE.default,
) -> None:
    """Simulate every combination of policies, techniques and variations; write their tables and figures."""
    from bridge.studies.input.study_file import grid_text, parse_study

    text = grid_text(workload, bls, als, variation, seeds, shared, replicate, warmup, shake)
    study = parse_study(text, [Path.cwd()], "grid", "--{}")
    with paper.drawing():
        _run(study, named_folder(out), workers, None, force=force, figures=True)


@bundled
def repeat_command(
    *,
    results: Annotated[str, argument("DIR", "Results of a study or a grid.")],
    out: Annotated[
        str | None, option("DIR", "Keep the results of the repetition in this folder.", "--out", "-o")
    ] = None,
    data: DataOption = None,
    workers: Annotated[int | None, _WORKERS] = d.WORKERS.default,
    cluster: ClusterOption = None,
) -> None:
    """Run a finished study again, and compare every number."""
    from bridge.live.progress import StudyProgress
    from bridge.runs.kernels import prepare_run
    from bridge.studies.run_study import repeat_study

    prepare_run(applications=True)
    with StudyProgress() as watch:
        found = repeat_study(
            Path(results),
            None if out is None else named_folder(out),
            lambda study: _executor(study, workers, cluster),
            data=tuple(Path(one) for one in data or ()),
            watch=watch,
        )
    put_text(found.text())
    if not found.equal:
        raise typer.Exit(1)
