"""The application engine: the tasks of one job on its cores, advanced to any instant, suspended, changed, resumed.

A core asks for work at the job's start (in core order) and whenever it falls idle (ties by core number); a technique
answers with a chunk of consecutive tasks, which the core runs one after another. The engine handles one event a chunk,
not one a task. All state is in one :class:`ApplicationState`; the kernels below are the only code that changes it.

Order at one instant: changes that are injected at t take effect before any request at t is served, because
:func:`advance` serves the requests *before* its limit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from traces.compiled import Array, compiled, own
from traces.event_heap import heap_drop_top, heap_replace_top, heap_settle
from traces.time import MAX_NS, duration_ns

__all__ = [
    "ANSWER_OUT_OF_RANGE",
    "CHUNKS",
    "COUNTERS",
    "FINISHED",
    "NEVER",
    "NOW",
    "OVERFLOW",
    "RAN",
    "STOPPED",
    "SUSPENDED",
    "TASKS_LEFT",
    "ApplicationState",
    "advance",
    "begin",
    "end_ns",
    "new_state",
    "run_until_stop",
    "set_speed",
    "stop",
    "total_gflop",
]

# Entries of ApplicationState.counters.
NOW = 0  # everything before this instant has been simulated
NEXT = 1  # first task not yet assigned
CHUNKS = 2  # chunks assigned so far
ASKING = 3  # cores that will ask again: the size of the heap
STATUS = 4
OVERHEAD = 5  # ns that a core pays before each chunk
RAN = 6  # once finished or stopped: tasks that ran, at least in part
COUNTERS = 7

# Why advance() returned.
SUSPENDED = 0
FINISHED = 1
STOPPED = 2
ANSWER_OUT_OF_RANGE = 3  # the technique's answer was not in 0..remaining
TASKS_LEFT = 4  # every core was sent away while tasks were left
OVERFLOW = 5  # an end at traces.time.MAX_NS, where durations saturate, or beyond

#: A limit that no instant reaches: advance to the end.
NEVER = 2**63 - 1


class ApplicationState(NamedTuple):
    """The whole state of one application; N tasks on P cores.

    Attributes
    ----------
    counters : int64 (COUNTERS,)
        See the names above.
    lengths : float64 (N,)
        Work of each task, GFLOP.
    speed : float64 (P,)
        GFLOP/s of each core, now.
    core_number : int64 (P,)
        What the task records call each core.
    ask_ns, ask_core : int64 (P,)
        Heap of the cores that will ask, by (instant, core).
    finish_ns : int64 (P,)
        When each core had nothing more to do.
    held_first, held_stop, held_from_ns : int64 (P,)
        The tasks of a core's latest chunk, and the instant from which its first one runs.
    held_work : float64 (P,)
        Work of that first task from that instant on, GFLOP; negated if the task had begun before that instant.
    memo : float64
        The technique's own.
    start_ns, end_ns : int64 (N,) or (0,)
        Task records, -1 where a task never ran; empty if they are not kept.
    core, chunk : int32 (N,) or (0,)
        Likewise.
    """

    counters: Array
    lengths: Array
    speed: Array
    core_number: Array
    ask_ns: Array
    ask_core: Array
    finish_ns: Array
    held_first: Array
    held_stop: Array
    held_from_ns: Array
    held_work: Array
    memo: Array
    start_ns: Array
    end_ns: Array
    core: Array
    chunk: Array


@compiled()
def begin(state: ApplicationState, start_ns: int, overhead_ns: int) -> None:
    """Put the application at its start: every core is about to ask, in core order."""
    n_cores = state.speed.size
    for c in range(n_cores):
        # Equal times in ascending core order are a heap already.
        state.ask_ns[c] = start_ns
        state.ask_core[c] = c
        state.finish_ns[c] = start_ns
        state.held_first[c] = 0
        state.held_stop[c] = 0
    state.counters[NOW] = start_ns
    state.counters[NEXT] = 0
    state.counters[CHUNKS] = 0
    state.counters[ASKING] = n_cores
    state.counters[STATUS] = SUSPENDED
    state.counters[OVERHEAD] = overhead_ns
    state.counters[RAN] = 0
    state.memo[:] = 0.0


@compiled()
def advance(state: ApplicationState, next_chunk: Callable[..., int], until_ns: int) -> int:
    """Serve every request before ``until_ns``; returns why it stopped.

    Returns
    -------
    int
        ``FINISHED``, ``SUSPENDED`` (now is ``until_ns``), ``STOPPED``, or a fault: ``ANSWER_OUT_OF_RANGE``,
        ``TASKS_LEFT`` or ``OVERFLOW``.
    """
    counters = state.counters
    if counters[STATUS] != SUSPENDED:
        return int(counters[STATUS])
    ask_ns, ask_core, finish_ns = state.ask_ns, state.ask_core, state.finish_ns
    lengths, speed, memo = state.lengths, state.speed, state.memo
    n_tasks, n_cores = lengths.size, speed.size
    keep = state.start_ns.size > 0
    overhead = counters[OVERHEAD]
    task, chunks, asking = counters[NEXT], counters[CHUNKS], counters[ASKING]
    status = SUSPENDED
    while asking > 0:
        t = ask_ns[0]
        if t >= until_ns:
            break
        c = ask_core[0]
        size = 0
        if task < n_tasks:
            size = next_chunk(n_tasks, n_cores, c, chunks, n_tasks - task, memo)
            if size < 0 or size > n_tasks - task:
                status = ANSWER_OUT_OF_RANGE
                break
        if size == 0:
            finish_ns[c] = t
            asking = heap_drop_top(ask_ns, ask_core, asking)
            continue
        if t >= MAX_NS - overhead:
            status = OVERFLOW
            break
        t += overhead
        state.held_first[c] = task
        state.held_stop[c] = task + size
        state.held_from_ns[c] = t
        state.held_work[c] = lengths[task]
        gflops = speed[c]
        if keep:
            number = state.core_number[c]
            for k in range(task, task + size):
                state.start_ns[k] = t
                t += duration_ns(lengths[k], gflops)
                state.end_ns[k] = t
                state.core[k] = number
                state.chunk[k] = chunks
                if t >= MAX_NS:
                    break
        else:
            for k in range(task, task + size):
                t += duration_ns(lengths[k], gflops)
                if t >= MAX_NS:
                    break
        if t >= MAX_NS:
            status = OVERFLOW
            break
        task += size
        chunks += 1
        heap_replace_top(ask_ns, ask_core, asking, t, c)
    if status == SUSPENDED and asking == 0:
        status = FINISHED if task == n_tasks else TASKS_LEFT
    counters[NEXT], counters[CHUNKS], counters[ASKING] = task, chunks, asking
    counters[STATUS] = status
    if status == SUSPENDED:
        counters[NOW] = max(counters[NOW], until_ns)
    elif status == FINISHED:
        counters[NOW] = max(counters[NOW], end_ns(state))
        counters[RAN] = n_tasks
    return status


@compiled()
def run_until_stop(state: ApplicationState, next_chunk: Callable[..., int], stop_ns: int) -> int:
    """Simulate to the end, or to the stop if that comes first; ``stop_ns`` not before now, or ``NEVER``.

    Returns
    -------
    int
        ``FINISHED`` if the last task ended at ``stop_ns`` or before, ``STOPPED`` if the stop cut the job short (its end
        is ``stop_ns``), or a fault, as from :func:`advance`.
    """
    status = advance(state, next_chunk, stop_ns)
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


@compiled()
def _settle_held(state: ApplicationState, c: int) -> None:
    """Move the start of core ``c``'s held tasks up to now: to the task that runs now, with the work it has left."""
    now = state.counters[NOW]
    k, stop_at = state.held_first[c], state.held_stop[c]
    t, work = state.held_from_ns[c], abs(state.held_work[c])
    begun = state.held_work[c] < 0.0
    while k < stop_at and t < now:
        after = t + duration_ns(work, state.speed[c])
        if after > now:
            # Never quite nothing: a task that runs now has work left, whatever the rounding.
            work = max(work - (now - t) * 1e-9 * state.speed[c], 1e-300)
            t = now
            begun = True
        else:
            k += 1
            t = after
            begun = False
            if k < stop_at:
                work = state.lengths[k]
    state.held_first[c], state.held_from_ns[c] = k, t
    state.held_work[c] = -work if begun else work


