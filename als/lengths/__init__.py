"""How jobs are divided into tasks: the distributions of task lengths, named as the literature names them.

A job of length L GFLOP on P cores, with K tasks per core, has P·K tasks with mean length L/(P·K), scaled so that their sum is
L. With ``normal:draw=paper`` tasks are drawn until their sum reaches L (two-level paper, section 5.1).

To add a distribution: a class in ``random`` or ``fixed``, or a file here, and a line in :data:`LENGTHS`. Other packages add
distributions under the entry-point group ``twolevel.lengths``.
"""

import functools
from dataclasses import dataclass, fields
from typing import Final

import numpy as np

from als.lengths.contract import DRAWS, MAX_DRIFT, LengthModel, LengthParameters, Plain, equal_lengths, length_kernel
from als.lengths.draw import drawn
from als.lengths.fixed import DECREASING, INCREASING, LengthsFile, Mandelbrot
from als.lengths.random import EXPONENTIAL, Bimodal, Correlated, Gamma, Lognormal, Normal, Uniform, Weibull
from als.options import LENGTHS as LENGTHS_OPTION
from als.options import MAX_TASKS_PER_JOB, TASKS_PER_CORE, VARIATION
from traces.base.errors import InputError, at, one_of, parse_real, real
from traces.base.options import SEED, Conflict, check, check_fields, has, holds, said
from traces.base.plugins import at_its_place, is_number, parameterised, without_parameter
from traces.base.time import duration_ns
from traces.compiled import Array

__all__ = [
    "LENGTHS",
    "LengthModel",
    "TaskModel",
    "check_variation",
    "length_kernel",
    "lengths",
    "normal_lengths",
    "takes_variation",
]

_DRAW, _DRIFT = "draw", "drift"  #: the parameters that every distribution has

LENGTHS: dict[str, LengthParameters] = {
    "equal": Plain("equal", equal_lengths()),
    "normal": Normal(),
    "uniform": Uniform(),
    "exponential": Plain("exponential", EXPONENTIAL),
    "gamma": Gamma(),
    "lognormal": Lognormal(),
    "weibull": Weibull(),
    "bimodal": Bimodal(),
    "increasing": INCREASING,
    "decreasing": DECREASING,
    "correlated": Correlated(),
    "file": LengthsFile(),
    "mandelbrot": Mandelbrot(),
}


def lengths(spec: str, where: str = "", *, variation: float = VARIATION.default) -> LengthModel:
    """Return the distribution with this name.

    Parameters
    ----------
    spec : str
        A name in :data:`LENGTHS`, one that an installed package adds, or ``FILE.py:NAME``, each optionally followed by
        ``:key=value,key=value``; or ``file:PATH``, optionally followed by ``,key=value``; empty: ``normal``. Each accepts
        ``draw=`` with a word of ``als.lengths.contract.DRAWS``, and ``drift=``, as there.
    where : str
        The option that gave it, for errors.
    variation : float
        The run's coefficient of variation, 0 to ``MAX_COV``, for distributions that are not given another.

    Raises
    ------
    InputError
        If there is no such distribution, or a parameter is invalid.
    PluginError
        If it cannot be loaded, or is not a distribution.
    """
    where = at(where or str(LENGTHS_OPTION), spec)
    variation = VARIATION.check(variation)
    with at_its_place(where):
        spec, draw = without_parameter(spec or "normal", _DRAW, where, "lengths")
        if draw is not None and draw not in DRAWS:
            raise one_of("draw of task lengths", draw, DRAWS, where)
        spec, drift = without_parameter(spec, _DRIFT, where, "lengths")
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
            shared=(_DRAW, _DRIFT),
        )
        model = found.lengths(variation)
        if not is_ours:
            from als.lengths.trial import try_out  # compiles, which built-in distributions do not need

            model = try_out(model)
        if drift is not None:
            number = parse_real(drift) if is_number(drift) else drift
            model = model.with_drift(real(f"lengths {model.name}: drift", number, -MAX_DRIFT, MAX_DRIFT))
        return model if draw is None else model.with_draw(draw)


