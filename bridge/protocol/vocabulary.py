"""The messages of one kind of connection and their MessagePack form: one map, its ``type`` and all of its fields, no others.

Decoding is strict. :mod:`bridge.protocol.session` judges whether a message may be sent now.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any, ClassVar, Final

from bridge.encoding import Struct, msgpack
from bridge.protocol.repeated_keys import entries, repeated_key
from bridge.protocol.tables import ConnectionState, Role, Table, senders, steps
from traces.base.errors import shown


class Message(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type", tag=str.lower):
    """Base of all messages: frozen, built from keywords. Field units and ranges are in ``PROTOCOL.md``."""

    #: Whether there may be maps within.
    has_maps: ClassVar[bool] = False


class Greeting(Struct, frozen=True, tag_field="type", tag="hello"):
    """The part of a first message that is the same in every version, so that one of any version can be answered, and for every
    role, of which an application says none."""

    version: int
    token: str
    role: Any = ""


class MessageError(ValueError):
    """Bytes that are no message, or a message that has no bytes. The text is one line."""


class BrokenRule(ValueError):
    """A message that may not be sent as it is, or not now. The text is one line."""


def name_of(message: Message) -> str:
    """The ``type`` of a message on the wire."""
    return message.__struct_config__.tag  # type: ignore[return-value]


class Vocabulary:
    """The messages of one kind of connection.

    - ``table``: who may send what when.
    - ``types``: all messages, in the order of ``PROTOCOL.md``.
    - ``greeting``: reads the first message, of whatever version.
    - ``types``: the messages by their names on the wire.
    - ``steps``: the next state by state and name, or end of stream.
    - ``senders``: the only side that may send a message, by type.
    """

    def __init__(
        self, table: Table[ConnectionState], types: Sequence[type[Message]], greeting: type[Greeting] = Greeting
    ) -> None:
        self.steps: Final = steps(table)
        self.types: Final = {str(kind.__struct_config__.tag): kind for kind in types}
        by_name = senders(table)
        self.senders: Final = {kind: by_name[name] for name, kind in self.types.items()}
        self._entries = {kind: 1 + len(kind.__struct_fields__) for kind in types}  # the type, and the fields
        self._encoder = msgpack.Encoder()
        self._decoders: dict[Role, msgpack.Decoder[Any]] = {
            role: msgpack.Decoder(
                functools.reduce(operator.or_, (kind for kind in types if self.senders[kind] is role))
            )
            for role in self.senders.values()
        }
        self._greeting = msgpack.Decoder(greeting)

    def sender_of(self, message: Message) -> Role:
        """The only side that may send this message."""
        return self.senders[type(message)]

    def encode(self, message: Message) -> bytes:
        """The MessagePack form of a message. Raises MessageError if a field holds something MessagePack has no form
        for."""
        try:
            return self._encoder.encode(message)
        except (TypeError, ValueError, OverflowError) as error:
            raise MessageError(f"{name_of(message)} cannot be written: {shown(str(error), 160)}") from error

    def decode(self, payload: bytes | memoryview, sender: Role) -> Message:
        """The message in a payload, of those that ``sender`` may send. Raises MessageError if it is not exactly one map
        with a known ``type`` and that type's fields, each once and in its range."""
        message = self.read(payload, sender)
        # All fields are there and no others, so that their number tells; maps within are those of our own encoding, mostly.
        several = entries(payload) != self._entries[type(message)]
        if several or (message.has_maps and payload != self._encoder.encode(message)):
            key = repeated_key(payload)
            if key:
                raise MessageError(f"not a message: the key {shown(key)} occurs twice")
        return message

    def read(self, payload: bytes | memoryview, sender: Role) -> Message:
        """As :meth:`decode`, where no key can occur twice."""
        message: Message = _decoded(self._decoders[sender], payload)
        return message

    def greeting(self, payload: bytes | memoryview) -> Greeting:
        """The version, token and role of a first message of any version. Raises MessageError if it is none."""
        greeting: Greeting = _decoded(self._greeting, payload)
        return greeting


def _decoded(decoder: msgpack.Decoder[Any], payload: bytes | memoryview) -> Any:
    try:
        return decoder.decode(payload)
    except (ValueError, RecursionError) as error:  # text that is no UTF-8; arrays nested without end
        # Without the cause: its traceback would keep the buffer that the payload lies in.
        raise MessageError(f"not a message: {shown(str(error), 160)}") from None
