"""SJF, shortest job first: by the requested run time, which is what a scheduler knows."""

from __future__ import annotations

from dataclasses import dataclass

from bls.policies.contract import KnownJobs
from traces.compiled import Array

__all__ = ["Sjf"]


@dataclass(frozen=True)
class Sjf:
    """Key: estimate."""

    name: str = "sjf"

    def keys(self, jobs: KnownJobs) -> Array:
        """Requested run times, ns."""
        return jobs.estimate_ns
