"""The application engine's work on a part that is a graph: what happens at one instant after another.

At one instant, in this order: transfers that were due end; tasks end and answers reach their cores (by core), and their
transfers begin; those that end within half a ns from then end too; requests are served (by core). A core that lacked
nothing but data begins as they arrive.
"""

from __future__ import annotations

from als.engine import state as s
from als.engine.dag import state as g
from als.engine.dag.dispatch import serve_request, take_told
from als.engine.dag.hooks import ARRIVED_AT, ARRIVED_BY, NEXT, call_hook
from als.engine.dag.ready_pool import (
    begin_planned,
    begin_task,
    fetch,
    idle,
    make_ready,
    note_arrival,
    request_now,
    take_alone,
    wake,
)
from als.engine.hooks import LEAVE_GRAPH
from als.engine.hooks import call_hook as call_application_hook
from als.engine.releases import release, released
from als.engine.state import ApplicationState
from als.engine.status import ALL_LOST, OVERFLOW, PART_DONE, STUCK, SUSPENDED, TASKS_LEFT
from traces.algorithms.event_heap import heap_drop_top, heap_push
from traces.algorithms.key_heap import key_pop
from traces.base.time import MAX_NS
from traces.compiled import compiled

__all__ = ["ask_again", "end_task", "serve_graph", "take_arrivals"]


@compiled(merged=True)
def end_task(state: ApplicationState, c: int, t: int) -> None:
    """Core ``c`` has computed its task, at ``t``; its event has been taken from the heap."""
    counters, graph, own = state.counters, state.graph, state.cores
    numbers, cores, tasks = graph.numbers, graph.cores, graph.tasks
    first, k = numbers[g.TASK_0], cores[g.TASK, c]
    took = t - own[s.BEGAN_NS, c]
    beyond = float(took - own[s.SHIFT_NS, c])
    state.amounts[s.SQUARES, c] += beyond * beyond
    state.busy_ns[c] += took
    own[s.WORK_NS, c] += took
    numbers[g.UNDONE] -= 1
    counters[s.FRUITLESS] = 0
    if state.start_ns.size > 0:
        state.end_ns[first + k] = t
    planned = numbers[g.MODE] != g.BY_TECHNIQUE
    for edge in range(graph.out_first[k], graph.out_first[k + 1]):
        target = graph.target[numbers[g.EDGE_0] + edge]
        tasks[g.PENDING, first + target] -= 1
        ready = tasks[g.PENDING, first + target] == 0
        if ready:
            tasks[g.SINCE_NS, first + target] = t
        if planned and tasks[g.PLAN, first + target] >= 0:
            fetch(state, edge, t)
        elif ready:
            make_ready(state, target, t)
    cores[g.FREE_NS, c] = state.finish_ns[c] = t
    following = -1 if planned else tasks[g.NEXT, first + k]
    if following >= 0:
        cores[g.TASK, c] = following
        if tasks[g.MISSING, first + following] == 0:
            begin_task(state, c, following, t)
        else:
            cores[g.DOES, c] = g.LACKS
        return
    cores[g.TASK, c] = -1
    cores[g.DOES, c] = g.ASKS
    arrives = t
    if not planned:
        arrives += state.latency_ns[c]
    else:
        own[s.HELD_SIZE, c] = 0
        counters[s.BARRIER] = max(counters[s.BARRIER], t)
    key = g.REQUESTS * cores.shape[1] + c
    counters[s.ASKING] = heap_push(state.ask_ns, state.ask_core, counters[s.ASKING], arrives, key)


@compiled(merged=True)
def _first_waiting(state: ApplicationState, pool: int) -> int:
    """Take the first task of a pool."""
    graph = state.graph
    pools, first = graph.pools, graph.numbers[g.TASK_0]
    k = graph.tasks[g.IN_POSITION, first + graph.waiting[pools[g.WAITING_FIRST, pool]]]
    pools[g.WAITING_SIZE, pool] = key_pop(graph.waiting, pools[g.WAITING_FIRST, pool], pools[g.WAITING_SIZE, pool])
    graph.numbers[g.WAITING] -= 1
    return int(k)


@compiled(inner=True)
def _let_go(state: ApplicationState, c: int, t: int) -> bool:
    """Whether core ``c``, for which nothing is planned any more, is released at ``t``."""
    release(state, c, t)
    if released(state, c):
        state.graph.cores[g.DOES, c] = g.DONE
        return True
    return False


@compiled(inner=True)
def _look_at_plan(state: ApplicationState, c: int, t: int) -> None:
    """Give core ``c``, which is free, the next task of its sequence if that can begin, or else one that nobody has."""
    graph = state.graph
    cores, tasks, first = graph.cores, graph.tasks, graph.numbers[g.TASK_0]
    head = cores[g.SEQUENCE, c]
    cores[g.ORPHAN, c] = 0
    if head >= 0 and tasks[g.MISSING, first + head] == 0:
        begin_planned(state, c, t)
        if graph.pools[g.WAITING_SIZE, 0] > 0:
            wake(state, 0, t)  # it may have been woken for what waits there
    elif graph.pools[g.WAITING_SIZE, 0] > 0:
        k = _first_waiting(state, 0)
        cores[g.ORPHAN, c] = 1
        take_alone(state, c, k)
        take_told(state, c, t)
    elif head < 0 and _let_go(state, c, t):
        cores[g.TASK, c] = -1
    else:
        cores[g.TASK, c] = head
        cores[g.DOES, c] = g.IDLES if head < 0 else g.LACKS
        idle(state, c, 0)


