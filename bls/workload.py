"""The workload: jobs as columns, and an account of every line that did not become one.

Readers (``bls.workloads``) make it, ``bls.selection`` cuts it, the engines only look at it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import partial
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any

import numpy as np

from traces.compiled import Array
from traces.errors import InputError, one_of, shown
from traces.time import MAX_NS, NS_PER_S

__all__ = [
    "DUPLICATE",
    "MALFORMED",
    "NAME_LENGTH",
    "NO_PROCESSORS",
    "NO_RUN_TIME",
    "OPTIONAL",
    "REASONS",
    "TOO_WIDE",
    "Workload",
    "rejects_text",
]

MALFORMED = "malformed"
NO_RUN_TIME = "no run time"
NO_PROCESSORS = "no processors"
DUPLICATE = "duplicate job number"
TOO_WIDE = "wider than the platform"

#: Why a line is no job, in the order in which the reasons are tested: the first that applies is counted.
REASONS = (MALFORMED, NO_RUN_TIME, NO_PROCESSORS, DUPLICATE, TOO_WIDE)

#: The longest name of a further column.
NAME_LENGTH = 100

_COLUMNS = ("job_id", "submit_ns", "run_ns", "cores", "estimate_ns", "line")

#: The columns that a workload may do without, and what then stands in every row.
OPTIONAL: Mapping[str, int] = MappingProxyType(
    {
        "user": -1,
        "group": -1,
        "queue": -1,
        "partition": -1,
        "qos": -1,
        "memory_kb": -1,
        "preceding": -1,
        "think_ns": 0,
        "cancel_ns": -1,
        "wait_ns": -1,
        "status": -1,
        "preset": 0,
        "application": -1,
    }
)

# SWF's status of a job that failed and of one that was cancelled: those that may be cancelled before their start.
_FAILED, _CANCELLED = 0, 5


# What stands in every row of an optional column that is not given.
_unknown = partial(np.array, -1)
_zero = partial(np.array, 0)


@dataclass(frozen=True, eq=False)
class Workload:
    """At least one job, one row each, sorted by (submit, line). Arrays are read-only.

    Attributes
    ----------
    job_id : ndarray of int64, shape (n,)
        Job numbers, 0 to 2**62, all different.
    submit_ns : ndarray of int64, shape (n,)
        Instants since the workload's time 0, 0 to 2**62.
    run_ns, estimate_ns : ndarray of int64, shape (n,)
        Recorded run time and the user's estimate of it, 1 to 2**62. An estimate may be shorter than the run.
    cores : ndarray of int64, shape (n,)
        Cores the job asks for, 1 to 2**62.
    line : ndarray of int64, shape (n,)
        Number of the job's line in its file, from 1.
    header : tuple of str
        The file's comment lines, in order.
    rejects : mapping of str to int
        How many lines were rejected, by reason: all of ``REASONS`` in their order, zeros included, then any
        others of a reader's.
    reordered : int
        How many of the jobs read were submitted before a job of an earlier line, and so were moved.
    clamped : int
        How many jobs were narrowed to the platform (``bls.selection.fit``).
    source : str
        The file's name as it was given, for messages.
    n_lines : int
        Lines of the file that are neither comment nor blank.
    user, group, queue, partition, qos : ndarray of int64, shape (n,)
        Numbers that the log gives them, -1 where unknown. These columns and those that follow may be given as
        one number for all rows, and have the default of :data:`OPTIONAL`.
    memory_kb : ndarray of int64, shape (n,)
        Memory per core that the job asks for (else used), in KB; -1 where unknown.
    preceding : ndarray of int64, shape (n,)
        Number of the job after whose end this one is submitted; -1 for none. ``bls.dependencies`` reads it.
    think_ns : ndarray of int64, shape (n,)
        Time from that end to the submit, from 0.
    cancel_ns : ndarray of int64, shape (n,)
        Instant at which the user cancels the job, not before its submit; -1 for never.
    wait_ns : ndarray of int64, shape (n,)
        Wait that the log records, -1 where unknown.
    status : ndarray of int64, shape (n,)
        SWF's status, -1 where unknown: 0 failed, 1 completed, 5 cancelled (others in the format's definition).
    preset : ndarray of int64, shape (n,)
        1 for a job that runs already at time 0 (``bls.selection.select``), else 0; such a job is submitted at 0.
    application : ndarray of int64, shape (n,)
        Number that the log gives the program that the job runs, -1 where unknown.
    extras : mapping of str to ndarray of int64, shape (n,)
        Further columns of a log, by name: any whole numbers, -1 where unknown. Nothing here reads them; they go
        with their jobs.

    An optional or further column that is one number for all rows is kept as that number only (a broadcast array),
    so that millions of jobs need no memory for what their log does not say.

    Raises
    ------
    InputError
        If there is no job, or a column breaks the rules above.
    """

    job_id: Array
    submit_ns: Array
    run_ns: Array
    cores: Array
    estimate_ns: Array
    line: Array
    header: tuple[str, ...]
    rejects: Mapping[str, int]
    reordered: int
    clamped: int
    source: str
    n_lines: int
    user: Array = field(default_factory=_unknown)
    group: Array = field(default_factory=_unknown)
    queue: Array = field(default_factory=_unknown)
    partition: Array = field(default_factory=_unknown)
    qos: Array = field(default_factory=_unknown)
    memory_kb: Array = field(default_factory=_unknown)
    preceding: Array = field(default_factory=_unknown)
    think_ns: Array = field(default_factory=_zero)
    cancel_ns: Array = field(default_factory=_unknown)
    wait_ns: Array = field(default_factory=_unknown)
    status: Array = field(default_factory=_unknown)
    preset: Array = field(default_factory=_zero)
    application: Array = field(default_factory=_unknown)
    extras: Mapping[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n = np.size(self.job_id)
        for name in (*_COLUMNS, *OPTIONAL):
            where = f"{self.source}: column {name}"
            object.__setattr__(self, name, _kept(getattr(self, name), n, name in OPTIONAL, where))
        if n == 0:
            raise InputError(f"{self.source}: a workload needs at least one job")
        extras = {name: _further(name, column, n, self.source) for name, column in self.extras.items()}
        object.__setattr__(self, "extras", MappingProxyType(extras))
        lowest = {"job_id": 0, "submit_ns": 0, "run_ns": 1, "cores": 1, "estimate_ns": 1, "line": 1, **OPTIONAL}
        for name in (*_COLUMNS, *OPTIONAL):
            column = getattr(self, name)
            highest = 1 if name == "preset" else MAX_NS
            for value in _ends(column):
                if not lowest[name] <= value <= highest:
                    allowed = f"{lowest[name]} to {highest}"
                    raise InputError(f"{self.source}: {name} {value} is out of range; allowed: {allowed}")
        later = np.diff(self.submit_ns)
        if np.any((later < 0) | ((later == 0) & (np.diff(self.line) <= 0))):
            raise InputError(f"{self.source}: jobs are not sorted by (submit, line)")
        if not _ascends(self.job_id) and np.any(np.diff(np.sort(self.job_id)) == 0):
            raise InputError(f"{self.source}: two jobs have the same number")
        early = np.flatnonzero((self.cancel_ns >= 0) & (self.cancel_ns < self.submit_ns))
        if len(early):
            raise InputError(f"{self.source}: job {self.job_id[early[0]]} is cancelled before its submit")
        late = np.flatnonzero((self.preset == 1) & (self.submit_ns > 0))
        if len(late):
            raise InputError(f"{self.source}: preset job {self.job_id[late[0]]} is not submitted at time 0")
        counts = dict.fromkeys(REASONS, 0) | dict(self.rejects)
        object.__setattr__(self, "rejects", MappingProxyType(counts))

    def __len__(self) -> int:
        return len(self.job_id)

    @property
    def run_unknown(self) -> Array:
        """Jobs that the log's user cancelled before their start, so that no run time is known: bool, shape (n,).

        Such a job has a cancel instant, status 5 (or 0) and ``run_ns`` 1, which stands for nothing: if it does
        start, it runs until it is stopped.
        """
        ended = (self.status == _CANCELLED) | (self.status == _FAILED)
        return np.asarray((self.cancel_ns >= 0) & (self.run_ns == 1) & ended)

    def __reduce__(self) -> tuple[Any, ...]:
        # Rebuilt by the constructor: a copy in another process is checked and read-only too.
        values = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        values |= {name: _packed(values[name]) for name in OPTIONAL}
        values["extras"] = {name: _packed(column) for name, column in self.extras.items()}
        return Workload, tuple((values | {"rejects": dict(self.rejects)}).values())

    def take(self, rows: Array, **changes: Any) -> Workload:
        """The jobs of some rows, with everything else kept.

        Parameters
        ----------
        rows : ndarray
            Ascending row numbers, or a mask of shape (n,).
        **changes
            Other values for the fields, as ``submit_ns``; columns as long as the rows taken.
        """
        taken: dict[str, Any] = {name: getattr(self, name)[rows] for name in _COLUMNS}
        taken |= {name: _taken(getattr(self, name), rows) for name in OPTIONAL}
        taken["extras"] = {name: _taken(column, rows) for name, column in self.extras.items()}
        return replace(self, **(taken | changes))

    @classmethod
    def from_lines(
        cls,
        columns: Sequence[Array],
        *,
        header: Iterable[str],
        rejects: Mapping[str, int],
        source: str,
        n_lines: int,
        extra: Mapping[str, Array] | None = None,
        extras: Mapping[str, Array] | None = None,
    ) -> Workload:
        """The workload of a file's valid lines: for readers, which leave the order and duplicates to this.

        A job number belongs to the first line that has it; later ones are rejected. Jobs submitted before a
        job of an earlier line are counted as reordered, then all are sorted by (submit, line).

        Parameters
        ----------
        columns : six ndarrays of int64
            ``job_id``, ``submit_ns``, ``run_ns``, ``cores``, ``estimate_ns``, ``line``; lines ascend.
        header, rejects, source, n_lines
            As the attributes; ``rejects`` without the duplicates.
        extra : mapping of str to ndarray, optional
            Any of the columns of :data:`OPTIONAL`, as long as the others or one number for all rows.
        extras : mapping of str to ndarray, optional
            Further columns of the log, by name, as long as the others or one number for all rows.

        Arrays that own their numbers and are read-only are kept as they are; others are copied.

        Raises
        ------
        InputError
            If no job is left, or a column of ``extra`` is unknown.
        """
        for name in extra or ():
            if name not in OPTIONAL:
                raise one_of("column", name, OPTIONAL, source)
        if len(columns[0]) == 0:
            lines = f"{n_lines} line{'s' * (n_lines != 1)}"
            other = "; perhaps it is in another format" if 0 < n_lines == rejects.get(MALFORMED) else ""
            raise InputError(f"{source}: no valid job in {lines}: {rejects_text(rejects)}{other}")
        named: dict[str, Any] = dict(zip(_COLUMNS, columns, strict=True)) | dict(extra or {})
        others = dict(extras or {})
        submit, duplicates, reordered = np.asarray(columns[1]), 0, 0
        kept: Array | None = None
        if not _ascends(np.asarray(columns[0])):
            kept = np.sort(np.unique(columns[0], return_index=True)[1])
            duplicates = len(columns[0]) - len(kept)
            submit = submit[kept]
        if np.any(submit[1:] < submit[:-1]):
            reordered = int(np.count_nonzero(submit < np.maximum.accumulate(submit)))
            order = np.argsort(submit, kind="stable")
            kept = order if kept is None else kept[order]
        elif not duplicates:
            kept = None
        if kept is not None:
            named = {name: _taken(column, kept) for name, column in named.items()}
            others = {name: _taken(column, kept) for name, column in others.items()}
        return cls(
            **named,
            header=tuple(header),
            rejects={**rejects, DUPLICATE: rejects.get(DUPLICATE, 0) + duplicates},
            reordered=reordered,
            clamped=0,
            source=source,
            n_lines=n_lines,
            extras=others,
        )

    @classmethod
    def from_jobs(cls, jobs: Iterable[Sequence[Any] | Mapping[str, Any]], source: str = "jobs") -> Workload:
        """A workload of plain Python values. A job that a reader would reject is an error here.

        Parameters
        ----------
        jobs : iterable of (job_id, submit_s, run_s, cores, estimate_s) or of mapping
            Times in seconds, rounded to ns. An estimate that is None, zero or negative is the run time.
            A mapping has these keys, ``estimate_s`` not being needed, and any of ``user``, ``group``, ``queue``,
            ``partition``, ``qos``, ``memory_kb``, ``preceding``, ``think_s``, ``cancel_s`` (an instant),
            ``wait_s``, ``status``, ``preset`` and ``application``. A ``run_s`` of None, with an estimate and
            ``cancel_s``, is that of a job whose run time nobody knows, as it was cancelled before its start.
        source : str
            A name for messages.

        Raises
        ------
        InputError
            If a value is no number, out of range or of a type that is none, a key is unknown or missing, or two
            jobs have the same number.

        Examples
        --------
        >>> len(Workload.from_jobs([(1, 0, 60, 4, 120), {"job_id": 2, "submit_s": 0.5, "run_s": 30, "cores": 2}]))
        2
        """
        rows = [_job(job, f"{source}[{place}]") for place, job in enumerate(jobs)]
        if not rows:
            raise InputError(f"{source}: a workload needs at least one job")
        table = np.array(rows, dtype=np.int64).T.copy()
        columns = [*table[:5], np.arange(1, len(rows) + 1)]
        extra = dict(zip(OPTIONAL, table[5:], strict=True))
        made = cls.from_lines(columns, header=(), rejects={}, source=source, n_lines=len(rows), extra=extra)
        if made.rejects[DUPLICATE]:
            raise InputError(f"{source}: two jobs have the same number")
        return made


def _kept(values: Any, n: int, optional: bool, where: str) -> Array:
    """``values`` as a read-only column that nobody else can write to; one number for all rows is kept as one."""
    given = np.asarray(values, dtype=np.int64)
    if optional and given.ndim == 0:
        return _constant(int(given), n)
    if given.shape != (n,):
        raise InputError(f"{where} has shape {given.shape}; allowed: ({n},)")
    if optional and n:
        lowest, highest = _ends(given)
        if lowest == highest:
            return _constant(lowest, n)
    if given.base is None and not given.flags.writeable and given.flags.c_contiguous:
        return given
    column = np.array(given)
    column.flags.writeable = False
    return column


def _constant(value: int, n: int) -> Array:
    return np.broadcast_to(np.int64(value), (n,))


def _is_constant(column: Array) -> bool:
    # One number for all rows: the next row is where the first is.
    return column.ndim == 0 or (len(column) > 0 and column.strides == (0,))


def _packed(column: Array) -> Array:
    return np.array(column.flat[0]) if _is_constant(column) else column


def _taken(column: Any, rows: Array) -> Array:
    values = np.asarray(column)
    return _packed(values) if _is_constant(values) else np.asarray(values[rows])


def _ends(column: Array) -> tuple[int, int]:
    if _is_constant(column):
        return int(column[0]), int(column[0])
    return int(column.min()), int(column.max())


def _ascends(column: Array) -> bool:
    return bool(np.all(column[1:] > column[:-1]))


def _further(name: object, column: Any, n: int, source: str) -> Array:
    if not isinstance(name, str) or not name.isprintable() or not 1 <= len(name) <= NAME_LENGTH:
        allowed = f"1 to {NAME_LENGTH} printable characters"
        raise InputError(f"{source}: a further column is called {shown(name)}; allowed: {allowed}")
    values = np.asarray(column)
    if values.dtype.kind not in "iu" or not np.can_cast(values.dtype, np.int64):
        raise InputError(f"{source}: column {name} is of type {values.dtype}; allowed: int64")
    return _kept(values, n, True, f"{source}: column {name}")


def rejects_text(rejects: Mapping[str, int]) -> str:
    """The reasons that occurred, as ``malformed 3, no run time 1``, or ``no rejects``."""
    return ", ".join(f"{reason} {count}" for reason, count in rejects.items() if count) or "no rejects"


_KEYS = ("job_id", "submit_s", "run_s", "cores", "estimate_s")
_OPTIONAL_KEYS = tuple(f"{name.removesuffix('_ns')}_s" if name.endswith("_ns") else name for name in OPTIONAL)


def _job(job: Sequence[Any] | Mapping[str, Any], where: str) -> tuple[int, ...]:
    extra: tuple[int, ...] = tuple(OPTIONAL.values())
    if isinstance(job, Mapping):
        for key in job:
            if key not in _KEYS and key not in _OPTIONAL_KEYS:
                raise one_of("key", key, (*_KEYS, *_OPTIONAL_KEYS), where)
        for key in _KEYS[:4]:
            if key not in job:
                raise InputError(f"{where}: {key}: missing")
        if job["run_s"] is None:
            return _cancelled(job, where)
        extra = tuple(_optional(job, key, default, where) for key, default in zip(_OPTIONAL_KEYS, extra, strict=True))
        job = [job.get(key) for key in _KEYS]
    if len(job) != 5:
        raise InputError(f"{where}: {len(job)} values; a job is (job_id, submit_s, run_s, cores, estimate_s)")
    job_id, submit, run, cores, estimate = job
    row = (
        _number(job_id, 1, 0, f"{where}: job_id"),
        _number(submit, NS_PER_S, 0, f"{where}: submit_s"),
        _number(run, NS_PER_S, 1, f"{where}: run_s"),
        _number(cores, 1, 1, f"{where}: cores"),
    )
    asked = 0 if estimate is None else _number(estimate, NS_PER_S, -MAX_NS, f"{where}: estimate_s")
    return (*row, asked if asked > 0 else row[2], *extra)


def _cancelled(job: Mapping[str, Any], where: str) -> tuple[int, ...]:
    # A job whose run time is not known: status and run time are those by which ``Workload.run_unknown`` tells it.
    for key in ("cancel_s", "estimate_s"):
        if job.get(key) is None:
            raise InputError(f"{where}: run_s: None needs {key}: nothing else says how long the job lasts")
    if job.get("status", _CANCELLED) not in (_FAILED, _CANCELLED):
        raise InputError(f"{where}: status: {shown(job['status'])} with run_s None; allowed: 0 or 5")
    return _job({"status": _CANCELLED, **job, "run_s": 1e-9}, where)


def _optional(job: Mapping[str, Any], key: str, default: int, where: str) -> int:
    if job.get(key) is None:
        return default
    unit = NS_PER_S if key.endswith("_s") else 1
    value = job[key]
    if default == -1 and type(value) is not bool and isinstance(value, Integral) and int(value) == -1:
        return -1  # unknown, as a log says it
    return _number(value, unit, 0, f"{where}: {key}")


def _number(value: Any, unit: int, lowest: int, where: str) -> int:
    """``value`` in multiples of 1/``unit``, rounded half to even; whole to begin with where ``unit`` is 1."""
    exact: Fraction | None = None
    if isinstance(value, bool):
        pass  # True is no number of seconds
    elif isinstance(value, Integral):
        exact = Fraction(int(value))
    elif isinstance(value, Real) and math.isfinite(value):
        exact = Fraction(float(value))
    if exact is not None:
        rounded = round(exact * unit)
        if lowest <= rounded and abs(rounded) <= MAX_NS and (unit > 1 or rounded == exact):
            return rounded
    kind = "whole number" if unit == 1 else "number of seconds"
    bound = {1: " above 0", 0: " from 0"}.get(lowest, "")
    raise InputError(f"{where}: {shown(value)} is not a {kind}{bound}, or is beyond the range")
