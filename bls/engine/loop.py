"""The batch engine: who runs where and when, advanced until it needs something from outside.

At one instant it handles ends, then cores that are released, then what happens to hosts and windows, then cancellations, then
arrivals, and then makes one scheduling pass (``bls.engine.scheduling_pass``). All state is in one
:class:`~bls.engine.state.BatchState`; the kernels here, those that they call, and the hooks of ``bls.engine.features`` are the
only code that changes it.

The engine knows no run times but those it is given. When jobs have started it *suspends* (``STARTED``) and must be told
for each either the outcome or a promise, "nothing visible before t"; it then runs on to the earliest open promise and
suspends only there (``DUE``). A job that will be cut (at its walltime, by its user, by the failure of a host) is told so when
it starts: ``jobs[STOP]``.
"""

from __future__ import annotations

from bls.engine import state as b
from bls.engine.hooks import (
    BOOT_HOSTS,
    HEAR,
    NEXT_OTHER,
    OTHERS,
    OUTAGES_SHORT,
    PREDICT,
    PRESETS,
    RELEASE,
    ROOM,
    call_hook,
)
from bls.engine.job_lifecycle import account_for, arrive, end_job, hold_pool, set_stop, tried_again
from bls.engine.kept_reservations import drop_slots
from bls.engine.queue import queue_next
from bls.engine.scheduling_pass import make_pass, move_on, prepare
from bls.engine.state import BatchState
from bls.engine.status import BatchStatus
from bls.engine.wall_clock import CLOCK
from bls.policies.contract import DECIDE
from traces.algorithms.event_heap import heap_drop_top, heap_push, heap_replace_top
from traces.base.time import MAX_NS
from traces.compiled import compiled, value_from

__all__ = ["advance", "outcome", "promise"]

_wall_clock, _decide = value_from(CLOCK), value_from(DECIDE)

#: So many passes in a row may start nothing while only outages and wake-ups are to come.
_MOST_IDLE = 100_000

#: CLOCK_MONOTONIC of clock_gettime.
_MONOTONIC = 1


@compiled(merged=True)
def _wall_ns(state: BatchState) -> int:
    """What the wall clock says, in ns."""
    wall_clock = _wall_clock(state.functions[b.CLOCK_AT])
    wall_clock(_MONOTONIC, state.wall_time.ctypes.data)
    return int(state.wall_time[0] * 1_000_000_000 + state.wall_time[1])


@compiled(merged=True)
def _push_running(state: BatchState, instant: int, job: int) -> None:
    """Look at a running job again at an instant, that of its end or of its promise."""
    sizes = state.sizes
    sizes[b.N_RUNNING] = heap_push(state.running_ns, state.running_job, sizes[b.N_RUNNING], instant, job)


