"""Waiting tasks and idle cores of a graph; how a task becomes ready, gets its data, and begins."""

from als.engine.codes import OVERFLOW
from als.engine.dag import state as g
from als.engine.dag.state import GraphState
from als.engine.hooks import SEND, call_graph_hook
from als.engine.requests import push_event
from als.engine.state import ApplicationState
from als.network.flows import ARRIVED, BEYOND
from traces.algorithms.event_heap import key_pop, key_push
from traces.base.time import MAX_NS, duration_ns
from traces.compiled import compiled


@compiled(merged=True)
def begin_doing(state: ApplicationState, c: int, does: int, kind: int, t: int) -> None:
    """Set the activity of core ``c`` until its event of a kind at ``t``."""
    state.graph.cores.does[c] = does
    push_event(state, t, kind * state.graph.cores.does.size + c)


@compiled(merged=True)
def request_now(state: ApplicationState, c: int, t: int) -> None:
    """Schedule the service of core ``c`` at ``t``."""
    begin_doing(state, c, g.ASKS, g.REQUESTS, t)


@compiled(merged=True)
def request(state: ApplicationState, c: int, t: int) -> None:
    """Send the request of core ``c`` at ``t``; with a technique it takes a message each way."""
    request_now(state, c, t + state.latency_ns[c] if state.graph.mode == g.BY_TECHNIQUE else t)


@compiled(inner=True)
def count_wait(state: ApplicationState, c: int, t: int) -> None:
    """Count the time up to ``t`` in which core ``c`` waited only for data of its next task."""
    graph, cores = state.graph, state.graph.cores
    k = cores.task[c]
    if graph.has_data == 0 or cores.does[c] != g.LACKS or k < 0:
        return
    task = graph.first_task + k
    if graph.tasks.pending[task] == 0:
        graph.wait_ns += max(0, t - max(cores.free_ns[c], graph.tasks.since_ns[task]))
    cores.free_ns[c] = max(cores.free_ns[c], t)


@compiled(merged=True)
def is_idle(graph: GraphState, c: int) -> bool:
    """Whether core ``c`` waits for tasks or (planned) for the data of its next task."""
    lacks = graph.mode == g.PLANNED and graph.cores.does[c] == g.LACKS and graph.cores.orphan[c] == 0
    return bool(lacks or graph.cores.does[c] == g.IDLES)


@compiled(inner=True)
def wake(state: ApplicationState, pool: int, t: int) -> bool:
    """Let the lowest idle core of a pool be served at ``t``, if there is one."""
    graph, pools, cores = state.graph, state.graph.pools, state.graph.cores
    while pools.idle_size[pool] > 0:
        c = graph.idle[pools.idle_first[pool]]
        pools.idle_size[pool] = key_pop(graph.idle, pools.idle_first[pool], pools.idle_size[pool])
        cores.queued[c] = 0
        if is_idle(graph, c):  # it may be busy by now
            count_wait(state, c, t)
            request_now(state, c, t)
            return True
    return False


@compiled(merged=True)
def idle(state: ApplicationState, c: int, pool: int) -> None:
    """Let core ``c`` wait for tasks of a pool."""
    graph = state.graph
    if graph.cores.queued[c] == 0:
        graph.cores.queued[c] = 1
        pools = graph.pools
        pools.idle_size[pool] = key_push(graph.idle, pools.idle_first[pool], pools.idle_size[pool], c)


@compiled(merged=True)
def push_waiting(graph: GraphState, pool: int, k: int) -> None:
    """Put task ``k`` of the part into a pool."""
    pools, place = graph.pools, graph.tasks.position[graph.first_task + k]
    pools.waiting_size[pool] = key_push(graph.waiting, pools.waiting_first[pool], pools.waiting_size[pool], place)
    graph.n_waiting += 1


@compiled(merged=True)
def pop_waiting(graph: GraphState, pool: int) -> int:
    """Take the first task out of a pool; returns its number in the part."""
    pools = graph.pools
    k = graph.tasks.in_position[graph.first_task + graph.waiting[pools.waiting_first[pool]]]
    pools.waiting_size[pool] = key_pop(graph.waiting, pools.waiting_first[pool], pools.waiting_size[pool])
    graph.n_waiting -= 1
    return int(k)


@compiled(merged=True)
def put_in_pool(state: ApplicationState, k: int, t: int) -> None:
    """Let task ``k`` of the part wait for any core, or any core of its host, from ``t`` on."""
    graph, pools = state.graph, state.graph.pools
    pool = graph.tasks.plan[graph.first_task + k] if graph.mode == g.ON_HOSTS else 0
    push_waiting(graph, pool, k)
    if pools.idle_size[pool] > 0:
        wake(state, pool, t)


@compiled(merged=True)
def make_ready(state: ApplicationState, k: int, t: int) -> None:
    """Make task ``k`` of the part ready: its last producer ended at ``t``."""
    graph, task = state.graph, state.graph.first_task + k
    graph.tasks.since_ns[task] = t
    if graph.mode == g.BY_TECHNIQUE or graph.tasks.plan[task] < 0:
        put_in_pool(state, k, t)
    elif graph.tasks.missing[task] == 0:
        _have_all(state, k, t)


@compiled(inner=True)
def _have_all(state: ApplicationState, k: int, t: int) -> None:
    """Continue task ``k`` of the part, all of whose data have arrived at its core or host."""
    graph, cores, task = state.graph, state.graph.cores, state.graph.first_task + k
    if graph.tasks.at[task] >= 0:
        c = graph.tasks.at[task]
        if cores.task[c] == k and cores.does[c] == g.LACKS:
            begin_task(state, c, k, t)
    elif graph.mode == g.ON_HOSTS:
        put_in_pool(state, k, t)
    else:
        c = graph.tasks.plan[task]
        if cores.sequence[c] == k and cores.does[c] == g.LACKS and cores.orphan[c] == 0:
            begin_planned(state, c, t)


