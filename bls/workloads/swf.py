"""Reads the Standard Workload Format (SWF) of the Parallel Workloads Archive, plain or gzipped.

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
15    queue                ``queue``
16    partition            ``partition``
17    preceding job        ``preceding``
18    think time           ``think_ns``
===== ==================== ==========================================================================

The last ten are extras: where one is not what it should be (negative, beyond 2**62, or fractional where it must be
whole), it is unknown (no memory, no preceding job, a think time of 0), and the line is a job all the same. A
fraction of a KB is rounded up.

The reasons for a reject, in the order they are tested, the first that applies being counted:

1. *malformed*: not 18 fields, or one is not a decimal number; one of the first six above is fractional where it
   must be whole, or beyond ±2**62 (ns for times); the job number or the submit time is negative;
2. *no run time*: it is zero or negative;
3. *no processors*: neither field 8 nor field 5 is positive;
4. *duplicate job number*: an earlier line that passed these tests has it.

The status (field 11) decides nothing: a job that failed, or was cancelled after its start, did use its processors.
One exception is made on request (``cancelled=True``). A job with status 5 (cancelled) or 0 (failed) and no run time
never started; where its wait and its requested time are known, it becomes a job that is cancelled at submit + wait,
with a ``run_ns`` of 1 that stands for nothing (``Workload.run_unknown``), instead of a reject.

Source: D. Feitelson et al., "The Standard Workload Format", Parallel Workloads Archive; S. Chapin et al.,
doi:10.1007/3-540-47954-6_4.
"""

from __future__ import annotations

import gzip
import os
import zlib

import numpy as np

from bls.given_file import read_given
from bls.workload import MALFORMED, NO_PROCESSORS, NO_RUN_TIME, Workload
from traces.compiled import Array, compiled
from traces.errors import InputError
from traces.time import MAX_NS

__all__ = ["parse_swf", "read_swf"]

_GZIP_MAGIC = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_FIELDS = 18

# What a line is; the kernel's codes.
_JOB, _MALFORMED, _NO_RUN_TIME, _NO_PROCESSORS = 0, 1, 2, 3

_MAX = MAX_NS  # the limit of job numbers and processor counts too
_NS_PER_S = 1_000_000_000
_MAX_WHOLE_S = _MAX // _NS_PER_S

#: No value: a number that cannot be used where it stands.
_NONE = -_MAX - 1

# What follows the ninth decimal of a number: nothing, less than half a unit of it, exactly half, more.
_NOTHING, _BELOW_HALF, _HALF, _ABOVE_HALF = 0, 1, 2, 3


# The extra columns, in the order of the kernel's rows 6, 7, ….
_EXTRA = ("wait_ns", "memory_kb", "status", "user", "group", "queue", "partition", "preceding", "think_ns", "cancel_ns")


def read_swf(path: str | os.PathLike[str], *, cancelled: bool = False) -> Workload:
    """Read an SWF file. Whether it is gzipped is seen from its first bytes, not from its name.

    Parameters
    ----------
    path : path
        The file.
    cancelled : bool
        Whether jobs that were cancelled before their start are jobs too.

    Raises
    ------
    InputError
        One line that names the file: it is missing, a directory, not readable, empty, a broken gzip,
        or holds no valid job.
    """
    source = os.fspath(path)
    data = read_given(path, "workload file")
    if data.startswith(_GZIP_MAGIC):
        try:
            data = gzip.decompress(data)
        except EOFError:
            raise InputError(f"{source}: the gzip file is truncated") from None
        except (OSError, zlib.error) as error:
            raise InputError(f"{source}: the gzip file is damaged: {error}") from None
    return parse_swf(data, source, cancelled=cancelled)


