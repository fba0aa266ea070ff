"""Orders by one number of each job: its submit, its deadline, its size, or its power.

- fcfs, first come, first served: the earliest submit first.
- edf, earliest deadline first: submit + slack × estimate. The two-level paper says only "minimum deadline".
- sjf, ljf and saf: shortest job, longest job and smallest area first, by requested run times and cores.
- least-power, most-power and least-energy: by the power of the requested cores and GPUs at full speed that the scheduler
  knows, and by this power × the requested run time.
- reject: no job runs; each is rejected in the pass after its arrival, to measure the cost of the simulator. This is the
  "Reject" dispatcher of AccaSim (Galleguillos et al., Cluster Computing 2020, doi:10.1007/s10586-019-02905-5).
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from bls.policies.contract import KnownJobs, ScorePolicy, same_memory, score_kernel
from bls.policies.expression import smallest_first
from traces.compiled import Array

_LARGEST = 2**63 - 1


@dataclass(frozen=True)
class Fcfs:
    """Key: submit."""

    name: str = "fcfs"

    def keys(self, jobs: KnownJobs) -> Array:
        """Submit instants, ns."""
        return jobs.submit_ns


@dataclass(frozen=True)
class Reject(Fcfs):
    """Key: submit; it has no effect, since all jobs are rejected at once."""

    name: str = "reject"


@dataclass(frozen=True)
class Edf:
    """Key: deadline."""

    name: str = "edf"
    by_estimates: ClassVar[bool] = True

    def keys(self, jobs: KnownJobs) -> Array:
        """Deadlines, ns."""
        return jobs.deadline_ns


@score_kernel
def _score_size(
    now_ns: int, waiting: Array, n_waiting: int, eligible_ns: Array, submit_ns: Array, estimate_ns: Array, cores: Array,
    numbers: Array, memory: Array, key: Array,
) -> int:  # fmt: skip
    """Key: estimate in ns, or estimate × cores if ``memory[1]`` is 1, multiplied exactly; ``memory[0]`` is its sign."""
    for k in range(n_waiting):
        row = waiting[k]
        length, n = estimate_ns[row], 1 if memory[1] == 0.0 else cores[row]
        area = float(length * n) if length <= _LARGEST // n else float(length) * n
        key[k] = memory[0] * area
    return 0


@dataclass(frozen=True)
class JobSize:
    """Key: estimate for ``sjf``, -estimate for ``ljf``, area for ``saf``."""

    name: str

    def keys(self, jobs: KnownJobs) -> Array:
        """Requested run times, ns, or areas."""
        if self.name == "saf":
            return _areas(jobs)
        return -jobs.estimate_ns if self.name == "ljf" else jobs.estimate_ns

    def predicted(self) -> ScorePolicy:
        """The same order, scored in every pass."""
        memory = (-1.0 if self.name == "ljf" else 1.0, 1.0 if self.name == "saf" else 0.0)
        return ScorePolicy(self.name, _score_size, prepare=partial(same_memory, memory))


def _areas(jobs: KnownJobs) -> Array:
    # Areas in the jobs' common unit of time, or ranks of the areas; the order is that of the exact areas.
    unit = max(1, int(np.gcd.reduce(jobs.estimate_ns)))  # a whole second, for most logs
    estimate = jobs.estimate_ns // unit
    if int(estimate.max(initial=0)) * int(jobs.cores.max(initial=0)) <= np.iinfo(np.int64).max:
        return np.asarray(estimate * jobs.cores)
    exact = estimate.astype(object) * jobs.cores  # Python's integers
    return np.asarray(np.unique(exact, return_inverse=True)[1], np.int64)


FCFS, REJECT, EDF = Fcfs(), Reject(), Edf()
SJF, LJF, SAF = JobSize("sjf"), JobSize("ljf"), JobSize("saf")
LEAST_POWER, MOST_POWER = smallest_first("least-power", "power_w"), smallest_first("most-power", "-power_w")
LEAST_ENERGY = smallest_first("least-energy", "energy_j")
