"""How the batch level behaves beside its policy and its allocator: backfilling, kills, failures, the cost of deciding."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Any

from bls import options as o
from bls.engine.state import BY_CORE, BY_HOST, NO_RELEASES, NO_RESIZE, UNBOUNDED
from bls.estimates import ESTIMATORS, AnyEstimator, estimator
from traces.base.errors import InputError, shown
from traces.base.ranges import whole
from traces.base.time import MAX_NS

#: The values of ``Settings.resizing``, in their order.
RESIZING = ("none", "expand", "shrink", "expand+shrink", "equal", "evolve", "decide")

#: Depth of reservations by the name that the literature gives it.
BACKFILL = {"none": 0, "easy": 1, "conservative": UNBOUNDED}

_DEEPEST = 10**9


@dataclass(frozen=True)
class Rules:
    """Rules of the batch level. The defaults are those of the two-level paper: no backfilling, nobody is killed.

    Attributes
    ----------
    backfill : str
        ``none``, ``easy``, ``conservative``, or how many jobs have a reservation at once, as ``4``.
    conservative : {"keep", "rebuild"}
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
    resize : {"none", "mold", "expand", "shrink", "expand+shrink", "equal", "evolve", "decide"}
        When running jobs whose width may change are given cores, or asked for some: when nobody waits, when the head of the
        queue lacks cores, both, so that all have as many, or as they wish (``bls.engine.features.running.widths``); or
        ``mold``: only the head of the queue, as it starts (``bls.engine.features.planning.molding``).
    max_attempts : int
        A job that was cut so often ends the simulation with an error; if it was because its cores were all lost, it has
        failed.
    charge_decisions : bool
        Whether jobs start only after the time that it took to decide so.
    decision_cost_ns : int or None
        What a decision takes; None is what was measured. Needs ``charge_decisions``.
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

    backfill: str = o.BACKFILL.default
    conservative: str = o.CONSERVATIVE.default
    kill_at_walltime: bool = o.KILL_AT_WALLTIME.default
    on_failure: str = o.ON_FAILURE.default
    coordination: str = o.COORDINATION.default
    resize: str = o.RESIZE.default
    max_attempts: int = o.MAX_ATTEMPTS.default
    charge_decisions: bool = o.CHARGE_DECISIONS.default
    decision_cost_ns: int | None = None
    keep_decisions: bool = False
    switch_wait_ns: int | None = None
    estimates: str | AnyEstimator = o.ESTIMATES.default

    def __post_init__(self) -> None:
        object.__setattr__(self, "backfill", str(self.backfill))
        self.depth  # noqa: B018 - an error here, not later
        o.CONSERVATIVE.check(self.conservative)
        o.ON_FAILURE.check(self.on_failure)
        o.COORDINATION.check(self.coordination)
        o.RESIZE.check(self.resize)
        o.MAX_ATTEMPTS.check(self.max_attempts)
        if self.decision_cost_ns is not None:
            whole(str(o.DECISION_COST), self.decision_cost_ns, 0, MAX_NS)
            if not self.charge_decisions:
                raise InputError(f"{o.DECISION_COST}: needs {o.CHARGE_DECISIONS}")
        estimator(self.estimates)
        if self.switch_wait_ns is not None:
            whole("switch_wait_ns", self.switch_wait_ns, 0, MAX_NS)

    @property
    def depth(self) -> int:
        """How many jobs have a reservation at once."""
        if self.backfill in BACKFILL:
            return BACKFILL[self.backfill]
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
            return NO_RELEASES
        return BY_HOST if self.coordination.endswith(":host") else BY_CORE

    @property
    def resizing(self) -> int:
        """When the widths of running jobs change, a value of ``Settings.resizing``."""
        return NO_RESIZE if self.molds else RESIZING.index(self.resize)

    @property
    def molds(self) -> bool:
        """Whether the head of the queue may start with another width than it asks for."""
        return self.resize == "mold"

    @property
    def evolves(self) -> bool:
        """Whether running jobs are given cores, or asked for some, as their applications wish."""
        return self.resize == "evolve"

    @property
    def hints(self) -> bool:
        """Whether running jobs are told for which of their cores others wait."""
        return self.coordination.startswith("hint")

    @property
    def keeps(self) -> bool:
        """Whether reservations are kept from pass to pass."""
        return self.depth == UNBOUNDED and self.conservative == "keep"

    @property
    def estimates_differ(self) -> bool:
        """Whether jobs are planned with something else than what their users asked for."""
        return estimator(self.estimates) is not ESTIMATORS["requested"]

    def names(self) -> dict[str, Any]:
        """The rules as plain values, for a record of the run."""
        values = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return values | {"estimates": estimator(self.estimates).name}
