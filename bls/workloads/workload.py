"""The workload: jobs as columns, and an account of every line that did not become a job.

Readers (``bls.workloads``) make it, ``bls.workloads.selection`` selects jobs, the engines only read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from bls.engine.features.presets.options import PRESET
from bls.workloads import columns as col
from bls.workloads.columns import COLUMNS, KEPT, OPTIONAL, RejectedLine, first_rejects, rejects_text, taken_rows
from bls.workloads.plain_jobs import job_row, numbered, with_one_preceding
from traces.base.columns import html_table, read_only
from traces.base.errors import InputError, in_python, one_of, spelled
from traces.base.time import MAX_NS, format_ns
from traces.compiled import Array

MALFORMED = "malformed"
NO_RUN_TIME = "no run time"
NO_PROCESSORS = "no processors"
DUPLICATE = "duplicate job number"
TOO_WIDE = "wider than the platform"

#: Reasons for a reject, in the order of the tests: the first that applies is counted.
REASONS = (MALFORMED, NO_RUN_TIME, NO_PROCESSORS, DUPLICATE, TOO_WIDE)

# Default values of optional columns.
_unknown = partial(np.array, -1)
_zero = partial(np.array, 0)


@dataclass(frozen=True)
class LogWindow:
    """The part of a log that was selected."""

    # its jobs are submitted in [begin, end) of the log's time; begin is the workload's time 0
    begin_ns: int
    end_ns: int
    # the reason why the machine is empty at its start; "" if the workload has the jobs that the log records then
    empty: str = ""


@dataclass(frozen=True, eq=False)
class Workload:
    """At least one job, one row each, sorted by (submit, line). Arrays are read-only, of shape (n,), int64 if nothing else is
    stated.

    Optional columns (:data:`bls.workloads.columns.OPTIONAL`) may be given as one number for all rows. If all rows of an
    optional or further column have the same number, it keeps one number only (a broadcast array), so that missing facts about
    millions of jobs need no memory. Raises InputError if there is no job, or a column breaks the rules below.
    """

    job_id: Array  #: job numbers, 0 to 2**62, all different
    submit_ns: Array  #: instants since the workload's time 0, 0 to 2**62
    run_ns: Array  #: recorded run time, 1 to 2**62
    cores: Array  #: requested cores, 1 to 2**62
    estimate_ns: Array  #: the user's estimate of the run time, 1 to 2**62; may be shorter than the run time
    line: Array  #: number of the job's line in its file, from 1
    header: tuple[str, ...]  #: the file's comment lines, in order
    #: number of rejected lines by reason: all of ``REASONS`` in their order, including zeros, then others of a reader
    rejects: Mapping[str, int]
    reordered: int  #: number of jobs that were moved because they were submitted before a job of an earlier line
    clamped: int  #: number of jobs narrowed to the platform (``bls.workloads.selection.fit``)
    source: str  #: the file's name as the user gave it, for messages
    n_lines: int  #: number of lines of the file that are neither comments nor blank
    #: the log's numbers; -1 if unknown
    user: Array = field(default_factory=_unknown)
    group: Array = field(default_factory=_unknown)
    queue: Array = field(default_factory=_unknown)
    partition: Array = field(default_factory=_unknown)
    qos: Array = field(default_factory=_unknown)
    memory_kb: Array = field(default_factory=_unknown)  #: memory per core that the job requests (else uses), KB
    preceding: Array = field(default_factory=_unknown)  #: number of the job after whose end this one is submitted
    think_ns: Array = field(default_factory=_zero)  #: time from that end to the submit, from 0
    #: instant at which the user cancels the job, not before its submit; -1 for never
    cancel_ns: Array = field(default_factory=_unknown)
    wait_ns: Array = field(default_factory=_unknown)  #: wait recorded in the log
    #: SWF's status: 0 failed, 1 completed, 5 cancelled (others in the format's definition)
    status: Array = field(default_factory=_unknown)
    #: 1 for a job that runs at time 0 (``bls.workloads.selection.select``), else 0
    preset: Array = field(default_factory=_zero)
    application: Array = field(default_factory=_unknown)  #: the log's number of the program that the job runs
    #: instant from which the job may join the queue, if later than the submit; waits count from it
    begin_ns: Array = field(default_factory=_unknown)
    #: further columns of a log, by name: any integers, -1 if unknown. They stay with their jobs and are not used.
    extras: Mapping[str, Array] = field(default_factory=dict)
    #: names of jobs: the name of each number of ``application``; empty if the log has only numbers
    names: Mapping[int, str] = field(default_factory=dict)
    waiting: int = 0  #: number of jobs that were submitted before time 0 and, by the log, still waited then
    #: the log's text ids of single jobs, by job number, as Batsim's ``w0!17``; empty if the log has only numbers
    ids: Mapping[int, str] = field(default_factory=dict)
    #: further jobs, besides ``preceding``, after whose end a job is submitted: their numbers by its number. Its think
    #: time counts from the last of these ends.
    also_preceding: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    #: the first lines of each reason, with their error if the reader reports it
    rejected: tuple[RejectedLine, ...] = ()
    remarks: tuple[str, ...] = ()  #: assumptions of the reader about the file, one line each, for people
    #: the log's names of the numbers of a column: ``user``, ``group``, ``queue``, ``partition``, ``qos`` or a further
    #: one. Names of queues, partitions and QOS may be in the header instead.
    labels: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    window: LogWindow | None = None  #: the selected part of the log; None if it was not selected by time
    #: jobs that are simulated but that no metric counts (bool): those before the measured part of a replication; None:
    #: there are none
    uncounted: Array | None = None

    def __post_init__(self) -> None:
        n, source = np.size(self.job_id), self.source
        kept: dict[str, Any] = {name: tuple(getattr(self, name)) for name in ("header", "rejected", "remarks")}
        for name in (*COLUMNS, *OPTIONAL):
            kept[name] = col.kept_column(getattr(self, name), n, name in OPTIONAL, f"{source}: column {name}")
        if n == 0:
            raise InputError(f"{source}: a workload needs at least one job")
        extras = {name: col.further_column(name, column, n, source) for name, column in self.extras.items()}
        labels = {name: col.kept_names(known, source) for name, known in self.labels.items()}
        kept |= {"extras": MappingProxyType(extras), "labels": MappingProxyType(labels)}
        kept |= {"names": col.kept_names(self.names, source), "ids": col.kept_names(self.ids, source)}
        kept["also_preceding"] = MappingProxyType(dict(self.also_preceding))
        kept["rejects"] = MappingProxyType(dict.fromkeys(REASONS, 0) | dict(self.rejects))
        if self.uncounted is not None:
            uncounted = np.array(self.uncounted, bool)
            if uncounted.shape != (n,):
                raise InputError(f"{source}: uncounted has shape {uncounted.shape}; allowed: ({n},)")
            kept["uncounted"] = read_only(uncounted) if uncounted.any() else None
        for name, value in kept.items():
            object.__setattr__(self, name, value)
        lowest = {"job_id": 0, "submit_ns": 0, "run_ns": 1, "cores": 1, "estimate_ns": 1, "line": 1, **OPTIONAL}
        for name in (*COLUMNS, *OPTIONAL):
            column = getattr(self, name)
            highest = 1 if name == "preset" else MAX_NS
            for value in col.ends(column):
                if not lowest[name] <= value <= highest:
                    allowed = f"{lowest[name]} to {highest}"
                    raise InputError(f"{self.source}: {name} {value} is out of range; allowed: {allowed}")
        later = np.diff(self.submit_ns)
        if np.any((later < 0) | ((later == 0) & (np.diff(self.line) <= 0))):
            raise InputError(f"{self.source}: jobs are not sorted by (submit, line)")
        if not col.ascends(self.job_id) and np.any(np.diff(np.sort(self.job_id)) == 0):
            raise InputError(f"{self.source}: two jobs have the same number")
        preset = self.preset == 1
        for wrong, fault in (
            ((self.cancel_ns >= 0) & (self.cancel_ns < self.submit_ns), "job {} is cancelled before its submit"),
            (preset & (self.submit_ns > 0), "preset job {} is not submitted at time 0"),
            (preset & (self.begin_ns > 0), "preset job {} begins after time 0"),
        ):
            if wrong.any():
                raise InputError(f"{source}: {fault.format(self.job_id[wrong.argmax()])}")

    def __len__(self) -> int:
        return len(self.job_id)

    def _repr_html_(self) -> str:
        span = (int(self.submit_ns[0]), int(self.submit_ns[-1]))
        rows = {
            "workload": self.source or "–",
            "jobs": f"{len(self)}",
            "lines": f"{self.n_lines}, {rejects_text(self.rejects, self.rejected)}",
            "submits": " to ".join(map(format_ns, span)),
            "cores of a job": f"{self.cores.min()} to {self.cores.max()}",
            "run times": f"{format_ns(int(self.run_ns.min()))} to {format_ns(int(self.run_ns.max()))}",
        }
        return html_table(list(rows.items()))

    @property
    def earliest_ns(self) -> Array:
        """Instants from which the jobs may join the queue, and from which waits count: int64, shape (n,)."""
        return np.maximum(self.submit_ns, self.begin_ns)

    @property
    def held(self) -> Array:
        """Jobs that may join the queue only after their submit: bool, shape (n,)."""
        return np.asarray(self.begin_ns > self.submit_ns)

    @property
    def run_unknown(self) -> Array:
        """Jobs that the user cancelled before their start, so that no run time is known: bool, shape (n,).

        Such a job has a cancel instant, status 5 (or 0) and a placeholder ``run_ns`` of 1. If it starts, it runs until it is
        stopped.
        """
        ended = (self.status == col.CANCELLED) | (self.status == col.FAILED)
        return np.asarray((self.cancel_ns >= 0) & (self.run_ns == 1) & ended)

    def __repr__(self) -> str:
        return f"<workload {self.source or 'without a name'}: {len(self)} jobs>"

    def __reduce__(self) -> tuple[Any, ...]:
        # Rebuilt by the constructor, so that a copy in another process is checked and read-only too.
        values = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        values |= {name: col.packed(values[name]) for name in OPTIONAL}
        values["extras"] = {name: col.packed(column) for name, column in self.extras.items()}
        plain: dict[str, Any] = {name: dict(values[name]) for name in ("rejects", "names", "ids", "also_preceding")}
        plain["labels"] = {name: dict(known) for name, known in self.labels.items()}
        return Workload, tuple((values | plain).values())

    def job_name(self, row: int) -> str | None:
        """The id of a row's job if it is a text, else the name of its program; None if the log has neither."""
        return self.ids.get(int(self.job_id[row])) or self.names.get(int(self.application[row]))

    @property
    def numbers_of_ids(self) -> dict[str, list[int]]:
        """Job numbers by :attr:`ids`; in a merged log several jobs may share one."""
        found: dict[str, list[int]] = {}
        for number, name in self.ids.items():
            found.setdefault(name, []).append(number)
        return found

    def rows_of(self, numbers: Array) -> Array:
        """The rows of jobs with these numbers, int64 (k,); all are known."""
        order = np.argsort(self.job_id)
        return np.asarray(order[np.searchsorted(self.job_id, numbers, sorter=order)])

    def take(self, rows: Array, **changes: Any) -> Workload:
        """The jobs of some rows (ascending numbers, or a mask), with other values for some fields; columns are as long."""
        taken: dict[str, Any] = {name: getattr(self, name)[rows] for name in COLUMNS}
        taken |= {name: taken_rows(getattr(self, name), rows) for name in OPTIONAL}
        taken["extras"] = {name: taken_rows(column, rows) for name, column in self.extras.items()}
        taken["uncounted"] = None if self.uncounted is None else self.uncounted[rows]
        return replace(self, **(taken | changes))

    def rejecting(self, reasons: Mapping[str, Array]) -> Workload:
        """The jobs outside all masks; the others are counted as rejects, by the reason of their mask."""
        rejected = np.any([*reasons.values()], axis=0)
        counts = {reason: int(np.count_nonzero(mask)) for reason, mask in reasons.items()}
        counted = {reason: self.rejects.get(reason, 0) + count for reason, count in counts.items() if count}
        first = [
            RejectedLine(reason, int(self.line[row]), "cores", f"{self.cores[row]}" if reason == TOO_WIDE else "")
            for reason, mask in reasons.items()
            for row in np.flatnonzero(mask)[:KEPT].tolist()
        ]
        named = first_rejects((*self.rejected, *first))
        return self.take(~rejected, rejects={**self.rejects, **counted}, rejected=named)

    @property
    def selected_text(self) -> str:
        """Number of jobs, and of those present before time 0, in words."""
        running = int(np.count_nonzero(self.preset))
        parts = [f"{running} running"] if running else []
        parts += [f"{self.waiting} queued"] if self.waiting else []
        there = f", including {' and '.join(parts)} at the start" if self.waiting else ""
        return f"{len(self)} jobs selected{there}"

    @property
    def window_text(self) -> str:
        """Numbers of running and waiting jobs at the start of the window, or why there are none; "" without a window."""
        return spelled(self.window_words, in_python)

    @property
    def window_words(self) -> str:
        """:attr:`window_text` before the option is spelled (``traces.base.errors``)."""
        if self.window is None:
            return ""
        if self.window.empty:
            return f"window: starts with an empty machine: {self.window.empty}"
        running = self.preset == 1
        n, held = int(np.count_nonzero(running)), sum(self.cores[running].tolist())
        cores = f" on {held:,} core{'s' * (held != 1)}" * bool(n)
        return (
            f"window: starts with {n:,} running job{'s' * (n != 1)}{cores} and {self.waiting:,} queued, as the log records; "
            f"{PRESET:False} starts with an empty machine"
        )

    @classmethod
    def from_lines(
        cls,
        columns: Sequence[Array],
        *,
        rejects: Mapping[str, int],
        source: str,
        n_lines: int,
        extra: Mapping[str, Array] | None = None,
        extras: Mapping[str, Array] | None = None,
        rejected: Iterable[RejectedLine] = (),
        **others: Any,
    ) -> Workload:
        """Make a workload from a file's valid lines; readers leave sorting and duplicates to this.

        A job number belongs to its first line; later lines are rejected. Jobs submitted before a job of an earlier line are
        counted as reordered, then all are sorted by (submit, line).

        - ``columns``: ``job_id``, ``submit_ns``, ``run_ns``, ``cores``, ``estimate_ns``, ``line``; lines ascend
        - ``extra``: any of the columns of :data:`bls.workloads.columns.OPTIONAL`
        - ``rejects``, ``rejected``: without the duplicates; the others as the fields

        Arrays that own their numbers and are read-only are kept as they are; others are copied. Raises InputError if no job is
        left, or a column of ``extra`` is unknown.
        """
        for name in extra or ():
            if name not in OPTIONAL:
                raise one_of("column", name, OPTIONAL, source)
        if len(columns[0]) == 0:
            raise no_valid_job(source, n_lines, rejects, rejected)
        named: dict[str, Any] = dict(zip(COLUMNS, columns, strict=True)) | dict(extra or {})
        further = dict(extras or {})
        submit, duplicates, reordered = np.asarray(columns[1]), 0, 0
        kept: Array | None = None
        if not col.ascends(np.asarray(columns[0])):
            kept = np.sort(np.unique(columns[0], return_index=True)[1])
            duplicates = len(columns[0]) - len(kept)
            again = np.setdiff1d(np.arange(len(columns[0])), kept, assume_unique=True)[:KEPT]
            later = zip(*(np.asarray(columns[k])[again].tolist() for k in (0, 5)), strict=True)
            twice = [RejectedLine(DUPLICATE, line, "job number", f"{job}") for job, line in later]
            rejected = first_rejects((*rejected, *twice))
            submit = submit[kept]
        if np.any(submit[1:] < submit[:-1]):
            reordered = int(np.count_nonzero(submit < np.maximum.accumulate(submit)))
            order = np.argsort(submit, kind="stable")
            kept = order if kept is None else kept[order]
        elif not duplicates:
            kept = None
        if kept is not None:
            named = {name: taken_rows(column, kept) for name, column in named.items()}
            further = {name: taken_rows(column, kept) for name, column in further.items()}
        return cls(
            **named,
            rejects={**rejects, DUPLICATE: rejects.get(DUPLICATE, 0) + duplicates},
            reordered=reordered,
            clamped=0,
            source=source,
            n_lines=n_lines,
            extras=further,
            rejected=tuple(rejected),
            **{name: value for name, value in others.items() if value is not None},
        )

    @classmethod
    def from_jobs(cls, jobs: Iterable[Sequence[Any] | Mapping[str, Any]], source: str = "jobs") -> Workload:
        """Make a workload from plain Python values. A job that a reader would reject is an error here.

        Parameters
        ----------
        jobs : iterable of (job_id, submit_s, run_s, cores, estimate_s) or of mapping
            Times are in seconds, rounded to ns. If the estimate is None, zero or negative, the run time replaces it. A mapping
            has these keys (``estimate_s`` is optional), and any of ``user``, ``group``, ``queue``, ``partition``, ``qos``,
            ``memory_kb``, ``preceding``, ``think_s``, ``cancel_s`` and ``begin_s`` (instants), ``wait_s``, ``status``,
            ``preset`` and ``application``, or instead of the last one ``name``, a text, which gets a number. ``preceding`` may
            be a list of job numbers, if the job waits for all of them. A ``run_s`` of None, with an estimate and ``cancel_s``,
            marks a job that was cancelled before its start.
        source : str
            A name for messages.

        Raises
        ------
        InputError
            If a value is not a number or out of range, a key is unknown or missing, or two jobs have the same number.

        Examples
        --------
        >>> len(Workload.from_jobs([(1, 0, 60, 4, 120), {"job_id": 2, "submit_s": 0.5, "run_s": 30, "cores": 2}]))
        2
        """
        names: dict[str, int] = {}
        further: dict[int, tuple[int, ...]] = {}
        rows = []
        for n, job in enumerate(jobs):
            where = f"{source}[{n}]"
            rows.append(job_row(with_one_preceding(numbered(job, names, where), further, where), where))
        if not rows:
            raise InputError(f"{source}: a workload needs at least one job")
        table = np.array(rows, dtype=np.int64).T.copy()
        columns = [*table[:5], np.arange(1, len(rows) + 1)]
        extra = dict(zip(OPTIONAL, table[5:], strict=True))
        known = {number: name for name, number in names.items()}
        made = cls.from_lines(
            columns,
            header=(),
            rejects={},
            source=source,
            n_lines=len(rows),
            extra=extra,
            names=known,
            also_preceding=further,
        )
        if made.rejects[DUPLICATE]:
            raise InputError(f"{source}: two jobs have the same number")
        return made


OTHER_FORMAT = "; perhaps it is in another format"  #: end of the error if every line is malformed


def no_valid_job(source: str, n_lines: int, rejects: Mapping[str, int], rejected: Iterable[RejectedLine]) -> InputError:
    """The error for a file without valid jobs."""
    lines = f"{n_lines} line{'s' * (n_lines != 1)}"
    other = OTHER_FORMAT if 0 < n_lines == rejects.get(MALFORMED) else ""
    return InputError(f"{source}: no valid job in {lines}: {rejects_text(rejects, rejected)}{other}")
