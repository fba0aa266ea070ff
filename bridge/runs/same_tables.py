"""Whether two runs have the same tables, byte for byte, as one scenario has in every coupling."""

from __future__ import annotations

import filecmp
from pathlib import Path

from bridge.runs.directory import read_record, write_record
from traces.base.errors import InputError

__all__ = ["check_other", "note_same"]

_TABLES = (
    "jobs.parquet",
    "tasks.parquet",
    "transfers.parquet",
    "releases.parquet",
    "hints.parquet",
    "widths.parquet",
    "scales.parquet",
    "nodes.parquet",
    "decisions.parquet",
)


def check_other(other: Path) -> None:
    """See that there is a run to compare with, before another one begins.

    Raises
    ------
    InputError
        If the folder is not the result of one.
    """
    read_record(other)
    if not (other / _TABLES[0]).is_file():
        raise InputError(f"--same-as: {other} has no {_TABLES[0]}")


def note_same(folder: Path, other: Path) -> dict[str, bool]:
    """Compare the tables that two runs have, and note it in the record of the first.

    Returns
    -------
    dict of str: bool
        Of each table that both have, whether its bytes are the same.
    """
    both = [name for name in _TABLES if (folder / name).is_file() and (other / name).is_file()]
    same = {name: filecmp.cmp(folder / name, other / name, shallow=False) for name in both}
    write_record(folder / "run.json", read_record(folder) | {"same_as": {"run": str(other), "tables": same}})
    return same
