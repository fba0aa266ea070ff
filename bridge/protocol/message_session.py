"""What the connections of hosts and of schedulers have in common, seen from either end, without any I/O.

A connection's own module gives its messages, its table of states and its words (:class:`Form`), and judges what messages say.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Generic, Literal, TypeVar

from bridge.protocol.framing import (
    MAX_FRAME,
    MAX_FRAME_BEFORE_HELLO,
    READ_AT_MOST,
    FrameError,
    FrameReader,
    frame,
)
from bridge.protocol.messages import MessageError
from bridge.protocol.session import NEED_DATA, ConnectionClosed, LocalProtocolError, Pause
from traces.base.errors import PeerError

#: The end of the stream, as tables of states have it beside the names of messages.
END: Final = "end of stream"

_State = TypeVar("_State", bound=StrEnum)
_Message = TypeVar("_Message")
_Refusal = TypeVar("_Refusal")
_Error = TypeVar("_Error", bound=PeerError)


@dataclass(frozen=True)
class Form(Generic[_State, _Message, _Refusal, _Error]):
    """What is a connection's own.

    Attributes
    ----------
    first, closing, closed, error : StrEnum
        The states at the beginning, after the bridge's last word, at the end, and after a broken rule.
    table : mapping
        (state, name of a message, or ``END``) → state; whatever is not in it is a protocol error of its sender.
    opening : type
        The first message, by which the other end identifies itself.
    other : str
        Who that is, where somebody is blamed.
    name, encode, decode, greeting : callable
        Of messages: their names, their bytes, and what of bytes is a message of a sender, or any version's opening one.
    refused : callable
        The bridge's message that refuses, with ``reason`` and ``blame``.
    refusal : callable
        What is reported of that: reason, blame, and the bytes to send.
    broken : callable
        The error of a broken rule: reason, blame, and the bytes to send.
    """

    first: _State
    closing: _State
    closed: _State
    error: _State
    table: Mapping[tuple[_State, str], _State]
    opening: type
    other: Any
    name: Callable[[Any], str]
    encode: Callable[[Any], bytes]
    decode: Callable[[Any, Any], _Message]
    greeting: Callable[[Any], Any]
    refused: Callable[..., Any]
    refusal: Callable[[str, Any, bytes], _Refusal]
    broken: Callable[[str, Any, bytes], _Error]


class MessageSession(Generic[_State, _Message, _Refusal, _Error]):
    """One end of a connection; used as ``bridge.protocol.session.Session`` is.

    Parameters
    ----------
    form : Form
    role, peer : StrEnum
        Which end this is, and which the other.
    bridge : bool
        Whether this is the bridge's end.
    token : str
        What the other must know; the bridge end needs it.
    """

    def __init__(
        self, form: Form[_State, _Message, _Refusal, _Error], role: Any, peer: Any, *, bridge: bool, token: str
    ) -> None:
        if bridge and not token:
            raise LocalProtocolError("the bridge end needs a token")
        self._form, self._role, self._peer, self._is_bridge = form, role, peer, bridge
        self._token = token.encode()
        self._frames = FrameReader(MAX_FRAME_BEFORE_HELLO, 0 if bridge else READ_AT_MOST)
        self._state = form.first
        self._ended = self._token_shown = False
        self._failure: _Error | None = None

    @property
    def state(self) -> _State:
        """Where the connection is."""
        return self._state

    def send(self, message: _Message) -> bytes:
        """Judge a message of ours by the tables and return its frame.

        Raises
        ------
        LocalProtocolError
            If it may not be sent now, or has a field out of range.
        """
        form = self._form
        name = form.name(message)
        try:
            payload = form.encode(message)
            form.decode(payload, self._role)  # what we send must be what we would accept
            data = frame(payload, MAX_FRAME_BEFORE_HELLO if self._state is form.first else MAX_FRAME)
            self._step(name)
            self._judge(message)
        except (MessageError, FrameError) as error:
            raise LocalProtocolError(f"{name} cannot be sent: {error}") from error
        if isinstance(message, form.opening):
            self._frames.allow(MAX_FRAME, READ_AT_MOST)
        return data

    def receive_data(self, data: bytes | bytearray | memoryview) -> None:
        """Take bytes that were read from the stream."""
        if self._state in (self._form.closed, self._form.error):
            return
        try:
            self._frames.feed(data)
        except FrameError as error:
            self._fail(str(error))

    def receive_eof(self) -> None:
        """The other side has closed its end of the stream."""
        self._ended = True

    def next_event(self) -> _Message | _Refusal | ConnectionClosed | Pause:
        """The next message, judged, or why there is none; as ``Session.next_event``.

        Raises
        ------
        PeerError
            If the other side broke the protocol; again at every later call.
        """
        if self._failure is not None:
            raise self._failure
        if self._state is self._form.closed:
            return ConnectionClosed()
        try:
            found = self._frames.take(self._read)
            if found is None and not self._ended:
                return NEED_DATA
            if found is not None and found[1] is not None:
                return found[1]
            self._take(None if found is None else found[0])
        except (MessageError, FrameError) as error:
            raise self._fail(str(error)) from None
        return ConnectionClosed() if found is None else found[0]

    def _take(self, event: Any) -> None:
        form = self._form
        closing = self._state is form.closing
        if event is None:
            if self._frames.waiting and not closing:
                raise MessageError("it closed the connection in the middle of a frame")
            if (self._state, END) not in form.table:
                raise MessageError(self._too_soon())
            self._step(END)
            return
        self._step(form.name(event))
        if not closing:
            self._judge(event)
        if isinstance(event, form.opening):
            self._frames.allow(MAX_FRAME, READ_AT_MOST)

    def _judge(self, message: _Message) -> None:
        """See that what a message says fits what was said before; ``MessageError`` if it does not."""

    def _too_soon(self) -> str:
        """What is wrong with an end of the stream now."""
        return f"{END} is not allowed while the connection is in the state {self._state!s}"

    def _wrong(self, greeting: Any) -> str:
        """What is wrong with an opening message of whatever version, whose token is right; nothing if it is empty."""
        raise NotImplementedError

    def _step(self, name: str) -> None:
        after = self._form.table.get((self._state, name))
        if after is None:
            raise MessageError(f"{name} is not allowed while the connection is in the state {self._state!s}")
        self._state = after

    def _read(self, payload: memoryview) -> tuple[Any, _Refusal | None]:
        # A message, or why whoever sent it is refused.
        if self._is_bridge and self._state is self._form.first:
            greeting = self._form.greeting(payload)
            # The token first: who does not have it is told nothing.
            if not hmac.compare_digest(greeting.token.encode(), self._token):
                return None, self._refuse("wrong token", "stranger")
            self._token_shown = True
            if wrong := self._wrong(greeting):
                return None, self._refuse(wrong, self._form.other)
        return self._form.decode(payload, self._peer), None

    def _refuse(self, reason: str, blame: str) -> _Refusal:
        form = self._form
        self._state = form.closed
        self._frames.clear()
        return form.refusal(reason, blame, frame(form.encode(form.refused(reason=reason, blame=blame))))

    def _fail(self, reason: str) -> _Error:
        form = self._form
        blame: str | Literal["bridge"] = "bridge"
        farewell = b""
        if self._is_bridge:
            blame = form.other if self._token_shown else "stranger"
            if blame == form.other and self._state is not form.closing:
                farewell = frame(form.encode(form.refused(reason=reason[:500], blame=blame)))
        self._failure = form.broken(reason, blame, farewell)
        self._state = form.error
        self._frames.clear()
        return self._failure
