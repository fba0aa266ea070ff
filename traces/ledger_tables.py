"""Tables of a ledger's records besides its jobs: tasks, transfers, and events of running jobs; and ledgers of stored tables."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from traces.base.errors import InputError, shown
from traces.compiled import Array
from traces.intervals import parse_texts
from traces.ledger import STATES, WHY, JobRecords, Ledger, MachineShape, TaskRecords, TransferRecords
from traces.records.events import JobEvents
from traces.records.gpus import GpuRecords
from traces.tables import DataFrame, read_rows, rows_frame, write_rows


@dataclass(frozen=True)
class LedgerTable:
    """The table of one kind of records."""

    kind: type[TaskRecords | TransferRecords | JobEvents]

    @property
    def file(self) -> str:
        """Its file name in a folder of results."""
        return f"{self.kind.name}.parquet"

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns, in order."""
        return tuple(self.kind.table_columns())

    def made(self, ledger: Ledger) -> Mapping[str, Array]:
        """Return the columns of a ledger's table; errors as :meth:`frame`."""
        kind = self.kind
        records = ledger.of(kind) if issubclass(kind, JobEvents) else getattr(ledger, kind.name)
        if records is None:
            raise InputError(f"this result has {kind.missing}")
        columns: dict[str, Array] = records.table(ledger)
        return columns

    def frame(self, ledger: Ledger) -> DataFrame:
        """Return the table of a ledger. Raises InputError if it has none."""
        return rows_frame(self.made(ledger))

    def write(self, ledger: Ledger, path: Path) -> None:
        """Write :meth:`frame` as Parquet; equal ledgers give equal bytes."""
        write_rows(self.made(ledger), path)

    def read(self, path: Path) -> DataFrame:
        """Read such a file. Raises InputError if it does not exist, or is another table."""
        return read_rows(path, self.columns)

    def read_if_there(self, folder: Path) -> DataFrame | None:
        """Return the table in a folder of results; None if it has none."""
        path = folder / self.file
        return self.read(path) if path.is_file() else None


TASKS, TRANSFERS = LedgerTable(TaskRecords), LedgerTable(TransferRecords)


def stored_events(folder: Path, n_jobs: int, kinds: Iterable[type[JobEvents]]) -> list[JobEvents]:
    """Return the events of these kinds in a folder of results. Raises InputError if a table is damaged, or has rows of jobs
    beyond the first ``n_jobs``."""
    found: list[JobEvents] = []
    for kind in kinds:
        table = LedgerTable(kind)
        frame = table.read_if_there(folder)
        if frame is None:
            continue
        found.append(kind.of_table({name: frame[name].to_numpy() for name in table.columns}))
        rows = found[-1].job
        if len(rows) and (rows.min() < 0 or rows.max() >= n_jobs):
            raise InputError(f"{folder / table.file}: has rows of jobs that do not exist")
    return found


def stored_ledger(jobs: Mapping[str, Any], machine: MachineShape) -> Ledger:
    """Return the ledger of a jobs table, without tasks.

    - ``jobs``: mapping of str to column, ``traces.tables.JOB_COLUMNS``, and ``begin_ns`` and ``gpu_allocation`` if present.
    - ``machine``: the hosts of the run.

    Raises InputError if an allocation, a state or a reason of a start is invalid, or the machine does not have a core.
    """
    declared = {name: one.dtype for name, one in JobRecords.table_columns().items() if one.dtype != "string"}
    if "begin_ns" in jobs:
        declared["begin_ns"] = "int64"
    numbers = {name: np.array(jobs[name], kind) for name, kind in declared.items()}
    first, lo, hi = parse_texts(list(jobs["allocation"]), "allocation")
    if len(hi) and int(hi.max()) > machine.n_cores:
        raise InputError(f"allocation: core {int(hi.max()) - 1}; the machine has {machine.n_cores}")
    places = {name: _places(name, jobs[name], words) for name, words in (("why", WHY), ("state", STATES))}
    held = {"allocation_first": first, "allocation_lo": lo, "allocation_hi": hi}
    gpus = GpuRecords.of_texts(list(jobs["gpu_allocation"])) if "gpu_allocation" in jobs else None
    return Ledger(machine, JobRecords(**numbers, **places, **held), None, gpus=gpus)


def _places(name: str, column: Any, words: tuple[str, ...]) -> Array:
    place = {word: number for number, word in enumerate(words)}
    try:
        return np.array([place[word] for word in column], np.int8)
    except KeyError as error:
        raise InputError(f"{name}: {shown(error.args[0])}; allowed: {', '.join(words)}") from None


def tasks_frame(ledger: Ledger) -> DataFrame:
    """Return one row per task that ran, the columns of :data:`TASKS`; sorted as ``jobs_frame``, then by task.

    Raises
    ------
    InputError
        If the ledger has no tasks.
    """
    return TASKS.frame(ledger)


def transfers_frame(ledger: Ledger) -> DataFrame:
    """Return one row per transfer between cores, the columns of :data:`TRANSFERS`; sorted as ``jobs_frame``, then by (source,
    target).

    Raises
    ------
    InputError
        If the ledger has no transfers, or no tasks, which have the cores.
    """
    return TRANSFERS.frame(ledger)
