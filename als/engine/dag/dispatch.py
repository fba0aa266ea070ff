"""The waiting tasks of a graph that a core gets when it asks: in rounds, which are loops for the technique."""

from als.engine.chunk_dispatch import call_full, call_plain
from als.engine.codes import ANSWER_OUT_OF_RANGE, OVERFLOW, PLACE_TAKEN
from als.engine.dag import state as g
from als.engine.dag.tasks import begin_doing, begin_task, fetch_all, give, idle, next_of_chunk, pop_waiting, wake
from als.engine.hooks import RANK, call_hook
from als.engine.releases import release
from als.engine.requests import begin_ns, set_chunk_facts, set_core_facts, set_moment_facts, set_request_facts
from als.engine.rule_table import FULL, LEARNS, MOMENTS, PLACES
from als.engine.state import ApplicationState
from als.techniques import contract as f
from traces.base.time import MAX_NS
from traces.compiled import compiled


@compiled(merged=True)
def _ask(state: ApplicationState, c: int, t: int, left: int) -> int:
    """The rule's answer to core ``c`` at ``t``, with ``left`` tasks left in its loop."""
    rules, rule = state.table, state.rule
    flags, call = rules.flags[rule], rules.calls[rule]
    memo = state.memo[state.memo_lo : state.memo_hi]
    requests, n_tasks, width = state.n_requests, state.rule_tasks, state.width
    n_cores = state.speed.size if width == 0 else width
    place = c if width == 0 else state.cores.rank[c]
    if flags & FULL == 0:
        return int(call_plain(call, (n_tasks, n_cores, place, requests, left, memo)))
    set_request_facts(state, flags, t, state.n_chunks)
    params = rules.params[rules.params_first[rule] : rules.params_stop[rule]]
    speed = state.speed if width == 0 else state.cores.ranked[:width]
    return int(call_full(call, (n_tasks, n_cores, place, requests, left, state.facts, speed, params, memo)))


