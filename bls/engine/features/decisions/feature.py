"""Declarations of the records of passes, and of the time that decisions take."""

from bls.engine import hooks as h
from bls.engine.feature import Feature, RunColumns
from bls.engine.status import BatchStatus

_HERE = "bls.engine.features.decisions"

RECORDS = Feature(
    on={h.BEFORE_PASS: f"{_HERE}.decisions:room", h.PASSED: f"{_HERE}.decisions:record"},
    sizes=lambda run: {"decisions": 2 * run.jobs + 16},
    grow={BatchStatus.DECISIONS_FULL: lambda state: (state.decisions.passes, 0)},
)


def _cost(run: RunColumns) -> dict[str, dict[str, int]]:
    cost = run.chosen.rules.decision_cost_ns
    return {"decisions": {"cost_ns": cost}} if isinstance(cost, int) else {}


CHARGES = Feature(
    given=_cost,
    on={
        h.NEXT: f"{_HERE}.decisions:next_decision",
        h.BUSY: f"{_HERE}.decisions:is_deciding",
        h.PASSED: f"{_HERE}.decisions:charge",
    },
    overtakes=True,
)
