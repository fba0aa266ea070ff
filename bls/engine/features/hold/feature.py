"""Declaration of jobs that a policy may hold."""

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature
from bls.engine.features.hold.holds import why_stuck

HOLDS = Feature(
    lambda run: run.settings.order == b.DECIDED,
    on={h.BLOCKED: "bls.engine.features.hold.holds:is_held"},
    sizes=lambda run: {"holding": run.jobs},
    stuck=why_stuck,
    check="bls.engine.features.hold.holds:check_holds",
)
