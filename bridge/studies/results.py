"""The tables of a study: results.parquet, one row per cell and seed with every metric; costs.parquet, what each took; and
comparisons.parquet, paired over the seeds: those declared in the study's file, or every varying option with its first value.

They are made from the journal, in the study's order: the same study gives the same bytes, however it was run."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.scenarios.conflicts import OF_ENGINE
from bridge.studies.input.run_options import BATCH_OPTION, OF_SLURM, SLURM, column_name
from bridge.studies.input.study_file import COMPARED
from bridge.studies.journal import JOURNAL, Entry, Journal, at_work
from bridge.studies.preparing import find_inputs
from bridge.studies.study import ComparedOption, Study, option_column
from traces.base.errors import InputError
from traces.statistics import MIN_SEEDS, paired_comparisons
from traces.statistics.comparisons import WINDOW_BEGIN, combination_columns, option_columns
from traces.tables import ColumnKind, joined_frames, rows_frame, write_blocks, write_frame

if TYPE_CHECKING:
    import pandas as pd

RESULTS, COSTS, COMPARISONS = "results.parquet", "costs.parquet", "comparisons.parquet"

_BLOCK = 20_000  #: number of rows in memory at once
_MOST_CELLS = 5000  #: with more cells only the comparisons in the file are made: every pair takes a millisecond


def write_tables(study: Study, keys: Sequence[str], journal: Journal, folder: Path) -> int:
    """Write both tables of a finished study; return the number of failed rows. ``keys``: of each cell, in the journal. Raises
    NoRoomError if the disk is full."""
    kinds: dict[str, ColumnKind] = {}
    failed = 0
    for entry in journal.entries(product(keys, study.seeds), study.metrics):
        if entry is None:
            raise InputError(f"{folder}: not all cells have been run")
        failed += entry.metrics is None
        for name, value in (entry.metrics or {}).items():
            # Metrics are whole numbers if all rows have whole numbers; without any value they are floats.
            if isinstance(value, float):
                kinds[name] = "real"
            elif kinds.get(name) != "real":
                kinds[name] = "whole" if value is not None else kinds.get(name, "unknown")
    kinds = {name: "real" if kind == "unknown" else kind for name, kind in kinds.items()}
    if study.metrics is not None:
        kinds = {name: kinds.get(name, "real") for name in study.metrics}
    options = _option_columns(study)
    heads: dict[str, ColumnKind] = {"cell": "whole", "workload": "text"}
    heads |= {name: _kind(column) for name, column in options.items()}
    heads |= {"seed": "seed" if max(study.seeds) >= 2**63 else "whole"}
    if study.windows:
        heads[WINDOW_BEGIN] = "whole"
    heads["error"] = "text"
    results = partial(_result_row, study, options)

    def costs(row: int, entry: Entry) -> dict[str, Any]:
        took = {"jobs": entry.jobs or None, "wall_s": entry.wall_s}
        return _placed(study, options, row) | took | {"simulation_s": entry.simulation_s, "worker": entry.worker}

    write_blocks({**heads, **kinds}, _rows(study, keys, journal, results), folder / RESULTS)
    costs_kinds: dict[str, ColumnKind] = {"jobs": "whole", "wall_s": "real", "simulation_s": "real", "worker": "text"}
    del heads["error"]
    write_blocks({**heads, **costs_kinds}, _rows(study, keys, journal, costs), folder / COSTS)
    return failed


def _option_columns(study: Study) -> dict[str, Sequence[object]]:
    return {column_name(name): option_column(study.cells, name) for name in study.columns}


def _result_row(study: Study, options: Mapping[str, Sequence[object]], row: int, entry: Entry) -> dict[str, Any]:
    return _placed(study, options, row) | {"error": entry.error} | (entry.metrics or {})


def _placed(study: Study, options: Mapping[str, Sequence[object]], row: int) -> dict[str, Any]:
    # The coordinates of a row.
    cell, seed = divmod(row, len(study.seeds))
    workload, number = study.cells[cell].workload.name, study.seeds[seed]
    place = {"cell": cell, "workload": workload, **{name: column[cell] for name, column in options.items()}}
    return place | {"seed": number} | ({WINDOW_BEGIN: study.windows[workload][number]} if study.windows else {})


def _rows(
    study: Study, keys: Sequence[str], journal: Journal, row_of: Callable[[int, Entry], dict[str, Any]]
) -> Iterator[list[dict[str, Any]]]:
    entries = enumerate(journal.entries(product(keys, study.seeds), study.metrics))
    while block := list(islice(entries, _BLOCK)):
        yield [row_of(row, entry) for row, entry in block if entry is not None]


def _kind(column: Sequence[object]) -> ColumnKind:
    if all(isinstance(value, bool) for value in column):
        return "truth"
    if all(isinstance(value, int) and not isinstance(value, bool) for value in column):
        return "whole"
    return "real" if all(isinstance(value, int | float) for value in column) else "text"


LOOK_S = 1.0  #: interval between reads of the journal, s
_LOOKS = 3  #: a study counts as dead after this number of consecutive reads without news or a running process


def results_so_far(study: Study, folder: Path) -> pd.DataFrame:
    """The rows of results.parquet that are finished. Raises InputError if the journal or a file of the study is missing."""
    with contextlib.chdir(study.folders[0]):  # paths in a study are relative to its folder
        inputs = find_inputs(study)
    options, journal = _option_columns(study), Journal.as_it_stands(folder.absolute())
    keys = inputs.begun(journal.keys).keys
    rows = list(chain.from_iterable(_rows(study, keys, journal, partial(_result_row, study, options))))
    return rows_frame(rows or {"cell": [], "workload": [], "seed": [], "error": []})


def follow(folder: Path, write: Callable[[], bool], sleep: Callable[[float], None] = time.sleep) -> bool:
    """Call ``write`` now, and whenever the journal has grown, until it returns that the study is finished, or nothing can
    follow. Returns whether the study was completed."""
    seen, quiet = -1, 0
    while quiet < _LOOKS:
        grown = _size(folder)
        # The tables are made after the last line, when the journal no longer changes.
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


def metric_names(results: pd.DataFrame) -> list[str]:
    """The metrics of a study's results, in the order of their columns."""
    names = [str(name) for name in results.columns]
    return names[names.index("error") + 1 :]


