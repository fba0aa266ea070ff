"""Running jobs whose width changes: after a pass they are given free cores or asked to give up some of their cores.

Jobs are treated in the order of start and row, by the rule of the setting ``resizing`` (docs/reference/malleable.md).

The application gives up a requested core at the end of a chunk. Until then its job may be asked for other cores and is given
none; nor is a job that has released a core unasked. A job is asked first for the cores that it was given last, then for its
highest-numbered cores, but never for its first core. Given cores must fit the power limit. The rest of a job's estimate and
walltime changes in the ratio of its widths.

A job may be given a core of its partition if no other window covers that core until the expected end of the job, and if the
host has the resources for it. A job of an advance reservation may get cores of that reservation until its end.
"""

from typing import TYPE_CHECKING

import numpy as np

from bls.engine import state as b
from bls.engine.features.commands.commands import append_command, head_of_queue, send, stretch_walltime, usable
from bls.engine.features.draws.draws import MACHINE, core_mw, planned_ns, room_mw, scaled
from bls.engine.features.partition_limits.limits import room_in_limits
from bls.engine.hooks import HOOK, TAKEN, publish
from bls.engine.job_lifecycle import drop_plan, set_free
from bls.engine.profile import hold_pool, planned_until
from traces.algorithms.event_heap import drop_top, move, push
from traces.base.time import MAX_NS
from traces.compiled import compiled

if TYPE_CHECKING:
    from bls.engine.validation import BatchChecks


@compiled(inner=True)
def _stay(state: b.BatchState, job: int) -> int:
    """The number of cores that a running job keeps, without those that it was asked for."""
    return int(state.jobs.held_cores[job] - state.widths.asked_of[job])


@compiled(inner=True)
def _in_order(state: b.BatchState, now: int) -> int:
    """Write the running jobs whose width may change to ``resizing``, by start and row; returns their number."""
    jobs, ordered, widths, n = state.jobs, state.releases.ordered, state.widths, 0
    work = widths.work
    ordered.n = 0
    for k in range(state.running.n):
        job = state.running.key[k]
        origin = jobs.origin[job]
        if widths.least[origin] < widths.most[origin] and jobs.start_ns[job] <= now:
            push(ordered, jobs.start_ns[job], job)
    while ordered.n > 0:
        job = ordered.key[0]
        origin = jobs.origin[job]
        drop_top(ordered)
        work.job[n] = job
        work.least[n], work.most[n] = widths.least[origin], widths.most[origin]
        n += 1
    return n


@compiled(inner=True)
def _held_for(state: b.BatchState, head: int, job: int, asked: int) -> int:
    """The number of a running job's cores that the head can use, among those that it was (1) or was not (0) asked for."""
    jobs, holder = state.jobs, state.releases.holder
    if not uses_some_cores(state, head):
        return int(state.widths.asked_of[job]) if asked == 1 else _stay(state, job)
    n = 0
    for k in range(jobs.held_first[job], jobs.held_first[job] + jobs.held_count[job]):
        for core in range(state.pool.lo[k], state.pool.hi[k]):
            n += holder[core] == job and state.widths.asked[core] == asked and may_have(state, head, core)
    return n


@compiled(inner=True)
def _first_core(state: b.BatchState, job: int) -> int:
    widths = state.widths
    at = widths.given_first[job] if widths.given_count[job] > 0 else state.jobs.held_first[job]
    return int(state.pool.lo[at])


@compiled(inner=True)
def _most_asked(state: b.BatchState, head: int, job: int, least: int) -> int:
    """The number of cores useful to the head that a running job can be asked for."""
    first = _first_core(state, job)
    n = _held_for(state, head, job, 0)
    n -= state.releases.holder[first] == job and may_have(state, head, first)
    return int(max(0, min(n, _stay(state, job) - least)))