@compiled(merged=True)
def _begin(state: BatchState, cost_ns: int, presets: int) -> int:
    """Start the jobs that a pass has chosen, ``cost_ns`` later but for the first ``presets``; returns a status."""
    settings, clock, sizes, jobs = state.settings, state.clock, state.sizes, state.jobs
    n, unanswered, status = sizes[b.N_STARTED], 0, BatchStatus.RUNNING
    if cost_ns > 0 and n > presets:
        # They hold their cores for longer than this pass has planned: what it planned behind them is given up.
        clock[b.LOSS] = 1
        clock[b.BLOCKED_HEAD] = -1
        if settings[b.KEEP] == 1:
            drop_slots(state)
    for k in range(n):
        job = state.started[k]
        start = jobs[b.START, job]
        if cost_ns > 0 and k >= presets:
            # A job that loses its hosts, or its user, before its start takes effect is cut as it starts.
            set_stop(state, job, b.NEVER)
            late = min(cost_ns, jobs[b.STOP, job] - start)
            if settings[b.PLANS] == 1:
                hold_pool(state, job, clock[b.NOW], jobs[b.EXPECTED, job], 1)
                hold_pool(state, job, clock[b.NOW], jobs[b.EXPECTED, job] + late, -1)
            jobs[b.EXPECTED, job] += late
            start += late
            jobs[b.START, job] = start
        if settings[b.SLEEPS] == 1:
            start = call_hook(state.hooks[BOOT_HOSTS], (state, job, start, 0, 0))
        set_stop(state, job, start + jobs[b.WALLTIME, job] if settings[b.KILL] == 1 else b.NEVER)
        account_for(state, job, start, jobs[b.CORES, job], 1)
        run = jobs[b.RUN, job]
        longer = run < 0 or run > jobs[b.ESTIMATE, job]
        if settings[b.KILL] == 1 and jobs[b.WALLTIME, job] <= jobs[b.ESTIMATE, job]:
            longer = False
        if settings[b.PLANS] == 1 and longer:
            sizes[b.N_EXPECTED] = heap_push(
                state.expected_ns, state.expected_job, sizes[b.N_EXPECTED], jobs[b.EXPECTED, job], job
            )
        if run < 0:
            state.started[unanswered] = job
            unanswered += 1
            continue
        end = jobs[b.STOP, job]
        if end == b.NEVER or run <= end - start:
            if run > MAX_NS - start:
                clock[b.DUE_JOB] = job
                status = BatchStatus.OVERFLOW
                break
            end = start + run
        else:
            jobs[b.CUT, job] = b.BY_OTHERS
        jobs[b.END, job] = end
        _push_running(state, end, job)
        if settings[b.PROMISES] == 1:
            call_hook(state.hooks[HEAR], (state, job, 0, 0, 0))
    sizes[b.N_STARTED], sizes[b.ANSWERED] = unanswered, 0
    return status


@compiled(inner=True)
def _hopeless(state: BatchState) -> bool:
    """Whether nothing can happen any more, after a pass that has started nothing.

    Outages, and wake-ups that a policy asks for, may go on for ever: that is so at once if they change nothing, else when
    they have not for long.
    """
    clock, sizes = state.clock, state.sizes
    if (
        sizes[b.N_RUNNING] > 0
        or clock[b.NEXT_ARRIVAL] < state.arrivals.size
        or sizes[b.N_ARRIVING] > 0
        or clock[b.NEXT_BOUNDARY] < state.boundaries.size
        or clock[b.POWER_AT] < b.NEVER
        or clock[b.NEXT_CANCEL] < state.cancel_order.size
    ):
        clock[b.IDLE] = 0
        return False
    clock[b.IDLE] += 1
    return bool((sizes[b.N_DOWN] == 0 and clock[b.WAKE] == b.NEVER) or clock[b.IDLE] > _MOST_IDLE)


@compiled(merged=True)
def _room(state: BatchState) -> int:
    """Whether the arrays have room for whatever one pass may write; a status otherwise."""
    settings, sizes = state.settings, state.sizes
    if sizes[b.POOL_USED] + sizes[b.FREE_CORES] + 2 * settings[b.WIDEST] + 2 > state.pool_lo.size:
        return BatchStatus.POOL_FULL
    if 0 < state.decisions.shape[1] <= sizes[b.N_DECISIONS]:
        return BatchStatus.DECISIONS_FULL
    if settings[b.AFTER_PASS] != 0 and sizes[b.N_TOLD] + settings[b.TOLD_AT_MOST] > state.told.shape[1]:
        return BatchStatus.TOLD_FULL
    if settings[b.BY_CORES] == 1:
        return int(call_hook(state.hooks[ROOM], (state, -1, 0, 0, 0)))
    return BatchStatus.RUNNING


