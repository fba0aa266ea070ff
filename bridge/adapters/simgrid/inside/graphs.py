"""Graphs as SimGrid's actors compute them: data between hosts; tasks in rounds (``PROTOCOL.md``, section 7) or planned."""

import heapq
from typing import Any, NamedTuple

import simgrid

from .loops import Desk, LastChunk, moments
from .world import SimulatedPart, World, ask, put


class Sending(NamedTuple):
    """Data under way."""

    source: int  # tasks counted within the part
    target: int
    bytes: float
    sent_ns: int
    comm: Any  # a SimGrid communication; None within a host
    due_s: float  # arrival within a host


class GraphData(SimulatedPart):
    """A part that is a graph: its ``tasks`` begin at ``first`` in the job; ``producers`` and ``consumers`` of each task,
    as (task, bytes); and ``at``, the core that computes it, -1 while unknown."""

    def __init__(self, world: World, number: int, first: int, tasks: int) -> None:
        self.world, self.number, self.first, self.tasks = world, number, first, tasks
        self.producers: list[list[tuple[int, float]]] = [[] for _ in range(tasks)]
        self.consumers: list[list[tuple[int, float]]] = [[] for _ in range(tasks)]
        for source, target, n_bytes in world.job["parts"][number]["edges"]:
            self.consumers[source].append((target, n_bytes))
            self.producers[target].append((source, n_bytes))
        self.at = [-1] * tasks
        self._inbound: list[list[Sending]] = [[] for _ in range(tasks)]

    def send(self, source: int, target: int, n_bytes: float) -> None:
        """Send the output of a task to the core of another one, if that is another core and there is a network."""
        world, network = self.world, self.world.job["network"]
        here, there = self.at[source], self.at[target]
        if network is None or here == there or n_bytes == 0.0:
            return
        now_s, comm = world.engine.clock, None
        if world.hosts[here] is world.hosts[there]:
            memory = network["memory"]
            now_s += n_bytes / memory if memory else 0.0
        else:
            comm = simgrid.Comm.sendto_init(world.hosts[here], world.hosts[there])
            comm.set_payload_size(round(n_bytes))  # SimGrid needs whole bytes
            comm.start()
        self._inbound[target].append(Sending(source, target, n_bytes, world.now_ns(), comm, now_s))

    def wait_for_data(self, task: int) -> None:
        """Wait, in the actor that is to compute a task, until its data have arrived."""
        world = self.world
        for sending in self._inbound[task]:
            if sending.comm is None:
                simgrid.this_actor.sleep_until(max(sending.due_s, world.engine.clock))
                arrived_ns = round(sending.due_s * 1e9)
            else:
                sending.comm.wait()
                arrived_ns = round(sending.comm.finish_time * 1e9)
            pair = self.first + sending.source, self.first + sending.target
            world.transfers.append((*pair, sending.bytes, sending.sent_ns, max(sending.sent_ns, arrived_ns)))
        self._inbound[task].clear()


class PlannedPart(GraphData):
    """A part that is planned when it begins, with the speeds of the cores at that time."""

    def __init__(self, world: World, number: int, first: int, tasks: int) -> None:
        super().__init__(world, number, first, tasks)
        self._sequences: list[list[int]] | None = None
        self._produced = [simgrid.Semaphore(0) for _ in range(tasks)]
        self._ended = [False] * len(world.speed)
        self._ready_ns = [0] * tasks  # end of a task's last producer

    def core(self, c: int) -> None:
        world = self.world
        if self._sequences is None:
            self._sequences = ask("plan", self.number, world.now_ns())
            for core, sequence in enumerate(self._sequences):
                for task in sequence:
                    self.at[task] = core
            self._ready_ns = [world.now_ns()] * self.tasks
        for task in self._sequences[c]:
            free_ns = world.now_ns()
            for _ in self.producers[task]:
                self._produced[task].acquire()
            ready_ns = max(free_ns, self._ready_ns[task])
            self.wait_for_data(task)
            if world.job["network"] is not None:
                world.wait_ns += world.now_ns() - ready_ns
            chunk, world.chunks = world.chunks, world.chunks + 1
            world.compute(c, self.first + task, chunk)
            for target, n_bytes in self.consumers[task]:
                self.send(task, target, n_bytes)
                self._ready_ns[target] = max(self._ready_ns[target], world.now_ns())
                self._produced[target].release()
        self._ended[c] = True

    def idles(self, c: int) -> bool:
        return self._ended[c]

    def number_chunks(self) -> None:
        world = self.world
        tasks = [task for task in range(self.first, self.first + self.tasks) if world.chunk[task] >= 0]
        numbers = sorted(world.chunk[task] for task in tasks)
        tasks.sort(key=lambda task: (world.start_ns[task], world.core[task], world.chunk[task]))
        for task, number in zip(tasks, numbers, strict=True):
            world.chunk[task] = number


# Activities of a core: it requests work, waits for tasks, computes, waits for the next round, or has no more to do.
ASKS, IDLES, BUSY, AWAY, DONE = range(5)


