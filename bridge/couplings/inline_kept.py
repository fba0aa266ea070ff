"""What the inline coupling keeps of running applications that may be reached: their states, scales, and a journal.

Either the states are saved (``inline_saved``), with scales that wait to be heard (``inline_deferred``); or, where that cannot
be, a journal of what jobs were told (``inline_journal``). Rows are those of the batch state.
"""

from __future__ import annotations

import numpy as np

from traces.kernels.signatures import Bytes, Floats, Ints, Ints2, Shorts
from traces.kernels.state import State

__all__ = [
    "PUT_DOWN",
    "SAVED_BYTES",
    "SAVED_FLOATS",
    "SAVED_INTS",
    "SAVED_KINDS",
    "SAVED_SHORTS",
    "Journal",
    "PutDown",
    "SavedStates",
    "new_journal",
    "new_put_down",
    "new_saved_states",
]

# Rows of SavedStates.first and the like.
SAVED_INTS, SAVED_FLOATS, SAVED_SHORTS, SAVED_BYTES = range(4)
SAVED_KINDS = 4


class SavedStates(State):
    """Applications that run and may be reached, each as it was at an instant that has passed (``inline_saved``).

    Of size 0 where nobody is told anything, or a job may have a graph, a technique keeps objects of Python's, or jobs are
    planned with the ends that they promise.

    Attributes
    ----------
    ints, floats, shorts, bytes : int64, float64, int32, uint8
        What they are made of, one application behind the other.
    first, count : int64 (4, rows)
        Where a row's begins in each of these, -1 nowhere; and how much it is.
    used, wanted : int64 (4,)
        How much of each is in use, and how much is to be free for the one there was no room for.
    reached_ns : int64 (rows,)
        When it was reached last, or has started.
    stride_ns : int64 (rows,)
        How far it is simulated ahead.
    flags : uint8 (widest,)
        Work space: for which of a job's cores others wait.
    slots : int64 (rows,)
        Of how many cores its columns are.
    steps : int64 (rows,)
        How often it has gone on by itself, as far as was sure, since it was told something.
    """

    ints: Ints
    floats: Floats
    shorts: Shorts
    bytes: Bytes
    first: Ints2
    count: Ints2
    used: Ints
    wanted: Ints
    reached_ns: Ints
    stride_ns: Ints
    flags: Bytes
    slots: Ints
    steps: Ints


#: The most scales that are put down for a job.
PUT_DOWN = 64


class PutDown(State):
    """Scales of all cores that were put down for running jobs, which have not heard them (``inline_deferred``).

    Of size 0 where nothing is saved. The scales, and their instants, are behind what is saved of a job.

    Attributes
    ----------
    count : int64 (rows,)
        How many.
    scale : int64 (rows,)
        The last one, or, if none was put down, that of all cores, parts per billion; 0 if nothing may be put down.
    since_ns : int64 (rows,)
        The instant from which on.
    left_ns : float64 (rows,)
        For how long from there on, at scale 1, nothing shows of the job at the least.
    farthest_ns : float64 (rows,)
        For how long, at scale 1, a chunk may still take at the most.
    factor : float64 (PUT_DOWN,)
        Work space.
    """

    count: Ints
    scale: Ints
    since_ns: Ints
    left_ns: Floats
    farthest_ns: Floats
    factor: Floats


class Journal(State):
    """What running jobs were told, and when: an application that is reached is simulated again, and told it all again.

    Of size 0 where nobody is told anything, or the states of applications are saved.

    Attributes
    ----------
    first, last : int64 (rows,)
        The first and the last entry of each row, -1 none.
    instant, after : int64 (E,)
        Of an entry; and the next one of the same row, -1 none.
    at, count : int64 (E,)
        Where what it says begins, and how much it is.
    core, what, scale : int64 (F,)
        A core, -1 for all or none, what becomes of it (as in ``BatchState.told``), and, where speeds are scaled, by what, parts
        per billion. Where others wait for cores, first -1, then each core that is wanted from then on.
    flags : uint8 (widest,)
        Work space: for which of a job's cores others wait.
    """

    first: Ints
    last: Ints
    instant: Ints
    after: Ints
    at: Ints
    count: Ints
    core: Ints
    what: Ints
    scale: Ints
    flags: Bytes


def new_journal(n: int, widest: int) -> Journal:
    """An empty one with room for ``n`` entries, and jobs of so many cores."""
    return Journal(
        first=np.zeros(0, np.int64),
        last=np.zeros(0, np.int64),
        instant=np.empty(n, np.int64),
        after=np.empty(n, np.int64),
        at=np.empty(n, np.int64),
        count=np.empty(n, np.int64),
        core=np.empty(16 * n, np.int64),
        what=np.empty(16 * n, np.int64),
        scale=np.empty(16 * n, np.int64),
        flags=np.zeros(widest, np.uint8),
    )


def new_saved_states(n: int, widest: int) -> SavedStates:
    """Nothing saved, with room for some of ``n`` jobs, the widest of so many cores."""
    none = np.zeros((SAVED_KINDS, 0), np.int64)
    return SavedStates(
        ints=np.empty(64 * n, np.int64),
        floats=np.empty(16 * n),
        shorts=np.empty(16 * n, np.int32),
        bytes=np.empty(16 * n, np.uint8),
        first=none,
        count=none,
        used=np.zeros(SAVED_KINDS, np.int64),
        wanted=np.zeros(SAVED_KINDS, np.int64),
        reached_ns=np.zeros(0, np.int64),
        stride_ns=np.zeros(0, np.int64),
        flags=np.zeros(widest, np.uint8),
        slots=np.zeros(0, np.int64),
        steps=np.zeros(0, np.int64),
    )


def new_put_down() -> PutDown:
    """Nothing put down, and no rows yet."""
    ints, floats = np.zeros(0, np.int64), np.zeros(0)
    return PutDown(count=ints, scale=ints, since_ns=ints, left_ns=floats, farthest_ns=floats, factor=np.zeros(PUT_DOWN))
