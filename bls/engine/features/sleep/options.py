"""The options of hosts that fall asleep."""

from traces.base.options import Option, Panel, Whole

# fmt: off

SLEEP_AFTER = Option[str | None](
    name="sleep-after", python="sleep_after_ns", panel=Panel.POWER, default=None, metavar="TIME",
    help="Shut down hosts that have been idle for this time; they boot when a job is placed on them")
KEEP_AWAKE = Whole(
    name="keep-awake", panel=Panel.POWER, default=0, lowest=0, highest=10**9, metavar="N",
    help="Number of idle hosts that stay awake")
