"""The application engine: the tasks of one job on its cores, advanced to any instant, suspended, changed, resumed.

An application is a sequence of parts, loops or serial ones, with a barrier behind each. In a loop a core asks for work as
the part begins (in core order) and whenever it falls idle (ties by core number); a technique answers with a chunk, which
the core runs task by task. The engine handles one event a chunk, not one a task. All state is in one
:class:`ApplicationState`; the kernels here, those that they call, and the hooks of ``als.engine.features`` are the only code
that changes it.

What a chunk costs: its request reaches the master ``latency_ns`` later, the answer takes as long again. Where chunks
are calculated by each core for itself (*distributed*), the core pays the overhead in between; with a *master* the
requests are served one after another, in the order in which they arrive, and each takes the overhead.

Order at one instant: changes that are injected at t take effect before any request that arrives at t is served, because
:func:`advance` serves the requests *before* its limit.
"""

from __future__ import annotations

from als.engine import state as s
from als.engine.chunk_dispatch import open_part, serve
from als.engine.dag import state as g
from als.engine.hooks import OPEN_GRAPH, SERVE_GRAPH, WISH, call_hook
from als.engine.injected_changes import lose_for_good, set_speed, stop
from als.engine.releases import begin_releases
from als.engine.rule_selection import prepare
from als.engine.state import ApplicationState, new_state
from als.engine.status import CHOOSE, FINISHED, PART_DONE, SUSPENDED
from traces.compiled import compiled

__all__ = [
    "NEVER",
    "ApplicationState",
    "advance",
    "begin",
    "end_ns",
    "lose_for_good",
    "new_state",
    "run_until_stop",
    "set_speed",
    "stop",
    "total_gflop",
]

#: A limit that no instant reaches: advance to the end.
NEVER = s.NEVER


@compiled()
def begin(state: ApplicationState, start_ns: int, overhead_ns: int, master: bool, releases: bool) -> None:
    """Put the application at its start: every core that is there is about to ask, in core order.

    With ``releases``, cores that it does not need any more are released (``als.engine.releases``).
    """
    counters = state.counters
    counters[:] = 0
    counters[s.NOW] = counters[s.START] = start_ns
    counters[s.STATUS] = SUSPENDED
    counters[s.OVERHEAD] = overhead_ns
    counters[s.MASTER] = 1 if master else 0
    counters[s.MASTER_FREE] = start_ns
    state.memo[:] = 0.0
    state.facts[:] = 0.0
    state.taken[: state.lengths.size] = 0
    state.chosen[:] = 0
    for c in range(state.speed.size):
        state.finish_ns[c] = start_ns
        state.busy_ns[c] = 0
        state.cores[s.HELD_SIZE, c] = state.cores[s.HELD_FIRST, c] = state.cores[s.HELD_STOP, c] = 0
        state.cores[s.RELEASED_NS, c] = s.NEVER
        state.cores[s.FOR_GOOD, c] = 0
        state.cores[s.WANTED, c] = 0
        counters[s.PRESENT] += state.speed[c] > 0.0
    if releases:
        begin_releases(state)
    if state.graph.numbers.size > 0:
        state.graph.numbers[:] = 0
        state.graph.amounts[g.TRANSFER_BYTES] = 0.0
    _open(state, start_ns)


@compiled(inner=True)
def _open(state: ApplicationState, t: int) -> None:
    """Let the part that is due begin at ``t``, or, where it wishes for cores then, when it has heard what came of it."""
    if state.wishes.size > 0:
        t = call_hook(state.hooks[WISH], (state, t, 0.0))
    if _is_graph(state):
        call_hook(state.hooks[OPEN_GRAPH], (state, t, 0.0))
    else:
        open_part(state, t)


@compiled(inner=True)
def _is_graph(state: ApplicationState) -> bool:
    """Whether the present part is a graph."""
    return bool(state.phases[state.counters[s.PART] % state.phases.shape[0], s.KIND] == s.GRAPH)


@compiled()
def advance(state: ApplicationState, until_ns: int) -> int:
    """Serve every request that arrives before ``until_ns``; returns why it stopped.

    Returns
    -------
    int
        An ``ApplicationStatus``: ``FINISHED``, ``SUSPENDED`` (now is ``until_ns``), ``STOPPED``, ``LOST``, or a fault.
    """
    counters = state.counters
    if counters[s.STATUS] != SUSPENDED:
        return int(counters[s.STATUS])
    while True:
        if _is_graph(state):
            status = call_hook(state.hooks[SERVE_GRAPH], (state, until_ns, 0.0))
        else:
            status = serve(state, until_ns)
        if status == CHOOSE:
            fault = prepare(state, state.ask_ns[0])
            if fault != 0:
                status = fault
                break
        elif status == PART_DONE and counters[s.PART] < state.part_first.size - 2:
            if counters[s.BARRIER] >= until_ns:
                status = SUSPENDED  # what happens before the barrier happens in the old part
                break
            counters[s.PART] += 1
            _open(state, counters[s.BARRIER])
        else:
            break
    if status == PART_DONE:
        status = FINISHED
        counters[s.NOW] = max(counters[s.NOW], end_ns(state))
        counters[s.RAN] = state.lengths.size
    elif status == SUSPENDED:
        counters[s.NOW] = max(counters[s.NOW], until_ns)
    counters[s.STATUS] = status
    return int(status)


@compiled()
def run_until_stop(state: ApplicationState, stop_ns: int) -> int:
    """Simulate to the end, or to the stop if that comes first; ``stop_ns`` not before now, or ``NEVER``.

    Returns
    -------
    int
        ``FINISHED`` if the last task ended at ``stop_ns`` or before, ``STOPPED`` if the stop cut the job short (its end
        is ``stop_ns``), ``LOST`` if it had lost all its cores before, or a fault, as from :func:`advance`.
    """
    status = advance(state, stop_ns)
    return stop(state) if status == SUSPENDED else status


@compiled()
def end_ns(state: ApplicationState) -> int:
    """When the last core finished: the job's end, once the engine says so."""
    last = state.finish_ns[0]
    for c in range(state.finish_ns.size):
        last = max(last, state.finish_ns[c])
    return int(last)


@compiled()
def total_gflop(state: ApplicationState) -> float:
    """Sum of the task lengths, in task order."""
    total = 0.0
    for k in range(state.lengths.size):
        total += state.lengths[k]
    return total
