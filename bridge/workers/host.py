"""The command ``twolevel worker``: run application processes on this host for a run on another one.

Its fork server starts and kills processes as the run orders. The processes connect to the run themselves.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bridge.options.declared import CERTIFICATE
from bridge.protocol import host_messages as h
from bridge.protocol.messages import PROTOCOL_VERSION
from bridge.protocol.session import ProtocolError, Session
from bridge.protocol.tables import ConnectionState, Role
from bridge.protocol.vocabulary import Message
from bridge.workers.address import HANDSHAKE_S, PARTING_TLS_S, keep_alive, tls_address
from bridge.workers.connection import Connection, Streams
from bridge.workers.credentials import TlsError, pinned_context, read_token, sha256_of, why_not
from bridge.workers.interruptible import run_interruptibly
from bridge.workers.launchers import Launcher
from traces.base.errors import InputError, PeerError, TwolevelError, shown

if TYPE_CHECKING:
    import ssl

_BETWEEN_S: Final = 0.25  # time between two attempts to connect to a run, s
_ANSWER_S: Final = 30.0  # time limit of the run's answer to a join, s


async def connect(address: str, context: ssl.SSLContext) -> Streams:
    """Open a connection to the run at ``tls://host:port``, whose certificate the context verifies."""
    host, port = tls_address(address, "bridge address")
    limits: dict[str, Any] = {"ssl_handshake_timeout": HANDSHAKE_S, "ssl_shutdown_timeout": PARTING_TLS_S}
    streams = await asyncio.open_connection(host, port, ssl=context, **limits)
    keep_alive(streams[1].get_extra_info("socket"))
    return streams


def serve_run(
    address: str,
    *,
    token_file: str,
    certificate: str,
    workers: int,
    patience_s: float,
    package: str,
    say: Callable[[str], None],
) -> None:
    """Run application processes here for the run that listens at ``tls://HOST:PORT``, until it ends.

    - ``token_file``, ``certificate``: the files that authenticate this host and the run.
    - ``workers``: number of processes that simulate at once.
    - ``patience_s``: how long to wait for the run to begin, s.
    - ``package``: the version of ``twolevel`` that is installed here.

    Raises InputError if a file or the address cannot be used. Raises PeerError if the run cannot be connected to, refuses this
    host, ends early, or needs something that is missing here.
    """
    tls_address(address, "worker")
    host, token = socket.gethostname()[:100] or "unnamed", read_token(token_file)
    join = h.Join(version=PROTOCOL_VERSION, token=token, package=package, host=host, workers=workers)
    run_interruptibly(_Host(address, certificate, join, say).run(patience_s))


_BEGIN, _END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"  # begin and end of a certificate in a file


class _NotYet(Exception):
    """The run cannot be connected to; it may still begin."""


