"""The options of hosts that fail, and of the jobs that lose them; their conflicts."""

from dataclasses import dataclass
from typing import Final

from bls.engine.features.core_choices import DECIDES, STREAMED, bls_text, unaware
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
UNDRAINED: Final = "hosts cannot be drained with {second}"
_FAILS: Final = has(
    str(FAILURES), lambda run: run.constraints.outages is not None, "hosts that fail", failures="fails.csv")

RUN: Final = (
    # An overdue job with cores only on such a host would be planned to return its licences.
    Conflict(
        DRAINS, has(f"{REQUESTS} of licences", lambda run: run.asks("licences"), "licences", requests="licences.csv"),
        reason=UNDRAINED, allowed="state down"),
)

UNAWARE: Final = (unaware("failures", _FAILS, f"no {FAILURES}"),)
STREAM: Final = (
    Conflict(STREAMED, has(
        f"{FAILURES}, and {DECIDES.name}", lambda one: one.decides and _FAILS.found(one),
        lambda one: f"{FAILURES} with {bls_text(one)}", bls="DECIDES", failures="fails.csv",
    ), reason="{second}: it decides in Python", allowed="a compiled policy"),
    Conflict(STREAMED, DRAINS, reason="{second}: hosts cannot be drained", allowed="state down"),
)
