"""The table of scaled speeds: when the cores of running jobs were made to run faster or slower."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from traces.base.errors import InputError
from traces.base.scale import WHOLE
from traces.compiled import Array
from traces.ledger import Ledger
from traces.tables import read_rows, rows_frame, write_rows

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SCALE_COLUMNS", "read_scales", "scales_frame", "write_scales"]

#: The columns; ``row`` is the job's in the table of jobs, ``core`` -1 for all of its cores.
SCALE_COLUMNS = ("row", "job_id", "attempt", "told_ns", "core", "factor")


def _columns(ledger: Ledger) -> dict[str, Array]:
    scales, jobs = ledger.scales, ledger.jobs
    if scales is None:
        raise InputError("this result has no scaled speeds: its policy does not direct running jobs")
    return {
        "row": scales.job,
        "job_id": jobs.job_id[scales.job],
        "attempt": jobs.attempt[scales.job],
        "told_ns": scales.told_ns,
        "core": scales.core,
        "factor": scales.scale / WHOLE,
    }


def scales_frame(ledger: Ledger) -> pd.DataFrame:
    """One row each time the speed of a running job's core, or of all, was scaled, columns ``SCALE_COLUMNS``, in the order of
    ``jobs_frame``, then of instants.

    Raises
    ------
    InputError
        If the ledger has no scaled speeds.
    """
    return rows_frame(_columns(ledger))


def write_scales(ledger: Ledger, path: Path) -> None:
    """Write ``scales_frame`` as Parquet; equal ledgers give equal bytes."""
    write_rows(_columns(ledger), path)


def read_scales(path: Path) -> pd.DataFrame:
    """Read a scales.parquet back.

    Raises
    ------
    InputError
        If there is none, or it is not one.
    """
    return read_rows(path, SCALE_COLUMNS)
