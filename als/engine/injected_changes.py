"""Changes in the middle of an application: a core gets another speed, is lost, comes (back); the application is stopped.

One with work left whose cores are all lost for good ends there and then, ``LOST``: as if it were stopped at the instant at
which the last of them was lost.
"""

from __future__ import annotations

from als.engine import state as s
from als.engine.chunk_dispatch import arrival_ns, note_end, reopen
from als.engine.hooks import CHANGE_GRAPH, STOP_GRAPH, call_hook
from als.engine.releases import released
from als.engine.state import ApplicationState
from als.engine.status import FINISHED, LOST, OVERFLOW, STOPPED, SUSPENDED
from traces.algorithms.event_heap import heap_drop_top, heap_push, heap_settle
from traces.base.time import MAX_NS, duration_ns
from traces.compiled import compiled

__all__ = ["IDLES", "MOST_FRUITLESS", "OVERFLOWS", "do_held", "go_on", "lose_for_good", "set_speed", "stop"]

#: So many losses in a row that put tasks back, and not one task has ended: with the last of them the application ends.
MOST_FRUITLESS = 100_000

#: What :func:`go_on` returns where there is no instant.
IDLES, OVERFLOWS = -1, -2


@compiled(inner=True)
def _settle_held(state: ApplicationState, c: int) -> None:
    """Move the start of core ``c``'s held tasks up to now: to the task that runs now, with the work it has left."""
    now, cores, amounts = state.now_ns, state.cores, state.amounts
    k, stop_at = cores.held_first[c], cores.held_stop[c]
    t, work = cores.held_from_ns[c], abs(amounts.held_work[c])
    begun = amounts.held_work[c] < 0.0
    while k < stop_at and t < now:
        after = t + duration_ns(work, state.speed[c])
        if not begun:
            cores.began_ns[c] = t
        if after > now:
            # Never quite nothing: a task that runs now has work left, whatever the rounding.
            work = max(work - (now - t) * 1e-9 * state.speed[c], 1e-300)
            t = now
            begun = True
        else:
            beyond = float(after - cores.began_ns[c] - cores.shift_ns[c])
            amounts.done_squares[c] += beyond * beyond
            k += 1
            state.fruitless = 0
            t = after
            begun = False
            if k < stop_at:
                work = state.lengths[k]
    cores.held_first[c], cores.held_from_ns[c] = k, t
    amounts.held_work[c] = -work if begun else work


@compiled(inner=True)
def _place_in_heap(state: ApplicationState, c: int) -> int:
    """Where the request of core ``c`` is in the heap; -1 if none is under way."""
    for at in range(state.n_asking):
        if state.ask_core[at] == c:
            return at
    return -1


@compiled(inner=True)
def _come(state: ApplicationState, c: int, speed_gflops: float) -> None:
    """Core ``c``, absent before, runs at this speed from now on, and asks."""
    state.speed[c] = speed_gflops
    state.n_present += 1
    state.cores.away[c] = 0
    state.cores.held_size[c] = 0
    state.cores.held_first[c] = state.cores.held_stop[c] = 0
    at = arrival_ns(state, state.now_ns, c)
    state.n_asking = heap_push(state.ask_ns, state.ask_core, state.n_asking, at, c)


@compiled(inner=True)
def _lose(state: ApplicationState, c: int) -> None:
    """Core ``c`` is absent from now on; the tasks that it has not finished are put back."""
    cores = state.cores
    now = state.now_ns
    _settle_held(state, c)
    at = _place_in_heap(state, c)
    if at >= 0:
        heap_settle(state.ask_ns, state.ask_core, state.n_asking, at, -1)
        state.n_asking = heap_drop_top(state.ask_ns, state.ask_core, state.n_asking)
    put_back = 0
    if cores.held_size[c] > 0:
        k, stop_at = cores.held_first[c], cores.held_stop[c]
        put_back = stop_at - k
        if put_back == 0:  # its last message was still under way
            note_end(state, c, cores.held_from_ns[c], state.facts)
        elif cores.work_ns[c] < now:
            state.busy_ns[c] += now - cores.work_ns[c]
            state.finish_ns[c] = now
        state.taken[k:stop_at] = 2
        state.n_left += put_back
        state.n_holes += put_back
        state.n_put_back += put_back
        state.lowest_hole = min(state.lowest_hole, k)
        if state.start_ns.size > 0:
            _forget(state, k, stop_at)
    cores.held_size[c] = 0
    cores.held_first[c] = cores.held_stop[c] = 0
    cores.away[c] = 0
    state.speed[c] = 0.0
    state.n_present -= 1
    state.away_ns = max(state.away_ns, now)
    if at >= 0:
        state.barrier_ns = max(state.barrier_ns, now)
    if put_back > 0:
        state.fruitless += 1
        reopen(state, now)


