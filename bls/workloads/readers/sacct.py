"""Reads what Slurm's ``sacct --parsable2`` (``-P``) or ``--parsable`` prints, plain or gzipped.

The first line names the columns, in any order and case; the fields are separated by ``|``, or by commas, semicolons or
tabs where the first line has no ``|`` (with commas, fields may be quoted as in CSV). Lines that begin with ``#`` are
comments, and the first line may come again, as in dumps put one behind the other. Any other line is a job or a reject.

=================================== ==================================================================================
columns (the first that is known)   here
=================================== ==================================================================================
JobIDRaw, JobID                     ``job_id``, see below
Submit                              ``submit_ns``
ElapsedRaw, Elapsed, End − Start    ``run_ns``
AllocCPUS, NCPUS, ReqCPUS,          ``cores``: what the job held; where it held nothing, what it asked for
AllocTRES, ReqTRES (cpu=)
TimelimitRaw, Timelimit             ``estimate_ns``; the run time where there is no limit
Start − Submit                      ``wait_ns``
ReqMem                              ``memory_kb``: per core; of a node's or the whole job's, the cores' share
State                               ``status``: COMPLETED 1, CANCELLED and REVOKED 5, others that have ended 0
User, UID                           ``user``
Group, GID, Account                 ``group``
Partition                           ``partition``
QOS                                 ``qos``
JobName                             ``application``; the names themselves are ``names``
Account                             ``extras["account"]``, where ``group`` is another column
AllocNodes, NNodes, ReqNodes        ``extras["nodes"]``
AllocTRES, ReqTRES (gres/gpu=)      ``extras["gpus"]``
Eligible                            ``extras["eligible_s"]``: seconds since time 0
=================================== ==================================================================================

Needed are a job number, Submit, and columns for the run time and the cores. Names become numbers from 1 in order of
their first appearance; those of partitions and QOS are kept as header lines. Times are seconds since 1970, or dates as
``2024-01-31T12:00:00``; a date that names no zone is taken as UTC, so that a calendar shows the hours as the log has
them. Time 0 is the earliest submit of all lines that are no job step, and is kept as the header line
``; UnixStartTime: N``.

Numbers: a job is N. A task K of a job array, ``N_K``, is N × 10¹⁰ + K, a component K of a heterogeneous job, ``N+K``,
N × 10¹⁰ + 9 × 10⁹ + K. With the column JobIDRaw each task has a number of its own from Slurm.

The reasons for a reject, in the order they are tested (a line with another number of fields than the first is malformed):

1. *job step*: a line of a part of a job (``N.batch``, ``N.0``), which has a line of its own;
2. *malformed*: one of the job number, Submit, the run time, the cores and the time limit is not what it should be;
3. *not ended*: the job waits, runs or is suspended, so that its run time is not known;
4. *no run time*: it is zero (as that of jobs that never started), or the line is of tasks that wait (``N_[3-8]``);
5. *no processors*;
6. *duplicate job number*: as that of a requeued job (``sacct --duplicates``).

With ``cancelled=True``, a job that was cancelled or failed before it ran, and the end and time limit of which are
known, is a job that is cancelled at its end.

Source: the manual of Slurm's sacct, https://slurm.schedmd.com/sacct.html.
"""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from decimal import Decimal

from bls.workloads.readers.job_rows import JobRows, Names, exact_ns, kilobytes, number, seconds_ns, text_lines, whole
from bls.workloads.readers.sacct_columns import Columns
from bls.workloads.workload import MALFORMED, NO_PROCESSORS, NO_RUN_TIME, Workload
from traces.base.given_file import GivenFile
from traces.base.time import MAX_NS, NS_PER_S

__all__ = ["JOB_STEP", "NOT_ENDED", "job_number", "memory_kb", "read_sacct", "time_ns", "timespan_ns"]

JOB_STEP = "job step"
NOT_ENDED = "not ended"

