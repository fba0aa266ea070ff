"""The state of task graphs in the application engine: edges, waiting tasks and transfers of a job."""

from typing import NamedTuple

import numpy as np

from als.engine import codes
from als.network.state import NO_NETWORK, NONE, FlowState, NetworkState, flow_sizes
from als.planners.contract import COSTS, PlanningProblem
from traces.base.options import named
from traces.compiled import Array
from traces.kernels.signatures import Floats, Ints, Shorts
from traces.kernels.state import State, column

# The codes, as integers for kernels:
BY_TECHNIQUE, PLANNED, ON_HOSTS, ON_CORES = map(int, codes.Mode)
CLOSED, OPEN, LEFT_OVER = map(int, codes.RoundOpen)
IDLES, ASKS, EXPECTS, LACKS, COMPUTES, ABSENT, AWAY, DONE = map(int, codes.Does)
ENDS, ANSWERED, REQUESTS = map(int, codes.CoreEvent)

BY_RANK = 1  #: bit of the column PHASE_ORDER: tasks wait by upward rank, and not by number


class GraphTasks(State, dim="nodes"):
    """By a task's number in its job."""

    pending: Ints = column()  # producers that have not ended
    missing: Ints = column()  # inputs that have not arrived yet
    next: Ints = column()  # the next task of its chunk, or of its core's sequence; -1
    at: Ints = column()  # the core that has it or had it, -1
    position: Ints = column()  # its place in the order of waiting tasks
    in_position: Ints = column()  # the task at a place
    since_ns: Ints = column()  # end of its producers, or the later begin of its transfers
    chunk: Ints = column()  # its chunk
    plan: Ints = column()  # planned core, or host; -1
    scratch: Ints = column()  # work space


class GraphCores(State, dim="graph_cores"):
    """A row for each core of the job."""

    does: Ints = column(fill=codes.Does.IDLES)  # what it does
    task: Ints = column()  # the task that it computes, or whose data it waits for; -1
    free_ns: Ints = column()  # since when it has been free for its next task
    host: Ints = column()  # its host, counted within the job
    sequence: Ints = column()  # the first task of its sequence that has not begun, -1
    queued: Ints = column()  # 1 where it is in a heap of idle cores
    orphan: Ints = column()  # 1 where its task is not in its sequence
    head: Ints = column()  # the first task of its chunk


class Replanning(State, dim="replanning"):
    """Work space for planning again after a change of width."""

    of: Ints = column()  # a task's number in the part
    core: Ints = column()  # its planned core
    position: Ints = column()  # its place in the order of begins
    at: Ints = column()  # the task at a place
    scratch: Ints = column()  # work space
    gflop: Floats = column()  # its work, GFLOP
    out_first: Ints = column("replanned_bounds")  # where the out-edges of a task begin
    in_first: Ints = column("replanned_bounds")  # where its in-edges begin
    source: Ints = column("replanned_edges")  # producer of each edge
    target: Ints = column("replanned_edges")  # its consumer
    in_edge: Ints = column("replanned_edges")  # the edges, ordered by consumer
    bytes: Floats = column("replanned_edges")  # data of each edge
    speed: Floats = column("replanned_cores")  # of each core, GFLOP/s; 0 for one that leaves


class Pools(State, dim="pools"):
    """Pools of waiting tasks and idle cores: one for each host, or one for all."""

    waiting_first: Ints = column()  # where the heap of its waiting tasks begins
    waiting_size: Ints = column()  # its size
    idle_first: Ints = column()  # where the heap of its idle cores begins
    idle_size: Ints = column()  # its size


