"""Results of studies made by hand, for tests."""

from collections.abc import Callable, Iterable, Sequence
from itertools import product

import pandas as pd

from traces.figures.drawing.canvas import Figure

H = 3600 * 10**9


def results(
    hours: Callable[[str, str, float, int], float],
    *,
    batches: Sequence[tuple[str, str]] = (("fcfs", "none"), ("sjf", "easy")),
    techniques: Sequence[str] = ("static", "ss", "gss"),
    variations: Sequence[float] = (0.25, 0.0, 0.1),
    seeds: Iterable[int] = range(6),
    workload: str = "w",
) -> pd.DataFrame:
    """A study whose makespans are given by (policy, technique, variation, seed) in hours; the imbalance is a tenth of that."""
    rows = []
    for cell, ((bls, backfill), als, variation) in enumerate(product(batches, techniques, variations)):
        for seed in seeds:
            long = hours(bls, als, variation, seed)
            options = (cell, workload, bls, backfill, als, variation, seed)
            rows.append((*options, "", round(long * H), 1 / long, long / 10))
    names = "cell workload bls backfill als variation seed error makespan_ns utilisation mean_imbalance"
    return pd.DataFrame(rows, columns=names.split())


def plain(bls: str, als: str, variation: float, seed: int) -> float:
    """Makespans whose means are whole hours, with six seeds: seeds add −0.5, −0.3, −0.1, 0.1, 0.3, 0.5 h × (1 + variation)."""
    base = {"fcfs": 30, "sjf": 24}[bls] + {"static": 2, "ss": 0, "gss": 1}.get(als, 3)
    return (base + (seed - 2.5) / 5) * (1 + variation)


def within(figure: Figure) -> bool:
    """Whether nothing that is drawn is outside of a drawn figure."""
    box = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    return bool(min(box.x0, box.y0) >= -0.01 and box.x1 <= width + 0.01 and box.y1 <= height + 0.01)
