"""A session on asyncio streams: messages in and out of one connection, for either end."""

import asyncio
import contextlib
from collections.abc import Collection
from typing import Any

from bridge.protocol.framing import READ_AT_MOST
from bridge.protocol.session import NEED_DATA, ConnectionClosed, Refusal, Session
from bridge.protocol.tables import ConnectionState
from bridge.protocol.vocabulary import Message

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


#: Attributes of connections, and of their sums: numbers of messages and bytes in both directions.
TRAFFIC = ("messages", "bytes_sent", "bytes_received")


def add_traffic(total: Any, connection: "Connection") -> None:
    """Add the traffic of a connection that has ended to the same attributes of ``total``."""
    for name in TRAFFIC:
        setattr(total, name, getattr(total, name) + getattr(connection, name))


class Connection:
    """One end of one connection; ``session`` checks every message. Messages are written together once the event loop is idle,
    so that many small ones cost one system call. ``ended``: whether the stream is closed or broken."""

    def __init__(self, session: Session[Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.session = session
        self._reader, self._writer = reader, writer
        self._waiting: list[bytes] = []
        self.messages = self.bytes_sent = self.bytes_received = 0
        self.ended = False

    @property
    def peer(self) -> str:
        """The network address of the other end."""
        place = self._writer.get_extra_info("peername")
        return str(place[0]) if place else "an unknown address"

    async def receive(self) -> Message | Refusal | ConnectionClosed:
        """Return the next message; raises ProtocolError if the other side broke the protocol."""
        while (event := self.session.next_event()) is NEED_DATA:
            try:
                data = await self._reader.read(READ_AT_MOST)
            except OSError:  # reset, or given up by the kernel: nothing more will arrive
                data = b""
            self.bytes_received += len(data)
            self.ended = self.ended or not data
            self.session.receive_data(data)
        self.messages += 1
        return event

    def send(self, message: Message) -> None:
        """Add a message to those to be written; raises LocalProtocolError if the protocol forbids it now."""
        data = self.session.send(message)
        self.messages += 1
        self.send_bytes(data)

    def send_in(self, states: Collection[ConnectionState], message: Message) -> None:
        """Send a message if the connection is in one of these states."""
        if self.session.state in states:
            self.send(message)

    def send_bytes(self, data: bytes) -> None:
        """Add bytes of the session to those to be written."""
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self.flush)
        self._waiting.append(data)

    def flush(self) -> None:
        """Write the waiting messages."""
        if self._waiting:
            data = b"".join(self._waiting)
            self._waiting.clear()
            self.bytes_sent += len(data)
            self._writer.write(data)

    async def drain(self) -> None:
        """Wait until the other end has read most of the messages. Returns at once if it is gone."""
        self.flush()
        try:
            await self._writer.drain()
        except OSError:
            self.ended = True

    def close(self) -> None:
        """Close it after the waiting messages are written."""
        self.flush()
        self._writer.close()

    async def close_at_once(self, patience_s: float) -> None:
        """Close it, and wait at most ``patience_s`` until it is closed."""
        self.close()
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(patience_s):
                await self._writer.wait_closed()
        self._writer.transport.abort()

    def abort(self) -> None:
        """Close it now; :meth:`receive` then finds its end."""
        self._waiting.clear()
        self._writer.transport.abort()
