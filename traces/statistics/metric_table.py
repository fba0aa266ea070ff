"""Tables of metrics for papers: one row per combination of options, means over seeds with their intervals."""

import csv
import io
import math
from collections.abc import Sequence

import numpy as np

from traces.base.errors import InputError, Mention, one_of
from traces.metric_units import Shown, interval_text, shown_as
from traces.statistics.comparisons import finished, metric_values, option_columns
from traces.statistics.intervals import CONFIDENCE, Estimate, mean_interval
from traces.tables import DataFrame

FORMATS = ("csv", "md", "latex")  #: forms of a table

#: Metrics that a table shows by default, as far as the results have them.
DEFAULTS = ("makespan_ns", "mean_wait_ns", "mean_bounded_slowdown", "computing_utilisation", "utilisation")

_ESCAPED = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "−": "$-$",
    "Υ": r"$\Upsilon$",
}
_ESCAPED |= {character: f"\\{character}" for character in "&%$#_{}"}


def metric_table(
    results: DataFrame, metrics: Sequence[str] = (), *, format: str = "md", confidence: float = CONFIDENCE
) -> str:
    """Return a table of the means of metrics, with their confidence intervals from five seeds on.

    - ``results``: results of a study, one row per combination and seed; failed runs are left out.
    - ``metrics``: names of metrics; the ending ``_ns`` may be omitted. Default: those of :data:`DEFAULTS` that the results
      have.
    - ``format``: ``csv`` has columns for the ends of intervals, and the number of seeds in each row; ``md`` and ``latex``
      state it below and above the table.

    Durations have the unit that fits the column; numbers have the digits that the interval justifies, else four. Raises
    InputError if a metric or the format is unknown, or no run has finished.
    """
    if format not in FORMATS:
        raise one_of("format", format, FORMATS)
    options = option_columns(results)
    results = results[finished(results)]
    if not len(results):
        raise InputError("no run has finished; a table needs one")
    there = results.columns[results.notna().any()]
    names = [_known(name, results) for name in metrics] or [name for name in DEFAULTS if name in there]
    keys = [name for name in ("workload", *options) if results[name].nunique(dropna=False) > 1]
    groups = list(results.groupby(keys, sort=False, dropna=False)) if keys else [((), results)]
    values = [[metric_values(rows, name) for _, rows in groups] for name in names]
    columns = [[mean_interval(one, confidence=confidence) for one in column] for column in values]
    how = [_unit(name, found) for name, found in zip(names, columns, strict=True)]
    places = [[f"{value:g}" if isinstance(value, float) else str(value) for value in key] for key, _ in groups]
    if format == "csv":
        return _csv(keys, places, how, columns)
    cells = [
        [*place, *(_cell(column[row], one) for column, one in zip(columns, how, strict=True))]
        for row, place in enumerate(places)
    ]
    head = [*keys, *(one.label for one in how)]
    note = _note(columns, confidence)
    return _markdown(head, cells, note, len(keys)) if format == "md" else _latex(head, cells, note, len(keys))


def _known(name: str, results: DataFrame) -> str:
    name = f"{name}_ns" if name not in results.columns and f"{name}_ns" in results.columns else name
    metric_values(results, name, str(Mention("metrics", "metrics")))  # refuses anything that is not a metric
    return name


def _unit(name: str, found: Sequence[Estimate]) -> Shown:
    means = [abs(one.mean) for one in found if math.isfinite(one.mean)]
    return shown_as(name, float(np.median(means)) if means else math.nan)


def _number(value: float) -> str:
    # Four digits, and all digits of whole numbers and of large ones.
    if value == round(value) or abs(value) >= 1e4:
        return f"{value:.0f}"
    return f"{value:#.4g}".rstrip(".")


def _cell(found: Estimate, how: Shown) -> str:
    if not found.n:
        return ""
    if not found.has_interval or found.low == found.high:
        return _number(found.mean / how.scale).replace("-", "−")
    return interval_text(found.mean / how.scale, found.low / how.scale, found.high / how.scale)


def _csv(
    keys: Sequence[str], places: Sequence[list[str]], how: Sequence[Shown], columns: Sequence[Sequence[Estimate]]
) -> str:
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    ends = ("", " low", " high")
    names = (f"{one.words}{end}{one.unit and f' [{one.unit}]'}" for one in how for end in ends)
    lines.writerow([*keys, "seeds", *names])
    for row, place in enumerate(places):
        found = [column[row] for column in columns]
        cells: list[str] = []
        for estimate, one in zip(found, how, strict=True):
            words = _cell(estimate, one).replace("−", "-").replace("[", "").replace("]", "").replace(",", "").split()
            cells += words if len(words) == 3 else [*words, *[""] * (3 - len(words))]
        lines.writerow([*place, max((one.n for one in found), default=0), *cells])
    return text.getvalue().rstrip("\n")


def _note(columns: Sequence[Sequence[Estimate]], confidence: float) -> str:
    counts = {one.n for column in columns for one in column if one.n}
    fewest, most = min(counts, default=0), max(counts, default=0)
    if most <= 1:
        return "One run per row."
    n = f"{most}" if fewest == most else f"{fewest} to {most}"
    intervals = any(one.has_interval and one.low < one.high for column in columns for one in column)
    return f"Means of {n} seeds" + (f", with {100 * confidence:g} % confidence intervals." if intervals else ".")


def _markdown(head: Sequence[str], cells: Sequence[Sequence[str]], note: str, left: int) -> str:
    rule = ["---" if at < left else "---:" for at in range(len(head))]
    rows = [head, rule, *([cell.replace("|", "\\|") for cell in row] for row in cells)]
    return "\n".join([*(f"| {' | '.join(row)} |" for row in rows), "", note])


def _latex(head: Sequence[str], cells: Sequence[Sequence[str]], note: str, left: int) -> str:
    def line(row: Sequence[str]) -> str:
        return " & ".join("".join(_ESCAPED.get(character, character) for character in cell) for cell in row) + r" \\"

    begin = rf"\begin{{tabular}}{{{'l' * left}{'r' * (len(head) - left)}}}"
    rows = [line(head), r"\hline", *map(line, cells)]
    return "\n".join([f"% {note}", begin, r"\hline", *rows, r"\hline", r"\end{tabular}"])
