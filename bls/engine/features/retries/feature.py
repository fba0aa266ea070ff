"""Declaration of further attempts of jobs."""

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature

_HERE = "bls.engine.features.retries"

RETRIES = Feature(
    lambda run: run.has("outages") or run.settings.loses or run.settings.directs & b.CUTS,
    plays={h.MAY_RETRY: f"{_HERE}.retries:may_retry", h.RETRY: f"{_HERE}.retries:again"},
    sizes=lambda run: {"losing": run.jobs if run.settings.loses else 0},
    deals=lambda state: ("loses",) if state.settings.loses else (),
)