@compiled(inner=True)
def _begin_round(state: ApplicationState) -> None:
    """Begin a round: the waiting tasks are a loop."""
    graph, tasks, first = state.graph, state.graph.tasks, state.graph.first_task
    flags, n_tasks = state.table.flags[state.rule], graph.n_waiting
    if state.width > 0:
        call_hook(state.hooks[RANK], (state, 0, 0.0))  # cores may have gone since the latest change
    if graph.round >= 0:
        graph.repeats += 1
    graph.round += 1
    graph.round_left = state.rule_tasks = n_tasks
    state.n_requests = 0
    graph.first_place = 0
    if flags & LEARNS == 0:
        state.memo[state.memo_lo : state.memo_hi] = 0.0
    # The rule receives the facts of a loop; each further round is a further step.
    gflops = set_core_facts(state, state.part // state.phases.kind.size + graph.repeats)
    if flags & MOMENTS != 0:
        lengths = graph.ranks[:n_tasks]  # work space
        for k in range(n_tasks):
            lengths[k] = state.lengths[first + tasks.in_position[first + graph.waiting[k]]]
        set_moment_facts(state, lengths, gflops)
    if flags & PLACES != 0:
        for place in range(n_tasks):
            graph.listed[place] = pop_waiting(graph, 0)
    graph.round_open = g.CLOSED
    for c in range(state.speed.size):
        does = graph.cores.does[c]
        if does == g.COMPUTES or does == g.EXPECTS or does == g.LACKS:
            graph.round_open = g.OPEN


@compiled(inner=True)
def end_round(state: ApplicationState, t: int) -> None:
    """End a round whose tasks are all assigned: cores that waited for the next round wait for tasks."""
    graph, cores = state.graph, state.graph.cores
    if graph.n_turned_away == 0:
        return
    graph.n_turned_away = 0
    for c in range(state.speed.size):
        if cores.does[c] == g.AWAY:
            cores.does[c] = g.IDLES
            idle(state, c, 0)
    for _ in range(graph.n_waiting):
        if not wake(state, 0, t):
            return


@compiled(inner=True)
def dismiss(state: ApplicationState, t: int) -> None:
    """Answer waiting cores that there are no more tasks: the last task was assigned at ``t``."""
    graph = state.graph
    for c in range(state.speed.size):
        if graph.cores.does[c] == g.IDLES:
            _send_home(state, c, t)
        elif graph.cores.does[c] == g.AWAY:
            graph.cores.does[c] = g.DONE  # it has received 0 and gets no further answer
            release(state, c, t)
    graph.n_turned_away = 0


@compiled(inner=True)
def _send_home(state: ApplicationState, c: int, t: int) -> None:
    """Send core ``c`` the answer that no tasks are left, to its request of ``t``."""
    state.graph.cores.does[c] = g.DONE
    state.barrier_ns = max(state.barrier_ns, t + state.latency_ns[c])
    release(state, c, t + state.latency_ns[c])


@compiled(merged=True)
def _take(state: ApplicationState, c: int, size: int, placed: bool) -> None:
    """Give core ``c`` a chunk of ``size`` tasks: the first in order, or (``placed``) those at places from ``FIRST`` on."""
    graph, tasks, first, before = state.graph, state.graph.tasks, state.graph.first_task, -1
    place = int(state.facts[f.FIRST]) if placed else graph.first_place
    for _ in range(size):
        if state.table.flags[state.rule] & PLACES != 0:
            while graph.listed[place] < 0:
                place += 1
            k = graph.listed[place]
            graph.listed[place] = -1
            if not placed:
                graph.first_place = place + 1
        else:
            k = pop_waiting(graph, 0)
        give(state, c, k)
        tasks.next[first + k], tasks.missing[first + k] = -1, 0
        if before < 0:
            graph.cores.task[c] = graph.cores.head[c] = k
        else:
            tasks.next[first + before] = k
        before = k
    state.cores.held_size[c] = size
    state.n_chunks += 1


@compiled(inner=True)
def _run_of_places(state: ApplicationState, most: int) -> int:
    """The number of consecutive unassigned tasks from the first such place on, up to ``most``."""
    graph, place = state.graph, state.graph.first_place
    while graph.listed[place] < 0:
        place += 1
    graph.first_place = place
    size = 1
    while size < most and place + size < state.rule_tasks and graph.listed[place + size] >= 0:
        size += 1
    return int(size)


@compiled(inner=True)
def _needs_data(state: ApplicationState, c: int) -> bool:
    graph, first, edge_0 = state.graph, state.graph.first_task, state.graph.first_edge
    k = graph.cores.task[c]
    while k >= 0:
        for at in range(graph.in_first[k], graph.in_first[k + 1]):
            edge = edge_0 + graph.in_edge[at]
            if graph.bytes[edge] > 0.0 and graph.tasks.at[first + graph.source[edge]] != c:
                return True
        k = graph.tasks.next[first + k]
    return False


@compiled(inner=True)
def take_answer(state: ApplicationState, c: int, t: int) -> None:
    """Handle the answer that reaches core ``c`` at ``t``: fetch the data of its chunk and begin as soon as possible."""
    graph, cores, tasks, first = state.graph, state.graph.cores, state.graph.tasks, state.graph.first_task
    cores.free_ns[c] = t
    cores.does[c] = g.LACKS
    head = k = cores.task[c]
    while k >= 0:
        tasks.since_ns[first + k] = t
        fetch_all(state, k, t)
        k = next_of_chunk(graph, k)
    if tasks.missing[first + head] == 0:
        begin_task(state, c, head, t)


@compiled(merged=True)
def serve_request(state: ApplicationState, c: int, t: int) -> None:
    """Serve the request of core ``c`` that arrives at ``t`` or has waited until then."""
    graph, own = state.graph, state.cores
    latency = state.latency_ns[c]
    flags = state.table.flags[state.rule]
    state.facts[f.LAST_SIZE] = 0.0
    if own.held_size[c] > 0:
        # Without the time spent waiting for data.
        set_chunk_facts(state, c, own.work_ns[c], state.cores.finish_ns[c])
    if graph.round_left == 0:
        if flags & LEARNS != 0 and state.facts[f.LAST_SIZE] > 0.0 and graph.round >= 0:
            _ask(state, c, t, 0)
            state.facts[f.LAST_SIZE] = 0.0
        if graph.n_waiting == 0:
            if state.n_left == 0:
                _send_home(state, c, t)
            else:
                graph.cores.does[c] = g.IDLES
                idle(state, c, 0)
            return
        _begin_round(state)
    left = graph.round_left
    share = (left + state.n_present - 1) // state.n_present
    chooses = flags & PLACES != 0
    if chooses and graph.round_open == g.LEFT_OVER:
        size, chooses = _run_of_places(state, share), False  # the rule's own lists no longer contain these
    else:
        size = _ask(state, c, t, left)
    if size < 0 or size > left:
        state.answer = size
        graph.fault = ANSWER_OUT_OF_RANGE
        return
    placed = chooses and size > 0
    if size == 0:
        if graph.round_open == g.CLOSED or chooses:
            graph.cores.does[c] = g.AWAY
            graph.n_turned_away += 1
            state.away_ns = max(state.away_ns, t)
            state.barrier_ns = max(state.barrier_ns, t + latency)
            wake(state, 0, t)
            return
        size = share
    if placed:
        place = int(state.facts[f.FIRST])
        good = place >= 0 and place + size <= state.rule_tasks
        if good:
            for k in range(place, place + size):
                good = good and graph.listed[k] >= 0
        if not good:
            state.answer = place
            graph.fault = PLACE_TAKEN
            return
    begin = begin_ns(state, t, latency, state.overhead_ns, state.master != 0)
    if begin == MAX_NS:
        graph.fault = OVERFLOW
        return
    state.scheduling_ns += begin - (t - latency)
    own.asked_ns[c] = t - latency
    _take(state, c, size, placed)
    graph.round_left -= size
    state.n_requests += 1
    if state.n_left == 0:
        dismiss(state, t)
    elif graph.round_left == 0:
        end_round(state, t)
    if graph.has_data == 0 or not _needs_data(state, c):
        graph.cores.free_ns[c] = begin
        begin_task(state, c, graph.cores.task[c], begin)
    elif begin == t:
        take_answer(state, c, t)
    else:
        begin_doing(state, c, g.EXPECTS, g.ANSWERED, begin)
