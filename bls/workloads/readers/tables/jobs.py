"""Makes jobs of the rows of a table. Each row is a job, or a reject under the first reason that applies.

1. *malformed*: the job's number, the submit, the run time (or, without one, the start or the end), the walltime, the
   cores or the GPUs cannot be read, or the submit is missing or negative
2. *skipped hour*: the submit (or, without a run time, the start or the end) is a date that its time zone skipped
3. *not ended*: the map says that the state is that of a job that waits or runs
4. *no run time*, *no processors* and *duplicate job number*, as in all readers

Rows whose cells are all empty are ignored. Values of other columns that cannot be read are unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from bls.workloads.columns import CANCELLED, COLUMNS, FAILED, KEPT, OPTIONAL, RejectedLine
from bls.workloads.readers.sacct_columns import job_number
from bls.workloads.readers.tables import arrays as ar
from bls.workloads.readers.tables import column_map as cm
from bls.workloads.readers.tables.arrays import CellValues
from bls.workloads.readers.tables.batch_values import BatchValues, without_blanks
from bls.workloads.readers.tables.cells import ABSENT, READ, SKIPPED_HOUR, WRONG
from bls.workloads.readers.tables.sources import RowBatch
from bls.workloads.workload import MALFORMED, NO_PROCESSORS, NO_RUN_TIME
from traces.base.time import MAX_NS
from traces.compiled import Array

SKIPPED = "skipped hour"
NOT_ENDED = "not ended"
REASONS = (MALFORMED, SKIPPED, NOT_ENDED, NO_RUN_TIME, NO_PROCESSORS)  #: in the order of the tests
_MALFORMED, _SKIPPED, _NOT_ENDED, _NO_RUN, _NO_CORES = range(1, 6)

NAMES = ".name"  #: ending of a further column that has the names of another column's numbers

_COMPLETED = 1
_LABELS = {
    "user": "user",
    "group": "group",
    "queue": "queue",
    "partition": "partition",
    "qos": "qos",
    "name": "application",
}


@dataclass
class JobsOfBatch:
    """Jobs of some rows."""

    # ``COLUMNS``, and those of ``OPTIONAL`` that have facts, int64 (jobs,); times count as in the table
    columns: dict[str, Array]
    extras: dict[str, Array]  # further columns, int64 (jobs,)


class _Read(NamedTuple):
    """Values of rows that follow from several columns."""

    job: CellValues  # numbers of jobs
    run: Array  # run times, also end minus start; 0 if there is none, 1 for a job that was cancelled before its start
    limit: Array  # time limits; 0 for none
    stop: Array  # instants at which users cancel; -1 for never
    status: Array
    going: Array  # bool: whether the job has not ended


@dataclass
class _Names:
    """Numbers of names from 1, in order of appearance; or names of numbers that the table has."""

    known: dict[str, int] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)

    def numbers(self, place: Array, words: list[str], missing: Iterable[str]) -> Array:
        """The numbers of words, each given by its place in a list; -1 of missing ones."""
        unknown = {"", *missing}
        table = np.full(len(words), -1, np.int64)
        for index in ar.appearing(place):
            if words[index] not in unknown:
                table[index] = self.known.setdefault(words[index], len(self.known) + 1)
        return table[place]

    @property
    def labels(self) -> dict[int, str]:
        """The name of each number."""
        return self.names or {number: name for name, number in self.known.items()}


class JobsOfRows:
    """Makes jobs of batches, and counts all rows.

    - ``read``: the columns that are read
    - ``further``: columns of the table that become extras, by name
    - ``streamed``: do not keep texts that identify jobs; the jobs are numbered in their order
    """

    def __init__(
        self,
        column_map: cm.ColumnMap,
        source: str,
        read: Iterable[str],
        further: Mapping[str, str],
        *,
        cancelled: bool = False,
        streamed: bool = False,
    ) -> None:
        self.map, self.source, self._cancelled, self._streamed = column_map, source, cancelled, streamed
        there = set(read)
        self._specs, self._extras = (
            {
                name: found
                for name, specs in described.items()
                if (found := tuple(spec for spec in specs if not spec.column or spec.column in there))
            }
            for described in (column_map.columns, column_map.extras)
        )
        for name, column in further.items():
            names = f"{column}{NAMES}"
            self._extras[name] = (cm.SourceColumn(column=column, names=names if names in there else ""),)
        self._there = there
        self.counts = dict.fromkeys(REASONS, 0)
        self.rejected: list[RejectedLine] = []
        self.n_rows = 0
        self._ids: dict[int, str] = {}
        self.also_preceding: dict[int, tuple[int, ...]] = {}
        self.names: dict[str, _Names] = {}
        self.unknown_states: Counter[str] = Counter()
        self.longest_ns = 0  # longest run time
        self.n_limited = self.n_longer = 0  # jobs with a time limit, and those of them that ran longer
        self._identity = ""
        self._n_named = 0
        self._named = _Names()  # texts that identify jobs
        self._values = BatchValues(column_map, self._specs, RowBatch({}, np.zeros(0, np.int64)), source)

    def labels(self) -> dict[str, dict[int, str]]:
        """The names of numbers, by column."""
        return {name: names.labels for name, names in self.names.items() if names.labels}

    def ids(self) -> dict[int, str]:
        """The texts that identify jobs, by number."""
        return self._ids or self._named.labels

    @property
    def drops_ids(self) -> bool:
        """Whether texts that identify jobs are neither kept nor compared."""
        return self._streamed and self._identity == "name"

    def jobs(self, batch: RowBatch) -> JobsOfBatch:
        """The jobs of some rows. Raises InputError if a column's type cannot be used, or a unit does not fit its values."""
        self._values = BatchValues(self.map, self._specs, without_blanks(batch), self.source)
        self.n_rows += len(self._values.batch.line)
        read = self._read()
        why, which = self._decide(read)
        self._note(why, which)
        # A slice copies nothing.
        rows: Any = np.flatnonzero(why == 0) if why.any() else slice(None)
        self.longest_ns = max(self.longest_ns, int(read.run[rows].max(initial=0)))
        self.n_limited += int(np.count_nonzero(read.limit[rows] > 0))
        self.n_longer += int(np.count_nonzero((read.limit[rows] > 0) & (read.run[rows] > read.limit[rows])))
        limit = np.where(read.limit > 0, read.limit, read.run)
        submit, cores = self._values.of("submit").value, self._values.of("cores").value
        base = (read.job.value, submit, read.run, cores, limit, self._values.batch.line)
        columns = {name: np.asarray(column[rows]) for name, column in zip(COLUMNS, base, strict=True)}
        made = JobsOfBatch(columns | self._extra_of(read, rows), self._extras_of(rows))
        if "also_preceding" in self._specs:
            self._read_also_preceding(read.job.value, rows)
        if self._identity == "names" and not self._streamed:
            self._read_names(self._ids, made.columns["job_id"], self._specs["job_id"][0], rows)
        return made

    def _read(self) -> _Read:
        values, job = self._values, self._job_ids()
        submit, start, end, cancel = (values.of(name) for name in ("submit", "start", "end", "cancel"))
        given, walltime = values.of("run"), values.of("walltime")
        status, going = self._status()
        known = given.state == READ
        derived = ~known & (start.state == READ) & (end.state == READ)
        run = np.where(known, given.value, np.where(derived, end.value - start.value, 0))
        values.check_span(run, derived)
        limit = np.where((walltime.state == READ) & (walltime.value > 0), walltime.value, 0)
        stop = np.where(cancel.state == READ, cancel.value, np.where(end.state == READ, end.value, -1))
        stopped = (run <= 0) & np.isin(status, (FAILED, CANCELLED)) & (stop >= submit.value) & (limit > 0)
        stopped &= self._cancelled
        later = (cancel.state == READ) & (cancel.value >= submit.value)
        stop = np.where(stopped, stop, np.where(later, cancel.value, -1))
        run = np.where(stopped, 1, run)
        return _Read(job, run, limit, stop, status, going)

    def _decide(self, read: _Read) -> tuple[Array, Array]:
        """The reason why each row is no job, as its place in :data:`REASONS` from 1, and the target that decides it."""
        of, n = self._values.of, len(read.run)
        why, which = np.zeros(n, np.int64), np.full(n, "", object)

        def reject(reason: int, rows: Array, name: str) -> None:
            rows = rows & (why == 0)
            why[rows], which[rows] = reason, name

        submit, cores, unknown = of("submit"), of("cores"), of("run").state == ABSENT
        reject(_MALFORMED, read.job.state != READ, "job_id")
        reject(_MALFORMED, (submit.state == ABSENT) | (submit.value < 0), "submit")
        for state, reason in ((WRONG, _MALFORMED), (SKIPPED_HOUR, _SKIPPED)):
            for name in ("submit", "start", "end", "run", "walltime", "cores", "gpus"):
                reject(reason, (of(name).state == state) & (unknown | (name not in ("start", "end"))), name)
        reject(_NOT_ENDED, read.going, "state")
        no_run = read.run <= 0
        if "start" in self._specs:
            reject(_NO_RUN, no_run & unknown & (of("start").state == ABSENT), "start")
        reject(_NO_RUN, no_run, "run" if "run" in self._specs else "end" if "end" in self._specs else "")
        reject(_NO_CORES, (cores.state != READ) | (cores.value <= 0), "cores")
        return why, which

    def _extra_of(self, read: _Read, rows: Any) -> dict[str, Array]:
        """The columns of ``OPTIONAL`` of some rows, without those that have their default in all rows."""
        values = self._values
        submit, start, begin, wait = (values.of(name) for name in ("submit", "start", "begin", "wait"))
        started = start.state == READ
        recorded = np.where(wait.state == READ, wait.value, np.where(started, start.value - submit.value, -1))
        held = (begin.state == READ) & (begin.value > submit.value) & (~started | (begin.value <= start.value))
        columns: dict[str, Array] = {
            "wait_ns": np.maximum(recorded, -1),
            "think_ns": values.known("think", 0),
            "status": read.status,
            "cancel_ns": read.stop,
            "begin_ns": np.where(held, begin.value, -1),
            "memory_kb": values.known("memory"),
            "preceding": values.known("preceding"),
            "preset": np.minimum(values.known("preset", 0), 1),
        }
        extra = {name: column[rows] for name, column in columns.items() if np.any(column != OPTIONAL[name])}
        for name, column in _LABELS.items():
            if name in self._specs:
                extra[column] = self._label(column, self._specs[name], rows)
        return extra

    def _extras_of(self, rows: Any) -> dict[str, Array]:
        """The further columns of some rows."""
        found = {name: self._values.known(one)[rows] for name, one in cm.EXTRAS.items() if one in self._specs}
        return found | {name: self._extra(name, specs, rows) for name, specs in self._extras.items()}

    # Columns that only accepted rows have.

    def _status(self) -> tuple[Array, Array]:
        """Status in SWF's numbers, and whether the job has not ended."""
        n = len(self._values.batch.line)
        status = self._values.known("status")
        going = np.zeros(n, bool)
        for spec in self._specs.get("state", ()):
            of_word = dict.fromkeys(spec.completed, _COMPLETED) | dict.fromkeys(spec.failed, FAILED)
            of_word |= dict.fromkeys(spec.cancelled, CANCELLED) | dict.fromkeys(spec.not_ended, -2)
            place, words = self._values.words(spec)
            of_word |= dict.fromkeys(spec.unknown, -1)
            found = np.array([_of_state(word, of_word, spec.missing) for word in words], np.int64)[place]
            unlisted = np.bincount(place[found == -3], minlength=len(words))
            for index in np.flatnonzero(unlisted).tolist():
                self.unknown_states[words[index]] += int(unlisted[index])
            status = np.where(status >= 0, status, np.maximum(found, -1))
            going |= found == -2
        return status, going

    def _label(self, name: str, specs: Iterable[cm.SourceColumn], rows: Any) -> Array:
        """Numbers of the names of some rows in a column of a workload."""
        names = self.names.setdefault(name, _Names())
        found = np.full(len(self._values.batch.line[rows]), -1, np.int64)
        for spec in specs:
            if spec.unit == "number":
                number = self._values.first([spec])
                numbers = np.where((number.state == READ) & (number.value >= 0), number.value, -1)[rows]
                self._read_names(names.names, numbers, spec, rows)
            else:
                place, words = self._values.words(spec)
                numbers = names.numbers(place[rows], words, spec.missing)
            found = np.where(found < 0, numbers, found)
        return found

    def _read_names(self, names: dict[int, str], numbers: Array, spec: cm.SourceColumn, rows: Any) -> None:
        """Read the names of the numbers of some rows from the column of names, if there is one."""
        if spec.names in self._there:
            place, words = self._values.words(cm.SourceColumn(column=spec.names))
            pairs = np.unique(np.array([numbers, place[rows]])[:, numbers >= 0], axis=1)
            for number, index in pairs.T.tolist():
                if words[index]:
                    names.setdefault(number, words[index])

    def _extra(self, name: str, specs: Iterable[cm.SourceColumn], rows: Any) -> Array:
        spec = next(iter(specs))
        if spec.kind == cm.LABEL:
            return self._label(name, specs, rows)
        values = self._values.first(specs)
        found = np.asarray(np.where((values.state == READ) & (np.abs(values.value) <= MAX_NS), values.value, -1)[rows])
        self._read_names(self.names.setdefault(name, _Names()).names, found, spec, rows)
        return found

    # Identities.

    def _job_ids(self) -> CellValues:
        """The numbers of jobs."""
        specs = self._specs.get("job_id", ())
        if not specs:
            return CellValues(np.full(len(self._values.batch.line), READ), self._values.batch.line)
        spec = specs[0]
        self._identity = self._identity or self._kind_of_identity(spec)
        if self._identity in ("number", "names"):
            number = self._values.known("job_id")
            return CellValues(np.where(number < 0, WRONG, READ), np.maximum(number, 0))
        place, words = self._values.words(spec)
        if self._identity == "slurm":
            numbers = [job_number(word) for word in words]
            number = np.array([-1 if one is None else one for one in numbers], np.int64)[place]
        elif self._streamed:
            known = np.array([bool(word) and word not in spec.missing for word in words])[place]
            number = np.where(known, np.cumsum(known) + self._n_named, -1)
            self._n_named += int(np.count_nonzero(known))
        else:
            number = self._named.numbers(place, words, spec.missing)
        return CellValues(np.where(number < 0, WRONG, READ), np.maximum(number, 0))

    def _kind_of_identity(self, spec: cm.SourceColumn) -> str:
        if spec.unit != "auto":
            return "names" if spec.names else spec.unit
        if ar.is_text(array := self._values.array(spec)):
            words = (ar.word_of(cell) for cell in array.to_pylist())
            word = next((word for word in words if word and word not in spec.missing), "0")
            return "number" if word.isascii() and word.isdigit() else "name"
        return "number"

    def _read_also_preceding(self, job: Array, rows: Any) -> None:
        place, words = self._values.words(self._specs["also_preceding"][0])
        lists = [tuple(int(one) for one in word.split() if one.isdigit()) for word in words]
        chosen = np.arange(len(job))[rows]
        for row in chosen[np.array([bool(one) for one in lists])[place[chosen]]].tolist():
            self.also_preceding.setdefault(int(job[row]), lists[int(place[row])])

    # Rejects.

    def _note(self, why: Array, which: Array) -> None:
        """Count the rejects, and keep the first of each reason."""
        for code, reason in enumerate(REASONS, 1):
            rows = np.flatnonzero(why == code)
            kept = max(0, KEPT - self.counts[reason])
            self.counts[reason] += len(rows)
            for row in rows[:kept].tolist():
                column, word = self._values.word(which[row], row)
                self.rejected.append(
                    RejectedLine(reason, int(self._values.batch.line[row]), f"column {column}" if column else "", word)
                )


def _of_state(word: str, of_word: Mapping[str, int], missing: Iterable[str]) -> int:
    """Status of a word: 0, 1 or 5; -1 of a missing one, -2 of a job that has not ended, -3 of an unlisted word."""
    if not word or word in missing:
        return -1
    return of_word.get(word, of_word.get(word.split(maxsplit=1)[0], -3))
