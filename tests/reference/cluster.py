"""The batch level, one instant after another: ends, host events, cancellations, arrivals, one pass."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from reference import gpus, room
from reference.machine import Attempt, Job, Machine, Rules
from reference.orders import key


class NeverFinishes(Exception):
    """No further events, and these rows still wait."""


#: Instants, and the cores of a job for which others wait from then on, as it was informed.
Hints = tuple[tuple[int, frozenset[int]], ...]


#: Instants; cores that a job was given then; and cores that it was asked to return.
Changes = tuple[tuple[int, tuple[int, ...], tuple[int, ...]], ...]

#: Instants, and numbers of cores that a job requests then.
Wishes = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Wide:
    """State of a job whose width may change: initial cores; expected end and end of its walltime; changes of its width; the
    cores that it was given, in that order, and those that it was asked to return; and whether it returned others.

    Then its requests, as far as known; the number of requests that it has made; and the cores of the last one.
    """

    first: tuple[int, ...]
    thought: int
    walltime_end: int
    changes: Changes = ()
    given: tuple[int, ...] = ()
    asked: frozenset[int] = frozenset()
    gave_back: bool = False
    wishes: Wishes = ()
    made: int = 0
    wish: int | None = None


@dataclass(frozen=True)
class Running:
    """An attempt that runs from ``start`` and holds its cores until ``end``, from the pass on that started it.

    ``until`` is the instant at which the job releases each core; at ``end`` or later, it does not. ``gone`` are released cores.
    ``promised`` is whether the scheduler knows ``end``. ``hints`` are its hints: instants and cores. ``gpus`` are its GPUs, on
    each host until it has left the host.
    """

    start: int
    end: int
    cores: frozenset[int]
    why: str
    state: str
    until: Mapping[int, int]
    gone: frozenset[int] = frozenset()
    promised: bool = False
    hints: Hints = ()
    wide: Wide | None = None
    gpus: tuple[int, ...] = ()

    @property
    def left(self) -> frozenset[int]:
        return self.cores - self.gone

    def due(self) -> dict[int, int]:
        return {core: at for core, at in self.until.items() if at < self.end and core not in self.gone}

    def next_wish(self) -> tuple[int, int] | None:
        if self.wide is None:
            return None
        return next(((at, n) for at, n in self.wide.wishes[self.wide.made :] if at < self.end), None)


EndOf = Callable[[int, int, tuple[int, ...]], int]

#: Instant at which a job that starts now on these cores has lost the last of them for good, with work left; None: never.
LossOf = Callable[[int, int, tuple[int, ...]], int | None]
#: The end of a job that started then on these cores and got these hints, and the instant until which it needs each core.
Informed = Callable[[int, int, tuple[int, ...], Hints], tuple[int, Mapping[int, int]]]

#: The end of a job that started then on these cores, whose width changed so and which got these hints, and the instant until
#: which it needs each of its cores.
Resized = Callable[[int, int, tuple[int, ...], Changes, Hints], tuple[int, Mapping[int, int]]]

#: All requests of a job that started then on these cores and whose width changed so.
WishesOf = Callable[[int, int, tuple[int, ...], Changes], Wishes]

#: Instants from which a job that starts now on these cores, on which it computes, no longer needs each of them.
ReleasesOf = Callable[[int, int, tuple[int, ...]], Mapping[int, int]]


@dataclass(frozen=True)
class Ways:
    """How jobs behave. Without anything, a job ends by itself after its run time.

    ``end_of(row, start, cores)`` is the end of a job that starts now on these cores. ``releases_of`` gives the cores that it
    releases before; ``by_host``, only whole hosts at once. ``loss_of`` is the instant at which all its cores are lost before.
    ``informed`` replaces the first two, and is called again at each hint to a running job. ``resized`` is called at each change
    of the width of a running job, which lies between ``widths``, by row, and follows the rule ``resize``; with ``mold`` only
    the head's width changes, at its start; with ``evolve``, jobs with variable widths request it by ``wishes_of``. With
    ``hints`` it is called at hints, too. Before, ``holds(row, start, gpus)`` is called for a job that starts now with GPUs.
    """

    end_of: EndOf | None = None
    releases_of: ReleasesOf | None = None
    by_host: bool = False
    loss_of: LossOf | None = None
    informed: Informed | None = None
    resized: Resized | None = None
    widths: Sequence[tuple[int, int]] = ()
    resize: str = "none"
    wishes_of: WishesOf | None = None
    hints: bool = False
    holds: Callable[[int, int, tuple[int, ...]], None] | None = None


def run(jobs: Sequence[Job], machine: Machine, rules: Rules, *ways: Any, **more: Any) -> list[Attempt]:
    """Results of all attempts, by row and attempt, of jobs in workload order (ascending submit), in these :class:`Ways`.

    Raises NeverFinishes.
    """
    return Cluster(jobs, machine, rules, Ways(*ways, **more)).run()


@dataclass
class Memory:
    """All ended jobs from which others learn, in the order of their ends: (job, run time)."""

    rules: Rules
    ended: list[tuple[Job, int]] = field(default_factory=list)

    def planned(self, job: Job) -> int:
        if job.window is not None:
            return job.estimate  # with a reservation: the window fits the request
        if self.rules.predictor is not None:
            predicted = self.predicted(job)
            return job.estimate if predicted is None else min(max(predicted, 1), job.estimate)
        if job.planned is None:
            return job.estimate
        return min(job.planned, job.estimate) if self.rules.kill else job.planned

    def predicted(self, job: Job) -> int | None:
        predictor = self.rules.predictor
        assert predictor is not None
        for level in predictor.levels:
            if any(getattr(job, name) < 0 for name in level):
                continue
            alike = [ran for other, ran in self.ended if all(getattr(other, x) == getattr(job, x) for x in level)]
            if len(alike) >= predictor.least:
                latest = alike[-predictor.mean_of :]
                return sum(latest) // len(latest)
        return None


def corrected_end(start: int, planned: int, request: int, now: int, corrections: Sequence[int]) -> int:
    """Expected end of a running job: corrected each time that it runs longer, up to its request."""
    end, last, times = start + planned, start + request, 0
    while end <= now and end < last:
        end = min(end + corrections[min(times, len(corrections) - 1)], last)
        times += 1
    return end


class Cluster:
    def __init__(self, jobs: Sequence[Job], machine: Machine, rules: Rules, ways: Ways | None = None) -> None:
        assert rules.depth is None or not rules.keep
        assert all(before.submit <= after.submit for before, after in pairwise(jobs))
        self.said = tuple(map(gpus.in_units, jobs))
        self.jobs, self.machine, self.ways = list(self.said), machine, ways or Ways()
        self.rules = replace(rules, workload=self.said)
        self.resize, self.widths = self.ways.resize, self.ways.widths
        self.counts = room.only_counts(jobs, machine, rules)
        self.now = -1
        self.arrives = {row: job.earliest for row, job in enumerate(jobs) if job.after is None}
        self.attempt = dict.fromkeys(range(len(jobs)), 0)
        # Tie-break of running jobs: the row, or for another attempt the number of earlier ones.
        self.place = {row: row for row in range(len(jobs))}
        self.again = len(jobs)
        self.waiting: dict[int, int] = {}  # row: when it became eligible
        self.eligible: dict[int, int] = {}
        self.memory = Memory(rules)
        self.planned: dict[int, int] = {}  # rows that have arrived: the run time used for planning
        self.running: dict[int, Running] = {}
        self.left: set[int] = set()  # rows that are done for good
        self.down: set[int] = set()
        self.failed: set[int] = set()
        self.drained: set[int] = set()
        self.looked_at_hosts = -1
        self.patience: dict[
            int, int
        ] = {}  # rows that accept few switches: the instant from which they accept any number
        self.attempts: list[tuple[int, Attempt]] = []
        # Plans: slots of waiting jobs, jobs that ever had one, and expected ends at the last pass.
        self.plan: dict[int, room.Slot] = {}
        self.had_slot: set[int] = set()
        self.planned_end: dict[int, int] = {}
        self.gained = self.lost = False
        self.wake: int | None = None
        self.busy_until = 0
        self.pass_is_due = False

    def run(self) -> list[Attempt]:
        while len(self.left) < len(self.jobs):
            self.now = self.next_instant()
            happened = [self.ends(), self.releases(), self.wishes(), self.host_events(), self.cancellations()]
            happened += [self.arrivals(), self.now == self.wake, self.patience_ends()]
            self.pass_is_due = self.pass_is_due or any(happened)
            if self.pass_is_due and self.now >= self.busy_until:
                began = set(self.running)
                self.one_pass()
                if self.ways.resized is not None:
                    self.change_widths(began)
                if self.ways.hints or self.ways.informed is not None:
                    self.hint(began)
        return [attempt for _, attempt in sorted(self.attempts, key=lambda one: (one[0], one[1].attempt))]

    def next_instant(self) -> int:
        now = self.now
        instants = [*self.arrives.values(), *(job.end for job in self.running.values())]
        instants += [at for job in self.running.values() for at in job.due().values()]
        instants += [next_one[0] for job in self.running.values() if (next_one := job.next_wish()) is not None]
        later = [job.cancel for row, job in enumerate(self.jobs) if job.cancel is not None and row not in self.left]
        later += [instant for host in self.machine.hosts for away in host.outages + host.drains for instant in away]
        later += [instant for window in self.machine.windows for instant in (window.begin, window.end)]
        later += self.patience.values()
        if self.wake is not None:
            later.append(self.wake)
        if self.pass_is_due:
            later.append(self.busy_until)
        instants += [instant for instant in later if instant > now]
        if not instants:
            raise NeverFinishes(sorted(set(range(len(self.jobs))) - self.left))
        return min(instants)

    # ---- 2.1 ----
    def ends(self) -> bool:
        rows = sorted((row for row, job in self.running.items() if job.end == self.now), key=self.place.__getitem__)
        for row in rows:
            job = self.running.pop(row)
            planned = self.planned_end.get(row, self.now)
            self.gained = self.gained or self.now < planned
            self.lost = self.lost or self.now > planned
            first = job.cores if job.wide is None else frozenset(job.wide.first)
            self.log(row, job.start, job.end, first, job.why, job.state, job.gpus)
            if job.state == "requeued":
                self.attempt[row] += 1
                self.place[row], self.again = self.again, self.again + 1
                self.jobs[row] = self.said[row]
                self.arrives[row] = self.now
                self.had_slot.discard(row)
            else:
                if job.state in ("completed", "killed"):
                    self.memory.ended.append((self.jobs[row], job.end - job.start))
                self.leaves(row)
        return bool(rows)

    def releases(self) -> bool:
        rows = [row for row, job in self.running.items() if self.now in job.due().values()]
        for row in rows:
            job = self.running[row]
            gone = {core for core, at in job.due().items() if at == self.now}
            wide = job.wide
            if wide is not None and not gone <= wide.asked:
                wide = replace(wide, gave_back=True)
            self.running[row] = replace(job, gone=job.gone | gone, wide=wide)
            # Cores returned before the expected end are a gain; those of an overdue job were not planned.
            planned = self.planned_end.get(row, self.now)
            self.gained = self.gained or self.now < planned
            self.lost = self.lost or self.now > planned
        return bool(rows)

    def wishes(self) -> bool:
        rows = [row for row, job in self.running.items() if (job.next_wish() or (-1, 0))[0] == self.now]
        for row in rows:
            job = self.running[row]
            wish = job.next_wish()
            assert job.wide is not None
            assert wish is not None
            self.running[row] = replace(job, wide=replace(job.wide, made=job.wide.made + 1, wish=wish[1]))
        return bool(rows)

    # ---- 2.2 ----
    def host_events(self) -> bool:
        if self.now == self.looked_at_hosts:
            return False  # a second round at this instant, as after a job without a run time
        self.looked_at_hosts = self.now
        outages = [outage for host in self.machine.hosts for outage in host.outages + host.drains]
        self.gained = self.gained or any(up == self.now for _, up in outages)
        self.lost = self.lost or any(down == self.now for down, _ in outages)
        self.failed, self.drained = (
            {
                number
                for number, host in enumerate(self.machine.hosts)
                if any(down <= self.now < up for down, up in getattr(host, what))
            }
            for what in ("outages", "drains")
        )
        self.down = self.failed | self.drained
        return any(self.now in outage for outage in outages) or any(
            self.now in (window.begin, window.end) for window in self.machine.windows
        )

    # ---- 2.3 ----
    def cancellations(self) -> bool:
        rows = [row for row, job in enumerate(self.jobs) if job.cancel == self.now]
        rows = [row for row in rows if row not in self.left and row not in self.running]
        for row in rows:
            if row in self.plan:
                del self.plan[row]
                self.gained = True
            self.waiting.pop(row, None)
            self.arrives.pop(row, None)
            self.log(row, -1, -1, frozenset(), "never", "cancelled")
            self.leaves(row)
        return bool(rows)

    # ---- 2.4 ----
    def arrivals(self) -> bool:
        rows = sorted(row for row, instant in self.arrives.items() if instant == self.now)
        for row in rows:
            del self.arrives[row]
            self.eligible[row] = self.now
            if self.rules.switch_wait is not None and self.jobs[row].limit > 0:
                self.patience[row] = self.now + self.rules.switch_wait
            self.planned[row] = self.memory.planned(self.jobs[row])
            place = self.preset_place(row) if self.jobs[row].preset and self.attempt[row] == 0 else None
            if place is None:
                self.waiting[row] = self.now
            else:
                self.start(row, self.now, place, "preset")
        return bool(rows)

    def patience_ends(self) -> bool:
        rows = [row for row, instant in self.patience.items() if instant == self.now and row in self.waiting]
        self.gained = self.gained or any(row in self.plan for row in rows)
        return bool(rows)

    def preset_place(self, row: int) -> room.Place | None:
        # Regardless of reservations, limits and maintenance the job is present. Without room for it on hosts that are up, it
        # waits like any other. Hosts are drained at 0 when it is present.
        job = self.jobs[row]
        plain = Machine(self.machine.hosts, self.machine.licences, self.machine.partitions)
        cores = room.available(job, self.now, self.now + 1, self.held(whole=True), self.failed, plain)
        for window in self.machine.windows:
            if window.maintenance and window.begin <= self.now < window.end:
                cores -= window.cores
        return room.place(job, cores, self.now, self.now + 1, self.held(whole=True), self.machine, self.rules)

    # ---- 2.5 and 4 ----
    def one_pass(self) -> None:
        now, rules = self.now, self.rules
        self.pass_is_due = False
        # Less than planned: a job is overdue, or a slow pass missed a slot.
        late = [row for row in self.running if self.is_overdue(row)]
        overdue = any(self.in_use(row) for row in late)
        corrected = [row for row in self.running if row not in late and self.planned_end.get(row, now + 1) <= now]
        self.lost = self.lost or overdue or bool(corrected)
        self.lost = self.lost or any(slot.begin < now for slot in self.plan.values())
        if self.lost or not rules.keep:
            self.plan = {}
        gained, self.gained, self.lost = self.gained, False, False
        had_slot = set(self.had_slot)
        waiting = len(self.waiting)
        reserved: Counter[int] = Counter()
        closed: set[int] = set()
        blocked = False  # whether a job waits that no limit keeps back
        one_waits: set[int] = set()  # partitions in which an earlier job waits
        for row in self.queue():
            partition = self.jobs[row].partition
            if partition in closed:
                continue
            if self.limit_reached(row):
                self.plan.pop(row, None)
                one_waits.add(partition)
                continue
            if self.resize == "mold" and not blocked:
                self.mold(row, gained)
            slot = self.plan.get(row)
            if slot is None or gained:
                self.plan.pop(row, None)
                slot = self.earliest(row) if rules.depth != 0 else self.slot_now(row)
            if slot is not None and slot.begin == now:
                self.plan.pop(row, None)
                why = "reserved" if row in had_slot else "backfill" if partition in one_waits else "head"
                self.start(row, now + rules.cost, self.place_for(row, slot), why)
                continue
            one_waits.add(partition)
            blocked = True
            if rules.depth == 0:
                closed.add(partition)
            elif rules.depth is None or reserved[partition] < rules.depth:
                # A job without any possible slot has a reservation at no instant.
                self.had_slot.add(row)
                reserved[partition] += 1
                if slot is not None:
                    self.plan[row] = slot
        # Jobs started by a slow pass hold their cores for longer than planned: the next plan is made again.
        self.lost = rules.cost > 0 and len(self.waiting) < waiting
        if rules.promises:
            self.hear_promises()
        self.planned_end = {row: self.expected(row) for row in self.running}
        # A slot at the next instant may exist only because overdue jobs are expected to end then, in every pass again.
        awake = now + 1 if overdue else now
        slots = [slot.begin for slot in self.plan.values() if rules.keep and slot.begin > awake]
        self.wake = min(slots, default=None)
        self.busy_until = now + rules.cost

    def hear_promises(self) -> None:
        """Jobs that started now and are not stopped by unknown events."""
        for row, job in self.running.items():
            if not job.promised and job.state in ("completed", "killed"):
                thought = self.expected(row)
                if self.rules.cost > 0 and job.why != "preset":
                    thought += job.start - self.now
                self.running[row] = replace(job, promised=True)
                self.gained = self.gained or self.expected(row) < thought
                self.lost = self.lost or self.expected(row) > thought

    # Moldable jobs: only without costs and predictions.
    def mold(self, row: int, gained: bool) -> None:
        """Give a job that is the first waiting one in question the width with which it starts."""
        job, (least, most) = self.jobs[row], self.widths[row]
        free, width = len(self.free(row)), job.cores
        kept = self.plan.pop(row, None)

        def as_wide(cores: int) -> Job:
            estimate = -(-job.estimate * job.cores // cores)
            return replace(job, cores=cores, estimate=estimate)

        slot = kept if kept is not None and not gained else self.earliest(row)
        if least == most:
            pass
        elif slot is not None and slot.begin == self.now:
            if len(self.waiting) == 1:
                width = max(job.cores, min([most, free, *self.room_in_limits(row)]))
        else:
            holds = self.holds()
            widths = [
                cores
                for cores in range(least, min(free + 1, job.cores))
                if room.slot_at(as_wide(cores), self.now, holds, self.down, self.machine, self.rules, self.counts)
            ]
            width = max(widths, default=job.cores)
            if self.rules.depth != 0 and slot is not None:
                ends = self.now + as_wide(width).estimate
                width = job.cores if ends > slot.begin + job.estimate else width
        if width != job.cores:
            self.jobs[row] = as_wide(width)
            self.planned[row] = self.jobs[row].estimate
        elif kept is not None:
            self.plan[row] = kept

    def room_in_limits(self, row: int) -> list[int]:
        limits = self.machine.partitions[self.jobs[row].partition]
        same_partition = [one for one in self.running if self.jobs[one].partition == self.jobs[row].partition]
        mine = [one for one in same_partition if self.jobs[one].user == self.jobs[row].user]
        return [
            limit - sum(self.working(one) for one in jobs)
            for limit, jobs in ((limits.max_cores, same_partition), (limits.max_user_cores, mine))
            if limit is not None
        ]

    # Hints: only without costs, promises and presets.
    def hint(self, began: set[int]) -> None:
        """Inform jobs that ran before this pass about the cores for which the head of the queue waits, if that is new."""
        head = next((row for row in self.queue() if not self.limit_reached(row)), None)
        wanted: dict[int, frozenset[int]] = {}
        if head is not None and (named := self.jobs[head].wanted) is not None:
            wanted = {row: self.running[row].left & named for row in began}
        elif head is not None:
            lack = self.jobs[head].cores - self.idle_for(head)
            masked = self.machine.partitions[self.jobs[head].partition].hosts
            asked = frozenset[int]().union(*(self.asked(row) for row in self.running))
            lack -= sum(masked is None or self.machine.host_of(core) in masked for core in asked)
            for row in sorted(began, key=lambda row: (self.thought(row), self.place[row])):
                computing = self.running[row].left - asked
                if self.ways.resized is None:
                    computing &= frozenset(sorted(self.running[row].cores)[: self.jobs[row].cores])
                usable = [core for core in computing if masked is None or self.machine.host_of(core) in masked]
                most = max(0, min(lack, len(computing) // 2))
                wanted[row] = frozenset(sorted(usable, reverse=True)[:most])
                lack -= len(wanted[row])
        for row in began:
            job = self.running[row]
            at, before = job.hints[-1] if job.hints else (self.now, frozenset())
            came = (
                {core for instant, given, _ in job.wide.changes for core in given if instant > at} if job.wide else ()
            )
            if before & job.left - set(came) != wanted.get(row, frozenset()):
                hints = (*job.hints, (self.now, wanted.get(row, frozenset())))
                now = self.become(row, job.start, job.cores, job.why, hints, job.wide)
                self.running[row] = replace(now, gone=job.gone, gpus=job.gpus)

    def asked(self, row: int) -> frozenset[int]:
        job = self.running[row]
        return frozenset() if job.wide is None else job.wide.asked & job.left

    # Widths: only without costs, promises, predictions, presets and losses.
    def change_widths(self, began: set[int]) -> None:
        """Give cores to jobs that ran before this pass, or ask them to return some."""
        head = next((row for row in self.queue() if not self.limit_reached(row)), None)
        rows = [row for row in began if self.widths[row][0] < self.widths[row][1]]
        rows.sort(key=lambda row: (self.running[row].start, self.place[row]))
        if self.resize == "equal":
            self.share(rows, head)
        elif self.resize == "evolve":
            self.grant(rows)
        elif self.resize in ("shrink", "expand+shrink") and head is not None:
            self.ask_for(rows, head)
        elif self.resize in ("expand", "expand+shrink") and not self.waiting:
            for row in rows:
                self.give(row, self.widths[row][1])

    def idle_for(self, row: int) -> int:
        """The number of free cores of a job's partition, whatever windows they are for."""
        held = frozenset[int]().union(*(job.left for job in self.running.values()))
        held |= {
            core
            for one in self.machine.windows
            if one.maintenance and one.begin <= self.now < one.end
            for core in one.cores
        }
        masked = self.machine.partitions[self.jobs[row].partition].hosts
        hosts = (
            host
            for host in range(len(self.machine.hosts))
            if host not in self.down and (masked is None or host in masked)
        )
        return sum(core not in held for host in hosts for core in self.machine.cores_of(host))

    def free(self, row: int) -> list[int]:
        held = frozenset[int]().union(*(job.left for job in self.running.values()))
        return [core for core in sorted(self.may_have(row, self.down)) if core not in held]

    def may_have(self, row: int, down: Collection[int] = ()) -> set[int]:
        """The cores that a job may have from now until its expected end, or that of a start now."""
        until = self.expected(row) if row in self.running else self.now + self.planned[row]
        return room.available(self.jobs[row], self.now, until, [], down, self.machine)

    def with_amounts(self, row: int, cores: list[int]) -> list[int]:
        """The free cores that a job can have, one after another, by the remaining amounts of their hosts."""
        found: list[int] = []
        for core in cores:
            host = self.machine.host_of(core)
            there = set(self.machine.cores_of(host))
            for name, amount in self.jobs[row].needs:
                left = dict(self.machine.hosts[host].amounts).get(name, 0)
                left -= amount * (1 + len(there & set(found)))
                for other, job in self.running.items():
                    left -= dict(self.jobs[other].needs).get(name, 0) * len(job.left & there)
                if left < 0:
                    break
            else:
                found.append(core)
        return found

    def stays(self, row: int) -> frozenset[int]:
        job = self.running[row]
        assert job.wide is not None
        return job.left - job.wide.asked

    def give(self, row: int, upto: int) -> None:
        job = self.running[row]
        assert job.wide is not None
        if job.wide.asked & job.left or job.wide.gave_back:
            return
        most = min([upto - len(job.left), *self.room_in_limits(row)])
        cores = self.with_amounts(row, self.free(row))[: max(0, most)]
        if cores:
            self.change(row, tuple(cores), ())

    def ask_for(self, rows: list[int], head: int) -> None:
        good = self.may_have(head).__contains__
        lack = self.jobs[head].cores - len(self.free(head))
        if lack <= 0:
            return
        can = {}
        for row in rows:
            wide = self.running[row].wide
            assert wide is not None
            lack -= sum(good(core) for core in wide.asked & self.running[row].left)
            able = [core for core in self.stays(row) if core != wide.first[0] and good(core)]
            can[row] = max(0, min(len(able), len(self.stays(row)) - self.widths[row][0]))
        if sum(can.values()) < lack:
            return
        for row in reversed(rows):
            n = min(can[row], max(0, lack))
            lack -= n
            if n > 0:
                self.ask(row, n, good)

    def grant(self, rows: list[int]) -> None:
        """Jobs with requests: first all return the cores that they do not want, then each gets free ones."""
        wishing = {
            row: wide.wish for row in rows if (wide := self.running[row].wide) is not None and wide.wish is not None
        }
        for row, wish in wishing.items():
            stays, wide = self.stays(row), self.running[row].wide
            assert wide is not None
            more = min(len(stays) - wish, len(stays - {wide.first[0]}), len(stays) - 1)
            if more > 0:
                self.ask(row, more, lambda core: True)
        for row, wish in wishing.items():
            self.give(row, wish)

    def ask(self, row: int, n: int, good: Callable[[int], bool]) -> None:
        job = self.running[row]
        assert job.wide is not None
        given = job.wide.given
        late = {core: place for place, core in enumerate(given)}  # the latest time counts
        able = [core for core in self.stays(row) if core != job.wide.first[0] and good(core)]
        able.sort(key=lambda core: (late.get(core, -1), core), reverse=True)
        self.change(row, (), tuple(able[:n]))

    def share(self, rows: list[int], head: int | None) -> None:
        everywhere = [
            core for n in range(len(self.machine.hosts)) if n not in self.down for core in self.machine.cores_of(n)
        ]
        held = frozenset[int]().union(*(job.left for job in self.running.values()))
        for window in self.machine.windows:
            if window.maintenance and window.begin <= self.now < window.end:
                held |= window.cores
        pool = len(set(everywhere) - held) + sum(len(self.running[row].left) for row in rows)
        pool -= 0 if head is None else self.jobs[head].cores
        target = {row: self.widths[row][0] for row in rows}
        while sum(target.values()) < pool:
            below = [row for row in rows if target[row] < self.widths[row][1]]
            if not below:
                break
            fewest = min(below, key=lambda row: (target[row], rows.index(row)))
            target[fewest] += 1
        for row in rows:
            job = self.running[row]
            assert job.wide is not None
            able = self.stays(row) - {job.wide.first[0]}
            more = min(len(self.stays(row)) - target[row], len(able), len(self.stays(row)) - 1)
            if more > 0:
                self.ask(row, more, lambda core: True)
        for row in rows:
            if not self.waiting:
                self.give(row, target[row])

    def change(self, row: int, given: tuple[int, ...], asked: tuple[int, ...]) -> None:
        """Change the width of a running job, and with it its expected end."""
        job = self.running[row]
        assert job.wide is not None
        before = len(self.stays(row))
        after = before + len(given) - len(asked)

        def stretched(instant: int) -> int:
            if instant <= self.now:
                return instant
            return self.now - (-(instant - self.now) * before // after)

        wide = replace(
            job.wide,
            thought=stretched(job.wide.thought),
            walltime_end=stretched(job.wide.walltime_end),
            changes=(*job.wide.changes, (self.now, given, asked)),
            given=(*job.wide.given, *given),
            asked=(job.wide.asked & job.left) | set(asked),
        )
        self.running[row] = self.become(row, job.start, job.left | set(given), job.why, job.hints, wide)
        self.planned_end[row] = self.expected(row)
        self.lost = True

    def thought(self, row: int) -> int:
        """Expected end of a running job; without plans it is not corrected."""
        start, request, wide = self.running[row].start, self.jobs[row].estimate, self.running[row].wide
        if wide is not None:
            return wide.thought
        if self.rules.depth == 0:
            return start + self.planned[row]
        return corrected_end(start, self.planned[row], request, self.now, self.rules.corrections)

    def queue(self) -> list[int]:
        def place(row: int) -> tuple[int, float | int, int, int]:
            job = self.said[row]
            planned = self.planned[row] if self.resize != "mold" else self.memory.planned(job)
            by = key(job, self.now, self.rules, planned)
            return -self.machine.partitions[job.partition].tier, by, job.submit, row

        return sorted(self.waiting, key=place)

    def limit_reached(self, row: int) -> bool:
        job = self.jobs[row]
        limits = self.machine.partitions[job.partition]
        same_partition = [other for other in self.running if self.jobs[other].partition == job.partition]
        of_user = [other for other in same_partition if self.jobs[other].user == job.user]
        return any(
            limit is not None and asked > limit
            for limit, asked in (
                (limits.max_milli if job.gpus else None, sum(self.milli(other) for other in [row, *same_partition])),
                (limits.max_user_milli if job.gpus else None, sum(self.milli(other) for other in [row, *of_user])),
                (limits.max_jobs, len(same_partition) + 1),
                (limits.max_cores, sum(self.working(other) for other in same_partition) + job.cores),
                (limits.max_user_jobs, len(of_user) + 1),
                (limits.max_user_cores, sum(self.working(other) for other in of_user) + job.cores),
            )
        )

    def milli(self, row: int) -> int:
        """All that a job requests of GPUs, per host those of one host; if it runs, what it has on hosts not yet left."""
        job = self.jobs[row]
        if job.gpus is None:
            return 0
        if row in self.running:
            return job.gpus.milli * len(self.gpus_with(self.running[row].gpus, self.running[row].left))
        return job.gpus.milli * job.gpus.n * (job.cores // job.unit_cores if job.gpus.per == "unit" else 1)

    def working(self, row: int) -> int:
        job = self.running[row]
        if job.wide is not None:
            return len(job.left)
        return len(set(sorted(job.cores)[: self.jobs[row].cores]) & job.left)

    def as_planned(self, row: int) -> Job:
        return replace(self.jobs[row], estimate=self.planned[row], any_from=self.patience.get(row))

    def expected(self, row: int) -> int:
        # The cost of this pass is not known yet: a job that starts after it is planned as if it started now.
        start = min(self.running[row].start, self.now)
        request = self.jobs[row].estimate
        if self.running[row].promised:
            return max(self.running[row].end, self.now + 1)
        if (wide := self.running[row].wide) is not None:
            return max(wide.thought, self.now + 1)
        return max(corrected_end(start, self.planned[row], request, self.now, self.rules.corrections), self.now + 1)

    def is_overdue(self, row: int) -> bool:
        """Whether a job has run for its planned and its requested time."""
        if self.running[row].promised:
            return False
        if (wide := self.running[row].wide) is not None:
            return wide.thought <= self.now
        return self.running[row].start + max(self.planned[row], self.jobs[row].estimate) <= self.now

    def held(self, *, whole: bool = False) -> list[room.Hold]:
        """Held cores until the expected ends of running jobs, without those of drained hosts."""
        return [
            room.Hold(self.jobs[row], self.now, self.expected(row), len(cores), cores, self.gpus_with(job.gpus, cores))
            for row, job in self.running.items()
            for cores in [job.left if whole else self.in_use(row)]
        ]

    def in_use(self, row: int) -> frozenset[int]:
        """The cores of a running job on hosts that are not drained."""
        return self.running[row].left - {core for host in self.drained for core in self.machine.cores_of(host)}

    def gpus_with(self, held: tuple[int, ...], cores: frozenset[int]) -> tuple[int, ...]:
        """The GPUs on the hosts of these cores."""
        here = [gpu for host in {self.machine.host_of(core) for core in cores} for gpu in self.machine.gpus_of(host)]
        return tuple(gpu for gpu in held if gpu in here)

    def holds(self) -> list[room.Hold]:
        found = self.held()
        for row, slot in self.plan.items():
            cores, held = (None, ()) if slot.place is None else (slot.place.cores, slot.place.gpus)
            end = slot.begin + self.planned[row]
            found.append(room.Hold(self.jobs[row], slot.begin, end, self.jobs[row].cores, cores, held))
        return found

    def earliest(self, row: int) -> room.Slot | None:
        return room.earliest(
            self.as_planned(row), self.now, self.holds(), self.down, self.machine, self.rules, self.counts
        )

    def slot_now(self, row: int) -> room.Slot | None:
        return room.slot_at(
            self.as_planned(row), self.now, self.holds(), self.down, self.machine, self.rules, self.counts
        )

    def place_for(self, row: int, slot: room.Slot) -> room.Place:
        if slot.place is not None:
            return slot.place
        free = room.available(self.jobs[row], self.now, self.now + 1, self.held(), self.down, self.machine)
        place = room.place(self.jobs[row], free, self.now, self.now + 1, [], self.machine, self.rules)
        assert place is not None
        return place

    # ---- 3 ----
    def start(self, row: int, start: int, place: room.Place, why: str) -> None:
        self.waiting.pop(row, None)
        cores = place.cores
        if self.ways.holds is not None:
            self.ways.holds(row, start, place.gpus)
        wide = None
        if self.ways.resized is not None:
            ends = start + self.jobs[row].estimate
            wide = Wide(tuple(sorted(cores)), ends, ends)
        self.running[row] = replace(self.become(row, start, cores, why, (), wide), gpus=place.gpus)

    def become(
        self, row: int, start: int, cores: frozenset[int], why: str, hints: Hints, wide: Wide | None = None
    ) -> Running:
        """Future of a job that starts, or has started, on these cores, and received these commands."""
        job = self.jobs[row]
        stops: list[tuple[int, int, str]] = []
        if self.rules.kill:
            stops.append((start + job.estimate if wide is None else wide.walltime_end, 0, "killed"))
        if job.cancel is not None:
            stops.append((job.cancel, 1, "cancelled"))
        hosts = {self.machine.host_of(core) for core in cores}
        downs = [down for host in hosts for down, _ in self.machine.hosts[host].outages]
        downs += [window.begin for window in self.machine.windows if window.maintenance and window.cores & cores]
        lost = "requeued" if self.rules.requeue else "failed"
        stops += [(down, 2, lost) for down in downs if down > self.now]
        until: dict[int, int] = {}
        own: int | None = None
        computing = tuple(sorted(cores)[: self.jobs[row].cores])
        if self.ways.releases_of is not None or self.ways.informed is not None or self.ways.resized is not None:
            assert self.rules.cost == 0
            if self.ways.resized is not None:
                assert wide is not None
                own, known = self.ways.resized(row, start, wide.first, wide.changes, hints)
                known = {core: at for core, at in known.items() if core in cores}  # for others that is past
                if self.ways.wishes_of is not None and self.widths[row][0] < self.widths[row][1]:
                    wide = replace(wide, wishes=self.ways.wishes_of(row, start, wide.first, wide.changes))
            elif self.ways.informed is not None:
                own, known = self.ways.informed(row, start, computing, hints)
            else:
                assert self.ways.releases_of is not None
                known = self.ways.releases_of(row, start, computing)
            until = self.released(dict(known), cores)
            # A host that has left the job before does not affect it.
            stops = [stop for stop in stops if stop[1] != 2]
            for down, whose in self.losses(cores):
                stops += [(down, 2, lost)] if any(until.get(core, down) >= down for core in whose) else []
        stops.sort()
        if stops:
            start = min(start, stops[0][0])  # a stop before the start takes effect coincides with the start
        gone = None if self.ways.loss_of is None else self.ways.loss_of(row, start, tuple(sorted(cores)))
        if gone is not None and (not stops or gone < stops[0][0]):
            # The cores are lost for another attempt, too: an attempt with none of them from its start is the last.
            again = self.rules.requeue and gone > start
            return Running(start, gone, cores, why, "requeued" if again else "failed", until, hints=hints)
        if self.ways.end_of is not None:
            own = self.ways.end_of(row, start, tuple(sorted(cores)))
        elif own is None and job.run >= 0:
            own = start + job.run
        if own is not None and (not stops or own <= stops[0][0]):
            end, state = own, "completed"
        else:
            end, _, state = stops[0]
        return Running(start, end, cores, why, state, until, hints=hints, wide=wide)

    def losses(self, cores: frozenset[int]) -> list[tuple[int, frozenset[int]]]:
        """Instants at which hosts are lost to a job that starts now, and its cores on them."""
        found = []
        for number, host in enumerate(self.machine.hosts):
            mine = cores & frozenset(self.machine.cores_of(number))
            downs = [down for down, _ in host.outages]
            downs += [w.begin for w in self.machine.windows if w.maintenance and w.cores & mine]
            found += [(down, mine) for down in downs if mine and down > self.now]
        return found

    def released(self, until: dict[int, int], cores: frozenset[int]) -> dict[int, int]:
        for number in range(len(self.machine.hosts)) if self.ways.by_host else ():
            mine = cores & frozenset(self.machine.cores_of(number))
            works = [until[core] for core in mine if core in until]
            if works:
                until |= dict.fromkeys(mine, max(works))
        return until

    def log(
        self,
        row: int,
        start: int,
        end: int,
        cores: frozenset[int],
        why: str,
        state: str,
        held_gpus: tuple[int, ...] = (),
    ) -> None:
        eligible = self.eligible.pop(row, -1)
        held = tuple(sorted(cores))
        attempt = Attempt(self.jobs[row].number, self.attempt[row], eligible, start, end, held, why, state, held_gpus)
        self.attempts.append((row, attempt))

    def leaves(self, row: int) -> None:
        self.left.add(row)
        for child, job in enumerate(self.jobs):
            if job.after == row and child not in self.left:
                self.arrives[child] = max(job.earliest, self.now + job.think)
