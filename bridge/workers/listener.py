"""The listener: hears what strangers have to say, and lets in only who says a proper hello.

A stranger may send one small frame and be silent for a while, no more, and costs the run nothing but a line in the
log (``twolevel.bridge``), and of many not even that. Who is no stranger, as the run has started its process, never has to go
for one, and its end is for the one to tell who has started it.
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
from typing import Final, Protocol

from bridge.protocol.application_book import ApplicationBook
from bridge.protocol.framing import READ_AT_MOST
from bridge.protocol.messages import OVER, PROTOCOL_VERSION, Hello, Refused, Welcome
from bridge.protocol.session import ProtocolError, Refusal, Session
from bridge.protocol.tables import Role
from bridge.protocol.vocabulary import Message
from bridge.scratch import Scratch
from bridge.workers.address import socket_path
from bridge.workers.connection import Connection
from traces.base.errors import shown

_CREDENTIALS: Final = struct.Struct("3i")  # process, user, group

#: Where the kernel lists TCP sockets: a line each, of which these fields are used.
_TABLE: Final = "/proc/net/tcp"
_LOCAL, _REMOTE, _INODE = 1, 2, 9


def process_at(end: socket.socket) -> int:
    """The process that has connected to a Unix socket, even if it has ended since; 0 if it is not known."""
    try:
        data = end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    except OSError:
        return 0
    pid: int = _CREDENTIALS.unpack(data)[0]
    return pid


def process_of_tcp(end: socket.socket, candidates: Iterable[int]) -> int:
    """Which of some processes of this machine is at the other end of a TCP connection (IPv4); 0 if none is."""
    try:
        here, there = _listed(end.getsockname()), _listed(end.getpeername())
        with open(_TABLE, encoding="ascii") as table:
            rows = [line.split() for line in table if there in line]
    except OSError:
        return 0
    wanted = {f"socket:[{row[_INODE]}]" for row in rows if row[_LOCAL] == there and row[_REMOTE] == here}
    return next((pid for pid in candidates if wanted & _opened(pid)), 0) if wanted else 0


def _listed(address: tuple[str, int]) -> str:
    host, port = address[:2]
    return f"{int.from_bytes(socket.inet_aton(host), sys.byteorder):08X}:{port:04X}"


def _opened(pid: int) -> set[str]:
    folder = f"/proc/{pid}/fd"
    found = set()
    try:
        for name in os.listdir(folder):
            found.add(os.readlink(f"{folder}/{name}"))
    except OSError:  # it has ended, or closed one of them
        pass
    return found


log = logging.getLogger("twolevel.bridge")

#: How long somebody who has connected may take to say hello, s.
HELLO_S = 10.0

#: How many may be connected without having said hello; of more, the one that has been silent longest must go.
STRANGERS = 64

#: Of so many refused connections there is a line each.
LINES: Final = 10

#: How many connections the kernel may hold for us before they are accepted.
_BACKLOG: Final = 4096

#: Turns of the loop in which asyncio makes a connection of what the kernel has accepted, or lets go of one; ample.
_TURNS = 10


async def settle() -> None:
    """Let asyncio finish what it has begun with connections."""
    for _ in range(_TURNS):
        await asyncio.sleep(0)


class Stranger(Protocol):
    """Somebody who has not said hello."""

    def abort(self) -> None:
        """Send them away at once."""
        ...


class Listener:
    """Where application processes connect.

    - ``token``: what they must know.
    - ``admit``: given a hello with the right token and version, says why it is refused, or None.
    - ``serve``: given an admitted hello and its connection, talks to it; when it returns, the connection is closed.
    - ``awaited``: the processes that are to say hello: their names by their ids, or by those of their process groups.
    - ``wrong``: given the refusal of a hello that one of these has said.
    - ``refused``: how many were not let in.
    - ``messages``, ``bytes_sent``, ``bytes_received``: what went over all connections that have ended.
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
        self._strangers: dict[asyncio.Task[None], Stranger] = {}  # the longest here first
        self._connections: dict[asyncio.Task[None], Connection] = {}
        self._quiet = False
        self.refused = self.messages = self.bytes_sent = self.bytes_received = 0

    async def open(self, kind: str) -> str:
        """Listen on a ``unix`` or ``tcp`` socket; returns the address, as ``PROTOCOL.md`` writes it."""
        # In two steps: asyncio lets go of the loop once it serves, and who is cancelled there would never see the server.
        if kind == "tcp":
            self._server = await asyncio.start_server(
                self._connected, "127.0.0.1", 0, limit=READ_AT_MOST, backlog=_BACKLOG, start_serving=False
            )
            await self._server.start_serving()
            return f"tcp:127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        self._folder = Scratch()
        path = socket_path(self._folder.path)
        self._server = await asyncio.start_unix_server(
            self._connected, path, limit=READ_AT_MOST, backlog=_BACKLOG, start_serving=False
        )
        await self._server.start_serving()
        return f"unix:{path}"

    def fall_silent(self) -> None:
        """The run is given up: who is refused from now on is counted, but most likely one of ours, and not worth a word."""
        self._quiet = True

    async def close(self) -> None:
        """Let nobody in any more, and part with everybody."""
        if self._server is not None:
            loop = asyncio.get_running_loop()
            for listening in self._server.sockets:
                loop.remove_reader(listening)
            # Who was accepted just now still comes; once the server is closed, asyncio of Python 3.11 would drop it unclosed.
            await settle()
            self._server.close()
            await settle()
        while tasks := list(self._connections):
            for connection in self._connections.values():
                connection.abort()
            # Each finds the end of its stream. One that finds something else is of no interest any more.
            await asyncio.gather(*tasks, return_exceptions=True)
        await settle()  # and the last transports close their sockets
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
            self._receive(task, connection)
        await self._attend(task, connection, ours)

    def _receive(self, task: asyncio.Task[None], stranger: Stranger) -> None:
        """Somebody has come whom nobody knows; of too many, the one that has been silent longest must go."""
        while len(self._strangers) >= self._most_strangers():
            oldest = next(iter(self._strangers))
            self._strangers.pop(oldest).abort()
        self._strangers[task] = stranger

    def _most_strangers(self) -> int:
        """How many may be there at once."""
        return STRANGERS

    async def _attend(self, task: asyncio.Task[None], connection: Connection, ours: str) -> bool:
        """Hear a connection out, and count what went over it; whether its hello was admitted."""
        hello = None
        try:
            try:
                hello = await self._greet(connection, ours)
            finally:
                self._strangers.pop(task, None)
            if hello is not None:
                await self._admitted(hello, connection)
        except asyncio.CancelledError:
            pass  # the run is given up; and asyncio of Python 3.11 would complain of a cancelled connection
        finally:
            self._connections.pop(task, None)
            connection.close()  # which sends what was said last: before it is counted
            self.messages += connection.messages
            self.bytes_sent += connection.bytes_sent
            self.bytes_received += connection.bytes_received
        return hello is not None

    def _whose(self, writer: asyncio.StreamWriter) -> str:
        """Which awaited process has connected; empty for a stranger."""
        if not self._awaited:
            return ""
        end = writer.get_extra_info("socket")
        if end.family != socket.AF_UNIX:
            return self._awaited.get(process_of_tcp(end, self._awaited), "")
        pid = process_at(end)
        if pid in self._awaited:
            return self._awaited[pid]
        with contextlib.suppress(OSError):  # it has ended
            return self._awaited.get(os.getpgid(pid), "")
        return ""

    async def _admitted(self, hello: Message, connection: Connection) -> None:
        """Talk to somebody who was let in."""
        assert isinstance(hello, Hello)  # the session of an application allows nothing else
        await self._serve(hello, connection)

    def _answer(self, hello: Message, connection: Connection) -> str | None:
        """Let somebody in, or say why not."""
        assert isinstance(hello, Hello)
        reason = self._admit(hello)
        if reason is None:
            connection.say(Welcome(version=PROTOCOL_VERSION, run="twolevel"))
        else:
            connection.say(Refused(reason=reason[:500], blame="application"))
        return reason

    async def _greet(self, connection: Connection, ours: str) -> Message | None:
        """The first message of somebody who may come in, or None; ``ours`` is the name of a process that is awaited."""
        try:
            async with asyncio.timeout(HELLO_S):
                event = await connection.hear()
            if isinstance(event, Message):
                reason = self._answer(event, connection)
                if reason is None:
                    return event
                if reason == OVER:
                    return None  # one of ours, who is late
            elif isinstance(event, Refusal):
                connection.say_bytes(event.farewell)
                reason = f"{event.reason} (to blame: the {event.blame})"
                if ours:
                    self._wrong(event)
            elif ours:
                return None  # how its process has ended is known better elsewhere
            else:
                reason = "it ended before a hello"
        except TimeoutError:
            reason = f"no hello within {HELLO_S:g} s"
        except ProtocolError as error:
            if ours and connection.ended:
                return None
            connection.say_bytes(error.farewell)
            reason = str(error)
        except Exception as error:  # a fault of ours that a stranger has found must not end the run
            reason = f"{type(error).__name__}: {shown(str(error), 200)}"
        self._refuse(f"application process {ours}" if ours else self._named(connection), reason)
        return None

    def _named(self, connection: Connection) -> str:
        """What a connection is called that was refused."""
        return "a connection"

    def _refuse(self, who: str, reason: str) -> None:
        """Count who was not let in, and say so of the first ones."""
        self.refused += 1
        if not self._quiet and self.refused <= LINES:
            log.warning("%s was refused: %s", who, reason)
        elif not self._quiet and self.refused == LINES + 1:
            log.warning("more connections are refused; they are only counted")
