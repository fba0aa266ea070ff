"""How jobs are divided into tasks: the distributions of task lengths, named as the literature names them, and their
numbers.

A job of length L GFLOP on P cores, with K tasks per core, has P·K tasks of the mean length L/(P·K), scaled so that
their sum is L; with ``normal:draw=paper`` they are drawn until their sum reaches L (two-level paper, section 5.1).

To add a distribution: a class in ``random`` or ``fixed``, or a file here, and a line in :data:`LENGTHS`. Outside
packages add theirs under the entry-point group ``twolevel.lengths``; a single run can take one from a file, ``lengths
my.py:MY``."""

import functools
from dataclasses import dataclass, fields

import numpy as np

from als.lengths.contract import DRAWS, LengthModel, LengthParameters, length_kernel
from als.lengths.draw import drawn
from als.lengths.fixed import DECREASING, INCREASING, Equal, LengthsFile, Mandelbrot
from als.lengths.random import Bimodal, Correlated, Exponential, Gamma, Lognormal, Normal, Uniform
from als.options import LENGTHS as LENGTHS_OPTION
from als.options import MAX_TASKS_PER_JOB, TASKS_PER_CORE, VARIATION
from traces.base.errors import InputError, at, one_of, with_value
from traces.base.options import SEED
from traces.base.plugins import at_its_place, parameterised, without_parameter
from traces.base.time import duration_ns
from traces.compiled import Array

__all__ = [
    "LENGTHS",
    "LengthModel",
    "TaskModel",
    "check_variation",
    "drawn_lengths",
    "length_kernel",
    "lengths",
    "normal_lengths",
    "takes_variation",
]

#: The parameter that every distribution has.
_DRAW = "draw"

LENGTHS: dict[str, LengthParameters] = {
    "equal": Equal(),
    "normal": Normal(),
    "uniform": Uniform(),
    "exponential": Exponential(),
    "gamma": Gamma(),
    "lognormal": Lognormal(),
    "bimodal": Bimodal(),
    "increasing": INCREASING,
    "decreasing": DECREASING,
    "correlated": Correlated(),
    "file": LengthsFile(),
    "mandelbrot": Mandelbrot(),
}


def lengths(spec: str, where: str = "", *, variation: float = VARIATION.default) -> LengthModel:
    """The distribution of this name.

    - ``spec``: a name in :data:`LENGTHS`, one that an installed package adds, or ``FILE.py:NAME``, each perhaps with
      ``:key=value,key=value`` after it; or ``file:PATH``, perhaps with ``,key=value``; empty: ``normal``. Each takes ``draw=``
      with a word of ``als.lengths.contract.DRAWS``: how random lengths become a loop.
    - ``variation``: the run's coefficient of variation, 0 to ``MAX_COV``, which the distributions have that are given no other

    Raises InputError if there is none, or a parameter cannot be. Raises PluginError if it cannot be loaded, or is no
    distribution.
    """
    where = at(where or str(LENGTHS_OPTION), spec)
    variation = VARIATION.check(variation)
    with at_its_place(where):
        spec, draw = without_parameter(spec or "normal", _DRAW, where, "lengths")
        if draw is not None and draw not in DRAWS:
            raise one_of("draw of task lengths", draw, DRAWS, where)
        found, is_ours = parameterised(
            "distribution of task lengths",
            spec,
            LENGTHS,
            "twolevel.lengths",
            LengthParameters,
            where,
            from_file=LengthsFile,
            made=LengthModel,
            noun="lengths",
            shared=(_DRAW,),
        )
        model = found.lengths(variation)
        if not is_ours:
            from als.lengths.trial import try_out  # it compiles, which asking for a name of ours should not wait for

            model = try_out(model)
        return model if draw is None else model.with_draw(draw)


def takes_variation(spec: str, variation: float = 0.1, where: str = "") -> bool:
    """Whether a distribution is another one with a run's variation than without. Raises InputError, PluginError as
    :func:`lengths`."""
    where = where or str(LENGTHS_OPTION)
    if spec.startswith("file:"):
        return False  # without reading it twice
    varied, even = (lengths(spec, where, variation=value) for value in (variation, 0.0))
    return any(not _same(getattr(varied, field.name), getattr(even, field.name)) for field in fields(LengthModel))


def _same(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(one, other, equal_nan=True)
    return one == other


def check_variation(spec: str, variation: float, where: str = "") -> None:
    """Check that the run's variation is of use to a distribution, or 0. Raises InputError as :func:`lengths`; and if
    the distribution is the same whatever the variation."""
    where = where or str(LENGTHS_OPTION)
    if variation != 0.0 and not takes_variation(spec, variation, where):
        raise InputError(
            f"{VARIATION}: {variation:g} is of no use to {with_value(where, spec)}, whose spread is its own; allowed: 0"
        )


@dataclass(frozen=True)
class TaskModel:
    """How jobs are divided into tasks.

    Attributes
    ----------
    variation : float
        Task variation factor Υ: the standard deviation of task lengths over their mean, 0 to ``MAX_COV``.
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
    distribution: str = LENGTHS_OPTION.default

    def __post_init__(self) -> None:
        object.__setattr__(self, "variation", VARIATION.check(self.variation))
        object.__setattr__(self, "tasks_per_core", TASKS_PER_CORE.check(self.tasks_per_core))
        object.__setattr__(self, "seed", SEED.check(self.seed))
        object.__setattr__(self, "_model", lengths(self.distribution, variation=self.variation))

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
    return lengths("normal", variation=variation)


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
