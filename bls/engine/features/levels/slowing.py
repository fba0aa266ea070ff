"""Power states of running jobs that may be slowed under a power limit, set after each pass.

There are three kinds. A job runs in the state chosen at its submission. Or all jobs share one level: the fastest that fits the
limit, or the slowest. Or, if full speed does not fit, jobs are put into their slowest state one by one, in the order of a rule,
until the limit is met; the last of them gets the fastest state that meets it. Jobs that would save nothing keep their state.

This is done for one domain after the other, the machine last, with the jobs that have cores in the domain; no job becomes
faster in a later domain. Jobs receive the change as a command (``bls.engine.features.directions.directed``).
"""

from bls.engine import state as b
from bls.engine.features.directions.directed import direct_running
from bls.engine.features.draws.draws import (
    MACHINE,
    drawn_mw,
    drawn_within,
    gpus_mw,
    held_in,
    left_mw,
    planned_state,
    speed_in,
    sum_within,
)
from bls.engine.features.expected_ends import expect
from bls.engine.hooks import END_KNOWN, HOOK, publish
from bls.engine.job_lifecycle import drop_plan, under_way
from traces.compiled import compiled


@compiled(inner=True)
def _compare(a: int, c: int, other_a: int, other_c: int) -> int:
    """Compare the fractions a / c and other_a / other_c exactly: 1, 0 or -1. No number is negative; x / 0 is the greatest."""
    sign = 1
    while c > 0 and other_c > 0:
        whole, other_whole = a // c, other_a // other_c
        if whole != other_whole:
            return sign if whole > other_whole else -sign
        a, c, other_a, other_c = c, a - whole * c, other_c, other_a - other_whole * other_c
        sign = -sign
    if c > 0:
        return -sign
    return sign if other_c > 0 else 0


@compiled(inner=True)
def _goes_first(state: b.BatchState, k: int, other: int) -> bool:
    of, number = state.power.slowing, state.jobs.number
    order = of.saves[k] - of.saves[other]
    if state.power.slow_order == b.LEAST_SENSITIVE:
        order = _compare(of.saves[k], of.loses[k], of.saves[other], of.loses[other])
    if order != 0:
        return bool(order > 0)
    return bool(number[of.job[k]] < number[of.job[other]])


@compiled(inner=True)
def _settle(state: b.BatchState, n: int, at: int) -> None:
    """Move the entry at a place of the heap of n down to its position."""
    heap = state.power.slowing.heap
    while 2 * at + 1 < n:
        child = 2 * at + 1
        if child + 1 < n and _goes_first(state, heap[child + 1], heap[child]):
            child += 1
        if _goes_first(state, heap[at], heap[child]):
            return
        heap[at], heap[child] = heap[child], heap[at]
        at = child


@compiled(inner=True)
def _enter(state: b.BatchState, k: int, domain: int) -> None:
    """Compute the power that entry k saves in its slowest state, and the speed that its cores lose."""
    of = state.power.slowing
    job, at = of.job[k], of.state[k]
    slowest, speed = planned_state(state, job), state.power.speed
    of.saves[k] = drawn_within(state, job, domain, at) - drawn_within(state, job, domain, slowest)
    if state.power.slow_order == b.LEAST_SENSITIVE:
        of.loses[k] = sum_within(state, job, domain, speed, at) - sum_within(state, job, domain, speed, slowest)


