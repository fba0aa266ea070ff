"""The supervisor among stand-ins: what it does with workers that are lost, in an order that is drawn by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any

from conversation import TOKEN, changed, hello, outcome, start

from bridge.protocol.messages import Message
from bridge.protocol.session import ConnectionClosed, ProtocolError
from bridge.workers.assignment import Assignment, Order
from bridge.workers.needs import Needs
from bridge.workers.places import Place
from bridge.workers.supervisor import Supervisor


class Launcher:
    """Starts nobody, and remembers what it was asked."""

    def __init__(self) -> None:
        self.launched: list[str] = []
        self.killed: list[str] = []
        self.launch, self.kill = self.launched.append, self.killed.append

    def greeted(self, worker: str) -> None:
        pass


class Stub:
    """The bridge's end of a connection: the test says what arrives on it, and sees what was said."""

    def __init__(self) -> None:
        self.said: list[Message] = []
        self.ended = False
        self.messages = self.bytes_sent = self.bytes_received = 0
        self.say = self.said.append
        self.session = SimpleNamespace(hold_to=lambda job, bound_ns: None)
        self._arrived: asyncio.Queue[Message | ProtocolError | None] = asyncio.Queue()

    def arrive(self, what: Message | None) -> None:
        """A message, or None for the end of the stream."""
        self._arrived.put_nowait(what)

    async def hear(self) -> Message | ConnectionClosed:
        what = await self._arrived.get()
        if what is not None:
            return what
        self.ended = True
        raise ProtocolError("it closed the connection", blame="application")

    def abort(self) -> None:
        self._arrived.put_nowait(None)


def order(row: int) -> Order:
    return Order(changed(start("recipe"), job=row, attempt=0), 100, 100 + row, payload=lambda: None)  # type: ignore[arg-type,return-value]


async def _turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def played(
    scene: Callable[[Supervisor, Callable[[str], Stub]], Coroutine[Any, Any, None]], jobs_per_worker: int | None
) -> None:
    """Play a scene with a supervisor for two jobs, of which one is simulated at once."""

    async def play() -> None:
        own = Supervisor(1, jobs_per_worker, 1.0, None, "unix", "ss", needs=Needs())
        alive = 1 if jobs_per_worker is None else 2
        own._workforce.places.append(Place("here", Launcher(), Assignment(1, own._depth), 1, alive, here=True))
        own._jobs.expected = 2
        own._workforce.recruit()
        tasks = []

        def connected(worker: str) -> Stub:
            connection = Stub()
            said = hello(worker=worker, token=TOKEN, tasks="recipe")
            tasks.append(asyncio.create_task(own._serve(said, connection)))  # type: ignore[arg-type]
            return connection

        await scene(own, connected)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(play())


def test_what_comes_from_a_worker_that_was_given_up_is_not_taken() -> None:
    async def scene(own: Supervisor, connected: Callable[[str], Stub]) -> None:
        connection = connected("w0")
        await _turns()
        own.submit(order(0))
        assert [message.attempt for message in connection.said] == [0]
        # Its answer arrives, and before it is read, the worker is given up since it has been silent for too long.
        connection.arrive(changed(outcome(), job=0, attempt=0))
        own._workforce.lose(own._workforce.workers["w0"])
        await _turns()
        assert own._jobs.failure is None
        assert own.reports == {}
        second = connected("w1")
        await _turns()
        assert [message.attempt for message in second.said] == [1]
        second.arrive(changed(outcome(), job=0, attempt=1))
        await _turns()
        assert own.reports[0].outcome.attempt == 1
        assert own.cost["retries"] == 1

    played(scene, None)


def test_a_job_that_waits_is_given_away_as_soon_as_a_worker_is_lost() -> None:
    async def scene(own: Supervisor, connected: Callable[[str], Stub]) -> None:
        first, second = connected("w0"), connected("w1")
        await _turns()
        own.submit(order(0))
        own.submit(order(1))  # one is simulated at once
        assert [len(first.said), len(second.said)] == [1, 0]
        # How its process has ended is not known yet, and will not be for a while.
        first.arrive(None)
        await _turns()
        assert [message.job for message in second.said] == [1]

    played(scene, 1)
