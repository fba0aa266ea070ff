"""The supervisor among stand-ins, the places of cores in a job, and what a run needs of an application simulator."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from conversation import TOKEN, changed, hello, outcome, start

from bridge.couplings.places import Places
from bridge.protocol.messages import Message
from bridge.protocol.session import ConnectionClosed, ProtocolError
from bridge.workers.assignment import Assignment, Order
from bridge.workers.needs import Needs
from bridge.workers.places import Place
from bridge.workers.supervisor import Supervisor
from traces.base.time import MAX_NS


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


def test_cores_come_to_the_first_places_that_are_free() -> None:
    begun = Places.of(np.array([4, 5, 9]), 10)
    assert begun.latest.tolist() == [4, 5, 9]
    wider = begun.with_cores([6, 7], np.array([True, False, True]), 20)
    assert wider.latest.tolist() == [4, 6, 9, 7]
    assert wider.place.tolist() == [0, 1, 2, 1, 3]
    assert wider.until_ns.tolist() == [MAX_NS, 20, MAX_NS, MAX_NS, MAX_NS]
    places, at_ns = np.array([1, 1, 1, 3, 0]), np.array([10, 19, 20, 25, 30])
    assert wider.cores_of(places, at_ns).tolist() == [5, 5, 6, 7, 4]


def test_a_core_that_comes_again_is_at_its_new_place_only() -> None:
    begun = Places.of(np.array([4, 5]), 0)
    moved = begun.with_cores([8], np.array([True, False]), 5).with_cores([5], np.array([True, True]), 9)
    assert moved.latest.tolist() == [4, 8, 5]
    assert moved.last_there.tolist() == [True, True, True]
    # Core 4 goes, and comes to the place of 8, which has gone before: its first place is nobody's now.
    again = moved.with_cores([4], np.array([True, False, True]), 12)
    assert again.latest.tolist() == [4, 4, 5]
    assert again.last_there.tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("needs", "lacks", "said"),
    [
        (Needs(releases=True), "releases", "--coordination release: 'toy' cannot follow it: {}; allowed: none"),
        (
            Needs(releases=True, hints=True),
            "releases",
            "--coordination hint: 'toy' cannot follow it: {}; allowed: none",
        ),
        (
            Needs(releases=True, hints=True),
            "hints",
            "--coordination hint: 'toy' cannot follow it: {}; allowed: none, release",
        ),
        (
            Needs(resizes=True, releases=True),
            "resizes",
            "--malleable: 'toy' cannot follow it: {}; allowed: --resize mold, or without it",
        ),
        (Needs(wishes=True), "wishes", "--resize evolve: 'toy' never wishes: {}; allowed: another one"),
        (
            Needs(scaled_by="--fallback dvfs"),
            "scales",
            "--fallback dvfs: 'toy' cannot follow it: {}; allowed: none, hold, stop:idle, stop:off",
        ),
        (
            Needs(scaled_by="--bls mine, which directs speeds"),
            "scales",
            "--bls mine, which directs speeds: 'toy' cannot follow it: {}; allowed: a policy that leaves speeds alone",
        ),
    ],
)
def test_the_option_and_what_is_allowed(needs: Needs, lacks: str, said: str) -> None:
    able = dict.fromkeys(("releases", "hints", "resizes", "wishes", "scales"), True)
    assert needs.unmet_by(hello(name="toy")) is None
    assert needs.unmet_by(hello(name="toy", **(able | {lacks: False}))) == said.format(
        f"its hello says {lacks} = false"
    )
    assert Needs().unmet_by(hello(**dict.fromkeys(able, False))) is None
