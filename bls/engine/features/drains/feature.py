"""Declaration of drained hosts."""

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature

_HERE = "bls.engine.features.drains"

DRAINS = Feature(
    ("releases",), lambda run: run.settings.releases == b.BY_DRAIN, on={h.HOST: f"{_HERE}.drained_hosts:move_cores"}
)
