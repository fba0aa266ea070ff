"""LJF, longest job first: by the requested run time, which is what a scheduler knows."""

from __future__ import annotations

from dataclasses import dataclass

from bls.policies.contract import KnownJobs
from traces.compiled import Array

__all__ = ["Ljf"]


@dataclass(frozen=True)
class Ljf:
    """Key: estimate, the largest first."""

    name: str = "ljf"

    def keys(self, jobs: KnownJobs) -> Array:
        """Requested run times, ns, negative."""
        return -jobs.estimate_ns
