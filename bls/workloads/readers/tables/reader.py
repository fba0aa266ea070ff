"""Reads a table as a workload, as a whole or in blocks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from bls.workloads.columns import BEGIN, COLUMNS, OPTIONAL, RejectedLine, first_rejects
from bls.workloads.header import MOST_NAMES, TITLES
from bls.workloads.readers.lines import check_order
from bls.workloads.readers.tables.column_map import ColumnMap
from bls.workloads.readers.tables.events import EVENT, JobsOfEvents
from bls.workloads.readers.tables.jobs import NAMES, JobsOfBatch, JobsOfRows
from bls.workloads.readers.tables.named import given_map, map_names, recognised
from bls.workloads.readers.tables.sources import RowTable, check_known, opened
from bls.workloads.workload import MALFORMED, Workload, no_valid_job
from traces.base.columns import read_only
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
        batches = [jobs.jobs(batch) for batch in table.batches(wanted)]
        extra = _joined([one.columns for one in batches])
        start_ns = _start_ns(extra["submit_ns"], found) if extra else 0
        _shift(extra, start_ns)
        base = [extra.pop(name, np.zeros(0, np.int64)) for name in COLUMNS]
        account = _account(jobs, table)
        if not len(base[0]):
            raise no_valid_job(source, account.n_lines, account.rejects, account.rejected)
        ids = jobs.ids()
        ids = {job: ids[job] for job in base[0].tolist() if job in ids} if ids else {}
        labels: dict[str, Mapping[int, str]] = dict(jobs.labels())
        return Workload.from_lines(
            base,
            header=_header(table, found, start_ns, labels),
            rejects=account.rejects,
            source=os.fspath(path),
            n_lines=account.n_lines,
            extra=extra,
            extras=_joined([one.extras for one in batches]),
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
    number; and for a map with events, which need all rows.
    """
    with _opened(path, columns) as (table, found, source):
        if found.events is not None:
            what = "events: needs all rows; the table cannot be read as the simulation goes"
            raise InputError(f"{source}: {found.source}: {what}")
        jobs, wanted = _jobs_of(table, found, source, streamed=True)
        facts: dict[str, Any] = {"source": os.fspath(path), "reordered": 0, "clamped": 0}
        start_ns, named = 0, False
        waits: JobsOfBatch | None = None  # the last jobs, held back for the rejected rows that follow them
        last = np.full((2, 1), -1)
        given = _Account({}, [], 0)  # the rows of the blocks so far
        for batch in table.batches(wanted):
            upto = _account(jobs, table)
            rows = jobs.jobs(batch)
            keys = np.array([rows.columns["job_id"], rows.columns["submit_ns"]])
            if not keys.shape[1]:
                continue
            check_order(np.concatenate([last, keys], axis=1), rows.columns["line"], "row", source)
            last = keys[:, -1:]
            if waits is None:
                start_ns, named = _start_ns(keys[1], found), bool(jobs.labels().get("application"))
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

    rejects: dict[str, int]  # numbers of rejects, by reason
    rejected: list[RejectedLine]  # the first rejects
    n_lines: int  # number of rows

    def since(self, before: _Account) -> dict[str, Any]:
        """Fields of a workload: the counts since an earlier time."""
        rejects = {reason: count - before.rejects.get(reason, 0) for reason, count in self.rejects.items()}
        return {"rejects": rejects, "n_lines": self.n_lines - before.n_lines}


def _joined(batches: list[dict[str, Array]]) -> dict[str, Array]:
    """The columns of all batches, which are emptied. A column that a batch lacks has its default there; a column beyond
    ``COLUMNS`` whose numbers are all equal has shape ()."""
    sizes = [max(map(len, one.values()), default=0) for one in batches]
    columns: dict[str, Array] = {}
    for name in dict.fromkeys(chain.from_iterable(batches)):
        default = OPTIONAL.get(name, -1)
        parts = [one.pop(name) if name in one else np.full(n, default) for n, one in zip(sizes, batches, strict=True)]
        column = np.concatenate(parts)
        is_one = name not in COLUMNS and len(column) and (column == column[0]).all()
        columns[name] = read_only(np.array(column[0]) if is_one else column)
    return columns


def _shift(columns: dict[str, Array], start_ns: int) -> None:
    """Make instants count from time 0 of the log."""
    for name in ("submit_ns", *_INSTANTS) if start_ns else ():
        if name in columns:
            columns[name] = read_only(np.where(columns[name] >= 0, columns[name] - start_ns, -1))


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
        units = "the units of columns.run, columns.start and columns.end"
        remarks.append(f"no job runs for a second; check {units} in {found.source}")
    if 2 * jobs.n_longer > jobs.n_limited:
        longer = f"{jobs.n_longer} of {jobs.n_limited} jobs with a time limit run longer than it"
        remarks.append(f"{longer}; check the unit of columns.walltime in {found.source}")
    return tuple(remarks)


def _block(rows: JobsOfBatch, start_ns: int, jobs: JobsOfRows, named: bool) -> dict[str, Any]:
    """Columns and names of a block of a workload; ``named``: whether jobs have names."""
    columns: dict[str, Any] = dict(rows.columns)
    _shift(columns, start_ns)
    labels: dict[str, Mapping[int, str]] = dict(jobs.labels())
    names = labels.pop("application", {})
    return columns | {"extras": rows.extras, "labels": labels, "names": names if named else {}}
