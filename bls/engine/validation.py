"""Checks of the batch engine's state, and their common base class."""

from collections.abc import Iterable

import numpy as np

from bls.engine import state as b
from bls.engine.cores import Pool
from bls.engine.features.order import features_of
from traces.algorithms.event_heap import Heap
from traces.base.options import named
from traces.checks.faults import Checks
from traces.compiled import Array
from traces.intervals import intervals_of
from traces.lifecycle import NEVER_RAN, RAN

#: The columns of a faulty job that an error shows.
_INSTANTS = ("submit", "begin", "eligible", "start", "promise", "end", "stop", "expected_end", "slot")
_SHOWN = [*(f"{name}_ns" for name in _INSTANTS), "why", "state", "depends_on"]


class BatchChecks(Checks):
    """Checks of a batch state between two calls of the engine.

    - ``jobs``: the rows that are in use
    - ``left``, ``holds``, ``waits``, bool (rows,): which rows have left, hold cores, or wait
    - ``owner``, ``held_cores``, int64 (k,): the row that holds each allocated core, and that core
    - ``holder``, int64 (M,): the row that holds each core, -1 none
    - ``given``, ``working``, int64 (rows,): the cores that each row was given; those on which it computes if it runs
    - ``held``, ``kept``, int64 (k,): the rows that hold cores, and those that keep a reservation
    - ``stopped``, bool (H,), ``stopped_until``, int64 (H,): hosts that a feature takes out of service, and their known return
    """

    def __init__(self, state: b.BatchState) -> None:
        super().__init__(f"batch engine at {state.now_ns} ns")
        self.declared(state)
        self.features = features_of(state)
        self.state, self.settings, self.jobs = state, state.settings, state.jobs.front(state.n_rows)
        started = self.jobs.start_ns >= 0
        self.left = self.jobs.state >= 0
        self.holds = ~self.left & started
        self.waits = ~self.left & ~started & (self.jobs.eligible_ns >= 0)
        self.held, self.kept = np.flatnonzero(self.holds), np.flatnonzero(self.jobs.slot_ns != b.NEVER)
        self.n_cores, self.n_hosts = len(state.host_of), len(state.host_first) - 1
        self.owner: Array = np.zeros(0, np.int64)
        self.held_cores: Array = self.owner
        self.given: Array = self.owner
        self.working: Array = self.jobs.cores
        self.stopped: Array = np.zeros(self.n_hosts, np.bool_)
        self.stopped_until: Array = np.zeros(self.n_hosts, np.int64)

    @property
    def holder(self) -> Array:
        """The row that holds each core, -1 none: int64 (M,)."""
        found = np.full(self.n_cores, -1)
        found[self.held_cores] = self.owner
        return found

    def name(self, row: int) -> str:
        """The name of a row's job in errors."""
        attempt = self.jobs.attempt[row]
        return f"job {self.jobs.number[row]}" + (f" attempt {attempt}" if attempt else "")

    def no_job(self, *faults: tuple[Array, str]) -> None:
        """Report the first row of each fault."""
        for wrong, what in faults:
            for row in np.flatnonzero(wrong)[:1].tolist():
                values = self.jobs.entry(row)
                shown = ", ".join(f"{name.removesuffix('_ns')} {values[name]}" for name in _SHOWN)
                self.fault(f"{self.name(row)} {what}: {shown}")

    def are(self, rows: Array) -> Array:
        """A mask of these rows."""
        return np.isin(np.arange(self.state.n_rows), rows)

    def bits(self, words: Array) -> Array:
        """The bits of words, lowest first."""
        return np.asarray(((words[:, None] >> np.arange(32)) & 1).ravel() != 0)

    def numbers_in(self, words: Array, starts: Array, what: str) -> Array:
        """The numbers in a tree of bits, after a check that its upper levels agree with the lowest."""
        for level in range(1, len(starts) - 1):
            below = words[starts[level - 1] : starts[level]] != 0
            above = self.bits(words[starts[level] : starts[level + 1]])
            if len(bad := np.flatnonzero(above != np.pad(below, (0, len(above) - len(below))))):
                self.fault(f"{what}: level {level} of the tree is wrong of word {bad[0]} below it")
        return self.bits(words[: starts[1]])

    def check_slices(self, ns: Array, free: Array, reserved: Array, lasting: Array) -> None:
        """Check the free cores from now on; ``reserved``, ``lasting``: cores and duration of each kept reservation."""
        if not len(ns) or np.any(ns[1:] <= ns[:-1]):
            self.fault(f"the slices of the profile are not ascending: {ns.tolist()} ns")
        jobs, held, down, now = self.jobs, self.held, self.down_until(), self.state.now_ns
        slots, expected = jobs.slot_ns[self.kept], jobs.expected_end_ns[held]
        spans = [
            (0 * held, expected if self.settings.plans == 1 else 0 * held + b.NEVER, jobs.held_cores[held]),
            (slots, slots + lasting, reserved),
            (0 * down, down, np.diff(self.state.host_first)),
        ]
        at = np.flatnonzero(np.append(ns[1:], b.NEVER) > now)
        known = np.maximum(ns[at], now)
        # Check at all known instants, too, to find changes that the profile misses.
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

    def in_pool(self, pool: Pool, n: int, rows: Array, first: Array, count: Array, what: str) -> tuple[Array, Array]:
        """The cores of rows by their intervals in a pool with ``n`` used entries, and the row of each core."""
        wrong = (count < 1) | (first < 0) | (first + count > n)
        self.no_job((self.are(rows) & wrong, what))
        owner, at = np.repeat(rows, count[rows]), intervals_of(first[rows], count[rows])
        lo, hi, last = pool.lo[at], pool.hi[at], self.n_cores
        wrong = (lo < 0) | (hi > last) | (lo >= hi)
        self.none(wrong, lambda k: f"{self.name(owner[k])} has cores [{lo[k]}, {hi[k]}); there are {last}")
        return np.repeat(owner, hi - lo), intervals_of(lo, hi - lo)

    def down_until(self) -> Array:
        """The known end of each host's outage, ns; 0 if it is up."""
        until = self.state.outages.down_until_ns.reshape(-1, self.n_hosts).max(axis=0, initial=0)
        return np.asarray(np.maximum(until, self.stopped_until))

    def check_heap(self, what: str, heap: Heap, keys: int) -> None:
        """Check the size and order of a heap, whose keys are below ``keys``."""
        if not 0 <= heap.n <= len(heap.ns):
            self.fault(f"heap of {what}: {heap.n} entries, room for {len(heap.ns)}")
        ns, key = heap.entries()
        self.heap(what, ns, key)
        for k in np.flatnonzero((key < 0) | (key >= keys))[:1].tolist():
            self.fault(f"heap of {what}: entry {k} is about {key[k]}; allowed: 0 to {keys - 1}")


