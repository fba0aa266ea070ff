"""The messages between a run and another host that has application processes for it, typed and bounded.

What the fields mean is said in ``PROTOCOL.md``, section 14. Whether a message fits what was said before is judged in
:mod:`bridge.protocol.host_session`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Final, Literal

from bridge.encoding import Meta, Struct, msgpack
from bridge.protocol.message_fields import Reason, TechniqueName, Version
from bridge.protocol.messages import MessageError, decoded
from bridge.protocol.repeated_keys import repeated_key
from traces.base.errors import shown

#: What the two kinds of connections are called when TLS is agreed upon (ALPN): a host's own, and those of its processes.
HOST_ALPN: Final = "twolevel-host"
APPLICATION_ALPN: Final = "twolevel-application"

#: Application processes that one host may offer to simulate at once.
MAX_HOST_WORKERS: Final = 1024

#: Files that a run may need on every host.
MAX_FILES: Final = 1024

_Words = Annotated[str, Meta(max_length=200)]
HostName = Annotated[str, Meta(min_length=1, max_length=100)]


class HostRole(StrEnum):
    """The two sides of a host's connection."""

    BRIDGE = "bridge"
    HOST = "host"


class HostMessage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type", tag=str.lower):
    """Base of all messages of a host's connection: frozen, built from keywords."""


class Join(HostMessage, frozen=True, kw_only=True):
    """Host: the first frame. It would have application processes for this run."""

    version: Version
    token: _Words
    package: _Words
    host: HostName
    workers: Annotated[int, Meta(ge=1, le=MAX_HOST_WORKERS)]


class NeededFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file that must be the same on every host."""

    path: Annotated[str, Meta(min_length=1, max_length=4096)]
    sha256: Annotated[str, Meta(min_length=64, max_length=64)]


class Admitted(HostMessage, frozen=True, kw_only=True):
    """Bridge: the join was accepted; prepare."""

    version: Version
    token: _Words
    technique: TechniqueName
    files: Annotated[tuple[NeededFile, ...], Meta(max_length=MAX_FILES)]


class Dismissed(HostMessage, frozen=True, kw_only=True, tag="refused"):
    """Bridge: its last word; as ``refused`` to an application."""

    reason: Reason
    blame: Literal["stranger", "host", "bridge"]


class Ready(HostMessage, frozen=True, kw_only=True):
    """Host: processes can be started."""


class Declined(HostMessage, frozen=True, kw_only=True):
    """Host: its last word: it cannot take part, or not any more."""

    reason: Reason


class Launch(HostMessage, frozen=True, kw_only=True):
    """Bridge: start an application process of this name."""

    worker: _Words


class Kill(HostMessage, frozen=True, kw_only=True):
    """Bridge: kill that process, if it is still there."""

    worker: _Words


class Gone(HostMessage, frozen=True, kw_only=True):
    """Host: a process has ended."""

    worker: _Words
    how: Reason
    blameless: bool


class Unborn(HostMessage, frozen=True, kw_only=True):
    """Host: a process could not be started."""

    worker: _Words
    why: Reason


class Over(HostMessage, frozen=True, kw_only=True):
    """Bridge: the run is over, or is given up; end all processes, and close the connection."""

    complete: bool


class HostGreeting(Struct, frozen=True, tag_field="type", tag="join"):
    """The part of a join that is the same in every version."""

    version: int
    token: str


FromHost = Join | Ready | Declined | Gone | Unborn
FromBridge = Admitted | Dismissed | Launch | Kill | Over

#: Every message type by its name on the wire, in the order of ``PROTOCOL.md``.
HOST_MESSAGES: Final[dict[str, type[HostMessage]]] = {
    "join": Join,
    "admitted": Admitted,
    "refused": Dismissed,
    "ready": Ready,
    "declined": Declined,
    "launch": Launch,
    "kill": Kill,
    "gone": Gone,
    "unborn": Unborn,
    "over": Over,
}
_NAMES: Final = {kind: name for name, kind in HOST_MESSAGES.items()}
_ENCODER: Final = msgpack.Encoder()
_DECODERS: Final[dict[HostRole, msgpack.Decoder[Any]]] = {
    HostRole.HOST: msgpack.Decoder(FromHost),
    HostRole.BRIDGE: msgpack.Decoder(FromBridge),
}
_GREETING: Final = msgpack.Decoder(HostGreeting)


def host_message_name(message: HostMessage) -> str:
    """The ``type`` of a message on the wire."""
    return _NAMES[type(message)]


def encode_host(message: HostMessage) -> bytes:
    """The MessagePack form of a message."""
    return _ENCODER.encode(message)


def decode_host(payload: bytes | memoryview, sender: HostRole) -> HostMessage:
    """The message in a payload, of those that ``sender`` may send.

    Raises
    ------
    MessageError
        If it is none.
    """
    found: HostMessage = decoded(_DECODERS[sender], payload)
    if key := repeated_key(payload):
        raise MessageError(f"not a message: the key {shown(key)} occurs twice")
    return found


def decode_host_greeting(payload: bytes | memoryview) -> HostGreeting:
    """The version and token of a join of any version.

    Raises
    ------
    MessageError
        If it is no join.
    """
    greeting: HostGreeting = decoded(_GREETING, payload)
    return greeting