@compiled()
def set_speed(state: ApplicationState, c: int, speed_gflops: float) -> int:
    """From now on core ``c`` runs at ``speed_gflops``, in the middle of a task too; at 0 it is lost.

    What a lost core has not finished is handed out again. A core that was lost, or not there from the start, comes when
    it gets a speed. Returns the engine's status; ``OVERFLOW`` if the held tasks would end beyond the last instant, ``LOST`` if
    tasks were put back ``MOST_FRUITLESS`` times in a row.
    """
    cores = state.cores
    if state.status != SUSPENDED:
        return int(state.status)
    if released(state, c):
        return SUSPENDED  # it is not the job's any more
    if state.width > 0 and cores.wanted[c] != s.TO_LEAVE:
        state.amounts.ranked[cores.rank[c]] = speed_gflops
    if speed_gflops > 0.0 and cores.for_good[c] == 1:
        cores.for_good[c] = 0
        state.n_gone -= 1
    if state.phases.kind[state.part % state.phases.kind.size] == s.GRAPH:
        status = call_hook(state.hooks[CHANGE_GRAPH], (state, c, speed_gflops))
        if state.fruitless == MOST_FRUITLESS and status == SUSPENDED:
            status = _end_lost(state, -1)
        return int(status)
    if speed_gflops == 0.0 or state.speed[c] == 0.0:
        if speed_gflops != state.speed[c]:
            if speed_gflops == 0.0:
                _lose(state, c)
                if state.fruitless == MOST_FRUITLESS:
                    return int(_end_lost(state, -1))
            else:
                _come(state, c, speed_gflops)
        return SUSPENDED
    t = go_on(state, c, speed_gflops)
    if t == OVERFLOWS:
        return OVERFLOW
    if t != IDLES:
        at = _place_in_heap(state, c)
        heap_settle(state.ask_ns, state.ask_core, state.n_asking, at, arrival_ns(state, t, c))
    return SUSPENDED


@compiled(inner=True)
def go_on(state: ApplicationState, c: int, speed_gflops: float) -> int:
    """Core ``c``, which is there and stays, goes on with what it has at another speed; returns when it will have done it.

    ``IDLES`` if it has nothing: its next request finds the new speed. ``OVERFLOWS`` if that is beyond the last instant. The
    heap is as it was.
    """
    _settle_held(state, c)
    state.speed[c] = speed_gflops
    k, t, work = state.cores.held_first[c], state.cores.held_from_ns[c], state.amounts.held_work[c]
    return int(do_held(state, c, k, t, abs(work), work < 0.0))


@compiled(inner=True)
def do_held(state: ApplicationState, c: int, k: int, t: int, work: float, begun: bool) -> int:
    """When core ``c`` will have done its chunk from task ``k`` on, of which it has ``work`` left at ``t``; as :func:`go_on`."""
    cores, speed_gflops, stop_at = state.cores, state.speed[c], state.cores.held_stop[c]
    if k == stop_at:
        return IDLES
    keep = state.start_ns.size > 0
    now = state.now_ns
    squares = state.amounts.done_squares[c]
    for task in range(k, stop_at):
        if task > k:
            work = state.lengths[task]
        if keep and (task > k or t > now):
            state.start_ns[task] = t
        began = cores.began_ns[c] if task == k and begun else t
        t += duration_ns(work, speed_gflops)
        beyond = float(t - began - cores.shift_ns[c])
        squares += beyond * beyond
        if t >= MAX_NS - state.latency_ns[c]:
            state.status = OVERFLOW
            return OVERFLOWS
        if keep:
            state.end_ns[task] = t
    state.amounts.squares[c] = squares
    return int(t)


