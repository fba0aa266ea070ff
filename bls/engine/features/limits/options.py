"""The options of power limits."""

from traces.base.options import Choice, Option, Panel

# fmt: off

LIMITS = Option[str | None](
    name="limits", panel=Panel.LIMITS, default=None, metavar="FILE",
    help="Power limits of the machine or of parts of it, and when they are known: CSV, from,to,limit_w[,where,reaction,notice]")
FALLBACK = Option(
    name="fallback", panel=Panel.LIMITS, default="none", metavar="HOW",
    help="How a power limit is kept: none (ignored); hold (jobs wait for power); submit:state=1 (jobs submitted under a "
    "limit run slower); dvfs (running jobs are slowed; dvfs:slow=fewest: as few as needed); stop:idle or stop:off (hosts stop)")
ALLOWED = Option(
    name="allowed", panel=Panel.LIMITS, default="all", metavar="JOBS",
    help="Jobs that may be slowed: none, all, a share such as 0.75 or 75%, users:3 17, or a CSV file")
POWER_ESTIMATES = Choice(
    name="power-estimates", panel=Panel.LIMITS, default="exact", choices=("exact", "platform", "last-two"),
    what="estimates of power", metavar="NAME",
    help="Job power that the scheduler plans with: exact, platform (typical power of the platform), or last-two (mean of the "
    "user's last two jobs)")
