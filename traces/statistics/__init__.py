"""Means and differences of repeated runs, with confidence intervals. Plain numpy; no interval, no difference."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traces.base.lazy import lazy_names

if TYPE_CHECKING:
    from traces.statistics.comparison_text import comparison_table
    from traces.statistics.comparisons import option_columns, paired_comparisons
    from traces.statistics.intervals import (
        CONFIDENCE,
        MIN_SEEDS,
        RESAMPLES,
        Estimate,
        mean_interval,
        mean_intervals,
    )
    from traces.statistics.pairs import Paired, paired

__all__ = [
    "CONFIDENCE",
    "MIN_SEEDS",
    "RESAMPLES",
    "Estimate",
    "Paired",
    "comparison_table",
    "mean_interval",
    "mean_intervals",
    "option_columns",
    "paired",
    "paired_comparisons",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "CONFIDENCE": "traces.statistics.intervals",
        "MIN_SEEDS": "traces.statistics.intervals",
        "RESAMPLES": "traces.statistics.intervals",
        "Estimate": "traces.statistics.intervals",
        "Paired": "traces.statistics.pairs",
        "comparison_table": "traces.statistics.comparison_text",
        "mean_interval": "traces.statistics.intervals",
        "mean_intervals": "traces.statistics.intervals",
        "option_columns": "traces.statistics.comparisons",
        "paired": "traces.statistics.pairs",
        "paired_comparisons": "traces.statistics.comparisons",
    },
)
