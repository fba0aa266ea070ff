"""The state of task graphs: what the application engine knows of the edges, the waiting tasks and the transfers of a job."""

from __future__ import annotations

import numpy as np

from als.network.flows import FlowState, new_flow_state
from als.network.state import KIND, NO_NETWORK, NONE, NetworkState
from als.planners.contract import PlanningProblem
from traces.compiled import Array, own
from traces.kernels.signatures import Floats, Ints, Ints2
from traces.kernels.state import State, fields_of

__all__ = [
    "BY_RANK",
    "BY_TECHNIQUE",
    "NO_GRAPH",
    "ON_CORES",
    "ON_HOSTS",
    "PLANNED",
    "GraphState",
    "anew_room",
    "new_graph_state",
]

# How a part's tasks come to cores: the column PHASE_MODE of ApplicationState.phases.
BY_TECHNIQUE = 0  # cores ask, a technique says how many of the waiting tasks they get
PLANNED = 1  # every task has its core, and every core a sequence
ON_HOSTS = 2  # every task has its host, whose cores take them in order
ON_CORES = 3  # every task has its core by itself; from then on as PLANNED

#: Bit of the column PHASE_ORDER: tasks wait by upward rank, and not by number.
BY_RANK = 1

# Entries of GraphState.numbers.
TASK_0 = 0  # first task of the part
EDGE_0 = 1  # first edge of the part
TASKS = 2  # of the part
EDGES = 3
UNDONE = 4  # tasks of the part that have not ended
ROUND_LEFT = 5  # R: tasks of the round that were not handed out
ROUND = 6  # number of the round, from 0; rounds that have begun, before the first request
ROUND_OPEN = 7  # whether a rule's 0 is overruled in this round: CLOSED, OPEN or LEFT_OVER
PLACE_0 = 8  # of a rule that chooses its tasks: no place of the round before this one is free
WAITING = 9  # tasks that wait, in all pools
TURNED_AWAY = 10  # cores that wait for the next round
WAIT_NS = 11  # sum over cores of the time in which only data were missing
TRANSFERS = 12  # transfers between hosts
MODE = 13
DATA = 14  # whether data take time: there is a network
FAULT = 15  # a status to end with
REPEATS = 16  # rounds that have begun and were not the first of their part, in all parts
NUMBERS = 17

# Values of ROUND_OPEN.
CLOSED = 0  # everybody was asking, or waiting, as it began: what a rule keeps back it will give to somebody
OPEN = 1  # who is told 0 gets a share, unless the rule chooses its tasks: then they are promised
LEFT_OVER = 2  # nobody comes for what is left: it is shared out among those who are there

# Entries of GraphState.amounts.
LATENCY_S = 0  # what planners and ranks take a transfer between hosts to cost
S_PER_BYTE = 1
LOCAL_S_PER_BYTE = 2  # and one within a host
TRANSFER_BYTES = 3  # that have been transferred between hosts
AMOUNTS = 4

# Rows of GraphState.tasks, by a task's number in its job.
PENDING = 0  # producers that have not ended
MISSING = 1  # what has not arrived yet
NEXT = 2  # the task behind it, in a chunk or in a core's sequence; -1
AT = 3  # the core that has it or had it, -1
POSITION = 4  # its place in the order of waiting
IN_POSITION = 5  # the task at a place
SINCE_NS = 6  # when its producers had ended, or later its transfers had begun
CHUNK = 7  # its chunk
PLAN = 8  # the core, or the host, that it is for; -1
SCRATCH = 9  # work space
TASK_ROWS = 10

# Rows of GraphState.cores.
DOES = 0
TASK = 1  # the task that it computes, or whose data it waits for; -1
FREE_NS = 2  # since when it has been free for its next task
HOST = 3  # its host, counted within the job
SEQUENCE = 4  # the first task of its sequence that has not begun, -1
QUEUED = 5  # whether it is in a heap of idle cores
ORPHAN = 6  # whether its task is none of its sequence
HEAD = 7  # the first task of its chunk
CORE_ROWS = 8

