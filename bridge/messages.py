"""The messages of the bridge protocol, typed and bounded, and their MessagePack form: the door to msgspec.

What the fields mean is said in ``PROTOCOL.md``. A message is one MessagePack map: its ``type`` and all of its
fields, no others. Decoding is strict; whether a message fits what was said before is judged in
:mod:`bridge.session`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Final, Literal

import msgspec
import numpy as np
from msgspec import Meta, Struct

from traces.compiled import Array
from traces.errors import shown
from traces.time import MAX_NS

__all__ = [
    "ADDRESS_VARIABLE",
    "ALL_CORES",
    "LENGTHS_PER_FRAME",
    "MAX_CHANGES",
    "MAX_CORES",
    "MAX_PARTS",
    "MAX_TASKS",
    "MESSAGES",
    "PROTOCOL_VERSION",
    "RECORDS_PER_FRAME",
    "TOKEN_VARIABLE",
    "WORKER_VARIABLE",
    "Cancel",
    "Change",
    "Failed",
    "FromApplication",
    "FromBridge",
    "Greeting",
    "Hello",
    "Lengths",
    "Message",
    "MessageError",
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
    "Welcome",
    "decode",
    "decode_greeting",
    "encode",
    "name_of",
    "pack_float64",
    "pack_int32",
    "pack_int64",
    "sender_of",
    "unpack_float64",
    "unpack_int32",
    "unpack_int64",
]

#: The version of the protocol that this module speaks.
PROTOCOL_VERSION: Final = 3

#: Environment variables that tell an application process where to connect, with which token, and who it is.
ADDRESS_VARIABLE: Final = "TWOLEVEL_ADDRESS"
TOKEN_VARIABLE: Final = "TWOLEVEL_TOKEN"
WORKER_VARIABLE: Final = "TWOLEVEL_WORKER"

#: The ``core`` of a :class:`Change` that concerns every core of the job.
ALL_CORES: Final = -1

#: Most cores of one job, tasks of one job, changes in one message, parts of one job.
MAX_CORES: Final = 2**20
MAX_TASKS: Final = 2**31 - 1
MAX_CHANGES: Final = 2**16
MAX_PARTS: Final = 2**16

#: Most task lengths in one ``lengths``, most tasks in one ``records``.
LENGTHS_PER_FRAME: Final = 2**20
RECORDS_PER_FRAME: Final = 2**18

_MAX_FLOAT: Final = 1.7976931348623157e308  # so that infinity is refused; NaN fails every comparison

Key = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Instant = Annotated[int, Meta(ge=0, le=MAX_NS)]
Duration = Annotated[int, Meta(ge=0, le=MAX_NS)]
Count = Annotated[int, Meta(ge=0, le=MAX_TASKS)]
PositiveCount = Annotated[int, Meta(ge=1, le=MAX_TASKS)]
Positive = Annotated[float, Meta(gt=0, le=_MAX_FLOAT)]
NotNegative = Annotated[float, Meta(ge=0, le=_MAX_FLOAT)]
Seed = Annotated[int, Meta(ge=0)]  # up to 2**64 - 1, which is all that MessagePack holds
Name = Annotated[str, Meta(min_length=1, max_length=200)]
TechniqueName = Annotated[str, Meta(min_length=1, max_length=1000)]  # it may be the path of a file
ProgramText = Annotated[str, Meta(max_length=2**20)]
Reason = Annotated[str, Meta(max_length=500)]
CoreColumn = Annotated[bytes, Meta(min_length=8, max_length=8 * MAX_CORES)]
LengthColumn = Annotated[bytes, Meta(min_length=8, max_length=8 * LENGTHS_PER_FRAME)]
RecordColumn8 = Annotated[bytes, Meta(min_length=8, max_length=8 * RECORDS_PER_FRAME)]
RecordColumn4 = Annotated[bytes, Meta(min_length=4, max_length=4 * RECORDS_PER_FRAME)]


class Role(StrEnum):
    """The two sides of a connection."""

    BRIDGE = "bridge"
    APPLICATION = "application"


class Map(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A map inside a message."""


