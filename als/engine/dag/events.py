"""The events of a part that is a graph.

The order at one instant: due transfers end; tasks end and answers arrive (by core), and their transfers begin; transfers that
end within half a ns also end; requests are served (by core). A core that waits for data begins when they arrive.
"""

from als.engine import state as s
from als.engine.codes import ALL_LOST, OVERFLOW, PART_DONE, STUCK, SUSPENDED, TASKS_LEFT
from als.engine.dag import state as g
from als.engine.dag.dispatch import serve_request, take_answer
from als.engine.dag.tasks import (
    begin_planned,
    begin_task,
    fetch,
    idle,
    make_ready,
    note_arrival,
    pop_waiting,
    request,
    take_alone,
    wake,
)
from als.engine.hooks import ARRIVED, HOOK, LEAVE_GRAPH, NEXT, call_graph_hook, call_hook
from als.engine.releases import release, released
from als.engine.state import ApplicationState
from traces.algorithms.event_heap import heap_drop_top
from traces.base.time import MAX_NS
from traces.compiled import compiled


@compiled(merged=True)
def end_task(state: ApplicationState, c: int, t: int) -> None:
    """End the task of core ``c`` at ``t``; its event is no longer in the heap."""
    graph, cores, own = state.graph, state.graph.cores, state.cores
    tasks, first, k = graph.tasks, graph.first_task, cores.task[c]
    took = t - own.began_ns[c]
    beyond = float(took - own.shift_ns[c])
    own.squares[c] += beyond * beyond
    state.cores.busy_ns[c] += took
    own.work_ns[c] += took
    graph.n_undone -= 1
    state.fruitless = 0
    if state.start_ns.size > 0:
        state.end_ns[first + k] = t
    planned = graph.mode != g.BY_TECHNIQUE
    for edge in range(graph.out_first[k], graph.out_first[k + 1]):
        target = graph.target[graph.first_edge + edge]
        tasks.pending[first + target] -= 1
        ready = tasks.pending[first + target] == 0
        if ready:
            tasks.since_ns[first + target] = t
        if planned and tasks.plan[first + target] >= 0:
            fetch(state, edge, t)
        elif ready:
            make_ready(state, target, t)
    cores.free_ns[c] = state.cores.finish_ns[c] = t
    following = -1 if planned else tasks.next[first + k]
    if following >= 0:
        cores.task[c] = following
        if tasks.missing[first + following] == 0:
            begin_task(state, c, following, t)
        else:
            cores.does[c] = g.LACKS
        return
    cores.task[c] = -1
    if planned:
        own.held_size[c] = 0
        state.barrier_ns = max(state.barrier_ns, t)
    request(state, c, t)


@compiled(inner=True)
def _let_go(state: ApplicationState, c: int, t: int) -> bool:
    """Release core ``c``, which has no planned tasks left, at ``t`` if possible; returns whether it was released."""
    release(state, c, t)
    if released(state, c):
        state.graph.cores.does[c] = g.DONE
    return released(state, c)


@compiled(inner=True)
def _look_at_plan(state: ApplicationState, c: int, t: int) -> None:
    """Give the free core ``c`` the next task of its sequence if it can begin, or else an unassigned one."""
    graph, cores, tasks, first = state.graph, state.graph.cores, state.graph.tasks, state.graph.first_task
    head = cores.sequence[c]
    cores.orphan[c] = 0
    if head >= 0 and tasks.missing[first + head] == 0:
        begin_planned(state, c, t)
        if graph.pools.waiting_size[0] > 0:
            wake(state, 0, t)  # another core must take the waiting task
    elif graph.pools.waiting_size[0] > 0:
        k = pop_waiting(graph, 0)
        cores.orphan[c] = 1
        take_alone(state, c, k)
        take_answer(state, c, t)
    elif head < 0 and _let_go(state, c, t):
        cores.task[c] = -1
    else:
        cores.task[c] = head
        cores.does[c] = g.IDLES if head < 0 else g.LACKS
        idle(state, c, 0)


