"""The application process: connects to a bridge and answers its orders until it receives a quit or the bridge is gone.

Started by the fork server, or by hand as ``python -m bridge.workers.worker`` with the environment of ``PROTOCOL.md``.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections.abc import Coroutine, Iterator
from typing import TYPE_CHECKING, Any, Final, Protocol

from bridge.protocol.application_book import ApplicationBook
from bridge.protocol.framing import READ_AT_MOST
from bridge.protocol.messages import (
    ADDRESS_VARIABLE,
    OVER,
    PROTOCOL_VERSION,
    TOKEN_VARIABLE,
    WORKER_VARIABLE,
    Hello,
    Quit,
    Records,
    Refused,
    SimulateJob,
    Transfers,
    Welcome,
)
from bridge.protocol.session import NEED_DATA, ConnectionClosed, ProtocolError, Refusal, Session
from bridge.protocol.tables import Role
from bridge.protocol.vocabulary import Message
from bridge.spelling import on_command_line
from bridge.workers.address import PARTING_TLS_S, dial
from bridge.workers.application_peer import ApplicationPeer
from bridge.workers.process_names import PROCESS_NAME, name_process
from traces.base.errors import PeerError, TwolevelError

if TYPE_CHECKING:
    from bridge.workers.connection import Connection

#: Before a job of more tasks than this begins, the answers about other jobs are written.
_LONG_TASKS: Final = 2_000


class Peer(Protocol):
    """Simulator of jobs: orders in, answers out, without any I/O of its own with the bridge."""

    name: str  # its name in messages to the user
    releases: bool  # whether it can report cores that a job no longer needs
    hints: bool  # whether it accepts hints: which of a job's cores the queue is waiting for
    resizes: bool  # whether its jobs can receive cores, and be asked for cores, while they run
    wishes: bool  # whether it can report how many cores its jobs request
    scales: bool  # whether the speeds of its jobs' cores can be scaled while they run

    def answers(self, order: Message) -> Iterator[Message]:
        """Yield the answers to an order, in sequence."""
        ...


class BlockingConnection:
    """One end of one connection, on a blocking socket; waiting messages are written together before the next read.

    It is for a process that only answers orders: a forked process of one job mostly costs the memory that it writes to, as
    that has to be copied, and an event loop adds a quarter. It has the methods of
    :class:`bridge.workers.connection.Connection`, but they block instead of awaiting. :func:`run` runs a coroutine that awaits
    nothing else.

    - ``session``: checks every message.
    - ``plug``: to the other end.
    - ``ended``: whether the other end has closed its stream, or the stream is broken.
    """

    def __init__(self, session: Session[ApplicationBook], plug: socket.socket) -> None:
        self.session, self._plug = session, plug
        self._waiting: list[bytes] = []
        self.ended = False

    async def receive(self) -> Message | Refusal | ConnectionClosed:
        """Return the next message; raises ProtocolError if the other side broke the protocol."""
        while (event := self.session.next_event()) is NEED_DATA:
            self.flush()
            try:
                data = self._plug.recv(READ_AT_MOST)
            except OSError:  # reset, or given up by the kernel: nothing more will arrive
                data = b""
            self.ended = self.ended or not data
            self.session.receive_data(data)
        return event

    def send(self, message: Message) -> None:
        """Add a message to those that wait to be written; raises LocalProtocolError if the protocol forbids it now."""
        self._waiting.append(self.session.send(message))

    def flush(self) -> None:
        """Write the waiting messages. If the other end is gone, only :meth:`receive` reports it."""
        if self._waiting:
            data = b"".join(self._waiting)
            self._waiting.clear()
            with contextlib.suppress(OSError):
                self._plug.sendall(data)

    async def drain(self) -> None:
        """As :meth:`flush`."""
        self.flush()

    def close(self) -> None:
        """Write the waiting messages, and close the connection."""
        self.flush()
        if type(self._plug) is not socket.socket:  # TLS
            with contextlib.suppress(OSError):
                self._plug.settimeout(PARTING_TLS_S)
                self._plug.unwrap()  # type: ignore[attr-defined]
        self._plug.close()


def run(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine that never suspends: all that it awaits blocks instead. Raises RuntimeError if it suspends, as it
    would need an event loop."""
    try:
        work.send(None)
    except StopIteration:
        return
    work.close()
    raise RuntimeError(f"{work!r} awaits an event loop")


async def serve(connection: Connection | BlockingConnection, token: str, worker: str, peer: Peer | None = None) -> None:
    """Serve one bridge until it sends a quit or closes the connection.

    - ``connection``: to the bridge; its session is an application's.
    - ``token``, ``worker``: as of ``PROTOCOL.md``.
    - ``peer``: the simulator; default: the engine of :mod:`als`. It draws the tasks of jobs by itself, and conserves work.

    Raises PeerError if the bridge refuses this process, or breaks the protocol.
    """
    peer = ApplicationPeer() if peer is None else peer
    try:
        connection.send(hello_of(peer, token, worker))
        await go_on(connection, peer)
    finally:
        connection.close()


def hello_of(peer: Peer, token: str, worker: str) -> Hello:
    """Return the hello of a simulator."""
    return Hello(
        version=PROTOCOL_VERSION,
        token=token,
        worker=worker,
        name=peer.name,
        tasks="recipe",
        conserves_work=True,
        releases=peer.releases,
        hints=peer.hints,
        resizes=peer.resizes,
        wishes=peer.wishes,
        scales=peer.scales,
    )


async def go_on(connection: Connection | BlockingConnection, peer: Peer) -> None:
    """Answer the orders of a bridge that has had the hello; errors are as those of :func:`serve`."""
    while True:
        try:
            event = await connection.receive()
        except ProtocolError:
            if connection.ended:
                return  # the bridge is gone: there is no one to report to
            raise
        if isinstance(event, ConnectionClosed | Quit):
            return
        if isinstance(event, Refused) and event.reason == OVER:
            return
        if isinstance(event, Refused):
            raise PeerError(f"the bridge refused this process: {event.reason}")
        if not isinstance(event, Welcome | Refusal):
            await _answer(connection, peer, event)


async def _answer(connection: Connection | BlockingConnection, peer: Peer, order: Message) -> None:
    if isinstance(order, SimulateJob) and order.recipe is not None and order.recipe.n > _LONG_TASKS:
        connection.flush()
    for answer in peer.answers(order):
        connection.send(answer)
        if isinstance(answer, Records | Transfers):
            await connection.drain()


def run_peer(peer: Peer) -> None:
    """Serve the bridge that has started this process, until it is done; an error is the last line on stderr."""
    missing = [name for name in (ADDRESS_VARIABLE, TOKEN_VARIABLE, WORKER_VARIABLE) if name not in os.environ]
    if missing:
        sys.exit(f"{peer.name}: {missing[0]} is not set; a bridge sets it when it starts an application simulator")
    address, token, worker = (os.environ[name] for name in (ADDRESS_VARIABLE, TOKEN_VARIABLE, WORKER_VARIABLE))

    try:
        run(serve(BlockingConnection(Session(ApplicationBook, Role.APPLICATION), dial(address)), token, worker, peer))
    except (OSError, TwolevelError) as error:
        sys.exit(f"{peer.name}: {on_command_line(error.text if isinstance(error, TwolevelError) else str(error))}")


def main() -> None:
    """``python -m bridge.workers.worker``."""
    name_process(PROCESS_NAME)
    run_peer(ApplicationPeer())


if __name__ == "__main__":
    main()
