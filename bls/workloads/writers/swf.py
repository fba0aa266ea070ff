"""Writes a workload in the Standard Workload Format, and makes a workload of a finished run.

Reading the file gives the same jobs; docs/reference/workloads.md describes its fields. A job that was cancelled before its
start (``Workload.run_unknown``) has the run time -1, and the wait after which the user cancelled it; a reader with
``cancelled=True`` reads it again. :func:`unwritten` names the columns that have no place in the format.
"""

import gzip
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import numpy as np

from bls.workloads.columns import BEGIN, OPTIONAL
from bls.workloads.header import NAMED_FIELD, moved_header, without_job_names
from bls.workloads.workload import NO_RUN_TIME, Workload
from traces.base.errors import InputError, shown
from traces.base.written_file import whole_file
from traces.compiled import Array
from traces.exporters.swf_lines import STATUS, job_comments, swf_lines
from traces.ledger import STATES

MAX_EXTRAS = 3  #: largest number of extra columns that are written: a line has up to 21 fields
_FIRST_EXTRA = 19
_PRECEDING = 17
_BY_NUMBER = re.compile(r"field(19|20|21)")
_ZLIB_LEVEL = 6


def write_swf(
    workload: Workload, target: str | os.PathLike[str] | BinaryIO, *, header: Iterable[str] = ()
) -> tuple[str, ...]:
    """Write a workload as SWF to a path or a file; return :func:`unwritten`.

    A path that ends in ``.gz`` is gzipped (equal workloads give equal bytes); a file is not closed. ``header``: further
    comments, after the workload's own; lines without ``;`` get one. Raises InputError if the file cannot be written, or a
    comment has more than one line.
    """
    further = _further(workload)
    lines = chain(_comments(workload, header, list(further)), job_comments(workload.ids, workload.job_id.tolist()))
    lists = _lists(workload)
    with _opened(target) as file:
        for line in lines:
            # "?" for anything that is not a character: half of a pair in a JSON's text, a byte of a file's name.
            file.write(f"{line}\n".encode(errors="replace"))
        for block in swf_lines(_columns(workload), list(further.values())):
            file.write(_with_lists(block, lists) if lists else block)
    return unwritten(workload)


def unwritten(workload: Workload) -> tuple[str, ...]:
    """The columns with facts for which SWF has no field: of these four, and extra columns beyond the third."""
    lost = {
        "qos": workload.qos != OPTIONAL["qos"],
        "preset": workload.preset != OPTIONAL["preset"],
        "cancel_ns": (workload.cancel_ns >= 0) & ~workload.run_unknown,
        "names": len(workload.names) > 0,
    }
    return (*(name for name, rows in lost.items() if np.any(rows)), *list(_all_further(workload))[MAX_EXTRAS:])


def result_as_workload(jobs: Mapping[str, Array], workload: Workload) -> Workload:
    """A finished run as a workload: its jobs with the waits, run times and ends of the run.

    - ``jobs``: the columns of the run's table of jobs (``traces.tables.JOB_COLUMNS``): ``job_id``, ``submit_ns``, ``start_ns``,
      ``end_ns``, ``cores``, ``estimate_ns`` and ``state`` are read. For a job that was requeued the last attempt counts; its
      wait is the time from its submit to that attempt's start.
    - ``workload``: the simulated workload, or the whole log from which it was selected. If the run's time 0 differs from the
      log's, the ``UnixStartTime`` of the header moves with it.

    The status is 1 for completed jobs, 5 for cancelled ones, 0 for killed or failed ones. A job that never started because its
    user cancelled it stays such a job (``Workload.run_unknown``). Jobs with a run time of 0 are counted as rejects. Raises
    InputError if a job of the run is not in the workload or has another submit there, or no job ran.
    """
    row_of = {number: row for row, number in enumerate(workload.job_id.tolist())}
    last = {number: row for row, number in enumerate(np.asarray(jobs["job_id"]).tolist())}
    foreign = [number for number in last if number not in row_of]
    if foreign:
        raise InputError(f"job {foreign[0]} of the run is not in {workload.source}")
    ran = np.fromiter(last.values(), np.int64, len(last))
    known = np.array([row_of[number] for number in last], np.int64)
    submit, start, end = (np.asarray(jobs[name], np.int64)[ran] for name in ("submit_ns", "start_ns", "end_ns"))
    started = start >= 0
    offsets = workload.submit_ns[known] - submit
    offset_ns = int(offsets.max())
    if np.any((offsets != offset_ns) & (submit > 0)):  # equal for all jobs except those running at time 0
        raise InputError(f"{workload.source}: submits its jobs at other times than the run: is it the log of the run?")
    # A job cancelled before its start is written as in a log.
    cancel = np.where(started | (workload.cancel_ns[known] < 0), -1, workload.cancel_ns[known] - offset_ns)
    kept = np.where(started, end > start, cancel >= submit)
    run = np.where(started, end - start, 1)
    states = [state if isinstance(state, str) else STATES[state] for state in np.asarray(jobs["state"])[ran].tolist()]
    status = np.array([STATUS[state] for state in states], np.int64)
    order = np.flatnonzero(kept)
    order = order[np.lexsort((workload.line[known[order]], submit[order]))]
    if len(order) == 0:
        raise InputError(f"{workload.source}: no job of the run ran")
    rejects = {**workload.rejects, NO_RUN_TIME: workload.rejects[NO_RUN_TIME] + int(np.count_nonzero(~kept))}
    return workload.take(
        known[order],
        submit_ns=submit[order],
        wait_ns=np.where(started, start, cancel)[order] - submit[order],
        run_ns=run[order],
        cores=np.asarray(jobs["cores"], np.int64)[ran][order],
        estimate_ns=np.asarray(jobs["estimate_ns"], np.int64)[ran][order],
        status=status[order],
        cancel_ns=cancel[order],
        begin_ns=np.where(workload.held[known], workload.begin_ns[known] - offset_ns, -1)[order],
        preset=0,
        header=moved_header(workload.header, len(order), offset_ns, "waits and run times are those of a simulation"),
        rejects=rejects,
    )


