"""Reject: no job ever runs; each leaves the queue in the pass after its arrival. What is left is the cost of the simulator.

Source: the "Reject" dispatcher of AccaSim, with which its paper compares simulators (Galleguillos et al., Cluster Computing
2020, doi:10.1007/s10586-019-02905-5, section 6).
"""

from __future__ import annotations

from dataclasses import dataclass

from bls.policies.contract import KnownJobs
from traces.compiled import Array


@dataclass(frozen=True)
class Reject:
    """Key: submit, though nobody waits for long."""

    name: str = "reject"

    def keys(self, jobs: KnownJobs) -> Array:
        """Submit instants, ns."""
        return jobs.submit_ns