@compiled(inner=True)
def _plan_again(state: b.BatchState, job: int, now: int, before: int, first: int, at: int, count: int) -> None:
    """Update a job after the commands from ``first`` on; its cores are then ``count`` intervals of the pool from ``at`` on."""
    settings, jobs, commands = state.settings, state.jobs, state.commands
    drop_plan(state)
    thought = jobs.expected_end_ns[job]
    hold_pool(state, job, now, planned_until(state, job, now), 1)
    jobs.held_first[job], jobs.held_count[job] = at, count
    more = 0
    for k in range(first, commands.n_log):
        if commands.log.what[k] == b.GIVEN:
            state.releases.holder[commands.log.core[k]] = job
            more += 1
    jobs.held_cores[job] += more
    after = _stay(state, job)
    if thought > now:
        jobs.expected_end_ns[job] = now + scaled(thought - now, before, after, max(thought, MAX_NS) - now)
        move(state.expected, job, jobs.expected_end_ns[job])
    stretch_walltime(state, job, now, before, after)
    hold_pool(state, job, now, planned_until(state, job, now), -1)
    if settings.plans == 1 and thought <= now and jobs.overdue[job] == 1:
        state.overdue_cores += more
    state.lost = 1
    state.blocked_head = -1  # its slot has changed


@compiled(inner=True)
def _add_interval(state: b.BatchState, first: int, count: int, core: int) -> int:
    """Append a core to the ascending intervals of the pool from ``first`` on; returns their new number."""
    last = first + count - 1
    if count > 0 and state.pool.hi[last] == core:
        state.pool.hi[last] = core + 1
        return count
    state.pool.lo[first + count], state.pool.hi[first + count] = core, core + 1
    return count + 1


@compiled(inner=True)
def _list_cores(state: b.BatchState, job: int, command_first: int) -> int:
    """Write a job's cores and the ascending new ones to the pool; returns the number of intervals."""
    jobs, commands = state.jobs, state.commands
    first, count, given = state.pool_used, 0, command_first
    for k in range(jobs.held_first[job], jobs.held_first[job] + jobs.held_count[job]):
        for core in range(state.pool.lo[k], state.pool.hi[k]):
            if state.releases.holder[core] != job:
                continue
            while given < commands.n_log and commands.log.core[given] < core:
                count = _add_interval(state, first, count, commands.log.core[given])
                given += 1
            count = _add_interval(state, first, count, core)
    while given < commands.n_log:
        count = _add_interval(state, first, count, commands.log.core[given])
        given += 1
    state.pool_used = first + count
    return count


@compiled(inner=True)
def _give(state: b.BatchState, job: int, most: int, now: int) -> None:
    """Give a running job up to ``most`` free cores that it can use, lowest numbers first."""
    jobs, words, powered = state.jobs, state.free_words, state.settings.powered != b.UNPOWERED
    first, n, before = state.commands.n_log, 0, jobs.held_cores[job]
    room = room_mw(state, MACHINE) if powered else 0
    for word in range(state.free_starts[1]):
        bits = words[word]
        if bits == 0:
            continue
        for bit in range(32):
            core = 32 * word + bit
            if n < most and (bits >> bit) & 1 == 1 and may_come(state, job, core, first):
                if powered:
                    if core_mw(state, job, core) > room:
                        continue
                    room -= core_mw(state, job, core)
                append_command(state, job, now, core, b.GIVEN, 0, 0)
                n += 1
        if n == most:
            break
    if n == 0:
        return
    list_first, scales, widths = state.pool_used, state.directions.core_scale, state.widths
    list_count = _list_cores(state, job, first)
    if widths.given_count[job] == 0:
        widths.given_first[job], widths.given_count[job] = jobs.held_first[job], jobs.held_count[job]
    _plan_again(state, job, now, before, first, list_first, list_count)
    for k in range(first, state.commands.n_log):
        core = state.commands.log.core[k]
        set_free(state, core, core + 1, -1)
        state.widths.given_at[core], state.widths.asked[core] = k + 1, 0
        if state.hints.of_core.size > 0:
            state.hints.of_core[core] = 0
        if scales.row.size > 0:  # it gets the latest scale for all cores of the job
            scales.row[core], scales.scale[core] = job + 1, state.directions.scaling.scale[job]
    state.free_cores -= n
    state.releases.released[job] -= n
    state.releases.released_held[job] -= n
    publish(state, TAKEN, job, now, n, 0)
    send(state, job, first)


