"""One job in SimGrid: its cores as hosts, its clock, its tasks, suspensions and stops; and the pipe to the adapter.

A message on the pipe is one line of JSON, in turns: after a request, the sender waits for the answer."""

import json
import os
import sys
from collections import deque
from typing import Any

import simgrid

from .platform import build


def receive() -> Any:
    """Return the next message from the adapter; without one, as the adapter is gone, exit quietly."""
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def put(*said: Any) -> None:
    """Send a message that needs no answer."""
    print(json.dumps(said, separators=(",", ":")), flush=True)


def ask(*said: Any) -> Any:
    """Send a message, and return the answer."""
    put(*said)
    return receive()


FLOP = 1e9  # flops in SimGrid for one GFLOP of work

#: SimGrid treats instants within 1 ns as equal: the conductor stops this much earlier, before all events of its instant.
BEFORE_S = 1.5e-9
HALF_NS = 0.5e-9


class SimulatedPart:
    """One of the parts of a job."""

    def core(self, c: int) -> None:
        """Run core ``c`` in this part, in its actor."""
        raise NotImplementedError

    def idles(self, c: int) -> bool:
        """Whether core ``c`` waits for nothing by itself: it was dismissed, or waits for tasks that other cores release."""
        raise NotImplementedError

    def number_chunks(self) -> None:
        """Number the chunks that have begun; by default they were numbered when they were assigned."""


