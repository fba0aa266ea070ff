"""Changes in the middle of a graph: a core gets another speed, is lost, comes (back); the application is stopped."""

from __future__ import annotations

from als.engine import state as s
from als.engine.dag import state as g
from als.engine.dag.events import ask_again, end_task, take_arrivals
from als.engine.dag.hooks import ARRIVED_BY, CANCEL, call_hook
from als.engine.dag.ready_pool import count_wait, put_in_pool, request_now, wake
from als.engine.releases import released
from als.engine.state import ApplicationState
from als.engine.status import OVERFLOW, SUSPENDED
from traces.algorithms.event_heap import heap_drop_top, heap_settle
from traces.base.time import MAX_NS, duration_ns
from traces.compiled import compiled

__all__ = ["change_speed_in_graph", "end_what_ends", "stop_in_graph"]


@compiled(inner=True)
def end_what_ends(state: ApplicationState, now: int) -> None:
    """End the tasks that end at this very instant."""
    counters, slots = state.counters, state.graph.cores.shape[1]
    while counters[s.ASKING] > 0 and state.ask_ns[0] == now and state.ask_core[0] < slots:
        c = state.ask_core[0]
        counters[s.ASKING] = heap_drop_top(state.ask_ns, state.ask_core, counters[s.ASKING])
        end_task(state, c, now)


@compiled(inner=True)
def _place_in_heap(state: ApplicationState, c: int) -> int:
    """Where the event of core ``c`` is in the heap; -1 if it has none."""
    for at in range(state.counters[s.ASKING]):
        if state.ask_core[at] % state.graph.cores.shape[1] == c:
            return at
    return -1


@compiled(inner=True)
def _forget_transfers(state: ApplicationState, k: int) -> None:
    """Forget the transfers of a task's data, and end those that are under way."""
    graph = state.graph
    edge_0 = graph.numbers[g.EDGE_0]
    for at in range(graph.in_first[k], graph.in_first[k + 1]):
        edge = graph.in_edge[at]
        if graph.numbers[g.DATA] != 0:
            call_hook(graph.hooks[CANCEL], (graph, edge, -1))
        graph.sent_ns[edge_0 + edge] = graph.arrived_ns[edge_0 + edge] = -1


@compiled(inner=True)
def _put_back(state: ApplicationState, k: int) -> None:
    """Take a task from its core: it will begin anew somewhere."""
    graph = state.graph
    task = graph.numbers[g.TASK_0] + k
    graph.tasks[g.AT, task] = -1
    graph.tasks[g.MISSING, task] = 0
    state.taken[task] = 0
    state.counters[s.LEFT] += 1
    if state.start_ns.size > 0:
        state.start_ns[task] = state.end_ns[task] = -1
        state.core[task] = state.chunk[task] = -1
    if graph.numbers[g.MODE] == g.ON_HOSTS:
        graph.tasks[g.SINCE_NS, task] = state.counters[s.NOW]
        return  # its data are at the host
    _forget_transfers(state, k)


@compiled(inner=True)
def _lose(state: ApplicationState, c: int) -> None:
    """Core ``c`` is absent from now on; what it had, and what was planned for it, is anybody's."""
    counters, graph = state.counters, state.graph
    numbers, cores, tasks = graph.numbers, graph.cores, graph.tasks
    first, now, n_back = numbers[g.TASK_0], counters[s.NOW], 0
    at = _place_in_heap(state, c)
    if at >= 0:
        heap_settle(state.ask_ns, state.ask_core, counters[s.ASKING], at, -1)
        counters[s.ASKING] = heap_drop_top(state.ask_ns, state.ask_core, counters[s.ASKING])
    count_wait(state, c, now)
    does, planned = cores[g.DOES, c], numbers[g.MODE] == g.PLANNED
    began = state.cores[s.BEGAN_NS, c]
    if does == g.COMPUTES and began < now:
        state.busy_ns[c] += now - began
        state.finish_ns[c] = now
    state.speed[c] = 0.0
    cores[g.DOES, c] = g.ABSENT
    counters[s.PRESENT] -= 1
    counters[s.AWAY_NS] = max(counters[s.AWAY_NS], now)
    if does == g.AWAY:
        numbers[g.TURNED_AWAY] -= 1
    elif does != g.DONE:
        counters[s.BARRIER] = max(counters[s.BARRIER], now)
    # What it had, and what it was to have, is anybody's.
    has = does == g.COMPUTES or does == g.HEARS or (does == g.LACKS and (not planned or cores[g.ORPHAN, c] != 0))
    k = cores[g.TASK, c] if has else -1
    cores[g.TASK, c] = -1
    state.cores[s.HELD_SIZE, c] = 0
    # All of them first, and then they are offered: whoever takes one must not find half a chunk.
    head = k
    chunk = numbers[g.MODE] == g.BY_TECHNIQUE
    while k >= 0:
        _put_back(state, k)
        n_back += 1
        k = tasks[g.NEXT, first + k] if chunk else -1
    if planned and head >= 0:
        tasks[g.PLAN, first + head] = -1
    k = head
    while k >= 0:
        following = tasks[g.NEXT, first + k] if chunk else -1
        put_in_pool(state, k, now)
        k = following
    if planned:
        k = cores[g.SEQUENCE, c]
        cores[g.SEQUENCE, c] = -1
        while k >= 0:
            following = tasks[g.NEXT, first + k]
            tasks[g.PLAN, first + k] = -1
            tasks[g.MISSING, first + k] = 0
            _forget_transfers(state, k)
            if tasks[g.PENDING, first + k] == 0:
                put_in_pool(state, k, now)
            k = following
    if n_back > 0:
        counters[s.FRUITLESS] += 1
        for other in range(state.speed.size):
            if cores[g.DOES, other] == g.DONE and not released(state, other):
                request_now(state, other, now + state.latency_ns[other])
        if chunk and numbers[g.ROUND_LEFT] > 0:
            ask_again(state, now, g.OPEN)
    pool = cores[g.HOST, c] if numbers[g.MODE] == g.ON_HOSTS else 0
    if graph.pools[g.WAITING_SIZE, pool] > 0:
        wake(state, pool, now)  # it may have been about to be served


