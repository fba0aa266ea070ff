"""Reads a table as a workload, as a whole or in blocks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from bls.workloads.columns import BEGIN, COLUMNS, KEPT, OPTIONAL, RejectedLine, first_rejects
from bls.workloads.header import MOST_NAMES, TITLES
from bls.workloads.readers.tables.column_map import ColumnMap
from bls.workloads.readers.tables.events import EVENT, JobsOfEvents
from bls.workloads.readers.tables.jobs import EARLIER, NAMES, REASONS, JobsOfBatch, JobsOfRows
from bls.workloads.readers.tables.named import given_map, map_names, recognised
from bls.workloads.readers.tables.sources import RowTable, check_known, opened
from bls.workloads.workload import MALFORMED, Workload, no_valid_job
from traces.base.errors import InputError, listed, shown
from traces.base.time import NS_PER_S
from traces.compiled import Array

_SINCE_1970_NS = 315_532_800 * NS_PER_S  # 1980; no log lasts ten years
_INSTANTS = ("cancel_ns", "begin_ns")
_SHORT_NS = NS_PER_S
_MOST_WORDS = 5


def read_table(path: str | os.PathLike[str], *, columns: str = "", cancelled: bool = False) -> Workload:
    """Read a table: CSV and the like, JSON or Parquet.

    Parameters
    ----------
    path : path
        The table; or a map in TOML with the key ``file``.
    columns : str
        The map: a name of the project's, or a TOML file; without it, the map that recognises the table's columns.
    cancelled : bool
        Whether jobs that were cancelled before their start are jobs too.

    Raises
    ------
    InputError
        In one line that names the file, and column and row if one is at fault.
    """
    with _opened(path, columns) as (table, found, source):
        jobs, wanted = _jobs_of(table, found, source, cancelled=cancelled)
        collected = _Collected()
        for batch in table.batches(wanted):
            collected.add(jobs.jobs(batch))
        base, extra, extras = collected.taken()
        if jobs.attempts:
            kept = _without_earlier(jobs, base[5])
            base = [column[kept] for column in base]
            extra = {name: column if column.ndim == 0 else column[kept] for name, column in extra.items()}
            extras = {name: column if column.ndim == 0 else column[kept] for name, column in extras.items()}
        start_ns = _start_ns(base[1], found)
        base[1] = base[1] - start_ns
        for name in _INSTANTS:
            if name in extra:
                extra[name] = np.where(extra[name] >= 0, extra[name] - start_ns, -1)
        account = _account(jobs, table)
        ids = {job: jobs.ids[job] for job in base[0].tolist() if job in jobs.ids} if jobs.ids else {}
        labels: dict[str, Mapping[int, str]] = dict(jobs.labels())
        labels.pop("", None)
        for column in (*base, *extra.values(), *extras.values()):
            column.flags.writeable = False
        return Workload.from_lines(
            base,
            header=_header(table, found, start_ns, labels),
            rejects=account.rejects,
            source=os.fspath(path),
            n_lines=account.n_lines,
            extra=extra,
            extras=extras,
            rejected=first_rejects(account.rejected),
            names=labels.pop("application", None),
            ids=ids,
            also_preceding=jobs.also_preceding,
            labels=labels,
            remarks=_remarks(jobs, found),
        )


def table_blocks(path: str | os.PathLike[str], *, columns: str = "") -> Iterator[Workload]:
    """The jobs of a table, some at a time, for callers that cannot hold all of them.

    They are those of :func:`read_table`, except that texts that identify jobs are neither kept nor compared: such jobs are
    numbered in their order. The first block has the header; the counts of a block are those of the rows since the previous one.

    Raises InputError as :func:`read_table` does; if a job is submitted before a job of an earlier row or does not have a higher
    number; and for a map with attempts or events, which need all rows.
    """
    with _opened(path, columns) as (table, found, source):
        if found.events is not None or "attempt" in found.columns:
            what = "events" if found.events is not None else "columns.attempt"
            raise InputError(
                f"{source}: {found.source}: {what}: needs all rows; the table cannot be read as the simulation goes"
            )
        jobs, wanted = _jobs_of(table, found, source, streamed=True)
        facts: dict[str, Any] = {"source": os.fspath(path), "reordered": 0, "clamped": 0}
        start_ns, named = 0, False
        waits: JobsOfBatch | None = None  # the last jobs, held back for the rejected rows that follow them
        last = np.array([-1, -1])
        given = _Account({}, [], 0)  # by the blocks so far
        for batch in table.batches(wanted):
            upto = _account(jobs, table)
            rows = jobs.jobs(batch)
            if not len(rows.base[0]):
                continue
            keys = np.array([rows.base[0], rows.base[1]])
            _check_order(np.concatenate([last[:, np.newaxis], keys], axis=1), rows.base[5], source)
            last = keys[:, -1].copy()
            if waits is None:
                start_ns, named = _start_ns(rows.base[1], found), bool(jobs.labels().get("application"))
                # As in SWF, a comment says that jobs may be held.
                held = (f"; Field 19: {BEGIN}",) if "begin" in found.columns else ()
                facts["header"] = (*_header(table, found, start_ns, {}), *held)
                facts["remarks"] = _remarks(jobs, found)
            else:
                yield Workload(**_block(waits, start_ns, jobs, named), **upto.since(given), **facts)
                given, facts["remarks"] = upto, ()
            waits = rows
        account = _account(jobs, table)
        if waits is None:
            raise no_valid_job(source, account.n_lines, account.rejects, account.rejected)
        yield Workload(**_block(waits, start_ns, jobs, named), **account.since(given), **facts)


class _Account(NamedTuple):
    """Counts of rows."""

    rejects: dict[str, int]  # by reason
    rejected: list[RejectedLine]  # the first of them
    n_lines: int  # all rows

    def since(self, before: _Account) -> dict[str, Any]:
        """Fields of a workload: the counts since an earlier time."""
        rejects = {reason: count - before.rejects.get(reason, 0) for reason, count in self.rejects.items()}
        return {"rejects": rejects, "n_lines": self.n_lines - before.n_lines}


class _Column:
    """A growing column that is stored as one number while all its values are equal."""

    def __init__(self) -> None:
        self._parts: list[Array] = []
        self._n = 0
        self._one = 0

    def add(self, values: Array) -> None:
        """Append values, an ndarray of int64 of shape (m,), which is kept."""
        if not len(values):
            return
        if not self._n:
            self._one = int(values[0])
        if not self._parts and (values[-1] != self._one or np.any(values != self._one)):
            self._parts.append(np.full(self._n, self._one))
        if self._parts:
            self._parts.append(values)
        self._n += len(values)

    def taken(self, whole: bool) -> Array:
        """All values: shape (n,), or () for one number, unless ``whole``."""
        if self._parts:
            values, self._parts = np.concatenate(self._parts), []
            return values
        return np.full(self._n, self._one) if whole or not self._n else np.array(self._one)


class _Collected:
    """Jobs of all batches, as columns."""

    def __init__(self) -> None:
        self._n = 0
        self._base = [_Column() for _ in range(6)]
        self._others: dict[str, dict[str, _Column]] = {"extra": {}, "extras": {}}

    def add(self, rows: JobsOfBatch) -> None:
        """Add the jobs of a batch."""
        n = len(rows.base[0])
        for column, values in zip(self._base, rows.base, strict=True):
            column.add(values)
        for kind, given in (("extra", rows.extra), ("extras", rows.extras)):
            known = self._others[kind]
            for name in given:
                if name not in known:
                    known[name] = _Column()
                    known[name].add(np.full(self._n, _default(kind, name)))
            for name, column in known.items():
                column.add(given[name] if name in given else np.full(n, _default(kind, name)))
        self._n += n

    def taken(self) -> tuple[list[Array], dict[str, Array], dict[str, Array]]:
        """The columns; those further ones whose numbers are all equal have shape ()."""
        base = [column.taken(True) for column in self._base]
        extra, extras = (
            {name: column.taken(False) for name, column in known.items()} for known in self._others.values()
        )
        return base, extra, extras


def _default(kind: str, name: str) -> int:
    return OPTIONAL[name] if kind == "extra" else -1


@contextmanager
def _opened(path: str | os.PathLike[str], columns: str) -> Iterator[tuple[RowTable, ColumnMap, str]]:
    """The table of a path, with its map."""
    found = given_map(columns) if columns else None
    source = os.fspath(path)
    if found is None and source.lower().endswith(".toml"):
        found = given_map(source)
        if not found.file:
            raise InputError(f"{source}: file: missing; a map that is the workload names its table")
        source = found.file
    given: dict[str, Any] = (
        {} if found is None else {"form": found.format, "separator": found.separator, "header": found.header}
    )
    with opened(source, records="" if found is None else found.records, **given) as table:
        if found is None:
            found = recognised(table.names)
        if found is None:
            raise InputError(
                f"{source}: no map of columns recognises this table with {listed(table.names)}; known maps: "
                f"{', '.join(map_names())}; twolevel workload columns prints a first map to edit"
            )
        made: Any = table if found.events is None else JobsOfEvents(table, found.events, source)
        yield made, found, source


def _jobs_of(
    table: RowTable, found: ColumnMap, source: str, *, cancelled: bool = False, streamed: bool = False
) -> tuple[JobsOfRows, tuple[str, ...]]:
    """The converter of a table, and the columns to read."""
    wanted = check_known(table, found.needed, found.optional, found.source, source)
    if found.events is not None:
        check_known(table, (found.events.job, found.events.type, found.events.time), (), found.source, source)
    others = [
        name for name in table.names if found.others and name.startswith(found.others) and len(name) > len(found.others)
    ]
    further = {
        name.removeprefix(found.others): name
        for name in others
        if not (name.endswith(NAMES) and name[: -len(NAMES)] in others)
    }
    wanted = tuple(dict.fromkeys((*wanted, *others)))
    return JobsOfRows(found, source, wanted, further, cancelled=cancelled, streamed=streamed), wanted


def _start_ns(submit: Array, found: ColumnMap) -> int:
    """Time 0 of the log, in ns of the table's times: a whole second."""
    earliest = int(submit.min()) if len(submit) and found.time_zero == "auto" else 0
    return earliest // NS_PER_S * NS_PER_S if earliest >= _SINCE_1970_NS else 0


