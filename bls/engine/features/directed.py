"""Running jobs that a policy directs: their cores run faster or slower from now on, or they are ended.

What a policy has decided in a pass happens to running jobs behind it, and to those that the pass has started. A scale is in
force from that instant on, behind all that happens at it; a job that is ended is cut one nanosecond later.

What a job had still to run is thought to take as much longer, or shorter, as the mean of its cores' scales changes; its
walltime stays as it is. A job that is only replayed goes on with what is left of its recorded run time: whole ns and parts per
billion of one, so that no change costs anything by rounding but that of the end, half to even. Where jobs are planned with the
ends that their applications promise, these promise anew.
"""

from __future__ import annotations

from bls.engine import state as b
from bls.engine.features.reached import end_as_directed, hears, walltime_end, write_down
from bls.engine.hooks import HEAR, HOOK, call_hook
from bls.engine.job_lifecycle import hold_pool, set_stop
from bls.engine.kept_reservations import drop_slots
from bls.engine.planned_time import scaled
from bls.engine.state import BatchState
from bls.engine.status import BatchStatus
from traces.algorithms.event_heap import heap_settle
from traces.base.scale import WHOLE
from traces.base.time import MAX_NS
from traces.compiled import compiled

__all__ = ["carry_out", "direct_running", "expect"]


@compiled(inner=True)
def _holds(state: BatchState, job: int, core: int) -> bool:
    """Whether a job holds a core that is among those that it has, or had."""
    return bool(state.settings[b.RELEASES] == b.NO_RELEASES or state.holder[core] == job)


@compiled(inner=True)
def _scale_of_all(state: BatchState, job: int) -> int:
    """The scale of the cores of a job that were not told another one since."""
    scale = state.scaling[b.SCALE_OF_ALL, job]
    return int(scale if scale > 0 else WHOLE)


