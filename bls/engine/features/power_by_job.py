"""Running jobs that may be slowed under a limit to power, each in a state of its own.

After each pass all of them are at full speed, if what is drawn then fits. Otherwise they are put into their slowest state one
by one, in the order of a rule, until it fits; the last of them is in the fastest state at which it does. Those who would save
nothing are left alone. Who starts, and how long waiting jobs are planned to run, does not depend on that: a job starts if it
fits with all of them in their slowest state, and is planned at full speed.

Where parts of the machine have limits of their own, that is done for one after the other, for the machine last, with the jobs
that have cores there and what these cores draw; nobody becomes faster again. Or all jobs of each have one level, and a job is
at the slowest of those of the domains that it has cores in; then waiting jobs are planned at the level that they will have at
least.
"""

from __future__ import annotations

from bls.engine import state as b
from bls.engine.features.directed import carry_out
from bls.engine.features.power import put_into
from bls.engine.hooks import HOOK
from bls.engine.job_lifecycle import under_way
from bls.engine.kept_reservations import drop_plan
from bls.engine.power_of_jobs import MACHINE, left_mw, planned_state, sum_within
from bls.engine.state import BatchState
from traces.compiled import compiled


@compiled(inner=True)
def _compare(a: int, c: int, other_a: int, other_c: int) -> int:
    """Whether a / c is greater (1) than another such fraction, as great (0), or less (-1); exactly, by continued fractions.

    Nothing is below 0; a fraction by 0 is greater than any number.
    """
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
def _goes_first(state: BatchState, k: int, other: int) -> bool:
    """Whether entry k is slowed before another one."""
    of, number = state.power.slowing, state.jobs.number
    order = of.key[other] - of.key[k]
    if state.settings.slow_order == b.LEAST_SENSITIVE:
        order = _compare(of.saves[k], of.loses[k], of.saves[other], of.loses[other])
    if order != 0:
        return bool(order > 0)
    return bool(number[of.job[k]] < number[of.job[other]])


@compiled(inner=True)
def _settle(state: BatchState, n: int, at: int) -> None:
    """Let the entry at a place of the heap of n go down to where it belongs."""
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
def _enter(state: BatchState, k: int, domain: int) -> None:
    """What entry k saves in its slowest state, and loses, and its place by the rule: the least is first."""
    of, jobs, settings = state.power.slowing, state.jobs, state.settings
    job, at = of.job[k], of.state[k]
    slowest, rule, draws = planned_state(state, job), settings.slow_order, state.power.more_mw
    saves = sum_within(state, job, domain, draws, at) - sum_within(state, job, domain, draws, slowest)
    of.saves[k] = saves
    if rule == b.LEAST_SENSITIVE:
        speed = state.power.speed
        of.loses[k] = sum_within(state, job, domain, speed, at) - sum_within(state, job, domain, speed, slowest)
    key = -saves
    if rule == b.WIDEST_FIRST:
        key = -jobs.held_cores[job]
    elif rule == b.NARROWEST_FIRST:
        key = jobs.held_cores[job]
    elif rule == b.LATEST:
        key = -jobs.start_ns[job]
    elif rule == b.EARLIEST:
        key = jobs.start_ns[job]
    of.key[k] = key


@compiled(inner=True)
def _slow(state: BatchState, n: int, domain: int, above: int) -> None:
    """Of n entries slow so many that a domain draws ``above`` mW less, or all."""
    of, heap, size, draws = state.power.slowing, state.power.slowing.heap, 0, state.power.more_mw
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
        wanted, before = slowest, sum_within(state, job, domain, draws, at)
        if of.saves[k] >= above:
            wanted = at + 1
            while wanted < slowest and before - sum_within(state, job, domain, draws, wanted) < above:
                wanted += 1
        of.state[k] = wanted
        above -= before - sum_within(state, job, domain, draws, wanted)


@compiled(inner=True)
def _saved_at(state: BatchState, n: int, domain: int, level: int) -> int:
    """How much less a domain draws with its n entries no faster than at a level."""
    of, draws, saved = state.power.slowing, state.power.more_mw, 0
    for k in range(n):
        job, at = of.job[k], of.state[k]
        wanted = min(level, planned_state(state, job))
        if wanted > at:
            saved += sum_within(state, job, domain, draws, at) - sum_within(state, job, domain, draws, wanted)
    return int(saved)


@compiled(inner=True)
def _set_level(state: BatchState, n: int, domain: int, above: int) -> None:
    """Have all of n entries that are in a domain, and may be slowed, no faster than at the fastest level that saves ``above``
    mW, or at the slowest."""
    of, levels, level = state.power.slowing, state.domains.level, 0
    slowest = state.power.states - 1
    while level < slowest and _saved_at(state, n, domain, level) < above:
        level += 1
    before = state.level if domain == MACHINE else levels[domain]
    if level != before:
        drop_plan(state)  # jobs are planned to run for longer, or shorter
    if domain == MACHINE:
        state.level = level
    else:
        levels[domain] = level
    if level == 0:
        return
    for k in range(n):
        job = of.job[k]
        if sum_within(state, job, domain, state.power.speed, 0) > 0:
            of.state[k] = max(of.state[k], min(level, planned_state(state, job)))


@compiled(HOOK)
def set_states(state: BatchState, _job: int, now: int, _stop: int, _sign: int) -> int:
    """After a pass: running jobs are in the states that they are to be in; returns 0, or a status."""
    of, parts, n = state.power.slowing, state.domains.limit_mw.size, state.running.n + state.n_started
    for k in range(n):  # all at full speed
        of.job[k], of.state[k] = under_way(state, k), 0
    for one in range(parts + 1):
        domain, above = one if one < parts else MACHINE, 0
        left = left_mw(state, domain)
        if left != b.NEVER:
            above = -left
            for k in range(n):
                above += sum_within(state, of.job[k], domain, state.power.more_mw, of.state[k])
        if state.settings.slow_order == b.TOGETHER:
            _set_level(state, n, domain, above)
        elif above > 0:
            _slow(state, n, domain, above)
    for k in range(n):
        put_into(state, of.job[k], of.state[k])
    return int(carry_out(state, now))
