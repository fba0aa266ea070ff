"""The options of hosts that fail, and of the jobs that lose them."""

from traces.base.options import Choice, Option, Panel, Whole

# fmt: off

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
