"""The commands that show results, a run in progress, or a platform."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from bls.options import FAIR_START, GPU_FRAGMENTATION, POWER, SIGNALS
from bridge.cli import INTERRUPTED
from bridge.options import declared
from bridge.options.bundles import AS_JSON, REPLACE_FILE, RUN, TakenOptions, argument, bundled, option, switch
from bridge.options.output import PaperOptions
from bridge.runs.afterwards import OF_POWER, QUANTITIES, Afterwards, StoredRun, computed_rows
from bridge.runs.directory import check_file, fresh_file, named_folder
from bridge.standard_error import lined_up, put, put_text, say
from traces.base.errors import InputError, one_of, parse_list
from traces.base.written_file import write_text


@bundled
def figures_command(
    *,
    results: Annotated[str, argument("DIR", "Results of a run, a study or a grid.")],
    only: Annotated[list[str] | None, declared.ONLY] = None,
    out: Annotated[str | None, option("DIR", "Folder for the files; default: figures in DIR.", "--out", "-o")] = None,
    form: Annotated[
        str, option("FORMATS", "File formats, separated by commas: png, svg, pdf.", "--format")
    ] = "svg,png",
    jobs: Annotated[str | None, option("NUMBERS", "Only these jobs of a run, e.g. 1542-1546.")] = None,
    cores: Annotated[str | None, option("NUMBERS", "Only these cores of a run, e.g. 64-127.")] = None,
    paper: PaperOptions,
) -> None:
    """Draw the figures of a run or a study, and write their captions; existing files are replaced."""
    from bridge.runs.figures import draw_run_figures
    from bridge.studies.drawing import draw_study_figures
    from bridge.studies.study_record import RECORD
    from traces.figures.drawing.canvas import FORMATS

    folder = Path(results)
    formats = parse_list(form, "--format")
    for word in formats:
        if word not in FORMATS:
            raise one_of("format", word, FORMATS, "--format")
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


#: The option for the values of single jobs, which ``{}`` computes.
_JOBS = "Write the values of each job to a CSV file, or to a Parquet file (FILE.parquet); needs {}."


@bundled
def power_command(
    *,
    results: Annotated[str, argument("DIR", "Results of twolevel run --power.")],
    output: Annotated[
        str | None, option("FILE", "Draw the power over time: a png, svg or pdf file.", "--out", "-o")
    ] = None,
    of_power: Annotated[Mapping[str, Any], TakenOptions(these=OF_POWER)],
    jobs: Annotated[str | None, option("FILE", _JOBS.format("--signals"))] = None,
    paper: PaperOptions,
) -> None:
    """Show the energy and power of a run, and compute costs, emissions and the power of the facility."""
    from bls.power.words import METRICS

    run, afterwards = StoredRun(Path(results)), Afterwards.given(of_power)
    _check_jobs(jobs, SIGNALS.name in afterwards.asked, "--signals")
    metrics, columns = afterwards.of(run)
    if output is None or metrics:
        # Older records have costs, too.
        names = (*METRICS, *(name for one in OF_POWER for name in QUANTITIES[one.name].metrics))
        known = {name: run.metrics[name] for name in names if name in run.metrics}
        if not known:
            raise InputError(f"{results}: its power is not known; simulate again with {POWER:held}")
        metrics = known | metrics
        _put_metrics(metrics)
    for name, text in computed_rows(metrics):
        say(f"{name}: {text}")
    _write_jobs(jobs, run, columns)
    if output is not None:
        from bridge.runs.figures import draw_run_figure

        with paper.drawing():
            put(draw_run_figure(Path(results), "power", Path(output)))


@bundled
def metrics_command(
    *,
    results: RUN,
    fair_start: Annotated[bool, FAIR_START] = False,
    gpu_fragmentation: Annotated[bool, GPU_FRAGMENTATION] = False,
    jobs: Annotated[str | None, option("FILE", _JOBS.format("--fair-start"))] = None,
    as_json: AS_JSON = False,
) -> None:
    """Print the metrics of a run, and compute fair start times. Times are in ns, energies in J, power in W."""
    run = StoredRun(Path(results))
    _check_jobs(jobs, fair_start, "--fair-start")
    asked = {FAIR_START.name: fair_start, GPU_FRAGMENTATION.name: gpu_fragmentation}
    metrics, columns = Afterwards.given(asked).of(run)
    found = {**run.metrics, **metrics}
    if as_json:
        put_text(json.dumps(found) + "\n")
    else:
        _put_metrics(found)
    _write_jobs(jobs, run, columns)


def _put_metrics(values: Mapping[str, object]) -> None:
    put_text(lined_up([(name, "–" if value is None else str(value)) for name, value in values.items()]) + "\n")


def _check_jobs(jobs: str | None, computed: bool, option: str) -> None:
    if jobs is not None and not computed:
        raise InputError(f"--jobs: without {option} there are no values of single jobs; add {option}")


def _write_jobs(path: str | None, run: StoredRun, columns: Mapping[str, Any]) -> None:
    # One row per row of jobs.parquet.
    if path is None:
        return
    from traces.tables import rows_frame, write_rows

    named = {name: run.stored_jobs[name].to_numpy() for name in ("job_id", "attempt")} | dict(columns)
    if path.endswith(".parquet"):
        write_rows(named, Path(path))
    else:
        write_text(Path(path), rows_frame(named).to_csv(index=False))
    say(f"jobs: {path}")


def table_command(
    results: Annotated[list[str], argument("DIR...", "Results of a study or a grid, or of one or several runs.")],
    metrics: Annotated[
        str | None,
        option(
            "NAMES",
            "Metrics separated by commas (docs/reference/metrics.md), e.g. makespan,mean_wait; default: the main ones.",
        ),
    ] = None,
    form: Annotated[str, option("FORMAT", "md, csv or latex.", "--format")] = "md",
    output: Annotated[str | None, option("FILE", "Write the table to FILE; default: stdout.", "--out", "-o")] = None,
    force: REPLACE_FILE = False,
) -> None:
    """Print a table of metrics for a paper: one row per combination, means over seeds with 95 % confidence intervals."""
    from bridge.front.tables import table
    from traces.statistics.metric_table import FORMATS

    if form not in FORMATS:
        raise one_of("format", form, FORMATS, "--format")
    if output is not None:
        check_file(Path(output), force)
    text = table(results, () if metrics is None else metrics, format=form)
    if output is None:
        put_text(text)
        return
    with fresh_file(Path(output), force) as partial:
        partial.write_text(f"{text}\n", encoding="utf-8")
    put(output)


def story_command(
    results: RUN,
    job: Annotated[str, argument("JOB", "The job: its number in the workload, its name, or its Slurm ID, e.g. 900_2.")],
) -> None:
    """Print what happened to one job, one line per event: its submit, why it waited, its start and its end."""
    from bridge.runs.story import story_of_results

    put_text(story_of_results(Path(results), job))


_NAME = "report.html"  #: default name of the page, in the folder of the result
_DIED = 1  #: exit code if the study has died
_LIVE_S = 5  #: seconds between two loads of the page of a running study


def report_command(
    results: Annotated[str, argument("DIR", "Results of a run, study, grid, comparison or replay.")],
    other: Annotated[str | None, argument("DIR_B", "Another run, to report a comparison of both.")] = None,
    output: Annotated[str | None, option("FILE", f"The report; default: {_NAME} in DIR.", "--out", "-o")] = None,
    force: REPLACE_FILE = False,
    live: Annotated[bool, switch("--live", "Update the report of a running study until it ends.")] = False,
) -> None:
    """Write a report of a result: one HTML file, which a browser opens without a network."""
    from bridge.front.results import page_maker
    from bridge.studies.study_record import RECORD as STUDY

    folder = Path(results)
    if other is not None and output is None:
        raise InputError("-o: needed with two runs, e.g. -o page.html")
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
    # The first page is made like any other; later pages replace it.
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
        done = follow(folder, write) or write(0)  # the final page does not reload itself
    except KeyboardInterrupt:
        if not written:
            raise
        say(f"twolevel: interrupted; {target} shows the study in progress")
        raise SystemExit(INTERRUPTED) from None
    if not done:
        say(f"twolevel: the study in {folder} has stopped; {target} shows its finished cells")
        raise typer.Exit(_DIED)
    say("the study is done")


def watch_command(
    results: Annotated[str, argument("DIR", "Results (--out) of twolevel run.")],
    once: Annotated[bool, switch("--once", "Print the state once and exit.")] = False,
    as_json: Annotated[bool, switch("--json", "Print each state as one line of JSON.")] = False,
) -> None:
    """Show the progress of a run from another terminal: clock, queue, utilisation, map of the hosts."""
    from bridge.live.watch import watch_run

    raise typer.Exit(watch_run(Path(results), once=once, as_json=as_json))


@bundled
def platform_command(
    *,
    like: Annotated[
        str | None,
        option("WORKLOAD", "The machine that this workload names; or demand-response; default: the two-level paper's."),
    ] = None,
) -> None:
    """Print a platform in TOML, as a starting point for your own."""
    from bls.constraints.gpu_requests import with_gpus_of_log
    from bls.machine.platform import PUBLISHED
    from bls.workloads import read_workload
    from bridge.scenarios.scenario import platform_for

    name = "paper" if like is None else like
    log = None if name in PUBLISHED else read_workload(name)
    if log is None:
        machine = PUBLISHED[name]()
    else:
        machine = with_gpus_of_log(platform_for("log", log, replayed=True, option="--like"), log)
    print(machine.to_toml(), end="")


@bundled
def gantt_command(
    *,
    results: Annotated[str, argument("DIR", "Results of twolevel run --tasks.")],
    output: Annotated[str, option("FILE", "The figure: a png, svg or pdf file.", "--out", "-o")],
    jobs: Annotated[str | None, option("NUMBERS", "Job numbers, e.g. 1542-1546; default: all.")] = None,
    cores: Annotated[str | None, option("NUMBERS", "Cores, e.g. 64-127; default: all.")] = None,
    title: Annotated[str | None, option("TEXT", "Title of the chart; default: workload, policy × technique.")] = None,
    paper: PaperOptions,
) -> None:
    """Draw the tasks of a run: one row per core, one colour per job; white is idle, or held by jobs that are not selected."""
    from bridge.runs.figures import draw_run_figure

    if title is not None and paper.no_title:
        raise InputError("--title: not with --no-title")
    with paper.drawing():
        put(draw_run_figure(Path(results), "gantt", Path(output), jobs=jobs, cores=cores, title=title))
