"""The values of a batch of rows, by what the map says that its columns are: instants, durations, counts, numbers and words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from bls.workloads.readers.tables import arrays as ar
from bls.workloads.readers.tables import column_map as cm
from bls.workloads.readers.tables.arrays import CellValues
from bls.workloads.readers.tables.cells import ABSENT, READ, WRONG
from bls.workloads.readers.tables.sources import RowBatch
from traces.base.errors import InputError, shown, shown_name
from traces.base.time import MAX_NS, NS_PER_S, format_ns
from traces.compiled import Array

_LONGEST_NS = 3653 * 86_400 * NS_PER_S  # ten years: a longer duration has another unit
_MOST_EACH = 2**31  # hosts, and cores of each: their product stays below 2**62


def without_blanks(batch: RowBatch) -> RowBatch:
    """The rows with a cell that is not empty."""
    blank = np.ones(len(batch.line), bool)
    for column in batch.columns.values():
        if not (ar.is_text(column) and blank.any()):
            return batch
        blank &= ar.is_empty(column)
    if not batch.columns or not blank.any():
        return batch
    kept = np.flatnonzero(~blank)
    return RowBatch({name: column.take(kept) for name, column in batch.columns.items()}, batch.line[kept])


class BatchValues:
    """Reads the values of a batch. ``specs``: the columns of each target that the table has."""

    def __init__(
        self, column_map: cm.ColumnMap, specs: Mapping[str, tuple[cm.SourceColumn, ...]], batch: RowBatch, source: str
    ) -> None:
        self.map, self.specs, self.batch, self.source = column_map, specs, batch, source
        self._plain: dict[str, Any] = {}

    def array(self, spec: cm.SourceColumn) -> Any:
        """The column of a spec; the same array for the specs that read it in the same way."""
        key = f"{spec.take} {spec.column}"
        if key not in self._plain:
            column = self.batch.columns[spec.column]
            if spec.take:
                column = ar.taken(column, spec.take, spec.column, self.source)
            self._plain[key] = ar.plain(column, spec.column, self.source)
        return self._plain[key]

    def first(
        self, name: str, of: Callable[[cm.SourceColumn], CellValues], specs: Iterable[cm.SourceColumn] | None = None
    ) -> CellValues:
        """The values of a target: of several columns the first with a value counts."""
        n = len(self.batch.line)
        found = CellValues(np.full(n, ABSENT, np.int64), np.zeros(n, np.int64))
        for spec in self.specs.get(name, ()) if specs is None else specs:
            other = of(spec)
            if (found.state == ABSENT).all():
                found = other
            else:
                absent = found.state == ABSENT
                found = CellValues(
                    np.where(absent, other.state, found.state), np.where(absent, other.value, found.value)
                )
        return found

    def amounts(self, spec: cm.SourceColumn) -> ar.Amounts:
        """The numbers of a column, or the constant."""
        n = len(self.batch.line)
        if spec.value is not None:
            return ar.constant(spec.value, n)
        if spec.tres:
            return ar.resource_counts(self.array(spec), spec.tres, spec.missing)
        return ar.amounts(self.array(spec), spec.column, self.source, spec.missing)

    def instant(self, name: str) -> CellValues:
        """The instants of a target in ns. Raises InputError if one shows that the unit is wrong."""
        values = self.first(name, self.instant_of)
        self._check_fit(name, values, MAX_NS, "more than 146 years after 1970")
        return values

    def instant_of(self, spec: cm.SourceColumn) -> CellValues:
        """The instants of a column in ns."""
        if spec.value is not None:
            return ar.times_ns(self.amounts(spec), spec.unit_ns)
        return ar.instants(self.array(spec), spec, self.map.zone, self.source)

    def duration_of(self, spec: cm.SourceColumn) -> CellValues:
        """The durations of a column in ns."""
        if spec.value is not None:
            return ar.times_ns(self.amounts(spec), spec.unit_ns)
        return ar.durations(self.array(spec), spec, self.source)

    def duration(self, name: str) -> CellValues:
        """The durations of a target in ns. Raises InputError if one shows that the unit is wrong."""
        values = self.first(name, self.duration_of)
        longest = MAX_NS if self.map.time_zero == "given" else _LONGEST_NS  # our own tables may hold any duration
        self._check_fit(name, values, longest, "longer than ten years")
        return values

    def _check_fit(self, name: str, values: CellValues, most: int, what: str) -> None:
        """Raise InputError if a value shows that the unit is wrong."""
        wrong = (values.state == READ) & (values.value > most)
        if not wrong.any():
            return
        row = int(wrong.argmax())
        column, word = self.word(name, row)
        spec = self.specs[name][0]
        infinite = f", or infinite = {shown(word)} if it means no limit" if name == "walltime" else ""
        raise InputError(
            f"{self.source}: row {self.batch.line[row]}: column {shown_name(column)}: {shown(word)} in unit {spec.unit} is "
            f"{what} ({self.map.source}: columns.{name}); set another unit{infinite}"
        )

    def check_span(self, run: Array, derived: Array) -> None:
        """Raise InputError if a run time that is the ``derived`` end minus start shows that a start is none."""
        wrong = derived & (run > _LONGEST_NS)
        if not wrong.any():
            return
        row = int(wrong.argmax())
        column, word = self.word("start", row)
        raise InputError(
            f"{self.source}: row {self.batch.line[row]}: column {shown_name(column)}: {shown(word)}: the job would run for "
            f"{format_ns(int(run[row]))} ({self.map.source}: columns.start); if it means no start, set missing = {shown(word)}"
        )

    def count(self, name: str, hosts: CellValues | None) -> CellValues:
        """The counts of a target; those of a host are multiplied by ``hosts``."""

        def of(spec: cm.SourceColumn) -> CellValues:
            values = ar.counts(self.amounts(spec), spec.times, cm.COUNT_UNITS[spec.unit])
            if spec.per == "host" and hosts is not None:
                state = np.where(values.state == READ, hosts.state, values.state)
                each, several = values.value, np.maximum(hosts.value, 0)
                too_large = (state == READ) & (several > 0) & (np.maximum(np.abs(each), several) >= _MOST_EACH)
                product = np.where(too_large, 0, each) * np.where(too_large, 0, several)
                return CellValues(np.where(too_large, WRONG, state), product)
            return values

        return self.first(name, of)

    def number(self, name: str, specs: Iterable[cm.SourceColumn] | None = None) -> tuple[Array, Array]:
        """Whole numbers and their states."""

        def of(spec: cm.SourceColumn) -> CellValues:
            found = self.amounts(spec)
            return CellValues(np.where((found.state == READ) & (found.nano != 0), WRONG, found.state), found.whole)

        values = self.first(name, of, specs)
        return values.value, values.state

    def memory_kb(self, cores: Array, hosts: CellValues) -> Array:
        """Memory per core in KB, rounded up; -1 if it is unknown."""

        def of(spec: cm.SourceColumn) -> CellValues:
            found = ar.kilobytes(self.amounts(spec), cm.MEMORY_UNITS[spec.unit])
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

        values = self.first("memory", of)
        return np.where(values.state == READ, values.value, -1)

    def words(self, spec: cm.SourceColumn) -> tuple[Array, list[str]]:
        """The place of each cell's word in a list of words, and these."""
        if spec.value is not None:
            return np.zeros(len(self.batch.line), np.int64), [spec.value]
        return ar.distinct_words(self.array(spec))

    def word(self, name: str, row: int) -> tuple[str, str]:
        """The column that a target is read from, and a row's word there."""
        column, word = name, ""
        for spec in self.specs.get(name, ()):
            column = spec.column or name
            word = spec.value or ar.word_of(self._cell(spec, row))
            if word and word not in spec.missing:
                break
        return column, word

    def _cell(self, spec: cm.SourceColumn, row: int) -> Any:
        try:
            return self.array(spec)[row].as_py()
        except (ValueError, OverflowError):  # a date that Python has not
            return str(self.array(spec)[row])
