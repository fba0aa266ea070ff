"""The workload: jobs as columns, and an account of every line that did not become one.

Readers (``bls.workloads``) make it, ``bls.selection`` cuts it, the engines only look at it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any

import numpy as np

from traces.compiled import Array
from traces.errors import InputError, shown
from traces.time import MAX_NS, NS_PER_S

__all__ = [
    "DUPLICATE",
    "MALFORMED",
    "NO_PROCESSORS",
    "NO_RUN_TIME",
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

_COLUMNS = ("job_id", "submit_ns", "run_ns", "cores", "estimate_ns", "line")


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

    def __post_init__(self) -> None:
        for name in _COLUMNS:
            column = np.array(getattr(self, name), dtype=np.int64)  # a copy: nobody else can write to it
            if column.shape != (len(self.job_id),):
                raise InputError(
                    f"{self.source}: column {name} has shape {column.shape}; allowed: ({len(self.job_id)},)"
                )
            column.flags.writeable = False
            object.__setattr__(self, name, column)
        if len(self) == 0:
            raise InputError(f"{self.source}: a workload needs at least one job")
        lowest = {"job_id": 0, "submit_ns": 0, "run_ns": 1, "cores": 1, "estimate_ns": 1, "line": 1}
        for name in _COLUMNS:
            column = getattr(self, name)
            for value in (int(column.min()), int(column.max())):
                if not lowest[name] <= value <= MAX_NS:
                    allowed = f"{lowest[name]} to {MAX_NS}"
                    raise InputError(f"{self.source}: {name} {value} is out of range; allowed: {allowed}")
        later = np.diff(self.submit_ns)
        if np.any((later < 0) | ((later == 0) & (np.diff(self.line) <= 0))):
            raise InputError(f"{self.source}: jobs are not sorted by (submit, line)")
        if np.any(np.diff(np.sort(self.job_id)) == 0):
            raise InputError(f"{self.source}: two jobs have the same number")
        counts = dict.fromkeys(REASONS, 0) | dict(self.rejects)
        object.__setattr__(self, "rejects", MappingProxyType(counts))

    def __len__(self) -> int:
        return len(self.job_id)

    def __reduce__(self) -> tuple[Any, ...]:
        # Rebuilt by the constructor: a copy in another process is checked and read-only too.
        values = {field.name: getattr(self, field.name) for field in fields(self)}
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
        taken = {name: getattr(self, name)[rows] for name in _COLUMNS}
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

        Raises
        ------
        InputError
            If no job is left.
        """
        if len(columns[0]) == 0:
            lines = f"{n_lines} line{'s' * (n_lines != 1)}"
            raise InputError(f"{source}: no valid job in {lines}: {rejects_text(rejects)}")
        kept = np.sort(np.unique(columns[0], return_index=True)[1])
        duplicates = len(columns[0]) - len(kept)
        submit = columns[1][kept]
        order = np.argsort(submit, kind="stable")
        return cls(
            **dict(zip(_COLUMNS, (column[kept][order] for column in columns), strict=True)),
            header=tuple(header),
            rejects={**rejects, DUPLICATE: rejects.get(DUPLICATE, 0) + duplicates},
            reordered=int(np.count_nonzero(submit < np.maximum.accumulate(submit))),
            clamped=0,
            source=source,
            n_lines=n_lines,
        )

    @classmethod
    def from_jobs(cls, jobs: Iterable[Sequence[Any]], source: str = "jobs") -> Workload:
        """A workload of plain Python values. A job that a reader would reject is an error here.

        Parameters
        ----------
        jobs : iterable of (job_id, submit_s, run_s, cores, estimate_s)
            Times in seconds, rounded to ns. An estimate that is None, zero or negative is the run time.
        source : str
            A name for messages.

        Raises
        ------
        InputError
            If a value is no number, out of range or of a type that is none, or two jobs have the same number.

        Examples
        --------
        >>> len(Workload.from_jobs([(1, 0, 60, 4, 120), (2, 0.5, 30, 2, None)]))
        2
        """
        rows = [_job(job, f"{source}[{place}]") for place, job in enumerate(jobs)]
        if not rows:
            raise InputError(f"{source}: a workload needs at least one job")
        table = np.array(rows, dtype=np.int64).T
        columns = [*table, np.arange(1, len(rows) + 1)]
        made = cls.from_lines(columns, header=(), rejects={}, source=source, n_lines=len(rows))
        if made.rejects[DUPLICATE]:
            raise InputError(f"{source}: two jobs have the same number")
        return made


def rejects_text(rejects: Mapping[str, int]) -> str:
    """The reasons that occurred, as ``malformed 3, no run time 1``, or ``no rejects``."""
    return ", ".join(f"{reason} {count}" for reason, count in rejects.items() if count) or "no rejects"


def _job(job: Sequence[Any], where: str) -> tuple[int, int, int, int, int]:
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
    return (*row, asked if asked > 0 else row[2])


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
