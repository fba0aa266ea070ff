"""Either end of a connection of any kind, without any I/O: bytes in, messages out.

Both ends check every message, sent or received, by the tables of ``bridge.protocol.tables`` and by a :class:`Book`.
"""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Generic, TypeVar

from bridge.protocol.framing import MAX_FRAME, MAX_FRAME_BEFORE_HELLO, READ_AT_MOST, FrameError, FrameReader, frame
from bridge.protocol.tables import END, ConnectionState, Role
from bridge.protocol.vocabulary import BrokenRule, Greeting, Message, MessageError, Vocabulary, name_of
from traces.base.errors import PeerError

STRANGER: Final = "stranger"  # the side at fault if the token was never sent


class ProtocolError(PeerError):
    """The other side broke the protocol; the connection can no longer be used. ``blame`` is the side at fault, ``stranger`` if
    it never sent the token; send ``farewell``, possibly nothing, before closing."""

    def __init__(self, reason: str, *, blame: str, job: int | None = None, farewell: bytes = b"") -> None:
        super().__init__(f"the {blame} broke the protocol: {reason}")
        self.reason, self.blame, self.job, self.farewell = reason, blame, job, farewell


class LocalProtocolError(RuntimeError):
    """This side requested something that the protocol forbids: a bug of ours. Nothing has changed."""


NEED_DATA: Final = None  # there is no complete message: the session needs more bytes


@dataclass(frozen=True)
class ConnectionClosed:
    """The other side has closed the connection as the rules allow, or this side has refused it."""


@dataclass(frozen=True)
class Refusal:
    """A first message that is not accepted: send the farewell, close, and log the reason."""

    reason: str
    blame: str
    farewell: bytes


class Book:
    """The rules of one kind of connection (the class), and the state of one end (the object)."""

    peer: ClassVar[Role]  # the role of the end that is not the bridge
    messages: ClassVar[Vocabulary]  # the messages, and the table of their order
    # states in which a payload has at most ``MAX_FRAME_BEFORE_HELLO`` bytes
    strange: ClassVar[frozenset[ConnectionState]]

    def unwelcome(self, greeting: Greeting) -> str:
        """Return why a first message of any version, with the right token, is refused; empty if it is accepted."""
        raise NotImplementedError

    def judge(self, message: Message) -> bool:
        """Check a message that the table allows, and update the state; return False if the message is to be dropped.
        Raises BrokenRule if it contradicts earlier messages."""
        return True

    def job_of(self, message: Message) -> int | None:
        """Return the job that errors of a message name."""
        return None

    def open_jobs(self) -> Sequence[int]:
        """The jobs that must be finished before the connection may end, in the order of their starts."""
        return ()


_Book = TypeVar("_Book", bound=Book)


