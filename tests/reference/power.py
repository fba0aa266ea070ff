"""A slow reference of limits to power: exact rationals, nothing kept, everything counted again at every instant.

One queue, first come, first served, without backfilling or with EASY. Jobs last their run times at full speed; or, without
backfilling, until an instant that a function gives which receives each change of speed. All cores are alike, the lowest free
ones are taken. Without backfilling hosts may go down; jobs on them are tried again; and jobs may have GPUs, for each core or
host, the lowest ones that can give their parts. It shares no code with the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil, floor

#: End of a job that started then on this number of cores, with these speeds from these instants on, after all their other
#: events.
EndOf = Callable[[int, int, int, tuple[tuple[int, Fraction], ...]], int]


@dataclass(frozen=True)
class Job:
    """Times in ns; ``slowable``: whether it may be slowed; ``widths``: the least and the most cores with which it may start."""

    submit: int
    cores: int
    run: int
    slowable: bool
    widths: tuple[int, int] | None = None
    estimate: int | None = None  # no less than ``run``, which it is where nothing is said
    power: Fraction = Fraction(1)  # times what an active core draws beyond an idle one
    memory: Fraction = Fraction(0)  # of its time at full speed, what no speed changes
    user: int = -1
    gpus: int = 0  # for each core, or each host that it has cores of; of a share one
    per_host: bool = False
    milli: int = 1000  # of each
    gpu_share: Fraction = Fraction(1)  # of the time that depends on speed, what depends on that of GPUs


@dataclass(frozen=True)
class Limit:
    """In force in [begin, end), mW."""

    begin: int
    end: int
    power: int


@dataclass(frozen=True)
class Part:
    """Some hosts that have limits of their own; only without backfilling."""

    hosts: frozenset[int]
    limits: tuple[Limit, ...]


@dataclass(frozen=True)
class Down:
    """A host is down in [begin, end); ``foreseen``: for maintenance, which no job is planned into."""

    host: int
    begin: int
    end: int
    foreseen: bool = False


@dataclass(frozen=True)
class Machine:
    """``states``: (speed, mW of a core) each; then of a host: mW off, and (ns, mW) of its passages; then its number of GPUs, mW
    of an idle one, and (speed, mW) of one that is held."""

    hosts: int
    cores: int
    idle: int
    states: tuple[tuple[Fraction, int], ...]
    off: int = 0
    shutdown: tuple[int, int] = (1, 0)
    boot: tuple[int, int] = (1, 0)
    gpus: int = 0
    gpu_idle: int = 0
    gpu_states: tuple[tuple[Fraction, int], ...] = ()

    @property
    def idle_host(self) -> int:
        return self.cores * self.idle + self.gpus * self.gpu_idle

    @property
    def slowest(self) -> int:
        return max(len(self.states), len(self.gpu_states)) - 1

    def state(self, number: int) -> tuple[Fraction, int]:
        return self.states[min(number, len(self.states) - 1)]

    def gpu_state(self, number: int) -> tuple[Fraction, int]:
        return self.gpu_states[min(number, len(self.gpu_states) - 1)]


@dataclass(frozen=True)
class Case:
    """Everything that is given; ``fallback`` as on the command line, ``slow`` the state of ``submit``; ``cost``: what a pass
    takes; ``order``: in which order ``dvfs`` slows jobs; ``promised``: whether it is known of running jobs when they end at the
    speeds of now; ``estimates``: what jobs are thought to draw, ``exact``, ``platform`` or ``last-two``; with ``notice``, which
    is without backfilling, running jobs are thought to go on."""

    machine: Machine
    jobs: tuple[Job, ...]
    limits: tuple[Limit, ...]
    fallback: str
    reaction: int = 0
    easy: bool = False
    slow: int = 1
    downs: tuple[Down, ...] = ()
    cost: int = 0
    notice: int = 0
    promised: bool = False
    estimates: str = "exact"
    end_of: EndOf | None = None
    order: str = "together"
    parts: tuple[Part, ...] = ()


@dataclass
class Outcome:
    """Starts and ends by job, of its last attempt; all attempts, (job, start, end); and power over time, as (instant, mW),
    neighbours differ."""

    attempts: list[tuple[int, int, int]] = field(default_factory=list)
    start: dict[int, int] = field(default_factory=dict)
    end: dict[int, int] = field(default_factory=dict)
    power: list[tuple[int, int]] = field(default_factory=list)
    thought: dict[int, Fraction] = field(default_factory=dict)


@dataclass(frozen=True)
class _Runs:
    job: int
    cores: frozenset[int]
    state: int
    since: int
    left: Fraction
    thought: int
    start: int
    end_of: EndOf | None
    gpus: tuple[int, ...] = ()  # of shares several times
    scales: tuple[tuple[int, Fraction], ...] = ()

    def due(self, speeds: Callable[[int, int], Fraction]) -> int:
        if self.end_of is not None:
            return self.end_of(self.job, self.start, len(self.cores), self.scales)
        return self.since + max(1, round(self.left / speeds(self.job, self.state)))

    def into(self, state: int, now: int, speeds: Callable[[int, int], Fraction]) -> _Runs:
        if state == self.state:
            return self
        now = max(now, self.start)
        left, thought = self.left - (now - self.since) * speeds(self.job, self.state), self.thought
        if thought > now:
            thought = now + ceil((thought - now) * speeds(self.job, self.state) / speeds(self.job, state))
        scales = (*self.scales, (now, speeds(self.job, state)))
        return replace(self, state=state, since=now, left=left, thought=thought, scales=scales)


class _World:
    def __init__(self, case: Case) -> None:
        self.case, self.machine = case, case.machine
        self.out = Outcome()
        self.running: list[_Runs] = []
        self.queue: list[int] = []
        #: What the jobs of each user have drawn that have ended, in order.
        self.ended: dict[int, list[Fraction]] = {}
        self.hosts = ["up"] * case.machine.hosts
        self.passage: dict[int, int] = {}
        self.level = 0
        #: With how many cores each job starts, and for how long it is then thought to run at full speed.
        self.shape = [(one.cores, one.estimate or one.run) for one in case.jobs]

    def speed(self, job: int, state: int) -> Fraction:
        """In billionths; each state is slower than the one before."""
        one, billion, found, last = self.case.jobs[job], 10**9, 10**9 + 1, None
        share = max(one.gpu_share, Fraction(1, billion)) if one.gpus else Fraction(0)
        for number in range(state + 1):
            core = self.machine.state(number)[0]
            now = core, self.machine.gpu_state(number)[0] if one.gpus else core
            longer = one.memory + (1 - one.memory) * ((1 - share) / core + share / now[1])
            if now != last:
                found = min(found - 1, floor(billion / longer + Fraction(1, 2)))
            last = now
        return Fraction(found, billion)

    def more(self, job: int, state: int, thought: bool = False) -> int:
        """Power of a core above an idle one, actual or predicted."""
        machine = self.machine
        factor = self.out.thought[job] if thought else self.case.jobs[job].power
        return floor((machine.state(state)[1] - machine.idle) * factor + Fraction(1, 2))

    def more_of_gpus(self, job: int, state: int, milli: int, thought: bool = False) -> int:
        """The same of thousandths of GPUs; whole W for a GPU."""
        if milli == 0:
            return 0
        factor = self.out.thought[job] if thought else self.case.jobs[job].power
        watts = Fraction(self.machine.gpu_state(state)[1] - self.machine.gpu_idle, 1000)
        return milli * floor(watts * factor + Fraction(1, 2))

    def milli(self, job: int, cores: Collection[int]) -> int:
        """Thousandths of GPUs that a job has with these cores."""
        one, n = self.case.jobs[job], len(cores)
        return one.gpus * one.milli * (len({core // self.machine.cores for core in cores}) if one.per_host else n)

    def able(self, job: int, host: int) -> list[int]:
        """GPUs of a host for parts of a job, each as often as it can give one."""
        one, n = self.case.jobs[job], self.machine.gpus
        left = dict.fromkeys(range(host * n, host * n + n), 1000)
        for other in self.running:
            for gpu in other.gpus:
                if gpu in left:
                    left[gpu] -= self.case.jobs[other.job].milli
        times = {gpu: milli // one.milli for gpu, milli in left.items()}
        return [gpu for gpu, most in times.items() for _ in range(min(most, 1) if one.per_host else most)]

    def with_gpus(self, job: int, free: list[int]) -> list[int]:
        """The lowest of free cores on each host that its GPUs suffice for."""
        one, n, found = self.case.jobs[job], self.machine.cores, []
        for host in range(self.machine.hosts):
            here, parts = [core for core in free if core // n == host], len(self.able(job, host))
            found += here[: (n if parts >= one.gpus else 0) if one.per_host else parts // one.gpus]
        return found

    def gpus_on(self, job: int, cores: list[int]) -> tuple[int, ...]:
        one, n, found = self.case.jobs[job], self.machine.cores, []
        for host in sorted({core // n for core in cores}):
            parts = one.gpus * (1 if one.per_host else sum(core // n == host for core in cores))
            found += self.able(job, host)[:parts]
        return tuple(found)

    def arrive(self, job: int) -> None:
        one, estimates = self.case.jobs[job], self.case.estimates
        self.queue.append(job)
        self.out.thought[job] = one.power if estimates == "exact" else Fraction(1)
        seen = self.ended.get(one.user, [])
        if estimates == "last-two" and one.user >= 0 and len(seen) > 1:
            self.out.thought[job] = Fraction(floor((seen[-1] + seen[-2]) / 2 * 10**9), 10**9)

    def known(self, now: int, limits: tuple[Limit, ...], late: int | None = None) -> list[Limit]:
        late = self.case.reaction - self.case.notice if late is None else late
        return [one for one in limits if one.begin + late <= now < one.end]

    def limit(self, now: int, limits: tuple[Limit, ...]) -> int | None:
        return min((one.power for one in self.known(now, limits, self.case.reaction)), default=None)

    def allowed(self, now: int, until: int, limits: tuple[Limit, ...]) -> int | None:
        """The power under which a job that would run until then has to stay."""
        if not self.case.notice:
            return self.limit(now, limits)
        return min((one.power for one in self.known(now, limits) if one.begin < until), default=None)

    def inside(self, part: Part, cores: Collection[int]) -> list[int]:
        return [core for core in cores if core // self.machine.cores in part.hosts]

    def fits_parts(self, job: int, cores: list[int], now: int) -> bool:
        """Whether a job on these cores fits the limits of all parts that they are in, as everybody is planned."""
        for part in self.case.parts:
            allowed = self.allowed(now, now + self.length(job), part.limits)
            if allowed is None or not self.inside(part, cores):
                continue
            runs = [self.draw(one.job, self.inside(part, one.cores)) for one in self.running]
            runs.append(self.draw(job, self.inside(part, cores)))
            if self.power(runs, part.hosts, thought=True) > allowed:
                return False
        return True

    def place(self, job: int, now: int) -> list[int] | None:
        """The lowest free cores; if they do not fit, those that each fit together with the previous ones."""
        free, n = self.free(job, now), self.shape[job][0]
        if self.case.jobs[job].gpus:
            free = self.with_gpus(job, free)
        if len(free) < n:
            return None
        if self.case.fallback == "none" or self.fits_parts(job, free[:n], now):
            return free[:n]
        offered: list[int] = []
        for core in free:
            if self.fits_parts(job, [*offered, core], now):
                offered.append(core)
        return offered[:n] if len(offered) >= n else None

    def planned(self, job: int) -> int:
        one, case = self.case.jobs[job], self.case
        if case.fallback == "dvfs" and one.slowable:
            return self.machine.slowest
        if case.fallback == "submit" and one.slowable:
            limits = [case.limits, *(part.limits for part in case.parts)]
            return case.slow if any(self.known(one.submit, some) for some in limits) else 0
        return 0

    def length(self, job: int) -> int:
        state = self.planned(job)
        if self.case.fallback == "dvfs":
            state = min(state, self.level)
        return ceil(self.shape[job][1] / self.speed(job, state))

    def down(self, now: int) -> set[int]:
        return {one.host for one in self.case.downs if one.begin <= now < one.end}

    def host_power(self, host: int) -> int:
        machine, what = self.machine, self.hosts[host]
        if what == "off":
            return machine.off
        if what in ("down", "boot"):
            return (machine.shutdown if what == "down" else machine.boot)[1]
        return machine.idle_host

    def draw(self, job: int, cores: Collection[int], state: int | None = None) -> tuple[int, int, int, int]:
        """A job with cores, and their GPUs, in a state, by default the planned one: number, thousandths, job, state."""
        return len(cores), self.milli(job, cores), job, self.planned(job) if state is None else state

    def power(
        self, runs: list[tuple[int, int, int, int]], hosts: Collection[int] | None = None, *, thought: bool = False
    ) -> int:
        """Power of hosts with cores and GPUs of jobs in states, as of :meth:`draw`."""
        total = sum(map(self.host_power, range(self.machine.hosts) if hosts is None else hosts))
        for n, milli, job, state in runs:
            total += n * self.more(job, state, thought) + self.more_of_gpus(job, state, milli, thought)
        return total

    def fits(self, job: int, now: int, cores: list[int]) -> bool:
        if self.case.fallback in ("none", "stop:idle", "stop:off"):
            return True
        allowed = self.allowed(now, now + self.length(job), self.case.limits)
        runs = [self.draw(one.job, one.cores) for one in self.running]
        runs.append(self.draw(job, cores))
        return allowed is None or self.power(runs, thought=True) <= allowed

    def free(self, job: int, now: int) -> list[int]:
        """The cores that a job could have now; none that is planned to be away before it ends."""
        taken, until = {core for one in self.running for core in one.cores}, now + self.length(job)
        away = {one.host for one in self.case.downs if one.foreseen and now < one.end and one.begin < until}
        away |= self.down(now) | {host for host, what in enumerate(self.hosts) if what != "up"}
        n = self.machine.cores
        return [core for core in range(n * self.machine.hosts) if core not in taken and core // n not in away]

    def start(self, job: int, now: int) -> None:
        placed = self.place(job, now) or []
        cores, gpus = frozenset(placed), self.gpus_on(job, placed)
        run, length, begin = Fraction(self.case.jobs[job].run), self.length(job), now + self.case.cost
        self.running.append(_Runs(job, cores, 0, begin, run, begin + length, begin, self.case.end_of, gpus))
        self.queue.remove(job)
        self.out.start[job] = begin

    def lose_hosts(self, now: int) -> None:
        """Hosts that go down: jobs on them are cut, and none is stopped any more."""
        down, n = self.down(now), self.machine.cores
        for one in [one for one in self.running if any(core // n in down for core in one.cores)]:
            self.running.remove(one)
            self.out.attempts.append((one.job, one.start, now))
            self.arrive(one.job)
        for host in down:
            self.hosts[host] = "up"
            self.passage.pop(host, None)

    def move_hosts(self, now: int) -> None:
        machine, stops = self.machine, self.case.fallback.startswith("stop:")
        for host in [host for host, due in self.passage.items() if due == now]:
            del self.passage[host]
            self.hosts[host] = "off" if self.hosts[host] == "down" else "up"
        limit, off = self.limit(now, self.case.limits), self.case.fallback == "stop:off"
        wanted, down = 0, self.down(now)
        up = machine.hosts - len(down)
        most, of_gpu = machine.states[0][1], machine.gpu_state(0)[1] if machine.gpus else 0
        if self.case.estimates == "exact":
            jobs = range(len(self.case.jobs))
            most = max([most, *(machine.idle + self.more(job, 0) for job in jobs)])
            if machine.gpus:
                of_gpu = max([of_gpu, *(machine.gpu_idle + self.more_of_gpus(job, 0, 1000) for job in jobs)])
        full, stopped = machine.cores * most + machine.gpus * of_gpu, machine.off if off else machine.idle_host
        while stops and limit is not None and wanted < up:
            if (up - wanted) * full + wanted * stopped + len(down) * machine.off <= limit:
                break
            wanted += 1
        busy = {core // machine.cores for one in self.running for core in one.cores}
        away = sum(what in ("out", "off", "down") for what in self.hosts)
        for host in reversed(range(machine.hosts)):
            if away < wanted and self.hosts[host] == "up" and host not in busy | down:
                away += 1
                self.hosts[host] = "down" if off else "out"
                if off:
                    self.passage[host] = now + machine.shutdown[0]
        for host in range(machine.hosts):
            if away > wanted and self.hosts[host] in ("out", "off"):
                away -= 1
                self.hosts[host] = "boot" if off else "up"
                if off:
                    self.passage[host] = now + machine.boot[0]

    def starts(self, now: int) -> None:
        self.queue.sort()
        while self.queue:
            self.mold(self.queue[0], now)
            if not self.here(self.queue[0], now):
                break
            self.start(self.queue[0], now)
        if self.case.easy and self.queue:
            slot = self.slot(now, None)
            for job in self.queue[1:]:
                if self.here(job, now) and self.slot(now, job) <= slot:
                    self.start(job, now)

    def here(self, job: int, now: int) -> bool:
        cores = self.place(job, now)
        return cores is not None and self.fits(job, now, cores)

    def mold(self, job: int, now: int) -> None:
        """Give the head another width, if it may have one: the most that fit now, but as asked where that ends earlier."""
        one = self.case.jobs[job]
        if one.widths is None:
            return
        asked = self.shape[job] = (one.cores, one.estimate or one.run)
        shapes = [(n, ceil(Fraction(asked[1] * one.cores, n))) for n in range(1, one.widths[1] + 1)]
        fitting = []
        for shape in shapes:
            self.shape[job] = shape
            if self.here(job, now):
                fitting.append(shape)
        self.shape[job] = asked
        if asked in fitting:
            if len(self.queue) == 1:
                self.shape[job] = fitting[-1]
            return
        if not fitting or fitting[-1][0] < one.widths[0]:
            return
        end = self.slot(now, None) + self.length(job) if self.case.easy else None
        self.shape[job] = fitting[-1]
        if end is not None and now + self.length(job) > end:
            self.shape[job] = asked

    def slot(self, now: int, other: int | None) -> int:
        """When the head could start by what is expected, perhaps with another job started now."""
        shape, machine = self.shape, self.machine
        taken = [(one.job, now, max(one.thought, now + 1)) for one in self.running]
        if other is not None:
            taken.append((other, now, now + self.length(other)))
        head, length = self.queue[0], self.length(self.queue[0])
        known = self.known(now, self.case.limits, self.case.reaction) if self.case.fallback != "none" else []

        def possible(at: int) -> bool:
            there = [head, *(job for job, begin, end in taken if begin <= at < end)]
            limit = min((one.power for one in known if at < one.end), default=None)
            if sum(shape[job][0] for job in there) > machine.hosts * machine.cores:
                return False
            runs = [(shape[job][0], 0, job, self.planned(job)) for job in there]
            return limit is None or self.power(runs, thought=True) <= limit

        marks = sorted({now, *(end for *_, end in taken), *(one.end for one in known)})
        for begin in marks:
            if all(possible(at) for at in {begin, *(mark for mark in marks if begin < mark < begin + length)}):
                return begin
        raise AssertionError("the head never fits")

    def set_states(self, now: int) -> None:
        states = [self.planned(one.job) for one in self.running]
        if self.case.fallback == "dvfs":
            states = self.slowed(now)
        changed = []
        for one, state in zip(self.running, states, strict=True):
            starts = self.out.start[one.job] >= now and one.state == 0  # planned otherwise, it has run for no time
            known = replace(one, thought=one.start + self.shape[one.job][1]) if starts else one
            slowed = known.into(state, now, self.speed)
            changed.append(replace(slowed, thought=slowed.due(self.speed)) if self.case.promised else slowed)
        self.running = changed

    def slowed(self, now: int) -> list[int]:
        """States of the running jobs. By an order, the first is slowed first, and only the last not as far as possible."""
        whole = Part(frozenset(range(self.machine.hosts)), self.case.limits)
        slowest, states, self.level = self.machine.slowest, [0] * len(self.running), 0
        for part in (*self.case.parts, whole):
            held = [self.inside(part, one.cores) for one in self.running]
            may = [place for place, one in enumerate(self.running) if self.planned(one.job) and held[place]]
            limit = self.limit(now, part.limits)

            def fits(part: Part = part, held: list[list[int]] = held, limit: int | None = limit) -> bool:
                both = zip(held, self.running, states, strict=True)
                runs = [self.draw(one.job, cores, state) for cores, one, state in both]
                return limit is None or self.power(runs, part.hosts) <= limit

            if self.case.order == "together":
                before, level = list(states), 0
                while not fits() and level < slowest:
                    level += 1
                    for place in may:
                        states[place] = max(before[place], level)
                # For the others the places of waiting jobs are unknown.
                if part.hosts == whole.hosts:
                    self.level = max(self.level, level)
                continue
            measure = {
                "fewest": lambda place, held=held: -self.saves(place, states, held[place]),
                "least-sensitive": lambda place, held=held: -self.saves_for_speed(place, states, held[place]),
            }[self.case.order]
            may = [place for place in may if self.saves(place, states, held[place])]
            for place in sorted(may, key=lambda place: (measure(place), self.running[place].job)):
                while states[place] < slowest and not fits():
                    states[place] += 1
        return states

    def saves(self, place: int, states: list[int], cores: list[int]) -> int:
        job, milli = self.running[place].job, self.milli(self.running[place].job, cores)
        now, then = (
            len(cores) * self.more(job, state) + self.more_of_gpus(job, state, milli)
            for state in (states[place], self.machine.slowest)
        )
        return now - then

    def saves_for_speed(self, place: int, states: list[int], cores: list[int]) -> Fraction:
        job, slowest = self.running[place].job, self.machine.slowest
        lost = len(cores) * (self.speed(job, states[place]) - self.speed(job, slowest))
        return Fraction(self.saves(place, states, cores)) / lost

    def instants(self) -> Iterator[int]:
        limits = [self.case.limits, *(part.limits for part in self.case.parts)]
        for one in [one for some in limits for one in some] if self.case.fallback != "none" else ():
            yield from (max(0, one.begin - self.case.notice), one.begin)
            yield from (min(one.begin + self.case.reaction, one.end), one.end)
        yield from (one.due(self.speed) for one in self.running)
        yield from (instant for one in self.case.downs for instant in (one.begin, one.end))
        yield from self.passage.values()
        yield from (one.submit for one in self.case.jobs)


def run(case: Case) -> Outcome | None:
    """The simulation; None if some job never starts."""
    world, now, wanted, busy = _World(case), 0, False, 0
    while True:
        wanted = wanted or now in world.instants()
        for one in sorted((one for one in world.running if one.due(world.speed) == now), key=lambda one: one.job):
            world.running.remove(one)
            world.ended.setdefault(case.jobs[one.job].user, []).append(case.jobs[one.job].power)
            world.out.end[one.job] = now
            world.out.attempts.append((one.job, one.start, now))
        world.lose_hosts(now)
        world.move_hosts(now)
        for job, one in enumerate(case.jobs):
            if one.submit == now:
                world.arrive(job)
        try:
            if wanted and now >= busy:
                wanted, busy = False, now + case.cost
                world.starts(now)
                world.set_states(now)
        except AssertionError:
            return None
        drawn = world.power([world.draw(one.job, one.cores, one.state) for one in world.running if one.start <= now])
        drawn += len(world.down(now)) * (case.machine.off - case.machine.idle_host)
        if not world.out.power or world.out.power[-1][1] != drawn:
            world.out.power.append((now, drawn))
        begins = [busy if wanted else now, *(one.start for one in world.running)]
        later = [instant for instant in [*begins, *world.instants()] if instant > now]
        if not later:
            return None if world.queue else world.out
        now = min(later)
