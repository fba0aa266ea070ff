"""Reads the Standard Workload Format (SWF) of the Parallel Workloads Archive, plain or compressed.

docs/reference/inputs.md describes the use of the 18 to 21 fields of a line, time 0, further fields, and comments that name
jobs. Times are rounded to a nanosecond, half to even; a fraction of a KB is rounded up. Fields 1, 2, 4, 5, 8 and 9 decide
whether a line is a job. A value of another field that cannot be used (negative, beyond 2**62, or fractional although it must be
an integer) is unknown.

The reasons for a reject, in the order of the tests; the first that applies is counted:

1. *malformed*: not 18 to 21 fields, or one of the first 18 is not a decimal number (field 17 may be a list of job numbers); one
   of the six fields above is fractional although it must be an integer, or beyond ±2**62 (ns for times); the job number or the
   submit time is negative;
2. *no run time*: it is zero or negative;
3. *no processors*: neither field 8 nor field 5 is positive;
4. *duplicate job number*: an earlier line that passed these tests has it.

With ``cancelled=True`` a job with status 5 (cancelled) or 0 (failed), no run time, and a known wait and requested time is no
reject: it is cancelled at submit + wait (``Workload.run_unknown``). Otherwise the status (field 11) decides nothing.

Source: D. Feitelson et al., "The Standard Workload Format", Parallel Workloads Archive; S. Chapin et al.,
doi:10.1007/3-540-47954-6_4.
"""

import io
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import numpy as np

from bls.workloads.columns import BEGIN, COLUMNS, KEPT, NAME_LENGTH, RejectedLine, first_rejects
from bls.workloads.header import FACT, NAMED_FIELD, NAMED_JOB, header_start_s, without_job_names
from bls.workloads.readers.decimals import NONE, blank, count, kilobytes, nanoseconds, number
from bls.workloads.readers.lines import BLOCK_BYTES, GrowingColumn, Readable, check_order, line_blocks
from bls.workloads.workload import MALFORMED, NO_PROCESSORS, NO_RUN_TIME, Workload, no_valid_job
from traces.base.errors import InputError, shown
from traces.base.given_file import GivenFile
from traces.base.time import MAX_NS, NS_PER_S
from traces.compiled import Array, compiled
from traces.kernels.signatures import Chars, Ints, Ints2

_FIELDS, _MOST_FIELDS = 18, 21
_PRECEDING = 17
_LONGEST_NUMBER = 18  # digits of a number in a list
_SHORTEST_LINE = 2 * _FIELDS  # with its line feed

# Kinds of a line, the kernel's codes; and indices of its further counts: lines, fields of the job with the most fields, and
# noted lines of this block.
_JOB, _MALFORMED, _NO_RUN_TIME, _NO_PROCESSORS = 0, 1, 2, 3
_LINE, _WIDEST, _NOTED = 4, 5, 6
_COUNTS = 7
_REASONS = {_MALFORMED: MALFORMED, _NO_RUN_TIME: NO_RUN_TIME, _NO_PROCESSORS: NO_PROCESSORS}

# A job with a list of preceding jobs is noted like a rejected line. The kind of a line is a code below ``_CODES`` plus
# ``_CODES`` times the field that decided it.
_LIST, _CODES = 7, 8
_MOST_NOTED = KEPT
_LIST_OF_JOBS = re.compile("[,;:/|&]")
_SINCE_1970_NS = 315_532_800 * NS_PER_S  # 1980; no log lasts ten years
_MAX = MAX_NS  # kernels use constants of their own module

# Columns in the kernel's rows 6, 7, …; the fields 19 to 21 follow.
_EXTRA = (
    "wait_ns", "memory_kb", "status", "user", "group", "application", "queue", "partition", "preceding", "think_ns",
    "cancel_ns",
)  # fmt: skip
_FURTHER = 6 + len(_EXTRA)
_CANCEL = 6 + _EXTRA.index("cancel_ns")
_ROWS = _FURTHER + _MOST_FIELDS - _FIELDS


