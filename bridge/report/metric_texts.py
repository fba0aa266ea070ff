"""Metrics in words: names, values with units, and definitions from the documentation."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from traces.base.given_file import parse_json
from traces.base.time import format_ns
from traces.metric_units import four_digits, shown_as

#: Statistics of distributions over jobs, by the prefixes of names of metrics.
_FIGURES = {
    "mean": "mean",
    "median": "median",
    "p10": "10th percentile",
    "p90": "90th percentile",
    "p95": "95th percentile",
    "p99": "99th percentile",
    "max": "maximum",
}

#: Words for names, if not the name with spaces; then patterns of names.
_WORDS = {
    "awrt": "area-weighted response time",
    "awwt": "area-weighted wait",
    "psf": "priority-weighted specific response time",
    "cov": "c.o.v. of finishing times",
    "cov_sample": "c.o.v. of finishing times (sample)",
    "length_cov": "c.o.v. of task lengths",
    "max_minus_mean": "maximum − mean finishing time",
    "sakellariou_l": "maximum − mean finishing time (L)",
    "sakellariou_lr": "(maximum − mean) / maximum (LR)",
    "loss_of_capacity_cobalt": "loss of capacity (Cobalt)",
    "makespan_batsim": "makespan (Batsim)",
    "makespan_rm_replay": "makespan (RM-Replay)",
    "utilisation_of_up_capacity": "utilisation of hosts in service",
    "why": "started as",
    "bls": "batch policy",
    "als": "technique",
    "job_id": "job",
}
_PATTERNS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (re.compile(rf"({'|'.join(_FIGURES)})_(.+)"), lambda found: f"{_FIGURES[found[1]]} {in_words(found[2])}"),
    (re.compile(r"state_(.+)"), lambda found: f"{found[1]} jobs"),
    (re.compile(r"why_never"), lambda _: "jobs that never started"),
    (re.compile(r"why_(.+)"), lambda found: f"jobs started as {found[1]}"),
    (re.compile(r"(completed|killed|cancelled|failed|requeued)_core_hours"), lambda found: f"work of {found[1]} jobs"),
    (re.compile(r"(.+)_delta"), lambda found: f"{in_words(found[1])}, B − A"),
    (re.compile(r"(.+)_([ab])"), lambda found: f"{in_words(found[1])} in {found[2].upper()}"),
)


def in_words(name: str) -> str:
    """The name of a metric or a column in words, without its unit."""
    plain = name.removesuffix("_ns")
    if plain in _WORDS:
        return _WORDS[plain]
    for pattern, words in _PATTERNS:
        if (found := pattern.fullmatch(plain)) is not None:
            return words(found)
    return plain.replace("_", " ")


@cache
def _definitions() -> Mapping[str, Mapping[str, str]]:
    text = (files("bridge.report") / "assets" / "definitions.json").read_text(encoding="utf-8")
    found: dict[str, dict[str, str]] = parse_json(text, "assets/definitions.json")
    return found


def definition(name: str) -> str:
    """The definition of a metric or column, or empty. A mean over jobs has the definition of the metric of a job."""
    known = _definitions()
    if name in known:
        return known[name]["words"]
    figure, _, of_each = name.partition("_")
    some = figure in _FIGURES and of_each in known
    return f"the {_FIGURES[figure]} over jobs of: {known[of_each]['words']}" if some else ""


def heading(metric: str) -> str:
    """The group of a metric (a heading of its page), or empty."""
    return _definitions().get(metric, {}).get("heading", "")


@dataclass(frozen=True, slots=True)
class Metric:
    """One number of a result."""

    # name, value, unit: as shown
    name: str
    value: str
    unit: str = ""
    definition: str = ""  # empty if no page has it
    heading: str = ""  # its group


def metric_of(name: str, value: Any) -> Metric:
    """A metric by its name in a record, as ``mean_wait_ns``."""
    words, unit = in_words(name), ""
    if value is None:
        text = "–"
    elif isinstance(value, list):
        text = " to ".join(metric_of(name, one).value for one in value)
    elif isinstance(value, bool) or not isinstance(value, int | float):
        text = str(value)
    elif name.endswith("_ns"):
        text = format_ns(round(value)) if value >= 0 else f"−{format_ns(-round(value))}"
    else:
        shown = shown_as(name, value)
        if words == name.replace("_", " "):  # in neither the table nor the patterns: the name ends in its unit
            words = shown.words
        unit = "" if shown.unit == "fraction" else shown.unit
        text = _number(value / shown.scale if shown.scale != 1.0 else value)
    return Metric(words, text, unit, definition(name), heading(name) or "The application level")


def _number(value: float) -> str:
    if isinstance(value, int) or not value:
        return f"{value:,.0f}".replace("-", "−")
    if abs(value) >= 1e3:
        return f"{value:,.0f}".replace("-", "−") if abs(value) < 1e9 else f"{value:.3e}".replace("-", "−")
    return four_digits(value)


def all_metrics(metrics: Mapping[str, Any]) -> dict[str, list[Metric]]:
    """All metrics of a record by heading, without distributions over jobs."""
    found: dict[str, list[Metric]] = {}
    for name, value in metrics.items():
        if not isinstance(value, Mapping):
            one = metric_of(name, value)
            found.setdefault(one.heading, []).append(one)
    return found


def distributions(metrics: Mapping[str, Any]) -> tuple[list[list[Metric]], list[str]]:
    """The distributions over jobs of a record: one row per metric, and the names of the columns."""
    of_each = [one for value in metrics.values() if isinstance(value, Mapping) for one in value.items()]
    known = [(name, figures) for name, figures in of_each if isinstance(figures, Mapping)]
    names = list(dict.fromkeys(figure for _, figures in known for figure in figures))
    rows = [[metric_of(name, figures.get(figure)) for figure in names] for name, figures in known]
    return rows, [_FIGURES.get(name, name) for name in names]
