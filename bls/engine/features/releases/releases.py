"""Reports of running jobs: cores that they release.

The allocation of a job does not change; ``state.releases.holder`` has the job that still holds each core. Releases are reported
after the start, when the application is known. At their instants, releases come first, then requests
(``bls.engine.features.requests``), between ends and host events; a scheduling pass follows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bls.engine import state as b
from bls.engine.features.commands.commands import end_of_working, walltime_end
from bls.engine.features.report_results import ACCEPTED, REFUSED
from bls.engine.hooks import FREED, HOOK, publish
from bls.engine.job_lifecycle import is_open, set_free
from bls.engine.profile import hold_pool, planned_until
from bls.engine.status import BatchStatus
from traces.algorithms.event_heap import drop_top, push
from traces.compiled import compiled
from traces.kernels.signatures import Ints

if TYPE_CHECKING:
    from bls.engine.validation import BatchChecks


@compiled(inner=True)
def list_left(state: b.BatchState, job: int) -> int:
    """Write the intervals that a job still holds to ``state.releases.left``; returns their number."""
    jobs, holder, left, count = state.jobs, state.releases.holder, state.releases.left, 0
    for k in range(jobs.held_first[job], jobs.held_first[job] + jobs.held_count[job]):
        core, stop = state.pool.lo[k], state.pool.hi[k]
        while core < stop:
            if holder[core] != job:
                core += 1
                continue
            left.lo[count] = core
            while core < stop and holder[core] == job:
                core += 1
            left.hi[count] = core
            count += 1
    return count


@compiled(HOOK)
def take_up(state: b.BatchState, job: int, _begin: int, _stop: int, sign: int) -> int:
    """Make a starting job (``sign`` 1) the holder of its cores."""
    jobs, widths = state.jobs, state.widths
    if sign == 0:
        return 0
    for k in range(jobs.held_first[job], jobs.held_first[job] + jobs.held_count[job]):
        state.releases.holder[state.pool.lo[k] : state.pool.hi[k]] = job
        if widths.asked.size > 0:
            widths.asked[state.pool.lo[k] : state.pool.hi[k]] = 0
            widths.given_at[state.pool.lo[k] : state.pool.hi[k]] = 0
    return 0


@compiled(HOOK)
def give_up(state: b.BatchState, job: int, _begin: int, _stop: int, _sign: int) -> int:
    """Free the cores that an ending job holds, but keep ``holder`` for the profile; returns the number on which it computed."""
    left = state.releases.left
    for k in range(list_left(state, job)):
        set_free(state, left.lo[k], left.hi[k], 1)
    return int(state.jobs.cores[job] - state.releases.released[job])


@compiled(HOOK)
def count_released(state: b.BatchState, job: int, _begin: int, _stop: int, sign: int) -> int:
    """Count the released cores of a job that has ended (``sign`` -1) among those that it held."""
    if sign < 0:
        state.jobs.held_cores[job] += state.releases.released_held[job]
    return 0


@compiled(HOOK)
def next_release(state: b.BatchState, _job: int, before: int, _stop: int, _sign: int) -> int:
    """The next instant at which a running job releases or requests cores."""
    due = state.releases.due
    return int(min(before, due.ns[0])) if due.n > 0 else before


@compiled(HOOK)
def handle_releases(state: b.BatchState, _job: int, now: int, _stop: int, _sign: int) -> int:
    """Handle the releases of the instant ``begin``; returns 0 or a status."""
    n_cores, releases, due = state.host_of.size, state.releases, state.releases.due
    if due.n == 0 or due.ns[0] > now:
        return 0
    if releases.n_made + n_cores > releases.made.job.size:
        return BatchStatus.RELEASES_FULL
    while due.n > 0 and due.ns[0] == now and due.key[0] < b.WIDTH_REQUEST_KEY:
        _release_of(state, due.key[0] // n_cores, now)
    return 0


@compiled(inner=True)
def _release_of(state: b.BatchState, job: int, now: int) -> None:
    settings, jobs = state.settings, state.jobs
    n_cores, releases, due, widths = state.host_of.size, state.releases, state.releases.due, state.widths
    asked, until, records = widths.asked, planned_until(state, job, now), releases.made
    hold_pool(state, job, now, until, 1)
    working_end, working, cores = end_of_working(state, job), 0, 0
    while due.n > 0 and due.ns[0] == now and due.key[0] // n_cores == job:
        core = due.key[0] % n_cores
        drop_top(due)
        releases.holder[core] = -1
        k = releases.n_made
        records.job[k], records.core[k], records.at_ns[k] = job, core, now
        releases.n_made = k + 1
        if asked.size > 0:
            widths.asked_of[job] -= asked[core]
            if asked[core] == 0:
                widths.needs_no_more[job] = 1
            asked[core] = 0
        set_free(state, core, core + 1, 1)
        cores += 1
        working += core < working_end
    state.free_cores += cores
    jobs.held_cores[job] -= cores
    releases.ordered_of[job] -= cores
    releases.released_held[job] += cores
    releases.released[job] += working
    hold_pool(state, job, now, until, -1)
    if settings.plans == 1 and until > now:
        state.gained, state.hull_ns = 1, max(state.hull_ns, until)
    elif settings.plans == 1 and jobs.overdue[job] == 1:
        state.overdue_cores -= cores  # the overdue job remains a loss in every pass
    state.changed = 1
    publish(state, FREED, job, now, -working, 0)


@compiled(inner=True)
def _all_once(state: b.BatchState, job: int, core_number: Ints, released_ns: Ints) -> bool:
    """Whether a report contains each core that a job of changing width holds once; sets ``resizing.place``."""
    holder, place, now = state.releases.holder, state.widths.work.place, state.now_ns
    for c in range(core_number.size):
        place[core_number[c]] = -1
    there = 0
    for c in range(core_number.size):
        core = core_number[c]
        if released_ns[c] > now:
            if holder[core] != job or place[core] >= 0:
                return False
            place[core] = c
            there += 1
    for c in range(core_number.size):
        core = core_number[c]
        if released_ns[c] == now and holder[core] == job and place[core] < 0:
            place[core] = c  # it goes now
            there += 1
    return bool(there == state.jobs.held_cores[job])


@compiled()
def report_job_releases(state: b.BatchState, job: int, core_number: Ints, released_ns: Ints, end_ns: int) -> int:
    """Report the cores that the running ``job`` releases before its end at ``end_ns``; its outcome follows.

    ``core_number``: the cores on which it computes, ascending; with changing widths in any order, including earlier cores.
    Each is released at ``released_ns`` if that is before ``end_ns``. By the setting ``releases``, a core is released at its
    own instant, or all cores of the job on a host together with the last one.

    Returns ``ACCEPTED``, or ``REFUSED`` with nothing changed: a core does not belong to the job, or an instant is in the past
    and is not the repeated report of a release that has happened (``bls.engine.features.commands.commands``).
    """
    holder, received, n = state.releases.holder, state.commands.received, core_number.size
    if not is_open(state, job) or released_ns.size != n:
        return REFUSED
    now, again = state.now_ns, received.size > 0 and received[job] > 0
    resizes = state.settings.resizing != b.NO_RESIZE
    for c in range(n):
        core = core_number[c]
        if core < 0 or core >= holder.size:
            return REFUSED
        if resizes:
            continue
        if released_ns[c] > now or not again:
            if holder[core] != job or released_ns[c] < now:
                return REFUSED
        elif released_ns[c] < now and holder[core] == job and state.settings.releases == b.BY_CORE:
            return REFUSED  # a past release must be reported as before
        if c > 0 and core_number[c - 1] >= core:
            return REFUSED
    if resizes and not _all_once(state, job, core_number, released_ns):
        return REFUSED
    c = 0
    while c < n:
        first, latest = core_number[c], released_ns[c]
        stop = first + 1
        c += 1
        if state.settings.releases == b.BY_HOST:
            host = state.host_of[first]
            first, stop = state.host_first[host], state.host_first[host + 1]
            while c < n and core_number[c] < stop:
                latest = max(latest, released_ns[c])
                c += 1
        if latest < end_ns and (not resizes or state.widths.work.place[first] == c - 1):
            for core in range(first, stop):
                if holder[core] == job:
                    state.releases.ordered_of[job] += 1
                    push(state.releases.due, latest, job * holder.size + core)
    return ACCEPTED


@compiled()
def stop_after(state: b.BatchState, job: int, core_number: Ints, released_ns: Ints) -> bool:
    """Delay ``stop_ns`` of ``job`` if a host failure sets it and the job will have released that host before.

    Returns whether ``stop_ns`` has changed: the application must then be simulated up to the new ``stop_ns``.
    """
    jobs, before, n_hosts = state.jobs, state.jobs.stop_ns[job], state.host_first.size - 1
    if jobs.stop_state[job] != b.FAILED:
        return False
    stop, reason = walltime_end(state, job), b.KILLED
    if jobs.cancel_ns[job] < stop:
        stop, reason = jobs.cancel_ns[job], b.CANCELLED
    first, next_down = jobs.held_first[job], state.outages.next_down_ns
    for k in range(first, first + jobs.held_count[job]):
        for host in range(state.host_of[state.pool.lo[k]], state.host_of[state.pool.hi[k] - 1] + 1):
            down = min(next_down[host], next_down[n_hosts + host])
            if down < stop and not _gone_before(state, host, down, core_number, released_ns):
                stop, reason = down, b.FAILED
    jobs.stop_ns[job], jobs.stop_state[job] = stop, reason
    return bool(stop > before)


@compiled(inner=True)
def _gone_before(state: b.BatchState, host: int, instant: int, core_number: Ints, released_ns: Ints) -> bool:
    """Whether a job computes on cores of a host and has released all of these before an instant."""
    lo, hi, any_there = state.host_first[host], state.host_first[host + 1], False
    for c in range(core_number.size):
        if lo <= core_number[c] < hi:
            if released_ns[c] >= instant:  # an application that is stopped then cannot say that it releases the core
                return False
            any_there = True
    return any_there


def check_releases(checks: BatchChecks) -> None:
    """Check that jobs hold the cores that they will release."""
    state, n_cores = checks.state, checks.n_cores
    ns, key = state.releases.due.entries()
    key = key[key < b.WIDTH_REQUEST_KEY]
    for row, core in zip(*divmod(np.setdiff1d(key, checks.owner * n_cores + checks.held_cores), n_cores), strict=True):
        checks.fault(f"{checks.name(row)} is to release core {core}, which it does not hold")
    found, ordered = np.bincount(key // n_cores, minlength=state.n_rows), state.releases.ordered_of[: state.n_rows]
    checks.counts(lambda row: f"cores that {checks.name(row)} is to release", ordered, found)
    checks.none(ns < state.now_ns, lambda k: f"a core should have been released at {ns[k]} ns")


def find_held(checks: BatchChecks) -> None:
    """Find the cores that jobs still hold, and check the numbers of those that they have released."""
    state, n_rows, releases = checks.state, checks.state.n_rows, checks.state.releases
    there = releases.holder[checks.held_cores] == checks.owner
    checks.owner, checks.held_cores = checks.owner[there], checks.held_cores[there]
    if len(state.widths.asked):
        checks.given = checks.jobs.cores  # the intervals follow the latest change of width
    checks.working = checks.jobs.cores - releases.released[:n_rows]
    counted, gone = releases.released_held[:n_rows], checks.given - np.bincount(checks.owner, minlength=n_rows)
    released = np.where(checks.holds, gone, counted)
    checks.counts(lambda row: f"cores that {checks.name(row)} has released", counted, released)
