"""Declaration of further attempts of jobs."""

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature

RETRIES = Feature(
    lambda run: run.has("outages") or run.settings.loses or run.settings.directs & b.CUTS,
    given=lambda run: {
        "requeues": int(run.chosen.rules.on_failure == "requeue"),
        "max_attempts": run.chosen.rules.max_attempts,
    },
    plays={h.MAY_RETRY: f"{__package__}.retries:may_retry", h.RETRY: f"{__package__}.retries:again"},
    sizes=lambda run: {"losing": run.jobs if run.settings.loses else 0},
    deals=lambda state: ("loses",) if state.settings.loses else (),
)
