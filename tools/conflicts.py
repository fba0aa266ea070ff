"""The page of features that exclude each other, made from their tables: ``python -m tools.conflicts``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from als.lengths import OWN_VARIATION
from bls import conflicts as batch
from bls.options import STREAM
from bridge.scenarios import conflicts as both
from tools.site.pages import DOCS
from traces.base.errors import Mention, spelled
from traces.base.options import Conflict

PAGE = DOCS / "reference" / "conflicts.md"
_HEAD = """# Options that cannot be combined

<!-- generated: python -m tools.conflicts -->
Runs that combine both columns of a row are refused before they begin. Options without effect are accepted in Python only.
"""

_STREAMED = str(STREAM)

#: Heading → rows.
TABLES: Mapping[str, tuple[Conflict, ...]] = {
    "Batch policies and rules": batch.BATCH + batch.POLICY,
    "Power": batch.POWER + batch.PLAN,
    "Features of a run": batch.RUN,
    "Policies that do not support a feature": tuple(batch.UNAWARE.values()),
    "Fair start times": batch.FAIR_START + batch.REPEATED,
    "Both levels": (both.DECIDED, *both.SCENARIO, *both.READY, OWN_VARIATION),
    "Execution and results": (*both.PROCESSES, *both.RUN, *(row for row in both.TYPED if row.first.name != _STREAMED)),
    "Streams": (*(row for row in both.TYPED if row.first.name == _STREAMED), *batch.STREAM),
    "Replays": both.REPLAY + both.REPLAYED_JOBS,
    "Cells of a study that Slurm schedules": both.SLURM_CELLS,
    "Options that need another one": both.COMPANIONS,
}


def _code(mention: Mention) -> str:
    dashes = "" if mention.name.isupper() else "--"  # an argument, such as WORKLOAD, has no link
    return f"`{dashes}{mention.name}{' ' * bool(mention.said)}{mention.said}`"


def _rows(rows: Iterable[Conflict]) -> Iterable[str]:
    # One row per reason: features that share it, and the other feature, stand in one cell.
    found: dict[tuple[str, str, str, str], list[str]] = {}
    for row in rows:
        why = row.why or row.reason.removeprefix("{second}: ").replace("{second}", "it")
        second = "" if row.second.name == f"no {why.removeprefix('needs ').partition(',')[0]}" else row.second.name
        same_first = (row.first.name, "", why, row.allowed)
        if same_first in found:
            found[same_first].append(second)
            continue
        same_second = ("", second, why, row.allowed)
        if same_second in found:
            found[same_second].append(row.first.name)
        elif any(other is not row and _alike(row, other) for other in rows):
            found[same_first] = [second]
        else:
            found[same_second] = [row.first.name]
    yield from ("", "| feature | not with | reason | allowed instead |", "|---|---|---|---|")
    for (first, second, why, allowed), several in found.items():
        texts = (first or ", ".join(several), second if not first else ", ".join(several), why, allowed)
        yield "| " + " | ".join(spelled(text, _code).replace("_", r"\_") for text in texts) + " |"


def _alike(one: Conflict, other: Conflict) -> bool:
    # Whether they differ only in the second feature.
    return (one.first.name, one.why, one.reason, one.allowed) == (
        other.first.name,
        other.why,
        other.reason,
        other.allowed,
    )


def page() -> str:
    """Return the page."""
    lines = [_HEAD]
    for heading, rows in TABLES.items():
        lines += [f"## {heading}", *_rows(rows), ""]
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
