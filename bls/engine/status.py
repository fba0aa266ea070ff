"""What the batch engine answers: why it stopped, and what it needs to go on."""

from enum import IntEnum
from typing import Final


class BatchStatus(IntEnum):
    """What ``bls.engine.loop.advance`` returns; its parts answer in the same words."""

    DONE = 0  #: All jobs have ended.
    STARTED = 1  #: Jobs have started: each needs an outcome or a promise.
    DUE = 2  #: A promise has come due: its job needs an outcome or a later promise.
    PAUSED = 3  #: As many jobs have ended as asked for; call again.
    POOL_FULL = 4  #: The pool of allocations, or that of kept reservations, must grow; call again.
    STUCK = 5  #: Nothing can happen any more, and jobs wait.
    ALLOCATOR_FAULT = 6  #: The allocator suggested what cannot be, or nothing where any free cores would do.
    OVERFLOW = 7  #: An end beyond ``traces.base.time.MAX_NS``.
    ROWS_FULL = 8  #: Room for later attempts is needed; call again.
    DECIDE_FAILED = 9  #: A Python policy could not decide.
    LOOK = 10  #: An observer looks at ``observe_after_ns``, before the next event; call again with a later instant.
    SCORE_FAULT = 11  #: A score that is no number.
    CHOICE_FAULT = 12  #: A Python policy chose a job that does not fit.
    ATTEMPTS = 13  #: A job was cut more often than is allowed.
    OUTAGES_SHORT = 14  #: The lists of outages must be continued.
    DECISIONS_FULL = 15  #: The table of decisions must grow; call again.
    PROFILE_FULL = 16  #: The profile of cores must grow; call again.
    REACHED = 18  #: There is something to tell running jobs, ``reached``.
    TOLD_FULL = 19  #: The table of what running jobs were told must grow; call again.
    HOST_LOG_FULL = 20  #: The table of states of hosts must grow; call again.
    RELEASES_FULL = 21  #: The table of releases must grow; call again.
    RUNNING = 17  #: Nothing is needed: what a part of the engine answers, and never the engine.


_S = BatchStatus

#: After these the engine's state is not whole.
FAULTS: Final = frozenset(
    {_S.ALLOCATOR_FAULT, _S.OVERFLOW, _S.DECIDE_FAILED, _S.SCORE_FAULT, _S.CHOICE_FAULT, _S.ATTEMPTS}
)
