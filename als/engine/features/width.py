"""Applications whose width changes: cores come to them and leave them while they run, as the batch level decides.

A core has a *slot*, its index in the columns. One that comes takes the first slot whose core had gone before, else a new one,
and asks at once. One that is to leave gets nothing more, and leaves at the end of its chunk, or at once if it has none; the
last core stays. With each decision the technique of a loop begins again, for the tasks that are left and the cores that stay,
counted by their slots, and forgets what it has learned; cores that were sent away ask again, and each pays for the change
once, before its next chunk. Graphs: ``als.engine.dag.widths``."""

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
    """The slot of the next core that comes: the first whose core was gone before now, else the one behind all slots."""
    for c in range(state.speed.size):
        if state.cores.released_ns[c] < state.now_ns:
            return c
    return int(state.speed.size)


@compiled()
def give(state: ApplicationState, c: int, number: int, gflops: float, latency_ns: int) -> None:
    """Core ``number`` comes, to slot ``c`` of :func:`slot_for`, which the columns have room for by now; :func:`resize`
    follows.

    Its own speed is ``gflops``, and its scale what all were told last. At a speed of 0 it is not there until it has one. A
    message between it and the master takes ``latency_ns``.
    """
    state.n_released -= state.cores.released_ns[c] != s.NEVER
    clear_slot(state, c)  # its rank, too, until the width changes, a moment later: it may be lost before
    state.cores.scaled[c] = state.scale
    state.speed[c], state.core_number[c], state.latency_ns[c] = scaled(state, c, gflops), number, latency_ns
    if state.graph.exists == 1:
        # It asks as the width changes. On which host it is, is all the same where data take no time.
        state.graph.cores.does[c], state.graph.cores.host[c] = g.ABSENT, 0
    if gflops > 0.0:
        state.n_present += 1
        if part_kind(state) != s.GRAPH:
            ask(state, c, state.now_ns)


@compiled()
def open_slot(state: ApplicationState, c: int) -> None:
    """The columns have grown by slot ``c``, where nobody ever was."""
    state.cores.released_ns[c] = s.NEVER
    state.cores.finish_ns[c] = state.began_ns
    state.cores.busy_ns[c] = 0
    if state.graph.exists == 1:
        state.graph.cores.queued[c] = 0
        state.graph.cores.task[c] = state.graph.cores.sequence[c] = -1


@compiled()
def take(state: ApplicationState, c: int) -> bool:
    """Core ``c`` is to leave; False if it is gone, is to leave already, or nobody else stays. :func:`resize` follows."""
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
    """Core ``c`` was to leave, and is the only one that is left: it stays."""
    state.cores.wanted[c] = 0
    state.n_leaving -= 1
    _begin_anew(state)


@compiled()
def resize(state: ApplicationState, cost_ns: int) -> None:
    """Cores have come, or are to leave: those who stay pay ``cost_ns`` before their next chunk; the technique begins anew."""
    if state.status != SUSPENDED:
        return
    for c in range(state.speed.size):
        if stays(state, c):
            state.cores.owes_ns[c] += cost_ns
    if part_kind(state) == s.GRAPH:
        count_ranks(state)  # who begins a chunk from now on pays
        call_hook(state.hooks[RESIZE_GRAPH], (state, state.now_ns, 0.0))
        return
    _begin_anew(state)
    if part_kind(state) != s.SERIAL and state.n_left > 0:
        reopen(state, state.now_ns)


@compiled(inner=True)
def _begin_anew(state: ApplicationState) -> None:
    """The technique of the present part begins anew as the next request is served, and all forget what they have learned."""
    count_ranks(state)
    state.memo[:] = 0.0
    if part_kind(state) == s.SERIAL or state.choose_ns == 0:
        return
    if state.n_left == 0:
        state.rule_tasks = 0  # what lost cores put back is shared out, and no technique is asked
        return
    if state.table.flags[state.rule] & PLACES == 0:
        state.choose_ns = state.n_requests = 0
        return
    put_back(state)


@compiled(HOOK)
def rank(state: ApplicationState, _t: int, _speed: float) -> int:
    """Count them as a loop begins: some may be gone since the latest change."""
    count_ranks(state)
    return 0
