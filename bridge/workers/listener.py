"""The listener: accepts connections, and admits those that send a valid hello.

A stranger may send one small frame and be silent for a while; the run only logs at most one line about it. A connection of
a process that the run has started is never closed in favour of others, and its launcher reports its end.
"""

import asyncio
import contextlib
import logging
import os
import socket
import struct
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final

from bridge.protocol.application_book import ApplicationBook
from bridge.protocol.framing import READ_AT_MOST
from bridge.protocol.messages import OVER, PROTOCOL_VERSION, Hello, Refused, Welcome
from bridge.protocol.session import ProtocolError, Refusal, Session
from bridge.protocol.tables import Role
from bridge.protocol.vocabulary import Message
from bridge.scratch import Scratch
from bridge.workers.address import socket_path
from bridge.workers.connection import Connection, add_traffic
from traces.base.errors import shown

_CREDENTIALS: Final = struct.Struct("3i")  # process, user, group

#: The kernel's list of TCP sockets: one line per socket, in which these fields are used.
_TABLE: Final = "/proc/net/tcp"
_LOCAL, _REMOTE, _INODE = 1, 2, 9


def process_of_tcp(end: socket.socket, candidates: Iterable[int]) -> int:
    """The one of these processes of this machine at the other end of a TCP connection (IPv4); 0 if none is."""

    def listed(address: tuple[str, int]) -> str:
        return f"{int.from_bytes(socket.inet_aton(address[0]), sys.byteorder):08X}:{address[1]:04X}"

    try:
        here, there = listed(end.getsockname()), listed(end.getpeername())
        with open(_TABLE, encoding="ascii") as table:
            rows = [line.split() for line in table if there in line]
    except OSError:
        return 0
    wanted = {f"socket:[{row[_INODE]}]" for row in rows if row[_LOCAL] == there and row[_REMOTE] == here}
    return next((pid for pid in candidates if wanted & _opened(pid)), 0) if wanted else 0


def _opened(pid: int) -> set[str]:
    found = set()
    with contextlib.suppress(OSError):  # it has ended, or closed one of them
        for entry in os.scandir(f"/proc/{pid}/fd"):
            found.add(os.readlink(entry.path))
    return found


log = logging.getLogger("twolevel.bridge")

HELLO_S = 10.0  # time limit of a hello after connecting, s
STRANGERS = 64  # number of connections without a hello; of more, the one that has been silent longest is closed
LINES: Final = 10  # number of refused connections that are logged one by one
_BACKLOG: Final = 4096  # number of connections that the kernel queues before they are accepted

#: Turns of the loop in which asyncio sets up a connection that the kernel has accepted, or closes one; ample.
_TURNS = 10


async def settle() -> None:
    """Let asyncio finish pending work on connections."""
    for _ in range(_TURNS):
        await asyncio.sleep(0)


