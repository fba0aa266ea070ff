"""Declaration of limits of partitions."""

from bls.engine import hooks as h
from bls.engine.feature import Feature
from bls.engine.features.partition_limits.limits import carry_tallies

_HERE = "bls.engine.features.partition_limits"

PARTITION_LIMITS = Feature(
    on={h.BLOCKED: f"{_HERE}.limits:is_beyond", **dict.fromkeys((h.TAKEN, h.FREED), f"{_HERE}.limits:count")},
    sizes=lambda run: {"users": int(run.given.jobs.user.max()) + 1},
    carried=("users",),
    carry=carry_tallies,
    check=f"{_HERE}.limits:check_tallies",
    overtakes=True,
)
