"""Declaration of policies that decide in Python."""

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature

_HERE = "bls.engine.features.python"

DECIDES = Feature(
    ("order",),
    lambda run: run.settings.order == b.DECIDED,
    on={h.BEFORE_PASS: f"{_HERE}.decided:decide_in_python"},
    plays={h.PLAN: f"{_HERE}.decided:start_chosen"},
    sizes=lambda run: {"chosen": run.jobs, "chosen_first": run.jobs + 1, "named": run.cores},
)
