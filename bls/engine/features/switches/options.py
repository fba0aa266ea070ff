"""The option of jobs that wait for few switches."""

from traces.base.options import Option, Panel

SWITCHES = Option[str | None](
    name="switches", panel=Panel.BATCH, default=None, metavar="N[@TIME]",
    help="Place each job on at most N leaf switches; wait for them at most TIME")
