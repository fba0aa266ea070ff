"""Changes of width during a graph: as in a loop (``als.engine.features.width``), but tasks that have not begun are reassigned.

With a technique the round ends: its unassigned tasks wait again, together with newly ready ones, and the technique loses what
it has learned. A planner plans the tasks that have not begun again, as a graph, for the remaining cores, as if these were all
idle; a task that keeps its core keeps its data there."""

from als.engine import state as s
from als.engine.dag import state as g
from als.engine.dag.changes import come_to_graph, end_what_ends
from als.engine.dag.dispatch import end_round
from als.engine.dag.setup import make_sequences, place_memo, plan, pose_problem
from als.engine.dag.tasks import count_wait, fetch_all, is_idle, push_waiting, put_in_pool, request_now, wake
from als.engine.hooks import HOOK
from als.engine.releases import count_ranks, is_last, leave, released
from als.engine.rule_table import PLACES
from als.engine.state import ApplicationState
from als.graphs.order import topological_order
from traces.compiled import compiled


@compiled(inner=True)
def _leave(state: ApplicationState, c: int, t: int, learns_ns: int) -> None:
    """Let the idle core ``c`` leave at ``learns_ns``; the last core stays."""
    graph = state.graph
    if is_last(state):
        state.cores.wanted[c] = 0
        state.n_leaving -= 1
        return
    count_wait(state, c, t)
    if graph.cores.does[c] == g.AWAY:
        graph.n_turned_away -= 1
    graph.cores.does[c] = g.DONE
    graph.cores.task[c] = -1
    leave(state, c, learns_ns)


@compiled(HOOK)
def leave_as_served(state: ApplicationState, t: int, core: float) -> int:
    """Let a leaving core that has asked leave (1); if it is the last, it stays and tasks are reassigned (0)."""
    graph, c = state.graph, int(core)
    learns_ns = t + state.latency_ns[c] if graph.mode == g.BY_TECHNIQUE else t
    _leave(state, c, t, learns_ns)
    if not released(state, c):
        _reassign(state, t)
        return 0
    state.away_ns = max(state.away_ns, t)
    state.barrier_ns = max(state.barrier_ns, learns_ns)
    if graph.pools.waiting_size[0] > 0:
        wake(state, 0, t)  # another core must take the waiting task
    return 1


@compiled(HOOK)
def resize_in_graph(state: ApplicationState, t: int, _speed: float) -> int:
    """Handle cores that come to empty slots or leave at ``t``, and reassign the tasks that have not begun."""
    for c in range(state.speed.size):
        does = state.graph.cores.does[c]
        if released(state, c):
            continue
        if does == g.ABSENT and state.speed[c] > 0.0:
            come_to_graph(state, c, t)
        elif state.cores.wanted[c] == s.TO_LEAVE and (is_idle(state.graph, c) or does == g.AWAY or does == g.DONE):
            _leave(state, c, t, t)
    end_what_ends(state, t)
    _reassign(state, t)
    return 0


@compiled(inner=True)
def _reassign(state: ApplicationState, t: int) -> None:
    """Reassign the tasks that have not begun among the remaining cores; rules lose what they have learned."""
    graph = state.graph
    count_ranks(state)
    state.memo[:] = 0.0
    place_memo(state)
    if graph.mode != g.BY_TECHNIQUE:
        _plan_again(state, t)
        return
    if graph.round >= 0:
        graph.repeats += 1
    graph.round = -1
    if graph.round_left > 0 and state.table.flags[state.rule] & PLACES != 0:
        for place in range(state.rule_tasks):
            if graph.listed[place] >= 0:
                push_waiting(graph, 0, graph.listed[place])
    graph.round_left = 0
    end_round(state, t)


@compiled(inner=True)
def _plan_again(state: ApplicationState, t: int) -> None:
    """Plan the tasks that have not begun again, and let idle cores read the new plan."""
    graph, cores = state.graph, state.graph.cores
    graph.pools.waiting_size[0] = graph.n_waiting = 0
    for c in range(state.speed.size):
        cores.sequence[c] = -1
        if is_idle(graph, c):
            count_wait(state, c, t)
            cores.task[c] = -1
            request_now(state, c, t)
    n = _pose_rest(state)
    if n == 0:
        return
    problem, replanning = graph.problem, graph.replanning
    topological_order(problem.out_first, problem.target, problem.in_first, n, problem.order, replanning.scratch[:n])
    bad = plan(state, replanning.position[:n], replanning.at[:n])
    state.answer = replanning.of[bad] if bad >= 0 else state.answer
    _put_last(state, n)
    for at in range(n):
        _move(state, replanning.of[at], replanning.core[at], t)
    make_sequences(state, graph.n_tasks - n, graph.n_tasks)


@compiled(inner=True)
def _pose_rest(state: ApplicationState) -> int:
    """Make the tasks that have not begun the planning problem; returns their number (0: the problem is unchanged)."""
    graph, first = state.graph, state.graph.first_task
    edge_0, replanning, within = graph.first_edge, graph.replanning, graph.tasks.scratch
    n = n_edges = 0
    for k in range(graph.n_tasks):
        within[first + k] = -1
        if state.taken[first + k] == 0:
            within[first + k] = n
            replanning.of[n], replanning.gflop[n] = k, state.lengths[first + k]
            n += 1
    for edge in range(edge_0, edge_0 + graph.n_edges):
        maker, user = within[first + graph.source[edge]], within[first + graph.target[edge]]
        if maker >= 0 and user >= 0:
            replanning.source[n_edges], replanning.target[n_edges] = maker, user
            replanning.bytes[n_edges] = graph.bytes[edge]
            n_edges += 1
    if n > 0:
        source, target, n_bytes = replanning.source[:n_edges], replanning.target[:n_edges], replanning.bytes[:n_edges]
        pose_problem(state, replanning, replanning.gflop[:n], source, target, n_bytes, replanning.core[:n])
    return n


@compiled(inner=True)
def _put_last(state: ApplicationState, n: int) -> None:
    """Put the ``n`` tasks, by planned begin, after all others in the order of waiting."""
    graph, first = state.graph, state.graph.first_task
    position, in_position, place = graph.tasks.position, graph.tasks.in_position, 0
    for was in range(graph.n_tasks):
        k = in_position[first + was]
        if state.taken[first + k] != 0:
            in_position[first + place], position[first + k] = k, place
            place += 1
    for at in range(n):
        k = graph.replanning.of[graph.replanning.at[at]]
        in_position[first + place], position[first + k] = k, place
        place += 1


@compiled(inner=True)
def _move(state: ApplicationState, k: int, c: int, t: int) -> None:
    """Plan task ``k`` for core ``c`` (-1: any core); on another core than before it needs its data again."""
    tasks, task = state.graph.tasks, state.graph.first_task + k
    moved = tasks.plan[task] != c
    tasks.plan[task], tasks.next[task] = c, -1
    if c >= 0 and moved:
        fetch_all(state, k, t)
    elif c < 0:
        tasks.missing[task] = 0
        if tasks.pending[task] == 0:
            put_in_pool(state, k, t)
