"""Assignment of a graph's tasks to cores, which ``reference.graph_run`` requests at every event.

Decisions where the project's specification leaves something open:

- Absent cores do not open a round. A round that began closed opens at the loss of a core with tasks; refused cores and cores
  that were sent away request again. The same happens when there is no other event while a core is absent.
- A refused core waits for the next round, and is served as soon as that can begin.
- A core refused by a technique that chooses its tasks waits for the next round, open or not: its tasks are promised. Only when
  there is no other event while a core is absent, and a core was refused, the remaining tasks are assigned without the
  technique.
- The duration of a chunk counts from the request, or from the service of a waiting core; the times of its tasks exclude waiting
  for data.
- A core that has taken an orphan computes it first; the orphan is a chunk from then on, begun or not.
- A planned core that is absent at the beginning of the job is a lost core.
- A change of the width ends a round, and refused cores take part in the next one. Planned tasks that have not begun are planned
  again by the same planner; in the order of waiting they come after all others.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from reference.adaptive_rules import Report
from reference.rules import Asked, Given, Rule, rule_of

if TYPE_CHECKING:
    from reference.graph_run import Core, Job, Replan

#: A place in what is waiting: (the task's position in the order, task).
Waiting = list[tuple[int, int]]


@dataclass(frozen=True)
class Plan:
    """Core of each task, and its place among that core's tasks: any ascending numbers."""

    core: Sequence[int]
    place: Sequence[int]


class Way:
    """How cores come by their tasks."""

    job: Job
    waits_for_data = True

    def begin(self, job: Job) -> None:
        self.job = job

    def release(self, k: int, t: int) -> None:
        """All producers of a task have ended."""
        raise NotImplementedError

    def produced(self, e: int, core: Core, t: int) -> None:
        """The producer of an edge has ended, on this core."""

    def idle(self, core: Core, t: int) -> None:
        """A core has ended a task."""

    def next(self, core: Core, t: int) -> int | None:
        """Return the task that an idle core starts now."""
        return self.from_hand(core, t)

    def in_hand(self, core: Core) -> int | None:
        return core.hand[0] if core.hand else None

    def serve(self, t: int) -> bool:
        """Whether somebody was given something."""
        return False

    def lose(self, core: Core, t: int) -> None:
        """A core is lost."""
        raise NotImplementedError

    def come(self, core: Core, t: int) -> None:
        """A core comes."""

    def call_back(self) -> bool:
        """Nothing happens any more, and a core is absent; whether something happens now."""
        return False

    def has_nothing(self, core: Core) -> bool:
        """Whether a core that computes nothing has no chunk either, and no request under way."""
        raise NotImplementedError

    def gone(self, core: Core, t: int) -> None:
        """A core has left."""

    def restart(self, t: int) -> None:
        raise NotImplementedError

    def from_hand(self, core: Core, t: int) -> int | None:
        if core.answer is not None or not core.hand or self.job.lacks[core.hand[0]]:
            return None
        k = core.hand.pop(0)
        self.job.waited(core, k, t)
        return k


