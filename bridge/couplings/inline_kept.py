"""What the inline coupling keeps of running applications that may receive commands: their states, or a journal.

Each is kept as it was at an instant that has passed (``inline_saved``); or, where that cannot be, there is a journal of the
commands (``inline_journal``). Rows are those of the batch state.
"""

from __future__ import annotations

import numpy as np

from als.engine.state import ApplicationState
from traces.compiled import Array
from traces.kernels.signatures import Bytes, Floats, Ints
from traces.kernels.slabs import WHOLE
from traces.kernels.state import State, column

#: The most scales that are deferred for a job.
MOST_DEFERRED = 64


class Running(State, dim="cores"):
    """An application that runs, and what the inline coupling knows of it.

    Scales of all its cores may be deferred (``inline_deferred``).
    """

    commanded_ns: int = 0  # the instant of its latest commands, or its start
    stride_ns: int = 0  # how far it is simulated ahead
    steps: int = 0  # how often it has gone on by itself, as far as was sure, since its latest commands
    master_host: int = 0  # host of its first core
    fastest: float = 0.0  # where there are graphs, speed of its fastest core as it started, GFLOP/s

    n_deferred: int = 0  # how many scales are deferred
    scale: int = 0  # the last of them; if there is none, that of all cores, ppb; 0 if none may be deferred
    since_ns: int = 0  # the instant from which on
    left_ns: float = 0.0  # for how long from there on, at scale 1, nothing shows of the job at the least
    farthest_ns: float = 0.0  # for how long, at scale 1, a chunk may still take at the most

    app: ApplicationState = column()  # the application
    base_gflops: Floats = column()  # the speeds of its cores at factor 1, GFLOP/s
    next_ns: Ints = column()  # when they change next by themselves
    # The scales that are deferred, and their instants
    deferred_ns: Ints = column("deferred")
    deferred: Ints = column("deferred")


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
    deferred: int = 0


class SavedStates(State, dim="rows"):
    """Applications that run and may receive commands, each as it was at an instant that has passed (``inline_saved``).

    Of size 0 where there are no commands, or applications cannot be kept.
    """

    used: int = 0  # how many words are in use
    wanted: int = 0  # how many the application needs that there was no room for
    words: Ints = column("words")  # the applications, each a slab
    ahead: Ints = column("ahead")  # room for a copy of one that is simulated ahead
    first: Ints = column(fill=-1)  # where a row's begins, -1 nowhere
    sizes: Sizes = column()  # work space: of a slab
    flags: Bytes = column("cores")  # work space: for which of a job's cores others wait
    factor: Floats = column(MOST_DEFERRED)  # work space

    def make_room(self, running: Array) -> None:
        """Leave out what was kept of jobs that do not run any more, and have room for at least as much again.
        ``running``, int64: the rows of the jobs that run."""
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


class CommandJournal(State, dim="entries"):
    """The commands that running jobs received: an application is simulated again from its start, with all of them.

    Of size 0 where there are no commands, or the states of applications are kept.
    """

    first: Ints = column("rows", fill=-1)  # the first entry of each row, -1 none
    last: Ints = column("rows", fill=-1)  # its last entry
    instant: Ints = column()  # when the commands were received
    after: Ints = column()  # the next entry of the same row, -1 none
    told_first: Ints = column()  # the first of the commands in ``BatchState.told``
    told_stop: Ints = column()  # one past the last
    core_first: Ints = column()  # where the cores begin for which others wait from then on
    core_stop: Ints = column()  # where they end
    core: Ints = column("wanted")  # a core for which others wait
    flags: Bytes = column("cores")  # work space: for which of a job's cores others wait

    def make_room(self, n_cores: int) -> None:
        """Have room for twice as many entries, and for those of one more job, of up to ``n_cores`` cores."""
        self.grow(entries=2 * len(self.instant) + 1, wanted=2 * len(self.core) + n_cores)