class RoundsPart(GraphData):
    """A part whose waiting tasks are a loop for its technique; when all are assigned, the tasks that wait then are the next."""

    def __init__(self, world: World, number: int, first: int, tasks: int) -> None:
        super().__init__(world, number, first, tasks)
        given = world.job["parts"][number]
        self._learns: bool = given["learns"]
        self._missing = [len(producers) for producers in self.producers]
        self._by_rank: bool = given["by_rank"]
        self._position = self._at_position = list(range(tasks))
        self._begun = False
        self._waiting: list[int] = []  # positions of the tasks that can be assigned
        self._idle: list[int] = []  # cores
        self._does = [ASKS] * len(world.speed)
        self._away_ns = [0] * len(world.speed)
        self._last = [LastChunk() for _ in world.speed]
        self._left = tasks  # not assigned yet
        self._round_tasks = self._round_left = self._requests = 0
        self._round = -1
        self._shares = False  # whether a 0 is overruled, as some core was busy when the round began
        self._desk = Desk(len(world.speed), self._serve)

    def _begin(self) -> None:
        """Order the waiting tasks by the present speeds of the cores."""
        self._begun = True
        if self._by_rank:
            self._position = ask("order", self.number, self.world.now_ns())
            self._at_position = [0] * self.tasks
            for task, place in enumerate(self._position):
                self._at_position[place] = task
        self._waiting = sorted(self._position[task] for task in range(self.tasks) if self._missing[task] == 0)

    def core(self, c: int) -> None:
        world = self.world
        if not self._begun:
            self._begin()
        while True:
            world.sleep(world.latency_s[c])
            chunk, tasks, served_ns, worked_out_s = self._desk.ask(c)
            asked_ns = served_ns - round(world.latency_s[c] * 1e9)
            if not tasks:
                world.sleep((served_ns - world.now_ns()) * 1e-9 + world.latency_s[c])
                return
            world.fetch_answer(c, asked_ns, worked_out_s)
            command_ns = world.now_ns()
            for task in tasks:
                for source, n_bytes in self.producers[task]:
                    self.send(source, task, n_bytes)
            took = []
            for task in tasks:
                free_ns = max(command_ns, world.now_ns())
                self.wait_for_data(task)
                if world.job["network"] is not None:
                    world.wait_ns += world.now_ns() - free_ns
                took.append(world.compute(c, self.first + task, chunk))
                if task == tasks[-1]:
                    self._does[c] = ASKS
                    self._last[c] = LastChunk.of(took, world.now_ns() - asked_ns)
                # A core that requests again at once is served together with the cores that it wakes.
                self._ended(task, asks_now=task == tasks[-1] and world.latency_s[c] == 0.0)

    def _ended(self, task: int, *, asks_now: bool) -> None:
        woken = False
        for target, _ in self.consumers[task]:
            self._missing[target] -= 1
            if self._missing[target] == 0:
                heapq.heappush(self._waiting, self._position[target])
                woken = self._wake() or woken
        if woken and not asks_now:
            self._desk.settle()

    def _wake(self) -> bool:
        if not self._idle:
            return False
        c = heapq.heappop(self._idle)
        self._does[c] = ASKS
        self._desk.recall(c)
        return True

    def _serve(self, c: int) -> None:
        world, now_ns = self.world, self.world.now_ns()
        if self._round_left == 0:
            if self._learns and self._last[c].size > 0:
                self._size(c, 0)
            if not self._waiting:
                if self._left == 0:
                    self._send_home(c, now_ns)
                else:
                    self._does[c] = IDLES
                    heapq.heappush(self._idle, c)
                return
            self._begin_round()
        size = self._size(c, self._round_left)
        if size == 0 and not self._shares:
            self._does[c] = AWAY
            self._away_ns[c] = now_ns
            if not self._wake() and BUSY not in self._does and ASKS not in self._does:
                world.stuck(self._left)
            return
        size = size or -(-self._round_left // len(world.speed))
        tasks = [self._at_position[heapq.heappop(self._waiting)] for _ in range(size)]
        for task in tasks:
            self.at[task] = c
        chunk, world.chunks = world.chunks, world.chunks + 1
        self._does[c] = BUSY
        self._left -= size
        self._round_left -= size
        self._requests += 1
        self._desk.answer(c, (chunk, tasks, now_ns, world.worked_out_s()))
        if self._left == 0:
            self._dismiss(now_ns)
        elif self._round_left == 0:
            self._end_round()

    def _size(self, c: int, left: int) -> int:
        world = self.world
        last, self._last[c] = self._last[c], LastChunk()
        size: int = ask("ask", c, self._requests, left, world.chunks, world.now_ns(), *last)[0]
        return size

    def _begin_round(self) -> None:
        self._round += 1
        self._round_left = self._round_tasks = len(self._waiting)
        self._requests = 0
        lengths = [self.world.length[self.first + self._at_position[place]] for place in self._waiting]
        put("begin", self.number, self._round, self.world.now_ns(), self._round_tasks, *moments(lengths))
        self._shares = BUSY in self._does

    def _end_round(self) -> None:
        away = [c for c, does in enumerate(self._does) if does == AWAY]
        for c in away:
            self._does[c] = IDLES
            heapq.heappush(self._idle, c)
        for _ in range(len(self._waiting) if away else 0):
            if not self._wake():
                return

    def _dismiss(self, now_ns: int) -> None:
        for c, does in enumerate(self._does):
            if does == IDLES:
                self._send_home(c, now_ns)
            elif does == AWAY:
                self._send_home(c, self._away_ns[c])
        self._idle.clear()

    def _send_home(self, c: int, served_ns: int) -> None:
        self._does[c] = DONE
        self._desk.answer(c, (0, [], served_ns, 0.0))

    def idles(self, c: int) -> bool:
        return self._does[c] in (IDLES, AWAY, DONE)