class Message(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type", tag=str.lower):
    """Base of all messages: frozen, built from keywords. Field units and ranges are in ``PROTOCOL.md``."""


class Change(Map, frozen=True, kw_only=True):
    """From ``at_ns`` on, a core (index within the job, or ``ALL_CORES``) has another speed; at 0 it is lost."""

    at_ns: Instant
    core: Annotated[int, Meta(ge=ALL_CORES, lt=MAX_CORES)]
    speed_gflops: NotNegative


class Recipe(Map, frozen=True, kw_only=True):
    """What an application that draws the job's tasks by itself needs to know."""

    seed: Seed
    job_number: Key
    n: PositiveCount
    mean_gflop: Positive
    variation: NotNegative
    total_gflop: Positive
    core_gflop: Positive
    program: ProgramText


class Part(Map, frozen=True, kw_only=True):
    """A part of a job: a loop with its technique, or a serial part, which has none."""

    tasks: PositiveCount
    technique: TechniqueName | None


class Hello(Message, frozen=True, kw_only=True):
    """Application: the first frame on a connection."""

    version: Annotated[int, Meta(ge=0, le=2**31 - 1)]
    token: Annotated[str, Meta(max_length=200)]
    worker: Annotated[str, Meta(max_length=200)]
    name: Name
    tasks: Literal["recipe", "lengths"]
    conserves_work: bool


class Promise(Message, frozen=True, kw_only=True):
    """Application: nothing of this job will be visible before an instant."""

    job: Key
    not_before_ns: Instant


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


class Outcome(Message, frozen=True, kw_only=True):
    """Application: the job has ended."""

    job: Key
    attempt: Count
    end_ns: Instant
    stopped: bool
    tasks: PositiveCount
    ran: Count
    chunks: Count
    length_gflop: Positive
    length_cov: NotNegative
    finish_ns: CoreColumn
    busy_ns: CoreColumn
    scheduling_ns: Key
    chosen: Annotated[tuple[Count, ...], Meta(max_length=1000)]
    ahead_chunks: Key


class Failed(Message, frozen=True, kw_only=True):
    """Application: it cannot simulate this job."""

    job: Key
    reason: Reason
    blame: Literal["user", "bridge", "application"]


class Welcome(Message, frozen=True, kw_only=True):
    """Bridge: the hello was accepted."""

    version: Annotated[int, Meta(ge=0, le=2**31 - 1)]
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
    parts: Annotated[tuple[Part, ...], Meta(min_length=1, max_length=MAX_PARTS)] | None
    overhead_ns: Duration
    latency_ns: CoreColumn | None
    master: bool
    records: bool
    recipe: Recipe | None
    tasks: PositiveCount | None
    until_ns: Instant | None
    changes: Annotated[tuple[Change, ...], Meta(max_length=MAX_CHANGES)]
    stop_ns: Instant | None


class Lengths(Message, frozen=True, kw_only=True):
    """Bridge: a slice of the lengths of the job's tasks, from task ``first`` on."""

    job: Key
    first: Count
    length_gflop: LengthColumn


class Resume(Message, frozen=True, kw_only=True):
    """Bridge: go on with a suspended job."""

    job: Key
    until_ns: Instant | None
    changes: Annotated[tuple[Change, ...], Meta(max_length=MAX_CHANGES)]
    stop_ns: Instant | None


class Cancel(Message, frozen=True, kw_only=True):
    """Bridge: forget a job."""

    job: Key


class Quit(Message, frozen=True, kw_only=True):
    """Bridge: no more work; close the connection."""


class Greeting(Struct, frozen=True, tag_field="type", tag="hello"):
    """The part of a hello that is the same in every version, so that one of any version can be answered."""

    version: int
    token: str


FromApplication = Hello | Promise | Suspended | Records | Outcome | Failed
FromBridge = Welcome | Refused | Start | Lengths | Resume | Cancel | Quit

#: Every message type, by its name on the wire and in the order of ``PROTOCOL.md``.
MESSAGES: Final[dict[str, type[Message]]] = {
    "hello": Hello,
    "welcome": Welcome,
    "refused": Refused,
    "start": Start,
    "lengths": Lengths,
    "promise": Promise,
    "suspended": Suspended,
    "resume": Resume,
    "records": Records,
    "outcome": Outcome,
    "failed": Failed,
    "cancel": Cancel,
    "quit": Quit,
}
_NAMES: Final = {kind: name for name, kind in MESSAGES.items()}

_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODERS: Final[dict[Role, msgspec.msgpack.Decoder[Any]]] = {
    Role.APPLICATION: msgspec.msgpack.Decoder(FromApplication),
    Role.BRIDGE: msgspec.msgpack.Decoder(FromBridge),
}
_GREETING: Final = msgspec.msgpack.Decoder(Greeting)


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
        If it is not exactly one map with a known ``type`` and that type's fields, each in its range.
    """
    message: Message = _decoded(_DECODERS[sender], payload)
    return message


def decode_greeting(payload: bytes | memoryview) -> Greeting:
    """The version and token of a hello of any version.

    Raises
    ------
    MessageError
        If it is no hello.
    """
    greeting: Greeting = _decoded(_GREETING, payload)
    return greeting


def _decoded(decoder: msgspec.msgpack.Decoder[Any], payload: bytes | memoryview) -> Any:
    try:
        return decoder.decode(payload)
    except (ValueError, RecursionError) as error:  # text that is no UTF-8; arrays nested without end
        # Without the cause: its traceback would keep the buffer that the payload lies in.
        raise MessageError(f"not a message: {shown(str(error), 160)}") from None


def pack_float64(values: Any) -> bytes:
    """A column of float64 as it is sent, from anything that numpy can make an array of."""
    return np.asarray(values, dtype="<f8").tobytes()


def pack_int64(values: Any) -> bytes:
    """A column of int64 as it is sent."""
    return np.asarray(values, dtype="<i8").tobytes()


def pack_int32(values: Any) -> bytes:
    """A column of int32 as it is sent."""
    return np.asarray(values, dtype="<i4").tobytes()


def unpack_float64(column: bytes) -> Array:
    """The float64 array, read-only, in a column whose length is a multiple of 8."""
    return np.frombuffer(column, dtype="<f8")


def unpack_int64(column: bytes) -> Array:
    """The int64 array, read-only, in a column whose length is a multiple of 8."""
    return np.frombuffer(column, dtype="<i8")


def unpack_int32(column: bytes) -> Array:
    """The int32 array, read-only, in a column whose length is a multiple of 4."""
    return np.frombuffer(column, dtype="<i4")
