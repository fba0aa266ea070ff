"""Comparisons of all values of a study's option with one of them, paired by seed."""

from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from traces.base.errors import InputError, one_of, parse_real, shown
from traces.compiled import Array
from traces.statistics.intervals import CONFIDENCE
from traces.statistics.pairs import Paired, paired
from traces.tables import DataFrame, rows_frame

#: The column after the seed if each seed is a window of a log: the instant at which the window begins (ns).
WINDOW_BEGIN = "window_begin_ns"

#: Columns of a comparison with other names than in :class:`traces.statistics.Paired`.
_NAMES = {"n": "seeds", "mean_other": "mean_value"}

#: Columns with the compared values and the results; all others identify the combination.
_COMPARED = frozenset(
    ("option", "base", "value", "metric", "confidence", *(_NAMES.get(one.name, one.name) for one in fields(Paired)))
)


def combination_columns(comparisons: DataFrame) -> list[str]:
    """The columns that identify the combination: the workload and the other options. In a table of several compared options,
    the rows of an option are empty in its own column."""
    return [str(name) for name in comparisons.columns if name not in _COMPARED]


def check_one_base(comparisons: DataFrame) -> None:
    """Raise InputError if the comparisons of one table or figure have several options or base values."""
    for name in ("option", "base"):
        several = [str(one) for one in comparisons[name].unique()]
        if len(several) > 1:
            allowed = f"allowed: one of {', '.join(several)}"
            raise InputError(f"{name}: {len(several)} in one table of comparisons; {allowed}")


def option_columns(results: DataFrame) -> list[str]:
    """The options of a study: the columns between ``workload`` and ``seed``. Raises InputError for other tables."""
    names = [str(name) for name in results.columns]
    for name in ("workload", "seed", "error"):
        if name not in names:
            raise InputError(f"no column {shown(name)}; allowed: the results of a study, with workload, seed and error")
    return names[names.index("workload") + 1 : names.index("seed")]


def finished(results: DataFrame) -> Array:
    """The rows of runs that finished, bool."""
    return (results["error"].fillna("") == "").to_numpy(bool)


def metric_values(results: DataFrame, metric: str, where: str = "") -> Array:
    """A metric as float64, NaN if a row has none. Raises InputError, which begins with ``where``, if it is unknown, or not one
    number per run."""
    names = [str(name) for name in results.columns]
    # A metric that no run has is an empty column.
    columns = ((name, results[name]) for name in names[names.index("error") + 1 :])
    known = [name for name, column in columns if column.dtype.kind in "iuf" or bool(column.isna().all())]
    if metric not in known:
        raise one_of("metric", metric, known, where, page="docs/reference/metrics.md")
    return results[metric].to_numpy(np.float64, na_value=np.nan)


def paired_comparisons(
    results: DataFrame,
    option: str,
    base: object,
    metrics: Sequence[str],
    *,
    confidence: float = CONFIDENCE,
    exact: bool = False,
) -> DataFrame:
    """Compare each value of an option with a base value, for every combination of workload and the other options.

    Pairs are runs with the same seed, and so the same tasks. A seed counts only if both runs finished.

    Parameters
    ----------
    results : DataFrame
        Results of a study, one row per combination and seed.
    option : str
        The compared option, one of :func:`option_columns`.
    base : object
        Its base value; a number may be a text.
    metrics : sequence of str
        The compared metrics.
    confidence : float
        From 0.5 to 0.995.
    exact : bool
        Whether nothing is random, so that one seed is enough.

    Returns
    -------
    DataFrame
        A row for each combination, value and metric, in the order of the results: workload, the other options, then option,
        base, value, metric, seeds (pairs), mean_base, mean_value, difference, difference_low, difference_high, ratio,
        ratio_low, ratio_high, effect_size, share_greater, confidence; the numbers are those of
        :class:`traces.statistics.Paired`. Combinations without runs of the base or the value have no row.

    Raises
    ------
    InputError
        If the option, the base or a metric is unknown, no metric is given, or a seed occurs twice.
    """
    options = option_columns(results)
    if option not in options:
        raise one_of("option", option, options)
    if not metrics:
        raise InputError("no metric to compare; allowed: one or more")
    columns = {metric: metric_values(results, metric) for metric in metrics}
    values = list(results[option].dropna().unique())
    chosen = _base(results[option], values, option, base)
    context = ["workload", *(name for name in options if name != option)]
    rows: list[dict[str, Any]] = []
    done = finished(results)
    seeds = results["seed"].to_numpy()
    places = results.reset_index(drop=True).groupby(context, sort=False, dropna=False).indices
    # In the order of the results: `indices` sorts.
    for key, rows_of_key in sorted(places.items(), key=lambda item: int(item[1][0])):
        option_of = results[option].iloc[rows_of_key].to_numpy()
        of_base = rows_of_key[option_of == chosen]
        for value in values:
            of_value = rows_of_key[option_of == value]
            if value == chosen or not len(of_base) or not len(of_value):
                continue
            pairs = _pairs(seeds, of_base[done[of_base]], of_value[done[of_value]], f"{option} {shown(value)}")
            head = dict(zip(context, key if isinstance(key, tuple) else (key,), strict=True))
            head |= {"option": option, "base": chosen, "value": value}
            for metric, column in columns.items():
                found = paired(column[pairs[0]], column[pairs[1]], confidence=confidence, exact=exact)
                named = {_NAMES.get(name, name): value for name, value in asdict(found).items()}
                rows.append(head | {"metric": metric} | named | {"confidence": confidence})
    if not rows:
        allowed = "allowed: an option with two or more values"
        raise InputError(f"nothing to compare with {option} {shown(chosen)}; {allowed}")
    return rows_frame(rows)


def _base(column: Any, values: list[Any], option: str, base: object) -> Any:
    for value in values:
        if value == base or str(value) == str(base):
            return value
    try:
        number = parse_real(str(base))
    except ValueError:
        number = float("nan")
    for value in values:
        if not isinstance(value, str) and value == number:
            return value
    raise one_of("value", base, [str(value) for value in values], option)


def _pairs(seeds: Array, of_base: Array, of_value: Array, where: str) -> tuple[Array, Array]:
    # Rows of both with common seeds.
    for rows in (of_base, of_value):
        if len(np.unique(seeds[rows])) < len(rows):
            allowed = "allowed: one row per combination and seed"
            raise InputError(f"{where}: a seed occurs twice in one combination; {allowed}")
    _, left, right = np.intersect1d(seeds[of_base], seeds[of_value], assume_unique=True, return_indices=True)
    return of_base[left], of_value[right]