@compiled(merged=True)
def _pass(state: BatchState) -> int:
    """Make one scheduling pass, timed, and start the jobs that it has chosen; returns a status."""
    settings, clock, sizes = state.settings, state.clock, state.sizes
    presets = sizes[b.N_STARTED]
    waiting = sizes[b.N_WAITING]
    began = _wall_ns(state)
    status = make_pass(state)
    if status != BatchStatus.RUNNING:
        return status
    took = _wall_ns(state) - began + clock[b.DECIDED_NS]
    clock[b.DECIDED_NS] = 0
    clock[b.PASSES] += 1
    clock[b.DECIDE_NS] += took
    clock[b.MAX_DECIDE_NS] = max(clock[b.MAX_DECIDE_NS], took)
    n = sizes[b.N_STARTED]
    if state.decisions.shape[1] > 0:
        k = sizes[b.N_DECISIONS]
        state.decisions[0, k] = clock[b.NOW]
        state.decisions[1, k] = waiting
        state.decisions[2, k] = n - presets
        state.decisions[3, k] = took
        sizes[b.N_DECISIONS] = k + 1
    cost_ns = 0
    if settings[b.CHARGE] == 1:
        cost_ns = took if settings[b.COST] < 0 else settings[b.COST]
        clock[b.BUSY_UNTIL] = clock[b.NOW] + cost_ns
    clock[b.CHANGED], clock[b.ARRIVED] = 0, -1
    return _begin(state, cost_ns, presets) if n > 0 else BatchStatus.RUNNING


@compiled(merged=True)
def _next_instant(state: BatchState) -> int:
    """The next instant at which anything happens, ``NEVER`` if nothing does."""
    settings, clock = state.settings, state.clock
    t = b.NEVER
    if clock[b.NEXT_ARRIVAL] < state.arrivals.size:
        t = state.jobs[b.BEGIN, state.arrivals[clock[b.NEXT_ARRIVAL]]]
    if state.sizes[b.N_RUNNING] > 0:
        t = min(t, state.running_ns[0])
    if state.sizes[b.N_RELEASING] > 0:
        t = min(t, state.releasing_ns[0])
    if settings[b.HAS_OTHERS] == 1:
        t = min(t, call_hook(state.hooks[NEXT_OTHER], (state, -1, t, t, 0)))
    if settings[b.CHARGE] == 1 and clock[b.CHANGED] == 1:
        # Not before now, where the rest of an instant that asked for something is still to be handled.
        t = min(t, max(clock[b.BUSY_UNTIL], clock[b.NOW]))
    return int(t)


@compiled(merged=True)
def _end_jobs(state: BatchState, t: int) -> int:
    """Handle what is due of running jobs at an instant: ends, and promises; returns a status."""
    clock, sizes, jobs = state.clock, state.sizes, state.jobs
    running_ns, running_job = state.running_ns, state.running_job
    while sizes[b.N_RUNNING] > 0 and running_ns[0] == t:
        job = running_job[0]
        later = jobs[b.END, job]
        if later < 0:
            later = jobs[b.PROMISE, job]
            if later <= t:
                clock[b.DUE_JOB] = job
                return BatchStatus.DUE
        if later > t:
            heap_replace_top(running_ns, running_job, sizes[b.N_RUNNING], later, job)
            continue
        if jobs[b.CUT, job] == b.BY_OTHERS and tried_again(state, jobs[b.REASON, job]):
            clock[b.DUE_JOB] = job
            if sizes[b.N_ROWS] == jobs.shape[1]:
                return BatchStatus.ROWS_FULL
            if jobs[b.ATTEMPT, job] + 1 >= state.settings[b.MAX_ATTEMPTS]:
                return BatchStatus.ATTEMPTS
        sizes[b.N_RUNNING] = heap_drop_top(running_ns, running_job, sizes[b.N_RUNNING])
        end_job(state, job, t)
    if sizes[b.N_RELEASING] > 0 and state.releasing_ns[0] == t:
        call_hook(state.hooks[RELEASE], (state, -1, t, t, 0))
    return BatchStatus.RUNNING


