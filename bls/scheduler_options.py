"""The rules of the batch level (backfilling, kills, failures, estimates, the cost of deciding) and the constraints of its jobs,
as a user declares them; ``bls.batch`` adds a policy and an allocator. A policy sees the rules only.

No large module is imported at the top, since the help of the command line is made from these fields.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bls import options as o
from bls.engine.codes import Release, Resize
from bls.engine.features.decisions.options import DECISION_COST, DECISIONS
from bls.engine.features.dependencies.options import DEPENDENCIES
from bls.engine.features.other_events.options import WINDOWS
from bls.engine.features.outages.options import FAILURES, MAX_ATTEMPTS, ON_FAILURE
from bls.engine.features.prediction.options import ESTIMATES
from bls.engine.features.releases.options import COORDINATION
from bls.engine.features.switches.options import SWITCHES
from bls.engine.features.widths.options import MALLEABLE, RESIZE
from traces.base.errors import InputError, parse_real, shown, whole
from traces.base.options import check_fields, holds, knows_its_keywords, recorded

if TYPE_CHECKING:
    from bls.estimates import AnyEstimator

#: The values of ``Settings.resizing``, in their order.
RESIZING = ("none", "expand", "shrink", "expand+shrink", "equal", "evolve", "decide")

#: Kinds of backfilling by their names in the literature, with one reservation or one for each job.
REBUILD = "conservative:rebuild"
BACKFILL = ("none", "easy", "conservative", REBUILD)

MEASURED = "measured"  #: the decision cost that is measured in each pass

_DEEPEST = 10**9
_LEAST, _MOST = 0.25, 2.0  #: default smallest and largest factor of the requested cores for malleable jobs of a share
_HIGHEST = 1e6  #: a factor larger than that of any machine


@knows_its_keywords
@dataclass(frozen=True)
class Rules:
    """Rules of the batch level. The defaults are those of the two-level paper: no backfilling, no job is killed. Raises
    InputError if a value is not allowed; the message names the option."""

    backfill: str = holds(o.BACKFILL)
    kill_at_walltime: bool = holds(o.KILL_AT_WALLTIME)
    on_failure: str = holds(ON_FAILURE)  #: treatment of a job that loses a host, or all its cores for good
    coordination: str = holds(COORDINATION)
    resize: str | None = holds(RESIZE, None)
    #: After this number of cuts of one job the simulation ends with an error; a job that lost all its cores has failed.
    max_attempts: int = holds(MAX_ATTEMPTS)
    #: Time of a decision, by which each start is delayed: in ns, as text such as ``50ms``, or ``measured``; None:
    #: starts are not delayed.
    decision_cost_ns: int | str | None = holds(DECISION_COST)
    keep_decisions: bool = holds(DECISIONS)  #: whether to keep a table of all decisions
    #: The longest time that a job waits for its requested number of switches; None: forever. ``switches`` may contain a time.
    switch_wait_ns: int | None = None
    estimates: str | AnyEstimator = holds(ESTIMATES)

    def __post_init__(self) -> None:
        from bls.estimates import estimator
        from traces.base.time import MAX_NS, parse_duration_ns

        object.__setattr__(self, "backfill", str(self.backfill))
        self.depth  # noqa: B018 - an error here, not later
        check_fields(self)
        if self.decision_cost_ns not in (None, MEASURED):
            cost: object = self.decision_cost_ns
            if isinstance(cost, str):
                try:
                    cost = parse_duration_ns(cost, str(DECISION_COST))
                except InputError as error:
                    raise InputError(f"{error.text}, or {MEASURED}") from None
            object.__setattr__(self, "decision_cost_ns", whole(str(DECISION_COST), cost, 0, MAX_NS))
        estimator(self.estimates)
        if self.switch_wait_ns is not None:
            object.__setattr__(self, "switch_wait_ns", whole("switch_wait_ns", self.switch_wait_ns, 0, MAX_NS))

    @property
    def depth(self) -> int:
        """Largest number of jobs with a reservation at once."""
        if self.backfill in BACKFILL:
            from bls.engine.state import UNBOUNDED

            return {"none": 0, "easy": 1}.get(self.backfill, UNBOUNDED)
        if re.fullmatch("[0-9]{1,18}", self.backfill) and int(self.backfill) <= _DEEPEST:
            return int(self.backfill)
        allowed = f"{', '.join(BACKFILL)}, or a number of reservations, 0 to {_DEEPEST}"
        raise InputError(f"{o.BACKFILL}: {shown(self.backfill)}; allowed: {allowed}")

    @property
    def waits_for_switches_ns(self) -> int | None:
        """The longest time that a job waits for its requested number of switches; None: forever."""
        return self.switch_wait_ns

    @property
    def stops_waiting(self) -> bool:
        """Whether jobs wait for their requested number of switches for a limited time only."""
        return self.waits_for_switches_ns is not None

    @property
    def releases(self) -> int:
        """Unit in which running jobs release cores, a value of ``Settings.releases``."""
        unit = Release.BY_HOST if self.by_hosts else Release.BY_CORE
        return int(Release.NO_RELEASES if self.coordination == "none" else unit)

    @property
    def resized(self) -> str:
        """When the widths of running jobs change; by default never."""
        return self.resize or RESIZE.default

    @property
    def resizing(self) -> int:
        """When the widths of running jobs change, a value of ``Settings.resizing``."""
        return int(Resize.NO_RESIZE) if self.molds else RESIZING.index(self.resized)

    @property
    def molds(self) -> bool:
        """Whether the head of the queue may start with another width than it requests."""
        return self.resized == "mold"

    @property
    def evolves(self) -> bool:
        """Whether running jobs are given cores, or must return some, as their applications request."""
        return self.resized == "evolve"

    @property
    def by_hosts(self) -> bool:
        """Whether running jobs release the cores of a host together."""
        return self.coordination.endswith(":host")

    @property
    def promised(self) -> bool:
        """Whether jobs are planned with the ends that their applications promise."""
        from bls.estimates import Promised, estimator

        return isinstance(estimator(self.estimates), Promised)

    @property
    def predicted(self) -> bool:
        """Whether a job's estimate is predicted when it arrives, from jobs that have ended."""
        from bls.estimates import HistoryEstimator, estimator

        return isinstance(estimator(self.estimates), HistoryEstimator)

    @property
    def hints(self) -> bool:
        """Whether running jobs receive hints about cores for which others wait."""
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

        return recorded(self) | {
            "resize": self.resized,
            "switch_wait_ns": self.waits_for_switches_ns,
            "estimates": estimator(self.estimates).name,
        }


