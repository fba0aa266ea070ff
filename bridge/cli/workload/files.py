"""What the ``twolevel workload`` commands do with files: read, say what was read, write whole files, export results."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from bls.machine.platform import MAX_CORES, HostGroup, Platform
from bls.workloads import read_workload
from bls.workloads.columns import rejects_text
from bls.workloads.generators.accasim import machine_of
from bls.workloads.header import named_size
from bls.workloads.workload import Workload
from bridge.runs.directory import check_file, fresh_file, read_record
from bridge.runs.job_names import ids_of
from bridge.standard_error import say
from traces.base.errors import InputError, one_of, shown
from traces.base.time import parse_duration_ns
from traces.compiled import Array
from traces.intervals import parse_intervals
from traces.ledger import MachineShape

#: What a finished run can be written as, and the endings of such files.
EXPORTS: dict[str, tuple[str, ...]] = {"swf": (".swf", ".swf.gz"), "batsim": (".csv",)}

#: What a log may lose as SWF, by its name in ``unwritten``; further columns are called as in the log.
_LOST = {
    "qos": "QOS",
    "preset": "which jobs run at the start",
    "cancel_ns": "when jobs are cancelled",
    "names": "names of jobs",
}

#: SWF's statuses by name.
STATUSES = {"failed": 0, "completed": 1, "cancelled": 5, "unknown": -1}


def read(workload: str, form: str | None = None, *, cancelled: bool | None = False) -> Workload:
    """The workload that a user names: a file, or ``sample``; ``cancelled`` as of :func:`bls.workloads.read_workload`."""
    log = read_workload(workload, format=form, cancelled=cancelled)
    for remark in log.remarks:
        say(f"{workload}: {remark}")
    return log


def rejects_lines(log: Workload) -> list[str]:
    """The first rejected lines of each reason, a text line each: the reason, the line, the field that decides it, its word."""
    if not any(log.rejects.values()):
        return ["no rejects"]
    lines = []
    for reason, count in log.rejects.items():
        first = [one for one in log.rejected if one.reason == reason]
        if count:
            lines.append(f"{reason}: {count}" + (f", the first {len(first)}" if 0 < len(first) < count else ""))
            lines += [f"  {one.place}" for one in first]
    return lines


def machine_of_log(log: Workload) -> Platform:
    """The machine that a log is of, as far as its load goes: as many cores as its header says (``MaxProcs``), or else its
    widest job has."""
    wanted = machine_of(log, None).cores
    known = named_size(log.header)[0] == wanted
    name = "the log's machine" if known else "the widest job's width"
    return Platform((HostGroup(count=1, cores=min(wanted, MAX_CORES), speed_gflops=1.0),), name=name)


def checked_output(output: str, force: bool, form: str = "swf", where: str = "-o") -> Path:
    """The file that a user names for a result, refused before anything is done if it cannot be one.

    Raises
    ------
    InputError
        If it has another ending than such files have, or it cannot or must not be written.
    """
    endings = EXPORTS[form]
    target = Path(output)
    if not target.name.lower().endswith(endings):
        raise InputError(f"{where}: {shown(output)}; allowed: a name that ends in {' or '.join(endings)}")
    check_file(target, force, where)
    return target


def save(workload: Workload, target: Path, force: bool, say: Callable[[str], None], *, made: bool = False) -> None:
    """Write a workload as SWF, whole or not at all; what the format cannot hold is said, and of what it was read, if it was."""
    from bls.workloads.writers.swf import write_swf

    with fresh_file(target, force) as partial:
        lost = write_swf(workload, partial)
    rejects = (
        f"; rejected: {rejects_text(workload.rejects, workload.rejected)}" if any(workload.rejects.values()) else ""
    )
    read = "" if made else f" of {workload.n_lines} lines read{rejects}"
    say(f"workload: {len(workload)} jobs written{read}")
    _say_lost(lost, say)


def export_result(
    folder: Path, form: str, target: Path, force: bool, say: Callable[[str], None], log: Workload | None = None
) -> None:
    """Write a finished run as SWF or as Batsim's jobs.csv; how much it was, and what has no field there, is said.

    Parameters
    ----------
    folder : Path
        A result of ``twolevel run``.
    form : {"swf", "batsim"}
        A key of :data:`EXPORTS`.
    target : Path
        The file.
    force : bool
        Whether it may be replaced.
    say : callable
        Takes words for the user.
    log : Workload, optional
        The log that was simulated: for SWF, its users, groups, queues and comments go with the jobs.

    Raises
    ------
    InputError
        If the folder is no such result, the log is not its log, or the file cannot be written.
    """
    from bls.workloads.writers.swf import result_as_workload, write_swf
    from traces.exporters import exporter
    from traces.exporters.stored import stored_ledger
    from traces.tables import NAME, read_jobs

    if form not in EXPORTS:
        raise one_of("form of export", form, EXPORTS, "--format")
    if log is not None and form != "swf":
        raise InputError(f"--workload: the form {form} has no place for what a log knows; allowed with --format swf")
    machine = _machine(folder)
    frame = read_jobs(folder / "jobs.parquet")
    lost: tuple[str, ...] = ()
    with fresh_file(target, force) as partial:
        if log is not None:
            columns = {name: frame[name].to_numpy() for name in frame.columns}
            lost = write_swf(result_as_workload(columns, log), partial)
        else:
            try:
                columns = {name: frame[name].to_numpy() for name in frame.columns}
                ledger = replace(stored_ledger(columns, machine), ids=ids_of(read_record(folder), columns))
            except InputError as error:
                raise InputError(f"{folder / 'jobs.parquet'}: {error.text}") from None
            if form == "swf" and not ledger.ids and any(columns.get(NAME, ())):
                lost = ("names",)
            with tempfile.TemporaryDirectory(prefix=".export-", dir=partial.parent) as place:
                _put(exporter(form)(ledger, Path(place)), partial)
    say(f"{len(frame)} rows of jobs.parquet exported")
    _say_lost(lost, say)


def _say_lost(lost: tuple[str, ...], say: Callable[[str], None]) -> None:
    if lost:
        say(f"not written, as SWF has no field for it: {', '.join(_LOST.get(name, name) for name in lost)}")


def numbers(text: str | None, column: Array, where: str, names: dict[str, int] | None = None) -> list[int] | None:
    """The numbers of a column that a text such as ``3 5-9`` names; None for no text.

    Raises
    ------
    InputError
        If a part is neither a number, a range nor one of ``names``, or no job has such a number.
    """
    if text is None:
        return None
    known = {"unknown": -1} | (names or {})
    words = text.replace(",", " ").split()
    named = {known[word.lower()] for word in words if word.lower() in known}
    others = [word for word in words if word.lower() not in known]
    if names and not all(word[0].isdigit() for word in others):
        raise InputError(f"{where}: {shown(text)}; allowed: {', '.join(known)}, or numbers such as 0-5")
    intervals = parse_intervals(" ".join(others), where)
    present = np.unique(column).tolist()
    found = [number for number in present if number in named or any(lo <= number < hi for lo, hi in intervals)]
    if not found:
        raise InputError(f"{where}: no job has any of {shown(text)}; there are {_some(present)}")
    return found


def bounds(text: str | None, where: str, *, durations: bool = False) -> tuple[int | None, int | None]:
    """Least and greatest of a text such as ``8-64``, ``8-``, ``-64`` or ``8``; of durations, as ``10m-2h``, in ns.

    Raises
    ------
    InputError
        If it is none.
    """
    if text is None:
        return None, None
    low, dash, high = (part.strip() for part in text.partition("-"))
    if not low and not high:
        example = "10m-2h, 10m- or -2h" if durations else "8-64, 8- or -64"
        raise InputError(f"{where}: {shown(text)} is no range; allowed: as {example}")
    ends = [None if not part else _bound(part, where, durations) for part in (low, high)]
    return ends[0], ends[1] if dash else ends[0]


def _bound(part: str, where: str, durations: bool) -> int:
    if durations:
        return parse_duration_ns(part, where)
    if not (part.isascii() and part.isdigit() and len(part) <= 18):
        raise InputError(f"{where}: {shown(part)} is no whole number; allowed: as 8-64, 8- or -64")
    return int(part)


def _some(present: list[int]) -> str:
    texts = ["unknown" if number == -1 else str(number) for number in present]
    return " ".join(texts) if len(texts) <= 10 else f"{texts[0]} to {texts[-1]}"


def _machine(folder: Path) -> MachineShape:
    from bridge.runs.gantt import hosts

    first_core, host_names = hosts(folder)
    try:
        return MachineShape(str(read_record(folder)["platform"]["name"]), tuple(host_names), first_core)
    except (KeyError, TypeError):
        raise InputError(f"{folder / 'run.json'}: does not say which hosts the machine had") from None


def _put(written: Path, target: Path) -> None:
    if not target.name.endswith(".gz"):
        written.replace(target)
        return
    import gzip
    import shutil

    with written.open("rb") as plain, target.open("wb") as file, gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
        shutil.copyfileobj(plain, packed)
