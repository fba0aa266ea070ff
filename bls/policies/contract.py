"""What a batch policy is: it says in which order waiting jobs are considered.

A policy is a pure function of what a batch scheduler may know of the jobs. It gives every job a key; the job with the
smallest key is the head of the queue, and equal keys are ordered by (submit, place in the workload). The engine turns
the keys into ranks once, so a policy costs nothing while the simulation runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from traces.compiled import Array
from traces.errors import PluginError

__all__ = ["KnownJobs", "Policy", "ranks"]


@dataclass(frozen=True)
class KnownJobs:
    """What is known of the jobs when they are submitted, in workload order; read-only columns of n jobs.

    Attributes
    ----------
    job_id : int64 (n,)
        Job numbers.
    submit_ns : int64 (n,)
        Submit instants.
    estimate_ns : int64 (n,)
        Requested run times (durations).
    deadline_ns : int64 (n,)
        submit + slack × estimate.
    cores : int64 (n,)
        Requested cores.
    """

    job_id: Array
    submit_ns: Array
    estimate_ns: Array
    deadline_ns: Array
    cores: Array


@runtime_checkable
class Policy(Protocol):
    """An order of the queue."""

    @property
    def name(self) -> str:
        """As the literature names it, in lower case."""
        ...

    def keys(self, jobs: KnownJobs) -> Array:
        """One key a job, int64 or float64 of shape (n,), smallest first; NaN is an error.

        Must depend on ``jobs`` alone and must not change it.
        """
        ...


def ranks(policy: Policy, jobs: KnownJobs) -> Array:
    """The place of every job in the policy's total order: key, then submit, then workload order.

    Returns
    -------
    ndarray of int64, shape (n,)
        A permutation of 0 … n-1.

    Raises
    ------
    PluginError
        If the policy's keys have another shape, are no numbers or contain NaN.
    """
    n = len(jobs.submit_ns)
    try:
        keys = np.asarray(policy.keys(jobs))
    except Exception as error:  # whatever it is, it is the policy's
        raise PluginError(f"batch policy {policy.name}: keys() failed: {type(error).__name__}: {error}") from error
    if keys.shape != (n,) or keys.dtype.kind not in "iuf":
        raise PluginError(
            f"batch policy {policy.name}: keys() gave {keys.dtype} of shape {keys.shape}; allowed: numbers of shape ({n},)"
        )
    if keys.dtype.kind == "f" and np.isnan(keys).any():
        row = int(np.isnan(keys).argmax())
        raise PluginError(f"batch policy {policy.name}: keys() gave NaN for job {jobs.job_id[row]}")
    order = np.lexsort((np.arange(n), jobs.submit_ns, keys))
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(n)
    return rank
