"""Tasks of a graph that wait for a core, and cores that wait for tasks: pools of both, of which one is always empty or
about to be."""

from __future__ import annotations

from als.engine import state as s
from als.engine.dag import state as g
from als.engine.dag.hooks import SEND, call_hook
from als.engine.dag.state import GraphState
from als.engine.state import ApplicationState
from als.engine.status import OVERFLOW
from als.network.flows import ARRIVED, BEYOND
from traces.algorithms.event_heap import heap_push
from traces.algorithms.key_heap import key_pop, key_push
from traces.base.time import MAX_NS, duration_ns
from traces.compiled import compiled

__all__ = [
    "begin_planned",
    "begin_task",
    "count_wait",
    "fetch",
    "host_of",
    "idle",
    "make_ready",
    "note_arrival",
    "put_in_pool",
    "request_now",
    "take_alone",
    "wake",
]


@compiled(merged=True)
def request_now(state: ApplicationState, c: int, t: int) -> None:
    """Core ``c`` is to be served at ``t``."""
    state.graph.cores[g.DOES, c] = g.ASKS
    key = g.REQUESTS * state.graph.cores.shape[1] + c
    state.counters[s.ASKING] = heap_push(state.ask_ns, state.ask_core, state.counters[s.ASKING], t, key)


@compiled(inner=True)
def wake(state: ApplicationState, pool: int, t: int) -> bool:
    """Let the lowest idle core of a pool be served at ``t``, if there is one."""
    graph = state.graph
    pools, cores = graph.pools, graph.cores
    planned = graph.numbers[g.MODE] == g.PLANNED
    while pools[g.IDLE_SIZE, pool] > 0:
        c = graph.idle[pools[g.IDLE_FIRST, pool]]
        pools[g.IDLE_SIZE, pool] = key_pop(graph.idle, pools[g.IDLE_FIRST, pool], pools[g.IDLE_SIZE, pool])
        cores[g.QUEUED, c] = 0
        # Those that have got something to do since then are idle no more.
        if cores[g.DOES, c] == g.IDLES or (planned and cores[g.DOES, c] == g.LACKS and cores[g.ORPHAN, c] == 0):
            count_wait(state, c, t)
            request_now(state, c, t)
            return True
    return False


@compiled(merged=True)
def idle(state: ApplicationState, c: int, pool: int) -> None:
    """Core ``c`` has nothing to do until tasks wait in a pool."""
    graph = state.graph
    if graph.cores[g.QUEUED, c] == 0:
        graph.cores[g.QUEUED, c] = 1
        pools = graph.pools
        pools[g.IDLE_SIZE, pool] = key_push(graph.idle, pools[g.IDLE_FIRST, pool], pools[g.IDLE_SIZE, pool], c)


@compiled(merged=True)
def put_in_pool(state: ApplicationState, k: int, t: int) -> None:
    """Task ``k`` of the part waits for any core, or any core of its host, from ``t`` on."""
    graph = state.graph
    pools, numbers = graph.pools, graph.numbers
    pool = graph.tasks[g.PLAN, numbers[g.TASK_0] + k] if numbers[g.MODE] == g.ON_HOSTS else 0
    place = graph.tasks[g.POSITION, numbers[g.TASK_0] + k]
    pools[g.WAITING_SIZE, pool] = key_push(
        graph.waiting, pools[g.WAITING_FIRST, pool], pools[g.WAITING_SIZE, pool], place
    )
    numbers[g.WAITING] += 1
    if pools[g.IDLE_SIZE, pool] > 0:
        wake(state, pool, t)


@compiled(merged=True)
def make_ready(state: ApplicationState, k: int, t: int) -> None:
    """All producers of task ``k`` of the part have ended, the last of them at ``t``."""
    graph = state.graph
    task = graph.numbers[g.TASK_0] + k
    graph.tasks[g.SINCE_NS, task] = t
    if graph.numbers[g.MODE] == g.BY_TECHNIQUE or graph.tasks[g.PLAN, task] < 0:
        put_in_pool(state, k, t)
    elif graph.tasks[g.MISSING, task] == 0:
        have_all(state, k, t)


@compiled(inner=True)
def have_all(state: ApplicationState, k: int, t: int) -> None:
    """The last of the data that task ``k`` of the part needs has arrived where the task is to be computed."""
    graph = state.graph
    cores, task = graph.cores, graph.numbers[g.TASK_0] + k
    if graph.tasks[g.AT, task] >= 0:
        c = graph.tasks[g.AT, task]
        if cores[g.TASK, c] == k and cores[g.DOES, c] == g.LACKS:
            begin_task(state, c, k, t)
    elif graph.numbers[g.MODE] == g.ON_HOSTS:
        put_in_pool(state, k, t)
    else:
        c = graph.tasks[g.PLAN, task]
        if cores[g.SEQUENCE, c] == k and cores[g.DOES, c] == g.LACKS and cores[g.ORPHAN, c] == 0:
            begin_planned(state, c, t)


@compiled(merged=True)
def take_alone(state: ApplicationState, c: int, k: int) -> None:
    """Core ``c`` gets a chunk of one task."""
    counters, graph = state.counters, state.graph
    task = graph.numbers[g.TASK_0] + k
    graph.tasks[g.AT, task] = c
    graph.tasks[g.CHUNK, task] = counters[s.CHUNKS]
    graph.cores[g.TASK, c] = k
    graph.cores[g.HEAD, c] = k
    state.cores[s.HELD_SIZE, c] = 1
    state.taken[task] = 1
    counters[s.CHUNKS] += 1
    counters[s.LEFT] -= 1