def _columns(workload: Workload) -> dict[str, Array]:
    same = ("job_id", "submit_ns", "estimate_ns", "memory_kb", "status", "user", "group", "application")
    columns: dict[str, Array] = {name: getattr(workload, name) for name in (*same, "queue", "partition", "preceding")}
    unknown = workload.run_unknown
    alone = (workload.preceding < 0) & (workload.think_ns == 0)
    return columns | {
        "wait_ns": np.where(unknown, workload.cancel_ns - workload.submit_ns, workload.wait_ns),
        "run_ns": np.where(unknown, -1, workload.run_ns),
        "allocated": workload.cores,
        "requested": workload.cores,
        "think_ns": np.where(alone, -1, workload.think_ns),
    }


def _lists(workload: Workload) -> dict[bytes, bytes]:
    """Field 17 of the jobs that have several preceding jobs, by field 1."""
    if not workload.also_preceding:
        return {}
    first = dict(zip(workload.job_id.tolist(), workload.preceding.tolist(), strict=True))
    return {
        b"%d" % job: ",".join(map(str, (first[job], *others))).encode()
        for job, others in workload.also_preceding.items()
        if first.get(job, -1) >= 0
    }


def _with_lists(block: bytes, lists: Mapping[bytes, bytes]) -> bytes:
    """A block of lines with the lists in their field 17."""
    lines = block.splitlines(keepends=True)
    for row, line in enumerate(lines):
        if (text := lists.get(line[: line.index(b" ")])) is not None:
            words = line.split(b" ")
            words[_PRECEDING - 1] = text
            lines[row] = b" ".join(words)
    return b"".join(lines)


def _all_further(workload: Workload) -> dict[str, Array]:
    """The columns without a field of the format, written if there is room: earliest starts of jobs, and the extra columns."""
    begin = {BEGIN: np.where(workload.held, workload.begin_ns, -1)} if workload.held.any() else {}
    return begin | {name: column for name, column in workload.extras.items() if name not in begin}


def _further(workload: Workload) -> dict[str, Array]:
    """The further columns in the order of their fields: one called ``field20`` is field 20 where it can be."""
    columns = _all_further(workload)
    names = list(columns)[:MAX_EXTRAS]
    for name in list(names):
        match = _BY_NUMBER.fullmatch(name)
        place = int(match[1]) - _FIRST_EXTRA if match else len(names)
        if place < len(names):
            names.remove(name)
            names.insert(place, name)
    return {name: columns[name] for name in names}


def _comments(workload: Workload, header: Iterable[str], names: list[str]) -> list[str]:
    wanted = {str(field): name for field, name in enumerate(names, _FIRST_EXTRA)}
    lines: list[str] = []
    for line in (*workload.header, *header):
        match = NAMED_FIELD.fullmatch(line.rstrip())
        if match:
            if wanted.get(match[1]) != match[2]:
                continue  # it would name another column
            del wanted[match[1]]
        lines.append(line if line.startswith(";") else f"; {line}")
    lines += [f"; Field {field}: {name}" for field, name in wanted.items()]
    for line in lines:
        if "\n" in line:
            raise InputError(f"{workload.source}: the comment {shown(line)} has more than one line")
    return without_job_names(lines, workload.job_id)[0]  # a comment might name a job by its number in another log


@contextmanager
def _opened(target: str | os.PathLike[str] | BinaryIO) -> Iterator[BinaryIO]:
    if not isinstance(target, str | os.PathLike):
        yield target
        return
    name = os.fspath(target)
    try:
        with whole_file(Path(name)) as partial, partial.open("wb") as file:
            if not str(name).endswith(".gz"):
                yield file
                return
            # With neither a name nor a time, so that equal workloads give equal files.
            with gzip.GzipFile("", "wb", _ZLIB_LEVEL, file, mtime=0) as packed:
                yield packed  # type: ignore[misc]
    except OSError as error:
        raise InputError(f"{name}: cannot be written: {error.strerror or error}") from None