@compiled(merged=True)
def _arrivals(state: BatchState, t: int) -> None:
    """Let the jobs of an instant arrive that come by themselves."""
    clock, jobs, arrivals = state.clock, state.jobs, state.arrivals
    while clock[b.NEXT_ARRIVAL] < arrivals.size:
        job = arrivals[clock[b.NEXT_ARRIVAL]]
        if jobs[b.BEGIN, job] > t:
            break
        clock[b.NEXT_ARRIVAL] += 1
        if jobs[b.STATE, job] >= 0:
            continue  # withdrawn at the instant of its submit
        if clock[b.ARRIVED] >= 0:
            clock[b.CHANGED] = 1
        arrive(state, job, t)


@compiled(merged=True)
def _stuck(state: BatchState) -> int:
    """Tell that nothing can happen any more, and which job is the head of the queue."""
    head = queue_next(state.queue_words, state.queue_starts, 0)
    state.clock[b.DUE_JOB] = state.by_rank[head] if head >= 0 else -1
    return BatchStatus.STUCK


@compiled(merged=True)
def _events(state: BatchState) -> int:
    """Handle the next instant: ends, then what is rarer, then arrivals; ``IN_PASS`` where it is to have a pass."""
    settings, clock, sizes = state.settings, state.clock, state.sizes
    if sizes[b.ENDED] == state.by_rank.size:
        return BatchStatus.DONE
    if sizes[b.N_HOST_LOG] + settings[b.HOST_LOG_ROOM] > state.stops.log.shape[1]:
        return BatchStatus.HOST_LOG_FULL
    t = _next_instant(state)
    if t > clock[b.OBSERVE]:
        clock[b.OBSERVE] = t
        return BatchStatus.LOOK
    if t == b.NEVER:
        return _stuck(state)
    clock[b.NOW] = t
    status = _end_jobs(state, t)
    if status != BatchStatus.RUNNING:
        return status
    while sizes[b.PREDICTED] < sizes[b.N_ROWS]:
        # An attempt that joins again knows of all that have ended by now, and not only of those before it.
        if settings[b.PREDICTS] == 1:
            call_hook(state.hooks[PREDICT], (state, sizes[b.PREDICTED], t, t, 0))
        sizes[b.PREDICTED] += 1
    if settings[b.HAS_OTHERS] == 1:
        if settings[b.MORE_OUTAGES] == 1 and call_hook(state.hooks[OUTAGES_SHORT], (state, -1, t, t, 0)) != 0:
            return BatchStatus.OUTAGES_SHORT
        call_hook(state.hooks[OTHERS], (state, -1, t, t, 0))
    _arrivals(state, t)
    if settings[b.CHARGE] == 1 and t < clock[b.BUSY_UNTIL]:
        # The scheduler is still at its latest decision: it will look at what happened when it is done.
        if clock[b.ARRIVED] >= 0:
            clock[b.CHANGED] = 1
        if settings[b.PLANS] == 1 or settings[b.BY_CORES] == 1:
            move_on(state)  # or the profile would be full of what has passed
    elif clock[b.CHANGED] == 1 or clock[b.ARRIVED] >= 0:  # else a promise was renewed: nobody can tell
        clock[b.IN_PASS] = 1
        sizes[b.N_CHOSEN] = -1
        sizes[b.N_STARTED] = sizes[b.ANSWERED] = 0
    return BatchStatus.RUNNING


@compiled(merged=True)
def _before_pass(state: BatchState) -> int:
    """See to room for a pass, to the jobs that run from the start, and to a Python policy's answer; returns a status."""
    settings, clock, sizes = state.settings, state.clock, state.sizes
    status = _room(state)
    if status != BatchStatus.RUNNING:
        return status
    if sizes[b.PRESETS_LEFT] > 0:
        # They run already: that is nothing to decide.
        if settings[b.PLANS] == 1 or settings[b.BY_CORES] == 1:
            prepare(state)
        status = int(call_hook(state.hooks[PRESETS], (state, -1, clock[b.NOW], 0, 0)))
        if status != BatchStatus.RUNNING:
            return status
        clock[b.CHANGED] = 1
    if settings[b.ORDER] == b.DECIDED and sizes[b.N_CHOSEN] < 0:
        decide = _decide(state.functions[b.DECIDE_AT])
        if decide(clock[b.NOW]) != 0:
            return BatchStatus.DECIDE_FAILED
    return BatchStatus.RUNNING


