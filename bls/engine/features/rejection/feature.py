"""Declaration of a policy that rejects all jobs."""

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature

_HERE = "bls.engine.features.rejection"

TURNS_AWAY = Feature(
    ("order",), lambda run: run.settings.order == b.REJECTED, plays={h.PLAN: f"{_HERE}.rejecting:turn_away"}
)