def parse_swf(data: bytes, source: str, *, cancelled: bool = False) -> Workload:
    """The workload of an SWF text.

    Parameters
    ----------
    data : bytes
        The text. Lines end in LF or CR LF; a UTF-8 byte order mark is skipped.
    source : str
        The name for messages.
    cancelled : bool
        Whether jobs that were cancelled before their start are jobs too.

    Raises
    ------
    InputError
        If it is empty or holds no valid job.
    """
    if not data:
        raise InputError(f"{source}: the file is empty")
    start = len(_BYTE_ORDER_MARK) if data.startswith(_BYTE_ORDER_MARK) else 0
    most_lines = data.count(b"\n") + 1
    jobs = np.empty((6 + len(_EXTRA), most_lines), dtype=np.int64)
    comments = np.empty((2, data.count(b";")), dtype=np.int64)
    counts = np.zeros(4, dtype=np.int64)
    # Signed bytes: numba takes an unsigned and a signed integer together to a float.
    n_comments = _parse(np.frombuffer(data, dtype=np.int8), start, cancelled, jobs, comments, counts)
    spans = comments[:, :n_comments].T.tolist()
    return Workload.from_lines(
        tuple(jobs[:6, : counts[_JOB]]),
        header=(data[lo:hi].decode("utf-8", "replace").rstrip() for lo, hi in spans),
        rejects={
            MALFORMED: int(counts[_MALFORMED]),
            NO_RUN_TIME: int(counts[_NO_RUN_TIME]),
            NO_PROCESSORS: int(counts[_NO_PROCESSORS]),
        },
        source=source,
        n_lines=int(counts.sum()),
        extra=dict(zip(_EXTRA, jobs[6:, : counts[_JOB]], strict=True)),
    )


@compiled()
def _blank(byte: int) -> bool:
    # Tab, vertical tab, form feed, carriage return, space.
    return byte == 32 or byte == 9 or (11 <= byte <= 13)


@compiled()
def _number(text: Array, at: int, stop: int) -> tuple[int, int, int, int, int]:
    """Read the word at ``text[at]``.

    Returns
    -------
    sign, whole, nano, rest, end : int
        The value is sign × (whole + nano × 1e-9 + rest), where ``whole`` stays at 2**62 + 1 once it is beyond
        2**62 and ``rest`` is a class such as ``_HALF``. ``sign`` is 0 if the word is no decimal number. The
        word ends before ``text[end]``.
    """
    sign, whole, nano, rest = 1, 0, 0, _NOTHING
    digits, decimals, point, good = 0, 0, False, True
    first = at
    while at < stop:
        byte = int(text[at])
        if _blank(byte):
            break
        if 48 <= byte <= 57:
            digit = byte - 48
            digits += 1
            if not point:
                whole = whole * 10 + digit if whole <= (_MAX - digit) // 10 else _MAX + 1
            elif decimals < 9:
                nano = nano * 10 + digit
                decimals += 1
            elif decimals == 9:
                decimals += 1
                if digit > 0:
                    rest = _BELOW_HALF if digit < 5 else (_HALF if digit == 5 else _ABOVE_HALF)
            elif digit > 0:
                if rest == _NOTHING:
                    rest = _BELOW_HALF
                elif rest == _HALF:
                    rest = _ABOVE_HALF
        elif byte == 46 and not point:  # .
            point = True
        elif byte == 45 and at == first:  # -
            sign = -1
        elif byte != 43 or at != first:  # +
            good = False
        at += 1
    for _ in range(decimals, 9):
        nano *= 10
    if digits == 0 or not good:
        sign = 0
    return sign, whole, nano, rest, at


@compiled()
def _count(sign: int, whole: int, nano: int, rest: int) -> int:
    """The value of a whole number, or ``_NONE`` if it is fractional or beyond ±2**62."""
    if whole > _MAX or nano > 0 or rest != _NOTHING:
        return _NONE
    return sign * whole


@compiled()
def _nanoseconds(sign: int, whole: int, nano: int, rest: int) -> int:
    """Seconds in ns, rounded half to even, or ``_NONE`` if beyond ±2**62 ns."""
    if whole > _MAX_WHOLE_S:
        return _NONE
    ns = whole * _NS_PER_S + nano
    if ns > _MAX or (ns == _MAX and rest != _NOTHING):
        return _NONE
    if rest == _ABOVE_HALF or (rest == _HALF and ns % 2 == 1):
        ns += 1
    return sign * ns


@compiled()
def _kilobytes(sign: int, whole: int, nano: int, rest: int) -> int:
    """The value rounded up, or -1 if it is not positive or beyond 2**62."""
    more = nano > 0 or rest != _NOTHING
    if sign < 0 or whole > _MAX or (whole == _MAX and more) or (whole == 0 and not more):
        return -1
    return whole + 1 if more else whole


