"""What must hold of the batch engine's state between two calls: every number that is kept twice is counted again.

The engine keeps what it needs often in more than one form: a job that waits is a row of ``jobs``, a bit of the queue and one
of ``n_waiting``; a core that is held is an interval of the pool and no bit of the free cores. :func:`validate` compares these
forms, in plain numpy, sharing no code with the kernels that keep them.
"""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from bls.engine import state as b
from bls.engine.jobs import Jobs
from bls.engine.planned_power import planned_more_mw
from bls.engine.state import BatchState, CoreProfile
from traces.base.scale import WHOLE
from traces.base.time import MAX_NS
from traces.checks.heaps import first_out_of_order
from traces.checks.jobs import InvariantError
from traces.compiled import Array
from traces.lifecycle import NEVER_RAN, RAN

__all__ = ["validate"]

#: What is said of a job in whose columns something is wrong.
_SAID = [
    "submit_ns",
    "begin_ns",
    "eligible_ns",
    "start_ns",
    "promise_ns",
    "end_ns",
    "stop_ns",
    "why",
    "state",
    "slot_ns",
]


def validate(state: BatchState) -> None:
    """Check a batch state between two calls of ``bls.engine.loop``, of which none has ended in a fault.

    The queue holds the jobs that wait; the free cores are those that nobody holds, on hosts that are up; the profile is that of
    the running jobs, the reservations and the hosts that are down; heaps are in order; what is counted adds up; what has become
    of a job is possible.

    Raises
    ------
    InvariantError
        Naming the first job, core or number that is wrong.
    """
    for what in state.faults():
        _fault(state, what)
    jobs = state.jobs.front(state.n_rows)
    left = jobs.state >= 0
    holds = ~left & (jobs.start_ns >= 0)
    waits = ~left & (jobs.start_ns < 0) & (jobs.eligible_ns >= 0)
    _check_rows(state, jobs, left)
    _check_jobs(state, jobs, left, holds)
    _check_arrivals(state, jobs, left)
    _check_queue(state, jobs, waits)
    held = _check_held(state, jobs, holds)
    _check_free(state, held)
    _check_ends(state, jobs, holds)
    _check_heaps(state, jobs)
    _check_tallies(state, jobs, holds)
    if state.settings.sleeps == 1:
        _check_sleep(state, held)
    if state.settings.plans == 1:
        _check_overdue(state, jobs, holds)
    if state.settings.by_cores == 1:
        _check_core_profile(state, jobs, holds, waits)
    elif state.settings.plans == 1:
        _check_count_profile(state, jobs, holds, waits)


def _fault(state: BatchState, what: str) -> NoReturn:
    raise InvariantError(f"batch engine at {state.now_ns} ns: {what}")


def _name(state: BatchState, row: int) -> str:
    attempt = state.jobs.attempt[row]
    return f"job {state.jobs.number[row]}" + (f" attempt {attempt}" if attempt else "")


def _count(state: BatchState, what: str, said: int, found: int) -> None:
    if said != found:
        _fault(state, f"{what}: {said} by its count, {found} there are")


def _check_rows(state: BatchState, jobs: Jobs, left: Array) -> None:
    # Attempts, and how many jobs have ended for good.
    n = len(state.by_rank)
    again = jobs.state == b.REQUEUED
    _count(state, "attempts", int(state.n_rows), n + int(again.sum()))
    _count(state, "jobs that have ended", int(state.n_ended), int((left & ~again).sum()))
    latest = state.by_rank
    if len(bad := np.flatnonzero(jobs.rank[latest] != np.arange(n))):
        rank = int(bad[0])
        _fault(state, f"rank {rank} is given to {_name(state, latest[rank])}, whose rank is {jobs.rank[latest[rank]]}")
    if len(bad := np.flatnonzero(again[latest])):
        _fault(state, f"{_name(state, latest[bad[0]])} was requeued, and no attempt follows")


