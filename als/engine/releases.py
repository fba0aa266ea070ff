"""Cores that a job does not need any more are released: others may have them, and the job never has them again.

A core is released when it has heard that nothing is left for it, in the last part that is not serial; where serial parts
follow, the first core that is there stays. While a core is absent and tasks are left, nobody is: they may still be theirs. So
the job does what it would have done without releases, unless other cores are lost afterwards.
"""

from als.engine import state as s
from als.engine.state import ApplicationState
from traces.compiled import compiled


@compiled(inner=True)
def begin_releases(state: ApplicationState) -> None:
    """See from which part on cores may be released; as the application begins."""
    state.last_wide = state.part_first.size - 2
    while state.last_wide >= 0 and state.phases.kind[state.last_wide % state.phases.kind.size] == s.SERIAL:
        state.last_wide -= 1


@compiled(inner=True)
def clear_slot(state: ApplicationState, c: int) -> None:
    """A core comes to slot ``c``: it has no chunk, and nothing is known of it."""
    cores = state.cores
    cores.released_ns[c] = s.NEVER
    cores.for_good[c] = cores.wanted[c] = cores.away[c] = cores.rank[c] = cores.owes_ns[c] = 0
    cores.held_size[c] = cores.held_first[c] = cores.held_stop[c] = 0


@compiled(inner=True)
def released(state: ApplicationState, c: int) -> bool:
    """Whether core ``c`` is released, or is about to be."""
    return bool(state.cores.released_ns[c] != s.NEVER)


@compiled(inner=True)
def may_release(state: ApplicationState, c: int) -> bool:
    """Whether no part behind the present one needs core ``c``, where cores are released at all."""
    if state.part < state.last_wide:
        return False
    if state.part < state.part_first.size - 2:
        first = 0
        while first < c and (state.speed[first] == 0.0 or released(state, first)):
            first += 1
        if first == c:
            return False  # the serial parts to come are its
    return True


@compiled(inner=True)
def release(state: ApplicationState, c: int, heard_ns: int) -> None:
    """Core ``c`` hears at ``heard_ns`` that nothing is left for it here: unless a later part needs it, it is released."""
    if not may_release(state, c):
        return
    state.cores.released_ns[c] = heard_ns
    state.n_released += 1
    state.n_present -= 1


@compiled(inner=True)
def leave(state: ApplicationState, c: int, heard_ns: int) -> None:
    """Core ``c``, which is to leave, is released at ``heard_ns``, whoever may need it."""
    cores = state.cores
    state.n_leaving -= 1
    state.n_gone -= cores.for_good[c]
    cores.wanted[c] = cores.for_good[c] = 0
    cores.released_ns[c] = heard_ns
    state.n_released += 1
    state.n_present -= state.speed[c] > 0.0


@compiled(inner=True)
def stays(state: ApplicationState, c: int) -> bool:
    """Whether core ``c`` is the job's, there or not, and is not to leave."""
    return not released(state, c) and state.cores.wanted[c] != s.TO_LEAVE


@compiled(inner=True)
def is_last(state: ApplicationState) -> bool:
    """Whether all cores but one are released, or lost for good."""
    return bool(state.n_gone + state.n_released >= state.speed.size - 1)


@compiled(inner=True)
def count_ranks(state: ApplicationState) -> None:
    """Count the cores that stay, by their slots, for the techniques."""
    width = 0
    for c in range(state.speed.size):
        if stays(state, c):
            state.cores.rank[c] = width
            state.cores.ranked[width] = state.speed[c]
            width += 1
    state.width = width


@compiled(inner=True)
def rank_speed(state: ApplicationState, c: int, gflops: float) -> None:
    """Where techniques count the cores that stay, have them know the speed of core ``c``."""
    if state.width > 0 and state.cores.wanted[c] != s.TO_LEAVE:
        state.cores.ranked[state.cores.rank[c]] = gflops