# What a core does.
IDLES = 0  # it waits for tasks
ASKS = 1  # its request is under way
HEARS = 2  # an answer is under way
LACKS = 3  # it waits for its task's data
COMPUTES = 4
ABSENT = 5
AWAY = 6  # it waits for the next round
DONE = 7  # it was told that there is nothing more

# Kinds of a core's events, in the order in which those of one instant are handled.
ENDS = 0
TOLD = 1
REQUESTS = 2

# Rows of GraphState.anew.
ANEW_OF = 0  # its number in the part, of a task that is planned anew
ANEW_CORE = 1  # which core it is for
ANEW_POSITION = 2  # its place in the order of begins
ANEW_AT = 3  # the task at a place
ANEW_SCRATCH = 4
ANEW_ROWS = 5

# Rows of GraphState.pools.
WAITING_FIRST = 0  # where the heap of its waiting tasks begins
WAITING_SIZE = 1
IDLE_FIRST = 2  # where the heap of its idle cores begins
IDLE_SIZE = 3
POOL_ROWS = 4


class GraphState(State):
    """Beside ``ApplicationState``: N tasks, E edges, P cores on H hosts; all sizes 0 where no part is a graph.

    Edges are by part, tasks in them counted within the part, sorted by (source, target).

    Attributes
    ----------
    numbers : int64 (NUMBERS,)
    edge_first : int64 (I + 1,)
        Part ``i`` has the edges ``edge_first[i]`` up to, not including, ``edge_first[i + 1]``.
    source, target : int64 (E,)
    bytes : float64 (E,)
    given : int64 (N,) or (0,)
        Of graphs whose tasks are mapped: to which host (``ON_HOSTS``), or to which core (``ON_CORES``), counted within the
        job.
    host_number : int64 (H,)
        Of each of the job's hosts, in the machine.
    tasks : int64 (TASK_ROWS, N)
    cores : int64 (CORE_ROWS, P)
    pools : int64 (POOL_ROWS, H)
    waiting : int64 (N,)
        Heaps of places in the order of waiting, a pool each.
    listed : int64 (N,)
        The round's tasks by their places, of a rule that chooses; 0 … n - 1; -1 once handed out.
    idle : int64 (P,)
        Heaps of cores, a pool each.
    out_first, in_first : int64 (N + 1,)
    in_edge : int64 (E,)
        The part's edges by their targets.
    sent_ns, arrived_ns : int64 (E,)
        Records of transfers, -1 where there was none.
    anew : int64 (ANEW_ROWS, N) or (ANEW_ROWS, 0)
        Where widths change and planners plan: what is planned anew, a graph of its own. Work space.
    anew_first : int64 (2, N + 1) or (2, 0)
        Where its tasks' out-edges begin, and their in-edges.
    anew_edges : int64 (3, E) or (3, 0)
        Its edges' producers and consumers, and their order by consumers.
    anew_gflop, anew_bytes : float64 (N,), (E,) or (0,)
        The work of its tasks; of its edges.
    anew_speed : float64 (P,) or (0,)
        Where widths change: the speeds of the cores that stay, 0 of the others.
    ranks : float64 (N,)
        Work space, and what a planner says of the begin of each task, s.
    amounts : float64 (AMOUNTS,)
    problem : PlanningProblem
        The part that has begun last, as planners see it, with their work space.
    flows : FlowState
    net : NetworkState
    hooks : int64
        ``als.engine.dag.hooks``.
    """

    numbers: Ints
    edge_first: Ints
    source: Ints
    target: Ints
    bytes: Floats
    given: Ints
    host_number: Ints
    tasks: Ints2
    cores: Ints2
    pools: Ints2
    waiting: Ints
    listed: Ints
    idle: Ints
    out_first: Ints
    in_first: Ints
    in_edge: Ints
    sent_ns: Ints
    arrived_ns: Ints
    anew: Ints2
    anew_first: Ints2
    anew_edges: Ints2
    anew_gflop: Floats
    anew_bytes: Floats
    anew_speed: Floats
    ranks: Floats
    amounts: Floats
    problem: PlanningProblem
    flows: FlowState
    net: NetworkState
    hooks: Ints


