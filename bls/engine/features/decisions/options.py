"""The options of the time that decisions take, and of their records; their conflicts."""

from dataclasses import dataclass
from typing import Final

from bls.engine.features.core_choices import DIRECTS, REPEATS, STREAMED, unaware
from traces.base.errors import InputError, whole
from traces.base.options import Conflict, Option, Panel, has, holds

MEASURED = "measured"  #: the decision cost that is measured in each pass


def _cost(given: object) -> object:
    from traces.base.time import MAX_NS, parse_duration_ns
    if given == MEASURED:
        return given
    try:
        cost: object = parse_duration_ns(given, str(DECISION_COST)) if isinstance(given, str) else given
    except InputError as error:
        raise InputError(f"{error.text}, or {MEASURED}") from None
    return whole(str(DECISION_COST), cost, 0, MAX_NS)


DECISION_COST = Option[str | None](
    name="decision-cost", python="decision_cost_ns", panel=Panel.BATCH, default=None, metavar="TIME", checked=_cost,
    help="Delay each start by the time of the decision: measured, or a fixed time, e.g. 50ms (a bare number is s)")
DECISIONS = Option(
    name="decisions", first=True, python="keep_decisions", panel=Panel.RESULTS, default=False,
    help="Also write decisions.parquet, one row per scheduling pass")


@dataclass(frozen=True, kw_only=True)
class DecisionRules:
    """The time that decisions take, and their records."""

    #: Time of a decision, by which each start is delayed: in ns, as text such as ``50ms``, or ``measured``; None:
    #: starts are not delayed.
    decision_cost_ns: int | str | None = holds(DECISION_COST)
    keep_decisions: bool = holds(DECISIONS)  #: whether to keep a table of all decisions

    @property
    def charges_decisions(self) -> bool:
        """Whether starts are delayed by the time of the decision."""
        return self.decision_cost_ns is not None


CHARGES: Final = has(str(DECISION_COST), lambda one: one.rules.charges_decisions, decision_cost_ns="measured")
_KEPT: Final = has(str(DECISIONS), lambda one: one.rules.keep_decisions, keep_decisions=True)

RUN: Final[tuple[Conflict, ...]] = (
    Conflict(
        CHARGES, DIRECTS, reason="{second} directs running jobs, which takes no time",
        allowed="policies that only start jobs"),
)

UNAWARE: Final = (unaware("decision costs", CHARGES, f"no {DECISION_COST}"),)
FAIR_START: Final = (
    Conflict(REPEATS, has(
        f"{DECISION_COST:measured}", lambda one: one.rules.decision_cost_ns == "measured", decision_cost_ns="measured",
    ), reason=f"with {{second}} no run can be repeated; give a time, as {DECISION_COST:50ms}"),
)
STREAM: Final = (Conflict(STREAMED, _KEPT, reason="{second}: the table of all passes is in memory"),)