@compiled()
def set_speed(state: ApplicationState, c: int, speed_gflops: float) -> int:
    """From now on core ``c`` runs at ``speed_gflops``, in the middle of a task too.

    Returns
    -------
    int
        The engine's status; ``OVERFLOW`` if the held tasks would end beyond the last instant.
    """
    if state.counters[STATUS] != SUSPENDED:
        return int(state.counters[STATUS])
    _settle_held(state, c)
    state.speed[c] = speed_gflops
    k, stop_at, t = state.held_first[c], state.held_stop[c], state.held_from_ns[c]
    if k == stop_at:
        return SUSPENDED  # idle: its next request finds the new speed
    keep = state.start_ns.size > 0
    now = state.counters[NOW]
    work = abs(state.held_work[c])
    for task in range(k, stop_at):
        if task > k:
            work = state.lengths[task]
        if keep and (task > k or t > now):
            state.start_ns[task] = t
        t += duration_ns(work, speed_gflops)
        if t >= MAX_NS:
            state.counters[STATUS] = OVERFLOW
            return OVERFLOW
        if keep:
            state.end_ns[task] = t
    for at in range(state.counters[ASKING]):
        if state.ask_core[at] == c:
            heap_settle(state.ask_ns, state.ask_core, state.counters[ASKING], at, t)
            break
    return SUSPENDED


