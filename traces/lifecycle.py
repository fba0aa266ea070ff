"""The life of a job, or of one attempt at it: its possible states, and one table of its transitions.

Transitions that are not in the table cannot happen: the checks of the engine and of every result read it. The words are those
of ``story``, and the picture of ``docs/reference/batch.md`` is drawn from it (``tools.pictures``).
"""

from enum import IntEnum, StrEnum
from typing import Final, NamedTuple


class Reason(IntEnum):
    """The reason of a job's start: ``JobRecords.why``."""

    HEAD = 0
    BACKFILL = 1
    RESERVED = 2
    PRESET = 3
    NEVER = 4


class Ending(IntEnum):
    """The end of a job, or of one attempt at it: ``JobRecords.state``."""

    COMPLETED = 0
    KILLED = 1
    CANCELLED = 2
    FAILED = 3
    REQUEUED = 4
    REJECTED = 5


class Stage(StrEnum):
    """The state of a job before its end: not submitted yet, in the queue and eligible, or holding cores."""

    COMING = "coming"
    WAITING = "waiting"
    RUNNING = "running"


class Step(NamedTuple):
    """A transition of a job."""

    before: Stage | Ending
    event: Reason | str  # the event; for a start, its reason
    after: Stage | Ending  # a requeued job waits again as its next attempt, in a row of its own
    words: str  # its description
    # the description if there is a reason (from a policy, or of lost cores), which replaces the braces
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

#: Ends of jobs that have run, and of jobs that have not.
RAN: Final = frozenset(step.after for step in LIFE if step.before is Stage.RUNNING)
_UNSTARTED = [step for step in LIFE if step.before in (Stage.COMING, Stage.WAITING)]
NEVER_RAN: Final = frozenset(step.after for step in _UNSTARTED if step.after in tuple(Ending))


def describe(before: Stage | Ending, to: str, because: str = "") -> str:
    """Return the description of a transition to the state, or the start reason, of this name."""
    steps = (step for step in LIFE if step.before is before)
    found = next(step for step in steps if to.upper() in (step.after.name, getattr(step.event, "name", "")))
    return found.because.format(because) if because and found.because else found.words
