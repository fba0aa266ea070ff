"""Commands of a policy to running jobs: scale the speeds of their cores, or end them.

The commands of a pass take effect after it, also for jobs that it has started; a job that is ended is cut one nanosecond later.
The scheduler expects the rest of the run to take longer or shorter in the ratio of the mean scales. A replayed job continues
with the rest of its recorded run time, kept in ns and parts per billion of a ns; only its end is rounded (half to even).
If the scheduler uses promised ends, the application gives a new promise.
"""

from bls.engine import state as b
from bls.engine.features.power.draws import scaled
from bls.engine.features.running.commands import append_command, end_as_directed, send
from bls.engine.hooks import END_KNOWN, HOOK, publish
from bls.engine.job_lifecycle import drop_plan
from bls.engine.profile import hold_until
from bls.engine.status import BatchStatus
from traces.algorithms.event_heap import move
from traces.base.scale import WHOLE
from traces.base.time import MAX_NS
from traces.compiled import compiled


@compiled(inner=True)
def _holds(state: b.BatchState, job: int, core: int) -> bool:
    return bool(state.settings.releases == b.NO_RELEASES or state.holder[core] == job)


@compiled(inner=True)
def _mean_scale(state: b.BatchState, job: int) -> int:
    if state.scaling.apart[job] == 0:
        return int(state.scaling.scale[job])
    jobs, total, n = state.jobs, 0, 0
    for k in range(jobs.held_first[job], jobs.held_first[job] + jobs.held_count[job]):
        for core in range(state.pool.lo[k], state.pool.hi[k]):
            if _holds(state, job, core):
                total += state.core_scale.scale[core] if state.core_scale.row[core] == job + 1 else WHOLE
                n += 1
    return int(max(1, total // max(1, n)))


@compiled(inner=True)
def _scale(state: b.BatchState, job: int, core: int, scale: int) -> None:
    """Set the scale of one core of a job, or of all (-1)."""
    if core < 0:
        state.scaling.scale[job], state.scaling.apart[job] = scale, 0
        return
    row, of_core = state.core_scale.row, state.core_scale.scale
    if state.scaling.apart[job] == 0:
        state.scaling.apart[job], jobs = 1, state.jobs
        for k in range(jobs.held_first[job], jobs.held_first[job] + jobs.held_count[job]):
            for each in range(state.pool.lo[k], state.pool.hi[k]):
                if _holds(state, job, each):
                    row[each], of_core[each] = job + 1, state.scaling.scale[job]
    row[core], of_core[core] = job + 1, scale


@compiled(inner=True)
def _set_end(state: b.BatchState, job: int) -> None:
    """Set the new end of a replayed job, or the instant at which it is cut."""
    jobs, stop, end_ns = state.jobs, state.jobs.stop_ns[job], state.scaling.runs_until_ns[job]
    if end_ns == 0:
        end_ns = jobs.start_ns[job] + jobs.run_ns[job]
    jobs.end_ns[job] = min(end_ns, stop)
    jobs.cut[job] = b.BY_ITSELF if end_ns <= stop else b.BY_OTHERS
    move(state.running, job, jobs.end_ns[job])


@compiled(inner=True)
def _run_on(state: b.BatchState, job: int, now: int, before: int, scale: int) -> bool:
    """Continue a replayed job at ``scale`` instead of ``before``; False if its end exceeds ``MAX_NS``."""
    own, jobs = state.scaling, state.jobs
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
def expect(state: b.BatchState, job: int, end: int) -> None:
    """Change the end that the scheduler expects of a running job."""
    jobs, thought = state.jobs, state.jobs.expected_end_ns[job]
    if state.settings.plans == 0 or end == thought:
        jobs.expected_end_ns[job] = end
        return
    directs = state.settings.directs != 0
    if directs or end > thought:
        drop_plan(state)
    hold_until(state, job, end)
    if directs:
        move(state.expected, job, end)
    if end > thought:
        state.lost = 1
    else:
        state.gained, state.hull_ns = 1, max(state.hull_ns, thought)
    state.blocked_head = -1  # its slot has changed


@compiled(inner=True)
def _direct(state: b.BatchState, job: int, now: int, first: int, stop: int) -> bool:
    """Execute the decisions ``first`` to ``stop`` about a job; False if its end exceeds ``MAX_NS``."""
    jobs, given = state.jobs, state.directed
    begin, before, scales = state.n_commands, _mean_scale(state, job), False
    at = max(now, jobs.start_ns[job])  # the start may be later because of decision time or booting hosts
    for k in range(first, stop):
        what, core, value = given.what[k], given.core[k], given.value[k]
        append_command(state, job, at, core, what, value, 0)
        if what == b.SCALED:
            _scale(state, job, core, value)
            scales = True
        else:
            state.scaling.cut_at[job], state.scaling.cut_state[job] = at + 1, value
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
    given, k = state.directed, 0
    while k < state.n_directed and given.what[k] == b.HINTED:
        k += 1  # hints were sent before
    while k < state.n_directed:
        job, stop = given.job[k], k
        while stop < state.n_directed and given.job[stop] == job:
            stop += 1
        if not _direct(state, job, now, k, stop):
            return BatchStatus.OVERFLOW
        k = stop
    state.n_directed = 0
    return 0


@compiled(HOOK)
def use_known_end(state: b.BatchState, job: int, _begin: int, _stop: int, _sign: int) -> int:
    """Plan from the next pass on with the end of a running job that is now known, unless its user or a host will cut it."""
    jobs, end = state.jobs, max(state.jobs.end_ns[job], state.now_ns + 1)
    if jobs.cut[job] == 1 and jobs.stop_state[job] != b.KILLED:
        if state.settings.directs == 0:
            return 0
        # It may have promised another end at another speed, which no longer holds.
        end = jobs.start_ns[job] + jobs.walltime_ns[job] + jobs.stretch_ns[job]
    expect(state, job, end)
    return 0