@compiled(merged=True)
def _serve(state: ApplicationState, c: int, t: int) -> None:
    """Serve core ``c``, free at ``t``; whatever else happens then has happened."""
    graph = state.graph
    mode = graph.numbers[g.MODE]
    if (
        state.counters[s.LEAVING] > 0
        and state.cores[s.WANTED, c] == s.TO_LEAVE
        and call_application_hook(state.hooks[LEAVE_GRAPH], (state, t, float(c))) == 1
    ):
        return
    if mode == g.BY_TECHNIQUE:
        serve_request(state, c, t)
    elif mode == g.PLANNED:
        _look_at_plan(state, c, t)
    else:
        pool = graph.cores[g.HOST, c]
        if graph.pools[g.WAITING_SIZE, pool] > 0:
            k = _first_waiting(state, pool)
            take_alone(state, c, k)
            begin_task(state, c, k, t)
            if state.counters[s.LEFT] == 0:
                for other in range(state.speed.size):
                    if graph.cores[g.DOES, other] == g.IDLES:
                        _let_go(state, other, t)
        elif state.counters[s.LEFT] > 0 or not _let_go(state, c, t):
            graph.cores[g.DOES, c] = g.IDLES
            idle(state, c, pool)


@compiled(inner=True)
def take_arrivals(state: ApplicationState, t: int, slot: int) -> None:
    """Let the transfers end that end by ``t``, or at what is rounded to ``t``: ``ARRIVED_BY``, ``ARRIVED_AT``."""
    graph = state.graph
    edge = call_hook(graph.hooks[slot], (graph, -1, t))
    while edge >= 0:
        note_arrival(state, edge, t)
        edge = call_hook(graph.hooks[slot], (graph, -1, t))


@compiled(merged=True)
def _handle(state: ApplicationState, t: int) -> None:
    """Handle everything that happens at one instant."""
    counters, graph = state.counters, state.graph
    slots = graph.cores.shape[1]
    data = graph.numbers[g.DATA] != 0
    if data:
        take_arrivals(state, t, ARRIVED_BY)
    while counters[s.ASKING] > 0 and state.ask_ns[0] == t and state.ask_core[0] < g.REQUESTS * slots:
        key = state.ask_core[0]
        counters[s.ASKING] = heap_drop_top(state.ask_ns, state.ask_core, counters[s.ASKING])
        if key < slots:
            end_task(state, key, t)
        else:
            take_told(state, key - slots, t)
    if data:
        take_arrivals(state, t, ARRIVED_AT)
    while counters[s.ASKING] > 0 and state.ask_ns[0] == t and state.ask_core[0] >= g.REQUESTS * slots:
        key = state.ask_core[0]
        counters[s.ASKING] = heap_drop_top(state.ask_ns, state.ask_core, counters[s.ASKING])
        _serve(state, key - g.REQUESTS * slots, t)


@compiled()
def serve_graph(state: ApplicationState, until_ns: int) -> int:
    """Let everything of the present part happen that happens before ``until_ns``; returns why it stopped, as
    ``als.engine.chunk_dispatch.serve``, or a fault of a planner."""
    counters, graph = state.counters, state.graph
    numbers = graph.numbers
    while True:
        if numbers[g.FAULT] != 0:
            return int(numbers[g.FAULT])
        t = state.ask_ns[0] if counters[s.ASKING] > 0 else MAX_NS
        if numbers[g.DATA] != 0:
            t = min(t, call_hook(graph.hooks[NEXT], (graph, -1, -1)))
        if t < MAX_NS:
            if t >= until_ns:
                return SUSPENDED
            _handle(state, t)
            continue
        if numbers[g.UNDONE] == 0:
            return PART_DONE
        if numbers[g.DATA] != 0 and _any_flying(state):
            return OVERFLOW
        if counters[s.PRESENT] + counters[s.RELEASED] < state.speed.size:
            if numbers[g.TURNED_AWAY] > 0 and counters[s.AWAY_NS] < until_ns:
                ask_again(state, counters[s.AWAY_NS], g.LEFT_OVER)  # for what was to be the absent cores'
                continue
            return ALL_LOST if until_ns == s.NEVER else SUSPENDED
        return TASKS_LEFT if numbers[g.MODE] == g.BY_TECHNIQUE else STUCK


@compiled(inner=True)
def ask_again(state: ApplicationState, t: int, how: int) -> None:
    """Those who wait for the next round ask again at ``t``, and a rule's 0 is overruled, ``OPEN`` or ``LEFT_OVER``: a core is
    absent."""
    graph = state.graph
    graph.numbers[g.ROUND_OPEN] = max(graph.numbers[g.ROUND_OPEN], how)
    graph.numbers[g.TURNED_AWAY] = 0
    for c in range(state.speed.size):
        if graph.cores[g.DOES, c] == g.AWAY:
            request_now(state, c, t + state.latency_ns[c])


@compiled(inner=True)
def _any_flying(state: ApplicationState) -> bool:
    """Whether a transfer is under way, though it will not arrive before time ends."""
    graph = state.graph
    flying = False
    for edge in range(graph.numbers[g.EDGES]):
        flying = flying or graph.flows.edge_slot[edge] >= 0
    return bool(flying)