@compiled(inner=True)
def _ask(state: b.BatchState, head: int, job: int, most: int, now: int) -> None:
    """Ask a running job for ``most`` cores, latest gifts first, then highest numbers; with a head (not -1) only usable ones."""
    jobs, ordered = state.jobs, state.releases.ordered
    first, before, spared = state.commands.n_log, _stay(state, job), _first_core(state, job)
    n_cores, ordered.n = state.host_of.size, 0
    for k in range(jobs.held_first[job], jobs.held_first[job] + jobs.held_count[job]):
        for core in range(state.pool.lo[k], state.pool.hi[k]):
            if state.releases.holder[core] != job or state.widths.asked[core] == 1 or core == spared:
                continue
            if head < 0 or may_have(state, head, core):
                push(ordered, -state.widths.given_at[core], n_cores - core)
    for _ in range(most):
        core = n_cores - ordered.key[0]
        drop_top(ordered)
        state.widths.asked[core] = 1
        append_command(state, job, now, core, b.ASKED_FOR, 0, 0)
    state.widths.asked_of[job] += most
    _plan_again(state, job, now, before, first, jobs.held_first[job], jobs.held_count[job])
    send(state, job, first)


@compiled(inner=True)
def _ask_for_the_rest(state: b.BatchState, n: int, now: int) -> None:
    """Ask each of n jobs for its cores beyond ``work.most``."""
    work = state.widths.work
    for k in range(n):
        job = work.job[k]
        more = min(_stay(state, job) - work.most[k], _most_asked(state, job, job, 1))
        if more > 0:
            _ask(state, -1, job, more, now)


@compiled(inner=True)
def _give_up_to_most(state: b.BatchState, n: int, now: int) -> None:
    """Give free cores to n jobs in order, up to ``work.most`` of each and the limits of its partition."""
    widths, work = state.widths, state.widths.work
    for k in range(n):
        job = work.job[k]
        most = min(work.most[k] - state.jobs.held_cores[job], state.free_cores, room_in_limits(state, job))
        if most > 0 and widths.asked_of[job] == 0 and widths.needs_no_more[job] == 0:
            _give(state, job, most, now)


@compiled(inner=True)
def _shrink(state: b.BatchState, head: int, now: int) -> None:
    """If the head lacks cores, ask the jobs that started last."""
    lack = state.jobs.cores[head] - free_now_for(state, head)
    if lack <= 0:
        return
    n, can, work = _in_order(state, now), 0, state.widths.work
    for k in range(n):
        job = work.job[k]
        lack -= _held_for(state, head, job, 1)
        can += _most_asked(state, head, job, work.least[k])
    if can < lack:
        return
    for back in range(n):
        if lack <= 0:
            return
        k = n - 1 - back
        job = work.job[k]
        most = min(lack, _most_asked(state, head, job, work.least[k]))
        if most > 0:
            _ask(state, head, job, most, now)
            lack -= most


@compiled(inner=True)
def _shared(state: b.BatchState, n: int, level: int) -> int:
    """The total width of jobs that each have ``level`` cores, within their bounds."""
    work, together = state.widths.work, 0
    for k in range(n):
        together += max(work.least[k], min(work.most[k], level))
    return int(together)


@compiled(inner=True)
def _equal(state: b.BatchState, head: int, now: int) -> None:
    """Share held and free cores evenly, without the head's request."""
    n, work = _in_order(state, now), state.widths.work
    pool = state.free_cores - (state.jobs.cores[head] if head >= 0 else 0)
    for k in range(n):
        pool += state.jobs.held_cores[work.job[k]]
    # The highest level with enough cores; the first jobs at this level get the remaining cores.
    low, high = 0, state.host_of.size
    while low < high:
        level = (low + high + 1) // 2
        if _shared(state, n, level) <= pool:
            low = level
        else:
            high = level - 1
    over = max(0, pool - _shared(state, n, low))
    for k in range(n):
        least, most = work.least[k], work.most[k]
        target = max(least, min(most, low))
        if over > 0 and least <= low < most:
            target += 1
            over -= 1
        work.most[k] = target
    _ask_for_the_rest(state, n, now)
    if state.n_waiting == 0:
        _give_up_to_most(state, n, now)


@compiled(inner=True)
def _evolve(state: b.BatchState, now: int) -> None:
    """Ask each job in order for surplus cores, or give it free ones up to its requested width."""
    n, work = _in_order(state, now), state.widths.work
    for k in range(n):
        job = work.job[k]
        width = state.requests.of_row.width[job]
        work.most[k] = width if width > 0 else state.jobs.held_cores[job]
    _ask_for_the_rest(state, n, now)
    _give_up_to_most(state, n, now)


