"""The option of jobs that wait for others, and their conflicts."""

from typing import Final

from bls.engine.features.core_choices import REPEATS, unaware
from traces.base.options import Conflict, Option, Panel, has

DEPENDENCIES = Option(
    name="dependencies", panel=Panel.CONSTRAINTS, default=False,
    help="Start jobs after their preceding job and think time (SWF fields 17 and 18)")

_WAITS: Final = has(
    str(DEPENDENCIES), lambda run: run.waiting >= 0, lambda run: f"job {run.waiting} waits for another", dependencies=True,
    several=True)
_SEVERAL: Final = has(
    f"{DEPENDENCIES} on several jobs",
    lambda run: run.constraints.dependencies is not None and run.constraints.dependencies.several,
    "jobs that wait for several others", dependencies=True, several=True)

UNAWARE: Final = (unaware("dependencies", _WAITS, f"no {DEPENDENCIES}"),)
REPEATED: Final = (
    Conflict(REPEATS, _SEVERAL, "as a repeated part of a run keeps one preceding job only", "one preceding job each"),
)
