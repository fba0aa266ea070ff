"""A scheduler of the user's own whose process, connection and clock are simulated, from a seed: delays, pieces, faults."""

from __future__ import annotations

import random
import select
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from unittest import mock

from bridge.protocol.framing import frame
from bridge.protocol.scheduler_messages import (
    Decide,
    Decided,
    Eligible,
    Ended,
    GivenUp,
    Quit,
    SchedulerHello,
    SchedulerMessage,
    SchedulerRole,
    Started,
    StartJob,
    Submitted,
)
from bridge.protocol.scheduler_session import SchedulerProtocolError, SchedulerSession
from bridge.protocol.session import NEED_DATA, ConnectionClosed
from bridge.schedulers import line as lines
from bridge.schedulers.external import ExternalScheduler

__all__ = ["FAULTS", "TIMEOUT_S", "VirtualScheduler"]

#: What may go wrong, besides nothing.
FAULTS = ("killed", "silent", "garbage", "half a frame", "twice", "slow")

TIMEOUT_S = 5.0

_TOKEN = "t" * 64


class _Fcfs:
    """The other end: first come, first served, on the cores that the bridge chooses."""

    def __init__(self) -> None:
        self.session = SchedulerSession(SchedulerRole.SCHEDULER)
        self._waiting: dict[int, Submitted] = {}
        self._held: dict[int, Submitted] = {}
        self.over = False

    def hear(self, data: bytes) -> Iterator[bytes]:
        self.session.receive_data(data)
        while (event := self.session.next_event()) is not NEED_DATA:
            if isinstance(event, GivenUp | Quit | ConnectionClosed):
                self.over = True
                return
            if isinstance(event, Submitted):
                (self._held if event.eligible_ns is None else self._waiting)[event.job] = event
            elif isinstance(event, Eligible):
                self._waiting[event.job] = self._held.pop(event.job)
            elif isinstance(event, Started | Ended):
                self._waiting.pop(event.job, None)
                self._held.pop(event.job, None)
            elif isinstance(event, Decide):
                yield self.session.send(self._decided(event))

    def _decided(self, question: Decide) -> SchedulerMessage:
        free, chosen = question.free_cores, []
        for job in sorted(self._waiting.values(), key=lambda one: one.first):
            if job.cores > free:
                break
            free -= job.cores
            chosen.append(StartJob(job=job.job, cores=None))
        return Decided(
            decision=question.decision, start=tuple(chosen), reject=(), wake_ns=(), scale=(), end=(), resize=(), hint=()
        )


class _World:
    """The clock, both directions of the connection, and the process; a plug, a poll and a process to whoever asks."""

    def __init__(self, seed: int, fault: str | None, at: int) -> None:
        self._draw = random.Random(seed)
        self._fault, self._at = fault, at
        self.now_s = 0.0
        self._there: deque[tuple[float, bytes]] = deque()
        self._back: deque[tuple[float, bytes]] = deque()
        self._peer = _Fcfs()
        self._answers = 0
        self._is_silent = self._has_closed = self._wants_room = False
        self.is_killed = False
        self.story: list[str] = []
        self.family = 1  # a Unix socket
        self._answer(
            self._peer.session.send(SchedulerHello(version=4, role="scheduler", token=_TOKEN, name="v", directs=()))
        )

    # ---- as a plug ----

    def setblocking(self, is_so: bool) -> None:
        pass

    def fileno(self) -> int:
        return 7

    def send(self, data: memoryview) -> int:
        if not len(data):
            return 0
        if self._draw.random() < 0.2:
            raise BlockingIOError
        taken = len(data) if self._draw.random() < 0.5 else self._draw.randint(1, len(data))
        self._carry(self._there, bytes(data[:taken]))
        return taken

    def recv(self, most: int) -> bytes:
        if self._back and self._back[0][0] <= self.now_s:
            return self._back.popleft()[1]
        if self._has_closed and not self._back:
            return b""
        raise BlockingIOError

    def shutdown(self, how: int) -> None:
        self.story.append("hung up")

    def close(self) -> None:
        self.story.append("closed")

    # ---- as a poll ----

    def register(self, what: Any, events: int = 0) -> None:
        pass

    def modify(self, what: Any, events: int) -> None:
        self._wants_room = bool(events & select.POLLOUT)

    def poll(self, patience_ms: float) -> list[tuple[int, int]]:
        until_s = self.now_s + patience_ms / 1000.0
        if self._wants_room:
            self.now_s += 0.001
            return [(self.fileno(), select.POLLOUT)]
        while True:
            if (self._back and self._back[0][0] <= self.now_s) or (self._has_closed and not self._back):
                return [(self.fileno(), select.POLLIN)]
            arrivals = [queue[0][0] for queue in (self._there, self._back) if queue]
            if not arrivals or min(arrivals) > until_s:
                self.now_s = until_s
                return []
            self.now_s = max(self.now_s, min(arrivals))
            while self._there and self._there[0][0] <= self.now_s:
                self._heard(self._there.popleft()[1])

    # ---- as a process ----

    def wait(self, patience_s: float) -> bool:
        while self._there and not self._is_silent:
            self.now_s = max(self.now_s, self._there[0][0])
            self._heard(self._there.popleft()[1])
        return self.is_killed or self._peer.over

    # ---- the other end ----

    def _carry(self, queue: deque[tuple[float, bytes]], data: bytes) -> None:
        # In order, as a stream is; in pieces, each later than the one before.
        while data:
            size = len(data) if self._draw.random() < 0.6 else self._draw.randint(1, len(data))
            last_s = queue[-1][0] if queue else self.now_s
            queue.append((max(last_s, self.now_s) + self._draw.choice((0.0, 0.001, 0.05)), data[:size]))
            data = data[size:]

    def _heard(self, data: bytes) -> None:
        if self._is_silent or self.is_killed or self._peer.over:
            return
        try:
            for answer in self._peer.hear(data):
                self._answer(answer)
        except SchedulerProtocolError as error:
            raise AssertionError(f"the bridge is to blame: {error}") from error

    def _answer(self, data: bytes) -> None:
        self._answers += 1
        self.story.append(f"{self.now_s:.3f} answer {self._answers}")
        if self._answers != self._at or self._fault is None:
            return self._carry(self._back, data)
        self.story.append(self._fault)
        if self._fault == "killed":
            self.is_killed = self._has_closed = True
            self._back.clear()
        elif self._fault == "silent":
            self._is_silent = True
        elif self._fault == "garbage":
            self._carry(self._back, frame(self._draw.randbytes(20)))
        elif self._fault == "half a frame":
            self._carry(self._back, data[: self._draw.randint(1, len(data) - 1)])
            self.is_killed = self._has_closed = True
        elif self._fault == "twice":
            self._carry(self._back, data * 2)
        else:
            assert self._fault == "slow"
            self._back.append((self.now_s + self._draw.uniform(0.5, 1.5) * TIMEOUT_S, data))
        return None


