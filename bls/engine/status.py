"""The statuses with which the batch engine stops."""

from enum import IntEnum
from typing import Final


class BatchStatus(IntEnum):
    """The result of ``bls.engine.loop.advance`` and of its parts."""

    DONE = 0  #: All jobs have ended.
    STARTED = 1  #: Jobs have started: each needs an outcome or a promise.
    DUE = 2  #: A promise has come due: its job needs an outcome or a later promise.
    PAUSED = 3  #: The requested number of jobs has ended; call again.
    POOL_FULL = 4  #: The pool of allocations or of kept reservations must grow; call again.
    STUCK = 5  #: Nothing can happen any more, and jobs wait.
    ALLOCATOR_FAULT = 6  #: The allocator suggested impossible cores, or none although any free cores would do.
    OVERFLOW = 7  #: An end beyond ``traces.base.time.MAX_NS``.
    ROWS_FULL = 8  #: Room for later attempts is needed; call again.
    DECIDE_FAILED = 9  #: A Python policy could not decide.
    LOOK = 10  #: An observer is called at ``observe_after_ns``, before the next event; call again with a later instant.
    SCORE_FAULT = 11  #: A score is not a number.
    CHOICE_FAULT = 12  #: A Python policy chose a job that does not fit.
    ATTEMPTS = 13  #: A job was cut too often.
    OUTAGES_SHORT = 14  #: The lists of outages must be continued.
    DECISIONS_FULL = 15  #: The table of decisions must grow; call again.
    PROFILE_FULL = 16  #: The profile of cores must grow; call again.
    INTERRUPTED = 18  #: There are commands for the running jobs in ``interrupted``.
    COMMANDS_FULL = 19  #: The command log must grow; call again.
    HOST_LOG_FULL = 20  #: The table of host states must grow; call again.
    RELEASES_FULL = 21  #: The table of releases must grow; call again.
    GPUS_FULL = 22  #: The lists of GPUs must grow; call again.
    RUNNING = 17  #: Nothing is needed (returned by parts of the engine only).


_S = BatchStatus

#: After these the engine's state is inconsistent.
FAULTS: Final = frozenset(
    {_S.ALLOCATOR_FAULT, _S.OVERFLOW, _S.DECIDE_FAILED, _S.SCORE_FAULT, _S.CHOICE_FAULT, _S.ATTEMPTS}
)

#: These request room.
FULL: Final = frozenset(one for one in _S if one.name.endswith("_FULL"))