def _check_jobs(state: BatchState, jobs: Jobs, left: Array, holds: Array) -> None:
    # What is known of each job is possible.
    now = state.now_ns
    started, ended = jobs.start_ns >= 0, jobs.end_ns >= 0
    for wrong, what in (
        (started & (jobs.eligible_ns < 0), "started, and was never eligible"),
        ((jobs.eligible_ns >= 0) & (jobs.eligible_ns < jobs.begin_ns), "was eligible before it could be"),
        (jobs.eligible_ns > now, "is eligible in the future"),
        (started & (jobs.start_ns < jobs.eligible_ns), "started before it was eligible"),
        (ended & ~started, "ends, and has not started"),
        (ended & (jobs.end_ns < jobs.start_ns), "ends before it starts"),
        (ended & (jobs.end_ns > jobs.stop_ns), "ends after it is cut"),
        (ended & (jobs.promise_ns > jobs.end_ns), "ends before what it promised"),
        (holds & ended & (jobs.end_ns < now), "should have ended"),
        (left & started & (jobs.end_ns > now), "has left before its end"),
        (left & started & ~ended, "has left, and has no end"),
        (started & (jobs.why == b.NEVER_STARTED), "started for no reason"),
        (left & ~started & (jobs.why != b.NEVER_STARTED), "has left, never started, and says why it did"),
        (left & started & ~np.isin(jobs.state, [*RAN]), "ran, but ended as only a job that never ran can"),
        (left & ~started & ~np.isin(jobs.state, [*NEVER_RAN]), "never ran, but ended as only a job that ran can"),
        (started & (jobs.slot_ns != b.NEVER), "has started, and keeps a reservation"),
    ):
        if len(bad := np.flatnonzero(wrong)):
            row = int(bad[0])
            values = jobs.entry(row)
            said = ", ".join(f"{name.removesuffix('_ns')} {values[name]}" for name in _SAID)
            _fault(state, f"{_name(state, row)} {what}: {said}")


def _check_arrivals(state: BatchState, jobs: Jobs, left: Array) -> None:
    # Who has arrived: those whose turn has come, and nobody who waits for another.
    now = state.now_ns
    arrived = jobs.eligible_ns >= 0
    come, coming = np.split(state.arrivals, [int(state.next_arrival)])
    if len(bad := come[~arrived[come] & ~left[come]]):
        _fault(state, f"{_name(state, bad[0])}, due at {jobs.begin_ns[bad[0]]} ns, has been passed over")
    if len(bad := coming[arrived[coming] | (jobs.begin_ns[coming] < now)]):
        _fault(state, f"{_name(state, bad[0])}, due at {jobs.begin_ns[bad[0]]} ns, is still to arrive")
    child = np.flatnonzero(arrived & (jobs.depends_on >= 0))
    parent = state.by_rank[jobs.rank[jobs.depends_on[child]]]
    if len(bad := np.flatnonzero(~left[parent])):
        _fault(state, f"{_name(state, child[bad[0]])} has arrived before the end of {_name(state, parent[bad[0]])}")


def _numbers_in(state: BatchState, words: Array, starts: Array, what: str) -> Array:
    # Which numbers are in a tree of bits, as truth values; and whether its upper levels say the same.
    for level in range(1, len(starts) - 1):
        below = words[starts[level - 1] : starts[level]] != 0
        above = _bits(words[starts[level] : starts[level + 1]])
        if len(bad := np.flatnonzero(above[: len(below)] != below)) or above[len(below) :].any():
            word = int(bad[0]) if len(bad) else len(below)
            _fault(state, f"{what}: level {level} of the tree is wrong of word {word} below it")
    return _bits(words[: starts[1]])


def _bits(words: Array) -> Array:
    found: Array = ((words[:, None] >> np.arange(32)) & 1).ravel() != 0
    return found


def _check_queue(state: BatchState, jobs: Jobs, waits: Array) -> None:
    queued = _numbers_in(state, state.queue_words, state.queue_starts, "queue")
    rows = np.flatnonzero(waits)
    expected = np.zeros(len(queued), np.bool_)
    expected[jobs.rank[rows]] = True
    if len(bad := np.flatnonzero(queued != expected)):
        rank = int(bad[0])
        who = _name(state, state.by_rank[rank]) if rank < len(state.by_rank) else f"rank {rank}"
        _fault(
            state, f"{who} {'is in the queue and does not wait' if queued[rank] else 'waits and is not in the queue'}"
        )
    _count(state, "waiting jobs", int(state.n_waiting), len(rows))


