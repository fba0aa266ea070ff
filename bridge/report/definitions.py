"""What metrics and columns are: the words of the pages of documentation, of which ``tools.build_page`` makes a file."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from traces.base.parsing import parse_json

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
    return (
        f"the {_FIGURES[figure]} over jobs of: {known[of_each]['words']}"
        if figure in _FIGURES and of_each in known
        else ""
    )


def heading(metric: str) -> str:
    """Under which heading the page of metrics has it; empty if it has none."""
    return _definitions().get(metric, {}).get("heading", "")
