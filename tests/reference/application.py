"""One job's tasks on its cores, one task after another, with all changes of its cores and the stop known from the start.

Every core has a timeline of speeds. A core that gets a chunk walks each task along its timeline, to the instant at which the
core is lost if there is one. A stop is applied at the end, by cutting all later events. The next event is searched among all
cores and changes, each time again.

At one instant changes come first, then the opening of a part, then the requests that arrive, by core.

Numbers may be floats, as the project computes, or fractions, which are exact.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import accumulate, islice, pairwise
from typing import Any, Generic, TypeVar

from reference.adaptive_rules import Report
from reference.drawing import normal, words
from reference.rules import Asked, Given, Rule, rule_of

Real = TypeVar("Real", float, Fraction)

#: A speed from an instant on: (which change it is, instant, core, speed).
Change = tuple[int, int, int, Real]


class TasksLeft(Exception):
    """Every core was sent away, all are there, and tasks are left."""


class AllLost(Exception):
    """Tasks are left, and no core is there or will come."""


def duration_ns(work: Real, speed: Real) -> int:
    return max(1, round(work / speed * 10**9))


@dataclass(frozen=True)
class Ran:
    """A task that ran, or had begun when the job was stopped."""

    chunk: int
    core: int
    start: int
    end: int


@dataclass(frozen=True)
class Run:
    """Result of a job.

    ``tasks``: None for a task that never began. ``finish``, ``busy``: of each core: the instant at which it finished, and its
    time at work. ``scheduling``: sum over the chunks of the time between request and first task. ``chosen``: how often a
    selection chose each name. ``ahead``: chunks assigned in simulations ahead. ``released``: instant of the release of each
    core, if any. ``released_cores``: the same by labels. ``wishes``: instants and cores of its requests for cores.
    """

    tasks: list[Ran | None]
    finish: list[int]
    chunks: int
    busy: list[int] = field(default_factory=list)
    scheduling: int = 0
    chosen: dict[str, int] = field(default_factory=dict)
    ahead: int = 0
    released: list[int | None] = field(default_factory=list, compare=False)
    released_cores: dict[int, int] = field(default_factory=dict, compare=False)
    wishes: list[tuple[int, int]] = field(default_factory=list, compare=False)

    @property
    def end(self) -> int:
        return max(self.finish)


@dataclass(frozen=True)
class Chunk:
    """A chunk of a core: its tasks, the instant of its request, and the begin of its first task."""

    number: int
    tasks: tuple[int, ...]
    asked: int
    begin: int
    rows: tuple[Ran, ...] = ()
    done: int = 0


@dataclass(frozen=True)
class Device:
    """A slot that is a stream of a device: ``name`` is that of the device, whose streams share it; ``wire`` that of its link.

    ``kind``: number of its kind, from 1. ``streams``: how many streams it has. ``launch``, ``link``: ns before a chunk; latency
    of a transfer. ``into``, ``out``: ns that a task's data take beside; 0: no transfer. ``spread``: standard deviation of the
    logarithm of the factor of a task's work.
    """

    name: str
    wire: str
    kind: int
    streams: int = 1
    launch: int = 0
    link: int = 0
    into: float = 0.0
    out: float = 0.0
    spread: float = 0.0

    def work(self, length: Real, task: int, seed: int, job: int) -> Real | float:
        """The work of a task on it: word number ``task`` of the stream for the factors of its kind."""
        if not self.spread:
            return length
        word = next(islice(words(seed, job, 7 + (self.kind << 32)), task, None))
        return float(length * math.exp(self.spread * normal(word) - 0.5 * self.spread * self.spread))

    def transfer(self, n: int, each: float) -> int:
        return self.link + round(n * each)


#: Of a transfer between any two hosts: latency, ns, and ns for each byte.
Route = tuple[float, float]


def with_devices_at_the_end(
    kinds: Sequence[Any], speeds: Sequence[float], hosts: Sequence[int] = (), route: Route | None = None
) -> tuple[list[float], dict[int, Device]]:
    """Speeds of the slots of a job whose last cores drive devices of these kinds, and the devices of these slots. ``hosts``: of
    the slots, none: one; ``route``: None if there is no network."""
    found: dict[int, Device] = {}
    slot, of_slots = len(speeds) - sum(kind.count * kind.streams for kind in kinds), list(speeds)
    for number, kind in enumerate(kinds, start=1):
        for device in range(kind.count):
            place = (hosts[slot], hosts[0]) if hosts else (0, 0)
            for _ in range(kind.streams):
                found[slot] = _stream(kind, number, f"{kind.name}{device}", place, route)
                of_slots[slot] *= kind.speed / kind.streams
                slot += 1
    return of_slots, found


def _stream(kind: Any, number: int, name: str, place: tuple[int, int], route: Route | None) -> Device:
    host, first = place
    latency, ns = kind.link_latency_ns, 1e9 / (kind.bandwidth_gbps * 1.25e8)
    if kind.data == "first" and host != first and route is not None:
        latency, ns = latency + round(route[0]), max(ns, route[1])
    spread = math.sqrt(math.log1p(kind.variation * kind.variation))
    costs = kind.launch_ns, latency, kind.in_bytes * ns, kind.out_bytes * ns, spread
    wire = f"{kind.name} of host {host}" if kind.link == "host" else name
    return Device(name, wire, number, kind.streams, *costs)


def with_held_devices(
    kinds: Sequence[Any],
    speeds: Sequence[float],
    hosts: Sequence[int],
    gpus: Sequence[tuple[int, str]],
    share: float,
    route: Route | None = None,
) -> tuple[list[float], dict[int, Device]]:
    """The same for a job that holds parts of GPUs, (host, kind) each: as far as cores of the host are left, but not the job's
    first, each is driven by some of the last. ``hosts``: of the cores."""
    found: dict[int, Device] = {}
    left, of_slots, numbers = (
        list(range(1, len(speeds))),
        list(speeds),
        {kind.name: k for k, kind in enumerate(kinds, 1)},
    )
    for place, (host, name) in enumerate(gpus):
        here = [slot for slot in left if hosts[slot] == host]
        if name not in numbers or len(here) < kinds[numbers[name] - 1].streams:
            continue
        kind = kinds[numbers[name] - 1]
        for slot in here[-kind.streams :]:
            found[slot] = _stream(kind, numbers[name], f"{place}", (host, hosts[0]), route)
            of_slots[slot] *= kind.speed * share / kind.streams
            left.remove(slot)
    return of_slots, found


@dataclass
class Core:
    """A core: ``arrives`` is the arrival of its next request; it is ``away`` if it waits for the barrier.

    Once ``released`` it is no longer the job's; ``known`` is the number of changes made until then.
    """

    number: int
    latency: int
    there: bool
    finish: int
    arrives: int | None = None
    away: bool = False
    chunk: Chunk | None = None
    busy: int = 0
    released: int | None = None
    known: int = 0
    label: int = -1
    leaving: bool = False
    owes: int = 0


@dataclass(frozen=True)
class Resize(Generic[Real]):
    """A decision, received after all other events of an instant and in force one ns later: cores that come and that are to
    leave.

    ``given`` has (label, speed, latency) of each, ``taken`` slots; it is void if these are not staying cores, or all of them.
    ``asked`` has labels, in sequence: those that do not stay, and the last one that does, are void.
    """

    at: int
    given: tuple[tuple[int, Real, int], ...]
    taken: frozenset[int]
    cost: int
    asked: tuple[int, ...] = ()


def run(lengths: Sequence[Real], speeds: Sequence[Real], technique: str = "", **given: Any) -> Run:
    """Simulate a job; the arguments are those of :class:`Job`. Raises TasksLeft or AllLost."""
    job: Job[Real] = Job(lengths, speeds, technique, **given)
    job.go(given.get("stop"))
    return job.result(given.get("stop"))


class Job(Generic[Real]):
    """The state of a job at an instant."""

    def __init__(
        self,
        lengths: Sequence[Real],
        speeds: Sequence[Real],
        technique: str = "",
        *,
        start: int = 0,
        overhead: int = 0,
        changes: Sequence[tuple[int, int, Real]] = (),
        stop: int | None = None,
        latency: Sequence[int] = (),
        master: bool = False,
        phases: Sequence[str | None] = (),
        part_tasks: Sequence[int] = (),
        seed: int = 0,
        job: int = 0,
        releases: bool = False,
        hints: Sequence[tuple[int, Collection[int]]] = (),
        resizes: Sequence[Resize[Real]] = (),
        numbers: Sequence[int] = (),
        wishes: Sequence[int] = (),
        later: Sequence[tuple[int, int, Real]] = (),
        devices: Mapping[int, Device] | None = None,
        on: Sequence[Collection[int]] = (),
    ) -> None:
        """Prepare a job.

        ``technique``: of its only loop; or ``phases`` has one for each phase, None for a serial part, and ``part_tasks`` is the
        number of tasks of each part: the phases, perhaps several times. ``changes``: (instant, core, new speed), ascending
        instants, from ``start`` on; of two changes of one core at one instant the later in the list counts, but a core without
        speed, be it for no time, is lost. A change at the stop is too late. ``hints``: (instant, cores for which others wait
        from then on, by labels, or else by slots), ascending instants; each is received after all other events of its instant.
        ``latency``: of each core; none: 0. ``numbers``: labels of the cores; none: 0, 1, 2 …. ``wishes``: requested cores of
        each phase, 0 for no request; none: no requests. ``later``: as ``changes``, but known after all events of its instant;
        never to 0, nor of an absent core. ``devices``: slots that are no cores; then no speed changes. ``on``: kinds that
        take part in each phase, 0 for cores; none: all, but only cores in a serial part.
        """
        known = [(at_ns, 0, core, speed) for at_ns, core, speed in changes]
        known += [(at_ns, 1, core, speed) for at_ns, core, speed in later]
        in_time = [one for one in sorted(known, key=lambda one: one[:2]) if stop is None or one[0] < stop]
        self.changes: list[Change[Real]] = [(at, at_ns, c, speed) for at, (at_ns, _, c, speed) in enumerate(in_time)]
        self.later = {at for at, (_, last, *_) in enumerate(in_time) if last}
        self.says, self.wished = list(wishes), [(start, len(speeds))]  # the first is the initial width, not a request
        self.resizes = [one for one in resizes if stop is None or one.at + 1 < stop]
        self.resized = self.stale = False
        self.only = ""  # the technique that is simulated ahead
        self.hints = [hint for hint in hints if stop is None or hint[0] < stop]
        self.wanted, self.named = frozenset[int](), bool(numbers)
        self.lengths, self.given = list(lengths), Given(seed, job)
        self.phases, self.overhead, self.master = list(phases) or [technique], overhead, master
        self.start = self.master_free = self.now = start
        delays, labels = list(latency) or [0] * len(speeds), list(numbers) or range(len(speeds))
        self.cores = [Core(c, delays[c], speed > 0, start, label=labels[c]) for c, speed in enumerate(speeds)]
        self.timeline: list[list[tuple[int, int, Real]]] = [[(-1, start, speed)] for speed in speeds]
        for at, at_ns, c, speed in self.changes:
            self.timeline[c].append((at, at_ns, speed))
        self.devices, self.on = devices or {}, list(on)
        #: Until when each device, and each direction of its link, is taken.
        self.taken = {(device.name, "work"): 0 for device in self.devices.values()}
        self.taken |= {(device.wire, way): 0 for device in self.devices.values() for way in ("in", "out")}
        self.tasks: list[Ran | None] = [None] * len(lengths)
        self.made = self.chunks = self.scheduling = self.ahead = 0
        self.chosen: dict[str, int] = {}
        self.parts = list(pairwise(accumulate(part_tasks or [len(lengths)], initial=0)))
        self.learned: dict[tuple[int, str], Rule] = {}
        self.over = False
        # Parts in which cores are released, and whether one of them is needed in a later part.
        kinds = [self.phases[part % len(self.phases)] for part in range(len(self.parts))]
        wide = max((part for part, kind in enumerate(kinds) if kind is not None), default=0)
        self.releasing = {part: part < len(kinds) - 1 for part in range(wide, len(kinds))} if releases else {}
        self.part = -1
        self.open(start)

    # The parts.

    @property
    def serial(self) -> bool:
        """Whether the present part is a loop."""
        return self.phases[self.part % len(self.phases)] is None

    @property
    def left(self) -> int:
        return len(self.fresh) + len(self.back)

    @property
    def present(self) -> list[Core]:
        return [core for core in self.cores if core.there and core.released is None]

    @property
    def asking(self) -> list[Core]:
        """The cores that work or wait for an answer, the next one first."""
        under_way = [core for core in self.cores if core.arrives is not None]
        return sorted(under_way, key=lambda core: (core.arrives, core.number))

    def open(self, t: int) -> None:
        self.part += 1
        wish = self.says[self.part % len(self.phases)] if self.says else 0
        if wish not in (0, self.wished[-1][1]):
            self.wished.append((t, wish))
            t += 1  # the answer arrives then
        self.fresh = list(range(*self.parts[self.part]))
        self.back: list[int] = []
        self.scattered = False  # whether a rule that chooses its tasks has begun, so that any tasks may be left
        self.overruled = self.stale = False
        self.rule: Rule | None = None
        self.rule_name = ""
        self.requests = self.n_tasks = 0
        self.choose_at: int | None = t
        self.away_at = self.barrier = t
        for core in self.cores:
            core.away = False
        for place, core in enumerate(self.present):
            if (self.serial and place > 0) or not self.takes_part(core):
                core.away = True
                self.release(core, t)
            else:
                self.ask(core, t)

    def takes_part(self, core: Core) -> bool:
        device = self.devices.get(core.number)
        kind = 0 if device is None else device.kind
        return not self.on or kind in self.on[self.part % len(self.phases)]

    def serves_last(self, core: Core) -> bool:
        """Whether another job waits for a core, and the technique can serve it last."""
        return core.number in self.wanted and not self.serial and self.rule is not None and not self.rule.places

    def yields(self, core: Core) -> bool:
        """Whether a core for which another job waits leaves the remaining tasks to cores that will still request some."""
        there = all(other.there or other.released is not None for other in self.cores)
        if not self.left or not self.may_release(core) or not there:
            return False
        under_way = [other for other in self.asking if other is not core]
        return self.left <= sum(other.number not in self.wanted and not other.leaving for other in under_way)

    def may_release(self, core: Core) -> bool:
        """Whether no later part needs a core, where cores are released."""
        return self.part in self.releasing and not (self.releasing[self.part] and core is self.first)

    def release(self, core: Core, t: int) -> None:
        if not self.may_release(core):
            return
        core.released, core.known = t, self.made

    @property
    def first(self) -> Core:
        return min(self.present, key=lambda core: core.number)

    def ask(self, core: Core, t: int) -> None:
        core.away = False
        core.arrives = t + (0 if self.serial else core.latency)

    def call_back(self, t: int) -> None:
        """Cores that were sent away request again, and are not sent away while tasks are left."""
        self.overruled = True
        for core in self.present:
            if core.away:
                self.ask(core, t)

    # Time.

    def go(self, stop: int | None) -> None:
        while not self.over:
            due = self.changes[self.made][1] if self.made < len(self.changes) else None
            last = self.made in self.later
            asking = self.asking
            if not asking and self.left and self.present and (due != self.now or last):
                if len(self.present) + sum(core.released is not None for core in self.cores) == len(self.cores):
                    raise TasksLeft
                self.call_back(self.away_at)
                if self.rule is not None and self.rule.places:
                    self.back, self.fresh = sorted(self.back + self.fresh), []
                continue
            if not asking and not self.left and self.part == len(self.parts) - 1:
                self.over = True
                return
            arrival = asking[0].arrives if asking else None
            opening = self.barrier if not asking and not self.left else None
            events = [at for at in (due, opening, arrival) if at is not None]
            first = not self.hints or (self.resizes and self.resizes[0].at <= self.hints[0][0])
            if self.resizes and first and (not events or min(events) > self.resizes[0].at):
                self.resize(self.resizes.pop(0))
                continue
            if self.hints and (not events or min(events) > self.hints[0][0]):
                self.want(self.hints.pop(0)[1])
                continue
            if not events and stop is None:
                raise AllLost
            if not events or (stop is not None and min(events) >= stop):
                return
            self.now = min(events)
            if due == self.now and not (last and self.now in (opening, arrival)):
                self.change(*self.changes[self.made][1:])
                self.made += 1
            elif opening == self.now:
                self.open(self.now)
            else:
                self.request(asking[0], self.now)

    def walk(self, c: int, chunk: Chunk, horizon: int) -> list[Ran]:
        """The tasks of a chunk, if only the changes before the ``horizon`` happen."""
        if chunk.rows:
            return list(chunk.rows)
        line = [(at_ns, speed) for at, at_ns, speed in self.timeline[c] if at < horizon]
        rows, t = [], chunk.begin
        for task in chunk.tasks:
            begun, t = t, _end_of(self.lengths[task], line, t)
            rows.append(Ran(chunk.number, self.cores[c].label, begun, t))
        return rows

    def horizon(self, c: int) -> int:
        """The change by which a core will be lost, or the number of changes."""
        losses = [at for at, _, speed in self.timeline[c] if at >= self.made and speed == 0]
        return min(losses, default=len(self.changes))

    def note(self, core: Core, rows: list[Ran], until: int) -> None:
        assert core.chunk is not None
        self.tasks[core.chunk.tasks[0] : core.chunk.tasks[0] + len(rows)] = rows
        if core.chunk.rows:
            core.busy += rows[-1].end - rows[0].start if rows else 0
            core.finish = until
        elif until > core.chunk.begin:
            core.busy += until - core.chunk.begin
            core.finish = until

    # Changes of width.

    @property
    def staying(self) -> list[Core]:
        """The job's cores, present or not, that are not to leave."""
        return [core for core in self.cores if core.released is None and not core.leaving]

    def leave(self, core: Core, t: int) -> None:
        core.leaving, core.released, core.known = False, t, self.made

    def ask_back(self, core: Core, now: int) -> None:
        """Let a core leave; if it has no task to end, at once."""
        core.leaving = True
        self.wanted -= {core.number}
        if not core.there or core.away:
            self.leave(core, now)

    def want(self, cores: Collection[int]) -> None:
        there = [core for core in self.cores if not core.leaving and core.released is None]
        self.wanted = frozenset(core.number for core in there if (core.label if self.named else core.number) in cores)

    def resize(self, decided: Resize[Real]) -> None:
        now = decided.at + 1
        slots = {core.number for core in self.staying}
        if not decided.taken <= slots or decided.taken == slots:
            return
        for slot in sorted(decided.taken):
            self.ask_back(self.cores[slot], now)
        for label in decided.asked:
            for core in self.staying:
                if core.label == label and len(self.staying) > 1:
                    self.ask_back(core, now)
        for label, speed, latency in decided.given:
            gone = [core for core in self.cores if core.released is not None and core.released < now]
            if gone:
                core = gone[0]
                later = [entry for entry in self.timeline[core.number] if entry[0] >= self.made]
            else:
                core, later = Core(len(self.cores), 0, True, self.start), []
                self.cores.append(core)
                self.timeline.append([])
            core.label, core.latency, core.there, core.released, core.leaving = label, latency, speed > 0, None, False
            core.owes, core.chunk = 0, None
            self.wanted -= {core.number}
            self.timeline[core.number] = [(self.made - 1, now, speed), *later]
            core.away = False
            if core.there:
                self.ask(core, now)
        for core in self.staying:
            core.owes += decided.cost
        self.begin_again(now)
        if not self.serial and self.left:
            self.call_back(now)

    def begin_again(self, now: int) -> None:
        """Discard the knowledge of techniques; that of the loop begins again."""
        self.resized = True
        self.learned.clear()
        if self.serial or self.rule is None:
            return
        self.counted = self.staying
        self.stale = not self.left
        if self.stale:
            return
        if self.rule.places:
            self.back, self.fresh = sorted(self.back + self.fresh), []
            return
        self.rule, self.choose_at = None, now

    # Changes.

    def change(self, t: int, c: int, speed: Real) -> None:
        """Change the speed of a core, known to its timeline already; or lose it, or add it."""
        core = self.cores[c]
        if core.released is not None:
            return
        if core.there and speed == 0:
            self.lose(core, t)
        elif not core.there and speed > 0:
            core.there = True
            self.ask(core, t)

    def lose(self, core: Core, t: int) -> None:
        core.there = core.away = False
        rest: list[int] = []
        if core.arrives is not None:
            self.barrier = max(self.barrier, t)
        if core.chunk is not None:
            rows = [row for row in self.walk(core.number, core.chunk, self.made) if row.end <= t]
            rest = list(core.chunk.tasks[len(rows) :])
            self.note(core, rows, t if rest else rows[-1].end)
        core.chunk = core.arrives = None
        self.back = sorted(self.back + rest)
        self.away_at = max(self.away_at, t)
        if rest:
            self.call_back(t)

    # Requests.

    def request(self, core: Core, t: int) -> None:
        """A request arrives: a chunk, or the core is sent away."""
        if self.choose_at is not None and t >= self.choose_at and not self.serial and not core.leaving:
            self.prepare(t)
        if core.leaving and all(other is core or other.released is not None for other in self.cores):
            core.leaving = False
            self.begin_again(t)
            if self.choose_at is not None and t >= self.choose_at and not self.serial and self.left:
                self.prepare(t)
        if self.serves_last(core):
            # Of the requests that arrive now, the first of a core for which no job waits; else the first.
            others = [
                other
                for other in self.asking
                if other.arrives == t and other.number not in self.wanted and not other.leaving
            ]
            core = others[0] if others else core
        latency = 0 if self.serial else core.latency
        idle = t - latency
        report = self.report(core, idle)
        core.chunk = core.arrives = None
        tasks = [] if core.leaving else self.tasks_for(core, t, report)
        if not tasks:
            core.away = True
            self.away_at = max(self.away_at, t)
            self.barrier = max(self.barrier, t + latency)
            # While a core is absent, its tasks may still come to this one.
            if core.leaving:
                self.leave(core, t + latency)
            elif not self.left or all(other.there or other.released is not None for other in self.cores):
                self.release(core, t + latency)
            return
        self.back = [task for task in self.back if task not in tasks]
        self.fresh = [task for task in self.fresh if task not in tasks]
        begin = t
        if not self.serial:
            if self.master:
                begin = max(begin, self.master_free)
            begin += self.overhead
            self.master_free = begin
            begin += latency
        begin += core.owes
        core.owes = 0
        core.chunk = Chunk(self.chunks, tuple(tasks), idle, begin)
        if core.number in self.devices and not self.serial:
            core.chunk = self.on_device(core, self.devices[core.number], core.chunk)
            core.arrives = core.chunk.done + latency
        else:
            core.arrives = self.walk(core.number, core.chunk, self.horizon(core.number))[-1].end + latency
        self.scheduling += begin - idle
        self.chunks += 1
        self.requests += 1

    def on_device(self, core: Core, device: Device, chunk: Chunk) -> Chunk:
        """The chunk with the times of its tasks: each step waits for the one before, and for what it needs to be free."""
        n, t = len(chunk.tasks), chunk.begin + device.launch
        if device.into:
            t = max(t, self.taken[device.wire, "in"]) + device.transfer(n, device.into)
            self.taken[device.wire, "in"] = t
        t = max(t, self.taken[device.name, "work"])
        rows, speed = [], self.timeline[core.number][0][2] * device.streams
        for task in chunk.tasks:
            work = device.work(self.lengths[task], task, self.given.seed, self.given.job)
            rows.append(Ran(chunk.number, core.label, t, t + duration_ns(work, speed)))
            t = rows[-1].end
        self.taken[device.name, "work"] = t
        if device.out:
            t = max(t, self.taken[device.wire, "out"]) + device.transfer(n, device.out)
            self.taken[device.wire, "out"] = t
        return replace(chunk, rows=tuple(rows), done=t)

    def report(self, core: Core, idle: int) -> Report | None:
        """Measurements of a core's last chunk, which has ended."""
        if core.chunk is None:
            return None
        rows = self.walk(core.number, core.chunk, self.made)
        assert (core.chunk.done or rows[-1].end) == idle
        self.note(core, rows, idle)
        times = [row.end - row.start for row in rows]
        mean = Fraction(sum(times), len(times))
        squares = sum(((time - mean) ** 2 for time in times), Fraction(0))
        step = self.part // len(self.phases)
        took = idle - core.chunk.begin if core.chunk.rows else sum(times)  # on a device with its transfers
        return Report(step, len(times), Fraction(took), Fraction(idle - core.chunk.asked), squares)

    def tasks_for(self, core: Core, t: int, report: Report | None) -> list[int]:
        """The tasks that a core gets; empty if it is sent away."""
        share = -(-self.left // max(1, len(self.present)))
        if self.serial:
            return self.back + self.fresh
        assert self.rule is not None
        if self.serves_last(core) and self.yields(core):
            self.overruled = True
            return []
        if (self.rule.places or self.stale) and self.back:
            return _run(self.back, share)
        if not self.left and (not self.rule.learns or self.stale):
            return []
        size, first = self.rule.ask(self.asked(core, t, report))
        if not self.left:
            return []
        if first is not None:
            chosen = list(range(self.base + first, self.base + first + size))
            assert set(chosen) <= set(self.fresh)
            return chosen
        if size == 0 and self.overruled and not self.rule.places:
            size = share
        if size == 0:
            return []
        if self.back and (not self.scattered or self.back[0] < min(self.fresh, default=self.back[0] + 1)):
            return _run(self.back, size)
        return _run(self.fresh, size) if self.scattered else self.fresh[:size]

    def asked(self, core: Core, t: int, report: Report | None) -> Asked:
        speeds = [self.speed_now(other.number) for other in self.counted]
        return Asked(
            self.n_tasks, self.counted.index(core), self.requests, self.left, t, self.chunks, speeds, report, self.known
        )

    def speed_now(self, c: int) -> Fraction:
        """Speed in GFLOP/s."""
        made = self.made if self.cores[c].released is None else self.cores[c].known
        return _exact([speed for at, _, speed in self.timeline[c] if at < made][-1])

    # Which rule.

    def prepare(self, t: int) -> None:
        """Choose a rule before the first request of a loop, or when a choice has lasted long enough."""
        begins = self.rule is None
        names, every = candidates(self.only or self.phases[self.part % len(self.phases)] or "")
        self.choose_at = t + every if every else None
        if not begins and not self.left:
            return
        self.inform()
        best = names[0]
        if len(names) > 1:
            ends = []
            for name in names:
                going_on = not begins and name == self.rule_name
                if going_on or not (rule_of(name).places and self.holes()):
                    ends.append((self.predicted(name, going_on), names.index(name)))
            best = names[min(ends)[1]]
            plain = best.partition(":")[0]
            self.chosen[plain] = self.chosen.get(plain, 0) + 1
        if begins or best != self.rule_name:
            self.begin(best)

    def holes(self) -> bool:
        """Whether the remaining tasks are not simply the last ones of the part."""
        return bool(self.back) or (self.scattered and bool(self.fresh))

    def inform(self) -> None:
        # Released or not, which makes no difference here.
        there = [core for core in self.cores if core.there and self.takes_part(core)]
        if self.resized:
            there = [core for core in self.staying if core.there]
        work = [_exact(self.lengths[task]) for task in range(*self.parts[self.part])]
        if not self.holes():
            work = work[len(work) - len(self.fresh) :]
        a_core = sum(self.speed_now(core.number) for core in there) / len(there)
        mean = sum(work) / len(work)
        variance = sum((one - mean) ** 2 for one in work) / len(work)
        messages = Fraction(2 * sum(core.latency for core in there), len(there))
        self.known = (
            float(mean / a_core),
            float(variance) ** 0.5 / float(a_core),
            float((self.overhead + messages) / 10**9),
        )

    def begin(self, name: str) -> None:
        phase = self.part % len(self.phases)
        rule = self.learned.get((phase, name)) or rule_of(name)
        if rule.learns:
            self.learned[phase, name] = rule
        self.rule, self.rule_name, self.stale = rule, name, False
        self.requests, self.n_tasks = 0, self.left
        self.scattered |= rule.places
        self.base = self.fresh[0] if self.fresh else 0
        self.counted = self.staying if self.resized or self.on else list(self.cores)
        self.counted = [core for core in self.counted if self.takes_part(core)]
        rule.begin(self.left, [self.speed_now(core.number) for core in self.counted], self.given)

    def predicted(self, name: str, going_on: bool) -> float:
        ahead = deepcopy(self)
        ahead.changes = self.changes[: self.made]
        ahead.timeline = [[entry for entry in line if entry[0] < self.made] for line in self.timeline]
        ahead.choose_at, ahead.only = None, name
        ahead.hints, ahead.resizes = [], []
        ahead.parts = self.parts[: self.part + 1]
        for core in ahead.cores:
            core.finish = 0
            if core.chunk is not None:
                latency = core.latency
                core.arrives = latency + (core.chunk.done or ahead.walk(core.number, core.chunk, ahead.made)[-1].end)
        if not going_on:
            ahead.begin(name)
        try:
            ahead.go(None)
        except TasksLeft:
            return float("inf")
        finally:
            self.ahead += ahead.chunks - self.chunks
        return max(core.finish for core in ahead.cores)

    # The end.

    def result(self, stop: int | None) -> Run:
        """The result; events after the stop are cut."""
        under_way = self.asking
        late = not self.over and bool(self.left or self.part < len(self.parts) - 1)
        for core in under_way:
            assert stop is not None
            if core.chunk is None:
                continue
            rows = self.walk(core.number, core.chunk, len(self.changes))
            done = core.chunk.done or rows[-1].end
            late |= done > stop
            begun = [Ran(row.chunk, row.core, row.start, min(row.end, stop)) for row in rows if row.start < stop]
            self.note(core, begun, min(done, stop))
        if late and stop is not None:
            for core in under_way or [core for core in self.cores if core.released is None]:
                core.finish = stop
        finish, busy = ([getattr(core, name) for core in self.cores] for name in ("finish", "busy"))
        last = max(finish)
        released = [None if core.released is None or core.released >= last else core.released for core in self.cores]
        latest: dict[int, int | float] = {}  # a core may have been the job's before, in another slot
        for core, at in zip(self.cores, released, strict=True):
            latest[core.label] = max(latest.get(core.label, 0), math.inf if at is None else at)
        of_core = {label: int(at) for label, at in latest.items() if at < math.inf}
        did = (self.tasks, finish, self.chunks, busy, self.scheduling, self.chosen, self.ahead)
        return Run(*did, released, of_core, self.wished[1:])


def candidates(technique: str) -> tuple[list[str], int]:
    """The techniques of a selection, and the shortest time of a choice in ns, or 0; one technique is a choice of one."""
    if not technique.startswith("select:"):
        return [technique], 0
    names: list[str] = []
    every = 0
    for piece in technique.removeprefix("select:").split(","):
        if piece.startswith("every="):
            every = int(piece.removeprefix("every=").removesuffix("ns"))
        elif "=" in piece and ":" not in piece:
            names[-1] += f",{piece}"
        else:
            names.append(piece)
    return names, every


def _exact(number: Real) -> Fraction:
    return number if isinstance(number, Fraction) else Fraction(number)


def _run(tasks: list[int], most: int) -> list[int]:
    size = 1
    while size < min(most, len(tasks)) and tasks[size] == tasks[0] + size:
        size += 1
    return tasks[:size]


def _end_of(work: Real, timeline: list[tuple[int, Real]], t: int) -> int:
    nano = Fraction(1, 10**9) if isinstance(work, Fraction) else 1e-9
    while True:
        speed = [gflops for at, gflops in timeline if at <= t][-1]
        end = t + duration_ns(work, speed)
        changed = min((at for at, _ in timeline if at > t), default=end)
        if end <= changed:
            return end
        # The rest continues at the next speed, and is never empty.
        work = max(work - (changed - t) * nano * speed, type(work)(1e-300))
        t = changed
