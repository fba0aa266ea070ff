"""What the scheduler thinks how long jobs run: predicted from those who have ended, and corrected when they run longer."""

from __future__ import annotations

from bls import batch_state as b
from bls.batch_state import BatchState
from traces.compiled import compiled

__all__ = ["corrected_end", "learn", "predict"]


@compiled(inner=True)
def predict(state: BatchState, job: int) -> None:
    """Set the estimate of a job that arrives: the mean of the latest in the closest group that tells, else the request.

    Never more than the request; else never less than ``SHORTEST``. The window of a reservation was checked to be long
    enough for what its jobs ask for: they are planned with that.
    """
    jobs, history = state.jobs, state.history
    origin = jobs[b.ORIGIN, job]
    most = history.shape[1] - 1
    jobs[b.ESTIMATE, job] = jobs[b.WALLTIME, job]
    if jobs[b.WINDOW, job] >= 0:
        return
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
        shortest = max(state.counters[b.SHORTEST], 1)
        jobs[b.ESTIMATE, job] = min(max(mean + rest // n, shortest), jobs[b.WALLTIME, job])
        return


@compiled(inner=True)
def learn(state: BatchState, job: int, now: int) -> None:
    """Remember how long a job has run that ends now."""
    history = state.history
    origin = state.jobs[b.ORIGIN, job]
    most = history.shape[1] - 1
    for level in range(state.history_least.size):
        group = state.history_group[level, origin]
        if group >= 0:
            history[group, 1 + history[group, 0] % most] = now - state.jobs[b.START, job]
            history[group, 0] += 1


@compiled(inner=True)
def corrected_end(state: BatchState, job: int, now: int) -> int:
    """When a job that runs longer than expected is expected to end now: after ``now``, unless it has run for its request.

    It is corrected at the very instants at which it runs longer than expected, whenever somebody asks.
    """
    jobs, steps = state.jobs, state.corrections_ns
    end, last = jobs[b.EXPECTED, job], jobs[b.START, job] + jobs[b.WALLTIME, job]
    while end <= now and end < last:
        step = steps[min(jobs[b.CORRECTIONS, job], steps.size - 1)]
        end = end + step if step < last - end else last
        jobs[b.CORRECTIONS, job] += 1
    return int(end)
