"""The option of the run times that the scheduler plans with, and its conflicts."""

from typing import Final

from bls.engine.features.core_choices import DIRECTS, STREAMED, unaware
from traces.base.options import Conflict, Option, Panel, has

ESTIMATES = Option(
    name="estimates", first=True, panel=Panel.BATCH, names="bls.estimates:ESTIMATORS", default="requested", metavar="NAME",
    help="Run times that the scheduler plans with: requested, exact, within:X%, last-two, profile, data-driven, application, "
    "or FILE.py:NAME")

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
