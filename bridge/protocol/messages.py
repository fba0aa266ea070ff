"""The messages of the bridge protocol, typed and bounded, and their MessagePack form.

What the fields mean is said in ``PROTOCOL.md``. A message is one MessagePack map: its ``type`` and all of its
fields, no others. Decoding is strict; whether a message fits what was said before is judged in
:mod:`bridge.protocol.session`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Final, Literal

from bridge.encoding import Meta, Struct, msgpack
from bridge.protocol.message_fields import (
    ALL_CORES,
    EDGES_PER_FRAME,
    LENGTHS_PER_FRAME,
    MAX_CHANGES,
    MAX_CORES,
    MAX_EDGES,
    MAX_HINTED,
    MAX_HINTS,
    MAX_HOSTS,
    MAX_PARTS,
    MAX_PROMISES,
    MAX_RESIZED,
    MAX_RESIZES,
    MAX_SCALED,
    MAX_SCALES,
    MAX_TASKS,
    MAX_WISHES,
    RECORDS_PER_FRAME,
    Change,
    Changes,
    CoreColumn,
    CoreOfJob,
    Count,
    Duration,
    EdgeColumn4,
    EdgeColumn8,
    Hint,
    Hints,
    HostColumn,
    Instant,
    Key,
    LengthColumn,
    Measurement,
    Name,
    Network,
    NotNegative,
    Part,
    Parts,
    PositiveCount,
    Reason,
    Recipe,
    RecordColumn4,
    RecordColumn8,
    Resize,
    Resizes,
    Scale,
    Scales,
    TechniqueName,
    Version,
    Width,
    WidthRange,
)
from bridge.protocol.repeated_keys import entries, repeated_key
from traces.base.errors import shown

__all__ = [
    "ADDRESS_VARIABLE",
    "ALL_CORES",
    "EDGES_PER_FRAME",
    "LENGTHS_PER_FRAME",
    "MAX_CHANGES",
    "MAX_CORES",
    "MAX_EDGES",
    "MAX_HINTED",
    "MAX_HINTS",
    "MAX_RESIZED",
    "MAX_RESIZES",
    "MAX_SCALED",
    "MAX_SCALES",
    "MAX_HOSTS",
    "MAX_PARTS",
    "MAX_PROMISES",
    "MAX_TASKS",
    "MAX_WISHES",
    "MESSAGES",
    "OVER",
    "PROTOCOL_VERSION",
    "RECORDS_PER_FRAME",
    "TOKEN_VARIABLE",
    "WORKER_VARIABLE",
    "Cancel",
    "Change",
    "Edges",
    "Failed",
    "FromApplication",
    "FromBridge",
    "Greeting",
    "Hello",
    "Hint",
    "Resize",
    "Scale",
    "Lengths",
    "Measurement",
    "Message",
    "MessageError",
    "Network",
    "Outcome",
    "Part",
    "Promise",
    "Quit",
    "Recipe",
    "Records",
    "Refused",
    "Resume",
    "Role",
    "Start",
    "Suspended",
    "Transfers",
    "Welcome",
    "WidthRange",
    "Wish",
    "decode",
    "decode_greeting",
    "decoded",
    "encode",
    "name_of",
    "sender_of",
]

#: The version of the protocol that this module speaks.
PROTOCOL_VERSION: Final = 11

#: Environment variables that tell an application process where to connect, with which token, and who it is.
ADDRESS_VARIABLE: Final = "TWOLEVEL_ADDRESS"
TOKEN_VARIABLE: Final = "TWOLEVEL_TOKEN"
WORKER_VARIABLE: Final = "TWOLEVEL_WORKER"

#: Reason for refusing a hello that arrives after all jobs are done; not a fault of the process, which just ends.
OVER: Final = "the run is over"


class Role(StrEnum):
    """The two sides of a connection."""

    BRIDGE = "bridge"
    APPLICATION = "application"


class Message(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type", tag=str.lower):
    """Base of all messages: frozen, built from keywords. Field units and ranges are in ``PROTOCOL.md``."""


class Hello(Message, frozen=True, kw_only=True):
    """Application: the first frame on a connection."""

    version: Version
    token: Annotated[str, Meta(max_length=200)]
    worker: Annotated[str, Meta(max_length=200)]
    name: Name
    tasks: Literal["recipe", "lengths"]
    conserves_work: bool
    releases: bool
    hints: bool
    resizes: bool
    wishes: bool
    scales: bool


class Promise(Message, frozen=True, kw_only=True):
    """Application: nothing of this job will be visible before an instant."""

    job: Key
    not_before_ns: Instant


class Wish(Message, frozen=True, kw_only=True):
    """Application: from an instant on the job wants so many cores."""

    job: Key
    at_ns: Instant
    cores: Width


class Suspended(Message, frozen=True, kw_only=True):
    """Application: it has run everything before ``now_ns`` and waits to be resumed."""

    job: Key
    now_ns: Instant
    not_before_ns: Instant


class Records(Message, frozen=True, kw_only=True):
    """Application: a slice of the job's tasks, from task ``first`` on."""

    job: Key
    first: Count
    start_ns: RecordColumn8
    end_ns: RecordColumn8
    core: RecordColumn4
    chunk: RecordColumn4
    length_gflop: RecordColumn8


