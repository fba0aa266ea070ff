"""The options of the time that decisions take, and their records."""

from traces.base.options import Option, Panel

# fmt: off

DECISION_COST = Option[str | None](
    name="decision-cost", python="decision_cost_ns", panel=Panel.BATCH, default=None, metavar="TIME",
    help="Delay each start by the time of the decision: measured, or a fixed time, e.g. 50ms (a bare number is s)")
DECISIONS = Option(
    name="decisions", first=True, python="keep_decisions", panel=Panel.RESULTS, default=False,
    help="Also write decisions.parquet, one row per scheduling pass")
