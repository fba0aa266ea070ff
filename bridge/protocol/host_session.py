"""A host's connection to a run, seen from either end, without any I/O: bytes in, messages out.

Beside it each application process of the host has a connection of its own, which is a :mod:`bridge.protocol.session`.
"""

from __future__ import annotations

import hmac
from enum import StrEnum
from typing import Final, Literal

from bridge.protocol.framing import (
    MAX_FRAME,
    MAX_FRAME_BEFORE_HELLO,
    READ_AT_MOST,
    FrameError,
    FrameReader,
    frame,
)
from bridge.protocol.host_messages import (
    Dismissed,
    HostMessage,
    HostRole,
    Join,
    decode_host,
    decode_host_greeting,
    encode_host,
    host_message_name,
)
from bridge.protocol.messages import PROTOCOL_VERSION, MessageError
from bridge.protocol.session import NEED_DATA, ConnectionClosed, LocalProtocolError, Pause, Refusal
from traces.base.errors import PeerError

__all__ = ["HOST_TABLE", "HostProtocolError", "HostSession", "HostState"]


class HostState(StrEnum):
    """Where a host's connection is."""

    AWAIT_JOIN = "AWAIT_JOIN"
    AWAIT_ADMITTED = "AWAIT_ADMITTED"
    PREPARING = "PREPARING"
    READY = "READY"
    CLOSING = "CLOSING"
    CLOSED = "CLOSED"
    ERROR = "ERROR"


_END = "end of stream"

#: (state, message) → state; whatever is not in it is a protocol error of its sender.
HOST_TABLE: Final[dict[tuple[HostState, str], HostState]] = {
    (HostState.AWAIT_JOIN, "join"): HostState.AWAIT_ADMITTED,
    (HostState.AWAIT_JOIN, "refused"): HostState.CLOSED,
    (HostState.AWAIT_JOIN, _END): HostState.CLOSED,
    (HostState.AWAIT_ADMITTED, "admitted"): HostState.PREPARING,
    (HostState.AWAIT_ADMITTED, "refused"): HostState.CLOSED,
    (HostState.AWAIT_ADMITTED, _END): HostState.CLOSED,
    (HostState.PREPARING, "ready"): HostState.READY,
    (HostState.PREPARING, "declined"): HostState.CLOSED,
    (HostState.PREPARING, "over"): HostState.CLOSING,
    (HostState.PREPARING, "refused"): HostState.CLOSED,
    (HostState.PREPARING, _END): HostState.CLOSED,
    (HostState.READY, "launch"): HostState.READY,
    (HostState.READY, "kill"): HostState.READY,
    (HostState.READY, "gone"): HostState.READY,
    (HostState.READY, "unborn"): HostState.READY,
    (HostState.READY, "declined"): HostState.CLOSED,
    (HostState.READY, "refused"): HostState.CLOSED,
    (HostState.READY, "over"): HostState.CLOSING,
    (HostState.READY, _END): HostState.CLOSED,
    # What was on its way when the run ended is dropped.
    (HostState.CLOSING, "ready"): HostState.CLOSING,
    (HostState.CLOSING, "declined"): HostState.CLOSING,
    (HostState.CLOSING, "gone"): HostState.CLOSING,
    (HostState.CLOSING, "unborn"): HostState.CLOSING,
    (HostState.CLOSING, _END): HostState.CLOSED,
}

Blame = Literal["stranger", "host", "bridge"]


class HostProtocolError(PeerError):
    """The other side broke the protocol; the connection is of no more use.

    Attributes
    ----------
    farewell : bytes
        What to send before closing, possibly nothing.
    """

    def __init__(self, reason: str, blame: Blame, farewell: bytes = b"") -> None:
        super().__init__(f"the {blame} broke the protocol: {reason}")
        self.farewell = farewell