@compiled(inner=True)
def _slow(state: b.BatchState, n: int, domain: int, above: int) -> None:
    """Slow entries until a domain draws ``above`` mW less, or all n are slowed."""
    of, heap, size = state.power.slowing, state.power.slowing.heap, 0
    for k in range(n):
        _enter(state, k, domain)
        if of.saves[k] > 0:
            heap[size] = k
            size += 1
    for back in range(size // 2):
        _settle(state, size, size // 2 - 1 - back)
    while size > 0 and above > 0:
        k = heap[0]
        size -= 1
        heap[0] = heap[size]
        _settle(state, size, 0)
        job = of.job[k]
        at, slowest = of.state[k], planned_state(state, job)
        wanted, before = slowest, drawn_within(state, job, domain, at)
        if of.saves[k] >= above:
            wanted = at + 1
            while wanted < slowest and before - drawn_within(state, job, domain, wanted) < above:
                wanted += 1
        of.state[k] = wanted
        above -= before - drawn_within(state, job, domain, wanted)


@compiled(inner=True)
def _count(state: b.BatchState, k: int, domain: int) -> None:
    """Add the draw above idle of entry k's cores and GPUs in a domain, for each possible level."""
    power, domains = state.power, state.domains
    job, at = power.slowing.job[k], power.slowing.state[k]
    slowest = planned_state(state, job)
    for part in range(domains.first[domain], domains.first[domain + 1]):
        cores, group = held_in(state, job, part), domains.group[part]
        for level in range(power.states):
            power.drawn[level] += cores * drawn_mw(state, job, max(at, min(level, slowest)), group)
    for level in range(power.states if power.gpu_mw.size > 0 else 0):
        power.drawn[level] += gpus_mw(state, job, domain, max(at, min(level, slowest)), False)


@compiled(inner=True)
def _set_level(state: b.BatchState, n: int, domain: int) -> None:
    """Slow the n entries in a domain to the fastest level at which its draw fits the limit, or to the slowest level."""
    of, power, levels, left, level = state.power.slowing, state.power, state.domains.level, left_mw(state, domain), 0
    if left != b.NEVER:
        power.drawn[:] = 0
        for k in range(n):
            _count(state, k, domain)
        while level < power.states - 1 and power.drawn[level] > left:
            level += 1
    if level != levels[domain]:
        drop_plan(state)  # planned run times have changed
    levels[domain] = level
    if level == 0:
        return
    for k in range(n):
        job = of.job[k]
        if domain == MACHINE or sum_within(state, job, domain, power.speed, 0) > 0:
            of.state[k] = max(of.state[k], min(level, planned_state(state, job)))


@compiled(inner=True)
def _direct_core(state: b.BatchState, job: int, core: int, scale: int) -> None:
    """Scale the speed of one core of a job, or of all (-1)."""
    k, given = state.directions.n_decided, state.directions.decided
    given.job[k], given.what[k], given.core[k], given.value[k] = job, b.SCALED, core, scale
    state.directions.n_decided = k + 1


@compiled(inner=True)
def _put_into(state: b.BatchState, job: int, level: int) -> None:
    """Change a job to its new power state if it is in another."""
    power, jobs, settings, directions = state.power, state.jobs, state.settings, state.directions
    if jobs.stop_ns[job] <= jobs.start_ns[job]:
        return  # it is cut as it starts
    wanted = planned_state(state, job)
    if settings.powered == b.LEVELS:
        wanted = min(wanted, level)
    changed = directions.scaling.power_state[job] != wanted
    # New cores are in that state already only if it has one speed.
    if not changed and (wanted == 0 or state.power.one_speed == 1 or settings.resizing == b.NO_RESIZE):
        return
    directions.scaling.power_state[job] = wanted
    if state.power.one_speed == 1:
        _direct_core(state, job, -1, speed_in(state, job, wanted, 0))
        return
    for k in range(jobs.held_first[job], jobs.held_first[job] + jobs.held_count[job]):
        group = 0
        for core in range(state.pool.lo[k], state.pool.hi[k]):
            while core >= power.first_core[group + 1]:
                group += 1
            if state.settings.releases != b.NO_RELEASES and state.releases.holder[core] != job:
                continue
            scale, has = speed_in(state, job, wanted, group), directions.core_scale.row[core] == job + 1
            if changed or not (has and directions.core_scale.scale[core] == scale):
                _direct_core(state, job, core, scale)


@compiled(inner=True)
def _expect_at_full_speed(state: b.BatchState, now: int) -> None:
    """Expect the ends at full speed of jobs that start now, until they are slowed."""
    jobs = state.jobs
    for k in range(state.running.n):  # includes replayed jobs that have just started
        job = state.running.key[k]
        # Otherwise a previous pass has set it:
        if jobs.start_ns[job] >= now and state.directions.scaling.power_state[job] == 0:
            expect(state, job, jobs.start_ns[job] + jobs.estimate_ns[job])
            publish(state, END_KNOWN, job, 0, 0, 0)
    for k in range(state.n_started):
        job = state.started[k]
        expect(state, job, jobs.start_ns[job] + jobs.estimate_ns[job])


@compiled(HOOK)
def set_states(state: b.BatchState, _job: int, now: int, _stop: int, _sign: int) -> int:
    """Set the power states of running jobs after a pass; returns 0 or a status."""
    settings, of, n = state.settings, state.power.slowing, state.running.n + state.n_started
    levels, domains, level = settings.powered == b.LEVELS, state.domains.limit_mw.size, state.domains.level[0]
    together = state.power.slow_order == b.TOGETHER
    if settings.plans == 1 and settings.by_cores == 0 and (not levels or level > 0):
        _expect_at_full_speed(state, now)
    for k in range(n):  # all at full speed
        of.job[k], of.state[k] = under_way(state, k), 0
    for one in range(domains if levels else 0):
        domain = (one + 1) % domains  # the machine is last
        if together:
            _set_level(state, n, domain)
            continue
        left = left_mw(state, domain)
        if left == b.NEVER:
            continue
        for k in range(n):
            left -= drawn_within(state, of.job[k], domain, of.state[k])
        if left < 0:
            _slow(state, n, domain, -left)
    if levels and together and domains == 1 and level == 0 and state.domains.level[0] == 0:
        return 0  # all are at full speed, as before
    for k in range(n):
        _put_into(state, of.job[k], of.state[k])
    return direct_running(state, -1, now, 0, 0)
