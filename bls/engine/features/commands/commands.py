"""Commands to running jobs after a pass.

A command reopens the end of its job: the job may end and release cores at other instants than reported at its start. The
engine then forgets the reported future (:func:`take_back`), and the coupling reports again. A job receives all commands of one
pass together, in this order: given and requested cores, hints, commands of a policy, states under a power limit.
"""

from bls.engine import state as b
from bls.engine.features.commands.state import CommandLog
from bls.engine.features.draws.draws import scaled
from bls.engine.features.requests.requests import drop_width_requests
from bls.engine.hooks import HOOK
from bls.engine.job_lifecycle import held_back, next_in_order, set_stop
from bls.engine.status import BatchStatus
from traces.algorithms.event_heap import move, remove_keys
from traces.base.time import MAX_NS
from traces.compiled import compiled


@compiled(HOOK)
def room(state: b.BatchState, _job: int, _now: int, _stop: int, _sign: int) -> int:
    """Return 0 if the command log has room for one pass, else a status."""
    commands = state.commands
    commands.first = commands.n_log
    return BatchStatus.COMMANDS_FULL if commands.n_log + state.settings.max_commands > commands.log.job.size else 0


@compiled(inner=True)
def head_of_queue(state: b.BatchState) -> int:
    """The first job of the queue that no limit blocks, -1 if there is none."""
    jobs, place = state.jobs, -1
    while True:
        place, job = next_in_order(state, place, state.n_waiting + state.n_started)
        if job < 0:
            return -1
        if jobs.start_ns[job] < 0 and jobs.state[job] < 0 and not held_back(state, job):  # not started in this pass
            return int(job)


@compiled(inner=True)
def usable(state: b.BatchState, job: int, core: int) -> bool:
    """Whether a core is in a job's partition."""
    p = state.jobs.partition[job]
    return bool(state.partitions.masked[p] == 0 or (state.masks[p, core >> 5] >> (core & 31)) & 1 == 1)


@compiled(inner=True)
def free_for(state: b.BatchState, job: int) -> int:
    """The number of free cores that a job can use."""
    if state.partitions.masked[state.jobs.partition[job]] == 0:
        return int(state.free_cores)
    n = 0
    for core in range(state.host_of.size):
        n += (state.free_words[core >> 5] >> (core & 31)) & 1 == 1 and usable(state, job, core)
    return n


@compiled(inner=True)
def end_of_working(state: b.BatchState, job: int) -> int:
    """One past the last core that a job computes on."""
    if state.settings.resizing != b.NO_RESIZE:
        return state.host_of.size  # hosts are shared: a job computes on all its cores
    n, k = state.jobs.cores[job], state.jobs.held_first[job]
    while n > state.pool.hi[k] - state.pool.lo[k]:
        n -= state.pool.hi[k] - state.pool.lo[k]
        k += 1
    return int(state.pool.lo[k] + n)


@compiled(inner=True)
def append_command(state: b.BatchState, job: int, now: int, core: int, what: int, value: int, wanted: int) -> None:
    """Append a command to a running job to the command log."""
    commands, k = state.commands.log, state.commands.n_log
    commands.job[k], commands.at_ns[k], commands.core[k] = job, now, core
    commands.what[k], commands.value[k], commands.wanted[k] = what, value, wanted
    state.commands.n_log = k + 1


@compiled(inner=True)
def send(state: b.BatchState, job: int, first: int) -> None:
    """Send a job its commands from ``first`` on; not if it is cut before it computes, as its start is delayed."""
    commands = state.commands
    if state.jobs.stop_ns[job] <= state.jobs.start_ns[job]:
        return
    commands.latest[job], commands.count[job] = first, commands.n_log - first
    commands.received[job] += 1
    state.interrupted[state.n_interrupted] = job
    state.n_interrupted += 1


@compiled(inner=True)
def walltime_end(state: b.BatchState, job: int) -> int:
    """The end of a running job's walltime; ``NEVER`` if jobs are not killed."""
    if state.settings.kills == 0:
        return b.NEVER
    return int(state.jobs.start_ns[job] + state.jobs.walltime_ns[job] + state.jobs.stretch_ns[job])


