"""What a planner is: one function that gives each task of a graph a core and a start before any of them runs.

The function is compiled (:func:`planner_kernel`)::

    plan(problem: PlanningProblem) -> int

It fills ``problem.core`` and ``problem.begin``, and answers 0, or ``NO_CORE`` if no core is present. All columns but these and
the work space are to be read only, and none is to be put elsewhere. The function must not raise, since compiled code has
nobody to catch it, and it makes no arrays.

A core computes its tasks by (``begin``, place in ``order``). So that none waits for a task behind it, no task may begin
before one of its producers begins; :func:`first_fault` finds one that does.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from als.parameters import floats
from traces.base.errors import InputError, shown
from traces.base.plugins import compiled_rule
from traces.compiled import compiled, types
from traces.kernels.signatures import Floats, Ints, StateKind
from traces.kernels.state import State

# Places in PlanningProblem.costs.
LATENCY_S = 0  # of an edge between hosts, s
ACROSS_S_PER_BYTE = 1  # of each byte of an edge between hosts, s
WITHIN_S_PER_BYTE = 2  # of each byte of an edge between cores of one host, s
COSTS = 3

#: Answer where no core is present.
NO_CORE = -1

#: Answer of :func:`first_fault` where there is none.
SOUND = -1


class PlanningProblem(State):
    """A graph that is to be planned, and its plan: N tasks, E edges, P cores."""

    gflop: Floats  # (N,): work of each task, >= 0
    # (E,): producer, consumer and bytes of each edge, sorted by (source, target)
    source: Ints
    target: Ints
    bytes: Floats
    # (N + 1,), (N + 1,), (E,): task k's out-edges are ``out_first[k]:out_first[k+1]``, its in-edges
    # ``in_edge[in_first[k]:in_first[k+1]]``
    out_first: Ints
    in_first: Ints
    in_edge: Ints
    order: Ints  # (N,): the tasks, each behind all its producers
    speed: Floats  # (P,): GFLOP/s of each core; 0: it is absent and gets no task
    core_host: Ints  # (P,): host of each core, 0 to P - 1
    # (at least COSTS,): what an edge between two cores is estimated to cost, at the places above. On one core: nothing; on one
    # host: ``bytes·WITHIN_S_PER_BYTE``; between hosts: ``LATENCY_S + bytes·ACROSS_S_PER_BYTE``. An edge of 0 bytes only says
    # the order, and costs nothing anywhere.
    costs: Floats
    params: Floats  # :attr:`Planner.params`; perhaps more
    core: Ints  # (N,): to be filled: core of each task
    begin: Floats  # (N,): to be filled: its planned start in s, >= 0 and finite
    # Work space, of at least as many numbers as :attr:`Planner.floats` and :attr:`Planner.ints` say, which holds anything
    floats: Floats
    ints: Ints


#: The signature of the rule.
PLAN = types.int64(StateKind(PlanningProblem))


@dataclass(frozen=True, eq=False)
class Planner:
    """A planner with its parameters.

    Attributes
    ----------
    name : str
        As the literature names it, in lower case.
    plan : callable
        The rule, decorated with :func:`planner_kernel`.
    source : str
        Where its definition comes from.
    floats, ints : callable
        ``floats(n_tasks, n_edges, n_cores)``: how many float64, and how many int64, numbers of work space it needs.
    params : tuple of float
        What the rule finds in ``params``.
    only_cores : None
        It plans for any number of cores; for whoever asks it of a technique as well.
    """

    name: str
    plan: Callable[..., int]
    source: str
    floats: Callable[[int, int, int], int]
    ints: Callable[[int, int, int], int]
    params: tuple[float, ...] = ()
    only_cores: ClassVar[None] = None

    def __post_init__(self) -> None:
        for field in ("plan", "floats", "ints"):
            if not callable(getattr(self, field)):
                raise InputError(f"planner {self.name}: {field} must be a function, not {shown(getattr(self, field))}")
        object.__setattr__(self, "params", floats(f"planner {self.name}", self.params))


def planner_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function to the rule of a planner.

    Raises
    ------
    InputError
        If it has another number of arguments.
    """
    return compiled_rule(function, "planner_kernel", (PLAN, ("problem",)))


@compiled()
def first_fault(source: Ints, target: Ints, speed: Floats, core: Ints, begin: Floats) -> int:
    """The first task of a plan that could not run as it is planned, ``SOUND`` if there is none: its core is absent or
    is none, or its start is below 0, is not finite, or is before that of one of its producers."""
    for task in range(len(core)):
        if not 0 <= core[task] < len(speed) or not speed[core[task]] > 0.0:
            return task
        if not 0.0 <= begin[task] < math.inf:
            return task
    for edge in range(len(source)):
        if begin[target[edge]] < begin[source[edge]]:
            return int(target[edge])
    return SOUND


@dataclass(frozen=True)
class Mapped:
    """No scheduler: a graph's tasks have hosts of their own, or cores.

    A task that has a host waits there, once its data are there, for the first core of that host; the tasks of a core follow
    one another in their order. (A workflow that was planned elsewhere, or a run that is to be simulated again.)
    """

    name: str = "mapped"
    only_cores: ClassVar[None] = None  # for whoever asks it of a technique as well


MAPPED = Mapped()