class Session(Generic[_Book]):
    """One end (``role``) of one connection, of an application, a host or a scheduler (``kind``). The bridge end needs the run's
    secret, ``token``. Pass the bytes read to :meth:`receive_data`, at most ``READ_AT_MOST`` at once, then call
    :meth:`next_event` until it returns ``NEED_DATA``. Write the result of :meth:`send` to the stream."""

    def __init__(self, kind: type[_Book], role: Role, token: str = "") -> None:
        if role is Role.BRIDGE and not token:
            raise LocalProtocolError("the bridge end needs a token")
        self.role: Final = role
        self.book: Final = kind()
        self._messages, self._steps = kind.messages, kind.messages.steps
        self._peer: Final = kind.peer if role is Role.BRIDGE else Role.BRIDGE
        self._token = token.encode()
        self._first: Final = next(iter(self._steps))
        self.state: ConnectionState = self._first
        # Before the token: one small frame and no byte more.
        self._frames = FrameReader(MAX_FRAME_BEFORE_HELLO, 0 if role is Role.BRIDGE else READ_AT_MOST)
        self._ended = self._token_shown = False
        self._failure: ProtocolError | None = None

    @property
    def full(self) -> bool:
        """Whether the buffer is so full that no more may be read before the next event."""
        return self._frames.full

    def send(self, message: Message) -> bytes:
        """Check a message of this side, and return its frame; empty if the other side would drop it, as it has cancelled the
        job or ended the run. Raises LocalProtocolError, and changes nothing, if it is not allowed now or a field is invalid."""
        name = name_of(message)
        if self._messages.senders.get(type(message)) is not self.role:
            raise LocalProtocolError(f"{name} is not a message of the {self.role}")
        try:
            payload = self._messages.encode(message)
            self._messages.read(payload, self.role)  # never send what would not be accepted
            data = frame(payload, MAX_FRAME_BEFORE_HELLO if self.state in self.book.strange else MAX_FRAME)
            accepted = self._apply(message, name)
        except (MessageError, FrameError, BrokenRule) as error:
            raise LocalProtocolError(f"{name} cannot be sent: {self._with_job(message, error)}") from error
        return data if accepted else b""

    def receive_data(self, data: bytes | bytearray | memoryview) -> None:
        """Add bytes that were read from the stream; no bytes are its end. :meth:`next_event` reports errors in them. Raises
        LocalProtocolError after the end, or if the buffer is so full that events cannot have been taken."""
        if self.state in (ConnectionState.CLOSED, ConnectionState.ERROR):
            return  # ignore a side that broke the protocol
        if not data:
            self._ended = True
            return
        if self._ended:
            raise LocalProtocolError("bytes after the end of the stream")
        try:
            self._frames.feed(data)
        except FrameError as error:
            if self._greets():
                self._fail(str(error))
            else:
                raise LocalProtocolError(f"take the events first: {error}") from error

    def next_event(self) -> Message | Refusal | ConnectionClosed | None:
        """The next message, checked; or a Refusal, the end, or ``NEED_DATA``. At the bridge end the first message has the right
        token and version, and is to be accepted or refused. Raises ProtocolError, also at every later call, if the other side
        broke the protocol."""
        while True:
            if self._failure:
                raise self._failure
            if self.state is ConnectionState.CLOSED:
                return ConnectionClosed()
            try:
                event = self._frames.take(self._read)
            except (MessageError, FrameError) as error:
                raise self._fail(str(error)) from None
            if event is None:
                return self._end_of_stream() if self._ended else NEED_DATA
            if isinstance(event, Refusal):
                return event
            try:
                accepted = self._apply(event, name_of(event))
            except BrokenRule as error:
                raise self._fail(self._with_job(event, error), self.book.job_of(event)) from None
            if accepted:
                return event

    # How bytes become events

    def _greets(self) -> bool:
        # Whether this is the bridge's end, waiting for the first message.
        return self.state is self._first and self.role is Role.BRIDGE

    def _read(self, payload: memoryview) -> Message | Refusal:
        if self._greets() and (refusal := self._greet(payload)):
            return refusal
        return self._messages.decode(payload, self._peer)

    def _greet(self, payload: memoryview) -> Refusal | None:
        greeting = self._messages.greeting(payload)
        # The token first: without it, a peer learns nothing.
        if not hmac.compare_digest(greeting.token.encode(), self._token):
            return self._refuse("wrong token", STRANGER)
        self._token_shown = True
        reason = self.book.unwelcome(greeting)
        return self._refuse(reason, self._peer.value) if reason else None

    def _refuse(self, reason: str, blame: str) -> Refusal:
        self.state = ConnectionState.CLOSED
        self._frames.clear()
        return Refusal(reason, blame, self._farewell(reason, blame))

    def _farewell(self, reason: str, blame: str) -> bytes:
        return frame(self._messages.encode(self._messages.types["refused"](reason=reason, blame=blame)))

    def _fail(self, reason: str, job: int | None = None) -> ProtocolError:
        blame = self._peer.value
        farewell = b""
        if self.role is Role.BRIDGE and not self._token_shown:
            blame = STRANGER
        elif self.role is Role.BRIDGE and self.state is not ConnectionState.CLOSING:
            farewell = self._farewell(reason[:500], blame)
        self._failure = ProtocolError(reason, blame=blame, job=job, farewell=farewell)
        self.state = ConnectionState.ERROR
        self._frames.clear()
        return self._failure

    def _end_of_stream(self) -> ConnectionClosed:
        jobs = self.book.open_jobs()
        if jobs:
            more = f" and {len(jobs) - 1} more" if len(jobs) > 1 else ""
            raise self._fail(f"it closed the connection with job {jobs[0]}{more} open", jobs[0])
        if self._frames.waiting and self.state is not ConnectionState.CLOSING:
            raise self._fail("it closed the connection in the middle of a frame")
        if END not in self._steps[self.state]:
            what = "and has not answered" if self.state is ConnectionState.DECIDING else "before the run was over"
            raise self._fail(f"it closed the connection {what}")
        self.state = self._steps[self.state][END]
        return ConnectionClosed()

    # The tables

    def _apply(self, message: Message, name: str) -> bool:
        """Check a message, sent or received, and make the transition. Return False if it is to be dropped."""
        after = self._steps[self.state].get(name)
        if after is None:
            raise BrokenRule(f"{name} is not allowed while the connection is in the state {self.state!s}")
        if self.state is ConnectionState.CLOSING or not self.book.judge(message):
            return False
        if after is not self.state:
            self.state = after
            if after not in self.book.strange:
                self._frames.allow(MAX_FRAME, READ_AT_MOST)
        return True

    def _with_job(self, message: Message, error: Exception) -> str:
        job = self.book.job_of(message)
        return str(error) if job is None else f"job {job}: {error}"
