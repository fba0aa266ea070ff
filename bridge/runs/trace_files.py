"""Traces of results that were written before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bridge.options.declared import OUT, PART_DETAIL, PART_FORMATS, PART_WINDOW
from bridge.runs.directory import check_place, made_beside, named_folder, unusable
from bridge.runs.gantt import hosts
from bridge.runs.stored_trace import ARCHIVE, ledger_of_results
from bridge.runs.tracing import TraceRequest, formats_of
from traces.base.errors import InputError
from traces.base.options import PART_CORES
from traces.base.time import MAX_NS, format_ns
from traces.exporters.shown.cut import Excerpt
from traces.ledger import MachineShape


def write_part(
    folder: Path, out: str, formats: str, detail: str, part: Excerpt, say: Callable[[str], None]
) -> list[Path]:
    """Write a part of a result as traces into a new folder; returned are the files that viewers are to open.

    ``say`` is called with a line for the user if there is something to say. Raises InputError if an option cannot be,
    the folder is no result of a run, nothing of it is in the part, or the new one exists.
    """
    target = named_folder(out)
    request = TraceRequest(formats_of(formats, str(PART_FORMATS)), PART_DETAIL.check(detail), part)
    request.check(str(PART_FORMATS))
    try:
        if target.exists() or target.is_symlink():
            raise InputError(f"{OUT}: {target} exists; choose another folder")
    except OSError as error:
        raise unusable(target, str(OUT), error) from None
    check_place(target, str(OUT))
    _refuse_archive(folder)
    first_core, names = hosts(folder)
    machine = MachineShape("", tuple(names), first_core)
    ledger = ledger_of_results(folder, tasks=request.needs_tasks(machine))
    if line := request.note(machine, f"add {PART_DETAIL:task} for all cores, trace cut {PART_CORES} for some"):
        say(line)
    last_ns = int(ledger.jobs.end_ns.max(initial=0))
    if part.window_ns is not None and last_ns < part.window_ns[1] < MAX_NS:
        say(f"{PART_WINDOW}: the run ends before the window does, after {format_ns(last_ns)}")
    with made_beside(target, str(OUT)) as partial:
        written = [path.relative_to(partial) for path in request.write(ledger, partial)]
        partial.chmod(0o777 & ~_umask())
        partial.rename(target)
    return [target / path for path in written]


def _refuse_archive(folder: Path) -> None:
    # An archive does not say which cores a job held, nor what was asked of a run; its folder's tables do.
    anchor = folder if folder.suffix == ".otf2" else folder / ARCHIVE.name
    if anchor.is_file() and not (folder / "run.json").is_file():
        run = anchor.parent.parent
        named = f", as {run}" if (run / "run.json").is_file() else ""
        raise InputError(f"{folder} is an OTF2 archive; allowed: the folder that twolevel run has written{named}")


def _umask() -> int:
    import os

    mask = os.umask(0o077)
    os.umask(mask)
    return mask
