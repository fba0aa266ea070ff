"""The commands ``figures``, ``metrics``, ``power``, ``story`` and ``report``, which show results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bls.options import FAIR_START, POWER, PUE, SIGNALS
from bridge.cli import INTERRUPTED
from bridge.options.bundles import bundled
from bridge.options.paper import PaperOptions
from bridge.standard_error import lined_up, put, put_text, say

if TYPE_CHECKING:
    from bridge.runs.afterwards import StoredRun


@bundled
def figures_command(
    *,
    results: Annotated[str, typer.Argument(metavar="DIR", help="Results of a run, a study or a grid.")],
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Name of a figure (docs/reference/figures.md); may be repeated; default: all that apply.",
        ),
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="DIR", help="Folder for the files; default: figures in DIR.")
    ] = None,
    form: Annotated[
        str, typer.Option("--format", metavar="FORMATS", help="File formats, separated by commas: png, svg, pdf.")
    ] = "svg,png",
    jobs: Annotated[
        str | None, typer.Option(metavar="NUMBERS", help="Only these jobs of a run, e.g. 1542-1546.")
    ] = None,
    cores: Annotated[
        str | None, typer.Option(metavar="NUMBERS", help="Only these cores of a run, e.g. 64-127.")
    ] = None,
    paper: PaperOptions,
) -> None:
    """Draw the figures of a run or a study, and write their captions; existing files are replaced."""
    from bridge.runs.directory import named_folder
    from bridge.runs.figures import draw_run_figures
    from bridge.studies.drawing import draw_study_figures
    from bridge.studies.study_record import RECORD
    from traces.base.errors import InputError, one_of
    from traces.figures.drawing.canvas import FORMATS

    folder = Path(results)
    formats = [word.strip() for word in form.split(",") if word.strip()]
    for word in formats:
        if word not in FORMATS:
            raise one_of("format", word, FORMATS, "--format")
    if not formats:
        raise InputError(f"--format: empty; allowed: {', '.join(FORMATS)}")
    target = None if out is None else named_folder(out)
    how = paper.asked()
    if (folder / RECORD).is_file():
        if jobs is not None or cores is not None:
            raise InputError(f"--jobs, --cores: {folder} is a study; allowed with the results of a run")
        drawn = draw_study_figures(folder, only or (), target, formats, paper=how)
    else:
        part = {"jobs": jobs, "cores": cores}
        drawn = draw_run_figures(folder, only or None, target or folder / "figures", formats, paper=how, **part)
    for path in drawn:
        put(path)


#: Where the values of single jobs are written.
_JOBS = typer.Option(
    "--jobs", metavar="FILE", help="Write the values of each job to a CSV file, or to a Parquet file (FILE.parquet)."
)


@bundled
def power_command(
    *,
    results: Annotated[str, typer.Argument(metavar="DIR", help="The output folder of a twolevel run with --power.")],
    output: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="FILE", help="Draw the power over time: a png, svg or pdf file."),
    ] = None,
    signals: Annotated[
        str | None,
        replace(
            SIGNALS, help="Compute costs and emissions of energy from this CSV file: from,price_per_kwh,g_co2e_per_kwh"
        ),
    ] = None,
    pue: Annotated[str | None, PUE] = None,
    jobs: Annotated[str | None, _JOBS] = None,
    paper: PaperOptions,
) -> None:
    """Show the energy and power of a run, and compute costs, emissions and the power of the facility."""
    from bls.power.words import METRICS, cost_rows
    from bridge.runs.afterwards import Afterwards, StoredRun
    from traces.base.errors import InputError

    run, afterwards = StoredRun(Path(results)), Afterwards.given(signals, pue)
    _check_jobs(jobs, signals is not None, "--signals")
    metrics, columns = afterwards.of(run)
    if output is None or metrics:
        known = {name: run.metrics[name] for name in METRICS if name in run.metrics}
        if not known:
            raise InputError(f"{results}: its power is not known; simulate again with {POWER}")
        put_text(lined_up([(name, _plain(value)) for name, value in (known | metrics).items()]) + "\n")
    for name, text in cost_rows(metrics):
        say(f"{name}: {text}")
    _write_jobs(jobs, run, columns)
    if output is not None:
        from bridge.runs.figures import draw_power

        with paper.drawing():
            put(draw_power(Path(results), Path(output)))


@bundled
def metrics_command(
    *,
    results: Annotated[str, typer.Argument(metavar="DIR", help="The output folder of a twolevel run.")],
    fair_start: Annotated[bool, FAIR_START] = False,
    jobs: Annotated[str | None, _JOBS] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the metrics as JSON.")] = False,
) -> None:
    """Print the metrics of a run, and compute fair start times. Times are in ns, energies in J, power in W."""
    from bridge.runs.afterwards import Afterwards, StoredRun

    run = StoredRun(Path(results))
    _check_jobs(jobs, fair_start, "--fair-start")
    metrics, columns = Afterwards(fair_start=fair_start).of(run)
    found = {**run.metrics, **metrics}
    if as_json:
        import json

        put_text(json.dumps(found) + "\n")
    else:
        put_text(lined_up([(name, _plain(value)) for name, value in found.items()]) + "\n")
    _write_jobs(jobs, run, columns)


def _plain(value: object) -> str:
    return "–" if value is None else str(value)


def _check_jobs(jobs: str | None, computed: bool, option: str) -> None:
    from traces.base.errors import InputError

    if jobs is not None and not computed:
        raise InputError(f"--jobs: without {option} there are no values of single jobs; add {option}")


def _write_jobs(path: str | None, run: StoredRun, columns: Mapping[str, Any]) -> None:
    # One row per row of jobs.parquet.
    if path is None:
        return
    from traces.base.written_file import write_text
    from traces.tables import rows_frame, write_rows

    named = {name: run.stored_jobs[name].to_numpy() for name in ("job_id", "attempt")} | dict(columns)
    if path.endswith(".parquet"):
        write_rows(named, Path(path))
    else:
        write_text(Path(path), rows_frame(named).to_csv(index=False))
    say(f"jobs: {path}")


def table_command(
    results: Annotated[
        list[str],
        typer.Argument(metavar="DIR...", help="A study (the --out of study or grid), or one or several runs."),
    ],
    metrics: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="Metrics separated by commas (docs/reference/metrics.md), e.g. makespan,mean_wait; default: the main ones.",
        ),
    ] = "",
    form: Annotated[str, typer.Option("--format", metavar="FORMAT", help="md, csv or latex.")] = "md",
    output: Annotated[
        str | None, typer.Option("--out", "-o", metavar="FILE", help="Write the table to FILE; default: stdout.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it exists.")] = False,
) -> None:
    """Print a table of metrics for a paper: one row per combination, means over seeds with 95 % confidence intervals."""
    from bridge.front.tables import table
    from bridge.runs.directory import check_file, fresh_file
    from traces.base.errors import one_of
    from traces.statistics.metric_table import FORMATS

    if form not in FORMATS:
        raise one_of("format", form, FORMATS, "--format")
    if output is not None:
        check_file(Path(output), force)
    text = table(results, metrics, format=form)
    if output is None:
        put_text(text)
        return
    with fresh_file(Path(output), force) as partial:
        partial.write_text(f"{text}\n", encoding="utf-8")
    put(output)


def story_command(
    results: Annotated[str, typer.Argument(metavar="DIR", help="Results of twolevel run.")],
    job: Annotated[
        str,
        typer.Argument(
            metavar="JOB", help="The job: its number in the workload, its name, or its Slurm ID, e.g. 900_2."
        ),
    ],
) -> None:
    """Print what happened to one job, one line per event: its submit, why it waited, its start and its end."""
    from bridge.runs.story import story_of_results

    put_text(story_of_results(Path(results), job))


#: Default name of the page, in the folder of the result.
_NAME = "report.html"

#: Exit code if the study has died.
_DIED = 1

#: Seconds between two loads of the page of a running study.
_LIVE_S = 5


def report_command(
    results: Annotated[str, typer.Argument(metavar="DIR", help="Results of a run, study, grid, comparison or replay.")],
    other: Annotated[
        str | None, typer.Argument(metavar="[DIR_B]", help="Another run, to report a comparison of both.")
    ] = None,
    output: Annotated[
        str | None, typer.Option("--out", "-o", metavar="FILE", help=f"The report; default: {_NAME} in DIR.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing FILE.")] = False,
    live: Annotated[bool, typer.Option("--live", help="Update the report of a running study until it ends.")] = False,
) -> None:
    """Write a report of a result: one HTML file for a browser, which needs no network."""
    from bridge.front.results import page_maker
    from bridge.runs.directory import check_file, fresh_file
    from bridge.studies.study_record import RECORD as STUDY
    from traces.base.errors import InputError

    folder = Path(results)
    if other is not None and output is None:
        raise InputError("-o: needed with two runs: say where their page goes, as -o page.html")
    target = folder / _NAME if output is None else Path(output)
    if live and not (folder / STUDY).is_file():
        raise InputError(f"--live: {folder} is no study; allowed with the --out of twolevel study or grid")
    make = page_maker(folder, None if other is None else Path(other))
    check_file(target, force)
    if live:
        _follow(folder, target, force=force)
        return
    page = make()
    with fresh_file(target, force) as partial:
        page.save(partial)
    for sentence in page.left_out:
        say(sentence)
    say(f"page: {target}")


def _follow(folder: Path, target: Path, *, force: bool) -> None:
    # The first page is made as any other; later ones replace it.
    from bridge.runs.directory import fresh_file
    from bridge.studies.page import state_of, study_page
    from bridge.studies.results import follow

    written = False

    def write(live_s: int = _LIVE_S) -> bool:
        nonlocal written
        state = state_of(folder)
        page = study_page(folder, state, 0 if state.finished else live_s)
        if written:
            page.save(target)
        else:
            with fresh_file(target, force) as partial:
                page.save(partial)
            say(f"page: {target}; it is updated until the study is done; Ctrl-C stops that and keeps the page")
            written = True
        return state.finished

    try:
        done = follow(folder, write) or write(0)  # which no longer loads itself
    except KeyboardInterrupt:
        if not written:
            raise
        say(f"twolevel: interrupted; {target} stays as it is, of a study under way")
        raise SystemExit(INTERRUPTED) from None
    if not done:
        say(f"twolevel: nobody is at work on {folder} any more; {target} shows what has ended of it")
        raise typer.Exit(_DIED)
    say("the study is done")