def _pieces(first: Array, count: Array) -> Array:
    # The places first … first + count - 1 of each, one behind the other.
    upto = np.cumsum(count)
    places: Array = np.repeat(first - (upto - count), count) + np.arange(upto[-1] if len(upto) else 0)
    return places


def _check_held(state: BatchState, jobs: Jobs, holds: Array) -> Array:
    # Which job holds each core, -1 none.
    n_cores, settings = len(state.host_of), state.settings
    rows = np.flatnonzero(holds)
    first, count = jobs.held_first[rows], jobs.held_count[rows]
    if len(bad := np.flatnonzero((count < 1) | (first < 0) | (first + count > state.pool_used))):
        _fault(state, f"{_name(state, rows[bad[0]])} runs and has no cores in the pool of allocations")
    owner, at = np.repeat(rows, count), _pieces(first, count)
    lo, hi = state.pool.lo[at], state.pool.hi[at]
    if len(bad := np.flatnonzero((lo < 0) | (hi > n_cores) | (lo >= hi))):
        k = bad[0]
        _fault(state, f"{_name(state, owner[k])} holds cores [{lo[k]}, {hi[k]}); there are {n_cores}")
    sums = np.zeros(len(jobs.number), np.int64)
    np.add.at(sums, owner, hi - lo)
    left = sums
    if settings.releases != b.NO_RELEASES:
        owner, lo, hi = _still_held(state, owner, lo, hi)
        left = np.bincount(owner, minlength=len(jobs.number))
        released = (jobs.cores if settings.resizing != b.NO_RESIZE else sums) - left
        if len(bad := np.flatnonzero(released[rows] != jobs.released_held[rows])):
            row = rows[bad[0]]
            what = f"cores that {_name(state, row)} has released"
            _count(state, what, int(jobs.released_held[row]), int(released[row]))
    asked, whole = jobs.cores, settings.whole_hosts == 1
    if settings.resizing != b.NO_RESIZE:
        sums = asked  # its intervals are those of the latest change of its width
        _check_widths(state, jobs, rows, left)
    wrong = (left[rows] != jobs.held_cores[rows]) | (sums[rows] < asked[rows]) | ((sums[rows] > asked[rows]) & ~whole)
    if len(bad := np.flatnonzero(wrong)):
        row = rows[bad[0]]
        _fault(
            state,
            f"{_name(state, row)} asks for {asked[row]} cores, holds {left[row]}, and counts {jobs.held_cores[row]}",
        )
    holder = np.full(n_cores, -1)
    for k in range(len(lo)):
        here = holder[lo[k] : hi[k]]
        if here.max() >= 0:
            core = int(lo[k] + np.argmax(here >= 0))
            _fault(state, f"core {core} is held by {_name(state, holder[core])} and {_name(state, owner[k])}")
        here[:] = owner[k]
    return holder


def _check_widths(state: BatchState, jobs: Jobs, rows: Array, left: Array) -> None:
    # Running jobs have as many cores as they may, beside those that they were asked for; those are counted.
    held = np.flatnonzero(state.holder >= 0)
    asked = np.bincount(state.holder[held], weights=state.asked[held], minlength=len(jobs.number)).astype(np.int64)
    if len(bad := rows[asked[rows] != jobs.asked[rows]]):
        _count(state, f"cores that {_name(state, bad[0])} was asked for", int(jobs.asked[bad[0]]), int(asked[bad[0]]))
    most = np.maximum(jobs.cores, jobs.max_cores[jobs.origin])
    if len(bad := rows[left[rows] > most[rows]]):
        _fault(state, f"{_name(state, bad[0])} holds {left[bad[0]]} cores; at most {most[bad[0]]} it may")
    at = state.given_at[held]
    given = held[at > 0], at[at > 0] - 1
    told = state.told.take(given[1])
    if len(
        wrong := np.flatnonzero((told.job != state.holder[given[0]]) | (told.core != given[0]) | (told.what != b.GIVEN))
    ):
        _fault(state, f"core {given[0][wrong[0]]} was not given to who holds it, as it says")


