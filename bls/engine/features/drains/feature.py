"""Declaration of drained hosts."""

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature

DRAINS = Feature(
    given=lambda run: {"releases": b.BY_DRAIN},
    on={h.HOST: "bls.engine.features.drains.drained_hosts:move_cores"},
)
