"""What jobs are thought to draw, predicted from those of the same user that have ended.

A job is planned with what is thought of it as it joins the queue, while it waits and while it runs. What it draws is known when
it has ended.
"""

from __future__ import annotations

from bls.engine.state import BatchState
from traces.base.scale import WHOLE
from traces.compiled import compiled

__all__ = ["learn_power", "predict_power"]


@compiled(inner=True)
def predict_power(state: BatchState, job: int) -> None:
    """Set what a job that arrives is thought to draw: the mean of the latest two of its user's, else as the platform says."""
    power, seen = state.power, state.power.seen
    power.predicted[job] = WHOLE
    group = power.alike[state.jobs.origin[job]]
    if group >= 0 and seen[group, 0] >= 2:
        power.predicted[job] = (seen[group, 1] + seen[group, 2]) // 2


@compiled(inner=True)
def learn_power(state: BatchState, job: int) -> None:
    """Remember what a job has drawn that ends."""
    power, origin = state.power, state.jobs.origin[job]
    group = power.alike[origin]
    if group >= 0:
        power.seen[group, 1 + power.seen[group, 0] % 2] = power.factor[origin]
        power.seen[group, 0] += 1