@compiled(merged=True)
def give(state: ApplicationState, c: int, k: int) -> None:
    """Add task ``k`` of the part to the next chunk of core ``c``."""
    tasks, task = state.graph.tasks, state.graph.first_task + k
    tasks.at[task], tasks.chunk[task] = c, state.n_chunks
    state.taken[task] = 1
    state.n_left -= 1


@compiled(merged=True)
def take_alone(state: ApplicationState, c: int, k: int) -> None:
    """Give core ``c`` a chunk of one task."""
    give(state, c, k)
    state.graph.cores.task[c] = state.graph.cores.head[c] = k
    state.cores.held_size[c] = 1
    state.n_chunks += 1


@compiled(inner=True)
def begin_planned(state: ApplicationState, c: int, t: int) -> None:
    """Begin the next task of core ``c``'s sequence."""
    graph, k = state.graph, state.graph.cores.sequence[c]
    graph.cores.sequence[c] = graph.tasks.next[graph.first_task + k]
    take_alone(state, c, k)
    begin_task(state, c, k, t)


@compiled(merged=True)
def begin_task(state: ApplicationState, c: int, k: int, t: int) -> None:
    """Begin to compute task ``k`` of the part on core ``c`` at ``t``."""
    graph, cores, own, task = state.graph, state.graph.cores, state.cores, state.graph.first_task + k
    if graph.has_data != 0:
        graph.wait_ns += max(0, t - max(cores.free_ns[c], graph.tasks.since_ns[task]))
    if state.width != 0 and cores.head[c] == k:
        t += own.owes_ns[c]
        state.scheduling_ns += own.owes_ns[c]
        own.owes_ns[c] = 0
    work = state.lengths[task]
    if state.devices.gflop.size > 0:
        work = state.devices.gflop[state.devices.slots.kind[c] * state.lengths.size + task]
    took = duration_ns(work, state.speed[c])
    if t + took >= MAX_NS - state.latency_ns[c]:
        graph.fault = OVERFLOW
    own.began_ns[c] = own.held_from_ns[c] = t
    own.held_work[c] = work
    if cores.head[c] == k:
        own.work_ns[c], own.shift_ns[c], own.squares[c] = 0, took, 0.0
    if state.start_ns.size > 0:
        state.start_ns[task] = t
        state.core[task] = state.core_number[c]
        state.chunk[task] = graph.tasks.chunk[task]
    begin_doing(state, c, g.COMPUTES, g.ENDS, t + took)


@compiled(inner=True)
def note_arrival(state: ApplicationState, edge: int, t: int) -> None:
    """Record that the bytes of an edge of the part have arrived at ``t``."""
    graph, tasks = state.graph, state.graph.tasks
    at = graph.first_edge + edge
    target = graph.first_task + graph.target[at]
    graph.arrived_ns[at] = t
    if graph.cores.host[tasks.at[graph.first_task + graph.source[at]]] != host_of(graph, target):
        graph.n_transfers += 1
        graph.transfer_bytes += graph.bytes[at]
    tasks.missing[target] -= 1
    if tasks.missing[target] == 0:
        _have_all(state, graph.target[at], t)


@compiled(merged=True)
def host_of(graph: GraphState, task: int) -> int:
    """The present or future host of a task, counted within the job."""
    if graph.tasks.at[task] >= 0:
        return int(graph.cores.host[graph.tasks.at[task]])
    planned = graph.tasks.plan[task]
    return int(planned if graph.mode == g.ON_HOSTS else graph.cores.host[planned])


@compiled(inner=True)
def fetch(state: ApplicationState, edge: int, t: int) -> None:
    """Begin the transfer of an edge of the part, whose producer has ended, to the place of its consumer."""
    graph, at = state.graph, state.graph.first_edge + edge
    target, producer = graph.first_task + graph.target[at], graph.tasks.at[graph.first_task + graph.source[at]]
    same_core = producer == graph.tasks.at[target]
    if graph.mode == g.PLANNED and graph.tasks.at[target] < 0:
        same_core = producer == graph.tasks.plan[target]
    if graph.has_data == 0 or same_core or graph.bytes[at] == 0.0:
        graph.tasks.missing[target] -= 1
        if graph.tasks.missing[target] == 0:
            _have_all(state, graph.target[at], t)
        return
    graph.sent_ns[at] = t
    answer = call_graph_hook(graph.hooks[SEND], (graph, edge, t))
    if answer == ARRIVED:
        note_arrival(state, edge, t)
    elif answer == BEYOND:
        graph.fault = OVERFLOW


@compiled(inner=True)
def fetch_all(state: ApplicationState, k: int, t: int) -> None:
    """Begin the transfers to task ``k`` of the part from producers that have ended."""
    graph, tasks, first = state.graph, state.graph.tasks, state.graph.first_task
    # One more, so that it does not begin before all its transfers have begun.
    tasks.missing[first + k] = graph.in_first[k + 1] - graph.in_first[k] + 1
    for at in range(graph.in_first[k], graph.in_first[k + 1]):
        source = graph.source[graph.first_edge + graph.in_edge[at]]
        by = tasks.at[first + source]
        if by >= 0 and graph.cores.task[by] != source:
            fetch(state, graph.in_edge[at], t)
    tasks.missing[first + k] -= 1


@compiled(merged=True)
def next_of_chunk(graph: GraphState, k: int) -> int:
    """The task that follows task ``k`` of the part in its chunk; -1."""
    return int(graph.tasks.next[graph.first_task + k] if graph.mode == g.BY_TECHNIQUE else -1)
