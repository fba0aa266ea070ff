"""FCFS, first come, first served: the earliest submit first."""

from __future__ import annotations

from dataclasses import dataclass

from bls.policies.contract import KnownJobs
from traces.compiled import Array


@dataclass(frozen=True)
class Fcfs:
    """Key: submit."""

    name: str = "fcfs"

    def keys(self, jobs: KnownJobs) -> Array:
        """Submit instants, ns."""
        return jobs.submit_ns