def read_swf(path: str | os.PathLike[str], *, cancelled: bool = False) -> Workload:
    """Read an SWF file. ``cancelled``: whether jobs that were cancelled before their start are jobs too. Raises InputError, in
    one line that names the file, if it cannot be read, or holds no valid job."""
    with GivenFile(path, "workload file") as file:
        return parse_swf(file, os.fspath(path), cancelled=cancelled)


class _Notes:
    """Notes about lines: comments, places of the first rejected lines, lists of preceding jobs."""

    def __init__(self) -> None:
        self.header: list[str] = []
        self.lines: list[int] = []  # line numbers of the comments
        self.rejected: list[RejectedLine] = []
        self.also_preceding: dict[int, tuple[int, ...]] = {}

    def add(self, text: Array, noted: Array, jobs: Array) -> None:
        """Note lines of a block: the code of each, its number, the row of its job, and its beginning and end."""
        for code, line, row, lo, hi in noted.T.tolist():
            words = text[lo:hi].tobytes().decode("utf-8", "replace").split()
            kind, field = code % _CODES, code // _CODES
            if kind == _LIST:
                several = [int(number) for number in _LIST_OF_JOBS.split(words[_PRECEDING - 1])]
                if others := tuple(dict.fromkeys(number for number in several if number != several[0])):
                    self.also_preceding.setdefault(int(jobs[0, row]), others)
            else:
                word = words[field - 1] if field <= len(words) else ""
                self.rejected.append(RejectedLine(_REASONS[kind], line, f"field {field}", word))


def _blocks(
    file: Readable, source: str, cancelled: bool, block_bytes: int, notes: _Notes, counts: Array
) -> Iterator[Array]:
    """The jobs of one block at a time, int64 (``_ROWS``, jobs), which the next overwrites. ``counts``: those of ``_parse``."""
    jobs, noted = np.empty((_ROWS, 0), dtype=np.int64), np.empty((5, 0), dtype=np.int64)
    for text in line_blocks(file, source, block_bytes):
        most = len(text) // _SHORTEST_LINE + 1
        if jobs.shape[1] < most:
            jobs = np.empty((_ROWS, most), dtype=np.int64)
            noted = np.empty((5, most + len(_REASONS) * _MOST_NOTED), dtype=np.int64)
        comments = np.empty((3, np.count_nonzero(text == ord(";"))), dtype=np.int64)
        before = int(counts[_JOB])
        n_comments = _parse(text, cancelled, jobs, comments, noted, counts)
        spans = comments[:2, :n_comments].T.tolist()
        notes.header += (text[lo:hi].tobytes().decode("utf-8", "replace").rstrip() for lo, hi in spans)
        notes.lines += comments[2, :n_comments].tolist()
        notes.add(text, noted[:, : int(counts[_NOTED])], jobs)
        yield jobs[:, : int(counts[_JOB]) - before]


def _rejects(counts: Array) -> dict[str, int]:
    return {reason: int(counts[kind]) for kind, reason in _REASONS.items()}


