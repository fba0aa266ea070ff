"""Tables of what a ledger has beside its jobs: tasks, transfers, and what running jobs were told and did."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from traces.base.errors import InputError
from traces.base.scale import WHOLE
from traces.compiled import Array
from traces.ledger import Ledger, TaskRecords, TransferRecords
from traces.tables import read_rows, rows_frame, write_rows

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class LedgerTable:
    """One kind of table, of any ledger that has what it is made of.

    Attributes
    ----------
    file : str
        What it is called in a folder of results.
    columns : tuple of str
        In this order.
    make : callable
        The columns of a ledger, by name; an InputError if it has none.
    """

    file: str
    columns: tuple[str, ...]
    make: Callable[[Ledger], Mapping[str, Array]]

    def frame(self, ledger: Ledger) -> pd.DataFrame:
        """The table of a ledger.

        Raises
        ------
        InputError
            If it has none.
        """
        return rows_frame(self.make(ledger))

    def write(self, ledger: Ledger, path: Path) -> None:
        """Write :meth:`frame` as Parquet; equal ledgers give equal bytes."""
        write_rows(self.make(ledger), path)

    def read(self, path: Path) -> pd.DataFrame:
        """Read such a file back.

        Raises
        ------
        InputError
            If there is none, or it is not one.
        """
        return read_rows(path, self.columns)

    def read_if_there(self, folder: Path) -> pd.DataFrame | None:
        """The table in a folder of results; None if it has none."""
        path = folder / self.file
        return self.read(path) if path.is_file() else None


def _tasks(ledger: Ledger) -> TaskRecords:
    if ledger.tasks is None:
        raise InputError("this result has no tasks: they were not kept, or there was no application level")
    return ledger.tasks


def _task_columns(ledger: Ledger) -> dict[str, Array]:
    tasks = _tasks(ledger)
    count = np.diff(tasks.first)
    columns = {
        "job_id": np.repeat(ledger.jobs.job_id, count),
        "task": np.arange(len(tasks)) - np.repeat(tasks.first[:-1], count),
        "chunk": tasks.chunk,
        "core": tasks.core,
        "start_ns": tasks.start_ns,
        "end_ns": tasks.end_ns,
        "length_gflop": tasks.length_gflop,
    }
    ran = tasks.start_ns >= 0
    if not ran.all():  # tasks of a job that was cut that never ran are no rows of the table
        columns = {name: column[ran] for name, column in columns.items()}
    return columns


def _transfers(ledger: Ledger) -> TransferRecords:
    if ledger.transfers is None:
        raise InputError("this result has no transfers: there was no network, or no task graph")
    return ledger.transfers


def _transfer_columns(ledger: Ledger) -> dict[str, Array]:
    transfers, tasks = _transfers(ledger), _tasks(ledger)
    count = np.diff(transfers.first)
    first_task = np.repeat(tasks.first[:-1], count)
    return {
        "job_id": np.repeat(ledger.jobs.job_id, count),
        "source": transfers.source,
        "target": transfers.target,
        "source_core": tasks.core[first_task + transfers.source],
        "target_core": tasks.core[first_task + transfers.target],
        "bytes": transfers.bytes,
        "sent_ns": transfers.sent_ns,
        "arrived_ns": transfers.arrived_ns,
    }


def _release_columns(ledger: Ledger) -> dict[str, Array]:
    releases, jobs = ledger.releases, ledger.jobs
    if releases is None:
        raise InputError(
            "this result has no releases: no core was given back before its job's end (coordination release)"
        )
    return {
        "row": releases.job,
        "job_id": jobs.job_id[releases.job],
        "attempt": jobs.attempt[releases.job],
        "core": releases.core,
        "released_ns": releases.released_ns,
    }


def _hint_columns(ledger: Ledger) -> dict[str, Array]:
    hints, jobs = ledger.hints, ledger.jobs
    if hints is None:
        raise InputError("this result has no hints: no job was told who waits for its cores (coordination hint)")
    return {
        "row": hints.job,
        "job_id": jobs.job_id[hints.job],
        "attempt": jobs.attempt[hints.job],
        "told_ns": hints.told_ns,
        "waiting_row": hints.waiting,
        "waiting_job_id": np.where(hints.waiting < 0, -1, jobs.job_id[hints.waiting]),
        "lack": hints.lack,
        "wanted": hints.wanted,
    }


def _width_columns(ledger: Ledger) -> dict[str, Array]:
    widths, jobs = ledger.widths, ledger.jobs
    if widths is None:
        raise InputError("this result has no changes of widths: no job was malleable (malleable, resize)")
    return {
        "row": widths.job,
        "job_id": jobs.job_id[widths.job],
        "attempt": jobs.attempt[widths.job],
        "told_ns": widths.told_ns,
        "core": widths.core,
        "change": widths.change,
    }


def _scale_columns(ledger: Ledger) -> dict[str, Array]:
    scales, jobs = ledger.scales, ledger.jobs
    if scales is None:
        raise InputError(
            "this result has no scaled speeds: neither its policy nor a limit to power directs running jobs"
        )
    return {
        "row": scales.job,
        "job_id": jobs.job_id[scales.job],
        "attempt": jobs.attempt[scales.job],
        "told_ns": scales.told_ns,
        "core": scales.core,
        "factor": scales.scale / WHOLE,
    }


#: A row a task that ran; jobs in the order of the table of jobs, their tasks in task order.
TASKS: Final = LedgerTable(
    "tasks.parquet", ("job_id", "task", "chunk", "core", "start_ns", "end_ns", "length_gflop"), _task_columns
)

#: A row a transfer that arrived; jobs in that order, a job's transfers in the order of (source, target). It needs the tasks,
#: whose cores they are between.
TRANSFERS: Final = LedgerTable(
    "transfers.parquet",
    ("job_id", "source", "target", "source_core", "target_core", "bytes", "sent_ns", "arrived_ns"),
    _transfer_columns,
)

#: A row a core that a job released before its end, in the order of the table of jobs, then of cores. ``row`` is, as in those
#: below, the job's in that table.
RELEASES: Final = LedgerTable("releases.parquet", ("row", "job_id", "attempt", "core", "released_ns"), _release_columns)

#: A row each time a running job was told for how many of its cores another one waits, in the order of the table of jobs, then
#: of instants, as those below; ``waiting_row`` is a row of that table, too.
HINTS: Final = LedgerTable(
    "hints.parquet",
    ("row", "job_id", "attempt", "told_ns", "waiting_row", "waiting_job_id", "lack", "wanted"),
    _hint_columns,
)

#: A row each time a running job was given a core (``change`` 1), or asked for one (-1), or wished for so many (0).
WIDTHS: Final = LedgerTable("widths.parquet", ("row", "job_id", "attempt", "told_ns", "core", "change"), _width_columns)

#: A row each time the speed of a running job's core, or of all (-1), was scaled.
SCALES: Final = LedgerTable("scales.parquet", ("row", "job_id", "attempt", "told_ns", "core", "factor"), _scale_columns)


def tasks_frame(ledger: Ledger) -> pd.DataFrame:
    """One row per task that ran, the columns of :data:`TASKS`; jobs in the order of ``jobs_frame``, their tasks in task order.

    Raises
    ------
    InputError
        If the ledger has no tasks.
    """
    return TASKS.frame(ledger)


def transfers_frame(ledger: Ledger) -> pd.DataFrame:
    """One row per transfer that arrived, the columns of :data:`TRANSFERS`; jobs in the order of ``jobs_frame``.

    A job's transfers are in the order of (source, target).

    Raises
    ------
    InputError
        If the ledger has no transfers, or no tasks, whose cores they are between.
    """
    return TRANSFERS.frame(ledger)
