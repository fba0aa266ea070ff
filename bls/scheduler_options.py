"""How the batch level behaves, as a user declares it: policy, allocator, backfilling, kills, failures, the cost of deciding.

Nothing heavy is imported at the top: the help of the command line is made of these fields.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bls import options as o
from bls.conflicts import RULES
from bls.constraints.options import ConstraintOptions, switch_limit
from bls.engine.codes import Release, Resize
from traces.base.conflicts import check
from traces.base.declaration import holds, plain, recorded
from traces.base.errors import InputError, shown
from traces.base.ranges import whole

if TYPE_CHECKING:
    from bls.allocators import Allocator
    from bls.estimates import AnyEstimator
    from bls.policies import AnyPolicy

#: The values of ``Settings.resizing``, in their order.
RESIZING = ("none", "expand", "shrink", "expand+shrink", "equal", "evolve", "decide")

#: The names that the literature gives depths of reservations: none, one, and one for each job.
BACKFILL = ("none", "easy", "conservative")

_DEEPEST = 10**9


@dataclass(frozen=True)
class Rules:
    """Rules of the batch level. The defaults are those of the two-level paper: no backfilling, nobody is killed.

    Attributes
    ----------
    backfill : str
        ``none``, ``easy``, ``conservative``, or how many jobs have a reservation at once, as ``4``.
    conservative : {"keep", "rebuild"}, optional
        Whether a reservation without bound of depth is kept from pass to pass and only ever moved earlier, or the
        plan is made anew in every pass.
    kill_at_walltime : bool
        Whether a job is killed when it has run for its request.
    on_failure : {"requeue", "lose"}
        What becomes of a job that loses a host, or all its cores for good.
    coordination : {"none", "release", "release:core", "release:host", "hint", "hint:core", "hint:host"}
        Whether running jobs release what they need no more: each core as it falls idle for good (``release``,
        ``release:core``), or a host's cores with the last of them; with ``hint`` they do, and are told for which of their cores
        the head of the queue waits, or what a policy that decides says.
    resize : {"none", "mold", "expand", "shrink", "expand+shrink", "equal", "evolve", "decide"}, optional
        When running jobs whose width may change are given cores, or asked for some: when nobody waits, when the head of the
        queue lacks cores, both, so that all have as many, or as they wish (``bls.engine.features.running.widths``); or
        ``mold``: only the head of the queue, as it starts (``bls.engine.features.planning.molding``).
    max_attempts : int
        A job that was cut so often ends the simulation with an error; if it was because its cores were all lost, it has
        failed.
    charge_decisions : bool
        Whether jobs start only after the time that it took to decide so.
    decision_cost_ns : int, str or None
        What a decision takes, in ns, or as ``50ms``; None is what was measured. Needs ``charge_decisions``.
    keep_decisions : bool
        Whether there is a table of all decisions.
    switch_wait_ns : int or None
        How long a job waits for no more switches than it asks for; None is for ever.
    estimates : str or estimator
        Who says how long the scheduler thinks that jobs run (``bls.estimates``).

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
    def releases(self) -> int:
        """What running jobs release, a value of ``Settings.releases``."""
        if self.coordination == "none":
            return int(Release.NO_RELEASES)
        return int(Release.BY_HOST if self.by_hosts else Release.BY_CORE)

    @property
    def resized(self) -> str:
        """When the widths of running jobs change, where nothing is said as by default."""
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
        """Whether running jobs are given cores, or asked for some, as their applications wish."""
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
        """Whether running jobs are told for which of their cores others wait."""
        return self.coordination.startswith("hint")

    @property
    def keeps(self) -> bool:
        """Whether reservations are kept from pass to pass."""
        return self.backfill == "conservative" and self.conservative != "rebuild"

    @property
    def estimates_differ(self) -> bool:
        """Whether jobs are planned with something else than what their users asked for."""
        from bls.estimates import ESTIMATORS, estimator

        return estimator(self.estimates) is not ESTIMATORS["requested"]

    def names(self) -> dict[str, Any]:
        """The rules as plain values, for a record of the run."""
        from bls.estimates import estimator

        plans = self.conservative or o.CONSERVATIVE.default
        return recorded(self) | {
            "conservative": plans,
            "resize": self.resized,
            "estimates": estimator(self.estimates).name,
        }


@dataclass(frozen=True)
class Batch(Rules, ConstraintOptions):
    """Who decides at the batch level, by which rules, and what constrains its jobs.

    Attributes
    ----------
    policy : str or policy, optional
        A batch policy, or the class of one that decides: ``fcfs``, ``sjf``, ``wfp3``, ``expr:w/t``, ``FILE.py:NAME`` or an
        installed one (``bls.policies``). None: ``fcfs``, or the program of ``bls_command``.
    slack : float
        EDF's deadline is submit + slack × estimate.
    allocator : str or Allocator
        ``first-fit``, ``best-fit`` …, ``given``, ``FILE.py:NAME`` or an installed one (``bls.allocators``).

    Raises
    ------
    InputError
        If a value is not allowed; the message names the option.
    """

    policy: str | AnyPolicy | None = holds(o.BLS, None)
    slack: float = holds(o.SLACK)
    allocator: str | Allocator = holds(o.ALLOCATOR)

    def __post_init__(self) -> None:
        Rules.__post_init__(self)
        ConstraintOptions.__post_init__(self)
        object.__setattr__(self, "slack", o.SLACK.check(self.slack))
        if self.switches is not None:
            object.__setattr__(self, "switch_wait_ns", switch_limit(self.switches)[1])

    @property
    def resized(self) -> str:
        """When the widths of running jobs change; by default ``expand+shrink`` if jobs are malleable."""
        return self.resize or (o.RESIZE.default if self.malleable is None else o.RESIZED)

    @property
    def decides(self) -> str | AnyPolicy:
        """The policy, or what is one by default."""
        return o.BLS.default if self.policy is None else self.policy

    def names(self) -> dict[str, Any]:
        """The options as plain values, for a record of the run."""
        return Rules.names(self) | {"bls": plain(self.decides)}
