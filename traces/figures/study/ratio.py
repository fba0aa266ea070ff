"""Makespan with variation divided by makespan without, paired by seed: the two-level paper's Figures 7 and 8."""

import numpy as np

from traces.base.errors import InputError
from traces.figures.drawing.canvas import Figure
from traces.figures.drawing.styles import UPSILON
from traces.figures.study.combinations import Combinations
from traces.figures.study.panels import lines_figure
from traces.statistics.intervals import CONFIDENCE, MIN_SEEDS
from traces.tables import DataFrame


def ratio_figure(
    results: DataFrame,
    *,
    base: float | None = None,
    metric: str = "makespan_ns",
    workload: str | None = None,
    title: str = "",
) -> Figure:
    """Draw mean makespan at Υ / mean makespan at the base: one panel per batch policy, one line per technique.

    A whisker is the 95 % interval over pairs of runs with the same seed (:func:`traces.statistics.paired`). ``base`` is the
    variation of the denominator (default: the smallest), drawn as the line at 1; ``metric`` is positive. Raises InputError
    if there is nothing to draw, a name or the base is unknown, there is one variation only, or no combination has enough
    seeds for an interval.
    """
    cells = Combinations.of(results, metric, workload=workload)
    at = cells.place_of(base)
    others = [k for k in range(len(cells.variations)) if k != at]
    if not others:
        raise InputError(f"one variation only, {cells.variations[0]:g}; allowed: two or more, since a ratio is drawn")
    found = np.full((3, len(cells.batches), len(cells.techniques), len(others)), np.nan)
    seeds: set[int] = set()
    for i, j in np.ndindex(found.shape[1:3]):
        for place, k in enumerate(others):
            pair = cells.paired((i, j, at), (i, j, k))
            found[:, i, j, place] = pair.ratio, pair.ratio_low, pair.ratio_high
            seeds.add(pair.n)
    most = max(seeds)
    if most < MIN_SEEDS:
        raise InputError(
            f"{most} seed{'s' * (most != 1)} a combination give no interval, and no ratio is drawn without one;"
            f" allowed: {MIN_SEEDS} or more"
        )
    if not np.isfinite(found[0]).any():
        raise InputError(f"no ratio of {metric} to variation {cells.variations[at]:g}; allowed: a metric above 0 there")
    many = f"up to {most}" if len(seeds) > 1 else most
    how = f"{cells.how.words} at {UPSILON} / {cells.how.words} at {UPSILON} = {cells.variations[at]:g}"
    remark = f"ratios of means over {many} seeds, paired by seed; {100 * CONFIDENCE:g} % intervals"
    drawn, ratios = [cells.variations[k] for k in others], (found[0], found[1], found[2])
    return lines_figure(cells, ratios, variations=drawn, label=how, remark=remark, reference=1.0, title=title)
