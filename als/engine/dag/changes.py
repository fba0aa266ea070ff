"""Changes during a graph: a core changes its speed, is lost or comes (back); the application is stopped."""

from als.engine.codes import OVERFLOW, SUSPENDED
from als.engine.dag import state as g
from als.engine.dag.events import ask_again, end_task, take_arrivals
from als.engine.dag.tasks import count_wait, next_of_chunk, put_in_pool, request, request_now, wake
from als.engine.hooks import CANCEL, HOOK, call_graph_hook
from als.engine.releases import released
from als.engine.requests import drop_event, forget, place_in_heap
from als.engine.state import ApplicationState
from traces.algorithms.event_heap import heap_drop_top, heap_settle
from traces.base.time import MAX_NS, duration_ns
from traces.compiled import compiled


@compiled(inner=True)
def end_what_ends(state: ApplicationState, now: int) -> None:
    """End the tasks that end at this instant."""
    slots = state.graph.cores.does.size
    while state.n_asking > 0 and state.cores.ask_ns[0] == now and state.cores.ask_core[0] < slots:
        c = state.cores.ask_core[0]
        state.n_asking = heap_drop_top(state.cores.ask_ns, state.cores.ask_core, state.n_asking)
        end_task(state, c, now)


@compiled(inner=True)
def _give_up(state: ApplicationState, k: int) -> None:
    """Take task ``k`` from its core and discard its transfers; any core may begin it again."""
    graph, tasks, task = state.graph, state.graph.tasks, state.graph.first_task + k
    if tasks.at[task] >= 0:
        tasks.at[task] = -1
        state.taken[task] = 0
        state.n_left += 1
        forget(state, task, task + 1)
    tasks.missing[task] = 0
    if graph.mode == g.ON_HOSTS:
        tasks.since_ns[task] = state.now_ns  # its data stay on the host
    else:
        for at in range(graph.in_first[k], graph.in_first[k + 1]):
            edge = graph.in_edge[at]
            if graph.has_data != 0:
                call_graph_hook(graph.hooks[CANCEL], (graph, edge, -1))
            graph.sent_ns[graph.first_edge + edge] = graph.arrived_ns[graph.first_edge + edge] = -1
    if graph.mode == g.PLANNED:
        tasks.plan[task] = -1
    if tasks.pending[task] == 0:
        put_in_pool(state, k, state.now_ns)


@compiled(inner=True)
def _lose(state: ApplicationState, c: int) -> None:
    """Remove core ``c``; other cores may take its present and planned tasks."""
    graph, cores, now = state.graph, state.graph.cores, state.now_ns
    drop_event(state, place_in_heap(state, c, cores.does.size))
    count_wait(state, c, now)
    does, planned, began = cores.does[c], graph.mode == g.PLANNED, state.cores.began_ns[c]
    if does == g.COMPUTES and began < now:
        state.cores.busy_ns[c] += now - began
        state.cores.finish_ns[c] = now
    state.speed[c] = 0.0
    cores.does[c] = g.ABSENT
    state.n_present -= 1
    state.away_ns = max(state.away_ns, now)
    if does == g.AWAY:
        graph.n_turned_away -= 1
    elif does != g.DONE:
        state.barrier_ns = max(state.barrier_ns, now)
    has = does == g.COMPUTES or does == g.EXPECTS or (does == g.LACKS and (not planned or cores.orphan[c] != 0))
    head = k = cores.task[c] if has else -1
    while k >= 0:
        following = next_of_chunk(graph, k)
        _give_up(state, k)
        k = following
    k = cores.sequence[c]
    while k >= 0:
        following = graph.tasks.next[graph.first_task + k]
        _give_up(state, k)
        k = following
    cores.task[c] = cores.sequence[c] = -1
    state.cores.held_size[c] = 0
    if head >= 0:
        state.fruitless += 1
        for other in range(state.speed.size):
            if cores.does[other] == g.DONE and not released(state, other):
                request_now(state, other, now + state.latency_ns[other])
        if graph.mode == g.BY_TECHNIQUE and graph.round_left > 0:
            ask_again(state, now, g.OPEN)
    pool = cores.host[c] if graph.mode == g.ON_HOSTS else 0
    if graph.pools.waiting_size[pool] > 0:
        wake(state, pool, now)  # the lost core may have been next