@compiled()
def stop(state: ApplicationState) -> int:
    """End the application now: running tasks are cut, the others never run.

    Returns
    -------
    int
        ``STOPPED``; or ``FINISHED`` if there was nothing to cut: the last task has ended, now or before.
    """
    counters = state.counters
    if counters[STATUS] != SUSPENDED:
        return int(counters[STATUS])
    now = counters[NOW]
    keep = state.start_ns.size > 0
    n_tasks = state.lengths.size
    completed = counters[NEXT] == n_tasks
    ran = counters[NEXT]
    for at in range(counters[ASKING]):
        c = state.ask_core[at]
        _settle_held(state, c)
        k, stop_at = state.held_first[c], state.held_stop[c]
        state.finish_ns[c] = now
        if k == stop_at:
            continue  # it is about to ask
        completed = False
        cut = k + 1 if state.held_work[c] < 0.0 else k
        ran -= stop_at - cut
        if keep:
            state.end_ns[k:cut] = now
            _forget(state, cut, stop_at)
    if keep:
        _forget(state, counters[NEXT], n_tasks)
    counters[ASKING] = 0
    counters[RAN] = ran
    counters[STATUS] = FINISHED if completed else STOPPED
    return int(counters[STATUS])


@compiled()
def _forget(state: ApplicationState, first: int, stop_at: int) -> None:
    """The tasks from ``first`` up to ``stop_at`` never ran."""
    state.start_ns[first:stop_at] = -1
    state.end_ns[first:stop_at] = -1
    state.core[first:stop_at] = -1
    state.chunk[first:stop_at] = -1


def new_state(
    lengths: Array, speed: Array, core_number: Array, memo_size: int, *, keep_tasks: bool
) -> ApplicationState:
    """A state with arrays of its own for N = ``len(lengths)`` tasks on P = ``len(speed)`` cores."""
    n_tasks, n_cores = len(lengths), len(speed)
    kept = n_tasks if keep_tasks else 0
    return ApplicationState(
        counters=np.zeros(COUNTERS, np.int64),
        lengths=own(lengths, np.float64),
        speed=np.array(speed, np.float64),
        core_number=own(core_number, np.int64),
        ask_ns=np.empty(n_cores, np.int64),
        ask_core=np.empty(n_cores, np.int64),
        finish_ns=np.empty(n_cores, np.int64),
        held_first=np.empty(n_cores, np.int64),
        held_stop=np.empty(n_cores, np.int64),
        held_from_ns=np.empty(n_cores, np.int64),
        held_work=np.empty(n_cores, np.float64),
        memo=np.zeros(memo_size, np.float64),
        start_ns=np.full(kept, -1, np.int64),
        end_ns=np.full(kept, -1, np.int64),
        core=np.full(kept, -1, np.int32),
        chunk=np.full(kept, -1, np.int32),
    )