@compiled()
def _parse_line(text: Array, at: int, stop: int, cancelled: bool, jobs: Array, column: int) -> int:
    """Read the line ``text[at:stop]`` into ``jobs[:, column]``, its number aside, and say what it is."""
    job_id, submit, run, allocated, requested, estimate = 0, 0, 0, 0, 0, 0
    wait, used_kb, asked_kb, status, think = -1, -1, -1, -1, 0
    user, group, queue, partition, preceding = -1, -1, -1, -1, -1
    field = 0
    while True:
        while at < stop and _blank(int(text[at])):
            at += 1
        if at == stop:
            break
        field += 1
        sign, whole, nano, rest, at = _number(text, at, stop)
        if field > _FIELDS or sign == 0:
            return _MALFORMED
        if field == 1:
            job_id = _count(sign, whole, nano, rest)
        elif field == 2:
            submit = _nanoseconds(sign, whole, nano, rest)
        elif field == 4:
            run = _nanoseconds(sign, whole, nano, rest)
        elif field == 5:
            allocated = _count(sign, whole, nano, rest)
        elif field == 8:
            requested = _count(sign, whole, nano, rest)
        elif field == 9:
            estimate = _nanoseconds(sign, whole, nano, rest)
        elif field == 3:
            wait = max(-1, _nanoseconds(sign, whole, nano, rest))
        elif field == 7:
            used_kb = _kilobytes(sign, whole, nano, rest)
        elif field == 10:
            asked_kb = _kilobytes(sign, whole, nano, rest)
        elif field == 11:
            status = max(-1, _count(sign, whole, nano, rest))
        elif field == 12:
            user = max(-1, _count(sign, whole, nano, rest))
        elif field == 13:
            group = max(-1, _count(sign, whole, nano, rest))
        elif field == 15:
            queue = max(-1, _count(sign, whole, nano, rest))
        elif field == 16:
            partition = max(-1, _count(sign, whole, nano, rest))
        elif field == 17:
            preceding = max(-1, _count(sign, whole, nano, rest))
        elif field == 18:
            think = max(0, _nanoseconds(sign, whole, nano, rest))
    if field != _FIELDS or job_id < 0 or submit < 0:  # _NONE is negative
        return _MALFORMED
    if run == _NONE or allocated == _NONE or requested == _NONE or estimate == _NONE:
        return _MALFORMED
    cancel = -1
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
    jobs[8, column] = status
    jobs[9, column] = user
    jobs[10, column] = group
    jobs[11, column] = queue
    jobs[12, column] = partition
    jobs[13, column] = preceding
    jobs[14, column] = think
    jobs[15, column] = cancel
    return _JOB


@compiled()
def _parse(text: Array, at: int, cancelled: bool, jobs: Array, comments: Array, counts: Array) -> int:
    """Read all lines.

    Parameters
    ----------
    text : ndarray of int8
        The file, read from index ``at`` on.
    cancelled : bool
        Whether jobs that were cancelled before their start are jobs.
    jobs : ndarray of int64, shape (16, at least the number of lines)
        Filled from the left with the jobs' job_id, submit_ns, run_ns, cores, estimate_ns and line, then ``_EXTRA``.
    comments : ndarray of int64, shape (2, at least the number of comment lines)
        Filled from the left with each comment's first index and the index after its last.
    counts : ndarray of int64, shape (4,)
        Increased by the number of lines that are ``_JOB``, ``_MALFORMED``, …

    Returns
    -------
    int
        Number of comment lines.
    """
    line, n_comments, size = 0, 0, len(text)
    while at < size:
        line += 1
        stop = at
        while stop < size and text[stop] != 10:
            stop += 1
        while at < stop and _blank(int(text[at])):
            at += 1
        if at < stop:
            if text[at] == 59:  # ;
                comments[0, n_comments] = at
                comments[1, n_comments] = stop
                n_comments += 1
            else:
                column = counts[_JOB]
                kind = _parse_line(text, at, stop, cancelled, jobs, column)
                if kind == _JOB:
                    jobs[5, column] = line
                counts[kind] += 1
        at = stop + 1
    return n_comments
