"""The loop of the application engine: it advances the tasks of one job to any instant, where they can be changed.

An application is a sequence of parts with a barrier after each. In a loop, a core requests work at the begin of the part (in
core order) and whenever it is idle (ties by core number); a technique answers with a chunk, so that there is one event per
chunk. The request reaches the master after ``latency_ns``, and the answer takes as long again. If each core calculates its
chunks (*distributed*), it pays the overhead in between; a *master* serves requests one after another, each with the overhead.

Changes at t take effect before requests that arrive at t, because :func:`advance` serves the requests *before* its limit. Only
these kernels and the hooks change an :class:`ApplicationState`.
"""

from als.engine import state as s
from als.engine.chunk_dispatch import open_part, serve
from als.engine.codes import CHOOSE, FINISHED, PART_DONE, SUSPENDED
from als.engine.hooks import OPEN_GRAPH, REQUEST_WIDTH, SERVE_GRAPH, call_hook
from als.engine.injected_changes import stop
from als.engine.releases import begin_releases, clear_slot
from als.engine.requests import prepare
from als.engine.state import ApplicationState, part_kind
from traces.compiled import compiled, reset_numbers


@compiled()
def begin(state: ApplicationState, start_ns: int, overhead_ns: int, master: bool, releases: bool) -> None:
    """Put the application at its start: every present core is about to ask, in core order. With ``releases``, it releases cores
    that it no longer needs (``als.engine.releases``)."""
    reset_numbers(state)
    reset_numbers(state.deferred)
    state.now_ns = state.began_ns = start_ns
    state.status = SUSPENDED
    state.overhead_ns = overhead_ns
    state.master = 1 if master else 0
    state.master_free_ns = start_ns
    state.memo[:] = 0.0
    state.facts[:] = 0.0
    state.taken[: state.lengths.size] = 0
    state.chosen[:] = 0
    for c in range(state.speed.size):
        clear_slot(state, c)
        state.cores.finish_ns[c] = start_ns
        state.cores.busy_ns[c] = 0
        state.n_present += state.speed[c] > 0.0
    if releases:
        begin_releases(state)
    if state.graph.exists == 1:
        reset_numbers(state.graph)
    slots = state.devices.slots
    for c in range(slots.kind.size):
        slots.in_free_ns[c] = slots.free_ns[c] = slots.out_free_ns[c] = 0
    _open(state, start_ns)


@compiled(inner=True)
def _open(state: ApplicationState, t: int) -> None:
    """Begin the next part at ``t``, or one ns later if it requests cores."""
    if state.width_requests.size > 0:
        t = call_hook(state.hooks[REQUEST_WIDTH], (state, t, 0.0))
    first = state.part_first[state.part]
    state.next_task = state.lowest_hole = state.rule_base = first
    state.n_left = state.rule_tasks = state.part_first[state.part + 1] - first
    state.n_holes = state.n_put_back = state.open = state.n_requests = state.n_asking = 0
    state.away_ns = state.barrier_ns = t
    if part_kind(state) == s.GRAPH:
        call_hook(state.hooks[OPEN_GRAPH], (state, t, 0.0))
    else:
        open_part(state, t)


@compiled()
def advance(state: ApplicationState, until_ns: int) -> int:
    """Serve every request that arrives before ``until_ns``; returns why it stopped. Returns an ``ApplicationStatus``:
    ``FINISHED``, ``SUSPENDED`` (now is ``until_ns``), ``STOPPED``, ``LOST``, or a fault."""
    if state.status != SUSPENDED:
        return int(state.status)
    while True:
        if part_kind(state) == s.GRAPH:
            status = call_hook(state.hooks[SERVE_GRAPH], (state, until_ns, 0.0))
        else:
            status = serve(state, until_ns)
        if status == CHOOSE:
            fault = prepare(state, state.cores.ask_ns[0])
            if fault != 0:
                status = fault
                break
        elif status == PART_DONE and state.part < state.part_first.size - 2:
            if state.barrier_ns >= until_ns:
                status = SUSPENDED  # changes before the barrier belong to the old part
                break
            state.part += 1
            _open(state, state.barrier_ns)
        else:
            break
    if status == PART_DONE:
        status = FINISHED
        state.now_ns = max(state.now_ns, end_ns(state))
        state.n_ran = state.lengths.size
    elif status == SUSPENDED:
        state.now_ns = max(state.now_ns, until_ns)
    state.status = status
    return int(status)


@compiled()
def run_until_stop(state: ApplicationState, stop_ns: int) -> int:
    """Simulate to the end, or to the stop if that comes first; ``stop_ns`` not before now, or ``NEVER``. Returns int:
    ``FINISHED`` if the last task ended at ``stop_ns`` or before, ``STOPPED`` if the stop cut the job short (its end is
    ``stop_ns``), ``LOST`` if it had lost all its cores before, or a fault, as from :func:`advance`."""
    status = advance(state, stop_ns)
    return stop(state) if status == SUSPENDED else status


@compiled()
def end_ns(state: ApplicationState) -> int:
    """The latest finish of a core: the job's end, once it has finished."""
    last = state.cores.finish_ns[0]
    for c in range(state.speed.size):
        last = max(last, state.cores.finish_ns[c])
    return int(last)


@compiled()
def total_gflop(state: ApplicationState) -> float:
    """Sum of the task lengths, in task order."""
    total = 0.0
    for k in range(state.lengths.size):
        total += state.lengths[k]
    return total
