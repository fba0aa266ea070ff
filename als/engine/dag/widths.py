"""Changes of width in the middle of a graph: cores come, or are to leave, and what nobody has begun is shared out anew.

What the two ways of sharing out have in common is as in a loop (``als.engine.features.width``): a core that comes asks at once;
one that is to leave ends its chunk, and one that has none leaves at once; the last stays; each that stays pays once, before its
next chunk.

- By a technique the round ends. What of it was not handed out waits again, with what became ready meanwhile; who was refused is
  served as the next round begins, with the next request; and the technique forgets what it has learned.
- Where tasks are planned, those that nobody has begun are a graph of their own, with the edges between them: the planner plans
  it anew for the cores that stay, as if they were all idle, and all who are idle look at what is planned for them then. A task
  that stays where it was planned to be has its data there; those of another are fetched anew.
"""

from __future__ import annotations

from als.engine import state as s
from als.engine.dag import state as g
from als.engine.dag.changes import end_what_ends
from als.engine.dag.dispatch import end_round
from als.engine.dag.ready_pool import count_wait, fetch, put_in_pool, request_now, wake
from als.engine.dag.setup import call_planner, place_memo, show_cores
from als.engine.releases import leave, released
from als.engine.rule_table import PLACES
from als.engine.state import ApplicationState
from als.engine.status import BAD_PLAN
from als.engine.staying import count_ranks, is_last
from als.graphs.order import by_rank, index_edges, topological_order
from traces.algorithms.key_heap import key_push
from traces.compiled import compiled

__all__ = ["leave_as_served", "resize_in_graph"]


@compiled(inner=True)
def _come(state: ApplicationState, c: int, t: int) -> None:
    """Core ``c`` comes, and asks."""
    graph = state.graph
    graph.cores.free_ns[c] = t
    graph.cores.task[c] = graph.cores.sequence[c] = -1
    graph.cores.orphan[c] = 0
    request_now(state, c, t + state.latency_ns[c] if graph.mode == g.BY_TECHNIQUE else t)


@compiled(inner=True)
def _has_nothing(state: ApplicationState, c: int) -> bool:
    """Whether core ``c`` has no chunk, and is not about to be served."""
    does = state.graph.cores.does[c]
    waits = state.graph.mode == g.PLANNED and does == g.LACKS and state.graph.cores.orphan[c] == 0
    return bool(waits or does == g.IDLES or does == g.AWAY or does == g.DONE)


@compiled(inner=True)
def _leave(state: ApplicationState, c: int, t: int, heard_ns: int) -> None:
    """Core ``c``, which is to leave and has nothing to end, hears so at ``heard_ns``; if there is nobody else, it stays."""
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
    leave(state, c, heard_ns)


@compiled(inner=True)
def leave_as_served(state: ApplicationState, c: int, t: int) -> bool:
    """Core ``c``, which is to leave, has asked: it leaves, or, with nobody else there, what is left is shared out anew."""
    graph = state.graph
    heard_ns = t + state.latency_ns[c] if graph.mode == g.BY_TECHNIQUE else t
    _leave(state, c, t, heard_ns)
    if not released(state, c):
        _share_out_anew(state, t)
        return False
    state.away_ns = max(state.away_ns, t)
    state.barrier_ns = max(state.barrier_ns, heard_ns)
    if graph.pools.waiting_size[0] > 0:
        wake(state, 0, t)  # it may have been woken for what waits there
    return True


@compiled(inner=True)
def resize_in_graph(state: ApplicationState, t: int) -> None:
    """Cores have come to slots where nobody is, or are to leave, at ``t``: what nobody has begun is shared out anew."""
    cores = state.graph.cores
    for c in range(state.speed.size):
        if cores.does[c] == g.ABSENT and state.speed[c] > 0.0 and not released(state, c):
            _come(state, c, t)
        elif not released(state, c) and state.cores.wanted[c] == s.TO_LEAVE and _has_nothing(state, c):
            _leave(state, c, t, t)
    end_what_ends(state, t)
    _share_out_anew(state, t)


@compiled(inner=True)
def _share_out_anew(state: ApplicationState, t: int) -> None:
    """What nobody has begun is shared out anew among the cores that stay, and all forget what they have learned."""
    count_ranks(state)
    state.memo[:] = 0.0
    place_memo(state)
    if state.graph.mode == g.BY_TECHNIQUE:
        _end_round_early(state, t)
    else:
        _plan_anew(state, t)


@compiled(inner=True)
def _end_round_early(state: ApplicationState, t: int) -> None:
    """What of the round was not handed out waits again, and is part of the next one."""
    graph = state.graph
    pools = graph.pools
    if graph.round >= 0:
        graph.repeats += 1
    graph.round = -1
    if graph.round_left > 0 and state.table.flags[state.rule] & PLACES != 0:
        for place in range(state.rule_tasks):
            if graph.listed[place] >= 0:
                position = graph.tasks.position[graph.first_task + graph.listed[place]]
                pools.waiting_size[0] = key_push(graph.waiting, 0, pools.waiting_size[0], position)
                graph.n_waiting += 1
    graph.round_left = 0
    end_round(state, t)


