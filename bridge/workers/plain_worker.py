"""What a worker of the fork server does: the messages of ``bridge.workers.worker``, of plain jobs without a session.

A process of one job costs what it writes to: Python counts the references to an object in the object, so that the page of
every object that is used is copied. A session, which checks every message, uses a hundred pages. The bridge checks every
message that it sends and receives, so this process does not. At the first order that is not plain, a session takes over.
"""

from __future__ import annotations

import contextlib
import random
import socket
import threading
from typing import TYPE_CHECKING, Final

from bridge.protocol.application_book import ApplicationBook
from bridge.protocol.framing import HEADER_BYTES, READ_AT_MOST, frame
from bridge.protocol.messages import (
    PROTOCOL_VERSION,
    Change,
    Hello,
    Quit,
    Recipe,
    Resume,
    SimulateJob,
    Suspended,
    Welcome,
    decode,
    encode,
)
from bridge.protocol.packing import pack_float64
from bridge.protocol.session import Session
from bridge.protocol.tables import Role
from bridge.protocol.vocabulary import Message, MessageError
from bridge.workers.address import dial
from bridge.workers.application_peer import ApplicationPeer
from bridge.workers.worker import BlockingConnection, go_on, hello_of, run, serve

if TYPE_CHECKING:
    import ssl


_TOKEN: Final = "warm-up"
_S: Final = 10**9

#: How many jobs are served: Python specialises code in its first calls, which writes to its pages. More than two only where
#: each takes no time: of one loop.
_LOOPS, _OTHERS = 20, 2


class PlainWorker:
    """Our application simulator as a worker; each that is forked has a copy. ``context`` verifies a bridge on another host."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self._peer, self._context = ApplicationPeer(), context

    def __call__(self, worker: str, address: str, token: str) -> None:
        """Connect to a bridge, and serve it until it says quit or is gone."""
        plug = dial(address, self._context)
        if self._context is None:
            self.serve(plug, worker, token)
            plug.close()
        else:
            random.seed()  # what a plug-in draws is not to be the same in every process
            run(serve(BlockingConnection(Session(ApplicationBook, Role.APPLICATION), plug), token, worker, self._peer))

    def serve(self, plug: socket.socket, worker: str, token: str) -> None:
        """Serve the bridge at the other end of a socket."""
        hello, welcome, heard = hello_of(self._peer, token, worker), b"", b""
        _say(plug, hello)
        while data := _heard(plug):
            heard += data
            while len(heard) >= (stop := HEADER_BYTES + int.from_bytes(heard[:HEADER_BYTES], "big")):
                try:
                    message = decode(heard[HEADER_BYTES:stop], Role.BRIDGE)
                except MessageError:
                    message = None
                if isinstance(message, Quit):
                    return
                if isinstance(message, Welcome):
                    welcome = heard[:stop]
                elif isinstance(message, SimulateJob) and (answers := self._peer.plain_answers(message)) is not None:
                    _say(plug, *answers)
                else:
                    self._hand_over(plug, hello, welcome, heard)
                    return
                heard = heard[stop:]

    def _hand_over(self, plug: socket.socket, hello: Message, welcome: bytes, heard: bytes) -> None:
        # To a session, as if it had said the hello, and heard no more than this.
        random.seed()  # what a plug-in draws is not to be the same in every process
        session = Session(ApplicationBook, Role.APPLICATION)
        session.send(hello)
        if welcome:
            session.receive_data(welcome)
            session.next_event()  # from now on there is room for large messages
        session.receive_data(heard)
        connection = BlockingConnection(session, plug)
        try:
            run(go_on(connection, self._peer))
        finally:
            connection.close()


def _say(plug: socket.socket, *messages: Message) -> None:
    # If the other end is gone, that is found by reading: there may be a last word.
    with contextlib.suppress(OSError):
        plug.sendall(b"".join(frame(encode(message)) for message in messages))


def _heard(plug: socket.socket) -> bytes:
    try:
        return plug.recv(READ_AT_MOST)
    except OSError:  # reset, or given up by the kernel: nothing more will arrive
        return b""


def _start(job: int, technique: str, program: str, *, changes: bool) -> SimulateJob:
    return SimulateJob(
        job=job,
        attempt=0,
        start_ns=0,
        core_speed_gflops=pack_float64([1.0, 2.0, 1.0, 1.0]),
        technique=technique,
        parts=None,
        overhead_ns=0,
        latency_ns=None,
        master=False,
        core_host=None,
        network=None,
        records=changes or job // 2 % 2 == 1,
        releases=False,
        recipe=Recipe(
            seed=0,
            job_number=job,
            cores=1,
            n=8,
            mean_gflop=1.0,
            variation=0.25 * (job % 2),
            total_gflop=8.0,
            core_gflop=2.0,
            speed_gflops=1.0,
            bytes_per_gflop=1.0,
            program=program,
        ),
        tasks=None,
        until_ns=_S if changes else None,
        changes=(Change(at_ns=_S // 2, core=0, speed_gflops=2.0),) if changes else (),
        hints=(),
        resizes=None,
        wishes=None,
        resize_ns=0,
        scales=(),
        stop_ns=None,
    )


async def _bridge(connection: BlockingConnection, technique: str, program: str) -> None:
    try:
        assert isinstance(await connection.hear(), Hello)
        connection.say(Welcome(version=PROTOCOL_VERSION, run=_TOKEN))
        for job, changes in enumerate((*[False] * (_OTHERS if program else _LOOPS), True)):
            connection.say(_start(job, technique, program, changes=changes))
            while connection.session.book.open_jobs():
                if isinstance(await connection.hear(), Suspended):
                    connection.say(Resume(job=job, until_ns=None, changes=(), stop_ns=2 * _S))
        connection.say(Quit())
        await connection.hear()
    finally:  # otherwise the other end would wait forever
        connection.close()


def warm_up(context: ssl.SSLContext | None, technique: str, program: str = "") -> PlainWorker:
    """Serve a few small jobs in this process, and return the worker that has served them. A fault of the technique or program
    is not reported here, but where a run orders it. ``context``: as of :class:`PlainWorker`."""
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
