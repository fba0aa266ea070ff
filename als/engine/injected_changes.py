"""Changes during an application: a core changes its speed, is lost or comes (back); the application is stopped.

If all cores are lost for good while work is left, the application ends with ``LOST``, as if it were stopped at the last loss.
"""

from als.engine import state as s
from als.engine.chunk_dispatch import arrival_ns, ask, note_end, reopen
from als.engine.codes import FINISHED, LOST, OVERFLOW, STOPPED, SUSPENDED
from als.engine.hooks import CHANGE_GRAPH, CUT_ON_DEVICES, STOP_GRAPH, call_hook
from als.engine.releases import rank_speed, released
from als.engine.requests import drop_event, forget, place_in_heap
from als.engine.state import ApplicationState, part_kind
from traces.algorithms.event_heap import heap_settle
from traces.base.time import MAX_NS, duration_ns
from traces.compiled import compiled

#: The application ends after this number of successive losses that put tasks back without any ended task.
MOST_FRUITLESS = 100_000

#: A task with more than this time left (ns, at its speed) plus this part of its work has not ended.
_SURE_NS, _SURE_PART = 2.0, 1e-12

IDLES, OVERFLOWS = -1, -2  #: results of :func:`go_on` that are no instants


@compiled(merged=True)
def is_sure(left: float, work: float, speed: float) -> bool:
    """Whether a task that had ``work`` left and has ``left`` now is unfinished, whatever the rounding."""
    return left > _SURE_NS * 1e-9 * speed + _SURE_PART * work


@compiled(merged=True)
def settle(
    state: ApplicationState, c: int, k: int, t: int, work: float, begun: bool, speed: float, now: int
) -> tuple[int, int, float, bool]:
    """Move the start of core ``c``'s held tasks (from ``k``) from ``t`` up to now, with the remaining work of the first.
    Writes the records of tasks that end or begin in between: the latest change of speed may not have done so."""
    cores, stop_at = state.cores, state.cores.held_stop[c]
    while k < stop_at and t < now:
        if not begun:
            cores.began_ns[c] = t
        left = work - (now - t) * 1e-9 * speed
        if is_sure(left, work, speed):
            return k, now, left, True
        after = t + duration_ns(work, speed)
        if after > now:
            # Never 0: a running task has work left, whatever the rounding.
            return k, now, max(left, 1e-300), True
        beyond = float(after - cores.began_ns[c] - cores.shift_ns[c])
        cores.done_squares[c] += beyond * beyond
        if state.start_ns.size > 0:
            state.end_ns[k] = after
        state.fruitless = 0
        k, t, begun = k + 1, after, False
        if k < stop_at:
            work = state.lengths[k]
            if state.start_ns.size > 0:
                state.start_ns[k] = t
    return k, t, work, begun


@compiled(inner=True)
def _settle_held(state: ApplicationState, c: int) -> None:
    """Move the start of core ``c``'s held tasks up to now."""
    cores, held = state.cores, state.cores.held_work
    k, t, work, begun = settle(
        state, c, cores.held_first[c], cores.held_from_ns[c], abs(held[c]), held[c] < 0.0, state.speed[c], state.now_ns
    )
    cores.held_first[c], cores.held_from_ns[c], held[c] = k, t, -work if begun else work


@compiled(inner=True)
def _lose(state: ApplicationState, c: int) -> None:
    cores = state.cores
    now = state.now_ns
    _settle_held(state, c)
    at = place_in_heap(state, c, state.speed.size)
    drop_event(state, at)
    put_back = 0
    if cores.held_size[c] > 0:
        k, stop_at = cores.held_first[c], cores.held_stop[c]
        put_back = stop_at - k
        if put_back == 0:  # its last message was still on the way
            note_end(state, c, cores.held_from_ns[c])
        elif cores.work_ns[c] < now:
            state.cores.busy_ns[c] += now - cores.work_ns[c]
            state.cores.finish_ns[c] = now
        state.taken[k:stop_at] = 2
        state.n_left += put_back
        state.n_holes += put_back
        state.n_put_back += put_back
        state.lowest_hole = min(state.lowest_hole, k)
        forget(state, k, stop_at)
    cores.held_size[c] = cores.held_first[c] = cores.held_stop[c] = cores.away[c] = 0
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
    """Change the speed of core ``c`` to ``speed_gflops``, also within a task; at 0 it is lost.

    Unfinished tasks of a lost core are assigned again. A lost or initially absent core comes when it gets a speed. Returns the
    engine's status; ``OVERFLOW`` if the held tasks would end beyond the last instant, ``LOST`` if tasks were put back
    ``MOST_FRUITLESS`` times in a row."""
    cores = state.cores
    if state.status != SUSPENDED:
        return int(state.status)
    if released(state, c):
        return SUSPENDED  # it no longer belongs to the job
    rank_speed(state, c, speed_gflops)
    if speed_gflops > 0.0 and cores.for_good[c] == 1:
        cores.for_good[c] = 0
        state.n_gone -= 1
    status = SUSPENDED
    if part_kind(state) == s.GRAPH:
        status = call_hook(state.hooks[CHANGE_GRAPH], (state, c, speed_gflops))
    elif speed_gflops == 0.0:
        if state.speed[c] > 0.0:
            _lose(state, c)
    elif state.speed[c] == 0.0:
        state.speed[c] = speed_gflops
        state.n_present += 1
        cores.held_size[c] = cores.held_first[c] = cores.held_stop[c] = 0
        ask(state, c, state.now_ns)
    else:
        t = go_on(state, c, speed_gflops)
        if t == OVERFLOWS:
            status = OVERFLOW
        elif t != IDLES:
            at = place_in_heap(state, c, state.speed.size)
            heap_settle(state.cores.ask_ns, state.cores.ask_core, state.n_asking, at, arrival_ns(state, t, c))
    if state.fruitless == MOST_FRUITLESS and status == SUSPENDED:
        status = _end_lost(state, -1)
    return int(status)