def new_graph_state(
    edge_first: Array,
    source: Array,
    target: Array,
    n_bytes: Array,
    core_host: Array,
    host_number: Array,
    net: NetworkState,
    hooks: Array,
    *,
    n_tasks: int,
    longest_route: int,
    plan_room: tuple[int, int] = (0, 0),
    given: Array | None = None,
) -> GraphState:
    """A state with arrays of its own.

    Parameters
    ----------
    edge_first, source, target, n_bytes, host_number, net, hooks, given
        As the attributes.
    core_host : int64 (P,)
        The host of each core, counted within the job, in the order in which they first appear.
    n_tasks : int
        N.
    longest_route : int
        The most links between two hosts of the machine; 0 where no links are shared.
    plan_room : (int, int)
        How many numbers and how many places planners need.
    """
    n_edges, n_cores, n_hosts = len(source), len(core_host), len(host_number)
    cores = np.zeros((CORE_ROWS, n_cores), np.int64)
    cores[HOST] = core_host
    return GraphState(
        numbers=np.zeros(NUMBERS, np.int64),
        edge_first=own(edge_first, np.int64),
        source=own(source, np.int64),
        target=own(target, np.int64),
        bytes=own(n_bytes, np.float64),
        given=np.zeros(0, np.int64) if given is None else own(given, np.int64),
        host_number=own(host_number, np.int64),
        tasks=np.empty((TASK_ROWS, n_tasks), np.int64),
        cores=cores,
        pools=np.zeros((POOL_ROWS, max(1, n_hosts)), np.int64),
        waiting=np.empty(n_tasks, np.int64),
        listed=np.empty(n_tasks, np.int64),
        idle=np.empty(n_cores, np.int64),
        out_first=np.empty(n_tasks + 1, np.int64),
        in_first=np.empty(n_tasks + 1, np.int64),
        in_edge=np.empty(n_edges, np.int64),
        sent_ns=np.full(n_edges, -1, np.int64),
        arrived_ns=np.full(n_edges, -1, np.int64),
        **anew_room(0, 0, 0),
        ranks=np.empty(n_tasks),
        amounts=np.zeros(AMOUNTS),
        problem=_new_problem(*plan_room),
        flows=new_flow_state(n_edges if net.numbers[KIND] != NONE else 0, max(1, longest_route)),
        net=net,
        hooks=hooks,
    )


def anew_room(n_tasks: int, n_edges: int, n_cores: int) -> dict[str, Array]:
    """The columns that are needed only where widths change, by their names, of sizes 0 or enough for any part."""
    first = n_tasks + 1 if n_tasks else 0
    return {
        "anew": np.empty((ANEW_ROWS, n_tasks), np.int64),
        "anew_first": np.empty((2, first), np.int64),
        "anew_edges": np.empty((3, n_edges), np.int64),
        "anew_gflop": np.empty(n_tasks),
        "anew_bytes": np.empty(n_edges),
        "anew_speed": np.empty(n_cores),
    }


def _new_problem(n_floats: int, n_ints: int) -> PlanningProblem:
    # Where a part's columns are is said as it begins.
    none, no_numbers = np.zeros(0, np.int64), np.zeros(0)
    columns = {
        name: no_numbers if field.dtype == np.float64 else none for name, field in fields_of(PlanningProblem).items()
    }
    return PlanningProblem(**columns | {"floats": np.empty(n_floats), "ints": np.empty(n_ints, np.int64)})


def _no_graph() -> GraphState:
    none = np.zeros(0, np.int64)
    empty = new_graph_state(none, none, none, np.zeros(0), none, none, NO_NETWORK, none, n_tasks=0, longest_route=0)
    return empty._replace(numbers=none)


#: Of all applications without a graph: nothing is ever written there.
NO_GRAPH = _no_graph()
