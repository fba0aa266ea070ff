"""A slow reference of hosts that fall asleep: explicit events, everything counted again at every instant.

One queue, first come, first served, without backfilling or with EASY. All cores are alike. Without backfilling hosts may go
down; jobs on them are tried again. It shares no code with the engine, and does not look like it: to fall asleep is
an event here.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Job:
    """Times in ns; ``estimate`` is no less than ``run``."""

    submit: int
    cores: int
    run: int
    estimate: int


@dataclass(frozen=True)
class Machine:
    """Hosts with the given cores each; mW of an idle and an active core, of a host that is up in addition to them, and of one
    that is off; (ns, mW) of the passages."""

    hosts: int
    cores: int
    idle: int
    active: int
    base: int
    off: int
    shutdown: tuple[int, int]
    boot: tuple[int, int]


@dataclass(frozen=True)
class Case:
    """Everything that is given; ``downs``: (host, begin, end); ``cost``: what a pass takes."""

    machine: Machine
    jobs: tuple[Job, ...]
    after: int
    keep: int = 0
    easy: bool = False
    downs: tuple[tuple[int, int, int], ...] = ()
    cost: int = 0


@dataclass
class Outcome:
    """Attempts (job, start, end) in any order; what each job waited for hosts, by its last start; changes of hosts (instant,
    host, what), ``what`` one of up, stopping, off, booting, down; and (instant, mW), where neighbours differ."""

    attempts: list[tuple[int, int, int]] = field(default_factory=list)
    boot_wait: dict[int, int] = field(default_factory=dict)
    hosts: list[tuple[int, int, str]] = field(default_factory=list)
    power: list[tuple[int, int]] = field(default_factory=list)


@dataclass
class _Runs:
    job: int
    cores: list[int]
    start: int
    end: int
    expected: int


class _World:
    def __init__(self, case: Case) -> None:
        self.case, self.machine, self.out = case, case.machine, Outcome()
        n, begin = case.machine.hosts, min(job.submit for job in case.jobs)
        self.what = ["up"] * n
        self.until: dict[int, int] = {}  # when a host is off, or up
        self.wanted: dict[int, int] = {}  # from when a host that shuts down is to boot
        self.fresh: set[int] = set()
        self.idle_since: list[int | None] = [begin] * n
        self.running: list[_Runs] = []
        self.queue: list[int] = []

    def becomes(self, host: int, what: str, now: int) -> None:
        self.what[host] = what
        self.out.hosts.append((now, host, what))

    def hosts_of(self, cores: list[int]) -> list[int]:
        return sorted({core // self.machine.cores for core in cores})

    def taken(self) -> set[int]:
        return {core for one in self.running for core in one.cores}

    def free(self, host: int) -> list[int]:
        if self.what[host] == "down":
            return []
        n, taken = self.machine.cores, self.taken()
        return [core for core in range(host * n, host * n + n) if core not in taken]

    def boots(self, host: int) -> bool:
        return self.what[host] == "booting" or host in self.wanted

    def late(self, host: int, at: int) -> int:
        boot, off = self.machine.boot[0], self.until.get(host, at)
        if host in self.wanted:
            return max(self.wanted[host], off) + boot - at
        if self.what[host] == "booting":
            return max(0, off - at)
        if self.what[host] == "stopping":
            return max(0, off - at) + boot
        return boot if self.what[host] == "off" else 0

    def place(self, n: int) -> list[int]:
        hosts = range(self.machine.hosts)
        offered = [core for host in hosts if self.what[host] == "up" for core in self.free(host)]
        away = [host for host in hosts if self.what[host] not in ("up", "down")]
        others = [host for host in away if self.boots(host) and host not in self.fresh]
        others += [host for host in away if host not in others]
        for host in others:
            if len(offered) < n:
                offered += self.free(host)
        return sorted(offered)[:n]

    def start(self, job: int, cores: list[int], now: int) -> None:
        one, at = self.case.jobs[job], now + self.case.cost
        thought = now + max(self.late(host, now) for host in self.hosts_of(cores)) + one.estimate  # for this pass
        late = max(self.late(host, at) for host in self.hosts_of(cores))
        for host in self.hosts_of(cores):
            self.idle_since[host] = None
            if self.what[host] in ("stopping", "off") and host not in self.wanted:
                self.wanted[host] = at
                self.fresh.add(host)
        begin = at + late
        self.running.append(_Runs(job, cores, begin, begin + one.run, thought))
        self.queue.remove(job)
        self.out.boot_wait[job] = late

    def slot(self, n: int, now: int) -> tuple[int, int]:
        free = sum(len(self.free(host)) for host in range(self.machine.hosts))
        for at in sorted({max(one.expected, now + 1) for one in self.running}):
            back = sum(len(one.cores) for one in self.running if max(one.expected, now + 1) <= at)
            if free + back >= n:
                return at, free + back - n
        raise AssertionError("the head never fits")

    def starts(self, now: int) -> None:
        self.fresh.clear()  # hosts that this pass has woken come as if they slept
        self.choose(now)
        self.fresh.clear()
        for one in self.running:
            if one.start > now:
                one.expected = one.start + self.case.jobs[one.job].estimate

    def choose(self, now: int) -> None:
        self.queue.sort()
        jobs = self.case.jobs
        while self.queue:
            cores = self.place(jobs[self.queue[0]].cores)
            if len(cores) < jobs[self.queue[0]].cores:
                break
            self.start(self.queue[0], cores, now)
        if not self.case.easy or not self.queue:
            return
        shadow, extra = self.slot(jobs[self.queue[0]].cores, now)
        for job in self.queue[1:]:
            one, cores = jobs[job], self.place(jobs[job].cores)
            if len(cores) < one.cores:
                continue
            late = max(self.late(host, now) for host in self.hosts_of(cores))
            beyond = now + one.estimate + late > shadow
            if beyond and one.cores > extra:
                continue
            extra -= one.cores if beyond else 0
            self.start(job, cores, now)

    def move_hosts(self, now: int) -> None:
        for host, due in list(self.until.items()):
            if due == now:
                del self.until[host]
                self.becomes(host, "off" if self.what[host] == "stopping" else "up", now)
        for host, at in list(self.wanted.items()):
            if self.what[host] == "off" and at <= now:
                del self.wanted[host]
                self.becomes(host, "booting", now)
                self.until[host] = now + self.machine.boot[0]
        for host, due in list(self.until.items()):
            if due == now:
                del self.until[host]
                self.becomes(host, "up", now)

    def lose_hosts(self, now: int) -> bool:
        seen = False
        for host, begin, end in self.case.downs:
            if begin == now:
                seen = True
                for one in [one for one in self.running if host in self.hosts_of(one.cores)]:
                    self.running.remove(one)
                    self.out.attempts.append((one.job, min(one.start, now), now))
                    self.queue.append(one.job)
                    self.fall_idle(one, now)
                self.until.pop(host, None)
                self.wanted.pop(host, None)
                self.idle_since[host] = None
                self.becomes(host, "down", now)
            if end == now:
                seen = True
                self.becomes(host, "up", now)
                self.idle_since[host] = now
        return seen

    def fall_idle(self, one: _Runs, now: int) -> None:
        for host in self.hosts_of(one.cores):
            asleep = self.what[host] in ("stopping", "off") and not self.boots(host)
            if len(self.free(host)) == self.machine.cores and not asleep and self.idle_since[host] is None:
                self.idle_since[host] = now + self.late(host, now)

    def sleepers(self, now: int) -> None:
        while True:
            idle = [(since, -host) for host, since in enumerate(self.idle_since) if since is not None]
            due = sorted(one for one in idle if one[0] + self.case.after <= now)
            if len(idle) <= self.case.keep or not due:
                return
            host = -due[0][1]
            self.idle_since[host] = None
            self.becomes(host, "stopping", now)
            self.until[host] = now + self.machine.shutdown[0]
            self.move_hosts(now)

    def power(self, now: int) -> int:
        machine, total = self.machine, 0
        for what in self.what:
            if what == "up":
                total += machine.base + machine.cores * machine.idle
            elif what in ("stopping", "booting"):
                total += (machine.shutdown if what == "stopping" else machine.boot)[1]
            else:
                total += machine.off
        active = sum(len(one.cores) for one in self.running if one.start <= now)
        return total + active * (machine.active - machine.idle)

    def instants(self) -> Iterator[int]:
        yield from (job.submit for job in self.case.jobs)
        yield from (at for one in self.running for at in (one.start, one.end))
        yield from (at for _, begin, end in self.case.downs for at in (begin, end))
        yield from self.until.values()
        yield from self.wanted.values()
        yield from (since + self.case.after for since in self.idle_since if since is not None)


def run(case: Case) -> Outcome:
    world, wanted, busy, left = _World(case), False, 0, len(case.jobs)
    now = min(job.submit for job in case.jobs)
    while True:
        for one in [one for one in world.running if one.end == now]:
            world.running.remove(one)
            world.out.attempts.append((one.job, one.start, now))
            world.fall_idle(one, now)
            left -= 1
            wanted = True
        if not left:
            return world.out
        world.move_hosts(now)
        wanted = world.lose_hosts(now) or wanted
        arrived = [job for job, one in enumerate(case.jobs) if one.submit == now]
        world.queue += arrived
        if (wanted or arrived) and now >= busy:
            wanted, busy = False, now + case.cost
            world.starts(now)
        elif arrived:
            wanted = True
        world.move_hosts(now)
        world.sleepers(now)
        drawn = world.power(now)
        if not world.out.power or world.out.power[-1][1] != drawn:
            world.out.power.append((now, drawn))
        now = min(at for at in [busy if wanted else now, *world.instants()] if at > now)
