"""Declaration of policies that decide in Python."""

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature

DECIDES = Feature(
    lambda run: run.settings.order == b.DECIDED,
    given=lambda run: {"choice": {"may_not_fit": int(getattr(run.chosen.policy, "may_not_fit", False))}},
    on={h.BEFORE_PASS: "bls.engine.features.python.decided:decide_in_python"},
    plays={h.PLAN: "bls.engine.features.python.decided:start_chosen"},
    sizes=lambda run: {"chosen": run.jobs, "chosen_first": run.jobs + 1, "named": run.cores},
)
