"""A session on a blocking socket: large messages, another end that is gone, and coroutines that need an event loop."""

import asyncio
import random
import socket
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from conversation import TOKEN, changed, hello, lengths, records, start

from bridge.protocol.application_book import ApplicationBook
from bridge.protocol.framing import frame
from bridge.protocol.messages import OVER, PROTOCOL_VERSION, Outcome, Quit, Records, Refused, Welcome, encode
from bridge.protocol.packing import pack_float64
from bridge.protocol.session import ConnectionClosed, ProtocolError, Session
from bridge.protocol.tables import Role
from bridge.workers import plain_worker, worker
from bridge.workers.plain_worker import PlainWorker
from bridge.workers.worker import BlockingConnection, run
from traces.base.errors import PeerError
from traces.base.time import MAX_NS


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends of a connection in which few bytes can be under way."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for end in (ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
            end.settimeout(60.0)
        yield ours, theirs


def heard(connection: BlockingConnection) -> Any:
    """The next event of a connection."""
    found = []

    async def hear() -> None:
        found.append(await connection.receive())

    run(hear())
    return found[0]


def test_messages_larger_than_what_can_be_under_way_arrive_whole(ends: tuple[socket.socket, socket.socket]) -> None:
    application = BlockingConnection(Session(ApplicationBook, Role.APPLICATION), ends[0])
    bridge = BlockingConnection(Session(ApplicationBook, Role.BRIDGE, TOKEN), ends[1])
    application.send(hello())
    application.flush()
    heard(bridge)
    count = 20_000
    bridge.send(Welcome(version=PROTOCOL_VERSION, run="r"))
    bridge.send(start(tasks=count, records=True))
    bridge.send(lengths(0, count))
    writer = threading.Thread(target=bridge.flush)
    writer.start()
    for _ in range(3):
        heard(application)
    writer.join()
    application.send(records(0, count))
    writer = threading.Thread(target=application.close)
    writer.start()
    answer = heard(bridge)
    writer.join()
    assert isinstance(answer, Records)
    assert len(answer.core) == 4 * count
    with pytest.raises(ProtocolError):
        heard(bridge)  # the job has no outcome
    assert bridge.ended


@pytest.mark.parametrize(("rest", "resets"), [(b"", False), (b"\0\0", False), (b"", True)])
def test_another_end_that_is_gone_is_found_by_reading(
    rest: bytes, resets: bool, ends: tuple[socket.socket, socket.socket]
) -> None:
    connection = BlockingConnection(Session(ApplicationBook, Role.APPLICATION), ends[0])
    connection.send(hello())
    if resets:
        connection.flush()  # closing with unread data resets the connection
    ends[1].sendall(rest)
    ends[1].close()
    connection.flush()  # raises nothing
    if rest:
        with pytest.raises(ProtocolError):
            heard(connection)
    else:
        assert heard(connection) == ConnectionClosed()
    assert connection.ended
    connection.close()


@pytest.mark.parametrize("reason", [OVER, "wrong token"])
def test_a_refusal_is_an_error_unless_the_run_is_over(reason: str, ends: tuple[socket.socket, socket.socket]) -> None:
    application = BlockingConnection(Session(ApplicationBook, Role.APPLICATION), ends[0])
    bridge = BlockingConnection(Session(ApplicationBook, Role.BRIDGE, TOKEN), ends[1])
    bridge.session.receive_data(Session(ApplicationBook, Role.APPLICATION).send(hello()))
    heard(bridge)
    bridge.send(Refused(reason=reason, blame="application"))
    bridge.flush()
    with nullcontext() if reason == OVER else pytest.raises(PeerError, match="refused this process: wrong token"):
        run(worker.serve(application, TOKEN, "w"))
    assert ends[0].fileno() == -1


def test_a_forked_worker_serves_with_a_session_from_the_first_order_on_that_is_not_plain(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    bridge = BlockingConnection(Session(ApplicationBook, Role.BRIDGE, TOKEN), ends[1])
    random.seed(1)
    before = random.getstate()
    forked = threading.Thread(target=PlainWorker().serve, args=(ends[0], "w", TOKEN))
    forked.start()
    heard(bridge)
    bridge.send(Welcome(version=PROTOCOL_VERSION, run="r"))
    found = []
    speeds = pack_float64([1.0] * 40_000)  # an order is read in several pieces
    orders: list[dict[str, Any]] = [{}, {"records": True}, {"until_ns": MAX_NS}, {}]
    for job, fields in enumerate(orders):
        bridge.send(start("recipe", job=job, core_speed_gflops=speeds, **fields))
        while not isinstance(event := heard(bridge), Outcome):
            assert isinstance(event, Records)
        found.append(changed(event, job=0))
    assert found == found[:1] * 4
    bridge.send(Quit())
    assert heard(bridge) == ConnectionClosed()
    forked.join()
    assert random.getstate() != before  # plug-ins do not draw the same in every process


def test_plain_orders_alone_need_no_session(
    ends: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plain_worker, "Session", None)
    bridge = BlockingConnection(Session(ApplicationBook, Role.BRIDGE, TOKEN), ends[1])
    forked = threading.Thread(target=PlainWorker().serve, args=(ends[0], "w", TOKEN))
    forked.start()
    heard(bridge)
    bridge.send(Welcome(version=PROTOCOL_VERSION, run="r"))
    bridge.send(start("recipe"))
    assert isinstance(heard(bridge), Outcome)
    bridge.send(Quit())
    bridge.flush()
    forked.join()


@pytest.mark.parametrize("wrong", [b"\x00\x00\x00\x00", frame(b"\xc1"), frame(encode(start()))])
def test_a_forked_worker_refuses_what_is_no_order(wrong: bytes, ends: tuple[socket.socket, socket.socket]) -> None:
    ends[1].sendall(frame(encode(Welcome(version=PROTOCOL_VERSION, run="r"))) + wrong)
    with pytest.raises(ProtocolError):
        PlainWorker().serve(ends[0], "w", TOKEN)


def test_a_coroutine_that_needs_an_event_loop_is_refused() -> None:
    with pytest.raises(RuntimeError, match="awaits an event loop"):
        run(asyncio.sleep(0))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_warm_up_that_fails_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_worker, "_start", lambda *given, **records: 1 // 0)
    plain_worker.warm_up(None, "ss")
