"""Rules of the batch level: backfilling, kills, failures, estimates, the cost of deciding.

Nothing heavy is imported at the top: the help of the command line is made of these fields.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bls import options as o
from bls.engine.codes import Release, Resize
from traces.base.errors import InputError, shown, whole
from traces.base.options import holds, knows_its_keywords, recorded

if TYPE_CHECKING:
    from bls.estimates import AnyEstimator

#: The values of ``Settings.resizing``, in their order.
RESIZING = ("none", "expand", "shrink", "expand+shrink", "equal", "evolve", "decide")

#: Kinds of backfilling by their names in the literature, with one reservation or one for each job.
REBUILD = "conservative:rebuild"
BACKFILL = ("none", "easy", "conservative", REBUILD)

MEASURED = "measured"  #: the decision cost that is measured in each pass

_DEEPEST = 10**9


@knows_its_keywords
@dataclass(frozen=True)
class Rules:
    """Rules of the batch level. The defaults are those of the two-level paper: no backfilling, no job is killed. Raises
    InputError if a value is not allowed; the message names the option."""

    backfill: str = holds(o.BACKFILL)
    kill_at_walltime: bool = holds(o.KILL_AT_WALLTIME)
    on_failure: str = holds(o.ON_FAILURE)  #: treatment of a job that loses a host, or all its cores for good
    coordination: str = holds(o.COORDINATION)
    resize: str | None = holds(o.RESIZE, None)
    #: After this number of cuts of one job the simulation ends with an error; a job that lost all its cores has failed.
    max_attempts: int = holds(o.MAX_ATTEMPTS)
    #: Time of a decision, by which each start is delayed: in ns, as text such as ``50ms``, ``measured``, or None: not.
    decision_cost_ns: int | str | None = holds(o.DECISION_COST)
    keep_decisions: bool = holds(o.DECISIONS)  #: whether to keep a table of all decisions
    #: How long a job waits for no more switches than it asks for; None: for ever. ``switches`` has a time of its own.
    switch_wait_ns: int | None = None
    estimates: str | AnyEstimator = holds(o.ESTIMATES)

    def __post_init__(self) -> None:
        from bls.estimates import estimator
        from traces.base.time import MAX_NS, parse_duration_ns

        object.__setattr__(self, "backfill", str(self.backfill))
        self.depth  # noqa: B018 - an error here, not later
        o.ON_FAILURE.check(self.on_failure)
        o.COORDINATION.check(self.coordination)
        o.RESIZE.check(self.resized)
        o.MAX_ATTEMPTS.check(self.max_attempts)
        if self.decision_cost_ns not in (None, MEASURED):
            cost: object = self.decision_cost_ns
            if isinstance(cost, str):
                try:
                    cost = parse_duration_ns(cost, str(o.DECISION_COST))
                except InputError as error:
                    raise InputError(f"{error.text}, or {MEASURED}") from None
            object.__setattr__(self, "decision_cost_ns", whole(str(o.DECISION_COST), cost, 0, MAX_NS))
        estimator(self.estimates)
        if self.switch_wait_ns is not None:
            whole("switch_wait_ns", self.switch_wait_ns, 0, MAX_NS)

    @property
    def depth(self) -> int:
        """How many jobs have a reservation at once."""
        if self.backfill in BACKFILL:
            from bls.engine.state import UNBOUNDED

            return {"none": 0, "easy": 1}.get(self.backfill, UNBOUNDED)
        if re.fullmatch("[0-9]{1,18}", self.backfill) and int(self.backfill) <= _DEEPEST:
            return int(self.backfill)
        allowed = f"{', '.join(BACKFILL)}, or a number of reservations, 0 to {_DEEPEST}"
        raise InputError(f"{o.BACKFILL}: {shown(self.backfill)}; allowed: {allowed}")

    @property
    def waits_for_switches_ns(self) -> int | None:
        """How long a job waits for no more switches than it asks for; None: for ever."""
        return self.switch_wait_ns

    @property
    def releases(self) -> int:
        """Unit in which running jobs release cores, a value of ``Settings.releases``."""
        unit = Release.BY_HOST if self.by_hosts else Release.BY_CORE
        return int(Release.NO_RELEASES if self.coordination == "none" else unit)

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
    def predicted(self) -> bool:
        """Whether a job's estimate is predicted when it arrives, from jobs that have ended."""
        from bls.estimates import HistoryEstimator, estimator

        return isinstance(estimator(self.estimates), HistoryEstimator)

    @property
    def hints(self) -> bool:
        """Whether running jobs receive which of their cores others wait for."""
        return self.coordination.startswith("hint")

    @property
    def keeps(self) -> bool:
        """Whether reservations are kept from pass to pass."""
        return self.backfill == "conservative"

    @property
    def charges_decisions(self) -> bool:
        """Whether starts are delayed by the time of the decision."""
        return self.decision_cost_ns is not None

    @property
    def estimates_differ(self) -> bool:
        """Whether jobs are planned with other run times than their users requested."""
        from bls.estimates import ESTIMATORS, estimator

        return estimator(self.estimates) is not ESTIMATORS["requested"]

    def names(self) -> dict[str, Any]:
        """The rules as plain values, for a record of the run."""
        from bls.estimates import estimator

        found = {"resize": self.resized, "switch_wait_ns": self.waits_for_switches_ns}
        return recorded(self) | found | {"estimates": estimator(self.estimates).name}