@knows_its_keywords
@dataclass(frozen=True, kw_only=True)
class ConstraintOptions:
    """Constraints of jobs in the user's form; each is declared with its feature."""

    memory: str = holds(o.MEMORY)
    requests: str | os.PathLike[str] | None = holds(o.REQUESTS)
    windows: str | os.PathLike[str] | None = holds(WINDOWS)
    failures: str | None = holds(FAILURES)
    dependencies: bool = holds(DEPENDENCIES)
    switches: int | str | None = holds(SWITCHES)
    malleable: str | os.PathLike[str] | None = holds(MALLEABLE)

    def __post_init__(self) -> None:
        check_fields(self)
        if self.switches is not None:
            switch_limit(self.switches)
        if isinstance(self.malleable, str):
            share_of(self.malleable)

    def names(self) -> dict[str, Any]:
        """The options as plain values, for a record of the run."""
        return recorded(self)


def switch_limit(text: int | str) -> tuple[int, int | None]:
    """``1@2h`` as a number of switches and the longest wait for them, ns (None: no limit). Raises InputError otherwise."""
    number, at, wait = str(text).partition("@")
    if not re.fullmatch("[0-9]{1,18}", number) or not 0 < int(number) < 2**24 or bool(at) != bool(wait):
        raise InputError(
            f"{SWITCHES}: {shown(text)}; allowed: a number of switches from 1, as 1, or with a time, as 1@2h"
        )
    from traces.base.time import parse_duration_ns

    return int(number), parse_duration_ns(wait, str(SWITCHES)) if at else None


def share_of(text: str) -> tuple[float, float, float] | None:
    """``0.5`` or ``0.5:0.25:2`` as a share of the jobs, and the smallest and largest factor of their requested cores; None for
    another form, which is the name of a file. Raises InputError if its numbers are out of range."""
    try:
        numbers = [parse_real(part) for part in text.split(":")]
    except ValueError:
        return None
    if len(numbers) > 3:
        return None
    share, least, most = (*numbers, *(_LEAST, _MOST)[len(numbers) - 1 :])
    if not (0 < share <= 1 and 0 < least <= 1 <= most <= _HIGHEST):
        raise InputError(
            f"{MALLEABLE}: {shown(text)}; allowed: SHARE above 0 up to 1, or SHARE:MIN:MAX with MIN above 0 up to 1 and "
            f"MAX from 1 to {_HIGHEST:g} times the cores that a job requests, as 0.5:0.25:2; or a CSV file"
        )
    return share, least, most
