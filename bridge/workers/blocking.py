"""A session on a blocking socket, for a process that has nothing to do but what it is asked.

Most of what a process of one job costs is memory that it writes to and so has to copy: an event loop would double it.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Coroutine
from typing import Any

from bridge.protocol.framing import READ_AT_MOST
from bridge.protocol.session import NEED_DATA, Session
from bridge.workers.address import PARTING_TLS_S

__all__ = ["BlockingConnection", "run"]


class BlockingConnection:
    """One end of one connection; what is said is written together before more is heard.

    It has the methods of :class:`bridge.workers.connection.Connection`, which block instead of awaiting: a coroutine that
    awaits nothing else is run by :func:`run`.

    Parameters
    ----------
    session : Session
        Judges every message.
    plug : socket
        To the other end.

    Attributes
    ----------
    ended : bool
        Whether the other end has closed its stream, or it is broken.
    """

    def __init__(self, session: Session, plug: socket.socket) -> None:
        self.session, self._plug = session, plug
        self._waiting: list[bytes] = []
        self.ended = False

    async def hear(self) -> Any:
        """The next message, judged; raises ProtocolError if the other side broke the protocol."""
        while (event := self.session.next_event()) is NEED_DATA:
            self.flush()
            try:
                data = self._plug.recv(READ_AT_MOST)
            except OSError:  # reset, or given up by the kernel: whoever is there no longer speaks
                data = b""
            if data:
                self.session.receive_data(data)
            else:
                self.ended = True
                self.session.receive_eof()
        return event

    def say(self, message: Any) -> None:
        """Send a message; raises LocalProtocolError if the protocol forbids it now."""
        self._waiting.append(self.session.send(message))

    def flush(self) -> None:
        """Write what was said. If the other end is gone, :meth:`hear` finds so."""
        if self._waiting:
            data = b"".join(self._waiting)
            self._waiting.clear()
            with contextlib.suppress(OSError):
                self._plug.sendall(data)

    async def drain(self) -> None:
        """Write what was said."""
        self.flush()

    def close(self) -> None:
        """Close it after what was said has been taken."""
        self.flush()
        if type(self._plug) is not socket.socket:  # TLS
            with contextlib.suppress(OSError):
                self._plug.settimeout(PARTING_TLS_S)
                self._plug.unwrap()  # type: ignore[attr-defined]
        self._plug.close()


def run(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine that awaits only what blocks instead."""
    try:
        work.send(None)
    except StopIteration:
        return
    work.close()
    raise RuntimeError(f"{work!r} awaits an event loop")
