"""Declaration of running jobs that request cores."""

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature

REQUESTS = Feature(
    lambda run: run.settings.resizing == b.EVOLVE,
    on={h.INSTANT: "bls.engine.features.requests.requests:make_width_requests"},
    deals=lambda state: ("evolves",),
    check="bls.engine.features.requests.requests:check_requests",
    sizes=lambda run: {"releasing": 2 * run.cores, "width_requests": 4 * run.cores},
)
