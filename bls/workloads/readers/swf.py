"""Reads the Standard Workload Format (SWF) of the Parallel Workloads Archive, plain or compressed.

A line is a comment (its first character is ``;``), blank, a job, or a reject. A job's line has 18 fields,
separated by white space, each a decimal number: an optional sign, digits, and optionally a point among or
beside them; an exponent, ``nan`` and ``inf`` are none. Times are seconds and are rounded to a nanosecond,
half to even. Used are

===== ==================== ==========================================================================
field SWF's name           here
===== ==================== ==========================================================================
1     job number           ``job_id``, a whole number
2     submit time          ``submit_ns``
4     run time             ``run_ns``
5     allocated processors ``cores`` where field 8 is not positive; a whole number
8     requested processors ``cores``; a whole number
9     requested time       ``estimate_ns``; the run time where it is not positive
3     wait time            ``wait_ns``
7     used memory          ``memory_kb`` where field 10 is not positive; KB per processor
10    requested memory     ``memory_kb``; KB per processor
11    status               ``status``
12    user                 ``user``
13    group                ``group``
14    application          ``application``
15    queue                ``queue``
16    partition            ``partition``
17    preceding job        ``preceding``
18    think time           ``think_ns``
19–21 (further columns)    ``extras``
===== ==================== ==========================================================================

From field 3 on, those of the list's second part are extras: where one is not what it should be (negative, beyond 2**62,
or fractional where it must be whole), it is unknown (no memory, no preceding job, a think time of 0), and the line is a
job all the same. A fraction of a KB is rounded up.

A line may have up to three further fields, as the extended logs of some sites do. They are kept as whole numbers, -1
where a line has no such field or it is no whole number in ±2**62 (it may be any word). A header line
``; Field 19: NAME`` or ``; Column 19: NAME`` names such a column; else it is called ``field19`` and so on. One that is
called ``begin_ns`` is ``begin_ns``: the ns since time 0 from which on the job may join the queue.

The reasons for a reject, in the order they are tested, the first that applies being counted:

1. *malformed*: not 18 to 21 fields, or one of the first 18 is not a decimal number; one of the first six above is
   fractional where it must be whole, or beyond ±2**62 (ns for times); the job number or the submit time is negative;
2. *no run time*: it is zero or negative;
3. *no processors*: neither field 8 nor field 5 is positive;
4. *duplicate job number*: an earlier line that passed these tests has it.

The status (field 11) decides nothing: a job that failed, or was cancelled after its start, did use its processors.
One exception is made on request (``cancelled=True``). A job with status 5 (cancelled) or 0 (failed) and no run time
never started; where its wait and its requested time are known, it becomes a job that is cancelled at submit + wait,
with a ``run_ns`` of 1 that stands for nothing (``Workload.run_unknown``), instead of a reject.

The file is read block by block, as it is unpacked, so that only the columns of its jobs need memory.

Source: D. Feitelson et al., "The Standard Workload Format", Parallel Workloads Archive; S. Chapin et al.,
doi:10.1007/3-540-47954-6_4.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator

import numpy as np

from bls.workloads.columns import BEGIN, COLUMNS, NAME_LENGTH
from bls.workloads.header import NAMED_FIELD
from bls.workloads.readers.decimals import NONE, blank, count, kilobytes, nanoseconds, number
from bls.workloads.readers.line_blocks import BLOCK_BYTES, Column, Readable, line_blocks
from bls.workloads.workload import MALFORMED, NO_PROCESSORS, NO_RUN_TIME, Workload, no_valid_job
from traces.base.errors import InputError
from traces.base.given_file import GivenFile
from traces.base.time import MAX_NS
from traces.compiled import Array, compiled
from traces.kernels.signatures import Chars, Ints, Ints2

__all__ = ["parse_swf", "read_swf", "swf_blocks"]

_FIELDS, _MOST_FIELDS = 18, 21
_SHORTEST_LINE = 2 * _FIELDS  # with its line feed

# What a line is; the kernel's codes, and then what else it counts: lines, and fields of the job with the most of them.
_JOB, _MALFORMED, _NO_RUN_TIME, _NO_PROCESSORS = 0, 1, 2, 3
_LINE, _WIDEST = 4, 5

_MAX = MAX_NS  # a kernel's constants are its module's

# The columns of the kernel's rows 6, 7, …; after them, those of the fields 19 to 21.
_EXTRA = (
    "wait_ns", "memory_kb", "status", "user", "group", "application", "queue", "partition", "preceding", "think_ns",
    "cancel_ns",
)  # fmt: skip
_FURTHER = 6 + len(_EXTRA)
_ROWS = _FURTHER + _MOST_FIELDS - _FIELDS


def read_swf(path: str | os.PathLike[str], *, cancelled: bool = False) -> Workload:
    """Read an SWF file. Whether it is compressed is seen from its first bytes, not from its name.

    Parameters
    ----------
    path : path
        The file.
    cancelled : bool
        Whether jobs that were cancelled before their start are jobs too.

    Raises
    ------
    InputError
        One line that names the file: it is missing, a directory, not readable, empty, broken,
        or holds no valid job.
    """
    with GivenFile(path, "workload file") as file:
        return _read(file, os.fspath(path), cancelled, BLOCK_BYTES)


def parse_swf(data: bytes, source: str, *, cancelled: bool = False, block_bytes: int = BLOCK_BYTES) -> Workload:
    """The workload of an SWF text.

    Parameters
    ----------
    data : bytes
        The text. Lines end in LF or CR LF; a UTF-8 byte order mark is skipped.
    source : str
        The name for messages.
    cancelled : bool
        Whether jobs that were cancelled before their start are jobs too.
    block_bytes : int
        How much is read at once; nothing that is read depends on it.

    Raises
    ------
    InputError
        If it is empty or holds no valid job.
    """
    return _read(io.BytesIO(data), source, cancelled, block_bytes)


def _blocks(
    file: Readable, source: str, cancelled: bool, block_bytes: int, header: list[str], counts: Array
) -> Iterator[Array]:
    """The jobs of one block of lines after the other, int64 (``_ROWS``, jobs), which the next overwrites.

    Comments are appended to ``header``, and ``counts`` are those of ``_parse``, up to the block's end.
    """
    jobs = np.empty((_ROWS, 0), dtype=np.int64)
    for text in line_blocks(file, source, block_bytes):
        most = len(text) // _SHORTEST_LINE + 1
        if jobs.shape[1] < most:
            jobs = np.empty((_ROWS, most), dtype=np.int64)
        comments = np.empty((2, np.count_nonzero(text == ord(";"))), dtype=np.int64)
        before = int(counts[_JOB])
        n_comments = _parse(text, cancelled, jobs, comments, counts)
        spans = comments[:, :n_comments].T.tolist()
        header += (text[lo:hi].tobytes().decode("utf-8", "replace").rstrip() for lo, hi in spans)
        yield jobs[:, : int(counts[_JOB]) - before]


def _rejects(counts: Array) -> dict[str, int]:
    return {
        MALFORMED: int(counts[_MALFORMED]),
        NO_RUN_TIME: int(counts[_NO_RUN_TIME]),
        NO_PROCESSORS: int(counts[_NO_PROCESSORS]),
    }


def swf_blocks(path: str | os.PathLike[str], *, block_bytes: int = BLOCK_BYTES) -> Iterator[Workload]:
    """The jobs of an SWF file, some thousands after the other, for who cannot hold all of them.

    Jobs are those of :func:`read_swf`, without further fields (19 to 21) but ``begin_ns``; the first block has the header. The
    counts of a block are those of the lines since the block before, so that every line is in one of them.

    Parameters
    ----------
    path : path
        The file.
    block_bytes : int
        How much is read at once; only where blocks end depends on it.

    Raises
    ------
    InputError
        As :func:`read_swf`; and where a job is submitted before one of an earlier line, or does not have a higher number
        than all of them: in which order jobs come, and whether a number is there twice, only the whole file says.
    """
    source = os.fspath(path)
    header: list[str] = []
    counts, seen, last = np.zeros(6, dtype=np.int64), np.zeros(6, dtype=np.int64), np.full((2, 1), -1)
    first: tuple[str, ...] = ()
    waits: Array | None = None  # for the lines behind it that are no jobs
    begin = -1  # the row of the jobs' begin, if a further field has it
    with GivenFile(path, "workload file") as file:
        upto = counts.copy()
        for jobs in _blocks(file, source, False, block_bytes, header, counts):
            if jobs.shape[1]:
                _check_order(np.concatenate([last, jobs[:2]], axis=1), jobs[5], source)
                last = jobs[:2, -1:].copy()
                if waits is not None:
                    yield _block(waits, upto - seen, source, first, begin)
                    seen, first = upto, ()
                else:
                    first = tuple(header)
                    names = list(_names(range(_FIELDS + 1, _MOST_FIELDS + 1), first))
                    begin = _FURTHER + names.index(BEGIN) if BEGIN in names else -1
                header.clear()
                waits = jobs.copy()
            upto = counts.copy()
    if waits is None:
        raise no_valid_job(source, int(counts[:_LINE].sum()), _rejects(counts))
    yield _block(waits, upto - seen, source, first, begin)


def _check_order(keys: Array, lines: Array, source: str) -> None:
    # Of job number and submit, in the order of lines, behind those of the job before.
    higher, later = np.diff(keys) > [[0], [-1]]
    if not (higher & later).all():
        k = int(np.argmin(higher & later))
        what = "is submitted before a job" if not later[k] else "has no higher number than a job"
        raise InputError(
            f"{source}: line {lines[k]}: job {keys[0, k + 1]} {what} of an earlier line; "
            "allowed where a log is read as the simulation goes: jobs in the order of submits and of numbers"
        )


def _block(jobs: Array, counts: Array, source: str, header: tuple[str, ...], begin: int) -> Workload:
    columns = dict(zip((*COLUMNS, *_EXTRA), jobs[:_FURTHER], strict=True))
    if begin >= 0:
        columns[BEGIN] = np.maximum(jobs[begin], -1)
    return Workload(
        **columns,
        header=header,
        rejects=_rejects(counts),
        reordered=0,
        clamped=0,
        source=source,
        n_lines=int(counts[:_LINE].sum()),
    )


def _read(file: Readable, source: str, cancelled: bool, block_bytes: int) -> Workload:
    columns = [Column() for _ in range(_ROWS)]
    header: list[str] = []
    counts = np.zeros(6, dtype=np.int64)
    for jobs in _blocks(file, source, cancelled, block_bytes, header, counts):
        for column, values in zip(columns, jobs, strict=True):
            column.add(values)
    further = range(_FIELDS + 1, int(counts[_WIDEST]) + 1)
    extra = {name: column.taken() for name, column in zip(_EXTRA, columns[6:_FURTHER], strict=True)}
    extras = {name: column.taken() for name, column in zip(_names(further, header), columns[_FURTHER:], strict=False)}
    if BEGIN in extras:
        extra[BEGIN] = np.maximum(extras.pop(BEGIN), -1)
    return Workload.from_lines(
        [column.taken(whole=True) for column in columns[:6]],
        header=header,
        rejects=_rejects(counts),
        source=source,
        n_lines=int(counts[:_LINE].sum()),
        extra=extra,
        extras=extras,
    )


def _names(further: Iterable[int], header: Iterable[str]) -> Iterator[str]:
    """The names of the further fields, all different: the first that the header has for each, else by their number."""
    named: dict[int, str] = {}
    for comment in header:
        match = NAMED_FIELD.fullmatch(comment)
        if match and len(match[1]) <= 2 and match[2].isprintable() and 1 <= len(match[2]) <= NAME_LENGTH:
            named.setdefault(int(match[1]), match[2])
    used: set[str] = set()
    for field in further:
        name = named.get(field, "")
        if not name or name in used or name in (f"field{other}" for other in range(_FIELDS + 1, _MOST_FIELDS + 1)):
            name = f"field{field}"
        used.add(name)
        yield name


@compiled(inner=True)
def _parse_line(text: Array, at: int, stop: int, cancelled: bool, jobs: Array, column: int, counts: Array) -> int:
    """Read the line ``text[at:stop]`` into ``jobs[:, column]``, its number aside, and say what it is."""
    job_id, submit, run, allocated, requested, estimate = 0, 0, 0, 0, 0, 0
    wait, used_kb, asked_kb = -1, -1, -1
    jobs[17, column], jobs[18, column], jobs[19, column] = -1, -1, -1
    field = 0
    while True:
        while at < stop and blank(int(text[at])):
            at += 1
        if at == stop:
            break
        field += 1
        sign, whole, nano, rest, at = number(text, at, stop)
        if field > _FIELDS:
            if field > _MOST_FIELDS:
                return _MALFORMED
            value = count(sign, whole, nano, rest) if sign != 0 else NONE
            jobs[field - 2, column] = value if value != NONE else -1
        elif sign == 0:
            return _MALFORMED
        elif field == 1:
            job_id = count(sign, whole, nano, rest)
        elif field == 2:
            submit = nanoseconds(sign, whole, nano, rest)
        elif field == 4:
            run = nanoseconds(sign, whole, nano, rest)
        elif field == 5:
            allocated = count(sign, whole, nano, rest)
        elif field == 8:
            requested = count(sign, whole, nano, rest)
        elif field == 9:
            estimate = nanoseconds(sign, whole, nano, rest)
        elif field == 3:
            wait = max(-1, nanoseconds(sign, whole, nano, rest))
        elif field == 7:
            used_kb = kilobytes(sign, whole, nano, rest)
        elif field == 10:
            asked_kb = kilobytes(sign, whole, nano, rest)
        elif field == 18:
            jobs[15, column] = max(0, nanoseconds(sign, whole, nano, rest))
        elif field > 10:  # status, user, group, application, queue, partition, preceding
            jobs[field - 3, column] = max(-1, count(sign, whole, nano, rest))
    if field < _FIELDS or job_id < 0 or submit < 0:  # NONE is negative
        return _MALFORMED
    if run == NONE or allocated == NONE or requested == NONE or estimate == NONE:
        return _MALFORMED
    cancel, status = -1, jobs[8, column]
    if run <= 0:
        # A wait below 0 is not known; submit + wait is compared so that it cannot overflow.
        if not cancelled or (status != 5 and status != 0) or wait < 0 or wait > _MAX - submit or estimate <= 0:
            return _NO_RUN_TIME
        cancel = submit + wait
        run = 1
    cores = requested if requested > 0 else allocated
    if cores <= 0:
        return _NO_PROCESSORS
    jobs[0, column] = job_id
    jobs[1, column] = submit
    jobs[2, column] = run
    jobs[3, column] = cores
    jobs[4, column] = estimate if estimate > 0 else run
    jobs[6, column] = wait
    jobs[7, column] = asked_kb if asked_kb > 0 else used_kb
    jobs[16, column] = cancel
    counts[_WIDEST] = max(counts[_WIDEST], field)
    return _JOB


@compiled()
def _parse(text: Chars, cancelled: bool, jobs: Ints2, comments: Ints2, counts: Ints) -> int:
    """Read the lines of a block.

    Parameters
    ----------
    text : ndarray of int8
        Whole lines.
    cancelled : bool
        Whether jobs that were cancelled before their start are jobs.
    jobs : ndarray of int64, shape (20, at least the number of the block's jobs)
        Filled from the left with the jobs' job_id, submit_ns, run_ns, cores, estimate_ns and line, then ``_EXTRA``,
        then the fields 19 to 21.
    comments : ndarray of int64, shape (2, at least the number of the block's comment lines)
        Filled from the left with each comment's first index and the index after its last.
    counts : ndarray of int64, shape (6,)
        Of the file: increased by the number of lines that are ``_JOB``, ``_MALFORMED``, …, and by all lines; the last
        is the most fields of any job.

    Returns
    -------
    int
        Number of comment lines.
    """
    at, column, n_comments, size = 0, 0, 0, len(text)
    while at < size:
        counts[_LINE] += 1
        stop = at
        while stop < size and text[stop] != 10:
            stop += 1
        while at < stop and blank(int(text[at])):
            at += 1
        if at < stop:
            if text[at] == 59:  # ;
                comments[0, n_comments] = at
                comments[1, n_comments] = stop
                n_comments += 1
            else:
                kind = _parse_line(text, at, stop, cancelled, jobs, column, counts)
                if kind == _JOB:
                    jobs[5, column] = counts[_LINE]
                    column += 1
                counts[kind] += 1
        at = stop + 1
    return n_comments