@compiled(inner=True)
def come_to_graph(state: ApplicationState, c: int, t: int) -> None:
    """Add core ``c``, which asks at once."""
    cores = state.graph.cores
    state.cores.held_size[c] = cores.orphan[c] = 0
    cores.task[c] = cores.sequence[c] = -1
    cores.free_ns[c] = t
    request(state, c, t)


@compiled(HOOK)
def change_speed_in_graph(state: ApplicationState, c: int, speed_gflops: float) -> int:
    """``als.engine.injected_changes.set_speed`` for a part that is a graph; the application has not ended."""
    graph, own, now = state.graph, state.cores, state.now_ns
    if graph.has_data != 0:
        take_arrivals(state, now, 0)
    end_what_ends(state, now)
    before = state.speed[c]
    if speed_gflops == 0.0:
        if before > 0.0:
            _lose(state, c)
        return SUSPENDED
    state.speed[c] = speed_gflops
    if before == 0.0:
        state.n_present += 1
        come_to_graph(state, c, now)
        return SUSPENDED
    if graph.cores.does[c] != g.COMPUTES:
        return SUSPENDED
    t, work = own.held_from_ns[c], state.cores.held_work[c]
    if t < now:
        # Never 0: a running task has work left, whatever the rounding.
        work = max(work - (now - t) * 1e-9 * before, 1e-300)
        own.held_from_ns[c], state.cores.held_work[c] = now, work
        t = now
    t += duration_ns(work, speed_gflops)
    if t >= MAX_NS - state.latency_ns[c]:
        state.status = OVERFLOW
        return OVERFLOW
    at = place_in_heap(state, c, graph.cores.does.size)
    heap_settle(state.cores.ask_ns, state.cores.ask_core, state.n_asking, at, t)
    return SUSPENDED


@compiled(inner=True)
def _never_runs(state: ApplicationState, k: int) -> None:
    """Take the tasks of a chunk from ``k`` on from their core."""
    graph = state.graph
    while k >= 0:
        graph.tasks.at[graph.first_task + k] = -1
        k = next_of_chunk(graph, k)


@compiled(inner=True)
def _cut(state: ApplicationState) -> int:
    """End the running tasks; returns their number."""
    graph, now, cut = state.graph, state.now_ns, 0
    for c in range(state.speed.size):
        does, k = graph.cores.does[c], graph.cores.task[c]
        count_wait(state, c, now)
        if does == g.COMPUTES and state.cores.began_ns[c] < now:
            state.cores.busy_ns[c] += now - state.cores.began_ns[c]
            cut += 1
            if state.start_ns.size > 0:
                state.end_ns[graph.first_task + k] = now
            _never_runs(state, next_of_chunk(graph, k))
        elif does == g.COMPUTES or does == g.EXPECTS or does == g.LACKS:
            _never_runs(state, k)
    return cut


@compiled(HOOK)
def stop_in_graph(state: ApplicationState, _c: int, _speed: float) -> int:
    """``als.engine.injected_changes.stop`` for a part that is a graph; returns 1 if the application has completed, else 0."""
    graph = state.graph
    now, n_cores = state.now_ns, state.speed.size
    for c in range(n_cores):
        does = graph.cores.does[c]
        state.cores.away[c] = 1 if does == g.DONE or does == g.ABSENT or does == g.AWAY or does == g.IDLES else 0
    chunks = state.n_chunks
    end_what_ends(state, now)
    state.n_chunks = chunks  # chunks that would begin now never do
    ran = graph.n_tasks - graph.n_undone
    if graph.n_undone == 0 and state.part == state.part_first.size - 2:
        state.n_ran = graph.first_task + ran
        return 1
    state.n_ran = graph.first_task + ran + _cut(state)
    for edge in range(graph.first_edge, graph.first_edge + graph.n_edges):
        if graph.sent_ns[edge] == now:  # it would begin now: too late
            graph.sent_ns[edge] = graph.arrived_ns[edge] = -1
    working = False
    for c in range(n_cores):
        working = working or state.cores.away[c] == 0
    for c in range(n_cores):
        if (state.cores.away[c] == 0 or not working) and not released(state, c):
            state.cores.finish_ns[c] = now
    return 0
