"""The comments at the head of a log, kept true when its jobs are cut, merged or changed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from bls.workloads.columns import BEGIN
from bls.workloads.workload import Workload
from traces.base.errors import unescaped
from traces.base.time import MAX_NS, NS_PER_S
from traces.compiled import Array

#: A comment that states a fact, and the fact's name and value; the value may have blanks at its end.
FACT = re.compile(r";\s*([A-Za-z]+):(?!//)\s*(.*)\s*")

#: Columns whose numbers a header may give names, and the word of such a line: ``; Queue: 1 batch``.
TITLES = {"queue": "Queue", "partition": "Partition", "qos": "QOS"}

#: Most names of one column that are written as header lines.
MOST_NAMES = 1000

#: A comment that names a further field of the lines, and the field's number and name; the name may be empty.
NAMED_FIELD = re.compile(r";\s*(?:field|column)\s+([0-9]+)\s*:\s*(.*)", re.IGNORECASE)

#: A comment that names a job, and the job's number and name: ``; Job: 12 w0!3``.
NAMED_JOB = re.compile(r";\s*Job:\s*([0-9]{1,19})\s+(\S.*)", re.DOTALL)

_WHOLE = re.compile(r"[0-9]{1,15}")

_NAMED = re.compile(r";\s*(Queue|Partition|QOS):\s*(-?[0-9]{1,18})\s+(\S.*)")


def log_name(workload: Workload) -> str:
    """The name of a workload's file, without its folder."""
    return os.path.basename(workload.source) or workload.source


def header_start_s(header: Iterable[str]) -> int | None:
    """The first ``UnixStartTime`` of a header that is a whole number, s; None if it says none."""
    for line in header:
        match = FACT.fullmatch(line)
        if match and match[1] == "UnixStartTime" and _WHOLE.fullmatch(match[2].rstrip()):
            return int(match[2])
    return None


def has_begin(header: Sequence[str]) -> bool:
    """Whether a comment names a further field of the lines that is the column ``begin_ns``."""
    return any((match := NAMED_FIELD.fullmatch(line)) and match[2].rstrip() == BEGIN for line in header)


def with_start(header: Sequence[str], start_ns: int) -> tuple[str, ...]:
    """A header with time 0 at ``start_ns`` of the other: ``UnixStartTime`` is so many whole seconds later, rounded down."""
    return tuple(_later(line, start_ns) for line in header)


def _later(line: str, start_ns: int) -> str:
    match = FACT.fullmatch(line)
    if match is None or match[1] != "UnixStartTime" or not start_ns or not _WHOLE.fullmatch(match[2].rstrip()):
        return line
    return f"; UnixStartTime: {int(match[2]) + start_ns // NS_PER_S}"


def moved_header(
    header: Sequence[str], n_jobs: int, start_ns: int, note: str, *, same_span: bool = False
) -> tuple[str, ...]:
    """The header of a workload that was made of another.

    - ``header``: the other's
    - ``n_jobs``: jobs that there are now: ``MaxJobs`` and ``MaxRecords``
    - ``start_ns``: where time 0 is now, in the other's time: ``UnixStartTime`` is later by so many whole seconds, rounded down
    - ``note``: what was done
    - ``same_span``: whether ``StartTime`` and ``EndTime``, which say in words when the log begins and ends, still hold; else
      they are left out
    """
    lines: list[str] = []
    for line in header:
        match = FACT.fullmatch(line)
        name = match[1] if match else ""
        if name in ("MaxJobs", "MaxRecords"):
            lines.append(f"; {name}: {n_jobs}")
        elif name == "UnixStartTime":
            lines.append(_later(line, start_ns))
        elif name not in ("StartTime", "EndTime") or same_span:
            lines.append(line)
    return (*lines, f"; Note: {' '.join(note.split())}")


def names_in(header: Iterable[str], kind: str) -> dict[int, str]:
    """What a header calls numbers in lines such as ``; Queue: 1 batch``; ``kind`` is Queue, Partition or QOS."""
    found: dict[int, str] = {}
    for comment in header:
        match = _NAMED.match(comment)
        if match and match[1] == kind:
            found.setdefault(int(match[2]), "".join(c if c.isprintable() else "?" for c in match[3].strip()))
    return found


def without_job_names(header: Iterable[str], job_id: Array | None = None) -> tuple[list[str], dict[int, str]]:
    """Take the comments that name jobs out of a header. ``job_id``: the log's jobs, if they are known: a comment of another
    number names no job and stays in the header. Returns (list of str, dict of int to str): the other comments; and by job
    number the first name of each job."""
    lines = [(line, NAMED_JOB.fullmatch(line)) for line in header]
    there = {number for _, match in lines if match and (number := int(match[1])) <= MAX_NS}
    if there and job_id is not None:
        there = set(np.intersect1d(np.array([*there]), job_id).tolist())
    others: list[str] = []
    names: dict[int, str] = {}
    for line, match in lines:
        if match and int(match[1]) in there:
            names.setdefault(int(match[1]), unescaped(match[2].strip()))
        else:
            others.append(line)
    return others, names


def merged_header(
    workloads: Sequence[Workload],
    n_jobs: int,
    start_s: int | None,
    labels: Mapping[str, Mapping[int, str]] | None = None,
) -> tuple[str, ...]:
    """The header of several workloads as one.

    What all of them say alike is said once, with ``UnixStartTime`` (where there is a start), the number of jobs, and the
    names of queues, partitions and QOS (``labels``). Then come the headers of all, marked ``[1]``, ``[2]`` … so that no
    reader takes them for facts about the whole.
    """
    shared = [line for line in dict.fromkeys(workloads[0].header) if FACT.fullmatch(line)]
    own = ("UnixStartTime", "MaxJobs", "MaxRecords", "StartTime", "EndTime", "Note", *TITLES.values())
    lines = [
        line
        for line in shared
        if all(line in workload.header for workload in workloads[1:]) and FACT.fullmatch(line)[1] not in own  # type: ignore[index]
    ]
    lines += [] if start_s is None else [f"; UnixStartTime: {start_s}"]
    lines += [f"; MaxJobs: {n_jobs}", f"; MaxRecords: {n_jobs}"]
    for column, title in TITLES.items():
        named = sorted((labels or {}).get(column, {}).items())[:MOST_NAMES]
        lines += [f"; {title}: {number} {name}" for number, name in named]
    for number, workload in enumerate(workloads, 1):
        lines.append(f"; Note: log {number} of {len(workloads)} is {log_name(workload)}, {len(workload)} jobs")
        for line in workload.header:
            # Names of columns are said once more when they are written.
            if not NAMED_FIELD.match(line):
                lines.append(f"; [{number}] {line.lstrip(';').strip()}".rstrip())
    return tuple(lines)
