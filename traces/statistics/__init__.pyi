from .comparison_text import comparison_table as comparison_table
from .comparisons import option_columns as option_columns, paired_comparisons as paired_comparisons
from .intervals import (
    CONFIDENCE as CONFIDENCE,
    MIN_SEEDS as MIN_SEEDS,
    RESAMPLES as RESAMPLES,
    Estimate as Estimate,
    mean_interval as mean_interval,
    mean_intervals as mean_intervals,
)
from .pairs import Paired as Paired, paired as paired
