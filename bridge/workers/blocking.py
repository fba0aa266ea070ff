"""A session on a blocking socket, for a process that only answers orders.

A forked process of one job mostly costs the memory that it writes to, as that has to be copied; an event loop adds a quarter.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Coroutine
from typing import Any

from bridge.protocol.application_book import ApplicationBook
from bridge.protocol.framing import READ_AT_MOST
from bridge.protocol.session import NEED_DATA, ConnectionClosed, Refusal, Session
from bridge.protocol.vocabulary import Message
from bridge.workers.address import PARTING_TLS_S


class BlockingConnection:
    """One end of one connection; waiting messages are written together before the next read.

    It has the methods of :class:`bridge.workers.connection.Connection`, but they block instead of awaiting. :func:`run` runs a
    coroutine that awaits nothing else.

    - ``session``: checks every message.
    - ``plug``: to the other end.
    - ``ended``: whether the other end has closed its stream, or the stream is broken.
    """

    def __init__(self, session: Session[ApplicationBook], plug: socket.socket) -> None:
        self.session, self._plug = session, plug
        self._waiting: list[bytes] = []
        self.ended = False

    async def hear(self) -> Message | Refusal | ConnectionClosed:
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

    def say(self, message: Message) -> None:
        """Add a message to those that wait to be written; raises LocalProtocolError if the protocol forbids it now."""
        self._waiting.append(self.session.send(message))

    def flush(self) -> None:
        """Write the waiting messages. If the other end is gone, only :meth:`hear` reports it."""
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
