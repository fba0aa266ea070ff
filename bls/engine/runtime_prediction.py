"""When the scheduler thinks that jobs end that run longer than expected."""

from __future__ import annotations

from bls.engine.state import BatchState
from traces.compiled import compiled

__all__ = ["corrected_end"]


@compiled(inner=True)
def corrected_end(state: BatchState, job: int, now: int) -> int:
    """When a job that runs longer than expected is expected to end now: after ``now``, unless it has run for its request.

    It is corrected at the very instants at which it runs longer than expected, whenever somebody asks.
    """
    jobs, steps = state.jobs, state.corrections_ns
    end, last = jobs.expected_end_ns[job], jobs.start_ns[job] + jobs.walltime_ns[job] + jobs.stretch_ns[job]
    while end <= now and end < last:
        step = steps[min(jobs.corrections[job], steps.size - 1)]
        end = end + step if step < last - end else last
        jobs.corrections[job] += 1
    return int(end)
