"""Comparisons as a table for a terminal."""

import math
from typing import Any

import numpy as np

from traces.base.errors import InputError
from traces.metric_units import Shown, four_digits, interval_text, shown_as
from traces.statistics.comparisons import check_one_base, combination_columns
from traces.statistics.intervals import MIN_SEEDS
from traces.tables import DataFrame

_NONE = "–"  #: placeholder for a missing value


def comparison_table(comparisons: DataFrame, *, paired_by: str = "seed") -> str:
    """Comparisons (:func:`traces.statistics.paired_comparisons`) as text.

    Values that are the same in all rows are above the table. Each metric has one unit. A row whose interval excludes "no
    change" ends with ``*``. With too few seeds for an interval no change is shown; without randomness it has no interval.

    Parameters
    ----------
    comparisons : DataFrame
    paired_by : str
        The common property of a pair: ``seed`` or ``window``.

    Returns
    -------
    str
        Lines without a final end of line.

    Raises
    ------
    InputError
        If there is no comparison, or there are several options or bases.
    """
    if len(comparisons) == 0:
        raise InputError("no comparison to show")
    check_one_base(comparisons)
    # Columns of options that were not compared here are empty.
    context = [name for name in combination_columns(comparisons) if comparisons[name].notna().any()]
    varied = [name for name in context if comparisons[name].nunique(dropna=False) > 1]
    metrics = list(comparisons["metric"].unique())
    units = {metric: _unit(comparisons[comparisons["metric"] == metric], metric) for metric in metrics}
    option = comparisons["option"].iloc[0]
    several = [] if len(metrics) == 1 else ["metric"]
    numbers = ("base mean", "mean", "difference", "ratio", "effect", "greater", "")
    head = [*varied, option, *several, f"{paired_by}s", *numbers]
    lines = [head]
    records: list[dict[str, Any]] = comparisons.to_dict("records")  # type: ignore[assignment]
    for row in records:
        how = units[row["metric"]]
        cells = [str(_plain(row[name])) for name in varied] + [str(_plain(row["value"]))]
        cells += [how.label] if several else []
        lines.append([*cells, str(row["seeds"]), *_numbers(row, how)])
    n_words = len(varied) + 1 + len(several)
    widths = [max(len(line[at]) for line in lines) for at in range(len(head))]
    text = [
        "  ".join(
            cell.ljust(width) if at < n_words else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    first = _first_line(comparisons, context, varied, units, paired_by)
    return "\n".join([first, *text, *_notes(comparisons, paired_by)])


def _first_line(
    comparisons: DataFrame, context: list[str], varied: list[str], units: dict[str, Shown], paired_by: str
) -> str:
    option, base = comparisons["option"].iloc[0], comparisons["base"].iloc[0]
    same = [f"{name} {_plain(comparisons[name].iloc[0])}" for name in context if name not in varied]
    what = next(iter(units.values())).label if len(units) == 1 else f"{len(units)} metrics"
    share = float(comparisons["confidence"].iloc[0])
    how = f"paired by {paired_by}, {100 * share:g} % intervals"
    return "; ".join([f"{what}: {option} compared with {_plain(base)}, {how}", *same])


def _numbers(row: dict[str, Any], how: Shown) -> list[str]:
    means = [_number(row[name] / how.scale) for name in ("mean_base", "mean_value")]
    if not math.isfinite(row["difference"]):
        return [*means, _NONE, _NONE, _NONE, _NONE, ""]
    if not math.isfinite(row["difference_low"]):  # nothing random: exact numbers
        difference = float(row["difference"]) / how.scale
        exact = [f"{'+' * (difference > 0)}{_number(difference)}".replace("-", "−"), _number(float(row["ratio"]))]
        return [*means, *exact, _NONE, f"{row['share_greater']:.2f}", ""]
    change = [row[name] / how.scale for name in ("difference", "difference_low", "difference_high")]
    ratio = [float(row[name]) for name in ("ratio", "ratio_low", "ratio_high")]
    changed = row["difference_low"] > 0 or row["difference_high"] < 0
    return [
        *means,
        interval_text(*change, sign=True),
        interval_text(*ratio) if math.isfinite(ratio[0]) else _NONE,
        f"{row['effect_size']:+.1f}".replace("-", "−") if math.isfinite(row["effect_size"]) else _NONE,
        f"{row['share_greater']:.2f}",
        "*" if changed else "",
    ]


def _notes(comparisons: DataFrame, paired_by: str) -> list[str]:
    changed = ((comparisons["difference_low"] > 0) | (comparisons["difference_high"] < 0)).any()
    few = ((comparisons["seeds"] < MIN_SEEDS) & ~np.isfinite(comparisons["difference"])).any()
    exact = np.isfinite(comparisons["difference"]) & ~np.isfinite(comparisons["difference_low"])
    notes = ["*: the interval of the difference excludes 0"] if changed else []
    if exact.any():
        notes.append("without an interval: nothing is random in these runs, so one seed is enough")
    if few:
        notes.append(f"{_NONE}: no interval, and no change, with fewer than {MIN_SEEDS} {paired_by}s")
    return notes


def _unit(rows: DataFrame, metric: str) -> Shown:
    sizes = np.abs(rows[["mean_base", "mean_value"]].to_numpy(np.float64))
    return shown_as(metric, float(np.nanmedian(sizes)) if np.isfinite(sizes).any() else 0.0)


def _number(value: float) -> str:
    return four_digits(value) if math.isfinite(value) else _NONE


def _plain(value: Any) -> Any:
    return f"{value:g}" if isinstance(value, float) else value