class Listener:
    """The socket to which application processes connect.

    - ``token``: the secret that they must send.
    - ``admit``: called with a hello with the right token and version; returns the reason of a refusal, or None.
    - ``serve``: called with an admitted hello and its connection; when it returns, the connection is closed.
    - ``awaited``: the processes whose hello is expected: their names by their ids, or by those of their process groups.
    - ``wrong``: called with the refusal of a hello of one of these.
    """

    def __init__(
        self,
        token: str,
        admit: Callable[[Hello], str | None],
        serve: Callable[[Hello, Connection], Awaitable[None]],
        awaited: Mapping[int, str] = MappingProxyType({}),
        wrong: Callable[[Refusal], None] = lambda refusal: None,
    ) -> None:
        self._token, self._admit, self._serve, self._awaited, self._wrong = token, admit, serve, awaited, wrong
        self._server: asyncio.Server | None = None
        self._folder: Scratch | None = None
        self._strangers: dict[asyncio.Task[None], Callable[[], None]] = {}  # how to close each; the oldest first
        self._connections: dict[asyncio.Task[None], Connection] = {}
        self._quiet = False
        self.refused = 0  # number of connections that were not admitted
        self.messages = self.bytes_sent = self.bytes_received = 0  # traffic of all ended connections

    async def open(self, kind: str) -> str:
        """Listen on a ``unix`` or ``tcp`` socket; return the address, as ``PROTOCOL.md`` writes it."""
        # In two steps: asyncio yields once while it starts serving, and a task cancelled there would lose the server.
        how = {"limit": READ_AT_MOST, "backlog": _BACKLOG, "start_serving": False}
        if kind == "tcp":
            self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0, **how)
            address = f"tcp:127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        else:
            self._folder = Scratch()
            path = socket_path(self._folder.path)
            self._server = await asyncio.start_unix_server(self._connected, path, **how)
            address = f"unix:{path}"
        await self._server.start_serving()
        return address

    def fall_silent(self) -> None:
        """Count refusals from now on without logging them: the run was given up, so they are most likely its own processes."""
        self._quiet = True

    async def close(self) -> None:
        """Accept no more connections, and close all."""
        if self._server is not None:
            loop = asyncio.get_running_loop()
            for listening in self._server.sockets:
                loop.remove_reader(listening)
            # Connections accepted just now still arrive; after closing the server, Python 3.11 would leave them open.
            await settle()
            self._server.close()
            await settle()
        while tasks := list(self._connections):
            for connection in self._connections.values():
                connection.abort()
            # Each finds the end of its stream; other messages no longer matter.
            await asyncio.gather(*tasks, return_exceptions=True)
        await settle()  # so that the last transports close their sockets
        if self._server is not None:
            await self._server.wait_closed()
        if self._folder is not None:
            self._folder.close()
        if self.refused > LINES and not self._quiet:
            log.warning("%d connections were refused in all", self.refused)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        connection = Connection(Session(ApplicationBook, Role.BRIDGE, self._token), reader, writer)
        ours = self._whose(writer)
        self._connections[task] = connection
        if not ours:
            self._receive(task, connection.abort)
        await self._attend(task, connection, ours)

    def _receive(self, task: asyncio.Task[None], abort: Callable[[], None]) -> None:
        """Add an unknown connection; of too many, the one that has been silent longest is closed."""
        while len(self._strangers) >= self._most_strangers():
            self._strangers.pop(next(iter(self._strangers)))()
        self._strangers[task] = abort

    def _most_strangers(self) -> int:
        """Number of strangers that may be connected at once."""
        return STRANGERS

    async def _attend(self, task: asyncio.Task[None], connection: Connection, ours: str) -> bool:
        """Handle a connection to its end, and count its traffic; return whether its hello was admitted."""
        hello = None
        try:
            try:
                hello = await self._greet(connection, ours)
            finally:
                self._strangers.pop(task, None)
            if hello is not None:
                await self._admitted(hello, connection)
        except asyncio.CancelledError:
            pass  # the run was given up; asyncio of Python 3.11 would complain about a cancelled connection
        finally:
            self._connections.pop(task, None)
            connection.close()  # this sends the last messages, which are counted below
            add_traffic(self, connection)
        return hello is not None

    def _whose(self, writer: asyncio.StreamWriter) -> str:
        """The awaited process that has connected; empty for a stranger."""
        if not self._awaited:
            return ""
        end = writer.get_extra_info("socket")
        if end.family != socket.AF_UNIX:
            return self._awaited.get(process_of_tcp(end, self._awaited), "")
        with contextlib.suppress(OSError):  # it has ended
            pid, _, _ = _CREDENTIALS.unpack(end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
            return self._awaited[pid] if pid in self._awaited else self._awaited.get(os.getpgid(pid), "")
        return ""

    async def _admitted(self, hello: Message, connection: Connection) -> None:
        """Serve an admitted connection."""
        assert isinstance(hello, Hello)  # the session of an application allows nothing else
        await self._serve(hello, connection)

    def _answer(self, hello: Message, connection: Connection) -> str | None:
        assert isinstance(hello, Hello)
        if (reason := self._admit(hello)) is None:
            connection.send(Welcome(version=PROTOCOL_VERSION, run="twolevel"))
        else:
            connection.send(Refused(reason=reason[:500], blame="application"))
        return reason

    async def _greet(self, connection: Connection, ours: str) -> Message | None:
        """The hello of an acceptable connection, or None; ``ours`` is the name of an awaited process."""
        try:
            async with asyncio.timeout(HELLO_S):
                event = await connection.receive()
            if isinstance(event, Message):
                if (reason := self._answer(event, connection)) is None:
                    return event
                if reason == OVER:
                    return None  # a late process of this run
            elif isinstance(event, Refusal):
                connection.send_bytes(event.farewell)
                reason = f"{event.reason} (to blame: the {event.blame})"
                if ours:
                    self._wrong(event)
            elif ours:
                return None  # the launcher reports how its process has ended
            else:
                reason = "it ended before a hello"
        except TimeoutError:
            reason = f"no hello within {HELLO_S:g} s"
        except ProtocolError as error:
            if ours and connection.ended:
                return None
            connection.send_bytes(error.farewell)
            reason = str(error)
        except Exception as error:  # an unexpected error caused by a stranger must not end the run
            reason = f"{type(error).__name__}: {shown(str(error), 200)}"
        self._refuse(f"application process {ours}" if ours else self._named(connection), reason)
        return None

    def _named(self, connection: Connection) -> str:
        """The name of a refused connection in the log."""
        return "a connection"

    def _refuse(self, name: str, reason: str) -> None:
        self.refused += 1
        if not self._quiet and self.refused <= LINES:
            log.warning("%s was refused: %s", name, reason)
        elif not self._quiet and self.refused == LINES + 1:
            log.warning("further connections are refused without a message each")
