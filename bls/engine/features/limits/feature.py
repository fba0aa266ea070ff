"""Declarations of power limits, and of passes under one."""

import numpy as np

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature, FeatureRun


def stairs(run: FeatureRun) -> dict[str, int]:
    """The number of steps of the profile that limits may add at once."""
    # Equal numbers of steps become known and end at an instant. If decisions take time, several such instants may pass
    # without a pass that could make room.
    steps = np.diff(run.given.state["power"].first, axis=1).sum(axis=0)
    return {"steps": 2 * int(steps.sum() if run.has("charges_decisions") else steps.max(initial=0))}


def begin_limits(state: b.BatchState) -> None:
    """Wait for the first change of limits."""
    state.power.next_ns = int(state.power.ns[0])


LIMITS = Feature(
    lambda run: not run.has("stops"),
    on={h.NEXT: f"{__package__}.limits:next_change", h.INSTANT: f"{__package__}.limits:change_limits"},
    settings=stairs,
    begin=begin_limits,
)

EASY = Feature(
    lambda run: run.settings.order in (b.STATIC, b.SCORED) and not run.settings.by_cores,
    plays={h.PLAN: f"{__package__}.easy:plan_with_power"},
)
