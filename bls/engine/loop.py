"""The loop of the batch engine, which runs until it needs an answer from outside.

The events of one instant are handled in this order: ends, released cores, hosts and windows, cancellations, arrivals. Then
follows one scheduling pass (``bls.engine.scheduling_pass``). All state is in one :class:`~bls.engine.state.BatchState`, which
only these kernels and the hooks of ``bls.engine.features`` change.

When jobs without a known run time have started, the engine *suspends* (``STARTED``). For each such job it needs an outcome or a
promise that it does not end before some instant. The engine then continues to the earliest open promise, where it suspends
again (``DUE``). ``jobs.stop_ns`` is known at the start of a job: the instant at which its walltime, its user or a host failure
cuts it.
"""

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.job_lifecycle import answer, arrive, end_job, is_open, set_stop, tried_again, waiting_from
from bls.engine.scheduling_pass import make_pass
from bls.engine.signatures import CLOCK
from bls.engine.status import BatchStatus
from traces.algorithms.event_heap import drop_top, push, replace_top
from traces.base.time import MAX_NS
from traces.compiled import compiled, value_from

_wall_clock = value_from(CLOCK)

_MOST_IDLE = 100_000  #: most passes in a row without a start while only outages and wake-ups are to come
_MONOTONIC = 1  #: CLOCK_MONOTONIC of clock_gettime


@compiled(merged=True)
def _wall_ns(state: b.BatchState) -> int:
    """The wall-clock time, ns."""
    wall_clock = _wall_clock(state.functions[b.CLOCK_AT])
    wall_clock(_MONOTONIC, state.wall_time.ctypes.data)
    return int(state.wall_time[0] * 1_000_000_000 + state.wall_time[1])


@compiled(merged=True)
def _begin(state: b.BatchState) -> int:
    """Start the jobs of a pass; returns a status."""
    settings, jobs = state.settings, state.jobs
    n, unanswered, status = state.n_started, 0, BatchStatus.RUNNING
    for k in range(n):
        job = state.started[k]
        h.publish(state, h.STARTED, job, jobs.start_ns[job], jobs.cores[job], 0)
        start = jobs.start_ns[job]
        set_stop(state, job, start + jobs.walltime_ns[job] if settings.kills == 1 else b.NEVER)
        run = jobs.run_ns[job]
        cut_before = settings.kills == 1 and jobs.walltime_ns[job] <= jobs.estimate_ns[job]
        if settings.plans == 1 and (run < 0 or run > jobs.estimate_ns[job]) and not cut_before:
            push(state.expected, jobs.expected_end_ns[job], job)
        if run < 0:
            state.started[unanswered] = job
            unanswered += 1
            continue
        end = jobs.stop_ns[job]
        if end == b.NEVER or run <= end - start:
            if run > MAX_NS - start:
                state.due_job = job
                status = BatchStatus.OVERFLOW
                break
            end = start + run
        else:
            jobs.cut[job] = b.BY_OTHERS
        jobs.end_ns[job] = end
        push(state.running, end, job)
        h.publish(state, h.END_KNOWN, job, 0, 0, 0)
    state.n_started, state.n_answered = unanswered, 0
    return status


@compiled(merged=True)
def _before_pass(state: b.BatchState) -> int:
    """Check that there is room for one pass and call the subscribers of ``BEFORE_PASS``; returns a status."""
    if state.pool_used + state.free_cores + 2 * state.settings.widest + 2 > state.pool.lo.size:
        return BatchStatus.POOL_FULL
    status = h.publish(state, h.BEFORE_PASS, -1, state.now_ns, 0, 0)
    return BatchStatus.RUNNING if status == 0 else status


@compiled(merged=True)
def _pass(state: b.BatchState) -> int:
    """Make one timed scheduling pass and start its jobs; returns a status."""
    presets, waiting = state.n_started, state.n_waiting
    began = _wall_ns(state)
    status = make_pass(state)
    if status != BatchStatus.RUNNING:
        return status
    took = _wall_ns(state) - began + state.policy_ns
    state.policy_ns = 0
    state.passes += 1
    state.decide_ns += took
    state.max_decide_ns = max(state.max_decide_ns, took)
    h.publish(state, h.PASSED, -1, took, waiting, presets)
    state.changed, state.arrived_job = 0, -1
    return _begin(state) if state.n_started > 0 else BatchStatus.RUNNING


@compiled(merged=True)
def _next_instant(state: b.BatchState, any_event: bool) -> int:
    """The instant of the next event, or ``NEVER``; without outages and wake-ups unless ``any_event``."""
    t = b.NEVER
    if state.next_arrival < state.arrivals.size:
        t = state.jobs.begin_ns[state.arrivals[state.next_arrival]]
    if state.running.n > 0:
        t = min(t, state.running.ns[0])
    return h.next_of(state, t, 1 if any_event else 0)


@compiled(inner=True)
def _hopeless(state: b.BatchState) -> bool:
    """Whether nothing can happen any more: no outage or wake-up can change anything, or after 100,000 idle passes."""
    if state.running.n > 0 or _next_instant(state, False) < b.NEVER:
        state.idle_passes = 0
        return False
    state.idle_passes += 1
    return bool((state.n_down == 0 and state.wake_ns == b.NEVER) or state.idle_passes > _MOST_IDLE)


