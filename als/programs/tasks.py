"""A job's tasks: lengths drawn from a normal distribution and scaled to the work of the job.

A job of length L GFLOP on P cores, with K tasks per core, has P·K tasks of the mean length L/(P·K). Lengths are drawn from
Normal(mean, variation·mean), non-positive draws are drawn again, and all are scaled so that their sum is L. With variation 0
all have the mean length. The two-level paper (section 5.1) draws tasks until their sum reaches L (``normal:draw=paper``).
Other distributions: :mod:`als.lengths`.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from als.lengths import lengths as length_model
from als.lengths.contract import LengthModel
from als.lengths.draw import drawn
from als.options import LENGTHS, MAX_TASKS_PER_JOB, TASKS_PER_CORE, VARIATION
from traces.base.errors import InputError
from traces.base.options import SEED
from traces.base.time import duration_ns
from traces.compiled import Array

__all__ = ["MAX_TASKS_PER_JOB", "MAX_VARIATION", "TaskModel", "drawn_lengths"]

#: Largest task variation factor Υ that is accepted; the paper studies 0 to 0.25.
MAX_VARIATION = VARIATION.highest


@dataclass(frozen=True)
class TaskModel:
    """How jobs are divided into tasks.

    Attributes
    ----------
    variation : float
        Task variation factor Υ: the standard deviation of task lengths over their mean, 0 to ``MAX_VARIATION``.
    tasks_per_core : int
        K, the number of tasks a core that a job has on average, >= 1.
    seed : int
        0 to 2**64 - 1. A job's tasks depend on the seed and its job number alone.
    distribution : str
        What :func:`als.lengths.lengths` takes; empty: ``normal``.

    Raises
    ------
    InputError, PluginError
        If one of them cannot be.
    """

    variation: float = VARIATION.default
    tasks_per_core: int = TASKS_PER_CORE.default
    seed: int = SEED.default
    distribution: str = LENGTHS.default

    def __post_init__(self) -> None:
        object.__setattr__(self, "variation", VARIATION.check(self.variation))
        object.__setattr__(self, "tasks_per_core", TASKS_PER_CORE.check(self.tasks_per_core))
        object.__setattr__(self, "seed", SEED.check(self.seed))
        object.__setattr__(self, "_model", length_model(self.distribution, variation=self.variation))

    @property
    def length_model(self) -> LengthModel:
        """The distribution with its parameters."""
        model: LengthModel = object.__getattribute__(self, "_model")
        return model

    def check(self, cores: Array, job_id: Array) -> None:
        """Refuse a workload in which one job would have more than ``MAX_TASKS_PER_JOB`` tasks."""
        if self.length_model.count is not None:
            return  # it was checked with the distribution, and is the same for every job
        if len(cores) and int(cores.max()) * self.tasks_per_core > MAX_TASKS_PER_JOB:
            row = int(cores.argmax())
            raise InputError(
                f"{TASKS_PER_CORE}: {self.tasks_per_core} gives job {job_id[row]} of {cores[row]} cores "
                f"{int(cores[row]) * self.tasks_per_core} tasks; allowed: up to {MAX_TASKS_PER_JOB} a job"
            )

    def lengths(self, job: int, cores: int, core_gflop: float, speed_gflops: float) -> Array:
        """The task lengths of one job.

        Parameters
        ----------
        job : int
            Job number, >= 0.
        cores : int
            P, the number of its cores.
        core_gflop : float
            Its length over P, L/P, in GFLOP: core speed times run time.
        speed_gflops : float
            This core speed, GFLOP/s.

        Returns
        -------
        ndarray of float64
            GFLOP of each task.
        """
        return drawn(
            self.length_model,
            self.seed,
            job,
            cores * self.tasks_per_core,
            core_gflop / self.tasks_per_core,
            core_gflop * cores,
            n_cores=cores,
            core_ns=float(duration_ns(core_gflop, speed_gflops)),
            speed_gflops=speed_gflops,
        )


@functools.lru_cache(maxsize=64)
def normal_lengths(variation: float) -> LengthModel:
    """The normal lengths of a variation, as of a recipe."""
    return length_model("normal", variation=variation)


def drawn_lengths(
    seed: int,
    job: int,
    n: int,
    mean_gflop: float,
    variation: float,
    total_gflop: float,
    *,
    n_cores: int = 1,
    core_ns: float = 0.0,
    speed_gflops: float = 1.0,
) -> Array:
    """The task lengths of one job, float64, of normal lengths: what the protocol calls a recipe.

    - ``seed``, ``job``: key of the job's stream
    - ``n``: number of tasks: P·K
    - ``mean_gflop``, ``variation``, ``total_gflop``: L/(P·K), the standard deviation over it, and L
    - ``n_cores``, ``core_ns``, ``speed_gflops``: as for :func:`als.lengths.draw.draw_loop`; without them, durations are
      not rounded to ns
    """
    return drawn(
        *(normal_lengths(variation), seed, job, n, mean_gflop, total_gflop),
        n_cores=n_cores,
        core_ns=core_ns,
        speed_gflops=speed_gflops,
    )
