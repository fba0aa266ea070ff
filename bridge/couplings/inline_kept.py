"""What the inline coupling keeps of running applications that may be reached: their states, scales, and a journal.

Either the states are saved (``inline_saved``), with scales that wait to be heard (``inline_deferred``); or, where that cannot
be, a journal of what jobs were told (``inline_journal``). Rows are those of the batch state.
"""

from __future__ import annotations

import numpy as np

from traces.compiled import Array
from traces.kernels.signatures import Bytes, Floats, Ints, Ints2, Shorts
from traces.kernels.state import State, column

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
]

# Rows of SavedStates.first and the like.
SAVED_INTS, SAVED_FLOATS, SAVED_SHORTS, SAVED_BYTES = range(4)
SAVED_KINDS = 4


class SavedStates(State, dim="rows"):
    """Applications that run and may be reached, each as it was at an instant that has passed (``inline_saved``).

    Of size 0 where nobody is told anything, or a job may have a graph, a technique keeps objects of Python's, or jobs are
    planned with the ends that they promise.
    """

    # What they are made of, one application behind the other:
    ints: Ints = column("ints")
    floats: Floats = column("floats")
    shorts: Shorts = column("shorts")
    bytes: Bytes = column("bytes")
    used: Ints = column(SAVED_KINDS)  # how much of each of these is in use
    wanted: Ints = column(SAVED_KINDS)  # how much is to be free for the one there was no room for
    first: Ints2 = column(SAVED_KINDS, "rows", fill=-1)  # where a row's begins in each of these, -1 nowhere
    count: Ints2 = column(SAVED_KINDS, "rows")  # and how much it is

    reached_ns: Ints = column()  # when it was reached last, or has started
    stride_ns: Ints = column()  # how far it is simulated ahead
    slots: Ints = column()  # of how many cores its columns are
    steps: Ints = column()  # how often it has gone on by itself, as far as was sure, since it was told something
    flags: Bytes = column("cores")  # work space: for which of a job's cores others wait

    def make_room(self, running: Array) -> None:
        """Leave out what was saved of jobs that do not run any more, and have room for at least as much again.

        Parameters
        ----------
        running : int64
            The rows of the jobs that run.
        """
        known = running[running < self.first.shape[1]]  # what has begun as another attempt may have no row yet
        kept = known[self.first[SAVED_INTS, known] >= 0]
        first, sizes = np.full_like(self.first, -1), {}
        for kind, name in enumerate(("ints", "floats", "shorts", "bytes")):
            store, at = getattr(self, name), 0
            for row in kept[np.argsort(self.first[kind, kept])].tolist():
                begin, count = int(self.first[kind, row]), int(self.count[kind, row])
                store[at : at + count] = store[begin : begin + count]
                first[kind, row] = at
                at += count
            self.used[kind] = at
            sizes[name] = max(len(store), 2 * at + int(self.wanted[kind]))
        self.first[...] = first
        if any(size > len(getattr(self, name)) for name, size in sizes.items()):
            self.grow(**sizes)


#: The most scales that are put down for a job.
PUT_DOWN = 64


class PutDown(State, dim="rows"):
    """Scales of all cores that were put down for running jobs, which have not heard them (``inline_deferred``).

    Of size 0 where nothing is saved. The scales, and their instants, are behind what is saved of a job.
    """

    count: Ints = column()  # how many
    scale: Ints = column()  # the last one; if none was put down, that of all cores, ppb; 0 if nothing may be put down
    since_ns: Ints = column()  # the instant from which on
    left_ns: Floats = column()  # for how long from there on, at scale 1, nothing shows of the job at the least
    farthest_ns: Floats = column()  # for how long, at scale 1, a chunk may still take at the most
    factor: Floats = column(PUT_DOWN)  # work space


class Journal(State, dim="entries"):
    """What running jobs were told, and when: an application that is reached is simulated again, and told it all again.

    Of size 0 where nobody is told anything, or the states of applications are saved.
    """

    first: Ints = column("rows", fill=-1)  # the first entry of each row, -1 none
    last: Ints = column("rows", fill=-1)
    instant: Ints = column()
    after: Ints = column()  # the next entry of the same row, -1 none
    at: Ints = column()  # where what it says begins
    count: Ints = column()  # how much it is

    # What it says: a core, -1 for all or none, what becomes of it (as in ``BatchState.told``), and, where speeds are scaled, by
    # what, parts per billion. Where others wait for cores, first -1, then each core that is wanted from then on.
    core: Ints = column("said")
    what: Ints = column("said")
    scale: Ints = column("said")
    flags: Bytes = column("cores")  # work space: for which of a job's cores others wait

    def make_room(self, n_cores: int) -> None:
        """Have room for twice as many entries, and for those of one more job, of up to so many cores."""
        self.grow(entries=2 * len(self.instant) + 1, said=2 * len(self.core) + 3 * n_cores)
