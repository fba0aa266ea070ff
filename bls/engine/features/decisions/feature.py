"""Declarations of the records of passes, and of the time that decisions take."""

from bls.engine import hooks as h
from bls.engine.feature import Feature
from bls.engine.status import BatchStatus

_HERE = "bls.engine.features.decisions"

RECORDS = Feature(
    on={h.BEFORE_PASS: f"{_HERE}.decisions:room", h.PASSED: f"{_HERE}.decisions:record"},
    sizes=lambda run: {"decisions": 2 * run.jobs + 16},
    grow={BatchStatus.DECISIONS_FULL: lambda state: (state.decisions.passes, 0)},
)

CHARGES = Feature(
    on={
        h.NEXT: f"{_HERE}.decisions:next_decision",
        h.BUSY: f"{_HERE}.decisions:is_deciding",
        h.PASSED: f"{_HERE}.decisions:charge",
    },
    overtakes=True,
)