@compiled(HOOK)
def resize_running(state: b.BatchState, _job: int, now: int, _stop: int, _sign: int) -> int:
    """Change widths after a pass; the changed jobs are in ``state.interrupted``."""
    when = state.settings.resizing
    if when == b.EVOLVE or when == b.AS_DECIDED:
        _evolve(state, now)
        return 0
    head = head_of_queue(state) if state.n_waiting > 0 else -1
    if when == b.EQUAL:
        _equal(state, head, now)
    elif head >= 0 and when != b.EXPAND:
        _shrink(state, head, now)
    elif state.n_waiting == 0 and state.free_cores > 0 and when != b.SHRINK:
        _give_up_to_most(state, _in_order(state, now), now)
    return 0


@compiled(inner=True)
def uses_some_cores(state: b.BatchState, job: int) -> bool:
    """Whether a job may use only some of the cores."""
    return bool(state.partitions.masked[state.jobs.partition[job]] == 1 or state.windows.begin_ns.size > 0)


@compiled(inner=True)
def may_have(state: b.BatchState, job: int, core: int) -> bool:
    """Whether partition and windows let a job have a core from now until its end."""
    jobs, windows, masks, now = state.jobs, state.windows, state.masks, state.now_ns
    if not usable(state, job, core):
        return False
    own, n_partitions = jobs.window[job], state.partitions.tier.size
    until = now + planned_ns(state, job) if jobs.start_ns[job] < 0 else max(jobs.expected_end_ns[job], now + 1)
    for w in range(state.windows.begin_ns.size):
        covers = (masks[n_partitions + w, core >> 5] >> (core & 31)) & 1 == 1
        if w == own:
            if not covers or windows.begin_ns[w] > now or windows.end_ns[w] < until:
                return False
        elif own < 0 and covers and windows.begin_ns[w] < until and windows.end_ns[w] > now:
            return False
    return True


@compiled(inner=True)
def free_now_for(state: b.BatchState, job: int) -> int:
    """The number of free cores that a job may have."""
    if not uses_some_cores(state, job):
        return int(state.free_cores)
    n = 0
    for core in range(state.host_of.size):
        n += (state.free_words[core >> 5] >> (core & 31)) & 1 == 1 and may_have(state, job, core)
    return n


@compiled(inner=True)
def may_come(state: b.BatchState, job: int, core: int, first: int) -> bool:
    """Whether a job may be given a free core and the host's resources for it, besides the commands from ``first`` on."""
    if not may_have(state, job, core):
        return False
    n, needs, host = state.settings.n_resources, state.needs, state.host_of[core]
    for r in range(n):
        if needs[r, job] == 0:
            continue
        left = state.totals[host * n + r] - needs[r, job]
        for other in range(state.host_first[host], state.host_first[host + 1]):
            holder = state.releases.holder[other]  # may be a job that has ended
            if holder >= 0 and state.jobs.state[holder] < 0:
                left -= needs[r, holder]
        for k in range(first, state.commands.n_log):
            if state.host_of[state.commands.log.core[k]] == host:
                left -= needs[r, job]
        if left < 0:
            return False
    return True


def check_widths(checks: "BatchChecks") -> None:
    """Check the maximum widths of running jobs and the counts of cores requested back from them."""
    state, jobs, owner, cores = checks.state, checks.jobs, checks.owner, checks.held_cores
    if checks.settings.releases == b.NO_RELEASES:
        return
    left = np.bincount(owner, minlength=state.n_rows)
    asked = np.bincount(owner[state.widths.asked[cores] == 1], minlength=state.n_rows)
    counted = state.widths.asked_of[: state.n_rows]
    wanted = np.where(checks.holds, asked, counted)
    checks.counts(lambda row: f"cores that {checks.name(row)} was asked for", counted, wanted)
    most = np.maximum(jobs.cores, state.widths.most[jobs.origin])
    too_wide = checks.holds & (left > most)
    checks.none(too_wide, lambda row: f"{checks.name(row)} holds {left[row]} cores; it may have at most {most[row]}")
    given = cores[state.widths.given_at[cores] > 0]
    commands = state.commands.log.take(state.widths.given_at[given] - 1)
    wrong = (commands.job != state.releases.holder[given]) | (commands.core != given) | (commands.what != b.GIVEN)
    checks.none(wrong, lambda k: f"core {given[k]}: the log has no command that gave it to its holder")
