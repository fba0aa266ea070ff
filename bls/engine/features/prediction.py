"""What the scheduler thinks how long jobs run, or what they draw, predicted from those who have ended."""

from __future__ import annotations

from bls.engine.features.power_prediction import learn_power, predict_power
from bls.engine.hooks import HOOK
from bls.engine.state import BatchState
from traces.compiled import compiled

__all__ = ["learn", "predict"]


@compiled(HOOK)
def predict(state: BatchState, job: int, _begin: int, _stop: int, _sign: int) -> int:
    """Set the estimate of a job that arrives: the mean of the latest in the closest group that tells, else the request.

    Never more than the request; else never less than ``shortest_ns``. The window of a reservation was checked to be long
    enough for what its jobs ask for: they are planned with that.
    """
    jobs, history = state.jobs, state.history
    if state.power.seen.shape[0] > 0:
        predict_power(state, job)
    if state.history_least.size == 0:
        return 0
    origin = jobs.origin[job]
    most = history.shape[1] - 1
    jobs.estimate_ns[job] = jobs.walltime_ns[job]
    if jobs.window[job] >= 0:
        return 0
    for level in range(state.history_least.size):
        group = state.history_group[level, origin]
        if group < 0 or history[group, 0] < state.history_least[level]:
            continue
        n = min(history[group, 0], most)
        # A sum of run times may be beyond int64: quotients and remainders are summed.
        mean, rest = 0, 0
        for k in range(1, n + 1):
            mean += history[group, k] // n
            rest += history[group, k] % n
        shortest = max(state.settings.shortest_ns, 1)
        history[history.shape[0] - 1, 0] += 1  # the row that counts predictions
        jobs.estimate_ns[job] = min(max(mean + rest // n, shortest), jobs.walltime_ns[job])
        return 0
    return 0


@compiled(HOOK)
def learn(state: BatchState, job: int, now: int, _stop: int, _sign: int) -> int:
    """Remember how long a job has run that ends at ``begin``, and what it has drawn."""
    history = state.history
    if state.power.seen.shape[0] > 0:
        learn_power(state, job)
    origin = state.jobs.origin[job]
    most = history.shape[1] - 1
    for level in range(state.history_least.size):
        group = state.history_group[level, origin]
        if group >= 0:
            history[group, 1 + history[group, 0] % most] = now - state.jobs.start_ns[job]
            history[group, 0] += 1
    return 0
