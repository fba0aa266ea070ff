"""Hints: running jobs learn which of their cores the head of the queue, or a job named by a policy, waits for.

Hints are sent after a pass if they have changed. If the head requests cores by number, it waits for those that other jobs hold.
Otherwise it waits for its missing cores: of running jobs in the order of expected ends, up to half of the cores on which each
computes, the highest numbers. (A job can only prefer its other cores if not all are wanted.)
"""

from bls.engine import state as b
from bls.engine.features.commands.commands import append_command, end_of_working, free_for, head_of_queue, send, usable
from bls.engine.hooks import HOOK
from traces.algorithms.event_heap import drop_top, push
from traces.compiled import compiled


@compiled(inner=True)
def _is_asked(state: b.BatchState, core: int) -> bool:
    return bool(state.widths.asked.size > 0 and state.widths.asked[core] == 1)


@compiled(inner=True)
def _are_asked(state: b.BatchState, head: int) -> int:
    """The number of cores useful to the head that running jobs were asked for and still hold."""
    n = 0
    for core in range(state.widths.asked.size):
        n += state.releases.holder[core] >= 0 and state.widths.asked[core] == 1 and usable(state, head, core)
    return n


@compiled(inner=True)
def _want_of(state: b.BatchState, head: int, job: int, most: int) -> int:
    """Mark up to ``most`` cores of a job as wanted, at most half of those on which it computes; returns their number."""
    jobs, holder = state.jobs, state.releases.holder
    first, count, stop = jobs.held_first[job], jobs.held_count[job], end_of_working(state, job)
    working, asked, found = jobs.cores[job] - state.releases.released[job], state.widths.asked_of, 0
    if asked.size > 0:
        working -= asked[job]
    most = min(most, working // 2)
    for back in range(count):
        k = first + count - 1 - back
        lo, hi = state.pool.lo[k], min(state.pool.hi[k], stop)
        for step in range(max(hi - lo, 0)):
            core = hi - 1 - step
            if found < most and holder[core] == job and usable(state, head, core) and not _is_asked(state, core):
                state.hints.wanted[core] = job + 1
                found += 1
    return int(found)


@compiled(inner=True)
def _want_named(state: b.BatchState, head: int) -> int:
    """Mark the cores that the head requests by number and other jobs hold; returns their number."""
    origin, found = state.jobs.origin[head], 0
    for k in range(state.wanted_first[origin], state.wanted_first[origin + 1]):
        for core in range(state.wanted_lo[k], state.wanted_hi[k]):
            if state.releases.holder[core] >= 0 and not _is_asked(state, core):
                state.hints.wanted[core] = state.releases.holder[core] + 1
                found += 1
    return int(found)


@compiled(inner=True)
def _lack_of(state: b.BatchState, job: int) -> int:
    """The number of cores that a waiting job lacks; for requests by number, those that other jobs hold."""
    jobs = state.jobs
    origin, found = jobs.origin[job], 0
    if state.wanted_first[origin + 1] == state.wanted_first[origin]:
        return int(max(jobs.cores[job] - free_for(state, job), 0))
    for k in range(state.wanted_first[origin], state.wanted_first[origin + 1]):
        for core in range(state.wanted_lo[k], state.wanted_hi[k]):
            found += state.releases.holder[core] >= 0
    return found


@compiled(inner=True)
def _news_for(state: b.BatchState, job: int) -> int:
    """Store which cores of a job are wanted; returns their number, -1 if nothing has changed."""
    jobs, news, count = state.jobs, False, 0
    for k in range(jobs.held_first[job], jobs.held_first[job] + jobs.held_count[job]):
        for core in range(state.pool.lo[k], state.pool.hi[k]):
            if state.releases.holder[core] != job:
                continue
            was, will = state.hints.of_core[core] == job + 1, state.hints.wanted[core] == job + 1
            news = news or was != will
            state.hints.of_core[core] = state.hints.wanted[core]
            count += will
            state.hints.wanted[core] = 0
    state.hints.of_row[job] = count
    return count if news else -1


@compiled(HOOK)
def hint_running(state: b.BatchState, _job: int, now: int, _stop: int, _sign: int) -> int:
    """Send hints after a pass; their jobs are in ``state.interrupted`` in the order of expected ends."""
    jobs = state.jobs
    head = head_of_queue(state) if state.n_waiting > 0 else -1
    if head < 0 and state.hints.n_cores == 0:
        return 0
    ordered = state.releases.ordered
    ordered.n = 0
    for k in range(state.running.n):
        job = state.running.key[k]
        if jobs.start_ns[job] <= now:  # otherwise its start is delayed
            push(ordered, jobs.expected_end_ns[job], job)
    lack, named = 0, False
    if head >= 0:
        origin = jobs.origin[head]
        named = state.wanted_first[origin + 1] > state.wanted_first[origin]
        lack = _want_named(state, head) if named else max(0, _lack_of(state, head) - _are_asked(state, head))
    waits_for = lack
    state.hints.n_cores = 0
    while ordered.n > 0:
        job = ordered.key[0]
        drop_top(ordered)
        gives = 0
        if lack > 0 and not named:
            gives = _want_of(state, head, job, lack)
            lack -= gives
        # For most jobs nothing is wanted and nothing was.
        wanted = -1
        if named or gives > 0 or state.hints.of_row[job] > 0:
            wanted = _news_for(state, job)
            state.hints.n_cores += state.hints.of_row[job]
        if wanted >= 0:
            append_command(state, job, now, head, b.HINTED, waits_for, wanted)
            send(state, job, state.commands.n_log - 1)
    if named:  # cores of jobs that have just started
        origin = jobs.origin[head]
        for k in range(state.wanted_first[origin], state.wanted_first[origin + 1]):
            state.hints.wanted[state.wanted_lo[k] : state.wanted_hi[k]] = 0
    return 0


@compiled(HOOK)
def hint_as_decided(state: b.BatchState, _job: int, now: int, _stop: int, _sign: int) -> int:
    """Send the hints of a policy after a pass if they have changed; their jobs are in ``state.interrupted``."""
    given, k = state.directions.decided, 0
    while k < state.directions.n_decided and given.what[k] == b.HINTED:
        job, waiting = given.job[k], given.value[k]
        while k < state.directions.n_decided and given.job[k] == job and given.what[k] == b.HINTED:
            core = given.core[k]
            if core >= 0:
                state.hints.wanted[core] = job + 1
            k += 1
        wanted = _news_for(state, job)
        if wanted >= 0:
            lack = _lack_of(state, waiting) if waiting >= 0 else 0
            append_command(state, job, now, waiting, b.HINTED, lack, wanted)
            send(state, job, state.commands.n_log - 1)
    if k == state.directions.n_decided:
        state.directions.n_decided = 0  # otherwise other commands follow
    return 0
