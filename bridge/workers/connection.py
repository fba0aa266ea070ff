"""A session on asyncio streams: messages in and out of one connection, for either end."""

import asyncio
import contextlib
from typing import Any

from bridge.protocol.framing import READ_AT_MOST
from bridge.protocol.session import NEED_DATA, ConnectionClosed, Refusal, Session
from bridge.protocol.vocabulary import Message

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Connection:
    """One end of one connection.

    What is said is written together once the event loop has nothing else to do at the moment, so that many small
    messages cost one system call.

    - ``session``: judges every message.
    - ``messages``, ``bytes_sent``, ``bytes_received``: how much went over it, both ways.
    - ``ended``: whether the other end has closed its stream, or it is broken.
    """

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
        return str(place[0]) if place else "somebody"

    async def hear(self) -> Message | Refusal | ConnectionClosed:
        """The next message, judged. Raises ProtocolError if the other side broke the protocol."""
        while (event := self.session.next_event()) is NEED_DATA:
            try:
                data = await self._reader.read(READ_AT_MOST)
            except OSError:  # reset, or given up by the kernel: whoever is there no longer speaks
                data = b""
            self.bytes_received += len(data)
            self.ended = self.ended or not data
            self.session.receive_data(data)
        self.messages += 1
        return event

    def say(self, message: Message) -> None:
        """Send a message. Raises LocalProtocolError if the protocol forbids it now."""
        data = self.session.send(message)
        self.messages += 1
        self.say_bytes(data)

    def say_bytes(self, data: bytes) -> None:
        """Send bytes that the session has made."""
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self.flush)
        self._waiting.append(data)

    def flush(self) -> None:
        """Write what was said."""
        if self._waiting:
            data = b"".join(self._waiting)
            self._waiting.clear()
            self.bytes_sent += len(data)
            self._writer.write(data)

    async def drain(self) -> None:
        """Wait until the other end has taken most of what was said. Returns at once if it is gone."""
        self.flush()
        try:
            await self._writer.drain()
        except OSError:
            self.ended = True

    def close(self) -> None:
        """Close it after what was said has been taken."""
        self.flush()
        self._writer.close()

    async def close_at_once(self, patience_s: float) -> None:
        """Close it, and wait until it is closed, for so long."""
        self.close()
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(patience_s):
                await self._writer.wait_closed()
        self._writer.transport.abort()

    def abort(self) -> None:
        """Close it now; :meth:`hear` then finds its end."""
        self._waiting.clear()
        self._writer.transport.abort()
