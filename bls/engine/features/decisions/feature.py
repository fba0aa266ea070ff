"""Declarations of the records of passes, and of the time that decisions take."""

from bls.engine import hooks as h
from bls.engine.feature import Feature
from bls.engine.status import BatchStatus

RECORDS = Feature(
    on={h.BEFORE_PASS: f"{__package__}.decisions:room", h.PASSED: f"{__package__}.decisions:record"},
    sizes=lambda run: {"decisions": 2 * run.jobs + 16},
    grow={BatchStatus.DECISIONS_FULL: lambda state: (state.decisions.passes, 0)},
)

CHARGES = Feature(
    given=lambda run: {
        "decisions": {"cost_ns": cost if isinstance(cost := run.chosen.rules.decision_cost_ns, int) else -1}
    },
    on={
        h.NEXT: f"{__package__}.decisions:next_decision",
        h.BUSY: f"{__package__}.decisions:is_deciding",
        h.PASSED: f"{__package__}.decisions:charge",
    },
    overtakes=True,
)
