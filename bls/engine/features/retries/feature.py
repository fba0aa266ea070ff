"""Declaration of further attempts of jobs."""

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature, RunColumns

_HERE = "bls.engine.features.retries"


def _attempts(run: RunColumns) -> dict[str, int]:
    rules = run.chosen.rules
    return {"requeues": int(rules.on_failure == "requeue"), "max_attempts": rules.max_attempts}


RETRIES = Feature(
    lambda run: run.has("outages") or run.settings.loses or run.settings.directs & b.CUTS,
    given=_attempts,
    plays={h.MAY_RETRY: f"{_HERE}.retries:may_retry", h.RETRY: f"{_HERE}.retries:again"},
    deals=lambda state: ("loses",) if state.settings.loses else (),
)
