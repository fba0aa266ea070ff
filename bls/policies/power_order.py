"""least-power, most-power and least-energy: orders by what jobs draw.

What a job draws is what its requested cores do at full speed, as far as the scheduler knows; its energy is that × its requested
run time, as its area is its cores × that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bls.options import BLS, PLATFORM
from bls.policies.contract import KnownJobs, ScorePolicy, score_kernel
from traces.base.errors import InputError
from traces.base.time import NS_PER_S
from traces.compiled import Array


@score_kernel
def _score(
    now_ns: int, waiting: Array, n_waiting: int, eligible_ns: Array, submit_ns: Array, estimate_ns: Array, cores: Array,
    numbers: Array, memory: Array, key: Array,
) -> int:  # fmt: skip
    """Key: estimate, in s, × W, which are in the only row of ``numbers``."""
    for k in range(n_waiting):
        key[k] = estimate_ns[waiting[k]] / 1e9 * numbers[0, waiting[k]]
    return 0


def power_w(jobs: KnownJobs, name: str) -> Array:
    """What the requested cores of each job draw, W: float64 (n,). Raises InputError if that is not known; the message
    names the policy."""
    if (jobs.core_mw < 0).any():
        raise InputError(
            f"{BLS:{name}}: the platform does not say what its hosts draw; allowed: one whose hosts have all [hosts.power] "
            f"(docs/reference/power.md), as {PLATFORM:demand-response}"
        )
    found: Array = jobs.cores * jobs.core_mw / 1000
    return found


@dataclass(frozen=True)
class PowerOrder:
    """Key: W, of ``least-power``; -W, of ``most-power``; J, of ``least-energy``."""

    name: str

    def keys(self, jobs: KnownJobs) -> Array:
        """What jobs draw, or use."""
        watts = power_w(jobs, self.name)
        if self.name == "least-energy":
            return np.asarray(jobs.estimate_ns / NS_PER_S * watts)
        return -watts if self.name == "most-power" else watts

    def predicted(self) -> PowerOrder | ScorePolicy:
        """The same order, scored in every pass where it goes by estimates."""
        return ScorePolicy(self.name, _score, prepare=self._numbers) if self.name == "least-energy" else self

    def _numbers(self, jobs: KnownJobs) -> tuple[Array, Array]:
        return power_w(jobs, self.name)[None], np.zeros(0)


LEAST_POWER = PowerOrder("least-power")
MOST_POWER = PowerOrder("most-power")
LEAST_ENERGY = PowerOrder("least-energy")
