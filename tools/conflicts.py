"""The page of features that do not go together, made from their tables: ``python -m tools.conflicts``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bls import conflicts as batch
from bridge.scenarios import conflicts as both
from tools.site.pages import DOCS
from traces.base.errors import Mention, spelled
from traces.base.options import Conflict

PAGE = DOCS / "reference" / "conflicts.md"
_HEAD = """# Features that do not go together

<!-- generated: python -m tools.conflicts -->
The pairs of the tables in `bls/conflicts.py` and `bridge/scenarios/conflicts.py`. A run with both features is refused before
its first event; the error states what was given, the reason, and what is allowed instead. Options without any effect are
refused on the command line and in studies, not in Python. Some further limitations are described with the feature:
[streams](cli.md#twolevel-run), [replay](replay.md), [Slurm's policy](batch-orders.md), [power](power.md).
"""

#: Heading → rows, and what names in braces stand for.
TABLES: Mapping[str, tuple[tuple[Conflict[object], ...], Mapping[str, str]]] = {
    "Policies and rules": (batch.RULES + batch.POLICY, batch.IN_GENERAL),
    "Power": (batch.POWER, batch.IN_GENERAL),
    "What a run has": (batch.RUN, batch.IN_GENERAL),
    "Fair start times": (batch.FAIR_START, batch.IN_GENERAL),
    "Both levels": (both.SCENARIO, both.IN_GENERAL),
    "How a run is executed": (both.PROCESSES + both.TYPED + both.RUN, both.IN_GENERAL),
}


def _code(mention: Mention) -> str:
    return f"`--{mention.name}{' ' * bool(mention.said)}{mention.said}`"


def _rows(rows: Iterable[Conflict[object]], names: Mapping[str, str]) -> Iterable[str]:
    yield from ("", "| feature | feature | why | allowed |", "|---|---|---|---|")
    for row in rows:
        texts = (row.first, row.second, row.reason.format_map(names), row.allowed.format_map(names))
        yield "| " + " | ".join(spelled(text, _code).replace("_", r"\_") for text in texts) + " |"


def page() -> str:
    """Return the page."""
    lines = [_HEAD]
    for heading, (rows, names) in TABLES.items():
        lines += [f"## {heading}", *_rows(rows, names), ""]
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
