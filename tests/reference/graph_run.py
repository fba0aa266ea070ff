"""One job's graph of tasks on its cores: every core, task and transfer is inspected again at every instant.

At one instant: transfers continue up to it, and tasks that only lacked their data start; tasks end; cores change; then, until
there are no further events: answers reach their cores, transfers continue within the instant's rounding, cores with the data of
their next task start it, requests are served by core. ``reference.graph_ways`` assigns tasks: by a loop technique in rounds, by
a plan, or to hosts to which tasks are bound.

Decisions where the project's specification leaves something open:

- Transfers to a lost core end without arriving, and leave no record; transfers within a host continue.
- If no core computes and no transfer is active, while tasks are left and every core is present, there is an error.
- A message sent at the stop is too late.
- At a decision on the width, leaving cores without tasks leave before all other events of the instant; the tasks that end then
  end; then new cores come, and the remaining tasks are assigned again, before any change of a speed.
- The cost of changes of width is paid at the beginning of the first task of a later chunk.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from reference.application import AllLost, Ran, Resize, TasksLeft, duration_ns
from reference.graph_ways import InRounds, Mapped, Plan, Planned, Way
from reference.rules import Given
from reference.sharing import Network, Transfers


@dataclass
class GraphRun:
    """Result of a job.

    ``tasks``: None for a task that never began. ``sent``, ``arrived``: of each edge; -1 if it never was, or had no
    need to be. ``finish``, ``busy``: of each core: when it last ended a task, or was stopped; how long it computed.
    ``transfer_wait``: sum over the cores of the time in which they waited only for data.
    """

    tasks: list[Ran | None]
    sent: list[int]
    arrived: list[int]
    finish: list[int]
    busy: list[int]
    chunks: int
    transfer_wait: int
    released: list[int | None] = field(default_factory=list, compare=False)

    @property
    def end(self) -> int:
        return max(self.finish)


@dataclass
class Core:
    """A core and what it does.

    ``task``: that it computes: since ``since`` with ``left`` GFLOP left then, until ``ends`` if nothing changes.
    ``free``: since when it has computed nothing. ``hand``: the tasks of its chunk that it has not begun.
    ``request``: when the request that has no answer yet arrives. ``answer``: when the chunk in hand reaches it, if
    it is still on its way.
    """

    number: int
    host: int
    latency: int
    speed: float
    free: int
    finish: int
    busy: int = 0
    task: int | None = None
    began: int = 0
    since: int = 0
    left: float = 0.0
    ends: int = 0
    hand: list[int] = field(default_factory=list)
    chunk: int = -1
    request: int | None = None
    answer: int | None = None
    looked_at: bool = False
    refused: bool = False
    home: bool = False
    asked: int = 0
    times: list[int] = field(default_factory=list)
    label: int = -1
    released: int | None = None
    leaving: bool = False
    owes: int = 0
    pays: int = 0

    def __post_init__(self) -> None:
        self.label = self.number

    @property
    def there(self) -> bool:
        return self.speed > 0 and self.released is None

    @property
    def under_way(self) -> bool:
        """Whether it computes, or is about to."""
        return self.task is not None or bool(self.hand)

    @property
    def in_flight(self) -> bool:
        """Whether its request has not arrived."""
        return self.request is not None and not self.looked_at


#: Plans tasks that have not begun: (tasks, speed of each core, 0: it gets none) to (core, -1: none; place) of each.
Replan = Callable[[list[int], list[float]], list[tuple[int, int]]]


def run_graph(*given: Any, stop_ns: int | None = None, **named: Any) -> GraphRun:
    """Simulate a job; the arguments are those of :class:`Job`. Raises TasksLeft or AllLost."""
    return Job(*given, stop_ns=stop_ns, **named).go(stop_ns)


class Job:
    """The state of a job at an instant."""

    def __init__(
        self,
        gflop: Sequence[float],
        edges: Sequence[tuple[int, int, float]],
        speed: Sequence[float],
        core_host: Sequence[int],
        network: Network,
        *,
        technique: str = "",
        plan: Plan | None = None,
        mapped: Sequence[int] | None = None,
        order: Sequence[int] | None = None,
        overhead_ns: int = 0,
        latency_ns: Sequence[int] = (),
        master: bool = False,
        speed_changes: Sequence[tuple[int, int, float]] = (),
        start_ns: int = 0,
        stop_ns: int | None = None,
        seed: int = 0,
        job: int = 0,
        resizes: Sequence[Resize[float]] = (),
        replan: Replan | None = None,
        numbers: Sequence[int] = (),
        works: Sequence[Sequence[float]] = (),
    ) -> None:
        """Prepare a job.

        ``edges``: (producer, consumer, bytes); without bytes it is only an order. ``technique``, ``plan``, ``mapped``:
        one of them: a loop technique's name; cores and places; of each task its host. ``order``: of each task its
        position; none: its number. ``speed_changes``: (instant, core, GFLOP/s from then on), ascending instants; 0: the
        core is lost. ``resizes``: ascending instants; without a network. ``replan``: with a plan, where the width
        changes. ``numbers``: what the cores are called; none: 0, 1, 2 …. ``works``: work of each task on each
        core; none: that of ``gflop``.
        """
        self.way: Way = InRounds(technique, Given(seed, job)) if mapped is None else Mapped(mapped)
        if plan is not None:
            self.way = Planned(plan, replan)
        self.resizes = [one for one in resizes if stop_ns is None or one.at + 1 < stop_ns]
        self.resized, self.start_ns = False, start_ns
        self.works = works or [[work] * len(speed) for work in gflop]
        self.by = [-1 for _ in gflop]  # the slot of the core that has computed each task
        self.gflop, self.edges, self.transfers = list(gflop), list(edges), Transfers(network, start_ns)
        delays = latency_ns or [0] * len(speed)
        self.cores = [Core(c, core_host[c], delays[c], speed[c], start_ns, start_ns) for c in range(len(speed))]
        for core, number in zip(self.cores, numbers, strict=False):
            core.label = number
        tasks = range(len(gflop))
        self.position, self.overhead, self.master = list(order or tasks), overhead_ns, master
        self.changes = [change for change in speed_changes if stop_ns is None or change[0] < stop_ns]
        self.now = self.master_free = start_ns
        self.into: list[list[int]] = [[] for _ in tasks]
        self.out: list[list[int]] = [[] for _ in tasks]
        for e, (a, b, _) in enumerate(self.edges):
            self.out[a].append(e)
            self.into[b].append(e)
        self.producers_left = [len(self.into[k]) for k in tasks]
        self.released: list[int | None] = [None for _ in tasks]
        #: Of each task the edges whose data are not where it will be computed.
        self.lacks: list[dict[int, None]] = [dict.fromkeys(self.into[k]) for k in tasks]
        self.ran: list[Ran | None] = [None for _ in tasks]
        self.ended = [False for _ in tasks]
        self.sent = [-1 for _ in edges]
        self.arrived = [-1 for _ in edges]
        self.chunks = self.transfer_wait = 0
        self.way.begin(self)

    # Time.

    def go(self, stop: int | None) -> GraphRun:
        for k in range(len(self.gflop)):
            if not self.into[k]:
                self.release(k, self.now)
        if stop is not None and self.now >= stop:
            return self.result(stop)
        self.instant(self.now)
        while not all(self.ended):
            events = [core.ends for core in self.cores if core.task is not None]
            events += [core.answer for core in self.cores if core.answer is not None]
            events += [core.request for core in self.cores if core.in_flight and core.request is not None]
            if (due := self.transfers.next_ns()) is not None:
                events.append(due)
            here = all(core.there or core.released is not None for core in self.cores)
            if not events and not here and self.way.call_back():
                continue
            events += [at for at, _, _ in self.changes[:1]] + [one.at + 1 for one in self.resizes[:1]]
            if not events:
                if here:
                    raise TasksLeft
                if stop is None:
                    raise AllLost
                break
            if stop is not None and min(events) >= stop:
                break
            self.instant(min(events))
        return self.result(stop)

    def instant(self, t: int) -> None:
        self.now = t
        decided = None
        if self.resizes and self.resizes[0].at + 1 == t:
            decided = self.resizes.pop(0)
            if not decided.taken < {core.number for core in self.staying}:
                decided = None
        if decided is not None:
            self.ask_back(decided, t)
        lacking = [core for core in self.cores if core.task is None and t > self.transfers.base]
        while (due := self.transfers.next()) is not None and due <= t - self.transfers.base:
            self.arrivals(t)
        self.transfers.clock = max(self.transfers.clock, t - self.transfers.base)
        self.start_those(lacking, t)
        ended = [core for core in self.cores if core.task is not None and core.ends == t]
        for core in ended:
            self.end(core, t)
        for core in ended:
            self.way.idle(core, t)
        self.start_those(lacking, t)
        if decided is not None:
            self.resize(decided, t)
        while self.changes and self.changes[0][0] == t:
            _, c, speed = self.changes.pop(0)
            self.change(self.cores[c], speed, t)
        quiet = False
        while not quiet:
            quiet = True
            for core in self.cores:
                if core.answer == t:
                    core.answer, quiet = None, False
                    core.free = t
                    for k in core.hand:
                        self.fetch(k, core, t)
            while self.transfers.next_ns() is not None and self.transfers.next_ns() <= t:
                quiet &= not self.arrivals(t)
            for core in self.cores:
                if core.there and core.task is None and (k := self.way.next(core, t)) is not None:
                    self.start(core, k, t)
                    quiet = False
            quiet &= not self.way.serve(t)

    def arrivals(self, t: int) -> bool:
        """Transfers go on to where something happens next; whether something arrives."""
        arrived = self.transfers.step()
        for e in arrived:
            assert isinstance(e, int)
            self.arrive(e, t)
        return bool(arrived)

    def start_those(self, lacking: list[Core], t: int) -> None:
        for core in lacking:
            free = core.there and core.task is None and self.way.waits_for_data
            if free and (k := self.way.next(core, t)) is not None:
                self.start(core, k, t)

    # Tasks.

    def release(self, k: int, t: int) -> None:
        self.released[k] = t
        self.way.release(k, t)

    def start(self, core: Core, k: int, t: int) -> None:
        assert core.task is None
        assert not self.lacks[k]
        core.task, core.began, core.since, core.left = k, t, t, self.works[k][min(core.number, len(self.works[k]) - 1)]
        core.began = core.since = t + core.pays
        core.pays = 0
        core.ends = core.began + duration_ns(core.left, core.speed)

    def end(self, core: Core, t: int) -> None:
        k = core.task
        assert k is not None
        self.leave(core, t)
        core.times.append(t - core.began)
        self.ended[k] = True
        for e in self.out[k]:
            b = self.edges[e][1]
            self.producers_left[b] -= 1
            self.way.produced(e, core, t)
            if not self.producers_left[b]:
                self.release(b, t)

    def leave(self, core: Core, t: int) -> None:
        """A core stops computing its task, be it done or not."""
        assert core.task is not None
        self.ran[core.task] = Ran(core.chunk, core.label, core.began, t) if core.began < t else None
        self.by[core.task] = core.number
        core.busy += max(0, t - core.began)
        if core.began < t:  # or it has done nothing
            core.finish = t
        core.free = t
        core.task = None

    # Data.

    def fetch(self, k: int, core: Core, t: int) -> None:
        for e in self.into[k]:
            self.bring(e, core, t)

    def bring(self, e: int, core: Core, t: int) -> None:
        """The data of an edge, whose producer has ended, begin their way to a core."""
        a, b, _ = self.edges[e]
        if self.by[a] == core.number:
            self.lacks[b].pop(e, None)
        else:
            self.send(e, core.host, t)

    def send(self, e: int, host: int, t: int) -> None:
        """The data of an edge, whose producer has ended, begin their way to a host."""
        a, b, bytes_ = self.edges[e]
        if self.transfers.network.kind == "none" or bytes_ == 0:
            self.lacks[b].pop(e, None)
        else:
            self.sent[e], self.arrived[e] = t, -1
            if self.transfers.begin(e, self.cores[self.by[a]].host, host, bytes_, t):
                self.arrive(e, t)

    def arrive(self, e: int, t: int) -> None:
        self.arrived[e] = t
        self.lacks[self.edges[e][1]].pop(e)

    def forget(self, k: int) -> None:
        for e in self.into[k]:
            if e in self.transfers.moving:
                self.transfers.drop(e)
            self.sent[e] = self.arrived[e] = -1
        self.lacks[k] = dict.fromkeys(self.into[k])

    def waited(self, core: Core, k: int | None, t: int) -> None:
        if k is not None and (released := self.released[k]) is not None:
            self.transfer_wait += t - max(core.free, released)

    # Cores.

    def change(self, core: Core, speed: float, t: int) -> None:
        """A core has another speed, is lost, or comes."""
        if core.released is not None:
            return
        was, core.speed = core.speed, speed
        if was > 0 and speed == 0:
            self.way.lose(core, t)
        elif was == 0 and speed > 0:
            core.free = t
            self.way.come(core, t)
        elif core.task is not None:
            # What is left goes on at the new speed, and is never nothing.
            nano = Fraction(1, 10**9) if isinstance(was, Fraction) else 1e-9
            if t > core.since:
                core.left = max(core.left - (t - core.since) * nano * was, type(core.left)(1e-300))
                core.since = t
            core.ends = core.since + duration_ns(core.left, speed)

    # Changes of width.

    @property
    def staying(self) -> list[Core]:
        """The cores that are the job's, there or not, and are not to leave."""
        return [core for core in self.cores if core.released is None and not core.leaving]

    def ask_back(self, decided: Resize[float], t: int) -> None:
        """Let cores leave; cores without tasks leave at once."""
        asked = [self.cores[slot] for slot in sorted(decided.taken)]
        for core in asked:
            core.leaving = True
        for label in decided.asked:
            for core in self.staying:
                if core.label == label and len(self.staying) > 1:
                    core.leaving = True
                    asked.append(core)
        for core in self.staying:
            core.owes += decided.cost
        for core in asked:
            if not core.there or (core.task is None and self.way.has_nothing(core)):
                self.way.gone(core, t)
                self.depart(core, t)

    def depart(self, core: Core, t: int) -> None:
        core.leaving, core.released, core.request = False, t, None
        core.refused = core.home = core.looked_at = False

    def resize(self, decided: Resize[float], t: int) -> None:
        self.resized = True
        come = []
        for label, speed, latency in decided.given:
            gone = [core for core in self.cores if core.released is not None and core.released < t]
            core = gone[0] if gone else Core(len(self.cores), 0, 0, 0.0, t, self.start_ns)
            if not gone:
                self.cores.append(core)
            core.label, core.latency, core.speed, core.released, core.leaving = label, latency, speed, None, False
            core.free, core.owes, core.pays, core.hand, core.times = t, 0, 0, [], []
            come.append(core)
        for core in come:
            core.owes = decided.cost
            if core.there:
                self.way.come(core, t)
        self.way.restart(t)

    def take_back(self, core: Core, t: int) -> list[int]:
        rest = list(core.hand)
        if core.answer is None and core.task is None:
            self.waited(core, rest[0] if rest else None, t)
        if core.task is not None:
            k = core.task
            self.leave(core, t)
            self.ran[k], self.by[k] = None, -1
            rest.insert(0, k)
        core.hand, core.request, core.answer, core.times = [], None, None, []
        return rest

    # The end.

    def result(self, stop: int | None) -> GraphRun:
        """The result; events after the stop are cut."""
        cut = [core for core in self.cores if core.under_way or core.in_flight]
        for core in self.cores:
            if core.task is None:
                if core.there and core.answer is None and stop is not None:
                    self.waited(core, self.way.in_hand(core), stop)
            else:
                k, done = core.task, core.ends == stop
                assert stop is not None
                self.leave(core, stop)
                self.ended[k] = done
        if stop is not None and not all(self.ended):
            for core in cut or [core for core in self.cores if core.released is None]:
                core.finish = stop
        for e, (a, b, _) in enumerate(self.edges):
            one, other = self.ran[a], self.ran[b]
            if one is not None and other is not None and self.by[a] == self.by[b]:
                self.sent[e] = self.arrived[e] = -1
        finish, busy = ([getattr(core, name) for core in self.cores] for name in ("finish", "busy"))
        last = max(finish)
        released = [None if core.released is None or core.released >= last else core.released for core in self.cores]
        return GraphRun(self.ran, self.sent, self.arrived, finish, busy, self.chunks, self.transfer_wait, released)