@compiled(inner=True)
def _plan_anew(state: ApplicationState, t: int) -> None:
    """What nobody has begun is planned anew, and all who are idle look at it."""
    graph, cores = state.graph, state.graph.cores
    graph.pools.waiting_size[0] = graph.n_waiting = 0
    for c in range(state.speed.size):
        cores.sequence[c] = -1
        does = cores.does[c]
        if does == g.IDLES or (does == g.LACKS and cores.orphan[c] == 0):
            count_wait(state, c, t)
            cores.task[c] = -1
            request_now(state, c, t)
    n = _pose_rest(state)
    if n == 0:
        return
    _plan_rest(state, n)
    _put_behind(state, n)
    for at in range(n):
        _move(state, graph.anew.of[at], graph.anew.core[at])
    for place in range(n - 1, -1, -1):
        at = graph.anew.at[place]
        k, c = graph.anew.of[at], graph.anew.core[at]
        if c >= 0:
            graph.tasks.next[graph.first_task + k] = cores.sequence[c]
            cores.sequence[c] = k
    for at in range(n):
        _bring(state, graph.anew.of[at], t)


@compiled(inner=True)
def _pose_rest(state: ApplicationState) -> int:
    """Let the planning problem be what nobody has begun; returns how many tasks those are."""
    graph, first = state.graph, state.graph.first_task
    edge_0, anew, within = graph.first_edge, graph.anew, graph.tasks.scratch
    n = n_edges = 0
    for k in range(graph.n_tasks):
        within[first + k] = -1
        if state.taken[first + k] == 0:
            within[first + k] = n
            anew.of[n], graph.anew_gflop[n] = k, state.lengths[first + k]
            n += 1
    for edge in range(edge_0, edge_0 + graph.n_edges):
        source, target = within[first + graph.source[edge]], within[first + graph.target[edge]]
        if source >= 0 and target >= 0:
            graph.anew_edges[0, n_edges], graph.anew_edges[1, n_edges] = source, target
            graph.anew_bytes[n_edges] = graph.bytes[edge]
            n_edges += 1
    problem, params, rule = graph.problem, state.table.params, state.rule
    problem.gflop, problem.bytes = graph.anew_gflop[:n], graph.anew_bytes[:n_edges]
    problem.source, problem.target = graph.anew_edges[0][:n_edges], graph.anew_edges[1][:n_edges]
    problem.in_edge = graph.anew_edges[2][:n_edges]
    problem.out_first, problem.in_first = graph.anew_first[0][: n + 1], graph.anew_first[1][: n + 1]
    problem.order, problem.begin = graph.listed[:n], graph.ranks[:n]
    show_cores(state)
    problem.core = anew.core[:n]
    problem.params = params[state.table.params_first[rule] : state.table.params_stop[rule]]
    return n


@compiled(inner=True)
def _plan_rest(state: ApplicationState, n: int) -> None:
    """Have the ``n`` tasks planned; where nobody is there, none has a core. They are put in order by their begins."""
    graph, problem = state.graph, state.graph.problem
    core, begin, anew = problem.core, problem.begin, graph.anew
    index_edges(problem.source, problem.target, n, problem.out_first, problem.in_first, problem.in_edge)
    topological_order(problem.out_first, problem.target, problem.in_first, n, problem.order, anew.scratch[:n])
    answer = call_planner(state.table.calls[state.rule], (problem,))
    for k in range(n):
        good = answer == 0 and 0 <= core[k] < state.speed.size and begin[k] >= 0.0
        if not good or problem.speed[core[k]] == 0.0:
            if answer == 0:
                state.answer = anew.of[k]
                graph.fault = BAD_PLAN
            core[k] = -1
        begin[k] = -begin[k] if answer == 0 else 0.0
    by_rank(begin, problem.order, anew.position[:n], anew.at[:n], 0)


@compiled(inner=True)
def _put_behind(state: ApplicationState, n: int) -> None:
    """Put the ``n`` tasks, in the order of their planned begins, behind all others in the order of waiting."""
    graph, first = state.graph, state.graph.first_task
    position, in_position, place = graph.tasks.position, graph.tasks.in_position, 0
    for was in range(graph.n_tasks):
        k = in_position[first + was]
        if state.taken[first + k] != 0:
            in_position[first + place], position[first + k] = k, place
            place += 1
    for at in range(n):
        k = graph.anew.of[graph.anew.at[at]]
        in_position[first + place], position[first + k] = k, place
        place += 1


@compiled(inner=True)
def _move(state: ApplicationState, k: int, c: int) -> None:
    """Task ``k`` is for core ``c`` now, or, -1, for anybody: if that is another than before, it lacks all of its data there."""
    graph = state.graph
    task = graph.first_task + k
    graph.tasks.next[task] = -1
    if graph.tasks.plan[task] == c:
        return
    graph.tasks.plan[task] = c
    graph.tasks.missing[task] = -1  # it is to be counted


@compiled(inner=True)
def _bring(state: ApplicationState, k: int, t: int) -> None:
    """Task ``k``, if it was moved, is to have its data where it is planned to be; one that is for anybody waits."""
    graph = state.graph
    first = graph.first_task
    if graph.tasks.plan[first + k] < 0:
        graph.tasks.missing[first + k] = 0
        if graph.tasks.pending[first + k] == 0:
            put_in_pool(state, k, t)
        return
    if graph.tasks.missing[first + k] >= 0:
        return
    # One more than it needs, so that it lacks something until all are on their way.
    graph.tasks.missing[first + k] = graph.in_first[k + 1] - graph.in_first[k] + 1
    for at in range(graph.in_first[k], graph.in_first[k + 1]):
        edge = graph.in_edge[at]
        source = graph.source[graph.first_edge + edge]
        by = graph.tasks.at[first + source]
        if by >= 0 and graph.cores.task[by] != source:
            fetch(state, edge, t)
    graph.tasks.missing[first + k] -= 1
