"""F4, a policy found by regression on simulated schedules: smallest r·√n + 5.3e5·log10(q) first.

q is the submit instant since the workload's time 0, r the requested run time, both in seconds, n the requested cores.
An instant before 1 s counts as 1 s: the logarithm would be negative there and -∞ at 0, and a job that is submitted when the
log begins would go before all others for no reason but that.

Source: Carastan-Santos and de Camargo, "Obtaining Dynamic Scheduling Policies with Simulation and Machine Learning",
SC'17; the constants are those of its re-implementations in studies of learned scheduling.
"""

from __future__ import annotations

from dataclasses import dataclass

from bls.policies.contract import KnownJobs
from bls.policies.expr import values
from bls.policies.expression import Program, parse
from traces.compiled import Array

__all__ = ["F4"]

_SCORE = parse("t * sqrt(n) + 5.3e5 * log10(max(s, 1))")


@dataclass(frozen=True)
class F4:
    """Key: r·√n + 5.3e5·log10(q)."""

    name: str = "f4"

    @property
    def score(self) -> Program:
        """The expression."""
        return _SCORE

    def keys(self, jobs: KnownJobs) -> Array:
        """Scores, float64."""
        return values(_SCORE, jobs)
