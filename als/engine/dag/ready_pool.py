"""Tasks of a graph that wait for a core, and cores that wait for tasks: pools of both, of which one is always empty or
about to be."""

from __future__ import annotations

from als.engine.dag import state as g
from als.engine.dag.state import GraphState
from als.engine.requests import push_event
from als.engine.state import ApplicationState
from traces.algorithms.key_heap import key_pop, key_push
from traces.compiled import compiled


@compiled(merged=True)
def begin_doing(state: ApplicationState, c: int, does: int, kind: int, t: int) -> None:
    """Core ``c`` does something from now on, until its event of a kind at ``t``."""
    state.graph.cores.does[c] = does
    push_event(state, t, kind * state.graph.cores.does.size + c)


@compiled(merged=True)
def request_now(state: ApplicationState, c: int, t: int) -> None:
    """Core ``c`` is to be served at ``t``."""
    begin_doing(state, c, g.ASKS, g.REQUESTS, t)


@compiled(merged=True)
def request(state: ApplicationState, c: int, t: int) -> None:
    """Core ``c`` asks at ``t``: a technique's answer takes a message each way."""
    request_now(state, c, t + state.latency_ns[c] if state.graph.mode == g.BY_TECHNIQUE else t)


@compiled(inner=True)
def count_wait(state: ApplicationState, c: int, t: int) -> None:
    """Core ``c``, if it lacks nothing but the data of its next task, has waited for them up to ``t``, and is free from then."""
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
    """Whether core ``c`` waits for tasks, or, where they are planned, for no more than the data of its next."""
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
        if is_idle(graph, c):  # it may have got something to do since then
            count_wait(state, c, t)
            request_now(state, c, t)
            return True
    return False


@compiled(merged=True)
def idle(state: ApplicationState, c: int, pool: int) -> None:
    """Core ``c`` has nothing to do until tasks wait in a pool."""
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
    """Task ``k`` of the part waits for any core, or any core of its host, from ``t`` on."""
    graph, pools = state.graph, state.graph.pools
    pool = graph.tasks.plan[graph.first_task + k] if graph.mode == g.ON_HOSTS else 0
    push_waiting(graph, pool, k)
    if pools.idle_size[pool] > 0:
        wake(state, pool, t)
