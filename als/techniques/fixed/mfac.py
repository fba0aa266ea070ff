"""mFAC: the chunks of ``fac-mu-sigma``, but each core computes them by itself (LB4OMP's ``faca``).

There the first core of a batch computes the chunk from R, for all, behind a lock. Here nobody shares more than the
number of the request: each core keeps the batch it was last in, its chunk c_j and what remained, and goes on from it,
R_{j+1} = R_j − P · c_j from R_0 = N. The sizes are the same, as long as no tasks come back from a core that was lost:
those are not in R_j; a core that finds R_j used up goes on from what is left as it asks.

``mu``, ``sigma`` and the limits are those of ``fac-mu-sigma``. Source: Korndörfer, Eleliemy, Mohammed and Ciorba,
"LB4OMP", IEEE Transactions on Parallel and Distributed Systems 33(4), 2022, doi:10.1109/TPDS.2021.3107775.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from als.techniques.arithmetic import given_or
from als.techniques.contract import MEAN_S, SIGMA_S, Technique, technique_kernel
from als.techniques.fixed.fac_mu_sigma import factored
from als.techniques.parameter_checks import above_zero, not_negative

__all__ = ["MFAC", "MfacParameters"]


@technique_kernel
def _next_chunk(
    n_tasks: int, n_cores: int, core: int, request: int, remaining: int, facts: Any, speed: Any, params: Any, memo: Any
) -> int:
    # Of each core: the number of batches it has gone through, the last one's chunk, and what remained at its start.
    at = 3 * core
    mu, sigma = given_or(params[0], facts[MEAN_S]), given_or(params[1], facts[SIGMA_S])
    through, chunk, left = int(memo[at]), int(memo[at + 1]), int(memo[at + 2])
    if through == 0:
        left = n_tasks
    while through <= request // n_cores:
        left -= n_cores * chunk
        if left <= 0:
            left = remaining
        chunk = factored(left, n_cores, sigma, mu, through == 0)
        through += 1
    memo[at], memo[at + 1], memo[at + 2] = through, chunk, left
    return min(chunk, remaining)


@dataclass(frozen=True)
class MfacParameters:
    """``mu`` > 0 and ``sigma`` >= 0 in s, or None: from the job."""

    name: ClassVar[str] = "mfac"
    mu: float | None = None
    sigma: float | None = None

    def __post_init__(self) -> None:
        self._params()

    def _params(self) -> tuple[float, ...]:
        return above_zero(self.name, "mu", self.mu), not_negative(self.name, "sigma", self.sigma)

    def technique(self) -> Technique:
        """mFAC with these parameters."""
        return Technique(
            self.name,
            _next_chunk,
            memo_per_core=3,
            source="LB4OMP (faca), IEEE TPDS 33(4), 2022",
            params=self._params(),
            moments=self.mu is None or self.sigma is None,
            parameters=self,
        )


MFAC = MfacParameters().technique()
