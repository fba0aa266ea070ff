"""The messages of one kind of connection in MessagePack: a map with its ``type`` and exactly its fields; decoding is strict."""

import functools
import operator
from collections.abc import Sequence
from typing import Any, ClassVar, Final

from bridge.encoding import Struct, msgpack
from bridge.protocol.tables import ConnectionState, Role, Table, senders, steps
from traces.base.errors import shown


class Message(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type", tag=str.lower):
    """Base of all messages: frozen, built from keywords. Field units and ranges are in ``PROTOCOL.md``."""

    has_maps: ClassVar[bool] = False  # whether fields may contain maps


class Greeting(Struct, frozen=True, tag_field="type", tag="hello"):
    """The part of a first message that every version and role has, so that other versions can be answered."""

    version: int
    token: str
    role: Any = ""


class MessageError(ValueError):
    """Bytes that are not a message, or a message that cannot be encoded. The text is one line."""


class BrokenRule(ValueError):
    """A message whose content is not allowed, or not at this time. The text is one line."""


def name_of(message: Message) -> str:
    """The ``type`` of a message on the wire."""
    return message.__struct_config__.tag  # type: ignore[return-value]


class Vocabulary:
    """The messages of one kind of connection: ``types`` in the order of ``PROTOCOL.md``, and the ``table`` of their order.
    ``greeting`` reads the first message of any version."""

    def __init__(
        self, table: Table[ConnectionState], types: Sequence[type[Message]], greeting: type[Greeting] = Greeting
    ) -> None:
        self.steps: Final = steps(table)
        self.types: Final = {str(kind.__struct_config__.tag): kind for kind in types}
        by_name = senders(table)
        self.senders: Final = {kind: by_name[name] for name, kind in self.types.items()}
        self._entries = {kind: 1 + len(kind.__struct_fields__) for kind in types}  # the type, and the fields
        self._encoder = msgpack.Encoder()
        of_role = {role: [one for one in types if self.senders[one] is role] for role in self.senders.values()}
        self._decoders: dict[Role, msgpack.Decoder[Any]]
        self._decoders = {role: msgpack.Decoder(functools.reduce(operator.or_, own)) for role, own in of_role.items()}
        self._greeting = msgpack.Decoder(greeting)

    def sender_of(self, message: Message) -> Role:
        """The only side that may send this message."""
        return self.senders[type(message)]

    def encode(self, message: Message) -> bytes:
        """The MessagePack form of a message. Raises MessageError if a field has a value without a MessagePack form."""
        try:
            return self._encoder.encode(message)
        except (TypeError, ValueError, OverflowError) as error:
            raise MessageError(f"{name_of(message)} cannot be written: {shown(str(error), 160)}") from error

    def decode(self, payload: bytes | memoryview, sender: Role) -> Message:
        """The message in a payload, one that ``sender`` may send. Raises MessageError unless it is exactly one map with a
        known ``type`` and the fields of that type, each once and in its range."""
        message = self.read(payload, sender)
        # All fields are present and no others, so a wrong number of entries shows repeated keys; inner maps are mostly ours.
        several = _entries(payload) != self._entries[type(message)]
        if several or (message.has_maps and payload != self._encoder.encode(message)):
            _after(payload, 0)
        return message

    def read(self, payload: bytes | memoryview, sender: Role) -> Message:
        """Like :meth:`decode`, for payloads in which no key can occur twice."""
        message: Message = _decoded(self._decoders[sender], payload)
        return message

    def greeting(self, payload: bytes | memoryview) -> Greeting:
        """The version, token and role of a first message of any version. Raises MessageError if it is not one."""
        greeting: Greeting = _decoded(self._greeting, payload)
        return greeting


def _decoded(decoder: msgpack.Decoder[Any], payload: bytes | memoryview) -> Any:
    try:
        return decoder.decode(payload)
    except (ValueError, RecursionError) as error:  # text that is not UTF-8; arrays nested without end
        # Without the cause: its traceback would keep the buffer of the payload.
        raise MessageError(f"not a message: {shown(str(error), 160)}") from None


# Keys that occur twice in a map of MessagePack: a decoder would silently keep the last one

_MAP, _ARRAY, _STR, _NIL = 0x80, 0x90, 0xA0, 0xC0  # first bytes of the short forms, and the first after them
_NEGATIVE: Final = 0xE0
_ARRAYS, _MAPS = (0xDC, 0xDD), (0xDE, 0xDF)

#: Number of bytes after the first one: nil, booleans, numbers.
_FIXED: Final = {0xC0: 0, 0xC2: 0, 0xC3: 0, 0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8} | {
    0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8
}  # fmt: skip

#: Number of bytes of the length, after the first byte: bin, str, array, map.
_SIZED: Final = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4, 0xDC: 2, 0xDD: 4, 0xDE: 2, 0xDF: 4}


def _entries(payload: bytes | memoryview) -> int:
    """Number of entries of the map that is the payload."""
    kind = payload[0]
    return kind - _MAP if kind < _ARRAY else int.from_bytes(payload[1 : 1 + _SIZED[kind]], "big")


def _after(data: bytes | memoryview, at: int) -> int:
    """The place after the value at ``at``. Raises MessageError if a key occurs twice in one of its maps."""
    kind, at = data[at], at + 1
    if kind < _MAP or kind >= _NEGATIVE:
        return at
    if kind in _FIXED:
        return at + _FIXED[kind]
    if kind >= _NIL:
        width = _SIZED[kind]
        size, at = int.from_bytes(data[at : at + width], "big"), at + width
    else:
        size = kind - (_STR if kind >= _STR else _ARRAY if kind >= _ARRAY else _MAP)
    if kind < _ARRAY or kind in _MAPS:
        return _after_map(data, at, size)
    if kind < _STR or kind in _ARRAYS:
        for _ in range(size):
            at = _after(data, at)
        return at
    return at + size


def _after_map(data: bytes | memoryview, at: int, size: int) -> int:
    seen: set[str] = set()
    for _ in range(size):
        end = _after(data, at)
        key = msgpack.decode(data[at:end], type=str)
        if key in seen:
            raise MessageError(f"not a message: the key {shown(key)} occurs twice")
        seen.add(key)
        at = _after(data, end)
    return at
