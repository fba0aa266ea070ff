"""The options of hosts that fail, and of the jobs that lose them; what drained hosts conflict with."""

from dataclasses import dataclass
from typing import Final

from bls.engine.features.limits.options import FALLBACK, LIMITS
from bls.engine.features.releases.options import COORDINATION, coordination_text
from bls.engine.features.sleep.options import SLEEP_AFTER, sleeps
from bls.engine.features.widths.options import CHANGES, resize_text
from bls.options import REQUESTS
from traces.base.options import Choice, Conflict, Option, Panel, Whole, has, holds

FAILURES = Option[str | None](
    name="failures", panel=Panel.CONSTRAINTS, default=None, metavar="WHAT",
    help="Hosts that fail or are drained: a CSV file, or a model such as mtbf:30d,mttr:4h")
ON_FAILURE = Choice(
    name="on-failure", panel=Panel.CONSTRAINTS, default="requeue", choices=("requeue", "lose"),
    what="treatment", metavar="HOW",
    help="What happens to jobs that lose a host or all their cores: requeue, or lose (they fail)")
MAX_ATTEMPTS = Whole(
    name="max-attempts", panel=Panel.CONSTRAINTS, default=1000, lowest=1, highest=10**9, metavar="N",
    help="Stop the run when a job has been interrupted this many times")


@dataclass(frozen=True, kw_only=True)
class FailureRules:
    """The treatment of jobs whose hosts fail."""

    on_failure: str = holds(ON_FAILURE)  #: treatment of a job that loses a host, or all its cores for good
    #: After this number of cuts of one job the simulation ends with an error; a job that lost all its cores has failed.
    max_attempts: int = holds(MAX_ATTEMPTS)


DRAINS: Final = has(
    f"{FAILURES} with drained hosts", lambda run: run.constraints.drains, str(FAILURES), failures="drains.csv")
_LICENCES: Final = has(
    f"{REQUESTS} of licences", lambda run: run.asks("licences"), "licences", requests="licences.csv")
_BESIDE: Final = "hosts cannot be drained with {second}"

RUN: Final[tuple[Conflict, ...]] = (
    Conflict(DRAINS, has(
        f"{LIMITS} with a {FALLBACK}, or {SLEEP_AFTER}", lambda run: run.limits is not None or sleeps(run.power),
        "limits to power, or hosts that sleep", sleep_after_ns=5,
    ), reason=_BESIDE, allowed="state down"),
    # An overdue job with cores only on such a host would be planned to return its licences.
    Conflict(DRAINS, _LICENCES, reason=_BESIDE, allowed="state down"),
)
COORDINATED: Final = Conflict(DRAINS, has(
    f"{CHANGES.name}, or {COORDINATION} except none", lambda run: run.rules.resizing or run.rules.releases,
    lambda run: resize_text(run) if run.rules.resizing else coordination_text(run), coordination="release",
), reason=_BESIDE, allowed="state down")
