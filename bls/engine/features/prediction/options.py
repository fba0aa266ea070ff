"""The option of the run times that the scheduler plans with, and what promised ends conflict with."""

from typing import Final

from bls.engine.features.core_choices import DIRECTS
from traces.base.options import Conflict, Option, Panel, has

ESTIMATES = Option(
    name="estimates", first=True, panel=Panel.BATCH, names="bls.estimates:ESTIMATORS", default="requested", metavar="NAME",
    help="Run times that the scheduler plans with: requested, exact, within:X%, last-two, profile, data-driven, application, "
    "or FILE.py:NAME")

PROMISED: Final = has(f"{ESTIMATES:application}", lambda one: one.rules.promised, estimates="application")

RUN: Final[tuple[Conflict, ...]] = (
    Conflict(
        PROMISED, DIRECTS, reason="{second} directs running jobs, which invalidates what they have promised",
        allowed="other estimates"),
)
