"""The values of a batch of rows, read as the map states: instants, durations, counts, memory, numbers and words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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

LONGEST_NS = 3653 * 86_400 * NS_PER_S  # ten years: a longer duration has another unit


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
        self._plain: dict[Any, Any] = {}
        self._values: dict[str, CellValues] = {}

    def array(self, spec: cm.SourceColumn) -> Any:
        """The column of a spec; the same array for the specs that read it in the same way."""
        key = (spec.take, spec.column, spec.value)
        if key not in self._plain:
            if spec.value is not None:
                column = ar.texts([spec.value] * len(self.batch.line))
            else:
                column = self.batch.columns[spec.column]
            if spec.take:
                column = ar.taken(column, spec.take, spec.column, self.source)
            self._plain[key] = ar.plain(column, spec.column, self.source)
        return self._plain[key]

    def of(self, name: str) -> CellValues:
        """The values of a target. Raises InputError if an instant or a duration shows that the unit is wrong."""
        if name in self._values:
            return self._values[name]
        values = self._values[name] = self.first(self.specs.get(name, ()))
        kind = cm.TARGETS[name].kind
        if kind == cm.INSTANT:
            self._check_fit(name, values, MAX_NS, "more than 146 years after 1970")
        if kind == cm.DURATION:
            longest = MAX_NS if self.map.time_zero == "given" else LONGEST_NS  # our own tables may hold any duration
            self._check_fit(name, values, longest, "longer than ten years")
        return values

    def first(self, specs: Iterable[cm.SourceColumn]) -> CellValues:
        """The values of several columns: of each row the first that is not missing."""
        n = len(self.batch.line)
        found = CellValues(np.full(n, ABSENT), np.zeros(n, np.int64))
        for spec in specs:
            other = self._read(spec)
            absent = found.state == ABSENT
            if absent.all():
                found = other
            else:
                found = CellValues(*(np.where(absent, *pair) for pair in zip(other, found, strict=True)))
        return found

    def _read(self, spec: cm.SourceColumn) -> CellValues:
        """The values of a column: instants and durations in ns, counts, memory per core in KB, or whole numbers."""
        array = self.array(spec)
        if spec.kind == cm.INSTANT:
            return ar.instants(array, spec, self.map.zone, self.source)
        if spec.kind == cm.DURATION:
            return ar.durations(array, spec, self.source)
        found = ar.resource_counts(array, spec) if spec.tres else ar.amounts(array, spec, self.source)
        if spec.kind == cm.COUNT:
            values = ar.counts(found, spec.times, cm.COUNT_UNITS[spec.unit])
            return self._of_hosts(values) if spec.per == "host" else values
        if spec.kind == cm.MEMORY:
            return self._memory(ar.kilobytes(found, cm.MEMORY_UNITS[spec.unit]), spec.per)
        return CellValues(np.where((found.state == READ) & (found.nano != 0), WRONG, found.state), found.whole)

    def _of_hosts(self, values: CellValues) -> CellValues:
        """Values of a host, times the hosts."""
        hosts = self.of("hosts")
        several = np.maximum(hosts.value, 0)
        state = np.where(values.state == READ, hosts.state, values.state)
        too_large = (state == READ) & (np.abs(values.value) > MAX_NS // np.maximum(several, 1))
        return CellValues(np.where(too_large, WRONG, state), np.where(too_large, 0, values.value) * several)

    def _memory(self, values: CellValues, per: str) -> CellValues:
        """Memory of a core in KB, rounded up; unknown if it is not positive."""
        if per == "host":
            values = self._of_hosts(values)
        cores = 1 if per == "core" else np.maximum(self.of("cores").value, 1)
        known = (values.state == READ) & (values.value > 0)
        return CellValues(np.where(known, READ, ABSENT), -(-values.value // cores))

    def known(self, name: str, default: int = -1) -> Array:
        """The values of a target that are not negative, and a default for others."""
        values = self.of(name)
        return np.where((values.state == READ) & (values.value >= 0), values.value, default)

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
        wrong = derived & (run > LONGEST_NS)
        if not wrong.any():
            return
        row = int(wrong.argmax())
        column, word = self.word("start", row)
        raise InputError(
            f"{self.source}: row {self.batch.line[row]}: column {shown_name(column)}: {shown(word)}: the job would run for "
            f"{format_ns(int(run[row]))} ({self.map.source}: columns.start); if it means no start, set missing = {shown(word)}"
        )

    def words(self, spec: cm.SourceColumn) -> tuple[Array, list[str]]:
        """The place of each cell's word in a list of words, and these."""
        return ar.distinct_words(self.array(spec))

    def word(self, name: str, row: int) -> tuple[str, str]:
        """The column that a target is read from, and a row's word there."""
        column, word = name, ""
        for spec in self.specs.get(name, ()):
            column = spec.column or name
            word = ar.word_of(self._cell(spec, row))
            if word and word not in spec.missing:
                break
        return column, word

    def _cell(self, spec: cm.SourceColumn, row: int) -> Any:
        try:
            return self.array(spec)[row].as_py()
        except (ValueError, OverflowError):  # a date outside Python's range
            return str(self.array(spec)[row])
