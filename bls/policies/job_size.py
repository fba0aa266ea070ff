"""SJF, LJF and SAF: shortest job first, longest job first, smallest area first.

A job's length is its requested run time, which is what a scheduler knows; its area is that × its requested cores.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from bls.policies.contract import KnownJobs, ScorePolicy, same_memory, score_kernel
from traces.compiled import Array

_LARGEST = 2**63 - 1


@score_kernel
def _score(
    now_ns: int, waiting: Array, n_waiting: int, eligible_ns: Array, submit_ns: Array, estimate_ns: Array, cores: Array,
    numbers: Array, memory: Array, key: Array,
) -> int:  # fmt: skip
    """Key: estimate, in ns, or where ``memory[1]`` is 1 estimate × cores, multiplied exactly; ``memory[0]`` is its sign."""
    for k in range(n_waiting):
        row = waiting[k]
        length, n = estimate_ns[row], 1 if memory[1] == 0.0 else cores[row]
        area = float(length * n) if length <= _LARGEST // n else float(length) * n
        key[k] = memory[0] * area
    return 0


@dataclass(frozen=True)
class JobSize:
    """Key: length, of ``sjf``; -length, of ``ljf``; area, of ``saf``."""

    name: str

    def keys(self, jobs: KnownJobs) -> Array:
        """Requested run times, ns, or areas."""
        if self.name == "saf":
            return _areas(jobs)
        return -jobs.estimate_ns if self.name == "ljf" else jobs.estimate_ns

    def predicted(self) -> ScorePolicy:
        """The same order, scored in every pass."""
        memory = (-1.0 if self.name == "ljf" else 1.0, 1.0 if self.name == "saf" else 0.0)
        return ScorePolicy(self.name, _score, prepare=partial(same_memory, memory))


def _areas(jobs: KnownJobs) -> Array:
    # In the jobs' common unit of time, or their ranks; the order is that of the exact areas.
    unit = max(1, int(np.gcd.reduce(jobs.estimate_ns)))  # a whole second, for most logs
    estimate = jobs.estimate_ns // unit
    if int(estimate.max(initial=0)) * int(jobs.cores.max(initial=0)) <= np.iinfo(np.int64).max:
        return np.asarray(estimate * jobs.cores)
    exact = estimate.astype(object) * jobs.cores  # Python's integers
    return np.asarray(np.unique(exact, return_inverse=True)[1], np.int64)


SJF = JobSize("sjf")
LJF = JobSize("ljf")
SAF = JobSize("saf")
