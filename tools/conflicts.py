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
refused on the command line and in studies, not in Python.
"""

#: Heading → rows.
TABLES: Mapping[str, tuple[Conflict, ...]] = {
    "Policies and rules": batch.POLICY,
    "Power": batch.POWER + batch.PLAN,
    "What a run has": batch.RUN,
    "What a policy is unaware of": tuple(batch.UNAWARE.values()),
    "Fair start times": batch.FAIR_START + both.FAIR_START,
    "Both levels": (both.DECIDED, *both.SCENARIO, *both.READY),
    "How a run is executed": both.PROCESSES + both.RUN + both.TYPED,
    "Streams": batch.STREAM,
    "Replays": both.REPLAY,
    "Options that need another one": both.COMPANIONS,
}


def _code(mention: Mention) -> str:
    dashes = "" if mention.name.isupper() else "--"  # an argument, as WORKLOAD, has none
    return f"`{dashes}{mention.name}{' ' * bool(mention.said)}{mention.said}`"


def _rows(rows: Iterable[Conflict]) -> Iterable[str]:
    yield from ("", "| feature | feature | why | allowed |", "|---|---|---|---|")
    for row in rows:
        why = row.why or row.reason.removeprefix("{second}: ").replace("{second}", "it")
        texts = (row.first.name, row.second.name, why, row.allowed)
        yield "| " + " | ".join(spelled(text, _code).replace("_", r"\_") for text in texts) + " |"


def page() -> str:
    """Return the page."""
    lines = [_HEAD]
    for heading, rows in TABLES.items():
        lines += [f"## {heading}", *_rows(rows), ""]
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
