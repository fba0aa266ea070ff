"""The option of the run times that the scheduler plans with, and its conflicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bls.engine.features.core_choices import DIRECTS, STREAMED, unaware
from traces.base.options import Conflict, Option, Panel, has, holds

if TYPE_CHECKING:
    from bls.estimates import AnyEstimator

def _known(given: Any) -> Any:
    from bls.estimates import estimator
    estimator(given)
    return given


ESTIMATES = Option(
    name="estimates", first=True, panel=Panel.BATCH, names="bls.estimates:ESTIMATORS", default="requested", metavar="NAME",
    checked=_known,
    help="Run times that the scheduler plans with: requested, exact, within:X%, last-two, profile, data-driven, application, "
    "or FILE.py:NAME")


@dataclass(frozen=True, kw_only=True)
class EstimateRules:
    """The run times that the scheduler plans with."""

    estimates: str | AnyEstimator = holds(ESTIMATES, recorded="estimator")

    @property
    def estimator(self) -> AnyEstimator:
        """The source of these run times."""
        from bls.estimates import estimator
        return estimator(self.estimates)

    @property
    def promised(self) -> bool:
        """Whether jobs are planned with the ends that their applications promise."""
        from bls.estimates import Promised
        return isinstance(self.estimator, Promised)

    @property
    def predicted(self) -> bool:
        """Whether a job's estimate is predicted when it arrives, from jobs that have ended."""
        from bls.estimates import HistoryEstimator
        return isinstance(self.estimator, HistoryEstimator)

    @property
    def estimates_differ(self) -> bool:
        """Whether jobs are planned with other run times than their users requested."""
        from bls.estimates import ESTIMATORS
        return self.estimator is not ESTIMATORS["requested"]


PROMISED: Final = has(f"{ESTIMATES:application}", lambda one: one.rules.promised, estimates="application")
_DIFFER: Final = has(
    f"{ESTIMATES} except requested", lambda run: run.rules.estimates_differ, str(ESTIMATES), estimates="exact")

RUN: Final[tuple[Conflict, ...]] = (
    Conflict(
        PROMISED, DIRECTS, reason="{second} directs running jobs, which invalidates what they have promised",
        allowed="other estimates"),
)

UNAWARE: Final = (unaware("estimates", _DIFFER, f"{ESTIMATES:requested}"),)
STREAM: Final = (
    Conflict(
        STREAMED, has(f"{ESTIMATES} of a history", lambda one: one.rules.predicted, str(ESTIMATES), estimates="last-two"),
        reason="{second}: predictions need all jobs that have ended", allowed="estimates without a history"),
)
