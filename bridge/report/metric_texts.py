"""Metrics in words: their names, their values with units, and what they are by the pages of documentation."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from traces.base.given_file import parse_json
from traces.base.time import format_ns
from traces.metric_units import four_digits, shown_as

#: What the first word of a name says of the metric of a job that follows it.
_FIGURES = {"mean": "mean", "median": "median", "p10": "10th percentile", "p90": "90th percentile", "max": "maximum"}


@cache
def _definitions() -> Mapping[str, Mapping[str, str]]:
    text = (files("bridge.report") / "assets" / "definitions.json").read_text(encoding="utf-8")
    found: dict[str, dict[str, str]] = parse_json(text, "assets/definitions.json")
    return found


def definition(name: str) -> str:
    """What a metric or a column is; empty if no page says it.

    What is said of a job is said of a mean over jobs, too.
    """
    known = _definitions()
    if name in known:
        return known[name]["words"]
    figure, _, of_each = name.partition("_")
    some = figure in _FIGURES and of_each in known
    return f"the {_FIGURES[figure]} over jobs of: {known[of_each]['words']}" if some else ""


def heading(metric: str) -> str:
    """Under which heading the page of metrics has it; empty if it has none."""
    return _definitions().get(metric, {}).get("heading", "")


@dataclass(frozen=True, slots=True)
class Metric:
    """One number of a result."""

    # name, value, unit: as they are read
    name: str
    value: str
    unit: str = ""
    definition: str = ""  # what it is; empty if no page says it
    heading: str = ""  # what it is about


def metric_of(name: str, value: Any) -> Metric:
    """A metric by its name in a record, as ``mean_wait_ns``."""
    words, unit = name.removesuffix("_ns").replace("_", " "), ""
    if value is None:
        told = "–"
    elif isinstance(value, list):
        told = " to ".join(metric_of(name, one).value for one in value)
    elif isinstance(value, bool) or not isinstance(value, int | float):
        told = str(value)
    elif name.endswith("_ns"):
        told = format_ns(round(value)) if value >= 0 else f"−{format_ns(-round(value))}"
    else:
        shown = shown_as(name, value)
        words, unit = shown.words, "" if shown.unit == "fraction" else shown.unit
        told = _number(value / shown.scale if shown.scale != 1.0 else value)
    return Metric(words, told, unit, definition(name), heading(name) or "The application level")


def _number(value: float) -> str:
    if isinstance(value, int) or not value:
        return f"{value:,.0f}".replace("-", "−")
    if abs(value) >= 1e3:
        return f"{value:,.0f}".replace("-", "−") if abs(value) < 1e9 else f"{value:.3e}".replace("-", "−")
    return four_digits(value)


def chosen_metrics(metrics: Mapping[str, Any], names: Iterable[str]) -> tuple[Metric, ...]:
    """Those of some names that have a value."""
    return tuple(metric_of(name, metrics[name]) for name in names if metrics.get(name) is not None)


def all_metrics(metrics: Mapping[str, Any]) -> dict[str, list[Metric]]:
    """All metrics of a record by what they are about, but for distributions over jobs."""
    found: dict[str, list[Metric]] = {}
    for name, value in metrics.items():
        if not isinstance(value, Mapping):
            one = metric_of(name, value)
            found.setdefault(one.heading, []).append(one)
    return found


def distributions(metrics: Mapping[str, Any]) -> tuple[list[list[Metric]], list[str]]:
    """The metrics of a record of which there are figures over jobs, a row each, and how the figures are called."""
    of_each = [one for value in metrics.values() if isinstance(value, Mapping) for one in value.items()]
    known = [(name, figures) for name, figures in of_each if isinstance(figures, Mapping)]
    names = list(dict.fromkeys(figure for _, figures in known for figure in figures))
    return [[metric_of(name, figures.get(figure)) for figure in names] for name, figures in known], names
