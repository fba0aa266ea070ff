"""Declaration of running jobs that request cores."""

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature

_HERE = "bls.engine.features.requests"

REQUESTS = Feature(
    ("resizing",),
    lambda run: run.settings.resizing == b.EVOLVE,
    on={h.REQUESTED: f"{_HERE}.requests:make_width_request"},
    check=f"{_HERE}.requests:check_requests",
    sizes=lambda run: {"releasing": 2 * run.cores, "width_requests": 4 * run.cores},
)
