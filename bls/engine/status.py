"""What the batch engine answers: why it stopped, and what it needs to go on."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["BatchStatus"]


class BatchStatus(IntEnum):
    """What ``bls.engine.loop.advance`` returns. Its parts answer in the same words, :attr:`RUNNING` where nothing is needed.

    Attributes
    ----------
    DONE
        All jobs have ended.
    STARTED
        Jobs have started: each needs an outcome or a promise.
    DUE
        A promise has come due: its job needs an outcome or a later promise.
    PAUSED
        As many jobs have ended as asked for; call again.
    POOL_FULL
        The allocation pool, or that of kept reservations, must grow; call again.
    STUCK
        Nothing can happen any more, and jobs wait.
    ALLOCATOR_FAULT
        The allocator suggested what cannot be, or nothing where any free cores would do.
    OVERFLOW
        An end beyond ``traces.base.time.MAX_NS``.
    ROWS_FULL
        Room for later attempts is needed; call again.
    DECIDE_FAILED
        A Python policy could not decide.
    LOOK
        An observer looks: ``OBSERVE`` is now the instant of the next event; call again with one that is due later.
    SCORE_FAULT
        A score that is no number.
    CHOICE_FAULT
        A Python policy chose a job that does not fit.
    ATTEMPTS
        A job was cut more often than is allowed.
    OUTAGES_SHORT
        The lists of outages must be continued.
    DECISIONS_FULL
        The table of decisions must grow; call again.
    PROFILE_FULL
        The profile of cores must grow; call again.
    RUNNING
        Nothing is needed: the engine goes on. Never returned by ``advance``.
    """

    DONE = 0
    STARTED = 1
    DUE = 2
    PAUSED = 3
    POOL_FULL = 4
    STUCK = 5
    ALLOCATOR_FAULT = 6
    OVERFLOW = 7
    ROWS_FULL = 8
    DECIDE_FAILED = 9
    LOOK = 10
    SCORE_FAULT = 11
    CHOICE_FAULT = 12
    ATTEMPTS = 13
    OUTAGES_SHORT = 14
    DECISIONS_FULL = 15
    PROFILE_FULL = 16
    RUNNING = 17
