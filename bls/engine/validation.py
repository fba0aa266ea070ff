"""What must hold of the batch engine's state between two calls: every number that is kept twice is counted again.

The engine keeps what it needs often in more than one form: a job that waits is a row of ``jobs``, a bit of the queue and one
of ``n_waiting``; a core that is held is an interval of the pool and no bit of the free cores. :func:`validate` compares these
forms, in plain numpy, sharing no code with the kernels that keep them.
"""

from __future__ import annotations

import numpy as np

from bls.engine import state as b
from bls.engine.cores import Pool, intervals_of
from bls.engine.power_of_jobs import planned_more_mw
from bls.engine.state import BatchState
from traces.base.scale import WHOLE
from traces.base.time import MAX_NS
from traces.checks.faults import Checks
from traces.compiled import Array
from traces.lifecycle import NEVER_RAN, RAN

#: The columns that an error shows of a job in which something is wrong.
_INSTANTS = ("submit", "begin", "eligible", "start", "promise", "end", "stop", "expected_end", "slot")
_SAID = [*(f"{name}_ns" for name in _INSTANTS), "why", "state", "depends_on"]


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
    _Batch(state).check()


class _Batch(Checks):
    """A batch state, its jobs, and which of them have left, hold cores, or wait."""

    def __init__(self, state: BatchState) -> None:
        super().__init__(f"batch engine at {state.now_ns} ns")
        self.declared(state)
        self.state, self.settings, self.jobs = state, state.settings, state.jobs.front(state.n_rows)
        started = self.jobs.start_ns >= 0
        self.left = self.jobs.state >= 0
        self.holds = ~self.left & started
        self.waits = ~self.left & ~started & (self.jobs.eligible_ns >= 0)
        self.held, self.kept = np.flatnonzero(self.holds), np.flatnonzero(self.jobs.slot_ns != b.NEVER)
        self.n_cores, self.n_hosts = len(state.host_of), len(state.host_first) - 1

    def check(self) -> None:
        state, jobs = self.state, self.jobs
        self._check_jobs()
        self._check_queue()
        owner, cores = self._check_held()
        holder = np.full(self.n_cores, -1)
        holder[cores] = owner
        self._check_free(holder)
        self._check_ends()
        self._check_heaps()
        self._check_tallies()
        if self.settings.sleeps == 1:
            self._check_sleep(holder)
        self.count("cores of overdue jobs", state.overdue_cores, int(jobs.held_cores[jobs.overdue == 1].sum()))
        if self.settings.by_cores == 1:
            what = "keeps a reservation that names no cores"
            reserved = self._in_pool(state.kept, state.kept_used, self.kept, jobs.plan_first, jobs.plan_count, what)
            self._check_core_profile(reserved, (owner, cores))
        elif self.settings.plans == 1:
            used = slice(state.profile.first, state.profile.end)
            self._check_slices(state.profile.ns[used], state.profile.free[used], jobs.cores[self.kept])

    def name(self, row: int) -> str:
        attempt = self.jobs.attempt[row]
        return f"job {self.jobs.number[row]}" + (f" attempt {attempt}" if attempt else "")

    def _no_job(self, *faults: tuple[Array, str]) -> None:
        # Of rows: that none is wrong, and what is said of the first that is.
        for wrong, what in faults:
            for row in np.flatnonzero(wrong)[:1].tolist():
                values = self.jobs.entry(row)
                said = ", ".join(f"{name.removesuffix('_ns')} {values[name]}" for name in _SAID)
                self.fault(f"{self.name(row)} {what}: {said}")

    def _are(self, rows: Array) -> Array:
        # Which of all rows are among these.
        return np.isin(np.arange(self.state.n_rows), rows)

    def _check_jobs(self) -> None:
        # Attempts, and how many jobs have ended for good; and what is known of each job is possible.
        state, now, jobs, left = self.state, self.state.now_ns, self.jobs, self.left
        latest, n, again = state.by_rank, len(state.by_rank), jobs.state == b.REQUEUED
        self.count("attempts", state.n_rows, n + int(again.sum()))
        self.count("jobs that have ended", state.n_ended, int((left & ~again).sum()))
        rank = jobs.rank[latest]
        wrong = rank != np.arange(n)
        self.none(wrong, lambda k: f"rank {k} is given to {self.name(latest[k])}, whose rank is {rank[k]}")
        arrived, started, ended = jobs.eligible_ns >= 0, jobs.start_ns >= 0, jobs.end_ns >= 0
        keeps, overdue = jobs.slot_ns != b.NEVER, jobs.overdue == 1
        come, coming = map(self._are, np.split(state.arrivals, [state.next_arrival]))
        parent = latest[jobs.rank[jobs.depends_on]]
        self._no_job(
            (again & self._are(latest), "was requeued, and no attempt follows"),
            (started & ~arrived, "started, and was never eligible"),
            (arrived & (jobs.eligible_ns < jobs.begin_ns), "was eligible before it could be"),
            (jobs.eligible_ns > now, "is eligible in the future"),
            (started & (jobs.start_ns < jobs.eligible_ns), "started before it was eligible"),
            (ended & ~started, "ends, and has not started"),
            (ended & (jobs.end_ns < jobs.start_ns), "ends before it starts"),
            (ended & (jobs.end_ns > jobs.stop_ns), "ends after it is cut"),
            (ended & (jobs.promise_ns > jobs.end_ns), "ends before what it promised"),
            (self.holds & ended & (jobs.end_ns < now), "should have ended"),
            (left & started & (jobs.end_ns > now), "has left before its end"),
            (left & started & ~ended, "has left, and has no end"),
            (started & (jobs.why == b.NEVER_STARTED), "started for no reason"),
            (left & ~started & (jobs.why != b.NEVER_STARTED), "has left, never started, and says why it did"),
            (left & started & ~np.isin(jobs.state, [*RAN]), "ran, but ended as only a job that never ran can"),
            (left & ~started & ~np.isin(jobs.state, [*NEVER_RAN]), "never ran, but ended as only a job that ran can"),
            (started & keeps, "has started, and keeps a reservation"),
            (keeps & ~self.waits, "keeps a reservation, and does not wait"),
            (keeps & (self.settings.keeps_reservations == 0), "keeps a reservation, where none are kept"),
            (overdue & ~self.holds, "is overdue, and does not run"),
            (overdue & (jobs.expected_end_ns > now), "is overdue, and has not run for longer than is expected"),
            (overdue & (self.settings.plans == 0), "is overdue, where nobody plans"),
            (come & ~arrived & ~left, "has been passed over"),
            (coming & (arrived | (jobs.begin_ns < now)), "is still to arrive"),
            (arrived & (jobs.depends_on >= 0) & ~left[parent], "has arrived before the end of the job it depends on"),
        )

    def _numbers_in(self, words: Array, starts: Array, what: str) -> Array:
        # Which numbers are in a tree of bits, as truth values; and whether its upper levels say the same.
        for level in range(1, len(starts) - 1):
            below = words[starts[level - 1] : starts[level]] != 0
            above = _bits(words[starts[level] : starts[level + 1]])
            if len(bad := np.flatnonzero(above != np.pad(below, (0, len(above) - len(below))))):
                self.fault(f"{what}: level {level} of the tree is wrong of word {bad[0]} below it")
        return _bits(words[: starts[1]])

    def _check_queue(self) -> None:
        n = len(self.state.by_rank)
        queued = self._numbers_in(self.state.queue_words, self.state.queue_starts, "queue")
        self.none(queued[n:], lambda k: f"rank {n + k} is in the queue; there are {n} jobs")
        in_queue = self._are(self.state.by_rank[queued[:n]])
        self._no_job(
            (in_queue & ~self.waits, "is in the queue and does not wait"),
            (self.waits & ~in_queue, "waits and is not in the queue"),
        )
        self.count("waiting jobs", self.state.n_waiting, int(self.waits.sum()))

    def _in_pool(self, pool: Pool, n: int, rows: Array, first: Array, count: Array, what: str) -> tuple[Array, Array]:
        # The cores that rows have by their intervals in a pool, of which n are used; and of each the row.
        wrong = (count < 1) | (first < 0) | (first + count > n)
        self._no_job((self._are(rows) & wrong, what))
        owner, at = np.repeat(rows, count[rows]), intervals_of(first[rows], count[rows])
        lo, hi, last = pool.lo[at], pool.hi[at], self.n_cores
        wrong = (lo < 0) | (hi > last) | (lo >= hi)
        self.none(wrong, lambda k: f"{self.name(owner[k])} has cores [{lo[k]}, {hi[k]}); there are {last}")
        return np.repeat(owner, hi - lo), intervals_of(lo, hi - lo)

    def _check_held(self) -> tuple[Array, Array]:
        # All cores that are held, and of each the job.
        state, settings, jobs, n_rows = self.state, self.settings, self.jobs, self.state.n_rows
        what = "runs and has no cores in the pool of allocations"
        owner, cores = self._in_pool(state.pool, state.pool_used, self.held, jobs.held_first, jobs.held_count, what)
        given = left = np.bincount(owner, minlength=n_rows)
        resizes = settings.resizing != b.NO_RESIZE
        if settings.releases != b.NO_RELEASES:
            there = state.holder[cores] == owner
            owner, cores = owner[there], cores[there]
            left = np.bincount(owner, minlength=n_rows)
            released = np.where(self.holds, (jobs.cores if resizes else given) - left, jobs.released_held)
            self.counts(lambda row: f"cores that {self.name(row)} has released", jobs.released_held, released)
            self._check_releases(owner, cores)
        if resizes:
            given = jobs.cores  # its intervals are those of the latest change of its width
            self._check_widths(owner, cores, left)
        more = (given > jobs.cores) & (settings.whole_hosts == 0)
        wrong = self.holds & ((left != jobs.held_cores) | (given < jobs.cores) | more)
        counted = jobs.held_cores
        self.none(
            wrong, lambda k: f"{self.name(k)} asks for {jobs.cores[k]} cores, holds {left[k]}, and counts {counted[k]}"
        )
        for core in np.flatnonzero(np.bincount(cores, minlength=self.n_cores) > 1).tolist():
            self.fault(f"core {core} is held by {' and '.join(map(self.name, owner[cores == core]))}")
        return owner, cores

    def _check_widths(self, owner: Array, cores: Array, left: Array) -> None:
        # Running jobs have as many cores as they may, beside those that they were asked for; those are counted.
        state, jobs = self.state, self.jobs
        asked = np.bincount(owner[state.asked[cores] == 1], minlength=state.n_rows)
        wanted = np.where(self.holds, asked, jobs.asked)
        self.counts(lambda row: f"cores that {self.name(row)} was asked for", jobs.asked, wanted)
        most = np.maximum(jobs.cores, jobs.max_cores[jobs.origin])
        too_wide = self.holds & (left > most)
        self.none(too_wide, lambda row: f"{self.name(row)} holds {left[row]} cores; at most {most[row]} it may")
        given = cores[state.given_at[cores] > 0]
        told = state.told.take(state.given_at[given] - 1)
        wrong = (told.job != state.holder[given]) | (told.core != given) | (told.what != b.GIVEN)
        self.none(wrong, lambda k: f"core {given[k]} was not given to who holds it, as it says")

    def _check_releases(self, owner: Array, cores: Array) -> None:
        # All that is to be released is held; and who is to wish for cores is in the same heap.
        state, n_cores = self.state, self.n_cores
        ns, key = state.releasing.entries()
        wishing = key >= b.WISH_KEY
        for row in np.setxor1d(key[wishing] - b.WISH_KEY, np.flatnonzero(state.wishing.count)):
            self.fault(f"{self.name(row)} is to wish for cores, or in the heap of releases for that, and not both")
        key = key[~wishing]
        for row, core in zip(*divmod(np.setdiff1d(key, owner * n_cores + cores), n_cores), strict=True):
            self.fault(f"{self.name(row)} is to release core {core}, which it does not hold")
        found = np.bincount(key // n_cores, minlength=state.n_rows)
        self.counts(lambda row: f"cores that {self.name(row)} is to release", self.jobs.to_release, found)
        self.none(ns < state.now_ns, lambda k: f"a core should have been released at {ns[k]} ns")

    def _down_until(self) -> Array:
        # Until when each host is known to be gone, 0 if it is up.
        status, stops = self.state.host_status, self.state.stops.host
        until: Array = np.zeros(self.n_hosts, np.int64)
        if status.next_outage.size:
            until = status.down_until_ns.reshape(-1, self.n_hosts).max(axis=0)
        return np.maximum(until, stops.until_ns) if stops.state.size else until

    def _check_free(self, holder: Array) -> None:
        state, n_cores, host_of = self.state, self.n_cores, self.state.host_of
        free = self._numbers_in(state.free_words, state.free_starts, "free cores")
        if free[n_cores:].any():
            self.fault(f"a core beyond the last of {n_cores} is free")
        free, stopped = free[:n_cores], np.zeros(self.n_hosts, np.bool_)
        if state.stops.host.state.size:  # hosts that are out of service, as the power of the machine is limited
            stopped = state.stops.host.state != b.UP
            out_of_service = stopped & (state.stops.host.state != b.BOOTING)
            self.count("hosts that are stopped", state.n_stopped, int(out_of_service.sum()))
        down = (self._down_until() > 0) & ~stopped
        self.count("hosts that are down", state.n_down, int(down.sum()))
        gone, held = (down | stopped)[host_of], holder >= 0
        self.none(gone & held, lambda c: f"{self.name(holder[c])} holds core {c}, whose host {host_of[c]} is down")
        for core in np.flatnonzero(free != ~(held | gone))[:1].tolist():
            whose = f"held by {self.name(holder[core])}" if held[core] else "held by no job"
            where, but = "down" if gone[core] else "up", "" if free[core] else "not "
            self.fault(f"core {core} is {whose}, its host is {where}, and it is {but}among the free ones")
        self.count("free cores", state.free_cores, int(free.sum()))
        if self.settings.by_hosts == 1:
            found = np.bincount(host_of[free], minlength=self.n_hosts)
            self.counts(lambda host: f"free cores of host {host}", state.host_free, found)

    def _check_sleep(self, holder: Array) -> None:
        # Of hosts that fall asleep as they idle: who is asleep, boots, and idles.
        state, sleep, n_hosts, host_of = self.state, self.state.sleep, self.n_hosts, self.state.host_of
        what, sleepy = sleep.host.state, sleep.sleepy.entries()[1]
        away, boots, idles = what != b.UP, what == b.BOOTING, sleep.host.idle_since_ns != b.NEVER
        down = np.asarray((state.host_status.down_until_ns > 0).reshape(-1, n_hosts).any(axis=0))
        used = np.isin(np.arange(n_hosts), host_of[holder >= 0])
        queued = np.isin(n_hosts - 1 - np.arange(n_hosts), sleepy)
        self.count("hosts that are asleep or booting", state.n_away, int(away.sum()))
        self.count("hosts that idle", state.n_idle, int(idles.sum()))
        self.count("hosts that may fall asleep", len(sleepy), int(queued.sum()))
        of_away, of_booting = (_bits(words)[: self.n_cores] for words in (sleep.away, sleep.booting))
        idle_wrong = (idles != ~(down | used | (what == b.OFF))) & (state.in_pass == 0)
        for wrong, said, one, where in (
            (of_away != away[host_of], of_away, "core", "said to be of a host that is asleep or booting"),
            (of_booting != boots[host_of], of_booting, "core", "said to be of a host that boots"),
            (idle_wrong, idles, "host", "said to be awake and idle"),
            (queued != (sleep.host.is_sleepy == 1), queued, "host", "among those that may fall asleep"),
            (idles & ~queued, queued, "host", "among those that may fall asleep"),
            (away & down, down, "host", "down, and asleep or booting"),
        ):
            for k in np.flatnonzero(wrong)[:1].tolist():
                self.fault(f"{one} {k} is {'' if said[k] else 'not '}{where}")
        if not np.array_equal(np.sort(sleep.boots.entries()[1]), np.flatnonzero(boots)):
            self.fault("other hosts boot than those in the heap of them")

    def _check_ends(self) -> None:
        # Who runs ends or comes due, or an answer is awaited.
        state, jobs = self.state, self.jobs
        asked = self.holds & (jobs.end_ns < 0) & (jobs.promise_ns < 0)
        self.count("answers that are awaited", state.n_started - state.n_answered, int(asked.sum()))
        ns, rows = state.running.entries()
        found = np.bincount(rows, minlength=state.n_rows)
        self._no_job(
            (asked & ~self._are(state.started[: state.n_started]), "has started, and nobody is asked about it"),
            (found > 1, "is several times among the ends that are to come"),
            ((found == 1) != (self.holds & ~asked), "runs, or is among the ends that are to come, and not both"),
        )
        due = np.where(jobs.end_ns[rows] >= 0, jobs.end_ns[rows], jobs.promise_ns[rows])
        wrong = (ns > due) | (ns < state.now_ns)
        self.none(wrong, lambda k: f"{self.name(rows[k])} is due at {due[k]} ns, and is looked at {ns[k]} ns")

    def _check_heaps(self) -> None:
        state, used, rows = self.state, len(self.jobs.number), len(self.state.jobs.number)
        for what, heap, keys in (
            ("ends", state.running, used),
            ("expected ends", state.expected, used),
            ("later arrivals", state.arriving, 2 * rows),
            ("events of hosts", state.host_events, 2 * state.host_status.next_outage.size),
            ("releases", state.releasing, b.WISH_KEY + used),
            ("hosts that may fall asleep", state.sleep.sleepy, self.n_hosts),
            ("hosts that boot", state.sleep.boots, self.n_hosts),
        ):
            if not 0 <= heap.n <= len(heap.ns):
                self.fault(f"heap of {what}: {heap.n} entries, room for {len(heap.ns)}")
            ns, key = heap.entries()
            self.heap(what, ns, key)
            for k in np.flatnonzero((key < 0) | (key >= keys))[:1].tolist():
                self.fault(f"heap of {what}: entry {k} is about {key[k]}; allowed: 0 to {keys - 1}")

    def _check_tallies(self) -> None:
        # What partitions and their users have running.
        if self.settings.limited == 0:
            return
        state, jobs, rows = self.state, self.jobs, self.held
        found = np.zeros_like(state.user_tally)
        working = jobs.cores[rows] - jobs.released[rows]
        np.add.at(found, (jobs.partition[rows], jobs.user[rows]), np.stack([np.ones_like(rows), working], axis=1))
        kinds, tables = ("running jobs", "their cores"), state.partitions
        for p, u, unit in np.argwhere(found != state.user_tally):
            self.count(f"{kinds[unit]} of user {u} in partition {p}", state.user_tally[p, u, unit], found[p, u, unit])
        counted, sums = np.stack([tables.running_jobs, tables.running_cores], axis=1), found.sum(axis=1)
        for p, unit in np.argwhere(counted != sums):
            self.count(f"{kinds[unit]} of partition {p}", counted[p, unit], sums[p, unit])

    def _check_slices(self, ns: Array, free: Array, reserved: Array) -> None:
        # How many cores are free over time, from the present instant on: what has passed is of no account. ``reserved``: how
        # many cores each reservation is of that is kept.
        if not len(ns) or np.any(ns[1:] <= ns[:-1]):
            self.fault(f"the slices of the profile are not ascending: {ns.tolist()} ns")
        jobs, held, down, now = self.jobs, self.held, self._down_until(), self.state.now_ns
        slots, expected = jobs.slot_ns[self.kept], jobs.expected_end_ns[held]
        spans = [
            (0 * held, expected if self.settings.plans == 1 else 0 * held + b.NEVER, jobs.held_cores[held]),
            (slots, slots + self._planned_ns(self.kept), reserved),
            (0 * down, down, np.diff(self.state.host_first)),
        ]
        at = np.flatnonzero(np.append(ns[1:], b.NEVER) > now)
        known = np.maximum(ns[at], now)
        # At what is known to happen, too: a change that the profile has no slice for is one that it does not know.
        instants = np.unique(np.concatenate([known, *(one for begin, end, _ in spans for one in (begin, end))]))
        instants = instants[(instants >= known[0]) & (instants < b.NEVER)]
        by_jobs = np.full(len(instants), self.n_cores)
        for begin, end, cores in spans:
            for instant, sign in ((begin, -1), (end, 1)):
                order = np.argsort(instant)
                upto = np.concatenate([[0], np.cumsum(cores[order])])
                by_jobs += sign * upto[np.searchsorted(instant[order], instants, side="right")]
        found = free[at][np.searchsorted(known, instants, side="right") - 1]
        for k in np.flatnonzero(found != by_jobs)[:1].tolist():
            when, other = instants[k], by_jobs[k]
            self.fault(f"{found[k]} cores are free at {when} ns by the profile, {other} by jobs and reservations")

    def _check_core_profile(self, reserved: tuple[Array, Array], held: tuple[Array, Array]) -> None:
        # With the cores of reservations that are kept, and of running jobs: of each the job, and the core.
        state, profile = self.state, self.state.cores_profile
        slices, counts = profile.n_slices, np.bincount(reserved[0], minlength=state.n_rows)[self.kept]
        self._check_slices(profile.ns[:slices], profile.free[:slices], counts)
        free = self._numbers_in(profile.now.words, state.free_starts, "profile")
        seen = np.zeros(len(profile.lo), np.bool_)
        for k in range(slices):
            change, chain = int(profile.first[k]), list[int]()
            while change >= 0:
                if seen[change]:
                    where = f"is in two slices, or follows itself behind {chain[-1:]}"
                    self.fault(f"change {change} of the profile {where}")
                seen[change] = True
                chain.append(change)
                change = int(profile.after[change])
            lo, hi, amount = (column[chain] for column in (profile.lo, profile.hi, profile.amount))
            step, cores = profile.free[k] - profile.free[k - 1], int((amount * (hi - lo))[hi > lo].sum())
            if k and cores != step:
                self.fault(f"at {profile.ns[k]} ns the profile has {step} more free cores, and changes of {cores}")
            for given, word in ((True, "given back that is free"), (False, "taken that is not free")):
                for at in np.flatnonzero((hi > lo) & ((amount > 0) == given)).tolist():
                    here = free[lo[at] : hi[at]]
                    if np.any(here == given):
                        core = lo[at] + int(np.argmax(here == given))
                        self.fault(f"at {profile.ns[k]} ns core {core} is {word}, by the profile")
                    here[:] = given
            if free.sum() != profile.free[k]:
                self.fault(f"the profile has {profile.free[k]} free cores at {profile.ns[k]} ns; {free.sum()} are")
        self.count("changes of the profile", profile.n_changes, int(seen.sum()))
        if self.settings.powered != b.UNPOWERED and profile.ns[0] == state.now_ns:
            # What is left now of the limit that is known, or of full power, by what the jobs that hold cores are planned with,
            # and those whose kept reservations have begun; in a domain.
            planned = (self.jobs.expected_end_ns > state.now_ns) | (self.settings.plans == 0)
            there = np.where(self.holds, planned, self.jobs.slot_ns <= state.now_ns)
            owner, cores_of = (np.concatenate(pair) for pair in zip(held, reserved, strict=True))
            owner, cores_of = owner[there[owner]], cores_of[there[owner]]
            for domain in range(len(state.domains.limit_mw)):
                left = int(profile.now.amounts[self.settings.power_amount + domain])
                what = "a part's power" if domain else "power"
                self.count(f"mW that are left of {what}", left, self._power_left(owner, cores_of, domain))

    def _planned_ns(self, rows: Array) -> Array:
        # For how long jobs that wait are planned to run: longer, rounded up, where that is at a slower state.
        state, jobs, powered = self.state, self.state.jobs, self.settings.powered
        estimate: Array = jobs.estimate_ns[rows]
        if powered <= b.HOLD:
            return estimate
        planned = state.power.planned[jobs.origin[rows]]
        if powered == b.LEVELS:
            levels = state.domains.covers[jobs.partition[rows]] * state.domains.level
            planned = np.minimum(planned, levels.max(axis=1))
        if len(state.power.kind):
            planned = planned + state.power.kind[jobs.origin[rows]] * state.power.states
        speed = state.power.speed.min(axis=1)[planned].tolist()
        longer = [min(-(-ns * WHOLE // one), max(ns, MAX_NS)) for ns, one in zip(estimate.tolist(), speed, strict=True)]
        return np.array(longer, np.int64)

    def _power_left(self, owner: Array, cores: Array, domain: int) -> int:
        # What jobs leave of the limit of a domain, or of its full power, with these cores.
        power, domains = self.state.power, self.state.domains
        within, parts = np.zeros(self.n_cores, np.bool_), slice(*domains.first[domain : domain + 2])
        within[intervals_of(domains.lo[parts], domains.hi[parts] - domains.lo[parts])] = True
        group = np.searchsorted(power.first_core, np.arange(self.n_cores), side="right") - 1
        full = power.more_mw[:: power.states].max(axis=0)[group[within]].sum()
        left = min(int(full), int(domains.limit_mw[domain] - domains.idle_mw[domain]))
        owner, cores = owner[within[cores]], cores[within[cores]]
        for row in np.unique(owner).tolist():
            left -= int(planned_more_mw(self.state, row)[group[cores[owner == row]]].sum())
        return left


def _bits(words: Array) -> Array:
    found: Array = ((words[:, None] >> np.arange(32)) & 1).ravel() != 0
    return found