def _header(
    table: RowTable, found: ColumnMap, start_ns: int, labels: Mapping[str, Mapping[int, str]]
) -> tuple[str, ...]:
    comments = [text[1:] if text.startswith("#") else text for text in table.comments]
    lines = [text if text.startswith(";") else f"; {text.strip()}" for text in comments]
    if found.time_zero == "given":
        return tuple(lines)
    lines += [f"; Computer: {found.title}"] if found.title else []
    lines += [f"; MaxNodes: {found.hosts}"] if found.hosts else []
    lines += [f"; MaxProcs: {found.cores}"] if found.cores else []
    if start_ns:
        lines.append(f"; UnixStartTime: {start_ns // NS_PER_S}")
        lines += [f"; TimeZoneString: {found.zone}"] if found.zone else []
    for column, title in TITLES.items():
        names = list(labels.get(column, {}).items())[:MOST_NAMES]
        lines += [f"; {title}: {number} {' '.join(name.split())}" for number, name in names]
    return tuple(lines)


def _account(jobs: JobsOfRows, table: RowTable) -> _Account:
    """The counts of all rows so far."""
    counts = dict(jobs.counts)
    counts[MALFORMED] += table.n_rejected
    rejected = sorted([*table.rejected, *jobs.rejected], key=lambda one: one.line)
    n_lines = jobs.n_rows + table.n_rejected
    if isinstance(table, JobsOfEvents):
        counts[EVENT] = table.n_events
        rejected += table.events
        n_lines += table.n_events
    return _Account(counts, rejected, n_lines)


