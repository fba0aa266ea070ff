"""The state of task graphs: what the application engine knows of the edges, the waiting tasks and the transfers of a job."""

from typing import NamedTuple

import numpy as np

from als.engine import codes
from als.network.flows import FlowState, flow_sizes
from als.network.routes import longest_route
from als.network.state import NO_NETWORK, NONE, NetworkState
from als.planners.contract import COSTS, PlanningProblem
from traces.compiled import Array
from traces.kernels.signatures import Floats, Ints
from traces.kernels.state import State, column

# The codes, as integers for kernels:
BY_TECHNIQUE, PLANNED, ON_HOSTS, ON_CORES = map(int, codes.Mode)
CLOSED, OPEN, LEFT_OVER = map(int, codes.RoundOpen)
IDLES, ASKS, HEARS, LACKS, COMPUTES, ABSENT, AWAY, DONE = map(int, codes.Does)
ENDS, TOLD, REQUESTS = map(int, codes.CoreEvent)

#: Bit of the column PHASE_ORDER: tasks wait by upward rank, and not by number.
BY_RANK = 1


class GraphTasks(State, dim="nodes"):
    """By a task's number in its job."""

    pending: Ints = column()  # producers that have not ended
    missing: Ints = column()  # what has not arrived yet
    next: Ints = column()  # the task behind it, in a chunk or in a core's sequence; -1
    at: Ints = column()  # the core that has it or had it, -1
    position: Ints = column()  # its place in the order of waiting
    in_position: Ints = column()  # the task at a place
    since_ns: Ints = column()  # when its producers had ended, or later its transfers had begun
    chunk: Ints = column()  # its chunk
    plan: Ints = column()  # the core, or the host, that it is for; -1
    scratch: Ints = column()  # work space


class GraphCores(State, dim="graph_cores"):
    """Of each core of the job."""

    does: Ints = column(fill=codes.Does.IDLES)  # what it does
    task: Ints = column()  # the task that it computes, or whose data it waits for; -1
    free_ns: Ints = column()  # since when it has been free for its next task
    host: Ints = column()  # its host, counted within the job
    sequence: Ints = column()  # the first task of its sequence that has not begun, -1
    queued: Ints = column()  # 1 where it is in a heap of idle cores
    orphan: Ints = column()  # 1 where its task is none of its sequence
    head: Ints = column()  # the first task of its chunk


class Anew(State, dim="anew"):
    """Where widths change and planners plan: what is planned anew. Work space."""

    of: Ints = column()  # a task's number in the part
    core: Ints = column()  # which core it is for
    position: Ints = column()  # its place in the order of begins
    at: Ints = column()  # the task at a place
    scratch: Ints = column()  # work space
    gflop: Floats = column()  # its work, GFLOP
    # Where a task's out-edges begin, and its in-edges
    out_first: Ints = column("anew_bounds")
    in_first: Ints = column("anew_bounds")
    source: Ints = column("anew_edges")  # the task that makes the data of each edge
    target: Ints = column("anew_edges")  # the task that needs them
    in_edge: Ints = column("anew_edges")  # the edges by the tasks that need them
    bytes: Floats = column("anew_edges")  # how many bytes they are
    speed: Floats = column("anew_cores")  # of each core that stays; 0 of the others


class Pools(State, dim="pools"):
    """The pools of waiting tasks and idle cores, one for each host, or one."""

    waiting_first: Ints = column()  # where the heap of its waiting tasks begins
    waiting_size: Ints = column()  # its size
    idle_first: Ints = column()  # where the heap of its idle cores begins
    idle_size: Ints = column()  # its size