@compiled(merged=True)
def _serve(state: ApplicationState, c: int, t: int) -> None:
    """Serve core ``c``, free at ``t``, after all other events of that instant."""
    graph, mode = state.graph, state.graph.mode
    if (
        state.n_leaving > 0
        and state.cores.wanted[c] == s.TO_LEAVE
        and call_hook(state.hooks[LEAVE_GRAPH], (state, t, float(c))) == 1
    ):
        return
    if mode == g.BY_TECHNIQUE:
        serve_request(state, c, t)
    elif mode == g.PLANNED:
        _look_at_plan(state, c, t)
    else:
        pool = graph.cores.host[c]
        if graph.pools.waiting_size[pool] > 0:
            k = pop_waiting(graph, pool)
            take_alone(state, c, k)
            begin_task(state, c, k, t)
            if state.n_left == 0:
                for other in range(state.speed.size):
                    if graph.cores.does[other] == g.IDLES:
                        _let_go(state, other, t)
        elif state.n_left > 0 or not _let_go(state, c, t):
            graph.cores.does[c] = g.IDLES
            idle(state, c, pool)


@compiled(inner=True)
def take_arrivals(state: ApplicationState, t: int, rounded: int) -> None:
    """End the transfers that end by ``t``, or (``rounded`` = 1) at an instant that is rounded to ``t``."""
    graph = state.graph
    edge = call_graph_hook(graph.hooks[ARRIVED], (graph, rounded, t))
    while edge >= 0:
        note_arrival(state, edge, t)
        edge = call_graph_hook(graph.hooks[ARRIVED], (graph, rounded, t))


@compiled(merged=True)
def _handle(state: ApplicationState, t: int) -> None:
    graph, slots, ask_ns, ask_core = state.graph, state.graph.cores.does.size, state.cores.ask_ns, state.cores.ask_core
    data = graph.has_data != 0
    if data:
        take_arrivals(state, t, 0)
    while state.n_asking > 0 and ask_ns[0] == t and ask_core[0] < g.REQUESTS * slots:
        key = ask_core[0]
        state.n_asking = heap_drop_top(ask_ns, ask_core, state.n_asking)
        if key < slots:
            end_task(state, key, t)
        else:
            take_answer(state, key - slots, t)
    if data:
        take_arrivals(state, t, 1)
    while state.n_asking > 0 and ask_ns[0] == t and ask_core[0] >= g.REQUESTS * slots:
        key = ask_core[0]
        state.n_asking = heap_drop_top(ask_ns, ask_core, state.n_asking)
        _serve(state, key - g.REQUESTS * slots, t)


@compiled(HOOK)
def serve_graph(state: ApplicationState, until_ns: int, _speed: float) -> int:
    """Simulate the present part up to ``until_ns`` (exclusive); returns why it stopped, as
    ``als.engine.chunk_dispatch.serve``, or a fault of a planner."""
    graph, ask_ns = state.graph, state.cores.ask_ns
    while True:
        if graph.fault != 0:
            return int(graph.fault)
        t = ask_ns[0] if state.n_asking > 0 else MAX_NS
        if graph.has_data != 0:
            t = min(t, call_graph_hook(graph.hooks[NEXT], (graph, -1, -1)))
        if t < MAX_NS:
            if t >= until_ns:
                return SUSPENDED
            _handle(state, t)
            continue
        if graph.n_undone == 0:
            return PART_DONE
        for edge in range(graph.n_edges if graph.has_data != 0 else 0):
            if graph.flows.edge_slot[edge] >= 0:  # a transfer would arrive after the end of time
                return OVERFLOW
        if state.n_present + state.n_released < state.speed.size:
            if graph.n_turned_away > 0 and state.away_ns < until_ns:
                ask_again(state, state.away_ns, g.LEFT_OVER)  # for the tasks kept for absent cores
                continue
            return ALL_LOST if until_ns == s.NEVER else SUSPENDED
        return TASKS_LEFT if graph.mode == g.BY_TECHNIQUE else STUCK


@compiled(inner=True)
def ask_again(state: ApplicationState, t: int, how: int) -> None:
    """Let the cores that wait for the next round ask again at ``t``, and overrule a rule's 0 (``OPEN`` or ``LEFT_OVER``),
    since a core is absent."""
    graph = state.graph
    graph.round_open = max(graph.round_open, how)
    graph.n_turned_away = 0
    for c in range(state.speed.size):
        if graph.cores.does[c] == g.AWAY:
            request(state, c, t)
