"""Declaration of limits of partitions."""

from bls.engine import hooks as h
from bls.engine.feature import Feature
from bls.engine.features.partition_limits.limits import carry_tallies

PARTITION_LIMITS = Feature(
    on={
        h.BLOCKED: f"{__package__}.limits:is_beyond",
        **dict.fromkeys((h.TAKEN, h.FREED), f"{__package__}.limits:count"),
    },
    sizes=lambda run: {"users": int(run.given.jobs.user.max()) + 1},
    carried=("users",),
    carry=carry_tallies,
    check=f"{__package__}.limits:check_tallies",
    overtakes=True,
)