class _Process:
    def __init__(self, world: _World) -> None:
        self._world = world

    def wait(self, patience_s: float) -> bool:
        return self._world.wait(patience_s)

    def close(self) -> str:
        return "was killed by SIGKILL" if self._world.is_killed else "exited with status 0"


class VirtualScheduler(ExternalScheduler):
    """Everything of a real one but its process, its connection and the clock.

    Parameters
    ----------
    seed : int
        Of delays, and of the pieces in which bytes arrive.
    fault : str, optional
        One of :data:`FAULTS`, in place of the answer number ``at``; the hello is the first.
    """

    def __init__(self, seed: int, fault: str | None = None, at: int = 0) -> None:
        super().__init__("true", TIMEOUT_S)
        self._drawn = seed, fault, at

    def __enter__(self) -> VirtualScheduler:
        self.world = world = _World(*self._drawn)
        self._told_machine, self._waiting = False, {}
        self._instead = _instead(world)
        self._instead.__enter__()
        process: Any = _Process(world)
        try:
            plug: Any = world
            met: Any = SimpleNamespace(listening=None, text="", close=lambda: None)
            self._address, self._process = met, process
            self._line = _met(lines.Line(plug, _TOKEN), world)
        except BaseException as error:
            self._instead.__exit__(None, None, None)
            raise self._end(error) from error
        return self

    def __exit__(self, *error: Any) -> None:
        try:
            super().__exit__(*error)
        finally:
            self._instead.__exit__(None, None, None)


@contextmanager
def _instead(world: _World) -> Iterator[None]:
    with (
        mock.patch.object(lines, "time", SimpleNamespace(monotonic=lambda: world.now_s)),
        mock.patch.object(
            lines, "select", SimpleNamespace(poll=lambda: world, POLLIN=select.POLLIN, POLLOUT=select.POLLOUT)
        ),
    ):
        yield


def _met(line: lines.Line, world: _World) -> lines.Line:
    # What bridge.schedulers.line.meet does with the one who is no stranger.
    meeting: Any = SimpleNamespace(_strangers={7: line}, _dismiss=lambda descriptor, why: world.story.append(why))
    deadline_s = world.now_s + TIMEOUT_S
    while True:
        if not world.poll(1000.0 * (deadline_s - world.now_s)):
            raise lines.Silence(f"it has not connected and said hello for {TIMEOUT_S:g} s")
        if (found := lines._Meeting._heed(meeting, 7)) is not None:
            lines.welcome(found, TIMEOUT_S)
            return found
        if line.gone:
            raise lines.PeerError("it has ended before it has connected and said hello")