@compiled(inner=True)
def go_on(state: ApplicationState, c: int, speed_gflops: float) -> int:
    """Continue the chunk of the present core ``c`` at another speed; returns its end, ``IDLES`` or ``OVERFLOWS``."""
    _settle_held(state, c)
    state.speed[c] = speed_gflops
    return int(do_held(state, c))


@compiled(inner=True)
def do_held(state: ApplicationState, c: int) -> int:
    """The end of core ``c``'s chunk, all of whose tasks up to now have ended; results as of :func:`go_on`."""
    cores, speed_gflops, stop_at = state.cores, state.speed[c], state.cores.held_stop[c]
    k, t, held = cores.held_first[c], cores.held_from_ns[c], state.cores.held_work[c]
    if k == stop_at:
        return IDLES
    keep, now, work, begun = state.start_ns.size > 0, state.now_ns, abs(held), held < 0.0
    squares = state.cores.done_squares[c]
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
    state.cores.squares[c] = squares
    return int(t)


@compiled()
def lose_for_good(state: ApplicationState, c: int) -> int:
    """Remove core ``c`` for good. Returns the engine's status: ``LOST`` if that was the last core and work is left,
    ``FINISHED`` if none is left."""
    status = set_speed(state, c, 0.0)
    if status == SUSPENDED and not released(state, c):  # otherwise it no longer belongs to the job
        state.n_gone += 1 - state.cores.for_good[c]
        state.cores.for_good[c] = 1
        if state.n_gone + state.n_released == state.speed.size:
            status = _end_lost(state, c)
    return int(status)


@compiled(inner=True)
def _end_lost(state: ApplicationState, c: int) -> int:
    """End the application now and return its status; ``c``: the core lost last, -1 if tasks never end."""
    status = stop(state)
    if status == STOPPED:
        status = state.status = LOST
        state.last_lost = c
    return int(status)


@compiled()
def stop(state: ApplicationState) -> int:
    """End the application now: cut running tasks; the others never run. Returns ``STOPPED``, or ``FINISHED`` if the last task
    has ended by now."""
    if state.status != SUSPENDED:
        return int(state.status)
    part_stop = state.part_first[state.part + 1]
    if part_kind(state) == s.GRAPH:
        completed = call_hook(state.hooks[STOP_GRAPH], (state, -1, 0.0)) == 1
    else:
        completed = _cut_loop(state)
    if state.start_ns.size > 0:
        for k in range(state.part_first[state.part], part_stop):
            if state.taken[k] != 1 or state.end_ns[k] < 0:
                forget(state, k, k + 1)
        forget(state, part_stop, state.lengths.size)
    state.n_asking = 0
    state.status = FINISHED if completed else STOPPED
    return int(state.status)


@compiled(inner=True)
def _cut_loop(state: ApplicationState) -> bool:
    """Cut the tasks of the present part, which is not a graph; returns whether there was nothing to cut."""
    cores, now = state.cores, state.now_ns
    completed = state.part == state.part_first.size - 2 and state.n_left == 0
    state.n_ran = state.part_first[state.part + 1] - state.n_left
    if state.devices.slots.kind.size > 0 and part_kind(state) == s.LOOP:
        completed = call_hook(state.hooks[CUT_ON_DEVICES], (state, 0, 0.0)) == 0 and completed
    for at in range(state.n_asking):
        c = state.cores.ask_core[at]
        if cores.held_size[c] == 0:
            continue
        _settle_held(state, c)
        k, stop_at = cores.held_first[c], cores.held_stop[c]
        if k == stop_at:  # it is about to ask
            note_end(state, c, cores.held_from_ns[c])
            continue
        completed = False
        state.cores.busy_ns[c] += max(0, now - cores.work_ns[c])
        cut = k + 1 if state.cores.held_work[c] < 0.0 else k
        state.n_ran -= stop_at - cut
        state.end_ns[k:cut] = now
        forget(state, cut, stop_at)
    if not completed:
        for at in range(state.n_asking):
            state.cores.finish_ns[state.cores.ask_core[at]] = now
        if state.n_asking == 0:  # between two parts, or without cores
            for c in range(state.speed.size):
                if not released(state, c):
                    state.cores.finish_ns[c] = now
    return bool(completed)