class GraphState(State):
    """Beside ``ApplicationState``: N tasks, E edges, P cores on H hosts; all sizes 0 where no part is a graph.

    Edges are by part, tasks in them counted within the part, sorted by (source, target).
    """

    exists: int = 1  # 0 where no part is a graph
    first_task: int = 0  # of the part
    first_edge: int = 0  # of the part
    n_tasks: int = 0  # of the part
    n_edges: int = 0  # of the part
    n_undone: int = 0  # tasks of the part that have not ended
    round_left: int = 0  # R: tasks of the round that were not handed out
    round: int = 0  # number of the round, from 0; rounds that have begun, before the first request
    round_open: int = codes.RoundOpen.CLOSED  # whether a rule's 0 is overruled in the round
    first_place: int = 0  # of a rule that chooses its tasks: no place of the round before this one is free
    n_waiting: int = 0  # tasks that wait, in all pools
    n_turned_away: int = 0  # cores that wait for the next round
    wait_ns: int = 0  # sum over cores of the time in which only data were missing
    n_transfers: int = 0  # transfers between hosts
    transfer_bytes: float = 0.0  # that have been transferred between hosts
    mode: int = 0  # BY_TECHNIQUE … ON_CORES
    has_data: int = 0  # 1 where data take time: there is a network
    fault: int = 0  # a status to end with
    repeats: int = 0  # rounds that have begun and were not the first of their part, in all parts
    # Part ``i`` has the edges ``edge_first[i]`` up to, not including, ``edge_first[i + 1]``
    edge_first: Ints = column("edge_bounds", constant=True)
    source: Ints = column("edges", constant=True)  # the task that makes the data of each edge
    target: Ints = column("edges", constant=True)  # the task that needs them
    bytes: Floats = column("edges", constant=True)  # how many bytes they are
    # Of graphs whose tasks are mapped: to which host (``ON_HOSTS``), or to which core (``ON_CORES``), counted within the job
    given: Ints = column("given", constant=True)
    host_number: Ints = column("hosts", constant=True)  # of each of the job's hosts, in the machine
    tasks: GraphTasks = column()  # each task
    cores: GraphCores = column()  # each core
    pools: Pools = column()  # waiting tasks and idle cores
    waiting: Ints = column("nodes")  # heaps of places in the order of waiting, a pool each
    # The round's tasks by their places, of a rule that chooses; 0 … n - 1; -1 once handed out
    listed: Ints = column("nodes")
    idle: Ints = column("graph_cores")  # heaps of cores, a pool each
    # The part's edges: task k's are ``out_first[k]:out_first[k+1]``, and to it lead ``in_edge[in_first[k]:in_first[k+1]]``
    out_first: Ints = column("node_bounds")
    in_first: Ints = column("node_bounds")
    in_edge: Ints = column("edges")
    # Records of transfers, -1 where there was none
    sent_ns: Ints = column("edges", fill=-1)
    arrived_ns: Ints = column("edges", fill=-1)
    anew: Anew  # what is planned anew
    ranks: Floats = column("nodes")  # work space, and what a planner says of the begin of each task, s
    costs: Floats = column(COSTS)  # what planners and ranks take data to cost (``PlanningProblem.costs``)
    problem: PlanningProblem = column()  # the part that has begun last, as planners see it, with their work space
    flows: FlowState = column()  # transfers under way
    net: NetworkState  # the network
    hooks: Ints  # what only some graphs do (``als.engine.hooks``)


class Edges(NamedTuple):
    """The edges of an application's graphs, part by part; those of a part are sorted by (source, target), and make no cycle."""

    first: Array  # int64 (I + 1,): part ``i`` has the edges ``first[i]`` up to, not including, ``first[i + 1]``
    source: Array  # int64 (E,): producer, counted within its part
    target: Array  # int64 (E,): consumer, likewise
    bytes: Array  # float64 (E,): what the consumer needs of the producer; 0: it only waits for it


def new_graph_state(
    edges: Edges,
    core_host: Array,
    host_number: Array,
    net: NetworkState,
    hooks: Array,
    *,
    n_tasks: int,
    plan_room: tuple[int, int],
    given: Array | None = None,
    anew: Anew | None = None,
) -> GraphState:
    """A state with columns of its own, of N tasks, with ``plan_room`` for the numbers and the places that planners need.

    ``core_host`` is the host of each core, counted within the job, in the order in which they first appear: int64 (P,). The
    others are as the attributes.
    """
    n_edges, n_hosts = len(edges.source), len(host_number)
    sizes = {
        "edge_bounds": len(edges.first),
        "edges": n_edges,
        "given": 0 if given is None else len(given),
        "hosts": n_hosts,
        "nodes": n_tasks,
        "node_bounds": n_tasks + 1,
        "graph_cores": len(core_host),
        "pools": max(1, n_hosts),
    }
    return GraphState.new(
        sizes | flow_sizes(n_edges if net.kind != NONE else 0, max(1, int(longest_route(net)))),
        edge_first=edges.first,
        source=edges.source,
        target=edges.target,
        bytes=edges.bytes,
        given=() if given is None else given,
        host_number=host_number,
        cores=GraphCores.new(sizes, host=core_host),
        anew=anew or Anew.none(),
        # Where the columns of a part are is set when it begins.
        problem=PlanningProblem.none(floats=np.empty(plan_room[0]), ints=np.empty(plan_room[1], np.int64)),
        net=net,
        hooks=hooks,
    )


def anew_room(n_tasks: int, n_edges: int, n_cores: int) -> Anew:
    """What is needed only where widths change, enough for any part."""
    return Anew.new({"anew": n_tasks, "anew_bounds": n_tasks + 1, "anew_edges": n_edges, "anew_cores": n_cores})


#: Of all applications without a graph: nothing is ever written there.
NO_GRAPH = GraphState.none(exists=0, anew=Anew.none(), problem=PlanningProblem.none(), net=NO_NETWORK)
