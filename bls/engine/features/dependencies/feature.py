"""Declaration of jobs that wait for other jobs."""

from typing import Any

from bls.engine import hooks as h
from bls.engine.feature import Feature, RunColumns


def _preceding(run: RunColumns) -> dict[str, dict[str, Any]]:
    known = run.chosen.constraints.dependencies
    if known is None or not (known.depends_on >= 0).any():
        return {}
    children = {"first": known.child_first, "row": known.child_row} | (
        {"unmet": known.waits_for} if known.several else {}
    )
    return {"dependencies": children, "jobs": {"depends_on": known.depends_on, "think_ns": known.think_ns}}


DEPENDENCIES = Feature(
    lambda run: "dependencies" in run.given.state,
    given=_preceding,
    on={h.ENDED: "bls.engine.features.dependencies.dependencies:let_children_come"},
    overtakes=True,
    sizes=lambda run: {"arriving": 2 * run.jobs},
)
