"""What jobs are planned to draw, as Python asks for it."""

from __future__ import annotations

import numpy as np

from bls.engine.state import BatchState
from traces.base.scale import WHOLE
from traces.compiled import Array

__all__ = ["planned_more_mw"]


def planned_more_mw(state: BatchState, row: int) -> Array:
    """What a core of each group draws beyond an idle one, in the state that the job of a row is planned with: int64 (G,)."""
    power, origin = state.power, state.jobs.origin[row]
    at = int(power.planned[origin]) if len(power.planned) else 0
    if len(power.predicted):
        factor = int(power.predicted[row])
        return np.array([(2 * mw * factor + WHOLE) // (2 * WHOLE) for mw in power.more_mw[at].tolist()], np.int64)
    kind = int(power.kind[origin]) if len(power.kind) else 0
    found: Array = power.more_mw[at + kind * power.states]
    return found
