"""Tables of events: all rows with one identity become one row, with the instants of submit, start and end, and the state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from bls.workloads.columns import KEPT, RejectedLine
from bls.workloads.readers.tables.arrays import at_rows, distinct_words, joined, plain, texts
from bls.workloads.readers.tables.column_map import EVENT_COLUMNS, Events
from bls.workloads.readers.tables.sources import RowBatch, RowTable
from traces.compiled import Array

EVENT = "event of a job above"  #: reason under which the further rows of a job are counted
_ENDS = ("completed", "failed", "cancelled")
_ROLES = ("submit", "start", *_ENDS)


class JobsOfEvents:
    """A table with one row per job, made of a table of events; all of its rows are in memory."""

    def __init__(self, table: RowTable, events: Events, source: str) -> None:
        self._table, self._events, self._source = table, events, source
        self.names = (*table.names, *EVENT_COLUMNS)
        self.comments = table.comments
        self.n_events = 0  # further rows of jobs
        self.events: list[RejectedLine] = []  # the first of them

    @property
    def rejected(self) -> list[RejectedLine]:
        """The first rows that cannot be parsed."""
        return self._table.rejected

    @property
    def n_rejected(self) -> int:
        """Number of rows that cannot be parsed."""
        return self._table.n_rejected

    def batches(self, wanted: Iterable[str]) -> Iterator[RowBatch]:
        """One batch of all jobs, in the order of their first events."""
        events = self._events
        from_table = [name for name in wanted if name not in EVENT_COLUMNS]
        read = list(dict.fromkeys([*from_table, events.job, events.type, events.time]))
        several = list(self._table.batches(read))
        if not several:
            return
        columns = {name: joined([one.columns[name] for one in several]) for name in read}
        line = np.concatenate([one.line for one in several])
        job, _ = distinct_words(plain(columns[events.job], events.job, self._source))
        kind, words = distinct_words(plain(columns[events.type], events.type, self._source))
        roles = {word: role for role in _ROLES for word in getattr(events, role)}
        role = np.array([roles.get(word, "") for word in words])[kind]
        n = int(job.max(initial=-1)) + 1
        rows = _place(np.ones(len(job), bool), job, n)
        self._count(line, rows, job)
        end = _place(np.isin(role, _ENDS), job, n, last=True)
        time = columns[events.time]
        made = {
            "submit": at_rows(time, _place(role == "submit", job, n)),
            "start": at_rows(time, _place(role == "start", job, n)),
            "end": at_rows(time, end),
            "state": texts(np.where(end >= 0, role[end], "running").tolist()),
        }
        yield RowBatch(made | {name: at_rows(columns[name], rows) for name in from_table}, line[rows])

    def _count(self, line: Array, rows: Array, row_of: Array) -> None:
        is_first = np.zeros(len(line), bool)
        is_first[rows] = True
        self.n_events = len(line) - len(rows)
        for place in np.flatnonzero(~is_first)[:KEPT].tolist():
            job = int(line[rows[row_of[place]]])
            self.events.append(RejectedLine(EVENT, int(line[place]), "row of the job", f"{job}"))


def _place(wanted: Array, row_of: Array, n: int, *, last: bool = False) -> Array:
    """The first (or last) of the wanted rows of each job; -1 if there is none."""
    found = np.full(n, -1, np.int64)
    rows = np.flatnonzero(wanted)
    rows = rows if last else rows[::-1]
    found[row_of[rows]] = rows  # of equal places the last assignment remains
    return found
