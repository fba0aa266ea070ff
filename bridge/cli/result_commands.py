"""The commands ``figures``, ``power``, ``story`` and ``report``, which show results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli import INTERRUPTED
from bridge.standard_error import put, put_text, say

if TYPE_CHECKING:
    from bridge.report.page import Page


def figures_command(
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
) -> None:
    """Draw the figures of a run or a study from its tables; existing files are replaced."""
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
    results: Annotated[str, typer.Argument(metavar="DIR", help="Results of twolevel run --power.")],
    output: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="The figure: a png, svg or pdf file.")],
) -> None:
    """Plot the power of a run over time, its limit, and the speed level or the stopped hosts."""
    from bridge.runs.figures import draw_power

    put(draw_power(Path(results), Path(output)))


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
    from bridge.runs.directory import check_file, fresh_file
    from traces.base.errors import InputError

    folder = Path(results)
    if other is not None and output is None:
        raise InputError("-o: needed with two runs: say where their page goes, as -o page.html")
    target = folder / _NAME if output is None else Path(output)
    make = _maker(folder, None if other is None else Path(other), live=live)
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


def _maker(folder: Path, other: Path | None, *, live: bool) -> Callable[[], Page]:
    # What makes the page of a folder, by the record that is in it.
    from bridge.compare.page import RECORD as COMPARISON
    from bridge.compare.page import comparison_page, page_of_two
    from bridge.runs.directory import read_record
    from bridge.runs.page import run_page
    from bridge.studies.page import study_page
    from bridge.studies.study_record import RECORD as STUDY
    from traces.base.errors import InputError
    from traces.base.given_file import near_files

    is_study = (folder / STUDY).is_file()
    if live and not is_study:
        raise InputError(f"--live: {folder} is no study; allowed with the --out of twolevel study or grid")
    if other is not None:
        return lambda: page_of_two(folder, other)
    if is_study:
        return lambda: study_page(folder)
    if (folder / COMPARISON).is_file():
        return lambda: comparison_page(folder)
    if (folder / "run.json").is_file():
        if "replay" not in read_record(folder):
            return lambda: run_page(folder)
        from bridge.replay.report.page import replay_page

        return lambda: replay_page(folder)
    if not folder.exists():
        raise InputError(f"{folder}: there is no such folder{near_files(folder)}")
    if not folder.is_dir():
        raise InputError(
            f"{folder} is a file; allowed: the folder that twolevel run, study, grid, compare or replay has written"
        )
    raise InputError(
        f"{folder} is no result of twolevel: it has none of run.json, {STUDY}, {COMPARISON}; allowed: the --out of run, study, "
        "grid, compare or replay"
    )


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
