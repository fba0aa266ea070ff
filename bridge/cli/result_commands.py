"""The commands ``figures``, ``power``, ``story`` and ``report``, which show results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bridge.cli import INTERRUPTED
from bridge.standard_error import put, put_text, say


def figures_command(
    results: Annotated[str, typer.Argument(metavar="DIR", help="The --out of a run, a study or a grid.")],
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A figure by name (docs/reference/figures.md); may be repeated; default: all there are.",
        ),
    ] = None,
    out: Annotated[
        str | None, typer.Option(metavar="DIR", help="Folder for the files; default: figures in DIR.")
    ] = None,
    form: Annotated[
        str, typer.Option("--format", metavar="FORMATS", help="png, svg, pdf, separated by commas.")
    ] = "svg,png",
    jobs: Annotated[
        str | None, typer.Option(metavar="NUMBERS", help="Of a run, only these jobs, as 1542-1546.")
    ] = None,
    cores: Annotated[str | None, typer.Option(metavar="NUMBERS", help="Of a run, only these cores, as 64-127.")] = None,
) -> None:
    """Draw the figures of a run or of a study from its tables; files of the same names are replaced."""
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
    if (folder / RECORD).is_file():
        if jobs is not None or cores is not None:
            raise InputError(f"--jobs, --cores: {folder} is a study; allowed with the results of a run")
        drawn = draw_study_figures(folder, only or (), target, formats)
    else:
        drawn = draw_run_figures(folder, only or None, target or folder / "figures", formats, jobs=jobs, cores=cores)
    for path in drawn:
        put(path)


def power_command(
    results: Annotated[str, typer.Argument(metavar="DIR", help="The --out of a twolevel run with --power.")],
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="A png, svg or pdf file.")],
) -> None:
    """Draw what the machine of a run has drawn over time, its limit, and the level or the hosts that were stopped."""
    from bridge.runs.figures import draw_power

    put(draw_power(Path(results), Path(output)))


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
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write the table to FILE; default: stdout.")
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
    results: Annotated[str, typer.Argument(metavar="DIR", help="The --out of a twolevel run.")],
    job: Annotated[
        str,
        typer.Argument(metavar="JOB", help="The job: its number in the workload, Slurm's name, as 900_2, or its name."),
    ],
) -> None:
    """Print what happened to one job, one line per event: when it came, why it waited, how it started, how it ended."""
    from bridge.runs.story import story_of_results

    put_text(story_of_results(Path(results), job))


#: The page's name where none is given, in the folder of the result.
_NAME = "report.html"

#: What the shell sees where the study has died.
_DIED = 1

#: A page of a study under way loads itself again every so many seconds.
_LIVE_S = 5


def report_command(
    results: Annotated[
        str, typer.Argument(metavar="DIR", help="The --out of a run, a study, a grid, a comparison or a replay.")
    ],
    other: Annotated[
        str | None, typer.Argument(metavar="[DIR_B]", help="Another run: the page is of both, compared.")
    ] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help=f"The page; default: {_NAME} in DIR.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE, if it is there.")] = False,
    live: Annotated[
        bool, typer.Option("--live", help="Of a study under way: write the page anew as it goes on, to its end.")
    ] = False,
) -> None:
    """Write the page of a result: one HTML file that needs no network, to be opened in a browser."""
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
            say(f"page: {target}; it is written anew until the study is done; Ctrl-C ends that, and leaves the page")
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
