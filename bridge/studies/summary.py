"""The printed result of a study: one line per combination, one column per metric or variation, and its comparisons."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bridge.standard_error import text_table
from bridge.studies.drawing import MEASURES, subsets
from bridge.studies.results import metric_names
from bridge.studies.study import Study
from traces.figures.study.combinations import Combinations
from traces.metric_units import four_digits, interval_text
from traces.statistics import MIN_SEEDS, comparison_table

if TYPE_CHECKING:
    import pandas as pd

_MOST_LINES = 200  #: largest number of combinations whose tables are printed
_MOST_COMPARED = 60  #: largest number of printed rows of a comparison
_LONG_WAITS = ("p95_wait_ns", "max_wait_ns")  #: metrics shown besides the mean wait in a study of batch policies alone
_BEST = "*"  #: marks the best of a column


def study_text(study: Study, results: pd.DataFrame, comparisons: list[pd.DataFrame]) -> str:
    """The means of every combination as lines, in one table or, with several variations, one per metric; and comparisons."""
    metrics = [metric for metric in MEASURES.values() if metric in results.columns] or metric_names(results)[:1]
    if not study.simulates_applications:
        after = metrics.index("mean_wait_ns") + 1 if "mean_wait_ns" in metrics else 0
        metrics[after:after] = [metric for metric in _LONG_WAITS if metric in results.columns and after]
    parts = []
    lines = 0
    marked = ""
    for subset in subsets(study, results):
        tables = [Combinations.of(subset.frame, one) for one in metrics if subset.frame[one].notna().any()]
        if not tables:
            continue
        first = tables[0]
        lines += len(first.batches) * len(first.techniques)
        if lines > _MOST_LINES:
            parts.append(f"… {len(study.cells):,} cells: results.parquet has them all")
            break
        several = len(first.variations) > 1
        found = [_by_variation(cells) for cells in tables] if several else [_by_metric(tables)]
        for k, (head, table) in enumerate(found):
            words = ": ".join(filter(None, (subset.words if k == 0 else "", head)))
            parts.append("\n".join(filter(None, (words, text_table(table, left=1)))))
            if any(_BEST in cell for line in table for cell in line[1:]):
                marked = f"{_BEST} best value in the column{' (absolute, not the ratio)' * several}"
    if marked:
        parts.append(marked)
    if study.comparisons:
        parts += [_compared(frame, study.replicates.unit) for frame in comparisons]
    return "\n\n".join(parts)


def _compared(frame: pd.DataFrame, unit: str) -> str:
    more = len(frame) - _MOST_COMPARED
    text = comparison_table(frame.head(_MOST_COMPARED), paired_by=unit)
    return f"{text}\n… and {more:,} more, which comparisons.parquet has" if more > 0 else text


def _by_metric(tables: Sequence[Combinations]) -> tuple[str, list[list[str]]]:
    # The caption of a table with one column per metric, and the table.
    first = tables[0]
    variation = "" if first.replayed else f"Υ={first.variations[0]:g}"
    head = ", ".join(filter(None, (variation, first.seeds_text())))
    return head, _table({cells.how.label: _column(cells, 0) for cells in tables})


def _by_variation(cells: Combinations) -> tuple[str, list[list[str]]]:
    # The same with one column per variation.
    base = f" at Υ={cells.variations[0]:g} and the ratio to it" if len(cells.seeds) >= MIN_SEEDS else ""
    columns = {f"Υ={value:g}": _column(cells, k) for k, value in enumerate(cells.variations)}
    return ", ".join(filter(None, (f"{cells.how.label}{base}", cells.seeds_text()))), _table(columns)


def _table(columns: dict[str, dict[str, str]]) -> list[list[str]]:
    names = dict.fromkeys(name for column in columns.values() for name in column)
    rows = ([name, *(column.get(name, "") for column in columns.values())] for name in names)
    return [["batch × application", *columns], *rows]


def _column(cells: Combinations, k: int) -> dict[str, str]:
    # Every combination at a variation, the best marked, unless all are equal. The utilisation has no mark if techniques
    # differ: cores that wait for the last task of their job are held, so the worst technique would be marked.
    best = cells.best(k) & (cells.metric != "utilisation" or len(cells.techniques) == 1)
    marks = (" ", _BEST) if best.any() and np.any(~best & np.isfinite(cells.means()[:, :, k])) else ("", "")
    found = {}
    for i, batch in enumerate(cells.batches):
        for j, technique in enumerate(cells.techniques):
            if text := _cell(cells, i, j, k):
                found[f"{batch} × {technique}"] = f"{text} {marks[int(best[i, j])]}" if marks[1] else text
    return found


def _cell(cells: Combinations, i: int, j: int, k: int) -> str:
    # At the smallest variation the mean; elsewhere the ratio to it, or, without an interval of the ratio, the mean, too.
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
