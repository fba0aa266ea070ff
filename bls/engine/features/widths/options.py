"""The options of jobs whose width may change."""

from traces.base.options import Choice, Option, Panel

# fmt: off

MALLEABLE = Option[str | None](
    name="malleable", panel=Panel.CONSTRAINTS, default=None, metavar="WHICH",
    help="Jobs whose width may change: SHARE[:MIN[:MAX]], e.g. 0.5:0.25:2 for half of the jobs, from 0.25 to 2 times their "
    "requested cores; or a CSV file")
RESIZED = "expand+shrink"  #: when running malleable jobs are given cores, or must return some, by default
RESIZE = Choice(
    name="resize", panel=Panel.CONSTRAINTS, default="none", what="change of widths",
    choices=("none", "mold", "expand", "shrink", RESIZED, "equal", "evolve", "decide"), metavar="WHEN",
    help="When the width of malleable jobs changes: none; mold (at the start); expand (when the queue is empty), shrink "
    f"(when its head lacks cores), {RESIZED}; equal (shares of equal size); evolve (on request of the application); decide "
    "(by a batch policy in Python, or a scheduler)",
    rule=f"none, or {RESIZED} with {MALLEABLE}")