@compiled(inner=True)
def stretch_walltime(state: b.BatchState, job: int, now: int, before: int, after: int) -> None:
    """Change the rest of a job's walltime in the ratio of its widths or speeds."""
    jobs = state.jobs
    left = jobs.start_ns[job] + jobs.walltime_ns[job] + jobs.stretch_ns[job] - now
    if left > 0:
        jobs.stretch_ns[job] += scaled(left, before, after, max(left, MAX_NS)) - left


@compiled(inner=True)
def set_stop_again(state: b.BatchState, job: int) -> None:
    """Set the latest end of a running job again."""
    set_stop(state, job, walltime_end(state, job))
    if state.settings.directs & b.CUTS:
        end_as_directed(state, job)


@compiled()
def take_back(state: b.BatchState, job: int) -> bool:
    """Reopen the end of the running ``job`` after a command: forget its reported end, releases and requests.

    They must be reported again. False if nothing was reported yet.
    """
    jobs, ordered, now = state.jobs, state.releases.ordered_of, state.now_ns
    if jobs.start_ns[job] < 0 or jobs.state[job] >= 0 or (jobs.end_ns[job] < 0 and jobs.promise_ns[job] < 0):
        return False
    move(state.running, job, now)
    jobs.end_ns[job], jobs.cut[job], jobs.promise_ns[job] = -1, 0, now
    if state.releases.last_lost.size > 0:
        state.releases.last_lost[job] = 0
    if ordered.size > 0 and ordered[job] > 0:
        n_cores, ordered[job] = state.host_of.size, 0
        remove_keys(state.releases.due, job * n_cores, (job + 1) * n_cores)
    drop_width_requests(state, job)
    # A host failure may cut it now: forgotten releases may have been the reason why not.
    set_stop_again(state, job)
    return True


@compiled(inner=True)
def end_as_directed(state: b.BatchState, job: int) -> None:
    """Cut a job at the end that its policy has set, unless it is cut earlier."""
    at, jobs = state.directions.scaling.cut_at[job], state.jobs
    if 0 < at < jobs.stop_ns[job]:
        jobs.stop_ns[job], jobs.stop_state[job] = at, state.directions.scaling.cut_state[job]


@compiled(inner=True)
def _once_each(state: b.BatchState, first: int) -> int:
    """Remove duplicates from ``interrupted``, in order; sets ``count`` to 0 for these jobs and to -1 for others."""
    count, commands, n = state.commands.count, state.commands.log, 0
    for k in range(first, state.commands.n_log):
        count[commands.job[k]] = -1
    for k in range(state.n_interrupted):
        job = state.interrupted[k]
        if count[job] < 0:
            count[job] = 0
            state.interrupted[n] = job
            n += 1
    state.n_interrupted = n
    return n


@compiled(inner=True)
def _copy(commands: CommandLog, source: int, target: int) -> None:
    for column in (commands.job, commands.at_ns, commands.core, commands.what, commands.value, commands.wanted):
        column[target] = column[source]


@compiled(inner=True)
def _gather(state: b.BatchState, first: int) -> None:
    """Sort the commands from ``first`` on by job in the order of ``interrupted``, followed by those of other jobs."""
    of, commands, stop = state.commands, state.commands.log, state.commands.n_log
    latest, count = of.latest, of.count
    interrupted, size = _once_each(state, first), stop - first
    for k in range(first, stop):
        job = commands.job[k]
        if count[job] >= 0:
            count[job] += 1
        _copy(commands, k, k + size)
    at = first
    for k in range(interrupted):
        job = state.interrupted[k]
        latest[job] = at
        at += count[job]
        count[job] = 0
    for k in range(stop, stop + size):
        job, to = commands.job[k], at
        if count[job] >= 0:
            to = latest[job] + count[job]
            count[job] += 1
        else:
            at += 1
        _copy(commands, k, to)
        if commands.what[to] == b.GIVEN:
            state.widths.given_at[commands.core[to]] = to + 1
    for k in range(first, stop):
        count[commands.job[k]] = max(count[commands.job[k]], 0)


@compiled(HOOK)
def sort_commands(state: b.BatchState, _job: int, _now: int, _stop: int, _sign: int) -> int:
    """Sort the commands of all features after a pass by job."""
    _gather(state, state.commands.first)
    return 0
