"""Declaration of plans with reservations of several jobs."""

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature

PLANS_AHEAD = Feature(
    lambda run: (
        run.settings.order in (b.STATIC, b.SCORED)
        and (run.settings.by_cores or (run.settings.max_reservations > 1 and run.settings.powered == b.UNPOWERED))
    ),
    plays={h.PLAN: f"{__package__}.plan_ahead:plan", h.DROP_PLAN: f"{__package__}.plan_ahead:drop_kept"},
    # A plan may contain all waiting and running jobs.
    sizes=lambda run: {} if run.settings.by_cores else dict.fromkeys(
        ("slices", "plan_slices"), 4 * (run.sizes["running"] + run.jobs) + 64
    ),
)  # fmt: skip
