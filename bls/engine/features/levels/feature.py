"""Declaration of jobs that are slowed under a power limit."""

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature

SLOWS = Feature(
    lambda run: run.settings.powered > b.HOLD,
    on={h.AFTER_PASS: "bls.engine.features.levels.slowing:set_states"},
    deals=lambda state: ("scales", "directs", "cuts", "awaits_outcomes"),
    sizes=lambda run: {"directed": 3 * run.cores, "scaled": run.cores, "scaling": run.jobs},
    commands=2,
)
