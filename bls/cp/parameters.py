"""Parameters of a dispatcher that plans with constraint programming."""

from dataclasses import dataclass
from typing import Final, NamedTuple

from traces.base.errors import InputError, one_of, real, whole

#: The models, by the names of the papers (HCP'19, PCP'19 and PCP'20), each a relaxation of the following ones; node classes
#: are not from the papers.
MODELS: Final = ("hcp19", "cp-classes", "pcp19", "pcp20")

#: Which waiting jobs are modelled: all jobs that fit an empty machine, or the jobs that alone fit the free resources at t.
WHICH: Final = ("all", "fits")

#: Definitions of Z: the sum of slowdowns (as in the papers), of slowdowns bounded at 10 s, of waits, or a weighted sum.
GOALS: Final = ("slowdown", "bounded", "wait", "weighted")
_LISTS: Final = 200  #: default number of lists of ``lns``
_AHEAD_H: Final = 24.0  #: default number of hours for which prices are known: those of the next day
_LEAST: Final = 1e-6  #: the smallest weight above 0

#: CP-SAT's own search, from the list's plan or from a better one; that of section 3 of the paper; or no solver.
SEARCHES: Final = ("hinted", "guided", "paper", "lns", "list")


class DispatchWeights(NamedTuple):
    """Weights of slowdowns, waits in hours, fairness (0: jobs count equally, 1: users), cost of energy, and kg of CO2e."""

    slowdown: float = 1.0
    wait: float = 0.0
    fairness: float = 0.0
    energy: float = 0.0
    carbon: float = 0.0


SLOWDOWNS: Final = DispatchWeights()  #: slowdowns only, with equal weights of all jobs


