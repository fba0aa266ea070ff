"""Cores that other jobs wait for: the batch level says which, and they are served last of the requests of one instant.

A wanted core gets nothing more once no more tasks are left than there are other cores that will still ask: it is released,
and from then on a rule that would give another core nothing more is overruled, as where a core is lost. A rule that chooses
its tasks, a graph and a serial part know of no such order."""

from als.engine import state as s
from als.engine.chunk_dispatch import LEAVES, SERVED, STAYS, YIELDS
from als.engine.features.width import stay
from als.engine.hooks import HOOK
from als.engine.releases import is_last, may_release
from als.engine.rule_table import PLACES
from als.engine.state import ApplicationState, part_kind
from traces.algorithms.event_heap import heap_settle
from traces.compiled import compiled
from traces.kernels.signatures import Bytes


@compiled()
def hint(state: ApplicationState, wanted: Bytes) -> None:
    """From now on other jobs wait for these cores, and for no others: a 1 for each such core, uint8 (P,). All that has been
    asked for by now is to be served before: :func:`als.engine.loop.advance` until one ns later."""
    count = 0
    for c in range(state.speed.size):
        if state.cores.wanted[c] != s.TO_LEAVE:
            state.cores.wanted[c] = wanted[c]
            count += wanted[c]
    state.n_hinted = count


@compiled(HOOK)
def serve_last(state: ApplicationState, asking: int, left: float) -> int:
    """The core on top of the ``asking`` requests is wanted: let others ask first, if any do at this instant; or it is to
    leave. Returns ``YIELDS`` if there are none, and it leaves the tasks that are ``left`` to those who will still ask;
    ``LEAVES``, or ``STAYS`` if it was to leave and there is nobody else; else ``SERVED``."""
    c, serial = state.cores.ask_core[0], part_kind(state) == s.SERIAL
    if state.cores.wanted[c] == s.TO_LEAVE:
        if not is_last(state):
            return LEAVES
        stay(state, c)
        return STAYS if state.choose_ns == 0 and not serial else SERVED
    if serial or state.table.flags[state.rule] & PLACES != 0 or _let_others_ask_first(state, asking):
        return SERVED
    return YIELDS if _yields(state, state.cores.ask_core[0], int(left), asking) else SERVED


@compiled(inner=True)
def _let_others_ask_first(state: ApplicationState, asking: int) -> bool:
    """Put the first request of a core that is not wanted on top of the heap; False if none arrives with that on top. The
    order of the rest is as it was. What is on top then is to be dropped or replaced next: it may not be the smallest."""
    t = state.cores.ask_ns[0]
    if (asking < 2 or state.cores.ask_ns[1] != t) and (asking < 3 or state.cores.ask_ns[2] != t):
        return False  # in a heap any other of this instant is below one
    at, first = -1, state.speed.size
    for k in range(1, asking):
        c = state.cores.ask_core[k]
        if state.cores.ask_ns[k] == t and c < first and state.cores.wanted[c] == 0:
            at, first = k, c
    if at < 0:
        return False
    heap_settle(state.cores.ask_ns, state.cores.ask_core, asking, at, -1)
    state.cores.ask_ns[0] = t
    return True


@compiled(inner=True)
def _yields(state: ApplicationState, c: int, left: int, asking: int) -> bool:
    """Whether core ``c``, whose request is on top of the heap, leaves the tasks that are left to others."""
    if left == 0 or left >= asking:
        return False  # the others are fewer than all who will ask
    if state.n_present + state.n_released < state.speed.size or not may_release(state, c):
        return False
    others = 0
    for k in range(1, asking):
        others += state.cores.wanted[state.cores.ask_core[k]] == 0
    return bool(left <= others)
