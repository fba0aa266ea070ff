"""The begin of a part that is a graph: its edges are sorted, its tasks put in order, planned where a planner is asked for."""

from __future__ import annotations

from als.engine import state as s
from als.engine.dag import state as g
from als.engine.dag.hooks import BEGIN, call_hook
from als.engine.dag.ready_pool import make_ready
from als.engine.releases import released
from als.engine.rule_table import memo_size
from als.engine.state import ApplicationState
from als.engine.status import BAD_PLAN
from als.engine.staying import stays
from als.graphs.order import by_rank, index_edges, topological_order
from als.network import state as n
from als.planners.contract import PLAN
from als.planners.estimates import mean_upward_ranks
from traces.algorithms.copying import copy_first
from traces.algorithms.event_heap import heap_push
from traces.compiled import caller, compiled, reset_numbers

__all__ = ["call_planner", "open_graph", "place_memo", "show_cores"]

call_planner = caller(PLAN)


@compiled(inner=True)
def place_memo(state: ApplicationState) -> None:
    """Say which part of the memo is the present rule's."""
    phase = state.part % state.phases.kind.size
    rules, n_cores = state.table, state.speed.size
    state.memo_lo = 0
    for earlier in range(phase):
        if state.phases.kind[earlier] != s.SERIAL:
            state.memo_lo += memo_size(rules, state.phases.rule[earlier], n_cores)
    state.memo_hi = state.memo_lo + memo_size(rules, state.phases.rule[phase], n_cores)


@compiled(inner=True)
def show_cores(state: ApplicationState) -> None:
    """Let planners see the cores: where widths have changed, only those that stay."""
    graph, problem = state.graph, state.graph.problem
    problem.speed, problem.core_host = state.speed, graph.cores.host[: state.speed.size]
    if state.width == 0:
        return
    problem.speed = graph.anew_speed[: state.speed.size]
    for c in range(state.speed.size):
        graph.anew_speed[c] = state.speed[c] if stays(state, c) else 0.0


@compiled(inner=True)
def _pose_problem(state: ApplicationState, first: int, stop: int, edge_0: int, edge_1: int) -> None:
    """Let the columns of the planning problem be those of the part, also where nobody plans: they are its graph."""
    graph, m = state.graph, stop - first
    problem = graph.problem
    problem.gflop = state.lengths[first:stop]
    problem.source, problem.target = graph.source[edge_0:edge_1], graph.target[edge_0:edge_1]
    problem.bytes, problem.in_edge = graph.bytes[edge_0:edge_1], graph.in_edge[: edge_1 - edge_0]
    problem.out_first, problem.in_first = graph.out_first[: m + 1], graph.in_first[: m + 1]
    problem.order, problem.begin = graph.listed[:m], graph.ranks[:m]
    show_cores(state)
    problem.costs, problem.core = graph.costs, graph.tasks.plan[first:stop]


@compiled(inner=True)
def _plan(state: ApplicationState, first: int, stop: int, rule: int) -> None:
    """Give each task its core, and each core the sequence of its tasks; where nobody is there, none has a core."""
    graph, m, problem = state.graph, stop - first, state.graph.problem
    tasks, plan, ranks = graph.tasks, problem.core, problem.begin
    position, at = tasks.position[first:stop], tasks.in_position[first:stop]
    problem.params = state.table.params[state.table.params_first[rule] : state.table.params_stop[rule]]
    answer = call_planner(state.table.calls[rule], (problem,))
    for k in range(m):
        good = answer == 0 and 0 <= plan[k] < state.speed.size and ranks[k] >= 0.0
        if not good or problem.speed[plan[k]] == 0.0:
            if answer == 0:
                state.answer = k
                graph.fault = BAD_PLAN
            plan[k] = -1
        ranks[k] = -ranks[k] if answer == 0 else 0.0  # with nobody there, nothing is planned: as they come
    by_rank(ranks, problem.order, position, at, 0)
    _make_sequences(state, first, stop)


@compiled(inner=True)
def _make_sequences(state: ApplicationState, first: int, stop: int) -> None:
    """Let a core's tasks follow one another in the tasks' order."""
    graph = state.graph
    for place in range(stop - first - 1, -1, -1):
        k = graph.tasks.in_position[first + place]
        c = graph.tasks.plan[first + k]
        if c >= 0:
            graph.tasks.next[first + k] = graph.cores.sequence[c]
            graph.cores.sequence[c] = k


@compiled(inner=True)
def _put_in_order(state: ApplicationState, first: int, stop: int, by_ranks: bool) -> None:
    """Say in which order the part's tasks wait: by upward rank, or by number."""
    graph, m = state.graph, stop - first
    position, at = graph.tasks.position[first:stop], graph.tasks.in_position[first:stop]
    if not by_ranks:
        for k in range(m):
            position[k] = at[k] = k
        return
    mean_upward_ranks(graph.problem, graph.ranks)
    by_rank(graph.ranks, graph.problem.order, position, at, 0)


