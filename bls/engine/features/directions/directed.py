"""Commands of a policy to running jobs: scale the speeds of their cores, or end them.

The commands of a pass take effect after it, also for jobs that it has started; a job that is ended is cut one nanosecond later.
The scheduler expects the rest of the run to take longer or shorter in the ratio of the mean scales. A replayed job continues
with the rest of its recorded run time, kept in ns and parts per billion of a ns; only its end is rounded (half to even).
If the scheduler uses promised ends, the application gives a new promise.
"""

from bls.engine import state as b
from bls.engine.features.commands.commands import append_command, end_as_directed, send
from bls.engine.features.draws.draws import scaled
from bls.engine.features.expected_ends import expect
from bls.engine.hooks import END_KNOWN, HOOK, publish
from bls.engine.status import BatchStatus
from traces.algorithms.event_heap import move
from traces.base.scale import WHOLE
from traces.base.time import MAX_NS
from traces.compiled import compiled


@compiled(inner=True)
def _holds(state: b.BatchState, job: int, core: int) -> bool:
    return bool(state.settings.releases == b.NO_RELEASES or state.releases.holder[core] == job)


@compiled(inner=True)
def _mean_scale(state: b.BatchState, job: int) -> int:
    if state.directions.scaling.apart[job] == 0:
        return int(state.directions.scaling.scale[job])
    jobs, scales, total, n = state.jobs, state.directions.core_scale, 0, 0
    for k in range(jobs.held_first[job], jobs.held_first[job] + jobs.held_count[job]):
        for core in range(state.pool.lo[k], state.pool.hi[k]):
            if _holds(state, job, core):
                total += scales.scale[core] if scales.row[core] == job + 1 else WHOLE
                n += 1
    return int(max(1, total // max(1, n)))


@compiled(inner=True)
def _scale(state: b.BatchState, job: int, core: int, scale: int) -> None:
    """Set the scale of one core of a job, or of all (-1)."""
    scaling = state.directions.scaling
    if core < 0:
        scaling.scale[job], scaling.apart[job] = scale, 0
        return
    row, of_core = state.directions.core_scale.row, state.directions.core_scale.scale
    if scaling.apart[job] == 0:
        scaling.apart[job], jobs = 1, state.jobs
        for k in range(jobs.held_first[job], jobs.held_first[job] + jobs.held_count[job]):
            for each in range(state.pool.lo[k], state.pool.hi[k]):
                if _holds(state, job, each):
                    row[each], of_core[each] = job + 1, scaling.scale[job]
    row[core], of_core[core] = job + 1, scale


@compiled(inner=True)
def _set_end(state: b.BatchState, job: int) -> None:
    """Set the new end of a replayed job, or the instant at which it is cut."""
    jobs, stop, end_ns = state.jobs, state.jobs.stop_ns[job], state.directions.scaling.runs_until_ns[job]
    if end_ns == 0:
        end_ns = jobs.start_ns[job] + jobs.run_ns[job]
    jobs.end_ns[job] = min(end_ns, stop)
    jobs.cut[job] = b.BY_ITSELF if end_ns <= stop else b.BY_OTHERS
    move(state.running, job, jobs.end_ns[job])


@compiled(inner=True)
def _run_on(state: b.BatchState, job: int, now: int, before: int, scale: int) -> bool:
    """Continue a replayed job at ``scale`` instead of ``before``; False if its end exceeds ``MAX_NS``."""
    own, jobs = state.directions.scaling, state.jobs
    if own.left_since[job] == 0:
        own.left_ns[job], own.left_parts[job] = jobs.run_ns[job], 0
        own.left_since[job] = jobs.start_ns[job] + 1
    elapsed = now - (own.left_since[job] - 1)
    whole, part = elapsed // WHOLE * before, elapsed % WHOLE * before
    left, parts = own.left_ns[job] - whole - part // WHOLE, own.left_parts[job] - part % WHOLE
    if parts < 0:
        left, parts = left - 1, parts + WHOLE
    own.left_ns[job], own.left_parts[job], own.left_since[job] = left, parts, now + 1
    quotient, rest = left // scale, left % scale
    if quotient > (MAX_NS - now) // WHOLE - 2:
        state.due_job = job
        return False
    rest = rest * WHOLE + parts
    takes = quotient * WHOLE + rest // scale
    rest = 2 * (rest % scale)
    takes += rest > scale or (rest == scale and takes % 2 == 1)
    own.runs_until_ns[job] = now + max(1, takes)
    return True


@compiled(inner=True)
def _direct(state: b.BatchState, job: int, now: int, first: int, stop: int) -> bool:
    """Execute the decisions ``first`` to ``stop`` about a job; False if its end exceeds ``MAX_NS``."""
    jobs, given = state.jobs, state.directions.decided
    begin, before, scales = state.commands.n_log, _mean_scale(state, job), False
    at = max(now, jobs.start_ns[job])  # the start may be delayed
    for k in range(first, stop):
        what, core, value = given.what[k], given.core[k], given.value[k]
        append_command(state, job, at, core, what, value, 0)
        if what == b.SCALED:
            _scale(state, job, core, value)
            scales = True
        else:
            state.directions.scaling.cut_at[job], state.directions.scaling.cut_state[job] = at + 1, value
            if jobs.end_ns[job] < 0 or jobs.run_ns[job] >= 0:  # otherwise when its end is reopened
                end_as_directed(state, job)
    if scales:
        after, thought = _mean_scale(state, job), jobs.expected_end_ns[job]
        if thought > at:
            expect(state, job, at + scaled(thought - at, before, after, max(thought, MAX_NS) - at))
        if jobs.run_ns[job] >= 0 and not _run_on(state, job, at, before, after):
            return False
    if jobs.run_ns[job] >= 0:
        _set_end(state, job)
        publish(state, END_KNOWN, job, 0, 0, 0)
        return True
    send(state, job, begin)
    return True


@compiled(HOOK)
def direct_running(state: b.BatchState, _job: int, now: int, _stop: int, _sign: int) -> int:
    """Execute the decisions of a pass about running jobs after it; returns 0 or a status."""
    given, k = state.directions.decided, 0
    while k < state.directions.n_decided and given.what[k] == b.HINTED:
        k += 1  # hints were sent before
    while k < state.directions.n_decided:
        job, stop = given.job[k], k
        while stop < state.directions.n_decided and given.job[stop] == job:
            stop += 1
        if not _direct(state, job, now, k, stop):
            return BatchStatus.OVERFLOW
        k = stop
    state.directions.n_decided = 0
    return 0