class GraphState(State):
    """N tasks, E edges, P cores on H hosts; empty if no part is a graph. Edges are sorted by (part, source, target)."""

    exists: int = 1  # 0 where no part is a graph
    first_task: int = 0  # first task of the present part
    first_edge: int = 0  # its first edge
    n_tasks: int = 0  # its tasks
    n_edges: int = 0  # its edges
    n_undone: int = 0  # tasks of the part that have not ended
    round_left: int = 0  # R: tasks of the round that were not handed out
    round: int = 0  # number of the round, from 0; rounds that have begun, before the first request
    round_open: int = codes.RoundOpen.CLOSED  # whether tasks are handed out though the rule answers 0
    first_place: int = 0  # of a rule that chooses its tasks: no place of the round before this one is free
    n_waiting: int = 0  # tasks that wait, in all pools
    n_turned_away: int = 0  # cores waiting for the next round
    wait_ns: int = 0  # sum over cores of the time in which only data were missing
    n_transfers: int = 0  # transfers between hosts
    transfer_bytes: float = 0.0  # data transferred between hosts
    mode: int = 0  # BY_TECHNIQUE … ON_CORES
    has_data: int = 0  # 1 where data take time: there is a network
    fault: int = 0  # status to end with
    repeats: int = 0  # rounds that have begun and were not the first of their part, in all parts
    edge_first: Ints = column("edge_bounds", constant=True)  # first edge of each part
    source: Ints = column("edges", constant=True)  # producer of each edge, counted within its part
    target: Ints = column("edges", constant=True)  # its consumer, counted within its part
    bytes: Floats = column("edges", constant=True)  # data that the consumer needs; 0: it only waits
    given: Ints = column("given", constant=True)  # host (ON_HOSTS) or core (ON_CORES) of each task, within the job
    host_number: Ints = column("hosts", constant=True)  # number of each of the job's hosts in the machine
    tasks: GraphTasks = column()  # each task
    cores: GraphCores = column()  # each core
    pools: Pools = column()  # waiting tasks and idle cores
    waiting: Ints = column("nodes")  # one heap of places in the order of waiting tasks per pool
    listed: Ints = column("nodes")  # tasks of the round by place, for a rule that chooses; -1 once handed out
    idle: Ints = column("graph_cores")  # one heap of cores per pool
    out_first: Ints = column("node_bounds")  # task k of the part has the out-edges out_first[k] … out_first[k + 1] - 1
    in_first: Ints = column("node_bounds")  # its in-edges are in_edge[in_first[k]] … in_edge[in_first[k + 1] - 1]
    in_edge: Ints = column("edges")  # edges of the part, ordered by consumer
    sent_ns: Ints = column("edges", fill=-1)  # begin of the transfer of each edge; -1: none
    arrived_ns: Ints = column("edges", fill=-1)  # its end; -1: none
    replanning: Replanning  # work space for planning again
    ranks: Floats = column("nodes")  # work space; a planner's begin of each task, s
    costs: Floats = column(COSTS)  # costs of data assumed by planners and ranks (``PlanningProblem.costs``)
    problem: PlanningProblem = column()  # the part that began last, for planners, with their work space
    flows: FlowState = column()  # transfers under way
    net: NetworkState  # the network
    hooks: Ints  # kernels that only some graphs call (``als.engine.hooks``)


class TransferColumns(State, dim="transfers"):
    """The columns of ``traces.ledger.TransferRecords``, application by application; of size 0 if none are kept."""

    # As there
    source: Shorts = column()
    target: Shorts = column()
    bytes: Floats = column()
    sent_ns: Ints = column()
    arrived_ns: Ints = column()


class Edges(NamedTuple):
    """Edges of an application's graphs, sorted by (part, source, target), without a cycle."""

    first: Array  # int64 (I + 1,): part i has the edges first[i] … first[i + 1] - 1
    source: Array  # int64 (E,): producer, counted within its part
    target: Array  # int64 (E,): consumer, counted within its part
    bytes: Array  # float64 (E,): data that the consumer needs; 0: it only waits


def new_graph_state(
    edges: Edges,
    core_host: Array,
    host_number: Array,
    net: NetworkState,
    hooks: Array,
    *,
    n_tasks: int,
    plan_room: tuple[int, int],
    given: Array | tuple[()] | None = None,
    replanning: Replanning | None = None,
) -> GraphState:
    """Make a state of N tasks, with ``plan_room`` floats and integers for planners, and the host of each core."""
    n_edges, given = len(edges.source), () if given is None else given
    sizes = {
        "edge_bounds": len(edges.first),
        "edges": n_edges,
        "given": len(given),
        "hosts": len(host_number),
        "nodes": n_tasks,
        "node_bounds": n_tasks + 1,
        "graph_cores": len(core_host),
        "pools": max(1, len(host_number)),
    }
    # Only networks have routes.
    longest = 1 if net.kind == NONE else int(named("als.network.routes:longest_route")(net))
    return GraphState.new(
        sizes | flow_sizes(n_edges if net.kind != NONE else 0, longest),
        edge_first=edges.first,
        source=edges.source,
        target=edges.target,
        bytes=edges.bytes,
        given=given,
        host_number=host_number,
        cores=GraphCores.new(sizes, host=core_host),
        replanning=replanning or Replanning.none(),
        problem=PlanningProblem.none(floats=np.empty(plan_room[0]), ints=np.empty(plan_room[1], np.int64)),
        net=net,
        hooks=hooks,
    )


def replanning_room(n_tasks: int, n_edges: int, n_cores: int) -> Replanning:
    """Work space for planning any part again."""
    return Replanning.new(
        {"replanning": n_tasks, "replanned_bounds": n_tasks + 1, "replanned_edges": n_edges, "replanned_cores": n_cores}
    )


#: Shared by all applications without a graph, and never written.
NO_GRAPH = GraphState.none(exists=0, replanning=Replanning.none(), problem=PlanningProblem.none(), net=NO_NETWORK)
