"""The life of a job, or of one attempt at it: the states it can be in, and one table of how it comes from each to the next.

What is not in the table cannot happen: the checks of the engine and of every result read it. The words are those of ``story``,
and the picture of ``docs/reference/batch.md`` is drawn from it (``tools.pictures``).
"""

from enum import IntEnum, StrEnum
from typing import Final, NamedTuple


class Reason(IntEnum):
    """Why a job started when it did: ``JobRecords.why``."""

    HEAD = 0
    BACKFILL = 1
    RESERVED = 2
    PRESET = 3
    NEVER = 4


class Ending(IntEnum):
    """What became of a job, or of one attempt at it: ``JobRecords.state``."""

    COMPLETED = 0
    KILLED = 1
    CANCELLED = 2
    FAILED = 3
    REQUEUED = 4
    REJECTED = 5


class Stage(StrEnum):
    """Where a job is that has not left: still to come, in the queue since it became eligible, or holding cores."""

    COMING = "coming"
    WAITING = "waiting"
    RUNNING = "running"


class Step(NamedTuple):
    """How a job comes from one state to the next."""

    before: Stage | Ending
    event: Reason | str  # what happens to it; where it starts, why
    after: Stage | Ending  # a job that was requeued waits again as its next attempt, which has a row of its own
    words: str  # what is said of it
    # the same where there is a reason, of a policy or of cores that were lost, which is put in place of the braces
    because: str = ""


# fmt: off
LIFE: Final = (
    Step(Stage.COMING, "becomes eligible", Stage.WAITING, "eligible"),
    Step(Stage.COMING, "is withdrawn", Ending.CANCELLED, "withdrawn before it was eligible"),
    Step(Stage.WAITING, "is withdrawn", Ending.CANCELLED, "never started: withdrawn by its user"),
    Step(Stage.WAITING, "is turned away", Ending.REJECTED,
         "rejected: the policy rejects jobs that cannot start at once", "rejected by the policy: {}"),
    Step(Stage.WAITING, Reason.HEAD, Stage.RUNNING,
         "as the head of the queue"),
    Step(Stage.WAITING, Reason.BACKFILL, Stage.RUNNING,
         "by backfilling, ahead of waiting jobs"),
    Step(Stage.WAITING, Reason.RESERVED, Stage.RUNNING,
         "at its reservation (it had been at the head of the queue)"),
    Step(Stage.WAITING, Reason.PRESET, Stage.RUNNING, "at once: it runs when the selected window begins"),
    Step(Stage.RUNNING, "ends by itself", Ending.COMPLETED, "completed"),
    Step(Stage.RUNNING, "reaches its walltime", Ending.KILLED,
         "killed at its walltime"),
    Step(Stage.RUNNING, "is cancelled", Ending.CANCELLED, "cancelled by its user", "cancelled: {}"),
    Step(Stage.RUNNING, "loses cores", Ending.FAILED,
         "cut: one of its hosts failed", "cut: {}; not requeued"),
    Step(Stage.RUNNING, "loses cores, is tried again", Ending.REQUEUED,
         "cut: one of its hosts failed; requeued", "cut: {}; requeued"),
    Step(Ending.REQUEUED, "next attempt", Stage.WAITING, "in the queue again"),
)
# fmt: on

#: How those have left that have run, and those that have not.
RAN: Final = frozenset(step.after for step in LIFE if step.before is Stage.RUNNING)
NEVER_RAN: Final = frozenset(
    step.after for step in LIFE if step.before in (Stage.COMING, Stage.WAITING) and step.after in tuple(Ending)
)


def told(before: Stage | Ending, to: str, because: str = "") -> str:
    """What is said of a job that comes from a state to the one of a name, or starts for the reason of a name."""
    steps = (step for step in LIFE if step.before is before)
    found = next(step for step in steps if to.upper() in (step.after.name, getattr(step.event, "name", "")))
    return found.because.format(because) if because and found.because else found.words