@compiled(inner=True)
def change_speed_in_graph(state: ApplicationState, c: int, speed_gflops: float) -> int:
    """As ``als.engine.injected_changes.set_speed``, within a part that is a graph; the application has not ended."""
    counters, graph, own = state.counters, state.graph, state.cores
    now = counters[s.NOW]
    if graph.numbers[g.DATA] != 0:
        take_arrivals(state, now, ARRIVED_BY)
    end_what_ends(state, now)
    before = state.speed[c]
    if speed_gflops == 0.0:
        if before > 0.0:
            _lose(state, c)
        return SUSPENDED
    state.speed[c] = speed_gflops
    if before == 0.0:
        counters[s.PRESENT] += 1
        own[s.HELD_SIZE, c] = 0
        graph.cores[g.FREE_NS, c] = now
        latency = state.latency_ns[c] if graph.numbers[g.MODE] == g.BY_TECHNIQUE else 0
        request_now(state, c, now + latency)
        return SUSPENDED
    if graph.cores[g.DOES, c] != g.COMPUTES:
        return SUSPENDED
    t, work = own[s.HELD_FROM_NS, c], state.amounts[s.HELD_WORK, c]
    if t < now:
        # Never quite nothing: a task that runs now has work left, whatever the rounding.
        work = max(work - (now - t) * 1e-9 * before, 1e-300)
        own[s.HELD_FROM_NS, c], state.amounts[s.HELD_WORK, c] = now, work
        t = now
    t += duration_ns(work, speed_gflops)
    if t >= MAX_NS - state.latency_ns[c]:
        counters[s.STATUS] = OVERFLOW
        return OVERFLOW
    heap_settle(state.ask_ns, state.ask_core, counters[s.ASKING], _place_in_heap(state, c), t)
    return SUSPENDED


@compiled(inner=True)
def _never_runs(state: ApplicationState, k: int) -> None:
    """Take the tasks of a chunk from ``k`` on, one behind the other, from the core that was to compute them."""
    graph = state.graph
    while k >= 0:
        task = graph.numbers[g.TASK_0] + k
        graph.tasks[g.AT, task] = -1
        k = graph.tasks[g.NEXT, task] if graph.numbers[g.MODE] == g.BY_TECHNIQUE else -1


@compiled(inner=True)
def _cut(state: ApplicationState) -> int:
    """End the tasks that run now; returns how many those are."""
    graph, now = state.graph, state.counters[s.NOW]
    cut = 0
    for c in range(state.speed.size):
        does, k = graph.cores[g.DOES, c], graph.cores[g.TASK, c]
        count_wait(state, c, now)
        if does == g.COMPUTES and state.cores[s.BEGAN_NS, c] < now:
            task = graph.numbers[g.TASK_0] + k
            state.busy_ns[c] += now - state.cores[s.BEGAN_NS, c]
            cut += 1
            if state.start_ns.size > 0:
                state.end_ns[task] = now
            if graph.numbers[g.MODE] == g.BY_TECHNIQUE:
                _never_runs(state, graph.tasks[g.NEXT, task])
        elif does == g.COMPUTES or does == g.HEARS or does == g.LACKS:
            _never_runs(state, k)
    return cut


@compiled(inner=True)
def _forget_late_transfers(state: ApplicationState, now: int) -> None:
    """Forget the transfers that would begin at the stop: they are too late."""
    graph = state.graph
    for edge in range(graph.numbers[g.EDGE_0], graph.numbers[g.EDGE_0] + graph.numbers[g.EDGES]):
        if graph.sent_ns[edge] == now:
            graph.sent_ns[edge] = graph.arrived_ns[edge] = -1


@compiled(inner=True)
def stop_in_graph(state: ApplicationState) -> bool:
    """As ``als.engine.injected_changes.stop`` of the tasks of the present part, which is a graph; returns whether the
    application has completed.

    RAN becomes the number of tasks that ran, at least in part, of the parts up to this one.
    """
    counters, graph = state.counters, state.graph
    now, n_cores = counters[s.NOW], state.speed.size
    for c in range(n_cores):
        does = graph.cores[g.DOES, c]
        state.cores[s.AWAY, c] = 1 if does == g.DONE or does == g.ABSENT or does == g.AWAY or does == g.IDLES else 0
    chunks = counters[s.CHUNKS]
    end_what_ends(state, now)
    counters[s.CHUNKS] = chunks  # what would begin now never does
    ran = graph.numbers[g.TASKS] - graph.numbers[g.UNDONE]
    if graph.numbers[g.UNDONE] == 0 and counters[s.PART] == state.part_first.size - 2:
        counters[s.RAN] = graph.numbers[g.TASK_0] + ran
        return True
    counters[s.RAN] = graph.numbers[g.TASK_0] + ran + _cut(state)
    _forget_late_transfers(state, now)
    working = False
    for c in range(n_cores):
        working = working or state.cores[s.AWAY, c] == 0
    for c in range(n_cores):
        if (state.cores[s.AWAY, c] == 0 or not working) and not released(state, c):
            state.finish_ns[c] = now
    return False
