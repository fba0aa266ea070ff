"""Rows of a table become jobs: each is one, or a reject under the first reason that applies.

1. *malformed*: the job's number, the submit, the run time (or, without one, the start or the end), the walltime or the cores
   cannot be read, or the submit is missing or negative
2. *skipped hour*: the submit (or, without a run time, the start or the end) is a date that its time zone skipped
3. *earlier attempt*: another row is a later attempt at the job
4. *not ended*: the map says that the state is that of a job that waits or runs
5. *no run time*, *no processors* and *duplicate job number*, as in all readers

A row whose cells are all empty is no row. CellValues of other columns that cannot be used are unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bls.workloads.columns import CANCELLED, FAILED, KEPT, OPTIONAL, RejectedLine
from bls.workloads.readers.sacct_columns import job_number
from bls.workloads.readers.tables import arrays as ar
from bls.workloads.readers.tables import column_map as cm
from bls.workloads.readers.tables.arrays import CellValues
from bls.workloads.readers.tables.cells import ABSENT, READ, SKIPPED_HOUR, WRONG
from bls.workloads.readers.tables.sources import RowBatch
from bls.workloads.workload import MALFORMED, NO_PROCESSORS, NO_RUN_TIME
from traces.base.errors import InputError, shown, shown_name
from traces.base.time import MAX_NS, NS_PER_S, format_ns
from traces.compiled import Array

SKIPPED = "skipped hour"
EARLIER = "earlier attempt"
NOT_ENDED = "not ended"
REASONS = (MALFORMED, SKIPPED, EARLIER, NOT_ENDED, NO_RUN_TIME, NO_PROCESSORS)  #: in the order of the tests
_MALFORMED, _SKIPPED, _EARLIER, _NOT_ENDED, _NO_RUN, _NO_CORES = range(1, 7)

NAMES = ".name"  #: end of the name of a further column with the names of another one's numbers

_LONGEST_NS = 3653 * 86_400 * NS_PER_S  # ten years: a longer duration has another unit
_MOST_EACH = 2**31  # hosts, and cores of each: their product stays below 2**62
_COMPLETED = 1
_MOST_WORDS = 5  # words of states that a remark lists
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

    base: list[
        Array
    ]  # job_id, submit_ns, run_ns, cores, estimate_ns and line, int64 (jobs,); times count as in the table
    extra: dict[str, Array]  # the columns of ``OPTIONAL`` that the map describes, int64 (jobs,)
    extras: dict[str, Array]  # further columns, int64 (jobs,)


@dataclass
class _Names:
    """Numbers of names from 1, in order of appearance; or names of numbers that the table has."""

    known: dict[str, int] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)

    def numbers(self, place: Array, words: list[str], missing: Iterable[str]) -> Array:
        """The numbers of words, each given by its place in a list; -1 of missing ones."""
        unknown = {"", *missing}
        n = len(place)
        first = np.full(len(words), n)
        first[place[::-1]] = np.arange(n)[::-1]  # of equal places the last assignment remains
        table = np.full(len(words), -1, np.int64)
        for index in np.argsort(first, kind="stable")[: int(np.count_nonzero(first < n))].tolist():
            if words[index] not in unknown:
                table[index] = self.known.setdefault(words[index], len(self.known) + 1)
        return table[place]

    @property
    def labels(self) -> dict[int, str]:
        """The name of each number."""
        return self.names or {number: name for name, number in self.known.items()}


class JobsOfRows:
    """Makes jobs of batches, and counts all rows. ``read``: the columns that the table has of those that the map needs;
    ``further``: columns that become extras, by name; ``streamed``: whether texts that identify jobs are neither kept nor
    compared."""

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
        known = {
            name: tuple(spec for spec in specs if not spec.column or spec.column in there)
            for name, specs in column_map.columns.items()
        }
        self._specs = {name: specs for name, specs in known.items() if specs}
        self._extras = {
            name: found
            for name, specs in column_map.extras.items()
            if (found := tuple(spec for spec in specs if not spec.column or spec.column in there))
        }
        for name, column in further.items():
            names = f"{column}{NAMES}"
            self._extras[name] = (cm.SourceColumn(column=column, names=names if names in there else ""),)
        self._there = there
        self.counts = dict.fromkeys(REASONS, 0)
        self.rejected: list[RejectedLine] = []
        self.n_rows = 0
        self.ids: dict[int, str] = {}
        self.also_preceding: dict[int, tuple[int, ...]] = {}
        self.names: dict[str, _Names] = {}
        self.unknown_states: Counter[str] = Counter()
        self.longest_ns = 0
        self.attempts: list[Array] = []  # line, job, attempt and reason of each row
        self._identity = ""
        self._n_named = 0
        self._batch = RowBatch({}, np.zeros(0, np.int64))
        self._plain: dict[str, Any] = {}

    def labels(self) -> dict[str, dict[int, str]]:
        """The names of numbers, by column."""
        return {name: names.labels for name, names in self.names.items() if names.labels}

    def jobs(self, batch: RowBatch) -> JobsOfBatch:
        """The jobs of some rows. Raises InputError if a column's type cannot be used, or a unit does not fit its values."""
        self._batch, self._plain = self._without_blanks(batch), {}
        line = self._batch.line
        n = len(line)
        self.n_rows += n
        job, job_state = self._job_ids()
        submit = self._instant("submit")
        start, end, begin, cancel = (self._instant(name) for name in ("start", "end", "begin", "cancel"))
        given = self._duration("run")
        walltime, wait, think = (self._duration(name) for name in ("walltime", "wait", "think"))
        hosts = self._count("hosts", None)
        cores = self._count("cores", hosts)
        gpus = self._count("gpus", hosts)
        status, going = self._status()

        known = given.state == READ
        both = (start.state == READ) & (end.state == READ)
        run = np.where(known, given.value, np.where(both, end.value - start.value, 0))
        self._check_span(run, ~known & both)
        why, which = np.zeros(n, np.int64), np.full(n, "", object)

        def reject(reason: int, rows: Array, name: str) -> None:
            rows = rows & (why == 0)
            why[rows], which[rows] = reason, name

        reject(_MALFORMED, job_state != READ, "job_id")
        reject(_MALFORMED, (submit.state == ABSENT) | (submit.state == WRONG) | (submit.value < 0), "submit")
        for name, values in (("start", start), ("end", end)):
            reject(_MALFORMED, ~known & (given.state != WRONG) & (values.state == WRONG), name)
        for name, values in (("run", given), ("walltime", walltime), ("cores", cores)):
            reject(_MALFORMED, values.state == WRONG, name)
        reject(_SKIPPED, submit.state == SKIPPED_HOUR, "submit")
        for name, values in (("start", start), ("end", end)):
            reject(_SKIPPED, ~known & (values.state == SKIPPED_HOUR), name)
        reject(_NOT_ENDED, going, "state")
        limit = np.where((walltime.state == READ) & (walltime.value > 0), walltime.value, 0)
        stop = np.where(cancel.state == READ, cancel.value, np.where(end.state == READ, end.value, -1))
        stopped = (run <= 0) & np.isin(status, (FAILED, CANCELLED)) & (stop >= submit.value) & (limit > 0)
        stopped &= self._cancelled
        no_run = (run <= 0) & ~stopped
        reject(_NO_RUN, no_run & (start.state == ABSENT) & ~known & ("start" in self._specs), "start")
        reject(_NO_RUN, no_run, "run" if "run" in self._specs else "end" if "end" in self._specs else "")
        reject(_NO_CORES, (cores.state != READ) | (cores.value <= 0), "cores")
        self._note(why, which)
        if "attempt" in self._specs:
            number, state = self._number("attempt")
            number = np.where(state == READ, number, 0)
            named = np.where(job_state == READ, job, -1)
            self.attempts.append(np.array([line, named, number, why]))

        # All of them as a slice, which copies nothing.
        rows: Any = np.flatnonzero(why == 0) if why.any() else slice(None)
        run = np.where(stopped, 1, run)
        self.longest_ns = max(self.longest_ns, int(run[rows].max(initial=0)))
        recorded = np.where(
            wait.state == READ, wait.value, np.where(start.state == READ, start.value - submit.value, -1)
        )
        no_start = start.state != READ
        held = (begin.state == READ) & (begin.value > submit.value) & (no_start | (begin.value <= start.value))
        stop = np.where(
            stopped, stop, np.where((cancel.state == READ) & (cancel.value >= submit.value), cancel.value, -1)
        )
        width = np.maximum(cores.value, 1)
        optional: dict[str, Array] = {
            "wait_ns": np.maximum(recorded, -1),
            "think_ns": np.where((think.state == READ) & (think.value > 0), think.value, 0),
            "status": status,
            "cancel_ns": stop,
            "begin_ns": np.where(held, begin.value, -1),
            "memory_kb": self._memory(width, hosts),
        }
        for name, default in (("preceding", -1), ("preset", 0)):
            number, state = self._number(name)
            optional[name] = np.where((state == READ) & (number >= 0), number, default)
        optional["preset"] = np.minimum(optional["preset"], 1)
        extra = {name: values[rows] for name, values in optional.items() if np.any(values != OPTIONAL[name])}
        for name, column in _LABELS.items():
            if name in self._specs:
                extra[column] = self._label(self.names.setdefault(column, _Names()), self._specs[name], rows)
        extras = {}
        for name, values in (("nodes", hosts), ("gpus", gpus)):
            if {"nodes": "hosts"}.get(name, name) in self._specs:
                extras[name] = np.where((values.state == READ) & (values.value >= 0), values.value, -1)[rows]
        for name, specs in self._extras.items():
            extras[name] = self._extra(name, specs, rows)
        if "also_preceding" in self._specs:
            self._read_also_preceding(job, rows)
        if self._identity == "names":
            self._read_ids(job, rows)
        base = [job, submit.value, run, cores.value, np.where(limit > 0, limit, run), line]
        return JobsOfBatch([np.asarray(column[rows]) for column in base], extra, extras)

    # Columns.

    def _without_blanks(self, batch: RowBatch) -> RowBatch:
        blank = np.ones(len(batch.line), bool)
        for column in batch.columns.values():
            if not (ar.is_text(column) and blank.any()):
                return batch
            blank &= ar.is_empty(column)
        if not batch.columns or not blank.any():
            return batch
        kept = np.flatnonzero(~blank)
        return RowBatch({name: column.take(kept) for name, column in batch.columns.items()}, batch.line[kept])

    def _array(self, spec: cm.SourceColumn) -> Any:
        """The column of a spec; the same array for the specs that read it in the same way."""
        key = f"{spec.take} {spec.column}"
        if key not in self._plain:
            column = self._batch.columns[spec.column]
            if spec.take:
                column = ar.taken(column, spec.take, spec.column, self.source)
            self._plain[key] = ar.plain(column, spec.column, self.source)
        return self._plain[key]

    def _first(
        self, name: str, of: Callable[[cm.SourceColumn], CellValues], specs: Iterable[cm.SourceColumn] | None = None
    ) -> CellValues:
        """The values of a target: of several columns the first with a value counts."""
        n = len(self._batch.line)
        found = CellValues(np.full(n, ABSENT, np.int64), np.zeros(n, np.int64))
        for spec in self._specs.get(name, ()) if specs is None else specs:
            other = of(spec)
            if (found.state == ABSENT).all():
                found = other
            else:
                absent = found.state == ABSENT
                found = CellValues(
                    np.where(absent, other.state, found.state), np.where(absent, other.value, found.value)
                )
        return found

    def _amounts(self, spec: cm.SourceColumn) -> ar.Amounts:
        n = len(self._batch.line)
        if spec.value is not None:
            return ar.constant(spec.value, n)
        if spec.tres:
            return ar.resource_counts(self._array(spec), spec.tres, spec.missing)
        return ar.amounts(self._array(spec), spec.column, self.source, spec.missing)

    def _instant(self, name: str) -> CellValues:
        values = self._first(name, self._instant_of)
        self._check_fit(name, values, MAX_NS, "more than 146 years after 1970")
        return values

    def _instant_of(self, spec: cm.SourceColumn) -> CellValues:
        if spec.value is not None:
            return ar.times_ns(self._amounts(spec), spec.unit_ns)
        return ar.instants(self._array(spec), spec, self.map.zone, self.source)

    def _duration_of(self, spec: cm.SourceColumn) -> CellValues:
        if spec.value is not None:
            return ar.times_ns(self._amounts(spec), spec.unit_ns)
        return ar.durations(self._array(spec), spec, self.source)

    def _duration(self, name: str) -> CellValues:
        values = self._first(name, self._duration_of)
        longest = MAX_NS if self.map.time_zero == "given" else _LONGEST_NS  # our own tables may hold any duration
        self._check_fit(name, values, longest, "longer than ten years")
        return values

    def _check_fit(self, name: str, values: CellValues, most: int, what: str) -> None:
        """Raise InputError if a value shows that the unit is wrong."""
        wrong = (values.state == READ) & (values.value > most)
        if not wrong.any():
            return
        row = int(wrong.argmax())
        column, word = self._word(name, row)
        spec = self._specs[name][0]
        infinite = f", or infinite = {shown(word)} if it means no limit" if name == "walltime" else ""
        raise InputError(
            f"{self.source}: row {self._batch.line[row]}: column {shown_name(column)}: {shown(word)} in unit {spec.unit} is "
            f"{what} ({self.map.source}: columns.{name}); set another unit{infinite}"
        )

    def _check_span(self, run: Array, derived: Array) -> None:
        wrong = derived & (run > _LONGEST_NS)
        if not wrong.any():
            return
        row = int(wrong.argmax())
        column, word = self._word("start", row)
        raise InputError(
            f"{self.source}: row {self._batch.line[row]}: column {shown_name(column)}: {shown(word)}: the job would run for "
            f"{format_ns(int(run[row]))} ({self.map.source}: columns.start); if it means no start, set missing = {shown(word)}"
        )

    def _count(self, name: str, hosts: CellValues | None) -> CellValues:
        def of(spec: cm.SourceColumn) -> CellValues:
            values = ar.counts(self._amounts(spec), spec.times, cm.COUNT_UNITS[spec.unit])
            if spec.per == "host" and hosts is not None:
                state = np.where(values.state == READ, hosts.state, values.state)
                each, several = values.value, np.maximum(hosts.value, 0)
                too_large = (state == READ) & (several > 0) & (np.maximum(np.abs(each), several) >= _MOST_EACH)
                product = np.where(too_large, 0, each) * np.where(too_large, 0, several)
                return CellValues(np.where(too_large, WRONG, state), product)
            return values

        return self._first(name, of)

    def _number(self, name: str, specs: Iterable[cm.SourceColumn] | None = None) -> tuple[Array, Array]:
        """Whole numbers and their states."""

        def of(spec: cm.SourceColumn) -> CellValues:
            found = self._amounts(spec)
            return CellValues(np.where((found.state == READ) & (found.nano != 0), WRONG, found.state), found.whole)

        values = self._first(name, of, specs)
        return values.value, values.state

    def _memory(self, cores: Array, hosts: CellValues) -> Array:
        """Memory per core in KB, rounded up; -1 if it is unknown."""

        def of(spec: cm.SourceColumn) -> CellValues:
            found = ar.kilobytes(self._amounts(spec), cm.MEMORY_UNITS[spec.unit])
            known = found.state == READ
            total = found.value
            if spec.per == "host":
                known = known & (hosts.state == READ) & (hosts.value > 0)
                factor = np.where(known, hosts.value, 1)
                known = known & (total <= MAX_NS // factor)
                total = np.where(known, total * factor, 0)
            if spec.per != "core":
                total = -(-total // cores)
            return CellValues(np.where(known & (total > 0), READ, ABSENT), total)

        values = self._first("memory", of)
        return np.where(values.state == READ, values.value, -1)

    def _status(self) -> tuple[Array, Array]:
        """Status in SWF's numbers, and whether the job has not ended."""
        n = len(self._batch.line)
        number, state = self._number("status")
        status = np.where((state == READ) & (number >= 0), number, -1)
        going = np.zeros(n, bool)
        for spec in self._specs.get("state", ()):
            of_word = dict.fromkeys(spec.completed, _COMPLETED) | dict.fromkeys(spec.failed, FAILED)
            of_word |= dict.fromkeys(spec.cancelled, CANCELLED) | dict.fromkeys(spec.not_ended, -2)
            place, words = self._words(spec)
            of_word |= dict.fromkeys(spec.unknown, -1)
            found = np.array([_of_state(word, of_word, spec.missing) for word in words], np.int64)[place]
            unlisted = np.bincount(place[found == -3], minlength=len(words))
            for index in np.flatnonzero(unlisted).tolist():
                self.unknown_states[words[index]] += int(unlisted[index])
            status = np.where(status >= 0, status, np.maximum(found, -1))
            going |= found == -2
        return status, going

    def _words(self, spec: cm.SourceColumn) -> tuple[Array, list[str]]:
        if spec.value is not None:
            return np.zeros(len(self._batch.line), np.int64), [spec.value]
        return ar.distinct_words(self._array(spec))

    def _label(self, names: _Names, specs: Iterable[cm.SourceColumn], rows: Any) -> Array:
        """Numbers of the names of some rows."""
        found = np.full(len(self._batch.line[rows]), -1, np.int64)
        for spec in specs:
            if spec.unit == "number":
                number, state = self._number("", [spec])
                numbers = np.where((state == READ) & (number >= 0), number, -1)[rows]
                if spec.names:
                    self._read_names(names, numbers, spec, rows)
            else:
                numbers = names.numbers(*_of_rows(*self._words(spec), rows), spec.missing)
            found = np.where(found < 0, numbers, found)
        return found

    def _read_names(self, names: _Names, numbers: Array, spec: cm.SourceColumn, rows: Any) -> None:
        if spec.names not in self._there:
            return
        place, words = _of_rows(
            *ar.distinct_words(ar.plain(self._batch.columns[spec.names], spec.names, self.source)), rows
        )
        pairs = np.unique(np.array([numbers, place])[:, numbers >= 0], axis=1)
        for number, index in pairs.T.tolist():
            if words[index]:
                names.names.setdefault(number, words[index])

    def _extra(self, name: str, specs: Iterable[cm.SourceColumn], rows: Any) -> Array:
        spec = next(iter(specs))
        if spec.kind == cm.LABEL:
            return self._label(self.names.setdefault(name, _Names()), specs, rows)
        if spec.kind == cm.NUMBER:
            number, state = self._number("", specs)
            found = np.asarray(np.where(state == READ, number, -1)[rows])
            if spec.names:
                self._read_names(self.names.setdefault(name, _Names()), found, spec, rows)
            return found
        if spec.kind == cm.COUNT:
            values = self._first(
                "", lambda one: ar.counts(self._amounts(one), one.times, cm.COUNT_UNITS[one.unit]), specs
            )
        elif spec.kind == cm.DURATION:
            values = self._first("", self._duration_of, specs)
        else:
            values = self._first("", self._instant_of, specs)
        return np.asarray(np.where((values.state == READ) & (np.abs(values.value) <= MAX_NS), values.value, -1)[rows])

    # Identities.

    def _job_ids(self) -> tuple[Array, Array]:
        """The numbers of jobs, and the states of the cells that identify them."""
        n = len(self._batch.line)
        specs = self._specs.get("job_id", ())
        if not specs:
            return self._batch.line, np.zeros(n, np.int64)
        spec = specs[0]
        if not self._identity:
            self._identity = self._kind_of_identity(spec) if n else ""
        if self._identity == "name":
            place, words = self._words(spec)
            there = np.array([bool(word) and word not in spec.missing for word in words])[place]
            state = np.where(there, READ, WRONG)
            if self._streamed:
                number = np.cumsum(there) + self._n_named
                self._n_named += int(np.count_nonzero(there))
                return number, state
            names = self.names.setdefault("", _Names())
            before = len(names.known)
            number = names.numbers(place, words, spec.missing)
            for name in list(names.known)[before:] if len(names.known) > before else ():
                self.ids[names.known[name]] = name
            return np.maximum(number, 0), state
        if self._identity == "slurm":
            place, words = self._words(spec)
            found = [job_number(word) for word in words]
            table = np.array([-1 if number is None else number for number in found], np.int64)[place]
            return np.maximum(table, 0), np.where(table < 0, WRONG, READ)
        number, state = self._number("job_id")
        wrong = (state != READ) | (number < 0)
        return np.where(wrong, 0, number), np.where(wrong, WRONG, READ)

    def _kind_of_identity(self, spec: cm.SourceColumn) -> str:
        if spec.unit != "auto":
            return "names" if spec.names else spec.unit
        if spec.value is None and ar.is_text(self._array(spec)):
            word = ar.word_of(self._array(spec)[0].as_py())
            return "number" if word.isascii() and word.isdigit() else "name"
        return "number"

    def _read_ids(self, job: Array, rows: Any) -> None:
        spec = self._specs["job_id"][0]
        if spec.names not in self._there or self._streamed:
            return
        column = ar.plain(self._batch.columns[spec.names], spec.names, self.source).to_pylist()
        for row in np.arange(len(job))[rows].tolist():
            if word := ar.word_of(column[row]):
                self.ids[int(job[row])] = word

    def _read_also_preceding(self, job: Array, rows: Any) -> None:
        place, words = self._words(self._specs["also_preceding"][0])
        lists = [tuple(int(one) for one in word.split() if one.isdigit()) for word in words]
        chosen = np.arange(len(job))[rows]
        for row in chosen[np.array([bool(one) for one in lists])[place[chosen]]].tolist():
            self.also_preceding.setdefault(int(job[row]), lists[int(place[row])])

    # Accounts.

    def _word(self, name: str, row: int) -> tuple[str, str]:
        """The column that a target is read from, and a row's word there."""
        column, word = name, ""
        for spec in self._specs.get(name, ()):
            column = spec.column or name
            word = spec.value or ar.word_of(self._cell(spec, row))
            if word and word not in spec.missing:
                break
        return column, word

    def _cell(self, spec: cm.SourceColumn, row: int) -> Any:
        try:
            return self._array(spec)[row].as_py()
        except (ValueError, OverflowError):  # a date that Python has not
            return str(self._array(spec)[row])

    def _note(self, why: Array, which: Array) -> None:
        """Count the rejects, and keep the first of each reason."""
        for code, reason in enumerate(REASONS, 1):
            rows = np.flatnonzero(why == code)
            kept = max(0, KEPT - self.counts[reason])
            self.counts[reason] += len(rows)
            for row in rows[:kept].tolist():
                column, word = self._word(which[row], row)
                self.rejected.append(
                    RejectedLine(reason, int(self._batch.line[row]), f"column {column}" if column else "", word)
                )


def _of_state(word: str, of_word: Mapping[str, int], missing: Iterable[str]) -> int:
    """Status of a word: 0, 1 or 5; -1 of a missing one, -2 of a job that has not ended, -3 of an unlisted word."""
    if not word or word in missing:
        return -1
    return of_word.get(word, of_word.get(word.split(maxsplit=1)[0], -3))


def _of_rows(place: Array, words: list[str], rows: Any) -> tuple[Array, list[str]]:
    return place[rows], words
