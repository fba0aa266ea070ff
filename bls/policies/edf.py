"""EDF, earliest deadline first.

Workload logs have no deadline, and the two-level paper says only "minimum deadline"; ours is submit + slack × estimate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bls.policies.contract import KnownJobs
from traces.compiled import Array


@dataclass(frozen=True)
class Edf:
    """Key: deadline."""

    name: str = "edf"
    by_estimates: ClassVar[bool] = True

    def keys(self, jobs: KnownJobs) -> Array:
        """Deadlines, ns."""
        return jobs.deadline_ns
