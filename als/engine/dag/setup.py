"""Begin a part that is a graph: index its edges, order its tasks, and plan them if a planner is used."""

from typing import Any

from als.engine.codes import BAD_PLAN
from als.engine.dag import state as g
from als.engine.dag.tasks import make_ready, request
from als.engine.hooks import BEGIN, HOOK, call_graph_hook
from als.engine.releases import released, stays
from als.engine.requests import forget
from als.engine.state import ApplicationState, memo_begin
from als.graphs.order import by_rank, index_edges, topological_order
from als.network import state as n
from als.planners.contract import PLAN
from als.planners.estimates import mean_upward_ranks
from traces.algorithms.copying import copy_first
from traces.compiled import caller, compiled, reset_numbers
from traces.kernels.signatures import Floats, Ints

_call_planner = caller(PLAN)


@compiled(inner=True)
def place_memo(state: ApplicationState) -> None:
    """Find the section of the memo that belongs to the present rule."""
    phase, n_cores = state.part % state.phases.kind.size, state.speed.size
    state.memo_lo = memo_begin(state.phases, state.table, phase, n_cores)
    state.memo_hi = memo_begin(state.phases, state.table, phase + 1, n_cores)


@compiled(inner=True)
def pose_problem(
    state: ApplicationState, room: Any, gflop: Floats, source: Ints, target: Ints, n_bytes: Floats, core: Ints
) -> None:
    """Set the planning problem, which is also the graph of a part without a planner; ``room`` holds the index of edges."""
    graph, problem, n = state.graph, state.graph.problem, gflop.size
    problem.gflop, problem.source, problem.target, problem.bytes = gflop, source, target, n_bytes
    problem.out_first, problem.in_first = room.out_first[: n + 1], room.in_first[: n + 1]
    problem.in_edge = room.in_edge[: source.size]
    problem.order, problem.begin = graph.listed[:n], graph.ranks[:n]
    problem.costs, problem.core = graph.costs, core
    problem.speed, problem.core_host = state.speed, graph.cores.host[: state.speed.size]
    if state.width != 0:  # planners use only cores that stay
        problem.speed = graph.replanning.speed[: state.speed.size]
        for c in range(state.speed.size):
            problem.speed[c] = state.speed[c] if stays(state, c) else 0.0
    devices = state.devices
    problem.kind, problem.kind_gflop, problem.stride = devices.slots.kind[:0], devices.gflop, state.lengths.size
    if devices.gflop.size > 0:
        problem.kind, problem.kind_gflop = devices.slots.kind, devices.gflop[state.part_first[state.part] :]
    index_edges(source, target, n, problem.out_first, problem.in_first, problem.in_edge)


@compiled(inner=True)
def pose_part(state: ApplicationState, part: int) -> None:
    """Set the planning problem to a part of the application."""
    graph, first, stop = state.graph, state.part_first[part], state.part_first[part + 1]
    edge_0, edge_1 = graph.edge_first[part], graph.edge_first[part + 1]
    source, target, n_bytes = graph.source[edge_0:edge_1], graph.target[edge_0:edge_1], graph.bytes[edge_0:edge_1]
    pose_problem(state, graph, state.lengths[first:stop], source, target, n_bytes, graph.tasks.plan[first:stop])


@compiled(inner=True)
def plan(state: ApplicationState, position: Ints, at: Ints) -> int:
    """Plan the present problem; returns the last task without a present core or a begin, which is a fault; -1 if none."""
    rules, rule, bad = state.table, state.rule, -1
    problem, core, begin = state.graph.problem, state.graph.problem.core, state.graph.problem.begin
    problem.params = rules.params[rules.params_first[rule] : rules.params_stop[rule]]
    answer = _call_planner(rules.calls[rule], (problem,))
    for k in range(core.size):
        good = answer == 0 and 0 <= core[k] < state.speed.size and begin[k] >= 0.0
        if not good or problem.speed[core[k]] == 0.0:
            bad = k if answer == 0 else bad
            core[k] = -1
        begin[k] = -begin[k] if answer == 0 else 0.0  # without cores: by number
    if bad >= 0:
        state.graph.fault = BAD_PLAN
    by_rank(begin, problem.order, position, at, 0)
    return bad


@compiled(inner=True)
def make_sequences(state: ApplicationState, first_place: int, stop_place: int) -> None:
    """Chain the tasks of each core at these places of the part in this order."""
    graph, first = state.graph, state.graph.first_task
    for place in range(stop_place - 1, first_place - 1, -1):
        k = graph.tasks.in_position[first + place]
        c = graph.tasks.plan[first + k]
        if c >= 0:
            graph.tasks.next[first + k] = graph.cores.sequence[c]
            graph.cores.sequence[c] = k