def _without_earlier(jobs: JobsOfRows, lines: Array) -> Array:
    """The rows of jobs that are their last attempts; the others are counted as rejects."""
    line, job, attempt, why = np.concatenate(jobs.attempts, axis=1)
    order = np.lexsort((line, attempt, job))
    is_last = np.ones(len(order), bool)
    is_last[:-1] = job[order][1:] != job[order][:-1]
    earlier = np.zeros(len(order), bool)
    earlier[order[~is_last]] = True
    earlier &= (job >= 0) & (why != 1) & (why != 2)  # malformed, skipped hour
    for code, reason in enumerate(REASONS, 1):
        jobs.counts[reason] -= int(np.count_nonzero(earlier & (why == code)))
    jobs.counts[EARLIER] += int(np.count_nonzero(earlier))
    gone = set(line[earlier].tolist())
    jobs.rejected = [one for one in jobs.rejected if one.line not in gone]
    for row in np.flatnonzero(earlier)[:KEPT].tolist():
        jobs.rejected.append(RejectedLine(EARLIER, int(line[row]), "attempt", f"{attempt[row]}"))
    return np.flatnonzero(~np.isin(lines, line[earlier]))


def _remarks(jobs: JobsOfRows, found: ColumnMap) -> tuple[str, ...]:
    remarks = (
        [] if found.time_zero == "given" else [f"read with {found.source}" + f", {found.title}" * bool(found.title)]
    )
    if words := jobs.unknown_states:
        first = ", ".join(shown(word) for word in list(words)[:_MOST_WORDS]) + " …" * (len(words) > _MOST_WORDS)
        remarks.append(
            f"{words.total()} rows have a state that the map does not list: {first}; their status is unknown"
        )
    if jobs.drops_ids:
        remarks.append("texts that identify jobs are not kept: jobs are numbered in their order")
    if 0 < jobs.longest_ns < _SHORT_NS:
        remarks.append(
            f"no job runs for a second; perhaps the unit of columns.run or of start and end in {found.source} is wrong"
        )
    if 2 * jobs.n_longer > jobs.n_limited:
        longer = f"{jobs.n_longer} of {jobs.n_limited} jobs with a time limit run longer"
        remarks.append(f"{longer}; perhaps the unit of columns.walltime in {found.source} is wrong")
    return tuple(remarks)


