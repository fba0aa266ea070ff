"""A worker of the fork server: the messages of ``bridge.workers.worker`` for plain jobs, without a session.

A process for one job costs the memory that it writes to: Python counts references to an object in the object, so the page of
every used object is copied, and a session uses a hundred pages. The bridge checks every message, so this process need not. A
session takes over at the first order that is not plain.
"""

from __future__ import annotations

import contextlib
import random
import socket
import threading
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from bridge.protocol import messages as m
from bridge.protocol.application_book import ApplicationBook
from bridge.protocol.framing import HEADER_BYTES, frame
from bridge.protocol.packing import pack_float64
from bridge.protocol.session import Session
from bridge.protocol.tables import Role
from bridge.protocol.vocabulary import Message, MessageError
from bridge.workers.address import dial
from bridge.workers.application_peer import ApplicationPeer
from bridge.workers.worker import BlockingConnection, go_on, hello_of, received_from, run, serve

if TYPE_CHECKING:
    import ssl

_TOKEN: Final = "warm-up"
_S: Final = 10**9

#: Number of jobs served without a session: Python specialises code in its first calls, which writes to its pages. More than
#: two only where each takes no time: jobs of one loop.
_LOOPS, _OTHERS = 20, 2


class PlainWorker:
    """The built-in simulator as a worker; each forked process has a copy. ``context`` verifies a bridge on another host."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self._peer, self._context = ApplicationPeer(), context

    def __call__(self, worker: str, address: str, token: str) -> None:
        """Connect to a bridge, and serve it until it sends a quit or closes the connection."""
        plug = dial(address, self._context)
        if self._context is None:
            self.serve(plug, worker, token)
            plug.close()
        else:
            random.seed()  # so that random numbers of plug-ins differ between processes
            run(serve(BlockingConnection(Session(ApplicationBook, Role.APPLICATION), plug), token, worker, self._peer))

    def serve(self, plug: socket.socket, worker: str, token: str) -> None:
        """Serve the bridge at the other end of a socket."""
        hello, welcome, received = hello_of(self._peer, token, worker), b"", b""
        _send(plug, hello)
        while data := received_from(plug):
            received += data
            while len(received) >= (stop := HEADER_BYTES + int.from_bytes(received[:HEADER_BYTES], "big")):
                try:
                    message = m.decode(received[HEADER_BYTES:stop], Role.BRIDGE)
                except MessageError:
                    message = None
                if isinstance(message, m.Quit):
                    return
                if isinstance(message, m.Welcome):
                    welcome = received[:stop]
                elif isinstance(message, m.SimulateJob) and (answers := self._peer.plain_answers(message)) is not None:
                    _send(plug, *answers)
                else:
                    self._hand_over(plug, hello, welcome, received)
                    return
                received = received[stop:]

    def _hand_over(self, plug: socket.socket, hello: Message, welcome: bytes, received: bytes) -> None:
        # To a session in the state after the hello and these bytes.
        random.seed()  # so that random numbers of plug-ins differ between processes
        session = Session(ApplicationBook, Role.APPLICATION)
        session.send(hello)
        if welcome:
            session.receive_data(welcome)
            session.next_event()  # from now on large messages are accepted
        session.receive_data(received)
        connection = BlockingConnection(session, plug)
        try:
            run(go_on(connection, self._peer))
        finally:
            connection.close()


def _send(plug: socket.socket, *messages: Message) -> None:
    # A closed connection is noticed by reading: there may be a last message.
    with contextlib.suppress(OSError):
        plug.sendall(b"".join(frame(m.encode(message)) for message in messages))


def _start(job: int, technique: str, program: str, *, changes: bool) -> m.SimulateJob:
    recipe: dict[str, Any] = dict.fromkeys(("mean_gflop", "speed_gflops", "bytes_per_gflop"), 1.0)
    recipe |= {"seed": 0, "cores": 1, "n": 8, "total_gflop": 8.0, "core_gflop": 2.0}
    unset = ("parts", "latency_ns", "core_host", "network", "tasks", "resizes", "wishes", "stop_ns")
    none: dict[str, Any] = dict.fromkeys(unset)
    zero: dict[str, Any] = dict.fromkeys(("attempt", "start_ns", "overhead_ns", "resize_ns"), 0)
    return m.SimulateJob(
        job=job,
        core_speed_gflops=pack_float64([1.0, 2.0, 1.0, 1.0]),
        technique=technique,
        master=False,
        records=changes or job // 2 % 2 == 1,
        releases=False,
        recipe=m.Recipe(
            job_number=job, variation=0.25 * (job % 2), program=program, drives=None, placement=None, **recipe
        ),
        until_ns=_S if changes else None,
        changes=(m.Change(at_ns=_S // 2, core=0, speed_gflops=2.0),) if changes else (),
        hints=(),
        scales=(),
        **none,
        **zero,
    )


async def _bridge(connection: BlockingConnection, technique: str, program: str) -> None:
    try:
        assert isinstance(await connection.receive(), m.Hello)
        connection.send(m.Welcome(version=m.PROTOCOL_VERSION, run=_TOKEN))
        for job, changes in enumerate((*[False] * (_OTHERS if program else _LOOPS), True)):
            connection.send(_start(job, technique, program, changes=changes))
            while connection.session.book.open_jobs():
                if isinstance(await connection.receive(), m.Suspended):
                    connection.send(m.Resume(job=job, until_ns=None, changes=(), stop_ns=2 * _S))
        connection.send(m.Quit())
        await connection.receive()
    finally:  # otherwise the other end would wait forever
        connection.close()


def warm_up(context: ssl.SSLContext | None, technique: str, program: str = "") -> PlainWorker:
    """Serve a few small jobs in this process, and return the worker that has served them. Faults of the technique or program
    are reported only when a run orders them."""
    if program:
        import_module("als.engine.features.graph_data")  # the network, which these jobs do not use
    ours, theirs = socket.socketpair()
    bridge, worker = BlockingConnection(Session(ApplicationBook, Role.BRIDGE, _TOKEN), ours), PlainWorker(context)
    orders = threading.Thread(target=run, args=(_bridge(bridge, technique, program),))
    orders.start()
    try:
        with theirs:
            worker.serve(theirs, _TOKEN, _TOKEN)
    finally:
        orders.join()
    return worker
