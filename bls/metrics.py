"""Batch metrics over finished jobs.

With q = submit, s = start, f = end, p = f - s (simulated run time) and n = cores of a job on M cores:

=========================  ==========================================================================
makespan_ns                max f - min q (two-level paper, Table 1)
wait                       s - q
response                   f - q (turnaround)
slowdown                   (f - q) / p; jobs with p = 0 have none and are left out
bounded slowdown           max(1, (f - q) / max(p, τ)), τ = 10 s
utilisation                Σ n·p / (M · makespan), a fraction; its span is the makespan, min q to max f
throughput_jobs_per_s      jobs / makespan
=========================  ==========================================================================

Nothing is rounded before it is averaged.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from traces.compiled import Array
from traces.time import NS_PER_S

__all__ = ["BOUND_NS", "batch_metrics", "bounded_slowdown", "slowdown"]

#: τ of the bounded slowdown.
BOUND_NS = 10 * NS_PER_S


def slowdown(submit_ns: Array, start_ns: Array, end_ns: Array) -> Array:
    """(f - q) / p of each job, float64; NaN where p = 0."""
    run = (end_ns - start_ns).astype(np.float64)
    run[run == 0] = np.nan
    return np.asarray((end_ns - submit_ns) / run)


def bounded_slowdown(submit_ns: Array, start_ns: Array, end_ns: Array, bound_ns: int = BOUND_NS) -> Array:
    """max(1, (f - q) / max(p, τ)) of each job, float64."""
    return np.asarray(np.maximum(1.0, (end_ns - submit_ns) / np.maximum(end_ns - start_ns, bound_ns)))


def batch_metrics(submit_ns: Array, start_ns: Array, end_ns: Array, cores: Array, n_cores: int) -> dict[str, Any]:
    """The metrics of the table above.

    Parameters
    ----------
    submit_ns, start_ns, end_ns, cores : int64 (n,)
        Finished jobs, n >= 1.
    n_cores : int
        M.

    Returns
    -------
    dict
        Times in ns: integers where exact, float64 for means. A mean slowdown is None if every job has p = 0.
    """
    first, last = int(submit_ns.min()), int(end_ns.max())
    makespan = last - first
    wait, response = start_ns - submit_ns, end_ns - submit_ns
    slow = slowdown(submit_ns, start_ns, end_ns)
    slow = slow[~np.isnan(slow)]
    bounded = bounded_slowdown(submit_ns, start_ns, end_ns)
    # Exact: the sum of core-nanoseconds may pass int64, a sum of Python integers does not.
    busy = sum((cores * ((end_ns - start_ns) >> 32)).tolist()) * 2**32 + sum(
        (cores * ((end_ns - start_ns) & 0xFFFFFFFF)).tolist()
    )
    return {
        "jobs": len(submit_ns),
        "makespan_ns": makespan,
        "mean_wait_ns": float(wait.mean()),
        "max_wait_ns": int(wait.max()),
        "mean_response_ns": float(response.mean()),
        "max_response_ns": int(response.max()),
        "mean_slowdown": float(slow.mean()) if len(slow) else None,
        "max_slowdown": float(slow.max()) if len(slow) else None,
        "mean_bounded_slowdown": float(bounded.mean()),
        "max_bounded_slowdown": float(bounded.max()),
        "utilisation": busy / (n_cores * makespan) if makespan else 0.0,
        "utilisation_span_ns": [first, last],
        "throughput_jobs_per_s": len(submit_ns) * NS_PER_S / makespan if makespan else 0.0,
    }
