"""Measures of single jobs, their weighted means, and unfairness. q submit, s start, f end, p = f - s, n cores."""

from __future__ import annotations

from typing import Any

import numpy as np

from bls.metrics.exact import blocks, exact_mean, limbs, limbs_product, limbs_sum, limbs_total
from traces.base.time import NS_PER_S
from traces.compiled import Array

#: τ of the bounded slowdown (Feitelson et al.; 10 s is what the field uses).
BOUND_NS = 10 * NS_PER_S


def slowdown(submit_ns: Array, start_ns: Array, end_ns: Array) -> Array:
    """(f - q) / p of each job, float64; NaN where p = 0."""
    run = (end_ns - start_ns).astype(np.float64)
    run[run == 0] = np.nan
    return np.asarray((end_ns - submit_ns) / run)


def bounded_slowdown(submit_ns: Array, start_ns: Array, end_ns: Array, bound_ns: int = BOUND_NS) -> Array:
    """max(1, (f - q) / max(p, τ)) of each job, float64."""
    return np.asarray(np.maximum(1.0, (end_ns - submit_ns) / np.maximum(end_ns - start_ns, bound_ns)))


def per_processor_slowdown(
    submit_ns: Array, start_ns: Array, end_ns: Array, cores: Array, bound_ns: int = BOUND_NS
) -> Array:
    """max(1, (f - q) / (n · max(p, τ))) of each job, float64."""
    run = np.maximum(end_ns - start_ns, bound_ns).astype(np.float64)
    return np.asarray(np.maximum(1.0, (end_ns - submit_ns) / (cores * run)))


def specific_response_sums(submit_ns: Array, start_ns: Array, end_ns: Array, cores: Array) -> tuple[int, int]:
    """Σ n·(F⁴ - W⁴) and Σ n·(F³ - W³) with F = f - q and W = s - q, exactly: PSF is 3/4 of their ratio. PSF is the
    priority-weighted specific response time as RAPS reports it."""
    above = below = 0
    for response_ns, wait_ns, n in blocks(end_ns - submit_ns, start_ns - submit_ns, cores):
        response, wait = limbs(response_ns), limbs(wait_ns)
        area = limbs_product(limbs(n), limbs(response_ns - wait_ns))
        squares = limbs_sum(limbs_product(response, response), limbs_product(wait, wait))
        above += limbs_total(limbs_product(limbs_product(area, limbs_sum(response, wait)), squares))
        below += limbs_total(limbs_product(area, limbs_sum(squares, limbs_product(response, wait))))
    return above, below


def unfairness(start_ns: Array, fst_ns: Array) -> dict[str, Any]:
    """By how much jobs started after their fair start time (Sabin, Kochhar, Sadayappan, ICPP 2004).

    - ``start_ns``, int64 (n,): starts; -1 for a job that never started
    - ``fst_ns``, int64 (n,): fair start time of each: its start if no job that arrived later existed; -1 if it has
      none. Such jobs, and those that never started, are left out.

    Returns dict: ``mean_unfairness_ns`` and ``max_unfairness_ns`` of max(0, s - FST), over all jobs counted, and
    ``unfair_share``, the fraction of them with s > FST. None where no job is counted.
    """
    counted = (start_ns >= 0) & (fst_ns >= 0)
    late = np.maximum(0, start_ns[counted] - fst_ns[counted])
    return {
        "mean_unfairness_ns": exact_mean(late),
        "max_unfairness_ns": int(late.max()) if len(late) else None,
        "unfair_share": np.count_nonzero(late) / len(late) if len(late) else None,
    }