@compiled(inner=True)
def _make_pools(state: ApplicationState, first: int, stop: int) -> None:
    """Size the pools of waiting tasks and idle cores: one for all, or one per host."""
    graph, pools, cores = state.graph, state.graph.pools, state.graph.cores
    for pool in range(pools.idle_first.size):
        pools.waiting_size[pool] = pools.idle_size[pool] = 0
    if graph.mode != g.ON_HOSTS:
        pools.waiting_first[0] = pools.idle_first[0] = 0
        return
    for k in range(first, stop):
        pools.waiting_size[graph.given[k]] += 1
    for c in range(state.speed.size):
        pools.idle_size[cores.host[c]] += 1
    waiting = idle = 0
    for pool in range(graph.host_number.size):
        pools.waiting_first[pool], pools.idle_first[pool] = waiting, idle
        waiting += pools.waiting_size[pool]
        idle += pools.idle_size[pool]
        pools.waiting_size[pool] = pools.idle_size[pool] = 0


@compiled(HOOK)
def open_graph(state: ApplicationState, t: int, _speed: float) -> int:
    """Begin a part that is a graph at ``t``: each present core requests tasks, or takes its planned ones."""
    graph, tasks, cores = state.graph, state.graph.tasks, state.graph.cores
    part, phase = state.part, state.part % state.phases.kind.size
    first, stop = state.part_first[part], state.part_first[part + 1]
    edge_0, edge_1 = graph.edge_first[part], graph.edge_first[part + 1]
    m, n_edges, mode = stop - first, edge_1 - edge_0, state.phases.mode[phase]
    wait_ns, transfers, n_bytes, repeats = graph.wait_ns, graph.n_transfers, graph.transfer_bytes, graph.repeats
    reset_numbers(graph)
    graph.wait_ns, graph.n_transfers, graph.transfer_bytes, graph.repeats = wait_ns, transfers, n_bytes, repeats
    graph.first_task, graph.first_edge = first, edge_0
    graph.mode = g.PLANNED if mode == g.ON_CORES else mode
    graph.n_tasks = graph.n_undone = m
    graph.n_edges, graph.round = n_edges, -1
    graph.has_data = 1 if graph.net.kind != n.NONE and n_edges > 0 else 0
    state.rule = state.phases.rule[phase]
    if state.devices.on.size > 0:
        state.width = 0  # all slots take part, unlike in a loop on some kinds
    place_memo(state)
    pose_part(state, part)
    problem = graph.problem
    if graph.net.kind != n.NONE:
        call_graph_hook(graph.hooks[BEGIN], (graph, n_edges, t))
    for c in range(state.speed.size):
        cores.task[c] = cores.sequence[c] = -1
        cores.queued[c] = cores.orphan[c] = 0
        cores.free_ns[c] = t
        state.cores.held_size[c] = state.cores.away[c] = 0
        state.cores.held_first[c] = state.cores.held_stop[c] = 0  # for a loop that comes later
        if released(state, c):
            cores.does[c] = g.DONE
        elif state.speed[c] > 0.0:
            request(state, c, t)
        else:
            cores.does[c] = g.ABSENT
    position, at = tasks.position[first:stop], tasks.in_position[first:stop]
    by_ranks = state.phases.order[phase] == g.BY_RANK
    if by_ranks or mode == g.PLANNED:
        missing = tasks.scratch[first:stop]
        topological_order(problem.out_first, problem.target, problem.in_first, m, problem.order, missing)
    for k in range(m):
        degree = graph.in_first[k + 1] - graph.in_first[k]
        tasks.pending[first + k] = degree
        tasks.missing[first + k] = 0 if mode == g.BY_TECHNIQUE else degree
        tasks.next[first + k] = tasks.at[first + k] = tasks.plan[first + k] = -1
        tasks.since_ns[first + k] = t
    graph.sent_ns[edge_0:edge_1] = graph.arrived_ns[edge_0:edge_1] = -1
    forget(state, first, stop)
    if mode == g.PLANNED:
        bad = plan(state, position, at)
        state.answer = bad if bad >= 0 else state.answer
    elif by_ranks:
        mean_upward_ranks(problem, graph.ranks)
        by_rank(graph.ranks, problem.order, position, at, 0)
    else:
        for k in range(m):
            position[k] = at[k] = k
    if mode == g.ON_HOSTS:
        copy_first(tasks.plan[first:], graph.given[first:], m)
    elif mode == g.ON_CORES:
        for k in range(first, stop):
            tasks.plan[k] = graph.given[k] if state.speed[graph.given[k]] > 0.0 else -1
    if graph.mode == g.PLANNED:
        make_sequences(state, 0, m)
    _make_pools(state, first, stop)
    for k in range(m):
        if tasks.pending[first + k] == 0:
            make_ready(state, k, t)
    return 0