class _Host:
    """This host, as the owner of its processes."""

    def __init__(self, address: str, certificate: str, join: h.Join, say: Callable[[str], None]) -> None:
        self._address, self._certificate, self._join, self._say = address, certificate, join, say
        self._connection: Connection | None = None
        self._launcher: Launcher | None = None
        self._failure: TwolevelError | None = None
        self._launched = 0

    async def run(self, patience_s: float) -> None:
        """Join, and serve until the run ends."""
        pem, connection = await self._reached(patience_s)
        self._connection = connection
        complete = False
        try:
            over = await self._prepare(connection, await self._admitted(connection), pem)
            complete = (over or await self._serve(connection)).complete
        finally:
            try:
                if self._launcher is not None:
                    await self._launcher.close(patient=complete)
            finally:
                await connection.close_at_once(PARTING_TLS_S)
        if not complete:
            raise PeerError(f"the run at {self._address} was given up; {self._launched} processes were started here")
        self._say(f"the run at {self._address} is over; {self._launched} processes were started here")

    async def _reached(self, patience_s: float) -> tuple[str, Connection]:
        loop = asyncio.get_running_loop()
        deadline, waited = loop.time() + patience_s, False
        while True:
            try:
                return await self._reach()
            except _NotYet as error:
                if loop.time() >= deadline:
                    longer = "" if waited else "; --patience TIME waits for a run to begin"
                    raise PeerError(f"no run at {self._address}: {error}{longer}") from None
                if not waited:
                    self._say(f"waiting up to {patience_s:g} s for a run at {self._address}: {error}")
                waited = True
            await asyncio.sleep(min(_BETWEEN_S, max(0.0, deadline - loop.time())))

    async def _reach(self) -> tuple[str, Connection]:
        # Read the certificate each time: an earlier run may have left another one.
        try:
            pem = Path(self._certificate).read_text(encoding="ascii")
            if pem.startswith(_BEGIN) and _END not in pem:
                raise _NotYet(f"{CERTIFICATE}: {shown(self._certificate)} is not complete yet")
            context = pinned_context(pem, h.HOST_ALPN)
        except FileNotFoundError:
            raise _NotYet(f"{CERTIFICATE}: there is no file {shown(self._certificate)}; the run makes it") from None
        except (OSError, ValueError) as error:
            what = getattr(error, "strerror", None) or "no certificate"
            raise InputError(f"{CERTIFICATE}: {shown(self._certificate)}: {what}") from None
        except InputError as error:
            raise InputError(f"{CERTIFICATE}: {shown(self._certificate)}: {error.text}") from None
        try:
            async with asyncio.timeout(HANDSHAKE_S):
                streams = await connect(self._address, context)
        except TimeoutError:
            raise _NotYet(f"no answer within {HANDSHAKE_S:g} s") from None
        except TlsError as error:
            what = f"the program that listens there is not the run of {self._certificate}"
            raise _NotYet(f"{what}: {why_not(error)}") from None
        except OSError as error:
            raise _NotYet(error.strerror or str(error)) from None
        return pem, Connection(Session(h.HostBook, Role.HOST), *streams)

    async def _received(self, connection: Connection) -> Message | None:
        """The next message of the run; None if its connection has ended."""
        try:
            event = await connection.receive()
        except ProtocolError:
            if not connection.ended:
                raise
            return None
        return event if isinstance(event, Message) else None

    async def _admitted(self, connection: Connection) -> h.Admitted:
        connection.send(self._join)
        try:
            async with asyncio.timeout(_ANSWER_S):
                answer = await self._received(connection)
        except TimeoutError:
            raise PeerError(f"the run at {self._address} did not answer within {_ANSWER_S:g} s") from None
        if isinstance(answer, h.Admitted):
            return answer
        if isinstance(answer, h.Dismissed):
            hint = f"; it is not the token of {self._address}" if answer.blame == "stranger" else ""
            raise PeerError(f"the run at {self._address} refused this host: {answer.reason}{hint}")
        raise PeerError(f"the run at {self._address} ended before it answered")

    async def _prepare(self, connection: Connection, admitted: h.Admitted, pem: str) -> h.Over | None:
        """Load everything that the run needs; return the run's message if it ended meanwhile."""
        try:
            for needed in admitted.files:
                _check_file(needed)
            self._launcher = Launcher(self, self._address, admitted.token, admitted.technique, None, {}, pem)
            opening = asyncio.ensure_future(self._launcher.open())
            receiving = asyncio.ensure_future(self._received(connection))  # only the end can arrive now
            try:
                await asyncio.wait([opening, receiving], return_when=asyncio.FIRST_COMPLETED)
                if self._failure is not None:
                    raise self._failure
                if receiving.done():
                    return self._over(await receiving)
                await opening
            finally:
                for task in (opening, receiving):
                    task.cancel()
                await asyncio.gather(opening, receiving, return_exceptions=True)
        except TwolevelError as error:
            connection.send_in((ConnectionState.PREPARING,), _declined(error))
            raise
        connection.send(h.Ready())
        self._say(f"joined the run at {self._address} with {self._join.workers} workers")
        return None

    async def _serve(self, connection: Connection) -> h.Over:
        """Carry out the run's orders until its end."""
        launcher = self._launcher
        assert launcher is not None
        while True:
            order = await self._received(connection)
            if self._failure is not None:
                raise self._failure
            if isinstance(order, h.Launch):
                self._launched += 1
                launcher.launch(order.worker)
            elif isinstance(order, h.Kill):
                launcher.kill(order.worker)
            else:
                return self._over(order, "; its processes here were ended")

    def _over(self, last: Message | None, lost: str = "") -> h.Over:
        """The run's last message. Raises PeerError if it dismissed this host, or its connection was lost."""
        if isinstance(last, h.Over):
            return last
        if isinstance(last, h.Dismissed):
            raise PeerError(f"the run at {self._address} dismissed this host: {last.reason}")
        raise PeerError(f"the run at {self._address} is gone{lost}")

    # Ends of processes

    def _send(self, message: Message) -> None:
        if self._connection is not None:
            self._connection.send_in((ConnectionState.READY,), message)

    def gone(self, worker: str, how: str, *, blameless: bool) -> None:
        self._send(h.Gone(worker=worker, how=how[:500], blameless=blameless))

    def unborn(self, worker: str, why: str) -> None:
        self._send(h.Unborn(worker=worker, why=why[:500]))

    def fail(self, error: TwolevelError) -> None:
        """See ``Owner``: this host cannot have processes any more."""
        self._failure = self._failure or error
        if self._connection is not None:
            self._connection.send_in((ConnectionState.PREPARING, ConnectionState.READY), _declined(error))
            self._connection.close()


def _declined(error: TwolevelError) -> h.Declined:
    return h.Declined(reason=" ".join(str(error).split())[:500])


def _check_file(needed: h.NeededFile) -> None:
    what = f"host {socket.gethostname()}: {needed.path}"
    try:
        digest = sha256_of(needed.path)
    except OSError as error:
        raise PeerError(f"{what}, which the run needs: {error.strerror}") from None
    if digest != needed.sha256:
        raise PeerError(f"{what} differs from the run's file")