class World:
    """A job that SimGrid simulates; instants are ns from its start. ``start_ns``, ``end_ns``, ``core`` and ``chunk`` are
    those of each task; -1: not yet. ``transfers`` are (source, target, bytes, sent_ns, arrived_ns) between cores."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.job = job
        self.length: list[float] = job["lengths"]
        self.speed: list[float] = job["speed"]
        self.latency_s = [ns * 1e-9 for ns in job["latency"]]
        self.overhead_s: float = job["overhead"] * 1e-9
        n, p = len(self.length), len(self.speed)
        self.start_ns, self.end_ns, self.core, self.chunk = [-1] * n, [-1] * n, [-1] * n, [-1] * n
        self.finish_ns, self.busy_ns = [0] * p, [0] * p
        self.transfers: list[tuple[int, int, float, int, int]] = []
        self.parts: list[SimulatedPart] = []
        self.wait_ns = self.scheduling_ns = self.chunks = 0
        self.undone = n
        self._part: SimulatedPart | None = None  # the part that runs
        self.stop_ns: int | None = job["stop"]
        self.until_ns: int | None = job["until"]
        self.stopped = False
        self._floor_ns = 0
        self.engine = simgrid.Engine(["twolevel", "--log=root.thresh:critical", *job["settings"]])
        self.hosts, self.cores = build(self.engine, job["network"], self.speed, FLOP)
        self._master: bool = job["master"]
        self._master_free_s = 0.0
        self.barrier = simgrid.Barrier(p)
        self._speed_now = list(self.speed)
        self._changes: list[deque[tuple[float, float]]] = [deque() for _ in self.speed]
        self._take(job["changes"])

    def now_ns(self) -> int:
        """SimGrid's clock in whole ns, never before an instant at which the job was suspended."""
        return max(self._floor_ns, round(float(self.engine.clock) * 1e9))

    def sleep(self, seconds: float) -> None:
        """Let the actor wait."""
        if seconds > 0.0:
            simgrid.this_actor.sleep_for(seconds)

    def worked_out_s(self) -> float:
        """When the chunk of a request served now is determined: by its core, or by the master, one after another."""
        begin_s = float(self.engine.clock)
        if self._master:
            begin_s = max(begin_s, self._master_free_s)
            self._master_free_s = begin_s + self.overhead_s
        return begin_s + self.overhead_s

    def fetch_answer(self, c: int, asked_ns: int, worked_out_s: float) -> None:
        """Let core ``c``, in its actor, wait until its chunk is determined and the message has arrived."""
        if worked_out_s > self.engine.clock:
            simgrid.this_actor.sleep_until(worked_out_s)
        self.sleep(self.latency_s[c])
        self.scheduling_ns += self.now_ns() - asked_ns

    def compute(self, c: int, task: int, chunk: int) -> int:
        """Compute a task of the job on core ``c``, in its actor; return its time, ns."""
        begin = self.now_ns()
        if self.stop_ns is not None and begin >= self.stop_ns:
            simgrid.this_actor.suspend()  # the job is stopped now
        self.start_ns[task], self.core[task], self.chunk[task] = begin, c, chunk
        self._execute(c, self.length[task])
        end = self.end_ns[task] = self.finish_ns[c] = self.now_ns()
        self.busy_ns[c] += end - begin
        self.undone -= 1
        return end - begin

    def run(self) -> None:
        """Run the job: one actor per core, which goes from part to part with a barrier after each."""

        def core(c: int) -> None:
            try:
                for part in self.parts:
                    self._part = part
                    part.core(c)
                    self.barrier.wait()
            except Exception as error:
                put("fault", f"{type(error).__name__}: {error}")
                os._exit(1)

        for c, host in enumerate(self.cores):
            create(f"core {c}", host, core, c)
        if self.until_ns is not None or self.stop_ns is not None:
            create("conductor", self.cores[0], self._conduct).daemonize()
        self.engine.run()

    def _conduct(self) -> None:
        """Suspend the job where the bridge requires it, and end it where it is stopped."""
        while self.until_ns is not None or self.stop_ns is not None:
            if self.until_ns is not None and (self.stop_ns is None or self.until_ns <= self.stop_ns):
                simgrid.this_actor.sleep_until(max(self.engine.clock, self.until_ns * 1e-9 - BEFORE_S))
                self._floor_ns = max(self._floor_ns, self.until_ns)
                if self.undone == 0:
                    return  # only notifications of cores are left
                order = ask("suspended", self.until_ns)
                self.until_ns, self.stop_ns = order["until"], order["stop"]
                self._take(order["changes"])
            elif self.stop_ns is not None:
                simgrid.this_actor.sleep_until(max(self.engine.clock, self.stop_ns * 1e-9))
                for _ in range(3):  # cores that end now are notified and dismissed
                    simgrid.this_actor.yield_()
                if self.undone > 0:
                    self._cut(self.stop_ns)
                return

    def _cut(self, stop_ns: int) -> None:
        self.stopped = True
        for task, begin in enumerate(self.start_ns):
            if begin >= 0 and self.end_ns[task] < 0:
                self.end_ns[task] = stop_ns
                self.busy_ns[self.core[task]] += stop_ns - begin
        idle = [self._part is not None and self._part.idles(c) for c in range(len(self.cores))]
        for c, idles in enumerate(idle):
            if not idles or all(idle):  # between two parts no core waits by itself
                self.finish_ns[c] = stop_ns
        self.report()
        os._exit(0)  # its actors have nothing more to report

    def stuck(self, left: int) -> None:
        """Report that the technique has dismissed every core, and exit."""
        put("stuck", left)
        os._exit(0)

    def report(self) -> None:
        """Report how the job has ended."""
        for part in self.parts:
            part.number_chunks()
        of_job = ("stopped", "wait_ns", "scheduling_ns", "chunks", "finish_ns", "busy_ns")
        ended = {name: getattr(self, name) for name in ("start_ns", "end_ns", "core", "chunk", *of_job)}
        put("ended", ended | {"transfers": sorted(self.transfers)})

    def _take(self, changes: list[tuple[int, int, float]]) -> None:
        """Add changes of speed (instant, core, GFLOP/s) to the known ones; at one instant the last one counts."""
        for at_ns, c, speed in changes:
            self._changes[c].append((at_ns * 1e-9, speed))
        for c in {core for _, core, _ in changes}:
            self._changes[c] = deque(sorted(self._changes[c], key=lambda change: change[0]))

    def _execute(self, c: int, gflop: float) -> None:
        """Let the actor of core ``c`` do this work, in pieces where its speed changes. SimGrid's Python supports a speed
        profile for one host at most, so a piece at another speed is scaled to more or less work. No piece extends beyond
        a suspension, since its resumption may change speeds."""
        left = gflop
        while left > 0.0:
            now_s, ahead = float(self.engine.clock), self._changes[c]
            while ahead and ahead[0][0] <= now_s + HALF_NS:
                self._speed_now[c] = ahead.popleft()[1]
            ends = [ahead[0][0]] if ahead else []
            if self.until_ns is not None and self.until_ns * 1e-9 > now_s + HALF_NS:
                ends.append(self.until_ns * 1e-9)
            need_s = left / self._speed_now[c]
            if not ends or now_s + need_s <= min(ends):
                simgrid.this_actor.execute(need_s * self.speed[c] * FLOP)
                return
            piece_s = min(ends) - now_s
            simgrid.this_actor.execute(piece_s * self.speed[c] * FLOP)
            left -= piece_s * self._speed_now[c]


def create(name: str, host: Any, function: Any, *arguments: Any) -> Any:
    """An actor of this host."""
    if hasattr(host, "add_actor"):
        return host.add_actor(name, function, *arguments)
    return simgrid.Actor.create(name, host, function, *arguments)