class Transfers(Message, frozen=True, kw_only=True):
    """Application: a slice of the job's transfers between cores, from transfer ``first`` on."""

    job: Key
    first: Count
    source: RecordColumn4
    target: RecordColumn4
    bytes: RecordColumn8
    sent_ns: RecordColumn8
    arrived_ns: RecordColumn8


class Outcome(Message, frozen=True, kw_only=True):
    """Application: the job has ended."""

    job: Key
    attempt: Count
    end_ns: Instant
    stopped: bool
    last_lost: CoreOfJob | None
    tasks: PositiveCount
    ran: Count
    chunks: Count
    transfers: Count
    length_gflop: NotNegative
    length_cov: NotNegative | None
    finish_ns: CoreColumn
    busy_ns: CoreColumn
    released_ns: CoreColumn | None
    scheduling_ns: Key
    chosen: Annotated[tuple[Count, ...], Meta(max_length=1000)]
    ahead_chunks: Key
    graph: Measurement | None


class Failed(Message, frozen=True, kw_only=True):
    """Application: it cannot simulate this job."""

    job: Key
    reason: Reason
    blame: Literal["user", "bridge", "application"]


class Welcome(Message, frozen=True, kw_only=True):
    """Bridge: the hello was accepted."""

    version: Version
    run: Name


class Refused(Message, frozen=True, kw_only=True):
    """Bridge: its last word before it closes the connection."""

    reason: Reason
    blame: Literal["stranger", "application", "bridge"]


class Start(Message, frozen=True, kw_only=True):
    """Bridge: simulate a job."""

    job: Key
    attempt: Count
    start_ns: Instant
    core_speed_gflops: CoreColumn
    technique: TechniqueName
    parts: Parts | None
    overhead_ns: Duration
    latency_ns: CoreColumn | None
    master: bool
    core_host: HostColumn | None
    network: Network | None
    records: bool
    releases: bool
    recipe: Recipe | None
    tasks: PositiveCount | None
    until_ns: Instant | None
    changes: Changes
    hints: Hints
    resizes: Resizes | None
    resize_ns: Duration
    wishes: WidthRange | None
    scales: Scales
    stop_ns: Instant | None


class Lengths(Message, frozen=True, kw_only=True):
    """Bridge: a slice of the lengths of the job's tasks, from task ``first`` on."""

    job: Key
    first: Count
    length_gflop: LengthColumn


class Edges(Message, frozen=True, kw_only=True):
    """Bridge: a slice of the edges of the job's graphs, from edge ``first`` on."""

    job: Key
    first: Count
    source: EdgeColumn4
    target: EdgeColumn4
    bytes: EdgeColumn8


class Resume(Message, frozen=True, kw_only=True):
    """Bridge: go on with a suspended job."""

    job: Key
    until_ns: Instant | None
    changes: Changes
    stop_ns: Instant | None


