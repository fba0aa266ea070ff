"""Byte-for-byte comparison of the tables of two runs: one scenario has equal tables in every coupling."""

from __future__ import annotations

import filecmp
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.options.declared import SAME_AS
from bridge.runs.directory import read_record, write_record
from traces.base.errors import InputError
from traces.tables import read_rows

if TYPE_CHECKING:
    import pandas as pd

#: The table that every run has, named first; and the table with measured values, which differ: the cost of deciding, and
#: times that a deciding policy has noted, which are all columns in ns except for the simulated instant.
_JOBS, _DECISIONS, _INSTANT = "jobs.parquet", "decisions.parquet", "now_ns"


@dataclass(frozen=True)
class SameTables:
    """Result of comparing the tables of a run with those of an earlier one."""

    run: Path  # the folder of the earlier one
    # for each table in both, whether its bytes are equal; in ``decisions.parquet`` without measured times
    tables: dict[str, bool]
    # tables that only the run has, or only the earlier one
    only_here: tuple[str, ...]
    only_there: tuple[str, ...]

    @property
    def others(self) -> list[str]:
        """Tables in both that differ."""
        return [name for name, same in self.tables.items() if not same]

    def rows(self) -> list[tuple[str, str]]:
        """Rows for the summary of the run; empty if a table differs."""
        if self.others:
            return []
        words = [f"identical {', '.join(self.tables)}"]
        for where, names in (("here", self.only_here), ("there", self.only_there)):
            if names:
                words.append(f"only {where}, not compared: {', '.join(names)}")
        return [(f"compared with {self.run}", "; ".join(words))]


def check_other(other: Path) -> None:
    """Refuse a folder that is not the result of a run, before another run begins. Raises InputError."""
    read_record(other)
    if not (other / _JOBS).is_file():
        raise InputError(f"{SAME_AS}: {other} has no {_JOBS}")


def note_same(folder: Path, other: Path) -> SameTables:
    """Compare the tables of two runs, and note the outcome in the record of the first."""
    record = read_record(folder)
    here, there = _tables(folder), _tables(other)
    same = SameTables(
        other,
        {name: _same(name, folder, other) for name in here if name in there},
        tuple(name for name in here if name not in there),
        tuple(name for name in there if name not in here),
    )
    noted = {"run": str(other), "tables": same.tables, "only_here": same.only_here, "only_there": same.only_there}
    write_record(folder / "run.json", record | {"same_as": noted})
    return same


def _tables(folder: Path) -> list[str]:
    # Of a complete result only its own files: users may have added others.
    named = read_record(folder).get("files")
    found = sorted(path.name for path in folder.glob("*.parquet") if not isinstance(named, list) or path.name in named)
    return sorted(found, key=lambda name: name != _JOBS)


def _same(name: str, folder: Path, other: Path) -> bool:
    if filecmp.cmp(folder / name, other / name, shallow=False):
        return True
    return name == _DECISIONS and _simulated(folder / name).equals(_simulated(other / name))


def _simulated(path: Path) -> pd.DataFrame:
    frame = read_rows(path)
    return frame.drop(columns=[name for name in frame if str(name).endswith("_ns") and name != _INSTANT])
