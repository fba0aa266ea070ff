"""What makes the task graph of a job: one function that writes tasks and edges, with weights that are scaled afterwards.

The function is compiled (:func:`graph_kernel`)::

    make(draft: GraphDraft) -> int

It fills ``gflop``, ``source``, ``target``, ``bytes`` and ``size`` of the draft, and puts no column elsewhere. It must not
raise, since compiled code has nobody to catch it, and it makes no arrays. It answers

``0``
    if the graph is there;
``NO_ROOM``
    if ``gflop`` or ``source`` is too short. ``size`` then holds how long they must be; 0 where that is not known yet.
``IMPOSSIBLE``
    if there is no such graph.

The same draft and the same stream make the same graph, however long the arrays are.
"""

from __future__ import annotations

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

# What a rule answers instead of 0.
NO_ROOM = -1
IMPOSSIBLE = -2

#: Largest ratio of communication to computation that may be asked for; the literature studies 0.1 to 10.
MAX_CCR = 1e6

#: A graph of more edges than this is refused: each takes 24 bytes of memory before anything is done with it.
MAX_EDGES_PER_JOB = 400_000_000


class GraphDraft(State):
    """A graph that is to be made: what is wanted, and the columns that it is written to.

    The columns to be filled are longer than needed, and hold anything: the rule may use them as work space.
    """

    # about how many tasks are wanted; 0: the generator's own parameters say it. What cannot be had is rounded, up as a rule.
    n_tasks: int
    n_cores: int  # the cores of the job, at least 1
    params: Floats  # :attr:`GraphModel.params`; to be read only
    # (20,), (3,), (4,): the job's stream of random words: :func:`als.streams.next_word` takes the next, as many as one likes
    keys: Words
    cursor: Ints
    words: Words
    # to be filled: ``gflop[k]`` is the weight of task k, above 0 and finite. The scale does not matter, since all weights are
    # multiplied by the number that makes the job's work of their sum.
    gflop: Floats
    # To be filled: edge e leads from task ``source[e]`` to ``target[e]``, which waits for it, and carries data of the weight
    # ``bytes[e]``, above 0 and finite, of any scale too. Tasks are numbered such that ``source[e] < target[e]``; edges are
    # sorted by (source, target), and no pair is there twice. The three are of one length.
    source: Ints
    target: Ints
    bytes: Floats
    size: Ints  # (2,): to be filled: the numbers of tasks and of edges


#: The signature of the rule.
MAKE_GRAPH = types.int64(StateKind(GraphDraft))


@runtime_checkable
class GraphGenerator(Protocol):
    """What makes a :class:`GraphModel`: a frozen dataclass whose fields are written behind its name.

    Fields are ``int``, ``float``, ``str`` or ``bool``, checked where they are given; ``cholesky:tiles=8`` is
    ``replace(cholesky, tiles=8).graph(variation)``. A model makes itself.
    """

    @property
    def name(self) -> str:
        """As the literature names it, in lower case."""
        ...

    def graph(self, variation: float) -> GraphModel:
        """The model; ``variation`` is the coefficient of variation of the run, where no other is given."""
        ...


@dataclass(frozen=True, eq=False)
class GraphModel:
    """A kind of task graph with its parameters.

    Attributes
    ----------
    name : str
        As the literature names it, in lower case, without parameters; for tables.
    make : callable
        The rule, decorated with :func:`graph_kernel`. Not called where there is a ``source``.
    params : float64 array (any,)
        What the rule finds in ``params``.
    n_tasks : callable
        ``n_tasks(tasks, cores)``: for how many tasks and edges room is made when about so many tasks are wanted (0: the
        parameters say) on so many cores. Never less than the number of tasks; hardly ever less than that of edges.
    ccr : float or None
        Ratio of communication to computation: the mean over edges of what one takes at the network's bandwidth, over the mean
        time of a task. None: of a file, whose bytes are its own.
    cov : float
        Coefficient of variation of a task's work around its weight: work = weight · z, z ~ Normal(1, cov), drawn again if it is
        not above 0.
    source : TaskGraph or None
        The graph of a file, which all jobs have.
    scale : bool
        Whether the work of a file's graph is scaled to the job's, and its bytes by the same factor. Others always are.
    """

    name: str
    make: Callable[..., int]
    params: Array
    n_tasks: Callable[[int, int], tuple[int, int]]
    ccr: float | None = 1.0
    cov: float = 0.0
    source: TaskGraph | None = None
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
        """Whether it is the same however many tasks are wanted."""
        return self.n_tasks(1, 4) == self.n_tasks(1000, 4)

    def graph(self, variation: float) -> GraphModel:
        """Itself, whatever the run's variation."""
        return self


def check_size(where: str, n_tasks: int, n_edges: int) -> tuple[int, int]:
    """The two numbers, if a graph may be so large. Raises InputError if it may not."""
    if not 1 <= n_tasks <= MAX_TASKS_PER_JOB:
        raise InputError(f"{where}: {shown(n_tasks)} tasks in one job; allowed: 1 to {MAX_TASKS_PER_JOB}")
    if not 0 <= n_edges <= MAX_EDGES_PER_JOB:
        raise InputError(f"{where}: {shown(n_edges)} edges in one job; allowed: up to {MAX_EDGES_PER_JOB}")
    return n_tasks, n_edges


def graph_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function to the rule of a generator.

    Raises
    ------
    InputError
        If it has another number of arguments.
    """
    return compiled_rule(function, "graph_kernel", (MAKE_GRAPH, ("draft",)))
