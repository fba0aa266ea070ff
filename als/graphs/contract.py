"""The contract of graph generators: one function writes tasks and edges, with weights that are scaled afterwards.

The function is compiled (:func:`graph_kernel`)::

    make(draft: GraphDraft) -> int

It fills ``gflop``, ``source``, ``target``, ``bytes`` and ``size`` of the draft, and must not replace these arrays. It must
not raise, since compiled code cannot catch exceptions, and must not make arrays. It returns

- ``0``: if it has written the graph;
- ``NO_ROOM``: if ``gflop`` or ``source`` is too short. ``size`` then holds the required lengths; 0 where they are not known
  yet.
- ``IMPOSSIBLE``: if there is no such graph.

The same draft and the same stream give the same graph, whatever the lengths of the arrays.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from als.lengths.contract import MAX_COV
from als.options import MAX_TASKS_PER_JOB
from traces.base.errors import InputError, real, shown
from traces.base.plugins import compiled_rule
from traces.compiled import Array, own, types
from traces.kernels.signatures import Floats, Ints, StateKind, Words
from traces.kernels.state import State

if TYPE_CHECKING:
    from als.graphs.task_graph import TaskGraph

# Return values other than 0.
NO_ROOM = -1
IMPOSSIBLE = -2

MAX_CCR = 1e6  #: largest allowed ratio of communication to computation; the literature studies 0.1 to 10

#: Graphs with more edges are refused: each edge takes 24 bytes of memory before anything is done with it.
MAX_EDGES_PER_JOB = 400_000_000


class GraphDraft(State):
    """A graph to be made: the request, and the columns to write to.

    The columns are longer than needed, with arbitrary contents: the rule may use them as work space.
    """

    # approximate number of tasks; 0: as the generator's own parameters say. Impossible numbers are rounded, usually up.
    n_tasks: int
    n_cores: int  # the cores of the job, at least 1
    params: Floats  # :attr:`GraphModel.params`; read-only
    # (20,), (3,), (4,): the job's stream of random words; :func:`als.streams.next_word` returns the next word
    keys: Words
    cursor: Ints
    words: Words
    # to be filled: ``gflop[k]`` is the weight of task k, above 0 and finite. Any scale: all weights are multiplied so that
    # their sum is the job's work.
    gflop: Floats
    # To be filled: edge e leads from task ``source[e]`` to ``target[e]``, and carries data of the weight ``bytes[e]``, above 0
    # and finite, of any scale. Tasks are numbered such that ``source[e] < target[e]``; edges are sorted by (source, target)
    # without duplicates. The three columns have the same length.
    source: Ints
    target: Ints
    bytes: Floats
    size: Ints  # (2,): to be filled: the numbers of tasks and of edges


MAKE_GRAPH = types.int64(StateKind(GraphDraft))  #: the signature of the rule


@runtime_checkable
class GraphGenerator(Protocol):
    """Parameters that make a :class:`GraphModel`: a frozen dataclass whose fields may be given after its name.

    Fields are ``int``, ``float``, ``str`` or ``bool``, checked where they are given; ``cholesky:tiles=8`` is
    ``replace(cholesky, tiles=8).graph(variation)``. A model returns itself.
    """

    @property
    def name(self) -> str:
        """Name in the literature, in lower case."""

    def graph(self, variation: float) -> "GraphModel":
        """Return the model; ``variation`` is the run's coefficient of variation, used unless a field gives another."""


@dataclass(frozen=True, eq=False)
class GraphModel:
    """A kind of task graph with its parameters."""

    name: str  #: name in the literature, in lower case, without parameters; for tables
    make: Callable[..., int]  #: The rule, decorated with :func:`graph_kernel`. Not called if there is a ``source``.
    params: Array  #: float64, passed to the rule as ``params``
    #: ``n_tasks(tasks, cores)`` returns the numbers of tasks and edges to allocate for about ``tasks`` tasks (0: as the
    #: parameters say) and ``cores`` cores: never too few tasks, and rarely too few edges.
    n_tasks: Callable[[int, int], tuple[int, int]]
    #: Ratio of communication to computation: the mean time of an edge at the network's bandwidth, over the mean time of a task.
    #: None: the bytes of a file are kept.
    ccr: float | None = 1.0
    #: coefficient of variation of a task's work around its weight: work = weight · z, z ~ Normal(1, cov), drawn again if it is
    #: not above 0
    cov: float = 0.0
    source: "TaskGraph | None" = None  #: the graph of a file, the same for all jobs
    #: Whether a file's work is scaled to the job's work, and its bytes by the same factor. Otherwise always True.
    scale: bool = True

    def __post_init__(self) -> None:
        where = f"graph {self.name}"
        for name in ("make", "n_tasks"):
            if not callable(getattr(self, name)):
                raise InputError(f"{where}: {name} must be a function, not {shown(getattr(self, name))}")
        try:
            params = own(self.params, np.float64)
        except (TypeError, ValueError):
            params = np.empty((0, 0))
        if params.ndim != 1:
            raise InputError(f"{where}: params {shown(self.params)}; allowed: numbers")
        object.__setattr__(self, "params", params)
        if self.ccr is not None:
            object.__setattr__(self, "ccr", real(f"{where}: ccr", self.ccr, 0.0, MAX_CCR))
        elif self.source is None:
            raise InputError(f"{where}: ccr None; allowed: 0 to {MAX_CCR:g}, where the bytes are no file's")
        object.__setattr__(self, "cov", real(f"{where}: cov", self.cov, 0.0, MAX_COV))
        if self.source is None and not self.scale:
            raise InputError(f"{where}: scale False; allowed: True, where the work is no file's")

    @property
    def has_its_own_size(self) -> bool:
        """Whether its size is independent of the wanted number of tasks."""
        return self.n_tasks(1, 4) == self.n_tasks(1000, 4)

    def graph(self, variation: float) -> "GraphModel":
        """Return itself, whatever the run's variation."""
        return self


def check_size(where: str, n_tasks: int, n_edges: int) -> tuple[int, int]:
    """Return the two numbers if a graph may have this size. Raises InputError otherwise."""
    if not 1 <= n_tasks <= MAX_TASKS_PER_JOB:
        raise InputError(f"{where}: {shown(n_tasks)} tasks in one job; allowed: 1 to {MAX_TASKS_PER_JOB}")
    if not 0 <= n_edges <= MAX_EDGES_PER_JOB:
        raise InputError(f"{where}: {shown(n_edges)} edges in one job; allowed: up to {MAX_EDGES_PER_JOB}")
    return n_tasks, n_edges


def graph_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function to a generator's rule.

    Raises
    ------
    InputError
        If its number of arguments is wrong.
    """
    return compiled_rule(function, "graph_kernel", (MAKE_GRAPH, ("draft",)))
