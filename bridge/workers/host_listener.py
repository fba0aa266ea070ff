"""The listener for other hosts: TLS, then a token, then everything else.

As on this host, only a few unauthenticated connections may exist at once, for a limited time; unfinished handshakes count.
"""

import asyncio
import contextlib
import os
import socket
from collections.abc import Awaitable, Callable
from typing import Any, Final

from bridge.options.declared import LISTEN
from bridge.protocol.application_book import ApplicationBook
from bridge.protocol.framing import READ_AT_MOST
from bridge.protocol.host_messages import HOST_ALPN, Admitted, Dismissed, HostBook, Join
from bridge.protocol.messages import Hello
from bridge.protocol.session import Session
from bridge.protocol.tables import Role
from bridge.protocol.vocabulary import Message
from bridge.workers import listener
from bridge.workers.address import PARTING_TLS_S, keep_alive, tls_address
from bridge.workers.connection import Connection, Streams
from bridge.workers.credentials import TlsError, why_not
from bridge.workers.listener import Listener, settle
from traces.base.errors import InputError, shown

_PAUSE_S: Final = 0.2  # time to wait if a connection could not be accepted because too many files are open, s
_BACKLOG: Final = 1024  # number of connections that the kernel queues before they are accepted


class HostListener(Listener):
    """The socket to which other hosts, and their application processes, connect.

    - ``token``, ``admit``, ``serve``: for application processes, see :class:`bridge.workers.listener.Listener`.
    - ``host_token``, ``admit_host``, ``serve_host``: the same for hosts; ``admit_host`` returns the answer, or the reason of a
      refusal.
    - ``awaited``: number of application processes of hosts whose hello is still to come; the limit on strangers, from which
      they cannot be distinguished, is raised by it.
    """

    def __init__(
        self,
        token: str,
        admit: Callable[[Hello], str | None],
        serve: Callable[[Hello, Connection], Awaitable[None]],
        *,
        host_token: str,
        admit_host: Callable[[Join], Admitted | str],
        serve_host: Callable[[Join, Connection], Awaitable[None]],
        awaited: Callable[[], int],
    ) -> None:
        super().__init__(token, admit, serve)
        self._host_token, self._admit_host, self._serve_host = host_token, admit_host, serve_host
        self._awaited_elsewhere = awaited
        self._context: Any = None
        self._listening: socket.socket | None = None
        self._accepting: asyncio.Task[None] | None = None
        self._visitors: dict[asyncio.Task[None], socket.socket | None] = {}  # with the socket until it is handled
        self._writers: set[asyncio.StreamWriter] = set()

    async def open_tls(self, address: str, context: Any) -> str:
        """Listen at ``tls://HOST:PORT``; return the address with the chosen port. Raises InputError if that is impossible."""
        host, port = tls_address(address, str(LISTEN))
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
            family, _, _, _, place = found[0]
            self._listening = socket.create_server(place[:2], family=family, backlog=_BACKLOG)
        except (OSError, UnicodeError) as error:
            number = error.errno if isinstance(error, OSError) else None
            why = os.strerror(number) if number is not None and number > 0 else str(error)  # name resolution: below 0
            raise InputError(f"{LISTEN}: {shown(address)}: {why}") from None
        self._listening.setblocking(False)
        self._context = context
        self._accepting = asyncio.create_task(self._accept(self._listening))
        written = f"[{host}]" if ":" in host else host
        return f"tls://{written}:{self._listening.getsockname()[1]}"

    async def close(self) -> None:
        """Accept no more connections, and close all."""
        if self._accepting is not None:
            self._accepting.cancel()
            await asyncio.gather(self._accepting, return_exceptions=True)
        if self._listening is not None:
            self._listening.close()
        shaking = [task for task in self._visitors if task not in self._connections]
        for task in shaking:
            task.cancel()
        await asyncio.gather(*shaking, return_exceptions=True)
        await super().close()
        for writer in self._writers:  # connections that do not answer the farewell
            writer.transport.abort()
        self._writers.clear()
        await settle()

    def _most_strangers(self) -> int:
        return super()._most_strangers() + self._awaited_elsewhere()

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                plug, _ = await loop.sock_accept(listening)
            except OSError:  # too many open files, or the connection was closed again
                await asyncio.sleep(_PAUSE_S)
                continue
            task = loop.create_task(self._visited(plug))
            self._visitors[task] = plug
            task.add_done_callback(self._left)

    def _left(self, task: asyncio.Task[None]) -> None:
        if (plug := self._visitors.pop(task)) is not None:  # the task was cancelled before it began
            plug.close()

    async def _visited(self, plug: socket.socket) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._visitors[task] = None
        name = f"a connection from {_peer(plug)}"
        sent_away = False

        def send_away() -> None:
            nonlocal sent_away
            sent_away = True
            task.cancel()

        self._receive(task, send_away)
        try:
            async with asyncio.timeout(listener.HELLO_S):
                reader, writer = await self._secured(plug)
        except TimeoutError:
            reason = f"no TLS handshake within {listener.HELLO_S:g} s"
        except (OSError, TlsError) as error:
            reason = f"no TLS: {why_not(error)}"
        except asyncio.CancelledError:
            if not sent_away:
                return  # the run has ended
            reason = f"no TLS handshake, and more than {self._most_strangers()} wait"
        else:
            await self._secured_visit(task, reader, writer)
            return
        finally:
            if self._strangers.get(task) is send_away:
                del self._strangers[task]
        self._refuse(name, reason)

    async def _secured(self, plug: socket.socket) -> Streams:
        # The counterpart of asyncio.open_connection.
        loop = asyncio.get_running_loop()
        try:
            keep_alive(plug)
            reader = asyncio.StreamReader(limit=READ_AT_MOST, loop=loop)
            protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
            transport, _ = await loop.connect_accepted_socket(
                lambda: protocol,
                plug,
                ssl=self._context,
                ssl_handshake_timeout=listener.HELLO_S + 1.0,  # the caller's limit is reached first
                ssl_shutdown_timeout=PARTING_TLS_S,
            )
        except BaseException:
            plug.close()
            raise
        return reader, asyncio.StreamWriter(transport, protocol, reader, loop)

    async def _secured_visit(
        self, task: asyncio.Task[None], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        is_host = writer.get_extra_info("ssl_object").selected_alpn_protocol() == HOST_ALPN
        kind, token = (HostBook, self._host_token) if is_host else (ApplicationBook, self._token)
        connection = Connection(Session[Any](kind, Role.BRIDGE, token), reader, writer)
        self._writers.add(writer)
        self._connections[task] = connection
        self._strangers[task] = connection.abort  # instead of its handshake
        try:
            if not await self._attend(task, connection, ""):
                self._receive(task, connection.abort)  # until it has ended
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(PARTING_TLS_S):
                    await writer.wait_closed()
        finally:
            self._strangers.pop(task, None)
            self._writers.discard(writer)
            writer.transport.abort()

    async def _admitted(self, hello: Message, connection: Connection) -> None:
        if isinstance(hello, Join):
            await self._serve_host(hello, connection)
        else:
            await super()._admitted(hello, connection)

    def _answer(self, hello: Message, connection: Connection) -> str | None:
        if not isinstance(hello, Join):
            return super()._answer(hello, connection)
        answer = self._admit_host(hello)
        if isinstance(answer, Admitted):
            connection.send(answer)
            return None
        connection.send(Dismissed(reason=answer[:500], blame="host"))
        return answer

    def _named(self, connection: Connection) -> str:
        return f"a connection from {connection.peer}"


def _peer(plug: socket.socket) -> str:
    try:
        return str(plug.getpeername()[0])
    except OSError:  # it is closed already
        return "an unknown address"