class Cancel(Message, frozen=True, kw_only=True):
    """Bridge: forget a job."""

    job: Key


class Quit(Message, frozen=True, kw_only=True):
    """Bridge: no more work; close the connection."""


class Greeting(Struct, frozen=True, tag_field="type", tag="hello"):
    """The part of a hello that is the same in every version, so that one of any version can be answered; and of every role, of
    which an application says none."""

    version: int
    token: str
    role: Any = ""


FromApplication = Hello | Promise | Wish | Suspended | Records | Transfers | Outcome | Failed
FromBridge = Welcome | Refused | Start | Lengths | Edges | Resume | Cancel | Quit

#: Every message type, by its name on the wire and in the order of ``PROTOCOL.md``.
MESSAGES: Final[dict[str, type[Message]]] = {
    "hello": Hello,
    "welcome": Welcome,
    "refused": Refused,
    "start": Start,
    "lengths": Lengths,
    "edges": Edges,
    "promise": Promise,
    "wish": Wish,
    "suspended": Suspended,
    "resume": Resume,
    "records": Records,
    "transfers": Transfers,
    "outcome": Outcome,
    "failed": Failed,
    "cancel": Cancel,
    "quit": Quit,
}
_NAMES: Final = {kind: name for name, kind in MESSAGES.items()}
_ENTRIES: Final = {kind: 1 + len(kind.__struct_fields__) for kind in MESSAGES.values()}  # the type, and the fields

_ENCODER: Final = msgpack.Encoder()
_DECODERS: Final[dict[Role, msgpack.Decoder[Any]]] = {
    Role.APPLICATION: msgpack.Decoder(FromApplication),
    Role.BRIDGE: msgpack.Decoder(FromBridge),
}
_GREETING: Final = msgpack.Decoder(Greeting)


class MessageError(ValueError):
    """Bytes that are no message, or a message that has no bytes. The text is one line."""


def name_of(message: Message) -> str:
    """The ``type`` of a message on the wire."""
    return _NAMES[type(message)]


def sender_of(message: Message) -> Role:
    """The only side that may send this message."""
    return Role.APPLICATION if isinstance(message, FromApplication) else Role.BRIDGE


def encode(message: Message) -> bytes:
    """The MessagePack form of a message.

    Raises
    ------
    MessageError
        If a field holds something MessagePack has no form for.
    """
    try:
        return _ENCODER.encode(message)
    except (TypeError, ValueError, OverflowError) as error:
        raise MessageError(f"{name_of(message)} cannot be written: {shown(str(error), 160)}") from error


def decode(payload: bytes | memoryview, sender: Role) -> Message:
    """The message in a payload, of those that ``sender`` may send.

    Raises
    ------
    MessageError
        If it is not exactly one map with a known ``type`` and that type's fields, each once and in its range.
    """
    message: Message = decoded(_DECODERS[sender], payload)
    # All fields are there and no others, so that their number tells; maps within are those of our own encoding, mostly.
    several = entries(payload) != _ENTRIES[type(message)]
    if several or (_has_maps(message) and payload != _ENCODER.encode(message)):
        key = repeated_key(payload)
        if key:
            raise MessageError(f"not a message: the key {shown(key)} occurs twice")
    return message


def _has_maps(message: Message) -> bool:
    return isinstance(message, Start | Resume) or (isinstance(message, Outcome) and message.graph is not None)


def decode_greeting(payload: bytes | memoryview) -> Greeting:
    """The version and token of a hello of any version.

    Raises
    ------
    MessageError
        If it is no hello.
    """
    greeting: Greeting = decoded(_GREETING, payload)
    return greeting


def decoded(decoder: msgpack.Decoder[Any], payload: bytes | memoryview) -> Any:
    """What a decoder makes of a payload.

    Raises
    ------
    MessageError
        If it is no such message.
    """
    try:
        return decoder.decode(payload)
    except (ValueError, RecursionError) as error:  # text that is no UTF-8; arrays nested without end
        # Without the cause: its traceback would keep the buffer that the payload lies in.
        raise MessageError(f"not a message: {shown(str(error), 160)}") from None
