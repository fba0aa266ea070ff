"""Predicted run times and power draws of jobs, from jobs that have ended."""

from bls.engine import state as b
from bls.engine.hooks import HOOK
from traces.base.scale import WHOLE
from traces.compiled import compiled


@compiled(HOOK)
def predict(state: b.BatchState, job: int, _begin: int, _stop: int, _sign: int) -> int:
    """Set the estimate of an arriving job: the mean of the latest run times in the closest group with enough ended jobs.

    It is at least ``shortest_ns`` and at most the request, and the request if no group has enough jobs or the job runs in an
    advance reservation. The power draw is the mean of the user's last two ended jobs, or the platform's value.
    """
    jobs, history, power, seen = state.jobs, state.prediction.runs, state.power, state.power.seen
    origin, most = jobs.origin[job], history.shape[1] - 1
    if seen.shape[0] > 0:
        alike = power.alike[origin]
        known = alike >= 0 and seen[alike, 0] >= 2
        power.predicted[job] = (seen[alike, 1] + seen[alike, 2]) // 2 if known else WHOLE
    if state.prediction.least.size == 0:
        return 0
    jobs.estimate_ns[job] = jobs.walltime_ns[job]
    if jobs.window[job] >= 0:
        return 0
    for level in range(state.prediction.least.size):
        group = state.prediction.group[level, origin]
        if group < 0 or history[group, 0] < state.prediction.least[level]:
            continue
        n = min(history[group, 0], most)
        # Sum quotients and remainders: a sum of run times may exceed int64.
        mean, rest = 0, 0
        for k in range(1, n + 1):
            mean += history[group, k] // n
            rest += history[group, k] % n
        shortest = max(state.prediction.shortest_ns, 1)
        history[history.shape[0] - 1, 0] += 1  # the row that counts predictions
        jobs.estimate_ns[job] = min(max(mean + rest // n, shortest), jobs.walltime_ns[job])
        return 0
    return 0


@compiled(HOOK)
def predict_again(state: b.BatchState, _job: int, now: int, _stop: int, _sign: int) -> int:
    """Predict later attempts after all ends of the instant, not only those before the attempt."""
    while state.prediction.n_rows < state.n_rows:
        predict(state, state.prediction.n_rows, now, now, 0)
        state.prediction.n_rows += 1
    return 0


@compiled(HOOK)
def learn(state: b.BatchState, job: int, now: int, _stop: int, _sign: int) -> int:
    """Store the run time and the power draw of a job that ends at ``begin``."""
    history, seen, origin = state.prediction.runs, state.power.seen, state.jobs.origin[job]
    if state.jobs.state[job] != b.COMPLETED and state.jobs.state[job] != b.KILLED:
        return 0
    most = history.shape[1] - 1
    if seen.shape[0] > 0 and state.power.alike[origin] >= 0:
        alike = state.power.alike[origin]
        seen[alike, 1 + seen[alike, 0] % 2] = state.power.factor[origin]
        seen[alike, 0] += 1
    for level in range(state.prediction.least.size):
        group = state.prediction.group[level, origin]
        if group >= 0:
            history[group, 1 + history[group, 0] % most] = now - state.jobs.start_ns[job]
            history[group, 0] += 1
    return 0