def swf_blocks(path: str | os.PathLike[str], *, block_bytes: int = BLOCK_BYTES) -> Iterator[Workload]:
    """The jobs of an SWF file, some thousands at a time, for callers that cannot hold all of them.

    Jobs are those of :func:`read_swf`, with the further fields 19 to 21 that the header names. The first block has the header:
    the comments before the first job. Each block has all names of jobs. The counts of a block are those of the lines since the
    previous block.

    Raises InputError as :func:`read_swf` does; if a job is submitted before a job of an earlier line or does not have a higher
    number; and if a comment after the first job names a job.
    """
    source = os.fspath(path)
    notes, zero = _Notes(), _Beginning()
    counts, seen, last = np.zeros(_COUNTS, dtype=np.int64), np.zeros(_COUNTS, dtype=np.int64), np.full((2, 1), -1)
    first: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    ids: Mapping[int, str] = MappingProxyType({})
    waits: Array | None = None  # the last jobs, held back for the rejected lines that follow them
    first_line = 0
    begin = -1  # the row of ``begin_ns``, if it is a further field
    named_rows: dict[str, int] = {}  # rows of the others

    def block(jobs: Array, counts: Array) -> Workload:
        columns = dict(zip((*COLUMNS, *_EXTRA), jobs[:_FURTHER], strict=True))
        if begin >= 0:
            columns[BEGIN] = np.maximum(jobs[begin], -1)
        facts: dict[str, Any] = {"source": source, "n_lines": int(counts[:_LINE].sum()), "reordered": 0, "clamped": 0}
        facts["extras"] = {name: jobs[row] for name, row in named_rows.items()}
        return Workload(**columns, **facts, header=first, rejects=_rejects(counts), remarks=remarks, ids=ids)

    with GivenFile(path, "workload file") as file:
        upto = counts.copy()
        for jobs in _blocks(file, source, False, block_bytes, notes, counts):
            if jobs.shape[1]:
                if waits is None:
                    first_line = int(jobs[5, 0])
                    header = [text for line, text in zip(notes.lines, notes.header, strict=True) if line < first_line]
                    zero.of(jobs[1], header)
                    others, named = without_job_names(zero.header(header))
                    first, remarks, ids = (*others,), zero.remarks, MappingProxyType(named)
                    names = list(_names(range(_FIELDS + 1, _MOST_FIELDS + 1), first))
                    begin = _FURTHER + names.index(BEGIN) if BEGIN in names else -1
                    unnamed = {BEGIN, *_names(range(_FIELDS + 1, _MOST_FIELDS + 1), ())}
                    named_rows = {name: _FURTHER + k for k, name in enumerate(names) if name not in unnamed}
                zero.shift(jobs[1], jobs[_CANCEL])
                check_order(np.concatenate([last, jobs[:2]], axis=1), jobs[5], "line", source)
                last = jobs[:2, -1:].copy()
                if waits is not None:
                    yield block(waits, upto - seen)
                    seen, first, remarks = upto, (), ()
                waits = jobs.copy()
            if waits is not None:
                _check_names(notes, first_line, ids, source)
                notes.header.clear()
                notes.lines.clear()
            upto = counts.copy()
    if waits is None:
        raise no_valid_job(source, int(counts[:_LINE].sum()), _rejects(counts), notes.rejected)
    yield block(waits, upto - seen)


def _check_names(notes: _Notes, first_line: int, ids: Mapping[int, str], source: str) -> None:
    for line, comment in zip(notes.lines, notes.header, strict=True):
        if line > first_line and (named := NAMED_JOB.fullmatch(comment)) and int(named[1]) not in ids:
            raise InputError(
                f"{source}: line {line}: {shown(comment)} names a job after the first job; "
                "allowed where a log is read as the simulation goes: before all jobs"
            )


def parse_swf(
    text: bytes | Readable, source: str, *, cancelled: bool = False, block_bytes: int = BLOCK_BYTES
) -> Workload:
    """The workload of an SWF text. Lines end in LF or CR LF. ``block_bytes``: size of a block, without effect on the result."""
    file = io.BytesIO(text) if isinstance(text, bytes) else text
    columns = [GrowingColumn() for _ in range(_ROWS)]
    notes, zero = _Notes(), _Beginning()
    counts = np.zeros(_COUNTS, dtype=np.int64)
    earliest = MAX_NS
    for jobs in _blocks(file, source, cancelled, block_bytes, notes, counts):
        for column, values in zip(columns, jobs, strict=True):
            column.add(values)
        if jobs.shape[1]:
            earliest = min(earliest, int(jobs[1].min()))
    zero.of(np.array([earliest]), notes.header)
    basic = [column.taken(whole=True) for column in columns[:6]]
    header, ids = without_job_names(zero.header(notes.header), basic[0])
    further = range(_FIELDS + 1, int(counts[_WIDEST]) + 1)
    extra = {name: column.taken() for name, column in zip(_EXTRA, columns[6:_FURTHER], strict=True)}
    extras = {name: column.taken() for name, column in zip(_names(further, header), columns[_FURTHER:], strict=False)}
    if BEGIN in extras:
        extra[BEGIN] = np.maximum(extras.pop(BEGIN), -1)
    if zero.start_ns:
        basic[1], extra["cancel_ns"] = basic[1].copy(), np.array(extra["cancel_ns"])
        zero.shift(basic[1], extra["cancel_ns"])
    return Workload.from_lines(
        basic,
        header=header,
        rejects=_rejects(counts),
        source=source,
        n_lines=int(counts[:_LINE].sum()),
        extra=extra,
        extras=extras,
        ids=ids,
        also_preceding=notes.also_preceding,
        rejected=first_rejects(notes.rejected),
        remarks=zero.remarks,
    )