def _block(rows: JobsOfBatch, start_ns: int, jobs: JobsOfRows, named: bool) -> dict[str, Any]:
    """Columns and names of a block of a workload; ``named``: whether jobs have names."""
    columns: dict[str, Any] = dict(zip(COLUMNS, rows.base, strict=True)) | rows.extra
    columns["submit_ns"] = columns["submit_ns"] - start_ns
    for name in _INSTANTS:
        if name in columns:
            columns[name] = np.where(columns[name] >= 0, columns[name] - start_ns, -1)
    labels: dict[str, Mapping[int, str]] = dict(jobs.labels())
    names = labels.pop("application", {})
    return columns | {"extras": rows.extras, "labels": labels, "names": names if named else {}}


def _check_order(keys: Array, lines: Array, source: str) -> None:
    # Of job number and submit, in the order of rows, beginning with the previous job.
    higher, later = np.diff(keys) > [[0], [-1]]
    if not (higher & later).all():
        row = int(np.argmin(higher & later))
        what = "is submitted before a job" if not later[row] else "has no higher number than a job"
        raise InputError(
            f"{source}: row {lines[row]}: job {keys[0, row + 1]} {what} of an earlier row; "
            "allowed where a table is read as the simulation goes: jobs in the order of submits and of numbers"
        )