_STATUS = {"COMPLETED": 1, "CANCELLED": 5, "REVOKED": 5}
_FAILED = ("FAILED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE", "PREEMPTED", "REQUEUED")
_STATUS.update(dict.fromkeys(_FAILED, 0))
_GOES_ON = frozenset(("PENDING", "RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "REQUEUE_HOLD", "RESIZING"))

_NUMBER = re.compile(r"([0-9]{1,18})(?:(_|\+)([0-9]{1,18}))?")
_WAITING_TASKS = re.compile(r"[0-9]+_\[[^]]*\]")
_STEP = re.compile(r"[0-9]+(?:[_+][0-9]+)?\.\S+")
_TASKS = 10**10
_COMPONENTS = 9 * 10**9

_TIMESPAN = re.compile(r"(?:([0-9]{1,9})-)?([0-9]{1,9})(?::([0-9]{1,9}))?(?::([0-9]{1,9}(?:\.[0-9]*)?))?")
_NO_LIMIT = frozenset(("", "UNLIMITED", "PARTITION_LIMIT", "NONE", "UNKNOWN", "INVALID", "-1"))
_NO_TIME = frozenset(("", "Unknown", "None", "0", "N/A"))

_MEMORY = re.compile(r"([0-9]+\.?[0-9]*)([KMGTP]?)B?([cn]?)", re.IGNORECASE)
_KB = {"K": 1, "": 2**10, "M": 2**10, "G": 2**20, "T": 2**30, "P": 2**40}

_MOST_NAMES = 1000  # of partitions or QOS as header lines


def read_sacct(path: str | os.PathLike[str], *, cancelled: bool = False) -> Workload:
    """Read a dump of ``sacct``; ``path`` and ``cancelled`` are those of :func:`bls.workloads.readers.swf.read_swf`.

    Raises
    ------
    InputError
        One line that names the file: it cannot be read, its first line does not name the columns that are needed, or it
        holds no valid job.
    """
    source = os.fspath(path)
    with GivenFile(path, "workload file") as file:
        lines = text_lines(file, source)
        reader: _Reader | None = None
        header = []
        for line, text in lines:
            if text.startswith("#"):
                header.append(text.rstrip())
            elif reader is None:
                reader = _Reader(source, Columns(text, f"{source}: line {line}"), cancelled)
            elif text != reader.columns.text:
                reader.read(line, text)
    if reader is None:
        reader = _Reader(source, Columns("", f"{source}: line 1"), cancelled)
    return reader.workload(header)


class _Reader:
    """Reads lines one by one; ``sacct``'s words are found by the names of their columns."""

    def __init__(self, source: str, columns: Columns, cancelled: bool) -> None:
        self.columns, self._cancelled = columns, cancelled
        self._rows = JobRows(source, columns.further)
        self._earliest = MAX_NS
        self._names = {name: Names() for name in ("user", "group", "partition", "qos", "application", "account")}
        self._rows.labels = {name: names for name, names in self._names.items() if name != "application"}

    def read(self, line: int, text: str) -> None:
        reason = self._read(line, text)
        word = self.columns.words(text) if reason and reason != JOB_STEP else None
        self._rows.count(reason, line, *_decides(reason, word))

    def _read(self, line: int, text: str) -> str:
        """Add the line's job, or say why there is none."""
        word = self.columns.words(text)
        if word is None:
            return MALFORMED
        identity = word["job_id"]
        if _STEP.fullmatch(identity):
            return JOB_STEP
        job_id = -1 if _WAITING_TASKS.fullmatch(identity) else job_number(identity)
        submit = time_ns(word["submit"])
        if job_id is None or submit is None:
            return MALFORMED
        start, end = time_ns(word["start"]), time_ns(word["end"])
        limit = _limit_ns(word)
        run = _run_ns(word, start, end)
        cores = _cores(word)
        if limit is None or run is None or cores is None:
            return MALFORMED
        self._earliest = min(self._earliest, submit)
        state = word["state"].split(maxsplit=1)[0].upper() if word["state"] else ""
        if state in _GOES_ON:
            return NOT_ENDED
        status = _STATUS.get(state, -1)
        cancel = -1
        if run <= 0 or job_id < 0:
            known = end is not None and end >= submit and limit > 0
            if not self._cancelled or status not in (0, 5) or not known or end is None or job_id < 0:
                return NO_RUN_TIME
            run, cancel = 1, end
        if cores <= 0:
            return NO_PROCESSORS
        nodes, eligible = whole(word["nodes"]), time_ns(word["eligible"])
        numbers = {name: names.number(word[name]) for name, names in self._names.items()}
        self._rows.add(
            job_id,
            submit,
            run,
            cores,
            limit if limit > 0 else run,
            line,
            **numbers,
            wait_ns=start - submit if start is not None and start >= submit else -1,
            memory_kb=memory_kb(word["memory"], cores, nodes),
            status=status,
            cancel_ns=cancel,
            nodes=-1 if nodes is None else max(-1, nodes),
            gpus=_of_tres(word["alloc_tres"] or word["req_tres"], "gres/gpu"),
            eligible_s=-1 if eligible is None else eligible // NS_PER_S,
        )
        return ""

    def workload(self, header: list[str]) -> Workload:
        # Whole seconds, as the header's line has them.
        start_s = self._earliest // NS_PER_S if len(self._rows) else 0
        named = [
            f"; {title}: {value} {name}"
            for title, key in (("Partition", "partition"), ("QOS", "qos"))
            for name, value in list(self._names[key].known.items())[:_MOST_NAMES]
        ]
        self._rows.header += [f"; {comment.lstrip('# ')}" for comment in header]
        self._rows.header += [f"; UnixStartTime: {start_s}", *named]
        self._rows.shift_further("eligible_s", start_s)
        return self._rows.workload(start_s * NS_PER_S, self._names["application"])


def _decides(reason: str, word: dict[str, str] | None) -> tuple[str, str]:
    """What a job's words are used for that decides why its line is no job, and that word; nothing for other lines."""
    if word is None or reason not in (MALFORMED, NOT_ENDED, NO_RUN_TIME, NO_PROCESSORS):
        return "", ""
    start, end = time_ns(word["start"]), time_ns(word["end"])
    run = "elapsed_raw" if word["elapsed_raw"] else "elapsed"
    cores = next((name for name in ("alloc_cores", "n_cores", "req_cores") if word[name]), "alloc_tres")
    wrong = {
        "job_id": job_number(word["job_id"]) is None and not _WAITING_TASKS.fullmatch(word["job_id"]),
        "submit": time_ns(word["submit"]) is None,
        "limit": _limit_ns(word) is None,
        run: _run_ns(word, start, end) is None,
    }
    others = {NOT_ENDED: "state", NO_RUN_TIME: run, NO_PROCESSORS: cores}
    name = others.get(reason) or next((name for name, is_wrong in wrong.items() if is_wrong), cores)
    return name, word[name]


def job_number(word: str) -> int | None:
    """The number of a job, an array's task or a heterogeneous job's component; None if the word is none of them."""
    match = _NUMBER.fullmatch(word)
    if match is None:
        return None
    job = int(match[1])
    if match[2] is None:
        return job if job < _TASKS else None
    part = int(match[3])
    if job == 0 or part >= (_COMPONENTS if match[2] == "_" else _TASKS - _COMPONENTS):
        return None
    value = job * _TASKS + part + (_COMPONENTS if match[2] == "+" else 0)
    return value if value <= MAX_NS else None


def time_ns(word: str) -> int | None:
    """An instant since 1970; None where there is none."""
    if word in _NO_TIME:
        return None
    seconds = seconds_ns(word)
    if seconds is not None:
        return seconds if seconds >= 0 else None
    try:
        date = datetime.fromisoformat(word)
        since = (date if date.tzinfo else date.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
    ns = (since.days * 86_400 + since.seconds) * NS_PER_S + since.microseconds * 1000
    return ns if 0 <= ns <= MAX_NS else None


def timespan_ns(word: str) -> int | None:
    """A duration as ``[D-]H:M:S`` or ``M:S``, ``D-H`` or ``D-H:M``; None for any other word."""
    match = _TIMESPAN.fullmatch(word)
    if match is None:
        return None
    days, *parts = match.groups()
    given = [part for part in parts if part is not None]
    if days is None:
        if len(given) < 2:
            return None
        given = ["0"] * (3 - len(given)) + given
    hours, minutes, seconds = [*given, "0", "0"][:3]
    total = int(days or 0) * 86_400 + int(hours) * 3600 + int(minutes) * 60
    return exact_ns(total + Decimal(seconds))


def _limit_ns(word: dict[str, str]) -> int | None:
    """The time limit, 0 where there is none, None where the word is no limit."""
    raw, limit = word["limit_raw"].upper(), word["limit"].upper()
    if raw not in _NO_LIMIT:
        minutes = number(raw)
        return None if minutes is None else exact_ns(minutes * 60)
    if limit in _NO_LIMIT:
        return 0
    minutes = number(limit)
    return timespan_ns(limit) if minutes is None else exact_ns(minutes * 60)


def _run_ns(word: dict[str, str], start: int | None, end: int | None) -> int | None:
    """The time that the job ran, 0 if it did not, None where a word is no duration."""
    if word["elapsed_raw"]:
        return seconds_ns(word["elapsed_raw"])
    if word["elapsed"]:
        return timespan_ns(word["elapsed"])
    return end - start if start is not None and end is not None else 0


def _cores(word: dict[str, str]) -> int | None:
    """The cores that the job held, or else asked for; None where a word is no whole number."""
    for name in ("alloc_cores", "n_cores", "req_cores"):
        if word[name]:
            cores = whole(word[name])
            if cores is None or cores > 0:
                return cores
    for name in ("alloc_tres", "req_tres"):
        cores = _of_tres(word[name], "cpu")
        if cores > 0:
            return cores
    return 0


def _of_tres(word: str, resource: str) -> int:
    """The count of a resource in words as ``cpu=4,mem=16G,gres/gpu=2``: 0 where it is not named, -1 for no words."""
    for entry in word.split(","):
        name, _, value = entry.partition("=")
        if name.strip() == resource:
            found = whole(value)
            return -1 if found is None else max(-1, found)
    return 0 if word else -1


def memory_kb(word: str, cores: int, nodes: int | None) -> int:
    """Memory per core in KB, of a word as ``4000Mc`` (per core), ``4000Mn`` (per node) or ``16G`` (of the job); else -1."""
    match = _MEMORY.fullmatch(word)
    if match is None or len(word) > 30:
        return -1
    total = Decimal(match[1]) * _KB[match[2].upper()]
    per = match[3].lower()
    if per == "c":
        return kilobytes(total)
    if per == "n" and (nodes is None or nodes <= 0):
        return -1
    return kilobytes(total * (nodes or 1) / cores if per == "n" else total / cores)
