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

from bridge.protocol import messages as m
from bridge.protocol.application_book import ApplicationBook
from bridge.protocol.framing import READ_AT_MOST
from bridge.protocol.session import NEED_DATA, ConnectionClosed, ProtocolError, Refusal, Session
from bridge.protocol.tables import Role
from bridge.protocol.vocabulary import Message
from bridge.standard_error import on_command_line
from bridge.workers.address import PARTING_TLS_S, dial
from bridge.workers.application_peer import ApplicationPeer
from bridge.workers.process_names import PROCESS_NAME, name_process
from traces.base.errors import PeerError, TwolevelError

if TYPE_CHECKING:
    from bridge.workers.connection import Connection

_LONG_TASKS: Final = 2_000  # before a job with more tasks than this begins, answers about other jobs are sent


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


def received_from(plug: socket.socket) -> bytes:
    """Return what the other end has sent; nothing if it is gone."""
    try:
        return plug.recv(READ_AT_MOST)
    except OSError:  # reset, or given up by the kernel: nothing more will arrive
        return b""


class BlockingConnection:
    """A :class:`bridge.workers.connection.Connection` on a blocking socket: its methods block instead of awaiting, so that
    :func:`run` can run a coroutine that awaits nothing else. Waiting messages are written together before the next read.

    A forked process of one job mostly costs the memory that it writes to, and an event loop would add a quarter.
    """

    def __init__(self, session: Session[ApplicationBook], plug: socket.socket) -> None:
        self.session, self._plug = session, plug
        self._waiting: list[bytes] = []
        self.ended = False

    async def receive(self) -> Message | Refusal | ConnectionClosed:
        """Return the next message; raises ProtocolError if the other side broke the protocol."""
        while (event := self.session.next_event()) is NEED_DATA:
            self.flush()
            data = received_from(self._plug)
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
        """Write the waiting messages."""
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
    """Run a coroutine whose awaited work blocks. Raises RuntimeError if it suspends, as it would need an event loop."""
    try:
        work.send(None)
    except StopIteration:
        return
    work.close()
    raise RuntimeError(f"{work!r} awaits an event loop")


async def serve(connection: Connection | BlockingConnection, token: str, worker: str, peer: Peer | None = None) -> None:
    """Serve one bridge until it sends a quit or closes the connection. ``token`` and ``worker`` are those of ``PROTOCOL.md``;
    ``peer`` is the simulator, by default the engine of :mod:`als`. Raises PeerError if the bridge refuses this process, or
    breaks the protocol."""
    peer = ApplicationPeer() if peer is None else peer
    try:
        connection.send(hello_of(peer, token, worker))
        await go_on(connection, peer)
    finally:
        connection.close()


def hello_of(peer: Peer, token: str, worker: str) -> m.Hello:
    """Return the hello of a simulator, which draws the tasks of jobs by itself, and conserves work."""
    abilities = {name: getattr(peer, name) for name in ("releases", "hints", "resizes", "wishes", "scales")}
    known: dict[str, Any] = {"version": m.PROTOCOL_VERSION, "token": token, "worker": worker, "name": peer.name}
    return m.Hello(tasks="recipe", conserves_work=True, **known, **abilities)


async def go_on(connection: Connection | BlockingConnection, peer: Peer) -> None:
    """Answer the orders of a bridge that has had the hello; errors are as those of :func:`serve`."""
    while True:
        try:
            order = await connection.receive()
        except ProtocolError:
            if connection.ended:
                return  # the bridge is gone: nothing can be reported
            raise
        if isinstance(order, m.Refused) and order.reason != m.OVER:
            raise PeerError(f"the bridge refused this process: {order.reason}")
        if isinstance(order, ConnectionClosed | m.Quit | m.Refused):
            return
        if isinstance(order, m.Welcome | Refusal):
            continue
        if isinstance(order, m.SimulateJob) and order.recipe is not None and order.recipe.n > _LONG_TASKS:
            connection.flush()
        for answer in peer.answers(order):
            connection.send(answer)
            if isinstance(answer, m.Records | m.Transfers):
                await connection.drain()


def run_peer(peer: Peer) -> None:
    """Serve the bridge that has started this process, until it is done; an error is the last line on stderr."""
    names = m.ADDRESS_VARIABLE, m.TOKEN_VARIABLE, m.WORKER_VARIABLE
    if missing := [name for name in names if name not in os.environ]:
        sys.exit(f"{peer.name}: {missing[0]} is not set; a bridge sets it when it starts an application simulator")
    address, token, worker = (os.environ[name] for name in names)
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