def takes_variation(spec: str, variation: float = 0.1) -> bool:
    """Return whether the run's variation changes a distribution. Raises InputError, PluginError as :func:`lengths`."""
    if spec.startswith("file:"):
        return False  # without reading the file again
    varied, even = (lengths(spec, variation=value) for value in (variation, 0.0))
    return any(not _same(getattr(varied, field.name), getattr(even, field.name)) for field in fields(LengthModel))


def _same(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(one, other, equal_nan=True)
    return one == other


def check_variation(spec: str, variation: float) -> None:
    """Check that the run's variation is 0 or changes the distribution. Raises InputError otherwise, and as :func:`lengths`."""
    check((OWN_VARIATION,), (spec, variation))


_spec: Final = said(LENGTHS_OPTION, lambda given: given[0])
#: Of a distribution, as for :func:`lengths`, and the run's variation.
OWN_VARIATION: Final = Conflict(
    has(str(VARIATION), lambda given: given[1] != 0.0, said(VARIATION, lambda given: f"{given[1]:g}"), variation=0.25),
    has(f"{LENGTHS_OPTION} with its own", lambda given: not takes_variation(*given), _spec, lengths="exponential"),
    allowed="0",
    reason="no effect on {second}, which has its own",
)


@dataclass(frozen=True)
class TaskModel:
    """How jobs are divided into tasks. Raises InputError, PluginError if a value is invalid."""

    variation: float = holds(VARIATION)  #: Υ: standard deviation of task lengths over their mean, 0 to ``MAX_COV``
    tasks_per_core: int = holds(TASKS_PER_CORE)  #: K, the mean number of tasks per core of a job, >= 1
    seed: int = holds(SEED)  #: 0 to 2**64 - 1. A job's tasks depend on the seed and its job number only.
    distribution: str = LENGTHS_OPTION.default  #: as for :func:`als.lengths.lengths`; empty: ``normal``

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "_model", lengths(self.distribution, variation=self.variation))

    @property
    def length_model(self) -> LengthModel:
        """The distribution with its parameters."""
        model: LengthModel = object.__getattribute__(self, "_model")
        return model

    def check(self, cores: Array, job_id: Array) -> None:
        """Check that no job would have more than ``MAX_TASKS_PER_JOB`` tasks.

        Parameters
        ----------
        cores, job_id : int64 (n,)
            The requested cores and the numbers of the jobs.

        Raises
        ------
        InputError
            If a job would; the message names the widest.
        """
        if self.length_model.count is not None:
            return  # checked with the distribution, since it is the same for every job
        if len(cores) and int(cores.max()) * self.tasks_per_core > MAX_TASKS_PER_JOB:
            row = int(cores.argmax())
            raise InputError(
                f"{TASKS_PER_CORE}: {self.tasks_per_core} gives job {job_id[row]} of {cores[row]} cores "
                f"{int(cores[row]) * self.tasks_per_core} tasks; allowed: up to {MAX_TASKS_PER_JOB} a job"
            )

    def lengths(self, job: int, cores: int, core_gflop: float, speed_gflops: float) -> Array:
        """Return the task lengths of one job.

        Parameters
        ----------
        job : int
            Its number.
        cores : int
            P, its cores.
        core_gflop : float
            Its length over P, GFLOP: core speed times run time.
        speed_gflops : float
            This core speed, GFLOP/s.

        Returns
        -------
        float64 (N,)
            GFLOP.

        Raises
        ------
        InputError, PluginError
            If there are more than ``MAX_TASKS_PER_JOB`` tasks, or the distribution's lengths are invalid.
        """
        model, per_core = self.length_model, self.tasks_per_core
        sizes = cores * per_core, core_gflop / per_core, core_gflop * cores
        core_ns = float(duration_ns(core_gflop, speed_gflops))
        return drawn(model, self.seed, job, *sizes, n_cores=cores, core_ns=core_ns, speed_gflops=speed_gflops)


@functools.lru_cache(maxsize=64)
def normal_lengths(variation: float) -> LengthModel:
    """Return the normal distribution with a variation, as in a recipe."""
    return lengths("normal", variation=variation)
