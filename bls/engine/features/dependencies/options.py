"""The option of jobs that wait for others."""

from traces.base.options import Option, Panel

DEPENDENCIES = Option(
    name="dependencies", panel=Panel.CONSTRAINTS, default=False,
    help="Start jobs after their preceding job and think time (SWF fields 17 and 18)")
