"""What the inline coupling keeps of running applications that may be reached: the applications themselves, or a journal.

Either they are kept as they were at an instant that has passed (``inline_saved``); or, where that cannot be, a journal of what
jobs were told (``inline_journal``). Rows are those of the batch state.
"""

from __future__ import annotations

import numpy as np

from als.engine.state import ApplicationState
from traces.compiled import Array
from traces.kernels.signatures import Bytes, Floats, Ints
from traces.kernels.slabs import WHOLE
from traces.kernels.state import State, column

__all__ = ["PUT_DOWN", "Journal", "Running", "SavedStates", "Sizes"]

#: The most scales that are put down for a job.
PUT_DOWN = 64


class Running(State, dim="cores"):
    """An application that runs, and what the inline coupling knows of it.

    Scales of all cores that were put down for it are deferred (``inline_deferred``).
    """

    reached_ns: int = 0  # when it was reached last, or has started
    stride_ns: int = 0  # how far it is simulated ahead
    steps: int = 0  # how often it has gone on by itself, as far as was sure, since it was told something
    master_host: int = 0  # host of its first core
    fastest: float = 0.0  # speed of its fastest core as it started, GFLOP/s

    n_put_down: int = 0  # how many scales are put down for it
    scale: int = 0  # the last one put down; if none was, that of all cores, ppb; 0 if nothing may be put down
    since_ns: int = 0  # the instant from which on
    left_ns: float = 0.0  # for how long from there on, at scale 1, nothing shows of the job at the least
    farthest_ns: float = 0.0  # for how long, at scale 1, a chunk may still take at the most

    app: ApplicationState = column()  # the application
    base_gflops: Floats = column()  # the speeds of its cores at factor 1, GFLOP/s
    next_ns: Ints = column()  # when they change next by themselves
    # The scales that were put down, and when
    put_down_ns: Ints = column("put_down")
    put_down: Ints = column("put_down")


class Sizes(State):
    """How long the dimensions of a ``Running`` are; those of transfers and of mappings are 0."""

    # The size of the dimension of this name
    tasks: int = 0
    bounds: int = 0
    cores: int = 0
    memo: int = 0
    rules: int = 0
    records: int = 0
    edge_bounds: int = 0
    edges: int = 0
    given: int = 0
    hosts: int = 0
    nodes: int = 0
    graph_cores: int = 0
    pools: int = 0
    node_bounds: int = 0
    events: int = 0
    flows: int = 0
    entries: int = 0
    table: int = 0
    wishes: int = 0
    wished: int = 0
    put_down: int = 0


class SavedStates(State, dim="rows"):
    """Applications that run and may be reached, each as it was at an instant that has passed (``inline_saved``).

    Of size 0 where nobody is told anything, or applications cannot be kept.
    """

    used: int = 0  # how many words are in use
    wanted: int = 0  # how many the application needs that there was no room for
    words: Ints = column("words")  # the applications, each a slab
    ahead: Ints = column("ahead")  # room for a copy of one that is simulated ahead
    first: Ints = column(fill=-1)  # where a row's begins, -1 nowhere
    sizes: Sizes = column()  # work space: of a slab
    flags: Bytes = column("cores")  # work space: for which of a job's cores others wait
    factor: Floats = column(PUT_DOWN)  # work space

    def make_room(self, running: Array) -> None:
        """Leave out what was kept of jobs that do not run any more, and have room for at least as much again.

        Parameters
        ----------
        running : int64
            The rows of the jobs that run.
        """
        known = running[running < len(self.first)]  # what has begun as another attempt may have no row yet
        kept = known[self.first[known] >= 0]
        first, at = np.full_like(self.first, -1), 0
        for row in kept[np.argsort(self.first[kept])].tolist():
            begin = int(self.first[row])
            count = int(self.words[begin + WHOLE])
            self.words[at : at + count] = self.words[begin : begin + count]
            first[row], at = at, at + count
        self.first[...], self.used = first, at
        self.grow(words=max(len(self.words), 2 * at + int(self.wanted)), ahead=max(len(self.ahead), int(self.wanted)))


class Journal(State, dim="entries"):
    """What running jobs were told, and when: an application that is reached is simulated again, and told it all again.

    Of size 0 where nobody is told anything, or the states of applications are saved.
    """

    first: Ints = column("rows", fill=-1)  # the first entry of each row, -1 none
    last: Ints = column("rows", fill=-1)  # its last entry
    instant: Ints = column()  # when it was told
    after: Ints = column()  # the next entry of the same row, -1 none
    at: Ints = column()  # where what it says begins
    count: Ints = column()  # how much it is

    # What it says: a core, -1 for all or none, what becomes of it (as in ``BatchState.told``), and, where speeds are scaled, by
    # what, parts per billion. Where others wait for cores, first -1, then each core that is wanted from then on
    core: Ints = column("said")
    what: Ints = column("said")
    scale: Ints = column("said")
    flags: Bytes = column("cores")  # work space: for which of a job's cores others wait

    def make_room(self, n_cores: int) -> None:
        """Have room for twice as many entries, and for those of one more job, of up to so many cores."""
        self.grow(entries=2 * len(self.instant) + 1, said=2 * len(self.core) + 3 * n_cores)