@compiled()
def lose_for_good(state: ApplicationState, c: int) -> int:
    """Core ``c``, there or not, never comes back: it is lost now, if it is there.

    Returns the engine's status: ``LOST`` if that was the last core and work is left, ``FINISHED`` if none is.
    """
    cores = state.cores
    if state.status != SUSPENDED:
        return int(state.status)
    if released(state, c):
        return SUSPENDED  # it is not the job's any more
    status = set_speed(state, c, 0.0)
    if status == SUSPENDED:
        state.n_gone += 1 - cores.for_good[c]
        cores.for_good[c] = 1
        if state.n_gone + state.n_released == state.speed.size:
            status = _end_lost(state, c)
    return int(status)


@compiled(inner=True)
def _end_lost(state: ApplicationState, c: int) -> int:
    """End the application now, since nobody is left, the last of all core ``c``; returns how it has ended."""
    status = stop(state)
    if status == STOPPED:
        status = state.status = LOST
        state.last_lost = c
    return int(status)


@compiled()
def stop(state: ApplicationState) -> int:
    """End the application now: running tasks are cut, the others never run.

    Returns ``STOPPED``; or ``FINISHED`` if there was nothing to cut: the last task has ended, now or before.
    """
    cores = state.cores
    if state.status != SUSPENDED:
        return int(state.status)
    now = state.now_ns
    keep = state.start_ns.size > 0
    part, n_tasks = state.part, state.lengths.size
    part_stop = state.part_first[part + 1]
    if state.phases.kind[part % state.phases.kind.size] == s.GRAPH:
        completed = call_hook(state.hooks[STOP_GRAPH], (state, -1, 0.0)) == 1
        if keep:
            for k in range(state.part_first[part], part_stop):
                if state.end_ns[k] < 0:
                    _forget(state, k, k + 1)
            _forget(state, part_stop, n_tasks)
        state.n_asking = 0
        state.status = FINISHED if completed else STOPPED
        return int(state.status)
    completed = part == state.part_first.size - 2 and state.n_left == 0
    ran = part_stop - state.n_left
    for at in range(state.n_asking):
        c = state.ask_core[at]
        if cores.held_size[c] == 0:
            continue
        _settle_held(state, c)
        k, stop_at = cores.held_first[c], cores.held_stop[c]
        if k == stop_at:  # it is about to ask
            note_end(state, c, cores.held_from_ns[c], state.facts)
            continue
        completed = False
        state.busy_ns[c] += max(0, now - cores.work_ns[c])
        cut = k + 1 if state.amounts.held_work[c] < 0.0 else k
        ran -= stop_at - cut
        if keep:
            state.end_ns[k:cut] = now
            _forget(state, cut, stop_at)
    if not completed:
        for at in range(state.n_asking):
            state.finish_ns[state.ask_core[at]] = now
        if state.n_asking == 0:  # between two parts, or nobody is there
            for c in range(state.speed.size):
                if not released(state, c):
                    state.finish_ns[c] = now
    if keep:
        for k in range(state.part_first[part], part_stop):
            if state.taken[k] != 1:
                _forget(state, k, k + 1)
        _forget(state, part_stop, n_tasks)
    state.n_asking = 0
    state.n_ran = ran
    state.status = FINISHED if completed else STOPPED
    return int(state.status)


@compiled(inner=True)
def _forget(state: ApplicationState, first: int, stop_at: int) -> None:
    """The tasks from ``first`` up to ``stop_at`` never ran."""
    state.start_ns[first:stop_at] = -1
    state.end_ns[first:stop_at] = -1
    state.core[first:stop_at] = -1
    state.chunk[first:stop_at] = -1