@dataclass(frozen=True)
class Parameters:
    """Limits and choices of a dispatch. Raises InputError if a value is not allowed.

    Limits of the search are *deterministic* seconds: CP-SAT counts its steps, so equal instances and seeds have equal plans on
    any machine with one version of OR-Tools.
    """

    queue: int = 100  # the largest number of modelled jobs, by priority; at least 1
    # {"all", "fits"}: the jobs from which these are taken; ``fits`` does not protect jobs that running jobs block
    which: str = "fits"
    # {"slowdown", "bounded", "wait", "weighted"}: the minimised sum over the modelled jobs: (s - q + d) / d; the same over
    # max(d, 10 s); s - q + d; or weighted. The choice and the priority of modelled jobs always use slowdowns.
    goal: str = "slowdown"
    # with the goal ``weighted``: weights of slowdowns and of waits in hours; 0 or at least 1e-6, rounded to multiples of
    # it, and one of them not 0
    slowdown: float = 1.0
    wait: float = 0.0
    fairness: float = 0.0  # the same: 0 gives all jobs the same weight, 1 gives it to all users with waiting jobs
    # the same: weights of a unit of the currency that a job's energy costs and of a kg of CO2e that it emits
    energy: float = 0.0
    carbon: float = 0.0
    ahead_h: float = _AHEAD_H  # number of hours for which prices are known, above 0
    # {"hinted", "guided", "paper", "lns", "list"}: begin and course of the search. ``guided`` first solves the model of
    # the pool with the same limits, and makes a serial schedule in the order of its starts. ``paper`` has neither hint nor
    # restarts. ``lns`` and ``list`` need no solver (:mod:`bls.cp.serial`).
    search: str = "hinted"
    lists: int = _LISTS  # number of lists of ``lns``, its effort: 1 to 2**31 - 1; refused with other searches
    limit_s: float = 0.005  # of the first solve, deterministic s, above 0
    # while no plan is found the limit grows by ``more_s``, up to ``tries`` times
    more_s: float = 0.5
    tries: int = 0
    # while a plan is not proven to be optimal it is solved again with twice the limit, up to this one, until two results
    # are equal; with 0, or any value up to ``limit_s``, it is solved once
    longest_s: float = 0.0
    seed: int = 0  # of the search, 0 to 2**31 - 1
    presolve: bool = False  # whether CP-SAT rewrites the model first; only ``wall_s`` limits the time for this
    # larger models are not made, since they could not be solved in time; the list's plan is used
    most_variables: int = 50_000
    # the same limit for PCP'20, whose boxes are more expensive: 10,000 variables take up to a second of the clock
    most_box_variables: int = 5_000
    # whether a run's list has a further order: the starts of the last plan, followed by new jobs by priority
    warm: bool = False
    # after this number of seconds of the clock a solve is stopped and the list's plan used; such a plan is not repeatable
    wall_s: float = 30.0

    def __post_init__(self) -> None:
        where = "constraint programming"
        choices = ("which", "choice of jobs", WHICH), ("goal", "goal", GOALS), ("search", "search", SEARCHES)
        for name, kind, known in choices:
            if getattr(self, name) not in known:
                raise one_of(kind, getattr(self, name), known, f"{where}: {name}")
        limits = dict.fromkeys(("queue", "lists", "most_variables", "most_box_variables"), (1, 2**31 - 1))
        for name, (least, most) in (limits | {"tries": (0, 1000), "seed": (0, 2**31 - 1)}).items():
            whole(f"{where}: {name}", getattr(self, name), least, most)
        for name, value, top in zip(DispatchWeights._fields, self.weights, (1e6, 1e6, 1.0, 1e6, 1e6), strict=True):
            real(f"{where}: {name}", value, 0.0, top)
            if 0.0 < value < _LEAST:
                raise InputError(f"{where}: {name}: {value:g}; allowed: 0, or {_LEAST:g} to {top:g}")
        if self.goal != "weighted" and self.weights != SLOWDOWNS:
            raise InputError(
                f"{where}: slowdown, wait, fairness, energy and carbon are weights; allowed: with goal=weighted"
            )
        if max(self.slowdown, self.wait) < _LEAST:
            both = f"{self.slowdown:g}, {self.wait:g}"
            raise InputError(f"{where}: slowdown, wait: {both}; allowed: one of {_LEAST:g} or more")
        real(f"{where}: ahead_h", self.ahead_h, 0.0, 1e5)
        if self.ahead_h <= 0.0:
            raise InputError(f"{where}: ahead_h: {self.ahead_h:g}; allowed: above 0, up to 1e+05")
        if self.ahead_h != _AHEAD_H and not self.weighs_energy:
            raise InputError(f"{where}: ahead_h: {self.ahead_h:g}: prices are not used; allowed: with energy or carbon")
        for name in ("limit_s", "more_s", "wall_s"):
            value = getattr(self, name)
            if isinstance(value, float | int) and not 0.0 < value <= 1e9:
                raise InputError(f"{where}: {name}: {value:g}; allowed: above 0, up to 1e+09")
            real(f"{where}: {name}", value, 0.0, 1e9)
        real(f"{where}: longest_s", self.longest_s, 0.0, 1e9)
        if self.search != "lns" and self.lists != _LISTS:
            raise InputError(f"{where}: lists: {self.lists}: no other search makes lists; allowed: with search=lns")
        for name in ("presolve", "warm"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"{where}: {name}: {getattr(self, name)!r}; allowed: True or False")

    @property
    def weights(self) -> DispatchWeights:
        """Weights of the goal ``weighted``."""
        return DispatchWeights(self.slowdown, self.wait, self.fairness, self.energy, self.carbon)

    @property
    def weighs_energy(self) -> bool:
        """Whether the cost or emission of energy counts."""
        return self.goal == "weighted" and (self.energy > 0.0 or self.carbon > 0.0)

    @property
    def needs_signals(self) -> tuple[str, ...]:
        """Required columns of a file of signals."""
        if not self.weighs_energy:
            return ()
        weighed = {"price_per_kwh": self.energy, "g_co2e_per_kwh": self.carbon}
        return tuple(name for name, weight in weighed.items() if weight > 0.0)

    @property
    def has_solver(self) -> bool:
        """Whether the search needs OR-Tools."""
        return self.search not in ("lns", "list")

    def next_queue(self, modelled: int, *, solved: bool) -> int:
        """Largest number of jobs of the next dispatch: half of the present number, until a dispatch is solved."""
        return self.queue if solved else max(1, min(self.queue, modelled) // 2)
