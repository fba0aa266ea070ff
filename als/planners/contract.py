"""The contract of planners: one function gives each task of a graph a core and a start before any of them runs.

The function is compiled (:func:`planner_kernel`)::

    plan(problem: PlanningProblem) -> int

It fills ``problem.core`` and ``problem.begin``, and returns 0, or ``NO_CORE`` if no core is present. All other columns except
the work space are read-only, and no column may be replaced. The function must not raise, since compiled code cannot catch
exceptions, and must not make arrays.

A core computes its tasks by (``begin``, place in ``order``). No task may begin before one of its producers, so that no task
waits for a later task of its core; :func:`first_fault` finds one that does.
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

# Indices of PlanningProblem.costs.
LATENCY_S = 0  # of an edge between hosts, s
ACROSS_S_PER_BYTE = 1  # per byte of an edge between hosts, s
WITHIN_S_PER_BYTE = 2  # per byte of an edge between cores of one host, s
COSTS = 3

NO_CORE = -1  #: result if no core is present
SOUND = -1  #: result of :func:`first_fault` for a valid plan


class PlanningProblem(State):
    """A graph to be planned, and its plan: N tasks, E edges, P cores."""

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
    order: Ints  # (N,): the tasks, each after all its producers
    speed: Floats  # (P,): GFLOP/s of each core; 0: it is absent and gets no task
    core_host: Ints  # (P,): host of each core, 0 to P - 1
    # (at least COSTS,): estimated costs of an edge between two cores, at the indices above. On one core: 0; on one host:
    # ``bytes·WITHIN_S_PER_BYTE``; between hosts: ``LATENCY_S + bytes·ACROSS_S_PER_BYTE``. An edge of 0 bytes only orders tasks
    # and costs nothing.
    costs: Floats
    params: Floats  # :attr:`Planner.params`; may be longer
    # (P,): kind of each core, if tasks have a work on each kind of cores; else empty. Task k then has the work
    # ``kind_gflop[kind[core] * stride + k]`` on a core, infinite if it cannot run there, instead of ``gflop[k]``; it can run on
    # a present core. Only planners that are :attr:`Planner.unlike` of another get such problems.
    kind: Ints
    kind_gflop: Floats
    stride: int = 0
    core: Ints  # (N,): to be filled: core of each task
    begin: Floats  # (N,): to be filled: its planned start in s, >= 0 and finite
    # Work space with arbitrary contents, at least as long as :attr:`Planner.floats` and :attr:`Planner.ints` say
    floats: Floats
    ints: Ints


PLAN = types.int64(StateKind(PlanningProblem))  #: the signature of the rule


@dataclass(frozen=True, eq=False)
class Planner:
    """A planner with its parameters."""

    name: str  #: name in the literature, in lower case
    plan: Callable[..., int]  #: the rule, decorated with :func:`planner_kernel`
    source: str  #: source of its definition
    #: ``floats(n_tasks, n_edges, n_cores)``: number of float64 numbers of work space that it needs
    floats: Callable[[int, int, int], int]
    ints: Callable[[int, int, int], int]  #: the same for int64 numbers
    params: tuple[float, ...] = ()  #: passed to the rule as ``params``
    #: the planner for tasks with a work on each kind of cores; None: it cannot plan them
    unlike: "Planner | None" = None
    only_cores: ClassVar[None] = None  #: it plans for any number of cores; techniques have this attribute, too

    def __post_init__(self) -> None:
        for field in ("plan", "floats", "ints"):
            if not callable(getattr(self, field)):
                raise InputError(f"planner {self.name}: {field} must be a function, not {shown(getattr(self, field))}")
        object.__setattr__(self, "params", floats(f"planner {self.name}", self.params))


def planner_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function to a planner's rule.

    Raises
    ------
    InputError
        If its number of arguments is wrong.
    """
    return compiled_rule(function, "planner_kernel", (PLAN, ("problem",)))


@compiled()
def first_fault(source: Ints, target: Ints, speed: Floats, core: Ints, begin: Floats) -> int:
    """Return the first task of a plan that cannot run as planned, ``SOUND`` if there is none: its core is absent or invalid, or
    its start is below 0, not finite, or before the start of one of its producers."""
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
    """No scheduler: the tasks of a graph have given hosts or cores.

    Once its data have arrived, a task with a host waits for the first free core of that host; the tasks of a core run in
    their order. This is for workflows planned elsewhere, and for simulating a run again.
    """

    name: str = "mapped"
    only_cores: ClassVar[None] = None  # techniques have this attribute, too


MAPPED = Mapped()