class _Beginning:
    """Time 0 of a log whose submits count from 1970; 0 for any other log."""

    def __init__(self) -> None:
        self.start_ns = 0
        self.remarks: tuple[str, ...] = ()
        self._added = False
        self._known = False

    def of(self, submit_ns: Array, header: Iterable[str]) -> None:
        """Find time 0 from the earliest submits, once."""
        if self._known or not len(submit_ns):
            return
        self._known = True
        earliest = int(submit_ns.min())
        if not _SINCE_1970_NS <= earliest < MAX_NS:
            return
        stated = header_start_s(header)
        is_near = stated is not None and 0 <= earliest - stated * NS_PER_S < _SINCE_1970_NS
        start_s = stated if is_near and stated is not None else earliest // NS_PER_S
        self.start_ns, self._added = start_s * NS_PER_S, not is_near
        where = "the header's UnixStartTime" if is_near else "the earliest submit"
        date = datetime.fromtimestamp(start_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        self.remarks = (f"submits are seconds since 1970: time 0 is {where}, {date}",)

    def shift(self, *columns: Array) -> None:
        """Move instants, -1 for none, in place."""
        for column in columns if self.start_ns else ():
            column[column >= 0] -= self.start_ns

    def header(self, header: Iterable[str]) -> list[str]:
        """The comments, with the start if it was added."""
        if not self._added:
            return list(header)
        kept = [line for line in header if not ((fact := FACT.fullmatch(line)) and fact[1] == "UnixStartTime")]
        return [*kept, f"; UnixStartTime: {self.start_ns // NS_PER_S}"]


def _names(further: Iterable[int], header: Iterable[str]) -> Iterator[str]:
    """The names of the further fields, all different: the header's first name of each, else by their number."""
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
    """Read the line ``text[at:stop]`` into ``jobs[:, column]``, except its line number, and return its kind: one of the codes
    plus ``_CODES`` times the field that decides it; ``_LIST`` is a job with a list in field 17."""
    job_id, submit, run, allocated, requested, estimate = 0, 0, 0, 0, 0, 0
    wait, used_kb, asked_kb = -1, -1, -1
    jobs[17, column], jobs[18, column], jobs[19, column] = -1, -1, -1
    field, found = 0, _JOB
    while True:
        while at < stop and blank(int(text[at])):
            at += 1
        if at == stop:
            break
        field += 1
        first = at
        sign, whole, nano, rest, at = number(text, at, stop)
        if field > _FIELDS:
            if field > _MOST_FIELDS:
                return _MALFORMED + _CODES * field
            value = count(sign, whole, nano, rest) if sign != 0 else NONE
            jobs[field - 2, column] = value if value != NONE else -1
        elif sign == 0:
            if field != _PRECEDING:
                return _MALFORMED + _CODES * field
            one = _first_of_list(text, first, at)
            if one == NONE:
                return _MALFORMED + _CODES * field
            jobs[field - 3, column] = one
            found = _LIST
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
    if field < _FIELDS:
        return _MALFORMED + _CODES * (field + 1)
    wrong = 0  # NONE is negative
    if job_id < 0:
        wrong = 1
    elif submit < 0:
        wrong = 2
    elif run == NONE:
        wrong = 4
    elif allocated == NONE:
        wrong = 5
    elif requested == NONE:
        wrong = 8
    elif estimate == NONE:
        wrong = 9
    if wrong > 0:
        return _MALFORMED + _CODES * wrong
    cancel, status = -1, jobs[8, column]
    if run <= 0:
        # A wait below 0 is unknown; submit + wait is compared so that it cannot overflow.
        if not cancelled or (status != 5 and status != 0) or wait < 0 or wait > _MAX - submit or estimate <= 0:
            return _NO_RUN_TIME + _CODES * 4
        cancel = submit + wait
        run = 1
    cores = requested if requested > 0 else allocated
    if cores <= 0:
        return _NO_PROCESSORS + _CODES * 8
    jobs[0, column] = job_id
    jobs[1, column] = submit
    jobs[2, column] = run
    jobs[3, column] = cores
    jobs[4, column] = estimate if estimate > 0 else run
    jobs[6, column] = wait
    jobs[7, column] = asked_kb if asked_kb > 0 else used_kb
    jobs[16, column] = cancel
    counts[_WIDEST] = max(counts[_WIDEST], field)
    return found


@compiled(inner=True)
def _first_of_list(text: Array, at: int, stop: int) -> int:
    """The first number of a list of job numbers; ``NONE`` if the word ``text[at:stop]`` is not such a list."""
    first, value, digits = NONE, 0, 0
    for k in range(at, stop + 1):
        byte = int(text[k]) if k < stop else 44
        if 48 <= byte <= 57:
            digits += 1
            if digits > _LONGEST_NUMBER:
                return NONE
            value = value * 10 + byte - 48
        elif byte == 44 or byte == 59 or byte == 58 or byte == 47 or byte == 124 or byte == 38:  # , ; : / | &
            if digits == 0:
                return NONE
            if first == NONE:
                first = value
            value, digits = 0, 0
        else:
            return NONE
    return first


@compiled()
def _parse(text: Chars, cancelled: bool, jobs: Ints2, comments: Ints2, noted: Ints2, counts: Ints) -> int:
    """Read the lines of a block, ``text``: int8. Returns the number of comment lines.

    - ``jobs``, int64 (20, at least the number of jobs): filled from the left with job_id, submit_ns, run_ns, cores, estimate_ns
      and line, then ``_EXTRA``, then the fields 19 to 21
    - ``comments``, int64 (3, …): each comment's first index, the index after its last, and its line
    - ``noted``, int64 (5, …): the first rejected lines of each reason, and the jobs with a list in field 17: the kind of each
      from ``_parse_line``, its line number, the column of its job, its first index and the index after its last
    - ``counts``, int64 (7,), of the file: increased by the number of lines that are ``_JOB``, ``_MALFORMED``, …, and by all
      lines; then the largest number of fields of any job, and the number of noted lines
    """
    at, column, n_comments, n_noted, size = 0, 0, 0, 0, len(text)
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
                comments[2, n_comments] = counts[_LINE]
                n_comments += 1
            else:
                code = _parse_line(text, at, stop, cancelled, jobs, column, counts)
                kind = code % _CODES
                if code == _LIST or (code != _JOB and counts[kind] < _MOST_NOTED):
                    noted[0, n_noted], noted[1, n_noted], noted[2, n_noted] = code, counts[_LINE], column
                    noted[3, n_noted], noted[4, n_noted] = at, stop
                    n_noted += 1
                if kind in (_JOB, _LIST):
                    jobs[5, column] = counts[_LINE]
                    column += 1
                    kind = _JOB
                counts[kind] += 1
        at = stop + 1
    counts[_NOTED] = n_noted
    return n_comments