@compiled(inner=True)
def _mean_scale(state: BatchState, job: int) -> int:
    """The mean of the scales of the cores that a job holds."""
    if state.scaling[b.SCALED_APART, job] == 0:
        return int(_scale_of_all(state, job))
    jobs, total, n = state.jobs, 0, 0
    for k in range(jobs[b.HELD_FIRST, job], jobs[b.HELD_FIRST, job] + jobs[b.HELD_COUNT, job]):
        for core in range(state.pool_lo[k], state.pool_hi[k]):
            if _holds(state, job, core):
                total += state.core_scale[1, core] if state.core_scale[0, core] == job + 1 else WHOLE
                n += 1
    return int(max(1, total // max(1, n)))


@compiled(inner=True)
def _scale_core(state: BatchState, job: int, core: int, scale: int) -> None:
    """Note the scale of a core for a job."""
    state.core_scale[0, core], state.core_scale[1, core] = job + 1, scale


@compiled(inner=True)
def _scale(state: BatchState, job: int, core: int, scale: int) -> None:
    """Note the scale of a core, or of all cores, of a job."""
    if core < 0:
        state.scaling[b.SCALE_OF_ALL, job], state.scaling[b.SCALED_APART, job] = scale, 0
        return
    if state.scaling[b.SCALED_APART, job] == 0:
        state.scaling[b.SCALED_APART, job], jobs = 1, state.jobs
        for k in range(jobs[b.HELD_FIRST, job], jobs[b.HELD_FIRST, job] + jobs[b.HELD_COUNT, job]):
            for each in range(state.pool_lo[k], state.pool_hi[k]):
                if _holds(state, job, each):
                    _scale_core(state, job, each, _scale_of_all(state, job))
    _scale_core(state, job, core, scale)


@compiled(inner=True)
def _end_anew(state: BatchState, job: int) -> None:
    """A job that is only replayed may end at another instant than before, or be cut."""
    jobs, at, stop = state.jobs, 0, state.jobs[b.STOP, job]
    end_ns = state.scaling[b.RUNS_UNTIL, job]
    if end_ns == 0:
        end_ns = jobs[b.START, job] + jobs[b.RUN, job]
    jobs[b.END, job] = min(end_ns, stop)
    jobs[b.CUT, job] = b.BY_ITSELF if end_ns <= stop else b.BY_OTHERS
    while state.running_job[at] != job:
        at += 1
    heap_settle(state.running_ns, state.running_job, state.sizes[b.N_RUNNING], at, jobs[b.END, job])


@compiled(inner=True)
def _run_on(state: BatchState, job: int, now: int, before: int, scale: int) -> bool:
    """A job that is only replayed runs on at ``scale``, ``before`` until now; False if it would end beyond all time."""
    own, jobs = state.scaling, state.jobs
    if own[b.LEFT_SINCE, job] == 0:
        own[b.LEFT_NS, job], own[b.LEFT_PARTS, job] = jobs[b.RUN, job], 0
        own[b.LEFT_SINCE, job] = jobs[b.START, job] + 1
    elapsed = now - (own[b.LEFT_SINCE, job] - 1)
    whole, part = elapsed // WHOLE * before, elapsed % WHOLE * before
    left, parts = own[b.LEFT_NS, job] - whole - part // WHOLE, own[b.LEFT_PARTS, job] - part % WHOLE
    if parts < 0:
        left, parts = left - 1, parts + WHOLE
    own[b.LEFT_NS, job], own[b.LEFT_PARTS, job], own[b.LEFT_SINCE, job] = left, parts, now + 1
    quotient, rest = left // scale, left % scale
    if quotient > (MAX_NS - now) // WHOLE - 2:
        state.clock[b.DUE_JOB] = job
        return False
    rest = rest * WHOLE + parts
    takes = quotient * WHOLE + rest // scale
    rest = 2 * (rest % scale)
    takes += rest > scale or (rest == scale and takes % 2 == 1)
    own[b.RUNS_UNTIL, job] = now + max(1, takes)
    return True


@compiled(inner=True)
def expect(state: BatchState, job: int, now: int, end: int) -> None:
    """A running job is planned with another end."""
    clock, jobs, thought = state.clock, state.jobs, state.jobs[b.EXPECTED, job]
    if state.settings[b.PLANS] == 0 or end == thought:
        jobs[b.EXPECTED, job] = end
        return
    if state.settings[b.KEEP] == 1:
        drop_slots(state)  # a slot may be on the very cores
    hold_pool(state, job, now, thought, 1)
    jobs[b.EXPECTED, job] = end
    hold_pool(state, job, now, end, -1)
    at = 0
    while at < state.sizes[b.N_EXPECTED] and state.expected_job[at] != job:
        at += 1
    if at < state.sizes[b.N_EXPECTED]:
        heap_settle(state.expected_ns, state.expected_job, state.sizes[b.N_EXPECTED], at, end)
    if end > thought:
        clock[b.LOSS] = 1
    else:
        clock[b.GAIN], clock[b.HULL] = 1, max(clock[b.HULL], thought)
    clock[b.BLOCKED_HEAD] = -1


@compiled(inner=True)
def _stretch(state: BatchState, job: int, now: int, before: int, after: int) -> None:
    """What is left of a job's walltime is as much longer, or shorter, as its mean scale has changed."""
    jobs = state.jobs
    left = jobs[b.START, job] + jobs[b.WALLTIME, job] + jobs[b.STRETCH, job] - now
    if left > 0:
        jobs[b.STRETCH, job] += scaled(left, before, after, max(left, MAX_NS)) - left
    # Else as what was told of it is taken back; of a job that has just started nothing has been.
    if jobs[b.RUN, job] >= 0 or (jobs[b.END, job] < 0 and jobs[b.PROMISE, job] < 0):
        set_stop(state, job, walltime_end(state, job))
        if state.settings[b.DIRECTS] & b.CUTS:
            end_as_directed(state, job)


@compiled(inner=True)
def _direct(state: BatchState, job: int, now: int, first: int, stop: int) -> bool:
    """What was decided about a job, from ``first`` up to ``stop`` in the table; False if it would end beyond all time."""
    sizes, jobs, given = state.sizes, state.jobs, state.directed
    begin, before, scales = sizes[b.N_TOLD], _mean_scale(state, job), False
    at = max(now, jobs[b.START, job])  # where deciding takes time, or hosts boot, it starts only then
    for k in range(first, stop):
        what, core, value = given[b.DIRECTED_WHAT, k], given[b.DIRECTED_CORE, k], given[b.DIRECTED_VALUE, k]
        write_down(state, job, at, core, what, value, 0)
        if what == b.SCALED:
            _scale(state, job, core, value)
            scales = True
        else:
            state.scaling[b.CUT_AT, job], state.scaling[b.CUT_STATE, job] = at + 1, value
            if jobs[b.END, job] < 0 or jobs[b.RUN, job] >= 0:  # else as its end is taken back
                end_as_directed(state, job)
    if scales:
        after, thought = _mean_scale(state, job), jobs[b.EXPECTED, job]
        if thought > at:
            expect(state, job, now, at + scaled(thought - at, before, after, max(thought, MAX_NS) - at))
        if state.settings[b.STRETCHES] == 1:
            _stretch(state, job, at, before, after)
        if jobs[b.RUN, job] >= 0 and not _run_on(state, job, at, before, after):
            return False
    if jobs[b.RUN, job] >= 0:
        _end_anew(state, job)
        if state.settings[b.PROMISES] == 1:
            call_hook(state.hooks[HEAR], (state, job, 0, 0, 0))
        return True
    hears(state, job, begin)
    return True


@compiled(inner=True)
def carry_out(state: BatchState, now: int) -> int:
    """What was decided about running jobs in the pass happens to them; returns 0, or a status."""
    sizes, given = state.sizes, state.directed
    k = 0
    while k < sizes[b.N_DIRECTED] and given[b.DIRECTED_WHAT, k] == b.HINTED:
        k += 1  # they were heard before
    while k < sizes[b.N_DIRECTED]:
        job, stop = given[b.DIRECTED_JOB, k], k
        while stop < sizes[b.N_DIRECTED] and given[b.DIRECTED_JOB, stop] == job:
            stop += 1
        if not _direct(state, job, now, k, stop):
            return BatchStatus.OVERFLOW
        k = stop
    sizes[b.N_DIRECTED] = 0
    return 0


@compiled(HOOK)
def direct_running(state: BatchState, _job: int, now: int, _stop: int, _sign: int) -> int:
    """After a pass: what its policy has decided about running jobs happens; returns 0, or a status."""
    return int(carry_out(state, now))