def why_no_comparison(study: Study) -> str:
    """The reason why nothing is compared, one line; empty if something is."""
    if len(study.seeds) < MIN_SEEDS and not study.exact:
        n, unit = len(study.seeds), study.replicates.unit
        return f"{n} {unit}{'s' * (n > 1)}: too few for an interval ({MIN_SEEDS}), so no difference is shown"
    if not study.comparisons and not study.varied:
        return "nothing varies, so nothing is compared"
    if not study.comparisons and len(study.cells) > _MOST_CELLS:
        return f"{len(study.cells):,} cells: only what [[compare]] names is compared"
    return ""


def compare_study(study: Study, results: pd.DataFrame, folder: Path) -> list[pd.DataFrame]:
    """Compare, and write comparisons.parquet; return a table for each comparison. Raises InputError if a metric is unknown."""
    target = folder / COMPARISONS
    target.unlink(missing_ok=True)
    found, everything = compared(study, results)
    if everything is not None:
        write_frame(everything, target)
    return found


def _paired(results: pd.DataFrame, option: str) -> pd.DataFrame:
    # Slurm is compared with each variant of our engine, and our engine with each variant of Slurm, although neither has the
    # options of the other.
    if option != BATCH_OPTION:
        return results
    of_slurm = results[BATCH_OPTION] == SLURM
    slurms, ours = results[of_slurm], results[~of_slurm]
    return joined_frames([_in_place(slurms, ours, OF_ENGINE), _in_place(ours, slurms, OF_SLURM)])


def _in_place(rows: pd.DataFrame, others: pd.DataFrame, options: Sequence[str]) -> pd.DataFrame:
    # The rows, repeated for each combination of some options in the others.
    names = [column_name(name) for name in options if column_name(name) in rows]
    if not names:
        return rows
    return rows.drop(columns=names).merge(others[names].drop_duplicates(), how="cross")[list(rows.columns)]


def base_of(study: Study, comparison: ComparedOption) -> object:
    """The base of a comparison, as the tables show it."""
    cells = [cell for cell in study.cells if cell.value(comparison.option) == comparison.base]
    return option_column(cells[:1], comparison.option)[0]


def compared(study: Study, results: pd.DataFrame) -> tuple[list[pd.DataFrame], pd.DataFrame | None]:
    """A table for each comparison, and all in one; None if there is nothing to compare. Errors as :func:`compare_study`."""
    if why_no_comparison(study):
        return [], None
    found, wanted = [], study.comparisons
    if not wanted:
        metrics = tuple(name for name in COMPARED if name in results.columns) or tuple(metric_names(results)[:3])
        wanted = tuple(ComparedOption(name, study.cells[0].value(name), metrics) for name in study.varied)
    for one in wanted:
        rows, column, base = _paired(results, one.option), column_name(one.option), base_of(study, one)
        try:
            found.append(paired_comparisons(rows, column, base, one.metrics, exact=study.exact))
        except InputError:
            if study.comparisons:  # otherwise an option that follows from the workload has no base
                raise
    if not found:
        return [], None
    everything = joined_frames([frame.astype({"base": str, "value": str}) for frame in found])
    # In the order of the results: otherwise the column of the option compared first would be the last.
    options = [name for name in ("workload", *option_columns(results)) if name in combination_columns(everything)]
    measured = [name for name in everything.columns if name not in options]
    return found, everything[[*options, *measured]].drop_duplicates(ignore_index=True)
