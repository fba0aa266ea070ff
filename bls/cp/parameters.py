"""What may be chosen of a dispatcher that plans with constraint programming."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from traces.base.errors import InputError, one_of, real, whole

#: The models, by the names of the papers: HCP'19, PCP'19 and PCP'20.
OF_PAPERS: Final = ("hcp19", "pcp19", "pcp20")

#: All of them, each a relaxation of those behind it; node classes are ours.
MODELS: Final = ("hcp19", "cp-classes", "pcp19", "pcp20")

#: Which waiting jobs are modelled: all that an empty machine could hold, or those that alone fit what is free at t.
WHICH: Final = ("all", "fits")

#: What Z is: the sum of slowdowns, as in the papers, of slowdowns bounded at 10 s, of waits, or what weights say.
GOALS: Final = ("slowdown", "bounded", "wait", "weighted")

#: How many lists ``lns`` makes by default.
_LISTS: Final = 200

#: How many hours ahead prices are known by default: those of the next day.
_AHEAD_H: Final = 24.0

#: The smallest weight but 0.
_LEAST: Final = 1e-6

#: CP-SAT's own search, which begins at the list's plan, or at what a plan of the pool leads to if that is better; the search of
#: section 3 of the paper; or no solver: large neighbourhoods of the list's plan, or the list alone.
SEARCHES: Final = ("hinted", "guided", "paper", "lns", "list")


class DispatchWeights(NamedTuple):
    """What counts how much: slowdowns, waits in hours, and users (0: jobs count alike, 1: users do); what energy costs, and
    a kg of CO2e."""

    slowdown: float = 1.0
    wait: float = 0.0
    fairness: float = 0.0
    energy: float = 0.0
    carbon: float = 0.0


#: Nothing but slowdowns, of jobs that count alike.
SLOWDOWNS: Final = DispatchWeights()


@dataclass(frozen=True)
class Parameters:
    """Limits and choices of a dispatch.

    Limits of the search are *deterministic* seconds: CP-SAT counts its steps, so that equal instances and seeds have equal
    plans on any machine of one version of OR-Tools. One takes about four seconds of the clock in ``hcp19``, and
    of ``pcp20`` ten or so where models are small, many more where they are large: loading and presolving are not counted.

    Raises
    ------
    InputError
        If a value is not allowed.
    """

    queue: int = 100  # the most jobs that are modelled, of highest priority; at least 1
    # {"all", "fits"}: of which jobs these are taken. ``fits``, the default, is the authors'; it protects nobody whom
    # the running jobs block.
    which: str = "fits"
    # {"slowdown", "bounded", "wait", "weighted"}: what is minimised, summed over the modelled jobs: (s - q + d) / d;
    # the same over max(d, 10 s), which values jobs of less than 10 s no higher than one of 10 s; s - q + d; or what the
    # next ones say. Who is modelled, and the priority, is by slowdown in any case.
    goal: str = "slowdown"
    # where the goal is ``weighted``: what slowdowns count, and what waits in hours do; 0 or from 1e-6 on, of which they
    # are rounded to whole multiples, and one of them not 0
    slowdown: float = 1.0
    wait: float = 0.0
    # likewise: 0 has all jobs count alike, 1 all users who wait, however many jobs each has; or between
    fairness: float = 0.0
    # likewise: what a unit of the currency counts that a job's energy costs, and a kg of CO2e that it emits, by the prices of
    # the instant at which it is used and what the job draws beyond idle cores. Jobs may be held back to cheaper hours then.
    energy: float = 0.0
    carbon: float = 0.0
    ahead_h: float = _AHEAD_H  # how far ahead prices are known, hours; what comes later is not. Above 0.
    # {"hinted", "guided", "paper", "lns", "list"}: where the search begins, and how it goes on. ``guided`` solves the model of
    # the pool first, with the same limits, and makes a serial schedule in the order of its starts; ours, and not the papers'.
    # ``paper`` has neither hint nor restarts; of some twenty jobs or more it seldom finds a plan (so the list's is taken), as a
    # job that has no place at its earliest start is tried a second later. ``lns`` has no solver: jobs are taken out of the
    # list's order and put back elsewhere, ``lists`` times (:mod:`bls.cp.serial`); ours. With ``list`` there is none,
    # and the list's plan is the plan: what others have more is what the solver adds.
    search: str = "hinted"
    # how many lists ``lns`` makes, 1 to 2**31 - 1: its effort; with another search it cannot be given
    lists: int = _LISTS
    limit_s: float = 0.005  # of the first solve, deterministic s, above 0
    # while nothing is found the limit grows by ``more_s``, up to ``tries`` times
    more_s: float = 0.5
    tries: int = 0
    # what has a plan that is not proven to be optimal is solved again with twice the limit, up to this one, until two
    # results are equal; 0 or up to ``limit_s``: once
    longest_s: float = 0.0
    seed: int = 0  # of the search, 0 to 2**31 - 1
    # whether CP-SAT rewrites the model first; no limit but ``wall_s`` bounds how long that takes
    presolve: bool = False
    # a model of more variables is not made, as it could not be solved in time; the list's plan is taken. That happens
    # to PCP'19 on large machines, which in the paper stops dispatching there.
    most_variables: int = 50_000
    # the same of PCP'20's boxes, each of which is dearer: a dispatch of 5,000 takes less than half a second of the
    # clock, one of 10,000 up to a second, and one of 40,000 two. Jobs of many units reach it.
    most_box_variables: int = 5_000
    # whether the list has one more order, in a run: that of the last plan's starts, and then who was not in it, by priority
    warm: bool = False
    # after so many seconds of the clock a solve is stopped and the list's plan taken: such a plan is not repeatable
    wall_s: float = 30.0

    def __post_init__(self) -> None:
        where = "constraint programming"
        for name, kind, known in (
            ("which", "choice of jobs", WHICH),
            ("goal", "goal", GOALS),
            ("search", "search", SEARCHES),
        ):
            if getattr(self, name) not in known:
                raise one_of(kind, getattr(self, name), known, f"{where}: {name}")
        for name, least, most in (
            *((name, 1, 2**31 - 1) for name in ("queue", "lists", "most_variables", "most_box_variables")),
            ("tries", 0, 1000),
            ("seed", 0, 2**31 - 1),
        ):
            whole(f"{where}: {name}", getattr(self, name), least, most)
        self._check_weights(where)
        for name in ("limit_s", "more_s", "wall_s"):
            value = getattr(self, name)
            if isinstance(value, float | int) and not 0.0 < value <= 1e9:
                raise InputError(f"{where}: {name}: {value:g}; allowed: above 0, up to 1e+09")
            real(f"{where}: {name}", value, 0.0, 1e9)
        real(f"{where}: longest_s", self.longest_s, 0.0, 1e9)
        if self.search != "lns" and self.lists != _LISTS:
            raise InputError(
                f"{where}: lists: {self.lists} of them are made by no other search; allowed: with search=lns"
            )
        for name in ("presolve", "warm"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"{where}: {name}: {getattr(self, name)!r}; allowed: True or False")

    def _check_weights(self, where: str) -> None:
        given = self.weights
        for name, value, most in zip(DispatchWeights._fields, given, (1e6, 1e6, 1.0, 1e6, 1e6), strict=True):
            real(f"{where}: {name}", value, 0.0, most)
            if 0.0 < value < _LEAST:
                raise InputError(f"{where}: {name}: {value:g}; allowed: 0, or {_LEAST:g} to {most:g}")
        if self.goal != "weighted" and given != SLOWDOWNS:
            raise InputError(
                f"{where}: slowdown, wait, fairness, energy and carbon are weights; allowed: with goal=weighted"
            )
        if max(self.slowdown, self.wait) < _LEAST:
            raise InputError(
                f"{where}: slowdown, wait: {self.slowdown:g}, {self.wait:g}; allowed: one of {_LEAST:g} or more"
            )

        real(f"{where}: ahead_h", self.ahead_h, 0.0, 1e5)
        if self.ahead_h <= 0.0:
            raise InputError(f"{where}: ahead_h: {self.ahead_h:g}; allowed: above 0, up to 1e+05")
        if self.ahead_h != _AHEAD_H and not self.weighs_energy:
            raise InputError(
                f"{where}: ahead_h: {self.ahead_h:g}: no prices are looked at; allowed: with energy or carbon"
            )

    @property
    def weights(self) -> DispatchWeights:
        """What counts how much where the goal is ``weighted``."""
        return DispatchWeights(self.slowdown, self.wait, self.fairness, self.energy, self.carbon)

    @property
    def weighs_energy(self) -> bool:
        """Whether what energy costs or emits counts."""
        return self.goal == "weighted" and (self.energy > 0.0 or self.carbon > 0.0)

    @property
    def needs_signals(self) -> tuple[str, ...]:
        """What has to be known over time, as columns of a file of signals."""
        if not self.weighs_energy:
            return ()
        weighed = {"price_per_kwh": self.energy, "g_co2e_per_kwh": self.carbon}
        return tuple(name for name, weight in weighed.items() if weight > 0.0)

    @property
    def has_solver(self) -> bool:
        """Whether the search needs OR-Tools."""
        return self.search not in ("lns", "list")

    @classmethod
    def of_authors(cls, model: str) -> Parameters:
        """What the authors' code has: for ``pcp20`` 1 s, and up to four times 0.5 s more while nothing is found; for
        ``hcp19`` and ``pcp19`` 1 s to 16 s, doubling, until two results are equal; of all the queue's jobs that fit what
        is free. Raises InputError if they have no such model."""
        if model not in OF_PAPERS:
            raise one_of("model", model, OF_PAPERS, "constraint programming")
        if model == "pcp20":
            return cls(search="paper", limit_s=1.0, more_s=0.5, tries=4)
        return cls(limit_s=1.0, longest_s=16.0)

    def next_queue(self, modelled: int, *, solved: bool) -> int:
        """How many jobs the next dispatch is to model at most: half of what this one modelled, until one is solved."""
        return self.queue if solved else max(1, min(self.queue, modelled) // 2)