class InRounds(Way):
    """A loop technique, for which the tasks that wait at the beginning of a round are a loop."""

    def __init__(self, technique: str, given: Given) -> None:
        self.technique, self.given = technique, given
        self.waiting: Waiting = []
        self.rule: Rule | None = None
        self.round = -1
        self.left = self.n = self.requests = 0
        self.unassigned = 0
        self.away_at = 0
        self.open = self.dealt = False
        self.listed: list[int] = []
        self.promised: dict[int, None] = {}  # those of them that a technique that chooses has not given
        self.known = (0.0, 0.0, 0.0)

    def begin(self, job: Job) -> None:
        super().begin(job)
        self.unassigned, self.away_at = len(job.gflop), job.now
        for core in job.cores:
            if core.there:
                self.ask(core, job.now)

    def ask(self, core: Core, t: int) -> None:
        core.request, core.looked_at, core.refused, core.home = t + core.latency, False, False, False

    def has_nothing(self, core: Core) -> bool:
        return not core.hand and not core.in_flight

    def restart(self, t: int) -> None:
        self.rule = None
        if self.left:
            for k in self.promised:
                self.release(k, t)
        self.promised, self.left = {}, 0
        for core in self.job.cores:
            core.refused = False

    def release(self, k: int, t: int) -> None:
        insort(self.waiting, (self.job.position[k], k))

    def idle(self, core: Core, t: int) -> None:
        if not core.hand:
            self.ask(core, t)

    def come(self, core: Core, t: int) -> None:
        self.ask(core, t)

    def lose(self, core: Core, t: int) -> None:
        core.refused = core.home = core.looked_at = False
        self.away_at = max(self.away_at, t)
        back = self.job.take_back(core, t)
        for k in back:
            self.job.forget(k)
            self.release(k, t)
        self.unassigned += len(back)
        if back:
            self.open = True
            for other in self.job.cores:
                if other.refused or other.home:
                    self.ask(other, t)

    def call_back(self) -> bool:
        again = [core for core in self.job.cores if core.refused]
        for core in again:
            self.ask(core, self.away_at)
            self.open = self.dealt = True
        return bool(again)

    def serve(self, t: int) -> bool:
        served = False
        while True:
            asking = [core for core in self.job.cores if self.has_a_turn(core, t)]
            if not asking:
                return served
            served |= self.answer(asking[0], t)

    def has_a_turn(self, core: Core, t: int) -> bool:
        """Whether a request has arrived, and something may come of it."""
        if core.request is None or core.request > t:
            return False
        return not core.looked_at or bool(self.waiting if not self.left else not core.refused)

    def answer(self, core: Core, t: int) -> bool:
        """Serve a request; whether it got something."""
        if core.leaving and all(other is core or other.released is not None for other in self.job.cores):
            core.leaving = False
            self.restart(t)
        if core.leaving:
            self.away_at = max(self.away_at, t)
            self.job.depart(core, t + core.latency)
            return True
        report = self.report(core, t)
        core.looked_at = True
        if not self.left and self.rule is not None and self.rule.learns and report is not None:
            self.rule.ask(self.asked(core, t, report))
            report = None
        if not self.left and not self.waiting:
            if not self.unassigned:
                core.request, core.home = None, True
            return False
        if not self.left:
            self.begin_round()
        assert self.rule is not None
        share = -(-self.left // sum(other.there for other in self.job.cores))
        if self.rule.places and self.dealt:
            free = [place for place, k in enumerate(self.listed) if k in self.promised]
            size, first = 1, free[0]
            while size < share and first + size in free:
                size += 1
        else:
            size, first = self.rule.ask(self.asked(core, t, report))
        assert 0 <= size <= self.left
        if size == 0 and self.open and not self.rule.places:
            size = share
        if size == 0:
            core.refused = True
            self.away_at = max(self.away_at, t)
            return False
        tasks = [k for _, k in self.waiting[:size]] if first is None else self.listed[first : first + size]
        assert len(tasks) == size
        for k in tasks:
            if self.rule.places:
                del self.promised[k]
            else:
                self.waiting.remove((self.job.position[k], k))
        self.left -= size
        self.unassigned -= size
        self.give(core, tasks, t)
        for other in self.job.cores:
            if not self.left:
                other.refused = False
            if not self.unassigned and other.looked_at and other.request is not None:
                other.request, other.home = None, True
        return True

    def give(self, core: Core, tasks: list[int], t: int) -> None:
        job = self.job
        begin = max(t, job.master_free) if job.master else t
        begin += job.overhead
        job.master_free = begin
        core.answer = begin + core.latency
        core.request, core.asked, core.hand, core.times = None, t - core.latency, tasks, []
        core.chunk, core.pays, core.owes = job.chunks, core.owes, 0
        job.chunks += 1
        self.requests += 1

    def begin_round(self) -> None:
        cores = self.job.cores
        self.round += 1
        self.listed = [k for _, k in self.waiting]
        self.left = self.n = len(self.waiting)
        self.requests = 0
        self.open, self.dealt = any(core.under_way for core in cores), False
        there = [core for core in (self.job.staying if self.job.resized else cores) if core.there]
        work = [Fraction(self.job.gflop[k]) for k in self.listed]
        speed = sum(Fraction(core.speed) for core in there) / len(there)
        mean = sum(work) / len(work)
        variance = sum((one - mean) ** 2 for one in work) / len(work)
        messages = Fraction(2 * sum(core.latency for core in there), len(there))
        deviation = float(variance) ** 0.5 / float(speed)
        self.known = (float(mean / speed), deviation, float((self.job.overhead + messages) / 10**9))
        if self.rule is None or not self.rule.learns:
            self.rule = rule_of(self.technique)
        if self.rule.places:
            self.promised = dict.fromkeys(self.listed)
            self.waiting = []
        self.rule.begin(self.n, [Fraction(core.speed) for core in self.counted], self.given)

    @property
    def counted(self) -> list[Core]:
        return self.job.staying if self.job.resized else self.job.cores

    def asked(self, core: Core, t: int, report: Report | None) -> Asked:
        speeds = [Fraction(other.speed) for other in self.counted]
        return Asked(
            self.n, self.counted.index(core), self.requests, self.left, t, self.job.chunks, speeds, report, self.known
        )

    def report(self, core: Core, t: int) -> Report | None:
        """Measurements of a core's last chunk, reported once."""
        times, core.times = core.times, []
        if not times:
            return None
        mean = Fraction(sum(times), len(times))
        squares = sum(((time - mean) ** 2 for time in times), Fraction(0))
        return Report(self.round, len(times), Fraction(sum(times)), Fraction(t - core.latency - core.asked), squares)


class Planned(Way):
    """Cores with sequences of tasks."""

    def __init__(self, plan: Plan, replan: Replan | None = None) -> None:
        self.plan, self.replan = plan, replan
        self.orphans: Waiting = []
        self.taken: dict[int, None] = {}  # orphans that a core is bound to

    def begin(self, job: Job) -> None:
        super().begin(job)
        self.core: list[Core | None] = [job.cores[c] for c in self.plan.core]
        for core in job.cores:
            mine = [k for k in range(len(job.gflop)) if self.core[k] is core]
            core.hand = sorted(mine, key=lambda k: self.plan.place[k])
            if not core.there:
                self.lose(core, job.now)

    def release(self, k: int, t: int) -> None:
        if self.core[k] is None:
            insort(self.orphans, (self.job.position[k], k))

    def produced(self, e: int, core: Core, t: int) -> None:
        if (target := self.core[self.job.edges[e][1]]) is not None:
            self.job.bring(e, target, t)

    def has_nothing(self, core: Core) -> bool:
        return not self.bound(core)

    def bound(self, core: Core) -> bool:
        """Whether a core is to compute an orphan before all else."""
        return bool(core.hand) and core.hand[0] in self.taken

    def restart(self, t: int) -> None:
        job, busy = self.job, [core.task for core in self.job.cores]
        held = [core.hand[0] for core in job.cores if self.bound(core)]
        rest = [k for k in range(len(job.gflop)) if not job.ended[k] and k not in busy and k not in held]
        for core in job.cores:
            core.hand = core.hand[:1] if self.bound(core) else []
        self.taken = {k: None for k in self.taken if k not in rest}
        staying = job.staying
        assert self.replan is not None
        found = self.replan(rest, [core.speed if core in staying else 0.0 for core in job.cores]) if rest else []
        self.orphans = []
        before = sorted((k for k in range(len(job.gflop)) if k not in rest), key=lambda k: job.position[k])
        unbegun = [rest[at] for at in sorted(range(len(rest)), key=lambda at: found[at][1])]
        for place, k in enumerate(before + unbegun):
            job.position[k] = place
        for k, (c, _) in zip(rest, found, strict=True):
            self.core[k] = None if c < 0 else job.cores[c]
            job.lacks[k] = {e: None for e in job.into[k] if not job.ended[job.edges[e][0]]}
            if c < 0 and job.released[k] is not None:
                self.release(k, t)
        for k in unbegun:
            if (core := self.core[k]) is not None:
                core.hand.append(k)

    def next(self, core: Core, t: int) -> int | None:
        if core.leaving and not self.bound(core):
            if all(other is core or other.released is not None for other in self.job.cores):
                core.leaving = False
                self.restart(t)
            else:
                self.job.depart(core, t)
                return None
        k = self.from_hand(core, t)
        if k is not None:
            core.pays, core.owes = core.owes, 0
        if k is not None and k not in self.taken:
            core.chunk = self.job.chunks
            self.job.chunks += 1
        return k

    def serve(self, t: int) -> bool:
        # A core that starts no task takes an orphan, and is then bound to it.
        job, served = self.job, False
        for core in job.cores:
            if not (core.there and core.task is None and self.orphans) or self.bound(core):
                continue
            k = self.orphans.pop(0)[1]
            job.waited(core, core.hand[0] if core.hand else None, t)
            core.hand.insert(0, k)
            core.free = t
            core.chunk = job.chunks
            job.chunks += 1
            self.taken[k] = None
            job.fetch(k, core, t)
            served = True
        return served

    def lose(self, core: Core, t: int) -> None:
        for k in self.job.take_back(core, t):
            self.job.forget(k)
            self.core[k] = None
            if self.job.released[k] is not None:
                self.release(k, t)


class Mapped(Way):
    """Hosts with tasks of their own; whichever core of a host is free takes the first whose data are there."""

    waits_for_data = False

    def __init__(self, host: Sequence[int]) -> None:
        self.host = host
        self.waiting: Waiting = []  # released, be their data there or not

    def release(self, k: int, t: int) -> None:
        insort(self.waiting, (self.job.position[k], k))

    def produced(self, e: int, core: Core, t: int) -> None:
        self.job.send(e, self.host[self.job.edges[e][1]], t)

    def next(self, core: Core, t: int) -> int | None:
        job = self.job
        for at, k in self.waiting:
            if self.host[k] == core.host and not job.lacks[k]:
                self.waiting.remove((at, k))
                job.waited(core, k, t)
                core.chunk = job.chunks
                job.chunks += 1
                return k
        return None

    def lose(self, core: Core, t: int) -> None:
        for k in self.job.take_back(core, t):
            self.job.release(k, t)
