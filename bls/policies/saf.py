"""SAF, smallest area first: requested run time × requested cores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bls.policies.contract import KnownJobs
from traces.compiled import Array

__all__ = ["Saf"]


@dataclass(frozen=True)
class Saf:
    """Key: area."""

    name: str = "saf"

    def keys(self, jobs: KnownJobs) -> Array:
        """Areas in the jobs' common unit of time, or their ranks; the order is that of the exact areas."""
        unit = max(1, int(np.gcd.reduce(jobs.estimate_ns)))  # a whole second, for most logs
        estimate = jobs.estimate_ns // unit
        if int(estimate.max(initial=0)) * int(jobs.cores.max(initial=0)) <= np.iinfo(np.int64).max:
            return np.asarray(estimate * jobs.cores)
        exact = estimate.astype(object) * jobs.cores  # Python's integers
        return np.asarray(np.unique(exact, return_inverse=True)[1], np.int64)