@compiled(inner=True)
def begin_planned(state: ApplicationState, c: int, t: int) -> None:
    """Core ``c`` begins the next task of its sequence."""
    graph = state.graph
    k = graph.cores[g.SEQUENCE, c]
    graph.cores[g.SEQUENCE, c] = graph.tasks[g.NEXT, graph.numbers[g.TASK_0] + k]
    take_alone(state, c, k)
    begin_task(state, c, k, t)


@compiled(inner=True)
def count_wait(state: ApplicationState, c: int, t: int) -> None:
    """Core ``c``, if it lacks nothing but the data of its next task, has waited for them up to ``t``, and is free from then."""
    graph = state.graph
    numbers, cores = graph.numbers, graph.cores
    k = cores[g.TASK, c]
    if numbers[g.DATA] == 0 or cores[g.DOES, c] != g.LACKS or k < 0:
        return
    task = numbers[g.TASK_0] + k
    if graph.tasks[g.PENDING, task] == 0:
        numbers[g.WAIT_NS] += max(0, t - max(cores[g.FREE_NS, c], graph.tasks[g.SINCE_NS, task]))
    cores[g.FREE_NS, c] = max(cores[g.FREE_NS, c], t)


@compiled(merged=True)
def begin_task(state: ApplicationState, c: int, k: int, t: int) -> None:
    """Core ``c`` begins to compute task ``k`` of the part at ``t``."""
    graph, own = state.graph, state.cores
    cores, task = graph.cores, graph.numbers[g.TASK_0] + k
    if graph.numbers[g.DATA] != 0:
        lacked = t - max(cores[g.FREE_NS, c], graph.tasks[g.SINCE_NS, task])
        graph.numbers[g.WAIT_NS] += max(0, lacked)
    if state.counters[s.WIDTH] != 0 and cores[g.HEAD, c] == k:
        t += own[s.OWES_NS, c]
        state.counters[s.SCHEDULING] += own[s.OWES_NS, c]
        own[s.OWES_NS, c] = 0
    took = duration_ns(state.lengths[task], state.speed[c])
    if t + took >= MAX_NS - state.latency_ns[c]:
        graph.numbers[g.FAULT] = OVERFLOW
    cores[g.DOES, c] = g.COMPUTES
    cores[g.TASK, c] = k
    graph.tasks[g.AT, task] = c
    own[s.BEGAN_NS, c] = own[s.HELD_FROM_NS, c] = t
    state.amounts[s.HELD_WORK, c] = state.lengths[task]
    if cores[g.HEAD, c] == k:
        own[s.WORK_NS, c] = 0
        own[s.SHIFT_NS, c] = took
        state.amounts[s.SQUARES, c] = 0.0
    if state.start_ns.size > 0:
        state.start_ns[task] = t
        state.core[task] = state.core_number[c]
        state.chunk[task] = graph.tasks[g.CHUNK, task]
    key = g.ENDS * cores.shape[1] + c
    state.counters[s.ASKING] = heap_push(state.ask_ns, state.ask_core, state.counters[s.ASKING], t + took, key)


@compiled(inner=True)
def note_arrival(state: ApplicationState, edge: int, t: int) -> None:
    """The bytes of an edge of the part have arrived at ``t``."""
    graph = state.graph
    numbers, tasks = graph.numbers, graph.tasks
    at = numbers[g.EDGE_0] + edge
    target = numbers[g.TASK_0] + graph.target[at]
    graph.arrived_ns[at] = t
    if graph.cores[g.HOST, tasks[g.AT, numbers[g.TASK_0] + graph.source[at]]] != host_of(graph, target):
        numbers[g.TRANSFERS] += 1
        graph.amounts[g.TRANSFER_BYTES] += graph.bytes[at]
    tasks[g.MISSING, target] -= 1
    if tasks[g.MISSING, target] == 0:
        have_all(state, graph.target[at], t)


@compiled(merged=True)
def host_of(graph: GraphState, task: int) -> int:
    """The host, counted within the job, where a task is computed or to be computed."""
    if graph.tasks[g.AT, task] >= 0:
        return int(graph.cores[g.HOST, graph.tasks[g.AT, task]])
    planned = graph.tasks[g.PLAN, task]
    return int(planned if graph.numbers[g.MODE] == g.ON_HOSTS else graph.cores[g.HOST, planned])


@compiled(inner=True)
def fetch(state: ApplicationState, edge: int, t: int) -> None:
    """Begin the transfer of an edge of the part, whose producer has ended, to where its consumer is to be."""
    graph = state.graph
    at = graph.numbers[g.EDGE_0] + edge
    source = graph.numbers[g.TASK_0] + graph.source[at]
    target = graph.numbers[g.TASK_0] + graph.target[at]
    producer = graph.tasks[g.AT, source]
    same_core = producer == graph.tasks[g.AT, target]
    if graph.numbers[g.MODE] == g.PLANNED and graph.tasks[g.AT, target] < 0:
        same_core = producer == graph.tasks[g.PLAN, target]
    if graph.numbers[g.DATA] == 0 or same_core or graph.bytes[at] == 0.0:
        graph.tasks[g.MISSING, target] -= 1
        if graph.tasks[g.MISSING, target] == 0:
            have_all(state, graph.target[at], t)
        return
    graph.sent_ns[at] = t
    answer = call_hook(graph.hooks[SEND], (graph, edge, t))
    if answer == ARRIVED:
        note_arrival(state, edge, t)
    elif answer == BEYOND:
        graph.numbers[g.FAULT] = OVERFLOW