def _still_held(state: BatchState, owner: Array, lo: Array, hi: Array) -> tuple[Array, Array, Array]:
    # Of intervals that jobs were given the cores that they hold still, each an interval of its own; and that all that are
    # to be released are among them.
    cores = _pieces(lo, hi - lo)
    owner = np.repeat(owner, hi - lo)
    kept = state.holder[cores] == owner
    owner, cores = owner[kept], cores[kept]
    n = int(state.n_releasing)
    ns, key = state.releasing_ns[:n], state.releasing_key[:n]
    if (at := first_out_of_order(ns, key)) >= 0:
        _fault(state, f"heap of releases: entry {at}, ({ns[at]} ns, {key[at]}), comes before the one above it")
    wishing = key >= b.WISH_KEY
    if len(bad := np.setxor1d(key[wishing] - b.WISH_KEY, np.flatnonzero(state.wishing.count))):
        _fault(state, f"{_name(state, bad[0])} is to wish for cores, or in the heap of releases for that, and not both")
    key = key[~wishing]
    if len(bad := np.setdiff1d(key, owner * len(state.host_of) + cores)):
        row, core = divmod(int(bad[0]), len(state.host_of))
        _fault(state, f"{_name(state, row)} is to release core {core}, which it does not hold")
    found = np.bincount(key // len(state.host_of), minlength=len(state.jobs.number))
    if len(bad := np.flatnonzero(state.jobs.to_release != found)):
        row = int(bad[0])
        _fault(state, f"{_name(state, row)} is to release {state.jobs.to_release[row]} cores, by the heap {found[row]}")
    if n and ns[0] < state.now_ns:
        _fault(state, f"a core should have been released at {ns[0]} ns")
    return owner, cores, cores + 1


def _down_until(state: BatchState) -> Array:
    # Until when each host is known to be gone, 0 if it is up.
    n_hosts = len(state.host_first) - 1
    until: Array = np.zeros(n_hosts, np.int64)
    if state.host_status.next_outage.size:
        until = state.host_status.down_until_ns.reshape(-1, n_hosts).max(axis=0)
    if state.stops.host.state.size:
        until = np.maximum(until, state.stops.host.until_ns)
    return until


def _stopped(state: BatchState) -> Array:
    # Which hosts are out of service, as the power of the machine is limited.
    if not state.stops.host.state.size:
        return np.zeros(len(state.host_first) - 1, np.bool_)
    what = state.stops.host.state
    _count(
        state,
        "hosts that are stopped",
        int(state.n_stopped),
        int(((what != b.UP) & (what != b.BOOTING)).sum()),
    )
    found: Array = what != b.UP
    return found


def _check_free(state: BatchState, holder: Array) -> None:
    settings, n_cores = state.settings, len(state.host_of)
    free = _numbers_in(state, state.free_words, state.free_starts, "free cores")
    if free[n_cores:].any():
        _fault(state, f"a core beyond the last of {n_cores} is free")
    stopped = _stopped(state)
    down = (_down_until(state) > 0) & ~stopped
    _count(state, "hosts that are down", int(state.n_down), int(down.sum()))
    down |= stopped
    gone = down[state.host_of]
    if len(bad := np.flatnonzero(gone & (holder >= 0))):
        _fault(state, f"{_name(state, holder[bad[0]])} holds core {bad[0]}, whose host {state.host_of[bad[0]]} is down")
    if len(bad := np.flatnonzero(free[:n_cores] != ((holder < 0) & ~gone))):
        core = int(bad[0])
        whose = f"held by {_name(state, holder[core])}" if holder[core] >= 0 else "held by no job"
        where = "down" if gone[core] else "up"
        _fault(
            state,
            f"core {core} is {whose}, its host is {where}, and it is {'' if free[core] else 'not '}among the free ones",
        )
    _count(state, "free cores", int(state.free_cores), int(free.sum()))
    if settings.by_hosts == 1:
        found = np.bincount(state.host_of[free[:n_cores]], minlength=len(down))
        if len(bad := np.flatnonzero(found != state.host_free)):
            _count(state, f"free cores of host {bad[0]}", int(state.host_free[bad[0]]), int(found[bad[0]]))


def _check_sleep(state: BatchState, holder: Array) -> None:
    # Of hosts that fall asleep as they idle: who is asleep, boots, and idles.
    sleep = state.sleep
    what, since = sleep.host.state, sleep.host.idle_since_ns
    n_cores, n_hosts = len(state.host_of), len(what)
    away = what != b.UP
    _count(state, "hosts that are asleep or booting", int(state.n_away), int(away.sum()))
    said = _bits(sleep.away[: state.free_starts[1]])[:n_cores]
    if len(bad := np.flatnonzero(said != away[state.host_of])):
        _fault(
            state, f"core {bad[0]} is {'' if said[bad[0]] else 'not '}said to be of a host that is asleep or booting"
        )
    said = _bits(sleep.booting[: state.free_starts[1]])[:n_cores]
    if len(bad := np.flatnonzero(said != (what == b.BOOTING)[state.host_of])):
        _fault(state, f"core {bad[0]} is {'' if said[bad[0]] else 'not '}said to be of a host that boots")
    down = np.asarray((state.host_status.down_until_ns > 0).reshape(-1, n_hosts).any(axis=0))
    used = np.bincount(state.host_of[holder >= 0], minlength=n_hosts) > 0
    idles = since != b.NEVER
    if not state.in_pass and len(bad := np.flatnonzero(idles != ~(down | used | (what == b.OFF)))):
        _fault(state, f"host {bad[0]} is {'' if idles[bad[0]] else 'not '}said to be awake and idle")
    _count(state, "hosts that idle", int(state.n_idle), int(idles.sum()))
    n = int(state.n_sleepy)
    queued = np.zeros(n_hosts, np.bool_)
    queued[n_hosts - 1 - sleep.sleepy_key[:n]] = True
    _count(state, "hosts that may fall asleep", n, int(queued.sum()))
    if len(bad := np.flatnonzero(queued != (sleep.host.is_sleepy == 1))) or len(bad := np.flatnonzero(idles & ~queued)):
        _fault(state, f"host {bad[0]} is {'' if queued[bad[0]] else 'not '}among those that may fall asleep")
    if len(bad := np.flatnonzero(away & down)):
        _fault(state, f"host {bad[0]} is down, and asleep or booting")
    boots = np.sort(sleep.booting_host[: state.n_booting])
    if not np.array_equal(boots, np.flatnonzero(what == b.BOOTING)):
        _fault(state, "other hosts boot than those in the heap of them")


def _check_ends(state: BatchState, jobs: Jobs, holds: Array) -> None:
    # Who runs ends or comes due, or an answer is awaited.
    asked = holds & (jobs.end_ns < 0) & (jobs.promise_ns < 0)
    _count(state, "answers that are awaited", int(state.n_started - state.n_answered), int(asked.sum()))
    told = state.started[: state.n_started]
    if len(bad := np.setdiff1d(np.flatnonzero(asked), told)):
        _fault(state, f"{_name(state, bad[0])} has started, and nobody is asked about it")
    rows, ns = state.running_job[: state.n_running], state.running_ns[: state.n_running]
    found = np.bincount(rows, minlength=len(jobs.number))
    if len(bad := np.flatnonzero(found != (holds & ~asked))):
        _fault(state, f"{_name(state, bad[0])} is {found[bad[0]]} times among the ends that are to come")
    due = np.where(jobs.end_ns[rows] >= 0, jobs.end_ns[rows], jobs.promise_ns[rows])
    if len(bad := np.flatnonzero((ns > due) | (ns < state.now_ns))):
        k = bad[0]
        _fault(state, f"{_name(state, rows[k])} is due at {due[k]} ns, and is looked at {ns[k]} ns")


def _check_heaps(state: BatchState, jobs: Jobs) -> None:
    rows = len(state.jobs.number)
    for what, n, ns, key, keys in (
        ("ends", state.n_running, state.running_ns, state.running_job, len(jobs.number)),
        ("expected ends", state.n_expected, state.expected_ns, state.expected_job, len(jobs.number)),
        ("later arrivals", state.n_arriving, state.arriving_ns, state.arriving_job, 2 * rows),
        ("events of hosts", state.n_host_events, state.host_ns, state.host_key, 2 * state.host_status.next_outage.size),
    ):
        if not 0 <= n <= len(ns):
            _fault(state, f"heap of {what}: {n} entries, room for {len(ns)}")
        if (at := first_out_of_order(ns[:n], key[:n])) >= 0:
            _fault(state, f"heap of {what}: entry {at}, ({ns[at]} ns, {key[at]}), comes before the one above it")
        if len(bad := np.flatnonzero((key[:n] < 0) | (key[:n] >= keys))):
            _fault(state, f"heap of {what}: entry {bad[0]} is about {key[bad[0]]}; allowed: 0 to {keys - 1}")


def _check_tallies(state: BatchState, jobs: Jobs, holds: Array) -> None:
    # What partitions and their users have running.
    if state.settings.limited == 0:
        return
    rows = np.flatnonzero(holds)
    found = np.zeros_like(state.user_tally)
    np.add.at(found[..., 0], (jobs.partition[rows], jobs.user[rows]), 1)
    working = jobs.cores[rows] - jobs.released[rows]
    np.add.at(found[..., 1], (jobs.partition[rows], jobs.user[rows]), working)
    tables = state.partitions
    for unit, column, what in ((0, tables.running_jobs, "running jobs"), (1, tables.running_cores, "their cores")):
        for p, u in np.argwhere(found[..., unit] != state.user_tally[..., unit]):
            _count(
                state, f"{what} of user {u} in partition {p}", int(state.user_tally[p, u, unit]), int(found[p, u, unit])
            )
        sums = found[..., unit].sum(axis=1)
        for p in np.flatnonzero(sums != column):
            _count(state, f"{what} of partition {p}", int(column[p]), int(sums[p]))


def _check_overdue(state: BatchState, jobs: Jobs, holds: Array) -> None:
    overdue = jobs.overdue == 1
    if len(bad := np.flatnonzero(overdue & (~holds | (jobs.expected_end_ns > state.now_ns)))):
        _fault(state, f"{_name(state, bad[0])} is overdue, and runs not or not for longer than is expected")
    _count(state, "cores of overdue jobs", int(state.overdue_cores), int(jobs.held_cores[overdue].sum()))


def _kept(state: BatchState, jobs: Jobs, waits: Array) -> Array:
    # The rows that keep a reservation.
    rows = np.flatnonzero(jobs.slot_ns != b.NEVER)
    if len(bad := rows[~waits[rows]]):
        _fault(state, f"{_name(state, bad[0])} keeps a reservation at {jobs.slot_ns[bad[0]]} ns, and does not wait")
    if len(rows) and state.settings.keeps_reservations == 0:
        _fault(state, f"{_name(state, rows[0])} keeps a reservation at {jobs.slot_ns[rows[0]]} ns, where none are kept")
    return rows


def _expected_free(state: BatchState, jobs: Jobs, holds: Array, kept: Array, instants: Array) -> Array:
    # How many cores are free at each of these instants, from now on, by what is expected.
    held, n_cores = np.flatnonzero(holds), len(state.host_of)
    expected = jobs.expected_end_ns[held] if state.settings.plans == 1 else np.full(len(held), b.NEVER)
    down, hosts = _down_until(state), np.diff(state.host_first)
    begins = jobs.slot_ns[kept]
    spans = [
        (np.zeros(len(held), np.int64), expected, jobs.held_cores[held]),
        (begins, begins + _planned_ns(state, kept), _kept_cores(state, jobs, kept)),
        (np.zeros(len(down), np.int64), down, hosts),
    ]
    free = np.full(len(instants), n_cores)
    for begin, end, cores in spans:
        for instant, sign in ((begin, -1), (end, 1)):
            order = np.argsort(instant)
            upto = np.concatenate([[0], np.cumsum(cores[order])])
            free += sign * upto[np.searchsorted(instant[order], instants, side="right")]
    return free


def _kept_cores(state: BatchState, jobs: Jobs, kept: Array) -> Array:
    if state.settings.by_cores == 0:
        asked: Array = jobs.cores[kept]
        return asked
    first, count = jobs.plan_first[kept], jobs.plan_count[kept]
    if len(bad := np.flatnonzero((count < 1) | (first < 0) | (first + count > state.kept_used))):
        _fault(state, f"{_name(state, kept[bad[0]])} keeps a reservation that names no cores")
    at, sums = _pieces(first, count), np.zeros(len(kept), np.int64)
    np.add.at(sums, np.repeat(np.arange(len(kept)), count), state.kept_hi[at] - state.kept_lo[at])
    return sums


def _check_slices(state: BatchState, ns: Array, free: Array, jobs: Jobs, holds: Array, kept: Array) -> None:
    # How many cores are free over time, from the present instant on: what has passed is of no account.
    if not len(ns) or np.any(ns[1:] <= ns[:-1]):
        _fault(state, f"the slices of the profile are not ascending: {ns.tolist()} ns")
    now = state.now_ns
    at = np.flatnonzero(np.append(ns[1:], b.NEVER) > now)
    known = np.maximum(ns[at], now)
    # At what is known to happen, too: a change that the profile has no slice for is one that it does not know.
    changes = [jobs.slot_ns[kept], jobs.slot_ns[kept] + _planned_ns(state, kept), _down_until(state)]
    if state.settings.plans == 1:
        changes.append(jobs.expected_end_ns[holds])
    instants = np.unique(np.concatenate([known, *changes]))
    instants = instants[(instants >= known[0]) & (instants < b.NEVER)]
    expected = _expected_free(state, jobs, holds, kept, instants)
    found = free[at][np.searchsorted(known, instants, side="right") - 1]
    if len(bad := np.flatnonzero(found != expected)):
        k = bad[0]
        _fault(
            state,
            f"{found[k]} cores are free at {instants[k]} ns by the profile, {expected[k]} by jobs and reservations",
        )


def _check_count_profile(state: BatchState, jobs: Jobs, holds: Array, waits: Array) -> None:
    used = slice(int(state.first_slice), int(state.end_slice))
    kept = _kept(state, jobs, waits)
    _check_slices(state, state.profile_ns[used], state.profile_free[used], jobs, holds, kept)


def _check_core_profile(state: BatchState, jobs: Jobs, holds: Array, waits: Array) -> None:
    profile, kept = state.cores_profile, _kept(state, jobs, waits)
    slices = int(profile.n_slices)
    _check_slices(state, profile.ns[:slices], profile.free[:slices], jobs, holds, kept)
    free = _numbers_in(state, profile.words, state.free_starts, "profile")
    seen, others = np.zeros(len(profile.lo), np.bool_), np.zeros(2, np.int64)
    for k in range(slices):
        change = int(profile.first[k])
        cores, last = 0, -1
        gives: list[tuple[int, int]] = []
        takes: list[tuple[int, int]] = []
        while change >= 0:
            if seen[change]:
                _fault(state, f"change {change} of the profile is in two slices, or follows itself behind {last}")
            seen[change] = True
            lo, hi, amount = (int(column[change]) for column in (profile.lo, profile.hi, profile.amount))
            if hi > lo:
                cores += amount * (hi - lo)
                (gives if amount > 0 else takes).append((lo, hi))
            others[0] += 1
            change, last = int(profile.after[change]), change
        if k and cores != profile.free[k] - profile.free[k - 1]:
            step = profile.free[k] - profile.free[k - 1]
            _fault(state, f"at {profile.ns[k]} ns the profile has {step} more free cores, and changes of {cores}")
        _apply(state, profile, k, free, gives, True)
        _apply(state, profile, k, free, takes, False)
        if free.sum() != profile.free[k]:
            _fault(state, f"the profile has {profile.free[k]} free cores at {profile.ns[k]} ns; {free.sum()} are")
    _count(state, "changes of the profile", int(profile.n_changes), int(others[0]))
    if state.settings.powered != b.UNPOWERED and profile.ns[0] == state.now_ns:
        left = int(profile.amounts[state.settings.power_amount])
        begun = kept[jobs.slot_ns[kept] <= state.now_ns]
        rows = np.flatnonzero(holds)
        _count(state, "mW that are left of power", left, _power_left(state, rows, begun))
        for domain in range(len(state.domains.limit_mw)):
            left = int(profile.amounts[state.settings.power_amount + 1 + domain])
            _count(state, "mW that are left of a part's power", left, _power_left(state, rows, begun, domain))


def _planned_ns(state: BatchState, rows: Array) -> Array:
    # For how long jobs that wait are planned to run: longer, rounded up, where that is at a slower state.
    estimate: Array = state.jobs.estimate_ns[rows]
    powered = state.settings.powered
    if powered <= b.HOLD:
        return estimate
    planned = state.power.planned[state.jobs.origin[rows]]
    if powered == b.LEVELS:
        level = np.full(len(rows), state.level)
        for domain, own in enumerate(state.domains.level.tolist()):
            covered = state.domains.covers[state.jobs.partition[rows], domain] == 1
            level = np.where(covered, np.maximum(level, own), level)
        planned = np.minimum(planned, level)
    if len(state.power.kind):
        planned = planned + state.power.kind[state.jobs.origin[rows]] * state.power.states
    speed = state.power.speed.min(axis=1)[planned].tolist()
    longer = [min(-(-ns * WHOLE // one), max(ns, MAX_NS)) for ns, one in zip(estimate.tolist(), speed, strict=True)]
    return np.array(longer, np.int64)


def _power_left(state: BatchState, rows: Array, begun: Array, domain: int = -1) -> int:
    # What is left now of the limit that is known, or of full power, by what the jobs that hold cores are planned with, and
    # those whose kept reservations have begun; of the machine, or of a domain.
    power, jobs = state.power, state.jobs
    if state.settings.plans == 1:
        rows = rows[jobs.expected_end_ns[rows] > state.now_ns]  # others are planned to give back what they hold
    within, domains = np.ones(int(power.first_core[-1]), np.bool_), state.domains
    most = int(state.limit_mw - state.settings.idle_mw)
    if domain >= 0:
        within[:] = False
        for k in range(int(domains.first[domain]), int(domains.first[domain + 1])):
            within[domains.lo[k] : domains.hi[k]] = True
        most = int(domains.limit_mw[domain] - domains.idle_mw[domain])
    width = np.bincount(np.searchsorted(power.first_core, np.flatnonzero(within), side="right") - 1)
    full = power.more_mw[:: power.states].max(axis=0)[: len(width)]
    left = min(int((width * full).sum()), most)
    for row in rows.tolist():
        first = jobs.held_first[row]
        for k in range(first, first + jobs.held_count[row]):
            cores = np.arange(state.pool.lo[k], state.pool.hi[k])
            if state.settings.releases != b.NO_RELEASES:
                cores = cores[state.holder[cores] == row]
            left -= _more_mw(state, row, cores[within[cores]])
    for row in begun.tolist():
        first = jobs.plan_first[row]
        for k in range(first, first + jobs.plan_count[row]):
            cores = np.arange(state.kept_lo[k], state.kept_hi[k])
            left -= _more_mw(state, row, cores[within[cores]])
    return left


def _more_mw(state: BatchState, row: int, cores: Array) -> int:
    # What cores draw beyond idle ones in the state that a job is planned with.
    group = np.searchsorted(state.power.first_core, cores, side="right") - 1
    return int(planned_more_mw(state, row)[group].sum())


def _apply(
    state: BatchState, profile: CoreProfile, k: int, free: Array, pieces: list[tuple[int, int]], given: bool
) -> None:
    # What is given back is not free yet, and what is taken is.
    for lo, hi in pieces:
        here = free[lo:hi]
        if np.any(here == given):
            core = lo + int(np.argmax(here == given))
            word = "given back that is free" if given else "taken that is not free"
            _fault(state, f"at {profile.ns[k]} ns core {core} is {word}, by the profile")
        here[:] = given