@compiled()
def advance(state: BatchState, max_ends: int) -> int:
    """Simulate until something is needed from outside; returns what, a ``BatchStatus``.

    Parameters
    ----------
    state : BatchState
        Changed in place. Of its ``functions``, ``DECIDE`` has a Python policy decide: called with the instant, it writes the
        answer into ``state.chosen`` and ``sizes[N_CHOSEN]``, and returns 0. There the engine waits for Python without
        giving up its place, since to leave a kernel and enter it again takes longer than most decisions.
    max_ends : int
        Pause after about so many ends, for a caller that shows progress.
    """
    clock, sizes = state.clock, state.sizes
    pause_at = sizes[b.ENDED] + max_ends
    while True:
        if clock[b.IN_PASS] == 0:
            status = _events(state)
            if status != BatchStatus.RUNNING:
                return status
            if clock[b.IN_PASS] == 0:
                continue
        status = _before_pass(state)
        if status != BatchStatus.RUNNING:
            return status
        status = _pass(state)
        if status != BatchStatus.RUNNING:
            return status
        clock[b.IN_PASS] = 0
        if state.settings[b.AFTER_PASS] != 0:
            sizes[b.N_REACHED] = 0
            status = call_hook(state.hooks[state.settings[b.AFTER_PASS]], (state, -1, clock[b.NOW], 0, 0))
            if status != 0:
                return int(status)
        if sizes[b.N_STARTED] > 0:
            return BatchStatus.STARTED
        if sizes[b.N_REACHED] > 0:
            return BatchStatus.REACHED
        if state.settings[b.HAS_OTHERS] == 1 and sizes[b.N_WAITING] > 0 and _hopeless(state):
            return _stuck(state)
        if sizes[b.ENDED] >= pause_at:
            return BatchStatus.PAUSED


@compiled()
def promise(state: BatchState, job: int, not_before_ns: int) -> bool:
    """Tell that ``job``, which runs, ends at ``not_before_ns`` or later; False if that takes back what is known."""
    jobs, clock = state.jobs, state.clock
    if jobs[b.START, job] < 0 or jobs[b.END, job] >= 0 or not_before_ns < clock[b.NOW]:
        return False
    before = jobs[b.PROMISE, job]
    if before > not_before_ns or not_before_ns > MAX_NS:
        return False
    jobs[b.PROMISE, job] = not_before_ns
    if before < 0:
        _push_running(state, not_before_ns, job)
        state.sizes[b.ANSWERED] += 1
    return True


@compiled()
def outcome(state: BatchState, job: int, end_ns: int, stopped: bool) -> bool:
    """Tell when ``job``, which runs, ends, and whether because it was stopped.

    False if that is in the past, before its promise, after its ``STOP``, or stopped at another instant.
    """
    jobs, clock = state.jobs, state.clock
    if jobs[b.START, job] < 0 or jobs[b.END, job] >= 0:
        return False
    before = jobs[b.PROMISE, job]
    if end_ns < clock[b.NOW] or end_ns < before or end_ns > MAX_NS or end_ns > jobs[b.STOP, job]:
        return False
    if stopped and end_ns != jobs[b.STOP, job]:
        return False
    jobs[b.END, job] = end_ns
    jobs[b.CUT, job] = b.BY_OTHERS if stopped else b.BY_ITSELF
    if state.settings[b.PROMISES] == 1:
        call_hook(state.hooks[HEAR], (state, job, 0, 0, 0))
    if before < 0:
        _push_running(state, end_ns, job)
        state.sizes[b.ANSWERED] += 1
    return True