@compiled(merged=True)
def _end_jobs(state: b.BatchState, t: int) -> int:
    """Handle the ends and promises that are due at an instant; returns a status."""
    jobs, running = state.jobs, state.running
    while running.n > 0 and running.ns[0] == t:
        job = running.key[0]
        later = jobs.end_ns[job]
        if later < 0:
            later = jobs.promise_ns[job]
            if later <= t:
                state.due_job = job
                return BatchStatus.DUE
        if later > t:
            replace_top(running, later, job)
            continue
        again = tried_again(state, job)
        if again != 0 and again != BatchStatus.RUNNING:
            state.due_job = job
            return again
        drop_top(running)
        end_job(state, job, t, again != 0)
    return BatchStatus.RUNNING


@compiled(merged=True)
def _arrivals(state: b.BatchState, t: int) -> None:
    """Let the jobs of an instant arrive, except those that arrive after another job."""
    jobs, arrivals = state.jobs, state.arrivals
    while state.next_arrival < arrivals.size:
        job = arrivals[state.next_arrival]
        if jobs.begin_ns[job] > t:
            break
        state.next_arrival += 1
        if jobs.state[job] >= 0:
            continue  # withdrawn at the instant of its submit
        if state.arrived_job >= 0:
            state.changed = 1
        arrive(state, job, t)


@compiled(merged=True)
def _stuck(state: b.BatchState) -> int:
    state.due_job = waiting_from(state, 0)
    return BatchStatus.STUCK


@compiled(merged=True)
def _events(state: b.BatchState) -> int:
    """Handle the next instant: ends, rarer events, arrivals; sets ``in_pass`` if a pass follows."""
    if state.n_ended == state.by_rank.size:
        return BatchStatus.DONE
    if state.n_host_log + state.settings.host_log_room > state.host_log.host.size:
        return BatchStatus.HOST_LOG_FULL
    t = _next_instant(state, True)
    if t > state.observe_after_ns:
        state.observe_after_ns = t
        return BatchStatus.LOOK
    if t == b.NEVER:
        return _stuck(state)
    state.now_ns = t
    status = _end_jobs(state, t)
    if status != BatchStatus.RUNNING:
        return status
    status = h.publish(state, h.INSTANT, -1, t, t, 0)
    if status != 0:
        return status
    _arrivals(state, t)
    is_busy = h.publish(state, h.BUSY, -1, t, t, 0) != 0
    if not is_busy and (state.changed == 1 or state.arrived_job >= 0):  # otherwise only a promise was renewed
        state.in_pass = 1
        state.n_chosen = -1
        state.n_started = state.n_answered = 0
    return BatchStatus.RUNNING


@compiled()
def advance(state: b.BatchState, max_ends: int) -> int:
    """Simulate until something is needed from outside; returns a ``BatchStatus``.

    The engine pauses after about ``max_ends`` ends, so that the caller can show progress. A Python policy decides in
    ``state.functions[DECIDE_AT]``: called with the instant, it writes ``state.choice.rows`` and ``state.n_chosen``, and returns
    0. It is called from the kernel because leaving and entering a kernel takes longer than most decisions.
    """
    pause_at = state.n_ended + max_ends
    while True:
        if state.in_pass == 0:
            status = _events(state)
            if status != BatchStatus.RUNNING:
                return status
            if state.in_pass == 0:
                continue
        status = _before_pass(state)
        if status == BatchStatus.RUNNING:
            status = _pass(state)
        if status != BatchStatus.RUNNING:
            return status
        state.in_pass = 0
        state.n_interrupted = 0
        status = h.publish(state, h.AFTER_PASS, -1, state.now_ns, 0, 0)
        if status != 0:
            return status
        if state.n_started > 0:
            return BatchStatus.STARTED
        if state.n_interrupted > 0:
            return BatchStatus.INTERRUPTED
        if state.n_waiting > 0 and _hopeless(state):
            return _stuck(state)
        if state.n_ended >= pause_at:
            return BatchStatus.PAUSED


@compiled()
def promise(state: b.BatchState, job: int, not_before_ns: int) -> bool:
    """Promise that the running ``job`` ends at ``not_before_ns`` or later; False if it contradicts known facts."""
    jobs = state.jobs
    if not is_open(state, job) or not_before_ns < state.now_ns:
        return False
    before = jobs.promise_ns[job]
    if before > not_before_ns or not_before_ns > MAX_NS:
        return False
    jobs.promise_ns[job] = not_before_ns
    if before < 0:
        answer(state, job, not_before_ns)
    return True


@compiled()
def outcome(state: b.BatchState, job: int, end_ns: int, stopped: bool) -> bool:
    """Set the end of the running ``job``; False if it is in the past, before its promise, or contradicts its ``stop_ns``."""
    jobs, before, stop = state.jobs, state.jobs.promise_ns[job], state.jobs.stop_ns[job]
    if not is_open(state, job) or end_ns < max(state.now_ns, before) or end_ns > min(MAX_NS, stop):
        return False
    if stopped and end_ns != stop:
        return False
    jobs.end_ns[job] = end_ns
    jobs.cut[job] = b.BY_OTHERS if stopped else b.BY_ITSELF
    h.publish(state, h.END_KNOWN, job, 0, 0, 0)
    if before < 0:
        answer(state, job, end_ns)
    return True
