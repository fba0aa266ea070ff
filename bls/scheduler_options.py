"""Rules of the batch level: backfilling, kills, failures, estimates, the cost of deciding.

Nothing heavy is imported at the top: the help of the command line is made of these fields.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bls import options as o
from bls.conflicts import RULES
from bls.engine.codes import Release, Resize
from traces.base.errors import InputError, shown, whole
from traces.base.options import check, holds, knows_its_keywords, recorded

if TYPE_CHECKING:
    from bls.estimates import AnyEstimator

#: The values of ``Settings.resizing``, in their order.
RESIZING = ("none", "expand", "shrink", "expand+shrink", "equal", "evolve", "decide")

#: The names that the literature gives depths of reservations: none, one, and one for each job.
BACKFILL = ("none", "easy", "conservative")

_DEEPEST = 10**9


@knows_its_keywords
@dataclass(frozen=True)
class Rules:
    """Rules of the batch level. The defaults are those of the two-level paper: no backfilling, no job is killed.

    Attributes
    ----------
    backfill : str
        ``none``, ``easy``, ``conservative``, or the number of jobs that have a reservation at once, as ``4``.
    conservative : {"keep", "rebuild"}, optional
        With ``conservative``: keep reservations from pass to pass and only move them earlier, or plan again in every pass.
    kill_at_walltime : bool
        Whether a job is killed when it has run for its requested time.
    on_failure : {"requeue", "lose"}
        Treatment of a job that loses a host, or all its cores for good.
    coordination : {"none", "release", "release:core", "release:host", "hint", "hint:core", "hint:host"}
        Whether running jobs release cores that they no longer need: each core as it falls idle for good (``release``,
        ``release:core``), or all cores of a host together (``release:host``). With ``hint`` they also receive which of their
        cores the head of the queue waits for, or what a deciding policy says.
    resize : {"none", "mold", "expand", "shrink", "expand+shrink", "equal", "evolve", "decide"}, optional
        When running malleable jobs are given cores, or asked for some (``bls.engine.features.running.widths``):
        ``expand``, when the queue is empty; ``shrink``, when its head lacks cores; ``equal``, so that all have the same number;
        ``evolve``, as their applications request; ``decide``, as the policy says. ``mold``: the head of the queue only, as it
        starts (``bls.engine.features.planning.molding``).
    max_attempts : int
        After this number of cuts of one job the simulation ends with an error; a job that lost all its cores has failed.
    charge_decisions : bool
        Whether each start is delayed by the time that the decision took.
    decision_cost_ns : int, str or None
        How long a decision takes, in ns, or as ``50ms``; None: as measured. Needs ``charge_decisions``.
    keep_decisions : bool
        Whether to keep a table of all decisions.
    switch_wait_ns : int or None
        How long a job waits for no more switches than it asks for; None: for ever. ``switches`` has a time of its own.
    estimates : str or estimator
        The run times that the scheduler plans with (``bls.estimates``).

    Raises
    ------
    InputError
        If a value is not allowed; the message names the option.
    """

    backfill: str = holds(o.BACKFILL)
    conservative: str | None = holds(o.CONSERVATIVE, None)
    kill_at_walltime: bool = holds(o.KILL_AT_WALLTIME)
    on_failure: str = holds(o.ON_FAILURE)
    coordination: str = holds(o.COORDINATION)
    resize: str | None = holds(o.RESIZE, None)
    max_attempts: int = holds(o.MAX_ATTEMPTS)
    charge_decisions: bool = holds(o.CHARGE_DECISIONS)
    decision_cost_ns: int | None = holds(o.DECISION_COST)
    keep_decisions: bool = holds(o.DECISIONS)
    switch_wait_ns: int | None = None
    estimates: str | AnyEstimator = holds(o.ESTIMATES)

    def __post_init__(self) -> None:
        from bls.estimates import estimator
        from traces.base.time import MAX_NS, parse_duration_ns

        object.__setattr__(self, "backfill", str(self.backfill))
        self.depth  # noqa: B018 - an error here, not later
        if self.conservative is not None:
            o.CONSERVATIVE.check(self.conservative)
        o.ON_FAILURE.check(self.on_failure)
        o.COORDINATION.check(self.coordination)
        o.RESIZE.check(self.resized)
        o.MAX_ATTEMPTS.check(self.max_attempts)
        cost: object = self.decision_cost_ns
        if isinstance(cost, str):
            object.__setattr__(self, "decision_cost_ns", parse_duration_ns(cost, str(o.DECISION_COST)))
        if self.decision_cost_ns is not None:
            whole(str(o.DECISION_COST), self.decision_cost_ns, 0, MAX_NS)
        check(RULES, self)
        estimator(self.estimates)
        if self.switch_wait_ns is not None:
            whole("switch_wait_ns", self.switch_wait_ns, 0, MAX_NS)

    @property
    def depth(self) -> int:
        """How many jobs have a reservation at once."""
        if self.backfill in BACKFILL:
            from bls.engine.state import UNBOUNDED

            return {"none": 0, "easy": 1, "conservative": UNBOUNDED}[self.backfill]
        if re.fullmatch("[0-9]{1,18}", self.backfill) and int(self.backfill) <= _DEEPEST:
            return int(self.backfill)
        raise InputError(
            f"{o.BACKFILL}: {shown(self.backfill)}; allowed: {', '.join(BACKFILL)}, or a number of reservations, 0 to "
            f"{_DEEPEST}"
        )

    @property
    def waits_for_switches_ns(self) -> int | None:
        """How long a job waits for no more switches than it asks for; None: for ever."""
        return self.switch_wait_ns

    @property
    def releases(self) -> int:
        """What running jobs release, a value of ``Settings.releases``."""
        if self.coordination == "none":
            return int(Release.NO_RELEASES)
        return int(Release.BY_HOST if self.by_hosts else Release.BY_CORE)

    @property
    def resized(self) -> str:
        """When the widths of running jobs change; by default never."""
        return self.resize or o.RESIZE.default

    @property
    def resizing(self) -> int:
        """When the widths of running jobs change, a value of ``Settings.resizing``."""
        return int(Resize.NO_RESIZE) if self.molds else RESIZING.index(self.resized)

    @property
    def molds(self) -> bool:
        """Whether the head of the queue may start with another width than it asks for."""
        return self.resized == "mold"

    @property
    def evolves(self) -> bool:
        """Whether running jobs are given cores, or asked for some, as their applications request."""
        return self.resized == "evolve"

    @property
    def by_hosts(self) -> bool:
        """Whether running jobs release the cores of a host together."""
        return self.coordination.endswith(":host")

    @property
    def promised(self) -> bool:
        """Whether jobs are planned with what their applications promise."""
        from bls.estimates import Promised, estimator

        return isinstance(estimator(self.estimates), Promised)

    @property
    def hints(self) -> bool:
        """Whether running jobs receive which of their cores others wait for."""
        return self.coordination.startswith("hint")

    @property
    def keeps(self) -> bool:
        """Whether reservations are kept from pass to pass."""
        return self.backfill == "conservative" and self.conservative != "rebuild"

    @property
    def estimates_differ(self) -> bool:
        """Whether jobs are planned with other run times than their users requested."""
        from bls.estimates import ESTIMATORS, estimator

        return estimator(self.estimates) is not ESTIMATORS["requested"]

    def names(self) -> dict[str, Any]:
        """The rules as plain values, for a record of the run."""
        from bls.estimates import estimator

        plans = self.conservative or o.CONSERVATIVE.default
        return recorded(self) | {
            "conservative": plans,
            "resize": self.resized,
            "switch_wait_ns": self.waits_for_switches_ns,
            "estimates": estimator(self.estimates).name,
        }