def validate(state: b.BatchState) -> None:
    """Check a batch state between two calls of ``bls.engine.loop`` without a fault; raises InvariantError."""
    _Batch(state).check()


class _Batch(BatchChecks):
    """All checks of a batch state."""

    def check(self) -> None:
        state, jobs = self.state, self.jobs
        self._check_jobs()
        self._check_queue()
        what = "runs and has no cores in the pool of allocations"
        pool = state.pool, state.pool_used
        self.owner, self.held_cores = self.in_pool(*pool, self.held, jobs.held_first, jobs.held_count, what)
        self.given = np.bincount(self.owner, minlength=state.n_rows)
        self._call(feature.find_held for feature in self.features)
        self._check_held()
        self._call(feature.check for feature in self.features)
        self._check_free()
        self._check_ends()
        self._check_heaps()
        self.count("cores of overdue jobs", state.overdue_cores, int(jobs.held_cores[jobs.overdue == 1].sum()))
        if self.settings.plans == 1 and len(state.profile.ns):
            used = slice(state.profile.first, state.profile.end)
            lasting = jobs.estimate_ns[self.kept]
            self.check_slices(state.profile.ns[used], state.profile.free[used], jobs.cores[self.kept], lasting)

    def _call(self, checks: Iterable[str]) -> None:
        for where in filter(None, checks):
            named(where)(self)

    def _check_jobs(self) -> None:
        # Numbers of attempts and of ended jobs; possible histories of jobs.
        state, now, jobs, left = self.state, self.state.now_ns, self.jobs, self.left
        latest, n, again = state.by_rank, len(state.by_rank), jobs.state == b.REQUEUED
        self.count("attempts", state.n_rows, n + int(again.sum()))
        self.count("jobs that have ended", state.n_ended, int((left & ~again).sum()))
        rank = jobs.rank[latest]
        wrong = rank != np.arange(n)
        self.none(wrong, lambda k: f"rank {k} is given to {self.name(latest[k])}, whose rank is {rank[k]}")
        arrived, started, ended = jobs.eligible_ns >= 0, jobs.start_ns >= 0, jobs.end_ns >= 0
        keeps, overdue = jobs.slot_ns != b.NEVER, jobs.overdue == 1
        come, coming = map(self.are, np.split(state.arrivals, [state.next_arrival]))
        parent = latest[jobs.rank[jobs.depends_on]]
        self.no_job(
            (again & self.are(latest), "was requeued, and no attempt follows"),
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
            (left & ~started & (jobs.why != b.NEVER_STARTED), "has left, never started, and has a reason to start"),
            (left & started & ~np.isin(jobs.state, [*RAN]), "ran, but ended as only a job that never ran can"),
            (left & ~started & ~np.isin(jobs.state, [*NEVER_RAN]), "never ran, but ended as only a job that ran can"),
            (started & keeps, "has started, and keeps a reservation"),
            (keeps & ~self.waits, "keeps a reservation, and does not wait"),
            (keeps & (self.settings.keeps_reservations == 0), "keeps a reservation, where none are kept"),
            (overdue & ~self.holds, "is overdue, and does not run"),
            (overdue & (jobs.expected_end_ns > now), "is overdue, and has not run for longer than is expected"),
            (overdue & (self.settings.plans == 0), "is overdue, in a run without plans"),
            (come & ~arrived & ~left, "has been passed over"),
            (coming & (arrived | (jobs.begin_ns < now)), "is still to arrive"),
            (arrived & (jobs.depends_on >= 0) & ~left[parent], "has arrived before the end of the job it depends on"),
        )

    def _check_queue(self) -> None:
        n = len(self.state.by_rank)
        queued = self.numbers_in(self.state.queue_words, self.state.queue_starts, "queue")
        self.none(queued[n:], lambda k: f"rank {n + k} is in the queue; there are {n} jobs")
        in_queue = self.are(self.state.by_rank[queued[:n]])
        self.no_job(
            (in_queue & ~self.waits, "is in the queue and does not wait"),
            (self.waits & ~in_queue, "waits and is not in the queue"),
        )
        self.count("waiting jobs", self.state.n_waiting, int(self.waits.sum()))

    def _check_held(self) -> None:
        jobs, owner, cores, given = self.jobs, self.owner, self.held_cores, self.given
        left = np.bincount(owner, minlength=self.state.n_rows)
        more = (given > jobs.cores) & (self.settings.whole_hosts == 0)
        wrong = self.holds & ((left != jobs.held_cores) | (given < jobs.cores) | more)
        asks, counts = jobs.cores, jobs.held_cores
        self.none(wrong, lambda k: f"{self.name(k)} requests {asks[k]} cores, holds {left[k]}, and counts {counts[k]}")
        for core in np.flatnonzero(np.bincount(cores, minlength=self.n_cores) > 1).tolist():
            self.fault(f"core {core} is held by {' and '.join(map(self.name, owner[cores == core]))}")

    def _check_free(self) -> None:
        state, holder, n_cores, host_of = self.state, self.holder, self.n_cores, self.state.host_of
        free = self.numbers_in(state.free_words, state.free_starts, "free cores")
        if free[n_cores:].any():
            self.fault(f"a core beyond the last of {n_cores} is free")
        free = free[:n_cores]
        down = (self.down_until() > 0) & ~self.stopped
        self.count("hosts that are down", state.n_down, int(down.sum()))
        gone, held = (down | self.stopped)[host_of], holder >= 0
        self.none(gone & held, lambda c: f"{self.name(holder[c])} holds core {c}, whose host {host_of[c]} is down")
        for core in np.flatnonzero(free != ~(held | gone))[:1].tolist():
            whose = f"held by {self.name(holder[core])}" if held[core] else "held by no job"
            where, but = "down" if gone[core] else "up", "" if free[core] else "not "
            self.fault(f"core {core} is {whose}, its host is {where}, and it is {but}among the free ones")
        self.count("free cores", state.free_cores, int(free.sum()))
        if self.settings.by_hosts == 1:
            found = np.bincount(host_of[free], minlength=self.n_hosts)
            self.counts(lambda host: f"free cores of host {host}", state.host_free, found)

    def _check_ends(self) -> None:
        # Each running job has an end or a promise in the heap, or awaits an answer.
        state, jobs = self.state, self.jobs
        asked = self.holds & (jobs.end_ns < 0) & (jobs.promise_ns < 0)
        self.count("answers that are awaited", state.n_started - state.n_answered, int(asked.sum()))
        ns, rows = state.running.entries()
        found = np.bincount(rows, minlength=state.n_rows)
        self.no_job(
            (asked & ~self.are(state.started[: state.n_started]), "has started, and no answer is awaited"),
            (found > 1, "is several times among the ends that are to come"),
            ((found == 1) != (self.holds & ~asked), "runs, or is among the ends that are to come, and not both"),
        )
        due = np.where(jobs.end_ns[rows] >= 0, jobs.end_ns[rows], jobs.promise_ns[rows])
        wrong = (ns > due) | (ns < state.now_ns)
        self.none(wrong, lambda k: f"{self.name(rows[k])} is due at {due[k]} ns, and its heap entry is at {ns[k]} ns")

    def _check_heaps(self) -> None:
        state = self.state
        heaps = {"ends": (state.running, state.n_rows), "expected ends": (state.expected, state.n_rows)}
        for feature in self.features:
            heaps.update(feature.heaps(state))
        for what, (heap, keys) in heaps.items():
            self.check_heap(what, heap, keys)
