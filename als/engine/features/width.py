"""Applications whose width changes: the batch level gives them cores and takes cores while they run.

A core has a *slot*, its index in the columns. A new core takes the first slot of a core that has gone, or a new slot, and asks
at once. A leaving core gets no further chunk and leaves at the end of its present one; the last core stays. At each change the
technique of a loop begins again with the remaining tasks and cores (counted by slots), without what it has learned. Cores that
were sent away ask again, and each core pays the cost of the change once, before its next chunk. Graphs:
``als.engine.dag.widths``."""

from als.engine import state as s
from als.engine.chunk_dispatch import ask, put_back, reopen
from als.engine.codes import SUSPENDED
from als.engine.dag import state as g
from als.engine.hooks import HOOK, RESIZE_GRAPH, call_hook
from als.engine.releases import clear_slot, count_ranks, leave, stays
from als.engine.rule_table import PLACES
from als.engine.scaling import scaled
from als.engine.state import ApplicationState, part_kind
from traces.compiled import compiled


@compiled()
def slot_for(state: ApplicationState) -> int:
    """The slot of the next new core: the first whose core was gone before now, or a new one after all slots."""
    for c in range(state.speed.size):
        if state.cores.released_ns[c] < state.now_ns:
            return c
    return int(state.speed.size)


@compiled()
def give(state: ApplicationState, c: int, number: int, gflops: float, latency_ns: int) -> None:
    """Add core ``number`` in slot ``c`` of :func:`slot_for`, with its own speed; :func:`resize` must follow."""
    state.n_released -= state.cores.released_ns[c] != s.NEVER
    clear_slot(state, c)  # also its rank: it may be lost before the following resize
    state.cores.scaled[c] = state.scale
    state.speed[c], state.core_number[c], state.latency_ns[c] = scaled(state, c, gflops), number, latency_ns
    if state.graph.exists == 1:
        # It asks in the following resize. Its host does not matter: widths change only without a network.
        state.graph.cores.does[c], state.graph.cores.host[c] = g.ABSENT, 0
    if gflops > 0.0:
        state.n_present += 1
        if part_kind(state) != s.GRAPH:
            ask(state, c, state.now_ns)


@compiled()
def open_slot(state: ApplicationState, c: int) -> None:
    """Initialize the new slot ``c``."""
    state.cores.released_ns[c] = s.NEVER
    state.cores.finish_ns[c] = state.began_ns
    state.cores.busy_ns[c] = 0
    if state.graph.exists == 1:
        state.graph.cores.queued[c] = 0
        state.graph.cores.task[c] = state.graph.cores.sequence[c] = -1


@compiled()
def take(state: ApplicationState, c: int) -> bool:
    """Ask core ``c`` to leave; False if it is gone, leaves already, or is the last. :func:`resize` must follow."""
    cores = state.cores
    others = 0
    for other in range(state.speed.size):
        others += other != c and stays(state, other)
    if others == 0 or not stays(state, c):
        return False
    cores.wanted[c] = s.TO_LEAVE
    state.n_leaving += 1
    if state.graph.exists == 1 and state.speed[c] == 0.0:
        state.graph.cores.does[c] = g.DONE
    if state.speed[c] == 0.0 or (cores.away[c] == 1 and part_kind(state) != s.GRAPH):
        leave(state, c, state.now_ns)
    return True


@compiled(inner=True)
def stay(state: ApplicationState, c: int) -> None:
    """Keep core ``c``, the last one, although it was asked to leave."""
    state.cores.wanted[c] = 0
    state.n_leaving -= 1
    _begin_again(state)


@compiled()
def resize(state: ApplicationState, cost_ns: int) -> None:
    """Apply a change of width: remaining cores pay ``cost_ns`` before their next chunk, and the technique begins again."""
    if state.status != SUSPENDED:
        return
    for c in range(state.speed.size):
        if stays(state, c):
            state.cores.owes_ns[c] += cost_ns
    if part_kind(state) == s.GRAPH:
        count_ranks(state)
        call_hook(state.hooks[RESIZE_GRAPH], (state, state.now_ns, 0.0))
        return
    _begin_again(state)
    if part_kind(state) != s.SERIAL and state.n_left > 0:
        reopen(state, state.now_ns)


@compiled(inner=True)
def _begin_again(state: ApplicationState) -> None:
    """Let the technique of the present part begin again at the next request, without what rules have learned."""
    count_ranks(state)
    state.memo[:] = 0.0
    if part_kind(state) == s.SERIAL or state.choose_ns == 0:
        return
    if state.n_left == 0:
        state.rule_tasks = 0  # tasks put back by lost cores are shared without a technique
        return
    if state.table.flags[state.rule] & PLACES == 0:
        state.choose_ns = state.n_requests = 0
        return
    put_back(state)


@compiled(HOOK)
def rank(state: ApplicationState, _t: int, _speed: float) -> int:
    """Count the cores at the begin of a loop: some may have gone since the latest change."""
    count_ranks(state)
    return 0
