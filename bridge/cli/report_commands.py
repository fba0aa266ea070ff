"""The command ``report``: a result as one HTML file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli import INTERRUPTED
from bridge.standard_error import say

if TYPE_CHECKING:
    from bridge.report.page import Page

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
    from bridge.studies.under_way import follow

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
