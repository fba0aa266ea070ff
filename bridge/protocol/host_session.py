"""A host's connection to a run, seen from either end, without any I/O: bytes in, messages out.

Beside it each application process of the host has a connection of its own, which is a :mod:`bridge.protocol.session`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Literal

from bridge.protocol.host_messages import (
    Dismissed,
    HostGreeting,
    HostMessage,
    HostRole,
    Join,
    decode_host,
    decode_host_greeting,
    encode_host,
    host_message_name,
)
from bridge.protocol.message_session import END, Form, MessageSession
from bridge.protocol.messages import PROTOCOL_VERSION
from bridge.protocol.session import Refusal
from traces.base.errors import PeerError


class HostState(StrEnum):
    """Where a host's connection is."""

    AWAIT_JOIN = "AWAIT_JOIN"
    AWAIT_ADMITTED = "AWAIT_ADMITTED"
    PREPARING = "PREPARING"
    READY = "READY"
    CLOSING = "CLOSING"
    CLOSED = "CLOSED"
    ERROR = "ERROR"


#: (state, message) → state; whatever is not in it is a protocol error of its sender.
HOST_TABLE: Final[dict[tuple[HostState, str], HostState]] = {
    (HostState.AWAIT_JOIN, "join"): HostState.AWAIT_ADMITTED,
    (HostState.AWAIT_JOIN, "refused"): HostState.CLOSED,
    (HostState.AWAIT_JOIN, END): HostState.CLOSED,
    (HostState.AWAIT_ADMITTED, "admitted"): HostState.PREPARING,
    (HostState.AWAIT_ADMITTED, "refused"): HostState.CLOSED,
    (HostState.AWAIT_ADMITTED, END): HostState.CLOSED,
    (HostState.PREPARING, "ready"): HostState.READY,
    (HostState.PREPARING, "declined"): HostState.CLOSED,
    (HostState.PREPARING, "over"): HostState.CLOSING,
    (HostState.PREPARING, "refused"): HostState.CLOSED,
    (HostState.PREPARING, END): HostState.CLOSED,
    (HostState.READY, "launch"): HostState.READY,
    (HostState.READY, "kill"): HostState.READY,
    (HostState.READY, "gone"): HostState.READY,
    (HostState.READY, "unborn"): HostState.READY,
    (HostState.READY, "declined"): HostState.CLOSED,
    (HostState.READY, "refused"): HostState.CLOSED,
    (HostState.READY, "over"): HostState.CLOSING,
    (HostState.READY, END): HostState.CLOSED,
    # What was on its way when the run ended is dropped.
    (HostState.CLOSING, "ready"): HostState.CLOSING,
    (HostState.CLOSING, "declined"): HostState.CLOSING,
    (HostState.CLOSING, "gone"): HostState.CLOSING,
    (HostState.CLOSING, "unborn"): HostState.CLOSING,
    (HostState.CLOSING, END): HostState.CLOSED,
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


_FORM: Final = Form(
    first=HostState.AWAIT_JOIN,
    closing=HostState.CLOSING,
    closed=HostState.CLOSED,
    error=HostState.ERROR,
    table=HOST_TABLE,
    opening=Join,
    other="host",
    name=host_message_name,
    encode=encode_host,
    decode=decode_host,
    greeting=decode_host_greeting,
    refused=Dismissed,
    refusal=Refusal,
    broken=HostProtocolError,
)


class HostSession(MessageSession[HostState, HostMessage, Refusal, HostProtocolError]):
    """One end of a host's connection; used as ``bridge.protocol.session.Session`` is.

    Parameters
    ----------
    role : HostRole
        Which end this is.
    token : str
        What a host must know; the bridge end needs it.
    """

    def __init__(self, role: HostRole, token: str = "") -> None:
        self.role: Final = role
        bridge = role is HostRole.BRIDGE
        super().__init__(_FORM, role, HostRole.HOST if bridge else HostRole.BRIDGE, bridge=bridge, token=token)

    def _wrong(self, greeting: HostGreeting) -> str:
        if greeting.version == PROTOCOL_VERSION:
            return ""
        return f"protocol version {greeting.version} is not spoken here; spoken: {PROTOCOL_VERSION}"
