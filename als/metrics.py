"""How well a job's cores were balanced: definitions over the finishing times of its cores.

t_p is the instant at which core p had nothing more to do, less the job's start. A core that was given nothing has t_p = 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from traces.compiled import Array, compiled

__all__ = ["application_metrics", "finish_cov", "finish_imbalance"]


@compiled()
def finish_imbalance(finish_ns: Array, start_ns: int) -> float:
    """max(t)/mean(t) - 1: the fraction of its time that an average core waits for the last; 0 is perfect balance.

    Parameters
    ----------
    finish_ns : int64 (P,)
        Finishing instants.
    start_ns : int
        Start of the job.

    Returns
    -------
    float
        >= 0, or NaN if no core did anything.
    """
    total = 0.0
    most = 0
    for p in range(finish_ns.size):
        t = finish_ns[p] - start_ns
        total += float(t)
        most = max(most, t)
    if most == 0:
        return math.nan
    return max(0.0, float(most) * finish_ns.size / total - 1.0)


@compiled()
def finish_cov(finish_ns: Array, start_ns: int) -> float:
    """Coefficient of variation of the cores' finishing times: σ(t)/mean(t) with the population's σ.

    Parameters
    ----------
    finish_ns : int64 (P,)
        Finishing instants.
    start_ns : int
        Start of the job.

    Returns
    -------
    float
        >= 0, or NaN if no core did anything.
    """
    n = finish_ns.size
    total = 0.0
    for p in range(n):
        total += float(finish_ns[p] - start_ns)
    if total == 0.0:
        return math.nan
    mean = total / n
    squares = 0.0
    for p in range(n):
        deviation = float(finish_ns[p] - start_ns) - mean
        squares += deviation * deviation
    return math.sqrt(squares / n) / mean


def application_metrics(tasks: Array, chunks: Array, imbalance: Array, cov: Array) -> dict[str, Any]:
    """Totals and means over jobs of what the application level did.

    Parameters
    ----------
    tasks, chunks : int64 (n,)
        Per job.
    imbalance, cov : float64 (n,)
        Per job; all NaN where there was no application level.

    Returns
    -------
    dict
        ``tasks``, ``chunks`` (totals) and mean and maximum of ``imbalance`` and ``cov`` over jobs; the last four are
        None where no job had an application level.
    """
    known = ~np.isnan(imbalance)
    some = bool(known.any())
    return {
        "tasks": int(tasks.sum()),
        "chunks": int(chunks.sum()),
        "mean_imbalance": float(imbalance[known].mean()) if some else None,
        "max_imbalance": float(imbalance[known].max()) if some else None,
        "mean_cov": float(cov[known].mean()) if some else None,
        "max_cov": float(cov[known].max()) if some else None,
    }