@compiled(inner=True)
def _make_pools(state: ApplicationState, first: int, stop: int) -> None:
    """Make room for the waiting tasks and idle cores: one pool for all, or one a host."""
    graph = state.graph
    pools, cores = graph.pools, graph.cores
    for pool in range(pools.idle_first.size):
        pools.waiting_size[pool] = pools.idle_size[pool] = 0
    if graph.mode != g.ON_HOSTS:
        pools.waiting_first[0] = pools.idle_first[0] = 0
        return
    n_pools = graph.host_number.size
    for k in range(first, stop):
        pools.waiting_size[graph.given[k]] += 1
    for c in range(state.speed.size):
        pools.idle_size[cores.host[c]] += 1
    waiting = idle = 0
    for pool in range(n_pools):
        pools.waiting_first[pool], pools.idle_first[pool] = waiting, idle
        waiting += pools.waiting_size[pool]
        idle += pools.idle_size[pool]
        pools.waiting_size[pool] = pools.idle_size[pool] = 0


@compiled()
def open_graph(state: ApplicationState, t: int) -> None:
    """Let a part that is a graph begin at ``t``: the cores that are there ask, or look at what is planned for them."""
    graph = state.graph
    tasks, cores = graph.tasks, graph.cores
    part, n_cores = state.part, state.speed.size
    phase = part % state.phases.kind.size
    first, stop = state.part_first[part], state.part_first[part + 1]
    edge_0, edge_1 = graph.edge_first[part], graph.edge_first[part + 1]
    m, n_edges, rule = stop - first, edge_1 - edge_0, state.phases.rule[phase]
    mode = state.phases.mode[phase]
    wait_ns, transfers, n_bytes, repeats = graph.wait_ns, graph.n_transfers, graph.transfer_bytes, graph.repeats
    reset_numbers(graph)
    graph.wait_ns, graph.n_transfers, graph.transfer_bytes, graph.repeats = wait_ns, transfers, n_bytes, repeats
    graph.first_task, graph.first_edge = first, edge_0
    graph.mode = g.PLANNED if mode == g.ON_CORES else mode
    graph.n_tasks = graph.n_undone = m
    graph.n_edges = n_edges
    graph.round = -1
    graph.has_data = 1 if graph.net.kind != n.NONE and n_edges > 0 else 0
    state.next_task = state.lowest_hole = state.rule_base = first
    state.n_left = state.rule_tasks = m
    state.n_holes = state.n_put_back = state.open = state.n_requests = 0
    state.away_ns = state.barrier_ns = t
    state.rule = rule
    place_memo(state)
    _pose_problem(state, first, stop, edge_0, edge_1)
    problem = graph.problem
    index_edges(problem.source, problem.target, m, problem.out_first, problem.in_first, problem.in_edge)
    if graph.net.kind != n.NONE:
        call_hook(graph.hooks[BEGIN], (graph, n_edges, t))
    for c in range(n_cores):
        cores.task[c] = cores.sequence[c] = -1
        cores.queued[c] = cores.orphan[c] = 0
        cores.free_ns[c] = t
        state.cores.held_size[c] = state.cores.away[c] = 0
        state.cores.held_first[c] = state.cores.held_stop[c] = 0  # a loop that comes later must not find others'
    by_ranks = state.phases.order[phase] == g.BY_RANK
    if by_ranks or mode == g.PLANNED:
        scratch = tasks.scratch[first:stop]
        topological_order(problem.out_first, problem.target, problem.in_first, m, problem.order, scratch)
    for k in range(m):
        degree = graph.in_first[k + 1] - graph.in_first[k]
        tasks.pending[first + k] = degree
        tasks.missing[first + k] = 0 if mode == g.BY_TECHNIQUE else degree
        tasks.next[first + k] = tasks.at[first + k] = tasks.plan[first + k] = -1
        tasks.since_ns[first + k] = t
    graph.sent_ns[edge_0:edge_1] = -1
    graph.arrived_ns[edge_0:edge_1] = -1
    if state.start_ns.size > 0:
        state.start_ns[first:stop] = state.end_ns[first:stop] = -1
        state.core[first:stop] = state.chunk[first:stop] = -1
    if mode == g.PLANNED:
        _plan(state, first, stop, rule)
    else:
        _put_in_order(state, first, stop, by_ranks)
        if mode == g.ON_HOSTS:
            copy_first(tasks.plan[first:], graph.given[first:], stop - first)
        elif mode == g.ON_CORES:
            for k in range(first, stop):
                tasks.plan[k] = graph.given[k] if state.speed[graph.given[k]] > 0.0 else -1
            _make_sequences(state, first, stop)
    _make_pools(state, first, stop)
    state.n_asking = 0
    for c in range(n_cores):
        if released(state, c):
            cores.does[c] = g.DONE
        elif state.speed[c] > 0.0:
            cores.does[c] = g.ASKS
            arrives = t + state.latency_ns[c] if mode == g.BY_TECHNIQUE else t
            key = g.REQUESTS * cores.does.size + c
            state.n_asking = heap_push(state.ask_ns, state.ask_core, state.n_asking, arrives, key)
        else:
            cores.does[c] = g.ABSENT
    for k in range(m):
        if tasks.pending[first + k] == 0:
            make_ready(state, k, t)
