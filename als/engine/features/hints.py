"""Hints: requests of cores that other jobs wait for are served last at each instant.

A wanted core gets no more tasks, and is released, when the number of remaining tasks is at most the number of other cores that
will still ask. From then on, a rule's answer 0 to another core is overruled, as after the loss of a core. Rules that choose
their tasks, graphs and serial parts ignore hints."""

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
    """Set the cores that other jobs wait for from now on: 1 for each such core, uint8 (P,). Serve the requests of this instant
    before: call :func:`als.engine.loop.advance` until one ns later."""
    count = 0
    for c in range(state.speed.size):
        if state.cores.wanted[c] != s.TO_LEAVE:
            state.cores.wanted[c] = wanted[c]
            count += wanted[c]
    state.n_hinted = count


@compiled(HOOK)
def serve_last(state: ApplicationState, asking: int, left: float) -> int:
    """Handle a request of a wanted or leaving core on top of the ``asking`` requests.

    Other cores that ask at this instant come first. Returns ``YIELDS`` if the core leaves the ``left`` tasks to others,
    ``LEAVES`` or ``STAYS`` (it is the last core) if it was to leave, otherwise ``SERVED``."""
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
    """Put the first request at this instant of a core that is not wanted on top of the heap; False if there is none. The caller
    must then drop or replace the top, which may not be the smallest entry."""
    t = state.cores.ask_ns[0]
    if (asking < 2 or state.cores.ask_ns[1] != t) and (asking < 3 or state.cores.ask_ns[2] != t):
        return False  # another entry of this instant would be a child of the top
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
    """Whether core ``c``, whose request is on top of the heap, leaves the remaining tasks to others."""
    if left == 0 or left >= asking:
        return False  # there are fewer other cores than requests
    if state.n_present + state.n_released < state.speed.size or not may_release(state, c):
        return False
    others = 0
    for k in range(1, asking):
        others += state.cores.wanted[state.cores.ask_core[k]] == 0
    return bool(left <= others)
