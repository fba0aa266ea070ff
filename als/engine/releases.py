"""Release of cores that a job no longer needs; the job does not get them back.

A core is released when it learns, in the last part that is not serial, that no tasks are left for it. If serial parts follow,
the first present core stays. No core is released while another is absent and tasks are left, since these may be for it. The
job therefore runs as without releases, unless other cores are lost afterwards.
"""

from als.engine import state as s
from als.engine.state import ApplicationState
from traces.compiled import compiled


@compiled(inner=True)
def begin_releases(state: ApplicationState) -> None:
    """Find the part from which on cores may be released; called at the begin."""
    state.last_wide = state.part_first.size - 2
    while state.last_wide >= 0 and state.phases.kind[state.last_wide % state.phases.kind.size] == s.SERIAL:
        state.last_wide -= 1


@compiled(inner=True)
def clear_slot(state: ApplicationState, c: int) -> None:
    """Reset slot ``c`` for a new core."""
    cores = state.cores
    cores.released_ns[c] = s.NEVER
    cores.for_good[c] = cores.wanted[c] = cores.away[c] = cores.rank[c] = cores.owes_ns[c] = 0
    cores.held_size[c] = cores.held_first[c] = cores.held_stop[c] = 0


@compiled(inner=True)
def released(state: ApplicationState, c: int) -> bool:
    """Whether core ``c`` is released or about to be."""
    return bool(state.cores.released_ns[c] != s.NEVER)


@compiled(inner=True)
def may_release(state: ApplicationState, c: int) -> bool:
    """Whether cores are released and no later part needs core ``c``."""
    if state.part < state.last_wide:
        return False
    if state.part < state.part_first.size - 2:
        first = 0
        while first < c and (state.speed[first] == 0.0 or released(state, first)):
            first += 1
        if first == c:
            return False  # it runs the following serial parts
    return True


@compiled(inner=True)
def release(state: ApplicationState, c: int, learns_ns: int) -> None:
    """Release core ``c``, which learns at ``learns_ns`` that no tasks are left, unless a later part needs it."""
    if not may_release(state, c):
        return
    state.cores.released_ns[c] = learns_ns
    state.n_released += 1
    state.n_present -= 1


@compiled(inner=True)
def leave(state: ApplicationState, c: int, learns_ns: int) -> None:
    """Release the leaving core ``c`` at ``learns_ns``."""
    cores = state.cores
    state.n_leaving -= 1
    state.n_gone -= cores.for_good[c]
    cores.wanted[c] = cores.for_good[c] = 0
    cores.released_ns[c] = learns_ns
    state.n_released += 1
    state.n_present -= state.speed[c] > 0.0


@compiled(inner=True)
def stays(state: ApplicationState, c: int) -> bool:
    """Whether core ``c`` belongs to the job, present or not, and is not leaving."""
    return not released(state, c) and state.cores.wanted[c] != s.TO_LEAVE


@compiled(inner=True)
def is_last(state: ApplicationState) -> bool:
    """Whether all cores but one are released or lost for good."""
    return bool(state.n_gone + state.n_released >= state.speed.size - 1)


@compiled(inner=True)
def takes_part(state: ApplicationState, c: int) -> bool:
    """Whether workers of the kind of slot ``c`` take part in the present phase."""
    on = state.devices.on
    return on.size == 0 or (on[state.part % on.size] >> state.devices.slots.kind[c]) & 1 == 1


@compiled(inner=True)
def count_ranks(state: ApplicationState) -> None:
    """Number the remaining cores that take part by slot, for the techniques; the others have -1."""
    width = 0
    for c in range(state.speed.size):
        state.cores.rank[c] = -1
        if stays(state, c) and takes_part(state, c):
            state.cores.rank[c] = width
            state.cores.ranked[width] = state.speed[c]
            width += 1
    state.width = width


@compiled(inner=True)
def rank_speed(state: ApplicationState, c: int, gflops: float) -> None:
    """Update the speed of core ``c`` among the numbered cores, if there are any."""
    if state.width > 0 and state.cores.wanted[c] != s.TO_LEAVE:
        state.cores.ranked[state.cores.rank[c]] = gflops
