"""Whether two runs have the same tables, byte for byte, as one scenario has in every coupling."""

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

#: The one that every run has, and is named first; and the one in which columns are not simulated: what deciding has taken,
#: and what a policy that decides has noted of time: all that are ns, but for the simulated instant.
_JOBS, _DECISIONS, _INSTANT = "jobs.parquet", "decisions.parquet", "now_ns"


@dataclass(frozen=True)
class SameTables:
    """How the tables of a run compare with those of an earlier one."""

    run: Path  # the folder of the earlier one
    # of each table that both have, whether its bytes are the same; of ``decisions.parquet`` but for measured times
    tables: dict[str, bool]
    # those that only the run has, or only the earlier one
    only_here: tuple[str, ...]
    only_there: tuple[str, ...]

    @property
    def others(self) -> list[str]:
        """Those that both have, and that are not the same."""
        return [name for name, same in self.tables.items() if not same]

    def rows(self) -> list[tuple[str, str]]:
        """For the summary of the run: nothing if a table is another one."""
        if self.others:
            return []
        words = [f"{', '.join(self.tables)}: the same bytes"]
        for where, names in (("here", self.only_here), ("there", self.only_there)):
            if names:
                words.append(f"only {where}, and not compared: {', '.join(names)}")
        return [(f"as in {self.run}", "; ".join(words))]


def check_other(other: Path) -> None:
    """See that there is a run to compare with, before another one begins.

    Raises
    ------
    InputError
        If the folder is not the result of one.
    """
    read_record(other)
    if not (other / _JOBS).is_file():
        raise InputError(f"{SAME_AS}: {other} has no {_JOBS}")


def note_same(folder: Path, other: Path) -> SameTables:
    """Compare the tables of two runs, and note it in the record of the first."""
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
    # Of a result that is ready only its own: a user may have put something beside them.
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