class HostSession:
    """One end of a host's connection; used as ``bridge.protocol.session.Session`` is.

    Parameters
    ----------
    role : HostRole
        Which end this is.
    token : str
        What a host must know; the bridge end needs it.
    """

    def __init__(self, role: HostRole, token: str = "") -> None:
        if role is HostRole.BRIDGE and not token:
            raise LocalProtocolError("the bridge end needs a token")
        self.role: Final = role
        self._peer: Final = HostRole.HOST if role is HostRole.BRIDGE else HostRole.BRIDGE
        self._token = token.encode()
        self._frames = FrameReader(MAX_FRAME_BEFORE_HELLO, 0 if role is HostRole.BRIDGE else READ_AT_MOST)
        self._state = HostState.AWAIT_JOIN
        self._ended = self._token_shown = False
        self._failure: HostProtocolError | None = None

    @property
    def state(self) -> HostState:
        """Where the connection is."""
        return self._state

    def send(self, message: HostMessage) -> bytes:
        """Judge a message of ours by the table and return its frame.

        Raises
        ------
        LocalProtocolError
            If it may not be sent now, or has a field out of range.
        """
        name = host_message_name(message)
        try:
            payload = encode_host(message)
            decode_host(payload, self.role)  # what we send must be what we would accept
            strange = self._state is HostState.AWAIT_JOIN
            data = frame(payload, MAX_FRAME_BEFORE_HELLO if strange else MAX_FRAME)
        except (MessageError, FrameError) as error:
            raise LocalProtocolError(f"{name} cannot be sent: {error}") from error
        self._step(name, LocalProtocolError)
        if isinstance(message, Join):
            self._frames.allow(MAX_FRAME, READ_AT_MOST)
        return data

    def receive_data(self, data: bytes | bytearray | memoryview) -> None:
        """Take bytes that were read from the stream."""
        if self._state in (HostState.CLOSED, HostState.ERROR):
            return
        try:
            self._frames.feed(data)
        except FrameError as error:
            self._fail(str(error))

    def receive_eof(self) -> None:
        """The other side has closed its end of the stream."""
        self._ended = True

    def next_event(self) -> HostMessage | Refusal | ConnectionClosed | Pause:
        """The next message, judged, or why there is none; as ``Session.next_event``.

        Raises
        ------
        HostProtocolError
            If the other side broke the protocol; again at every later call.
        """
        if self._failure is not None:
            raise self._failure
        if self._state is HostState.CLOSED:
            return ConnectionClosed()
        try:
            event = self._frames.take(self._read)
            if event is None and not self._ended:
                return NEED_DATA
            if isinstance(event, Refusal):
                return event
            if event is None and self._frames.waiting and self._state is not HostState.CLOSING:
                raise MessageError("it closed the connection in the middle of a frame")
            self._step(_END if event is None else host_message_name(event), MessageError)
        except (MessageError, FrameError) as error:
            raise self._fail(str(error)) from None
        if isinstance(event, Join):
            self._frames.allow(MAX_FRAME, READ_AT_MOST)
        return ConnectionClosed() if event is None else event

    def _step(self, name: str, wrong: type[Exception]) -> None:
        after = HOST_TABLE.get((self._state, name))
        if after is None:
            raise wrong(f"{name} is not allowed while the connection is in the state {self._state!s}")
        self._state = after

    def _read(self, payload: memoryview) -> HostMessage | Refusal:
        if self.role is HostRole.BRIDGE and self._state is HostState.AWAIT_JOIN:
            greeting = decode_host_greeting(payload)
            # The token first: who does not have it is told nothing.
            if not hmac.compare_digest(greeting.token.encode(), self._token):
                return self._refuse("wrong token", "stranger")
            self._token_shown = True
            if greeting.version != PROTOCOL_VERSION:
                reason = f"protocol version {greeting.version} is not spoken here; spoken: {PROTOCOL_VERSION}"
                return self._refuse(reason, "host")
        return decode_host(payload, self._peer)

    def _refuse(self, reason: str, blame: Literal["stranger", "host"]) -> Refusal:
        self._state = HostState.CLOSED
        self._frames.clear()
        return Refusal(reason, blame, frame(encode_host(Dismissed(reason=reason, blame=blame))))

    def _fail(self, reason: str) -> HostProtocolError:
        blame: Blame = "bridge"
        farewell = b""
        if self.role is HostRole.BRIDGE:
            blame = "host" if self._token_shown else "stranger"
            if blame == "host" and self._state is not HostState.CLOSING:
                farewell = frame(encode_host(Dismissed(reason=reason[:500], blame=blame)))
        self._failure = HostProtocolError(reason, blame, farewell)
        self._state = HostState.ERROR
        self._frames.clear()
        return self._failure
