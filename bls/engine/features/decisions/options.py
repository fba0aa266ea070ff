"""The options of the time that decisions take, and of their records; what that time conflicts with."""

from typing import Final

from bls.engine.features.core_choices import DIRECTS
from traces.base.options import Conflict, Option, Panel, has

DECISION_COST = Option[str | None](
    name="decision-cost", python="decision_cost_ns", panel=Panel.BATCH, default=None, metavar="TIME",
    help="Delay each start by the time of the decision: measured, or a fixed time, e.g. 50ms (a bare number is s)")
DECISIONS = Option(
    name="decisions", first=True, python="keep_decisions", panel=Panel.RESULTS, default=False,
    help="Also write decisions.parquet, one row per scheduling pass")

CHARGES: Final = has(str(DECISION_COST), lambda one: one.rules.charges_decisions, decision_cost_ns="measured")

RUN: Final[tuple[Conflict, ...]] = (
    Conflict(
        CHARGES, DIRECTS, reason="{second} directs running jobs, which takes no time",
        allowed="policies that only start jobs"),
)
