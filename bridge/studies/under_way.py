"""A study that is under way, as it stands: what its journal has so far, and its page, written anew as that grows."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.studies.journal import JOURNAL, Journal, at_work
from bridge.studies.preparing import find_inputs
from bridge.studies.results import ended_rows
from bridge.studies.study import Study
from traces.tables import rows_frame

if TYPE_CHECKING:
    import pandas as pd

#: So often the journal is looked at, s.
LOOK_S = 1.0

#: A study has died if so many looks, one after the other, find neither news nor a process that is at work on it.
_LOOKS = 3


def results_so_far(study: Study, folder: Path) -> pd.DataFrame:
    """The rows of results.parquet of the cells and seeds that have ended, before there is such a file. Raises
    InputError if there is no journal that can be read, or a file of the study is gone."""
    with contextlib.chdir(study.folders[0]):  # what a study names is relative to its folder
        keys = find_inputs(study).keys
    rows = ended_rows(study, keys, Journal.as_it_stands(folder.absolute()))
    return rows_frame(rows or {"cell": [], "workload": [], "seed": [], "error": []})


def follow(folder: Path, write: Callable[[], bool], sleep: Callable[[float], None] = time.sleep) -> bool:
    """Have a page written now, and whenever the journal in the folder has grown, until there is nothing more to come.

    Whether the study has come to its end: not if its process died, or was stopped.

    - ``write``: writes the page; whether the study is finished.
    - ``sleep``: waits so many seconds.
    """
    seen, quiet = -1, 0
    while quiet < _LOOKS:
        grown = _size(folder)
        # Tables are made after the last line: then the journal stays as it is.
        if (grown != seen or (folder / "results.parquet").is_file()) and write():
            return True
        quiet = 0 if grown != seen or at_work(folder) else quiet + 1
        seen = grown
        sleep(LOOK_S)
    return False


def _size(folder: Path) -> int:
    try:
        return (folder / JOURNAL).stat().st_size
    except OSError:
        return 0
