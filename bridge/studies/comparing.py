"""The comparisons of a study, paired over its seeds: those in its file, or every varying option with its first value."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.scenarios.conflicts import OF_ENGINE
from bridge.studies.input.run_options import BATCH_OPTION, OF_SLURM, SLURM, column_name
from bridge.studies.input.study_file import COMPARED
from bridge.studies.study import ComparedOption, Study, option_column
from traces.base.errors import InputError
from traces.statistics import MIN_SEEDS, paired_comparisons
from traces.statistics.comparisons import combination_columns, option_columns
from traces.tables import joined_frames, write_frame

if TYPE_CHECKING:
    import pandas as pd

COMPARISONS = "comparisons.parquet"

_MOST_CELLS = 5000  #: with more cells only the comparisons in the file are made: every pair takes a millisecond


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
