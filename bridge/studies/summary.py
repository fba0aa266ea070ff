"""What a study prints: a line a combination, a column a variation, and what its file wants compared."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bridge.standard_error import text_table
from bridge.studies.comparing import metric_names
from bridge.studies.study import Study
from bridge.studies.subsets import subsets
from traces.figures.study.combinations import Combinations
from traces.metric_units import four_digits, interval_text
from traces.statistics import MIN_SEEDS, comparison_table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["study_text"]

#: Of more combinations the tables are not printed; the file has them all.
_MOST_LINES = 200

#: Of a comparison no more rows are printed.
_MOST_COMPARED = 60

#: The metric that is printed where the study has it.
_METRIC = "makespan_ns"


def study_text(study: Study, results: pd.DataFrame, comparisons: list[pd.DataFrame]) -> str:
    """The means of every combination, with intervals, as lines; and the comparisons that the study's file names."""
    metric = _METRIC if _METRIC in results.columns else metric_names(results)[0]
    parts = []
    lines = 0
    for subset in subsets(study, results):
        if not subset.frame[metric].notna().any():
            continue
        cells = Combinations.of(subset.frame, metric)
        lines += len(cells.batches) * len(cells.techniques)
        if lines > _MOST_LINES:
            parts.append(f"… {len(study.cells):,} cells: results.parquet has them all")
            break
        head = [_head(cells)]
        if subset.words:
            head.insert(0, subset.words)
        parts.append("\n".join([": ".join(head), _table(cells)]))
    if study.comparisons:
        parts += [_compared(frame) for frame in comparisons]
    return "\n\n".join(parts)


def _compared(frame: pd.DataFrame) -> str:
    more = len(frame) - _MOST_COMPARED
    text = comparison_table(frame.head(_MOST_COMPARED))
    return f"{text}\n… and {more:,} more, which comparisons.parquet has" if more > 0 else text


def _head(cells: Combinations) -> str:
    enough = cells.seeds_text()
    if len(cells.variations) > 1 and len(cells.seeds) >= MIN_SEEDS:
        return f"{cells.how.label} at Υ={cells.variations[0]:g} and the ratio to it, {enough}"
    return f"{cells.how.label}, {enough}"


def _table(cells: Combinations) -> str:
    lines = [["batch × application", *(f"Υ={value:g}" for value in cells.variations)]]
    for i, batch in enumerate(cells.batches):
        for j, technique in enumerate(cells.techniques):
            texts = [_cell(cells, i, j, k) for k in range(len(cells.variations))]
            if any(texts):
                lines.append([f"{batch} × {technique}", *texts])
    return text_table(lines, left=1)


def _cell(cells: Combinations, i: int, j: int, k: int) -> str:
    # At the smallest variation the mean; elsewhere the ratio to it, or, where there is no interval of that, the mean, too.
    if k > 0:
        ratio = cells.paired((i, j, 0), (i, j, k))
        if not math.isnan(ratio.ratio):
            return f"{interval_text(ratio.ratio, ratio.ratio_low, ratio.ratio_high)}×"
    found, scale = cells.estimate(i, j, k), cells.how.scale
    if not found.n:
        return ""
    if not found.has_interval or found.low == found.high:
        return four_digits(found.mean / scale)
    return interval_text(found.mean / scale, found.low / scale, found.high / scale)
