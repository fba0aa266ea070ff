"""What must hold of the batch engine's state between two calls: every number that is kept twice is counted again.

The engine keeps what it needs often in more than one form: a job that waits is a row of ``jobs``, a bit of the queue and one
of ``n_waiting``; a core that is held is an interval of the pool and no bit of the free cores. :func:`validate` compares these
forms, in plain numpy, sharing no code with the kernels that keep them.
"""

from __future__ import annotations

import numpy as np

from bls.engine import state as b
from bls.engine.initial_state import intervals_of
from bls.engine.power_of_jobs import planned_more_mw
from bls.engine.state import BatchState, Pool
from traces.base.scale import WHOLE
from traces.base.time import MAX_NS
from traces.checks.faults import Checks
from traces.compiled import Array
from traces.lifecycle import NEVER_RAN, RAN

#: The columns that an error shows of a job in which something is wrong.
_INSTANTS = ("submit", "begin", "eligible", "start", "promise", "end", "stop", "expected_end", "slot")
_SAID = [*(f"{name}_ns" for name in _INSTANTS), "why", "state"]


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
        self.held = np.flatnonzero(self.holds)
        self.n_cores, self.n_hosts = len(state.host_of), len(state.host_first) - 1

    def check(self) -> None:
        self._check_rows()
        self._check_jobs()
        self._check_arrivals()
        self._check_queue()
        holder = self._check_held()
        self._check_free(holder)
        self._check_ends()
        self._check_heaps()
        self._check_tallies()
        if self.settings.sleeps == 1:
            self._check_sleep(holder)
        self.count(
            "cores of overdue jobs", self.state.overdue_cores, int(self.jobs.held_cores[self.jobs.overdue == 1].sum())
        )
        kept = np.flatnonzero(self.jobs.slot_ns != b.NEVER)
        if self.settings.by_cores == 1:
            self._check_core_profile(kept)
        elif self.settings.plans == 1:
            used = slice(self.state.profile.first, self.state.profile.end)
            self._check_slices(self.state.profile.ns[used], self.state.profile.free[used], kept)

    def name(self, row: int) -> str:
        attempt = self.jobs.attempt[row]
        return f"job {self.jobs.number[row]}" + (f" attempt {attempt}" if attempt else "")

    def _check_rows(self) -> None:
        # Attempts, and how many jobs have ended for good.
        jobs, latest, n = self.jobs, self.state.by_rank, len(self.state.by_rank)
        again = jobs.state == b.REQUEUED
        self.count("attempts", self.state.n_rows, n + int(again.sum()))
        self.count("jobs that have ended", self.state.n_ended, int((self.left & ~again).sum()))
        rank = jobs.rank[latest]
        self.none(
            rank != np.arange(n), lambda k: f"rank {k} is given to {self.name(latest[k])}, whose rank is {rank[k]}"
        )
        self.none(again[latest], lambda k: f"{self.name(latest[k])} was requeued, and no attempt follows")

    def _check_jobs(self) -> None:
        # What is known of each job is possible.
        now, jobs, left = self.state.now_ns, self.jobs, self.left
        started, ended = jobs.start_ns >= 0, jobs.end_ns >= 0
        keeps, overdue = jobs.slot_ns != b.NEVER, jobs.overdue == 1
        for wrong, what in (
            (started & (jobs.eligible_ns < 0), "started, and was never eligible"),
            ((jobs.eligible_ns >= 0) & (jobs.eligible_ns < jobs.begin_ns), "was eligible before it could be"),
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
        ):
            if len(bad := np.flatnonzero(wrong)):
                values = jobs.entry(bad[0])
                said = ", ".join(f"{name.removesuffix('_ns')} {values[name]}" for name in _SAID)
                self.fault(f"{self.name(bad[0])} {what}: {said}")

    def _check_arrivals(self) -> None:
        # Who has arrived: those whose turn has come, and nobody who waits for another.
        state, jobs, arrived = self.state, self.jobs, self.jobs.eligible_ns >= 0
        come, coming = np.split(state.arrivals, [state.next_arrival])
        late = coming[arrived[coming] | (jobs.begin_ns[coming] < state.now_ns)]
        for rows, what in (
            (come[~arrived[come] & ~self.left[come]], "has been passed over"),
            (late, "is still to arrive"),
        ):
            if len(rows):
                self.fault(f"{self.name(rows[0])}, due at {jobs.begin_ns[rows[0]]} ns, {what}")
        child = np.flatnonzero(arrived & (jobs.depends_on >= 0))
        parent = state.by_rank[jobs.rank[jobs.depends_on[child]]]
        self.none(
            ~self.left[parent], lambda k: f"{self.name(child[k])} has arrived before the end of {self.name(parent[k])}"
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
        queued = self._numbers_in(self.state.queue_words, self.state.queue_starts, "queue")
        latest, rows = self.state.by_rank, np.flatnonzero(self.waits)
        expected = np.zeros(len(queued), np.bool_)
        expected[self.jobs.rank[rows]] = True
        if len(bad := np.flatnonzero(queued != expected)):
            rank = int(bad[0])
            who = self.name(latest[rank]) if rank < len(latest) else f"rank {rank}"
            self.fault(
                f"{who} " + ("is in the queue and does not wait" if queued[rank] else "waits and is not in the queue")
            )
        self.count("waiting jobs", self.state.n_waiting, len(rows))

    def _check_held(self) -> Array:
        # Which job holds each core, -1 none.
        state, jobs, rows, n_cores = self.state, self.jobs, self.held, self.n_cores
        first, count = jobs.held_first[rows], jobs.held_count[rows]
        self.none(
            (count < 1) | (first < 0) | (first + count > state.pool_used),
            lambda k: f"{self.name(rows[k])} runs and has no cores in the pool of allocations",
        )
        owner, at = np.repeat(rows, count), intervals_of(first, count)
        lo, hi = state.pool.lo[at], state.pool.hi[at]
        self.none(
            (lo < 0) | (hi > n_cores) | (lo >= hi),
            lambda k: f"{self.name(owner[k])} holds cores [{lo[k]}, {hi[k]}); there are {n_cores}",
        )
        given = np.zeros(len(jobs.number), np.int64)
        np.add.at(given, owner, hi - lo)
        left = given
        if self.settings.releases != b.NO_RELEASES:
            owner, lo, hi = self._still_held(owner, lo, hi)
            left = np.bincount(owner, minlength=len(jobs.number))
            released = (jobs.cores if self.settings.resizing != b.NO_RESIZE else given) - left
            self.counts(
                lambda k: f"cores that {self.name(rows[k])} has released", jobs.released_held[rows], released[rows]
            )
        if self.settings.resizing != b.NO_RESIZE:
            given = jobs.cores  # its intervals are those of the latest change of its width
            self._check_widths(left)
        more = (given > jobs.cores) & (self.settings.whole_hosts == 0)
        self.none(
            self.holds & ((left != jobs.held_cores) | (given < jobs.cores) | more),
            lambda row: (
                f"{self.name(row)} asks for {jobs.cores[row]} cores, holds {left[row]}, and counts {jobs.held_cores[row]}"
            ),
        )
        holder = np.full(n_cores, -1)
        for k in range(len(lo)):
            here = holder[lo[k] : hi[k]]
            if here.max() >= 0:
                core = int(lo[k] + np.argmax(here >= 0))
                self.fault(f"core {core} is held by {self.name(holder[core])} and {self.name(owner[k])}")
            here[:] = owner[k]
        return holder

    def _check_widths(self, left: Array) -> None:
        # Running jobs have as many cores as they may, beside those that they were asked for; those are counted.
        state, jobs, rows = self.state, self.jobs, self.held
        held = np.flatnonzero(state.holder >= 0)
        asked = np.bincount(state.holder[held], weights=state.asked[held], minlength=len(jobs.number)).astype(np.int64)
        self.counts(lambda k: f"cores that {self.name(rows[k])} was asked for", jobs.asked[rows], asked[rows])
        most = np.maximum(jobs.cores, jobs.max_cores[jobs.origin])
        too_wide = self.holds & (left > most)
        self.none(too_wide, lambda row: f"{self.name(row)} holds {left[row]} cores; at most {most[row]} it may")
        given = held[state.given_at[held] > 0]
        told = state.told.take(state.given_at[given] - 1)
        self.none(
            (told.job != state.holder[given]) | (told.core != given) | (told.what != b.GIVEN),
            lambda k: f"core {given[k]} was not given to who holds it, as it says",
        )

    def _still_held(self, owner: Array, lo: Array, hi: Array) -> tuple[Array, Array, Array]:
        # Of intervals that jobs were given the cores that they hold still, each an interval of its own; and that all that are
        # to be released are among them.
        state, jobs, n_cores = self.state, self.jobs, self.n_cores
        cores = intervals_of(lo, hi - lo)
        owner = np.repeat(owner, hi - lo)
        kept = state.holder[cores] == owner
        owner, cores = owner[kept], cores[kept]
        ns, key = state.releasing.entries()
        wishing = key >= b.WISH_KEY
        for row in np.setxor1d(key[wishing] - b.WISH_KEY, np.flatnonzero(state.wishing.count)):
            self.fault(f"{self.name(row)} is to wish for cores, or in the heap of releases for that, and not both")
        key = key[~wishing]
        for row, core in zip(*divmod(np.setdiff1d(key, owner * n_cores + cores), n_cores), strict=True):
            self.fault(f"{self.name(row)} is to release core {core}, which it does not hold")
        found = np.bincount(key // n_cores, minlength=len(jobs.number))
        self.counts(lambda row: f"cores that {self.name(row)} is to release", jobs.to_release, found)
        self.none(ns < state.now_ns, lambda k: f"a core should have been released at {ns[k]} ns")
        return owner, cores, cores + 1

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
        gone = (down | stopped)[host_of]
        self.none(
            gone & (holder >= 0), lambda c: f"{self.name(holder[c])} holds core {c}, whose host {host_of[c]} is down"
        )
        if len(bad := np.flatnonzero(free != ((holder < 0) & ~gone))):
            core = int(bad[0])
            whose = f"held by {self.name(holder[core])}" if holder[core] >= 0 else "held by no job"
            where, but = "down" if gone[core] else "up", "" if free[core] else "not "
            self.fault(f"core {core} is {whose}, its host is {where}, and it is {but}among the free ones")
        self.count("free cores", state.free_cores, int(free.sum()))
        if self.settings.by_hosts == 1:
            found = np.bincount(host_of[free], minlength=self.n_hosts)
            self.counts(lambda host: f"free cores of host {host}", state.host_free, found)

    def _check_sleep(self, holder: Array) -> None:
        # Of hosts that fall asleep as they idle: who is asleep, boots, and idles.
        state, sleep, n_hosts = self.state, self.state.sleep, self.n_hosts
        what, sleepy = sleep.host.state, sleep.sleepy.entries()[1]
        away, boots, idles = what != b.UP, what == b.BOOTING, sleep.host.idle_since_ns != b.NEVER
        down = np.asarray((state.host_status.down_until_ns > 0).reshape(-1, n_hosts).any(axis=0))
        used = np.bincount(state.host_of[holder >= 0], minlength=n_hosts) > 0
        queued = np.zeros(n_hosts, np.bool_)
        queued[n_hosts - 1 - sleepy] = True
        self.count("hosts that are asleep or booting", state.n_away, int(away.sum()))
        self.count("hosts that idle", state.n_idle, int(idles.sum()))
        self.count("hosts that may fall asleep", len(sleepy), int(queued.sum()))
        core_away, core_boots = (
            _bits(one[: state.free_starts[1]])[: self.n_cores] for one in (sleep.away, sleep.booting)
        )
        idle_wrong = (idles != ~(down | used | (what == b.OFF))) & (state.in_pass == 0)
        for wrong, said, one, where in (
            (core_away != away[state.host_of], core_away, "core", "said to be of a host that is asleep or booting"),
            (core_boots != boots[state.host_of], core_boots, "core", "said to be of a host that boots"),
            (idle_wrong, idles, "host", "said to be awake and idle"),
            (queued != (sleep.host.is_sleepy == 1), queued, "host", "among those that may fall asleep"),
            (idles & ~queued, queued, "host", "among those that may fall asleep"),
        ):
            if len(bad := np.flatnonzero(wrong)):
                self.fault(f"{one} {bad[0]} is {'' if said[bad[0]] else 'not '}{where}")
        self.none(away & down, lambda host: f"host {host} is down, and asleep or booting")
        if not np.array_equal(np.sort(sleep.boots.entries()[1]), np.flatnonzero(boots)):
            self.fault("other hosts boot than those in the heap of them")

    def _check_ends(self) -> None:
        # Who runs ends or comes due, or an answer is awaited.
        state, jobs = self.state, self.jobs
        asked = self.holds & (jobs.end_ns < 0) & (jobs.promise_ns < 0)
        self.count("answers that are awaited", state.n_started - state.n_answered, int(asked.sum()))
        for row in np.setdiff1d(np.flatnonzero(asked), state.started[: state.n_started]):
            self.fault(f"{self.name(row)} has started, and nobody is asked about it")
        ns, rows = state.running.entries()
        found = np.bincount(rows, minlength=len(jobs.number))
        self.none(
            found != (self.holds & ~asked),
            lambda row: f"{self.name(row)} is {found[row]} times among the ends that are to come",
        )
        due = np.where(jobs.end_ns[rows] >= 0, jobs.end_ns[rows], jobs.promise_ns[rows])
        self.none(
            (ns > due) | (ns < state.now_ns),
            lambda k: f"{self.name(rows[k])} is due at {due[k]} ns, and is looked at {ns[k]} ns",
        )

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
            if len(bad := np.flatnonzero((key < 0) | (key >= keys))):
                self.fault(f"heap of {what}: entry {bad[0]} is about {key[bad[0]]}; allowed: 0 to {keys - 1}")

    def _check_tallies(self) -> None:
        # What partitions and their users have running.
        if self.settings.limited == 0:
            return
        state, jobs, rows = self.state, self.jobs, self.held
        found = np.zeros_like(state.user_tally)
        working = jobs.cores[rows] - jobs.released[rows]
        np.add.at(found, (jobs.partition[rows], jobs.user[rows]), np.stack([np.ones_like(rows), working], axis=1))
        tables = state.partitions
        for unit, column, what in ((0, tables.running_jobs, "running jobs"), (1, tables.running_cores, "their cores")):
            for p, u in np.argwhere(found[..., unit] != state.user_tally[..., unit]):
                self.count(f"{what} of user {u} in partition {p}", state.user_tally[p, u, unit], found[p, u, unit])
            sums = found[..., unit].sum(axis=1)
            for p in np.flatnonzero(sums != column):
                self.count(f"{what} of partition {p}", column[p], sums[p])

    def _expected_free(self, kept: Array, instants: Array) -> Array:
        # How many cores are free at each of these instants, from now on, by what is expected.
        jobs, held, down = self.jobs, self.held, self._down_until()
        expected = jobs.expected_end_ns[held] if self.settings.plans == 1 else np.full(len(held), b.NEVER)
        begins = jobs.slot_ns[kept]
        spans = [
            (np.zeros(len(held), np.int64), expected, jobs.held_cores[held]),
            (begins, begins + self._planned_ns(kept), self._kept_cores(kept)),
            (np.zeros(len(down), np.int64), down, np.diff(self.state.host_first)),
        ]
        free = np.full(len(instants), self.n_cores)
        for begin, end, cores in spans:
            for instant, sign in ((begin, -1), (end, 1)):
                order = np.argsort(instant)
                upto = np.concatenate([[0], np.cumsum(cores[order])])
                free += sign * upto[np.searchsorted(instant[order], instants, side="right")]
        return free

    def _kept_cores(self, kept: Array) -> Array:
        state, jobs = self.state, self.jobs
        if self.settings.by_cores == 0:
            return jobs.cores[kept]
        first, count = jobs.plan_first[kept], jobs.plan_count[kept]
        self.none(
            (count < 1) | (first < 0) | (first + count > state.kept_used),
            lambda k: f"{self.name(kept[k])} keeps a reservation that names no cores",
        )
        at, sums = intervals_of(first, count), np.zeros(len(kept), np.int64)
        np.add.at(sums, np.repeat(np.arange(len(kept)), count), state.kept.hi[at] - state.kept.lo[at])
        return sums

    def _check_slices(self, ns: Array, free: Array, kept: Array) -> None:
        # How many cores are free over time, from the present instant on: what has passed is of no account.
        if not len(ns) or np.any(ns[1:] <= ns[:-1]):
            self.fault(f"the slices of the profile are not ascending: {ns.tolist()} ns")
        now, begins = self.state.now_ns, self.jobs.slot_ns[kept]
        at = np.flatnonzero(np.append(ns[1:], b.NEVER) > now)
        known = np.maximum(ns[at], now)
        # At what is known to happen, too: a change that the profile has no slice for is one that it does not know.
        changes = [begins, begins + self._planned_ns(kept), self._down_until()]
        if self.settings.plans == 1:
            changes.append(self.jobs.expected_end_ns[self.holds])
        instants = np.unique(np.concatenate([known, *changes]))
        instants = instants[(instants >= known[0]) & (instants < b.NEVER)]
        expected = self._expected_free(kept, instants)
        found = free[at][np.searchsorted(known, instants, side="right") - 1]
        self.none(
            found != expected,
            lambda k: (
                f"{found[k]} cores are free at {instants[k]} ns by the profile, {expected[k]} by jobs and reservations"
            ),
        )

    def _check_core_profile(self, kept: Array) -> None:
        state, profile = self.state, self.state.cores_profile
        slices = profile.n_slices
        self._check_slices(profile.ns[:slices], profile.free[:slices], kept)
        free = self._numbers_in(profile.now.words, state.free_starts, "profile")
        seen = np.zeros(len(profile.lo), np.bool_)
        for k in range(slices):
            change, chain = int(profile.first[k]), list[int]()
            while change >= 0:
                if seen[change]:
                    self.fault(
                        f"change {change} of the profile is in two slices, or follows itself behind {chain[-1:]}"
                    )
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
            begun, first = kept[self.jobs.slot_ns[kept] <= state.now_ns], self.settings.power_amount
            for domain in range(len(state.domains.limit_mw)):
                left, of = int(profile.now.amounts[first + domain]), "a part's power" if domain else "power"
                self.count(f"mW that are left of {of}", left, self._power_left(begun, domain))

    def _planned_ns(self, rows: Array) -> Array:
        # For how long jobs that wait are planned to run: longer, rounded up, where that is at a slower state.
        state, jobs, powered = self.state, self.state.jobs, self.settings.powered
        estimate: Array = jobs.estimate_ns[rows]
        if powered <= b.HOLD:
            return estimate
        planned = state.power.planned[jobs.origin[rows]]
        if powered == b.LEVELS:
            level = np.zeros(len(rows), np.int64)
            for domain, own in enumerate(state.domains.level.tolist()):
                covered = state.domains.covers[jobs.partition[rows], domain] == 1
                level = np.where(covered, np.maximum(level, own), level)
            planned = np.minimum(planned, level)
        if len(state.power.kind):
            planned = planned + state.power.kind[jobs.origin[rows]] * state.power.states
        speed = state.power.speed.min(axis=1)[planned].tolist()
        longer = [min(-(-ns * WHOLE // one), max(ns, MAX_NS)) for ns, one in zip(estimate.tolist(), speed, strict=True)]
        return np.array(longer, np.int64)

    def _power_left(self, begun: Array, domain: int) -> int:
        # What is left now of the limit that is known, or of full power, by what the jobs that hold cores are planned with, and
        # those whose kept reservations have begun; in a domain.
        state, power, domains, jobs, rows = self.state, self.state.power, self.state.domains, self.jobs, self.held
        if self.settings.plans == 1:
            rows = rows[jobs.expected_end_ns[rows] > state.now_ns]  # others are planned to give back what they hold
        within, parts = np.zeros(int(power.first_core[-1]), np.bool_), slice(*domains.first[domain : domain + 2])
        within[intervals_of(domains.lo[parts], domains.hi[parts] - domains.lo[parts])] = True
        most = int(domains.limit_mw[domain] - domains.idle_mw[domain])
        group = np.searchsorted(power.first_core, np.arange(len(within)), side="right") - 1
        full = power.more_mw[:: power.states].max(axis=0)
        left = min(int(full[group[within]].sum()), most)
        cores_of = {row: self._cores_of("held", row, state.pool) for row in rows.tolist()}
        if self.settings.releases != b.NO_RELEASES:
            cores_of = {row: cores[state.holder[cores] == row] for row, cores in cores_of.items()}
        cores_of |= {row: self._cores_of("plan", row, state.kept) for row in begun.tolist()}
        return left - sum(
            int(planned_more_mw(state, row)[group[cores[within[cores]]]].sum()) for row, cores in cores_of.items()
        )

    def _cores_of(self, name: str, row: int, pool: Pool) -> Array:
        # The cores that a job holds, or that its reservation names.
        first = getattr(self.jobs, f"{name}_first")[row]
        at = slice(first, first + getattr(self.jobs, f"{name}_count")[row])
        return intervals_of(pool.lo[at], pool.hi[at] - pool.lo[at])


def _bits(words: Array) -> Array:
    found: Array = ((words[:, None] >> np.arange(32)) & 1).ravel() != 0
    return found
