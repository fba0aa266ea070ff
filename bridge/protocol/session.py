"""One connection of the bridge protocol, seen from either end, without any I/O: bytes in, messages out.

The order of messages is that of two tables (``bridge.protocol.tables``). Both ends hold the same tables and judge every
message, sent or received, by the same code.
"""

from __future__ import annotations

import hmac
from collections import deque
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Literal, NamedTuple

from bridge.protocol.framing import (
    MAX_FRAME,
    MAX_FRAME_BEFORE_HELLO,
    READ_AT_MOST,
    FrameError,
    FrameReader,
    frame,
)
from bridge.protocol.job_rules import RULES
from bridge.protocol.job_session import BrokenRule, JobSession
from bridge.protocol.messages import (
    PROTOCOL_VERSION,
    Hello,
    Message,
    MessageError,
    Refused,
    Role,
    Start,
    Welcome,
    decode,
    decode_greeting,
    encode,
    name_of,
    sender_of,
)
from bridge.protocol.tables import (
    CONNECTION_EVENTS,
    CONNECTION_TABLE,
    JOB_TABLE,
    ConnectionEvent,
    ConnectionState,
    JobEvent,
    JobState,
    job_event,
)
from traces.base.errors import PeerError

#: Why a hello of the other role is refused, whatever its version.
IS_SCHEDULER: Final = "it is a scheduler; allowed: an application simulator"

#: Versions of the protocol that this session can speak.
SUPPORTED_VERSIONS: Final = (PROTOCOL_VERSION,)

#: How many of the latest steps of all jobs are kept for :meth:`Session.story`.
STORY_LINES: Final = 10_000

Blame = Literal["stranger", "application", "bridge"]


class ProtocolError(PeerError):
    """The other side broke the protocol; the connection is of no more use.

    Attributes
    ----------
    blame : {"stranger", "application", "bridge"}
        The side at fault; a stranger is one that never showed the token.
    job : int or None
        The job concerned.
    farewell : bytes
        What to send before closing, possibly nothing.
    """

    def __init__(self, reason: str, *, blame: Blame, job: int | None = None, farewell: bytes = b"") -> None:
        super().__init__(f"the {blame} broke the protocol: {reason}")
        self.blame: Blame = blame
        self.job = job
        self.farewell = farewell


class LocalProtocolError(RuntimeError):
    """This side has requested something that the protocol forbids: a bug of ours. Nothing has changed."""


class Pause(Enum):
    """No message now."""

    NEED_DATA = "need data"


#: There is no complete message: give the session more bytes.
NEED_DATA: Final = Pause.NEED_DATA


@dataclass(frozen=True)
class ConnectionClosed:
    """The other side has closed the connection as the rules allow, or we have refused it."""


@dataclass(frozen=True)
class Refusal:
    """A hello that the session does not accept: send the farewell, close, and log the reason."""

    reason: str
    blame: Blame | Literal["host"]
    farewell: bytes


class StoryLine(NamedTuple):
    """One step of one job."""

    job: int
    event: JobEvent
    before: JobState
    after: JobState


class Session:
    """One end of one connection.

    Parameters
    ----------
    role : Role
        Which end this is.
    token : str
        The run's secret. The bridge end needs it to judge a hello; the application end does not use it.

    Notes
    -----
    Give what was read to :meth:`receive_data`, at most ``READ_AT_MOST`` bytes at once, then call
    :meth:`next_event` until it says ``NEED_DATA``. What :meth:`send` returns is to be written to the stream.
    """

    def __init__(self, role: Role, token: str = "") -> None:
        if role is Role.BRIDGE and not token:
            raise LocalProtocolError("the bridge end needs a token")
        self.role: Final = role
        self._peer: Final = Role.APPLICATION if role is Role.BRIDGE else Role.BRIDGE
        self._token = token.encode()
        self._state = ConnectionState.AWAIT_HELLO
        # A stranger may send one small frame and not a byte more.
        self._frames = FrameReader(MAX_FRAME_BEFORE_HELLO, 0 if role is Role.BRIDGE else READ_AT_MOST)
        self._ended = False
        self._failure: ProtocolError | None = None
        self._hello: Hello | None = None
        self._token_shown = False
        self._jobs: dict[int, JobSession] = {}
        self._job_states: dict[int, JobState] = {}  # of the open and the cancelled ones
        self._story: deque[StoryLine] = deque(maxlen=STORY_LINES)

    @property
    def state(self) -> ConnectionState:
        """Where the connection is."""
        return self._state

    @property
    def hello(self) -> Hello | None:
        """The hello that was sent or accepted."""
        return self._hello

    def open_jobs(self) -> list[int]:
        """The jobs that are neither ended nor cancelled, in the order they were started."""
        return list(self._jobs)

    def job_state(self, job: int) -> JobState:
        """Where a job is; ``ABSENT`` if it was never started or has ended."""
        return self._job_states.get(job, JobState.ABSENT)

    def not_before_ns(self, job: int) -> int:
        """The instant before which nothing of an open job will be visible, ns."""
        return self._open(job).not_before_ns

    def hold_to(self, job: int, not_before_ns: int) -> None:
        """Hold an application that conserves work to a lower bound that was computed for it, up to the job's stop.

        Raises
        ------
        LocalProtocolError
            If the application did not say that it conserves work, or the job is not open.
        """
        held = self._open(job)
        if self._hello is None or not self._hello.conserves_work:
            raise LocalProtocolError(f"job {job}: the application does not say that it conserves work")
        held.hold(not_before_ns)

    def story(self, job: int) -> list[StoryLine]:
        """What happened to a job, oldest first, as far as the latest ``STORY_LINES`` steps of all jobs go."""
        return [line for line in self._story if line.job == job]

    def send(self, message: Message) -> bytes:
        """Judge a message of ours by the tables and return its frame.

        Returns
        -------
        bytes
            To be written to the stream; empty if the other side would drop it, since it has cancelled the
            job or said quit.

        Raises
        ------
        LocalProtocolError
            If it may not be sent now, or has a field out of range. Nothing has changed then.
        """
        name = name_of(message)
        if sender_of(message) is not self.role:
            raise LocalProtocolError(f"{name} is not for the {self.role} to send")
        try:
            payload = encode(message)
            decode(payload, self.role)  # what we send must be what we would accept
            strange = self._state in (ConnectionState.AWAIT_HELLO, ConnectionState.AWAIT_WELCOME)
            data = frame(payload, MAX_FRAME_BEFORE_HELLO if strange else MAX_FRAME)
            heard = self._apply(message)
        except (MessageError, FrameError, BrokenRule) as error:
            raise LocalProtocolError(f"{name} cannot be sent: {_with_job(message, error)}") from error
        return data if heard else b""

    def receive_data(self, data: bytes | bytearray | memoryview) -> None:
        """Take bytes that were read from the stream; what is wrong with them is said by :meth:`next_event`.

        Raises
        ------
        LocalProtocolError
            After :meth:`receive_eof`, or if so much is waiting that the events cannot have been taken.
        """
        if self._state in (ConnectionState.CLOSED, ConnectionState.ERROR):
            return  # who broke the protocol is not listened to
        if self._ended:
            raise LocalProtocolError("bytes after the end of the stream")
        try:
            self._frames.feed(data)
        except FrameError as error:
            if self.role is Role.BRIDGE and self._state is ConnectionState.AWAIT_HELLO:
                self._fail(str(error))
            else:
                raise LocalProtocolError(f"take the events first: {error}") from error

    def receive_eof(self) -> None:
        """The other side has closed its end of the stream."""
        self._ended = True

    def next_event(self) -> Message | Refusal | ConnectionClosed | Pause:
        """The next message, judged, or why there is none.

        Returns
        -------
        Message, Refusal, ConnectionClosed or Pause
            ``NEED_DATA`` if more bytes are needed. The bridge end first gets a Hello whose token and version
            are right, to be answered with Welcome or Refused, or else a Refusal.

        Raises
        ------
        ProtocolError
            If the other side broke the protocol; again at every later call.
        """
        while True:
            if self._failure:
                raise self._failure
            if self._state is ConnectionState.CLOSED:
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
                heard = self._apply(event)
            except BrokenRule as error:
                raise self._fail(_with_job(event, error), getattr(event, "job", None)) from None
            if heard:
                return event

    def validate(self) -> None:
        """Check what must always hold; for tests.

        Raises
        ------
        AssertionError
            If the session is in a state it can never be in.
        """
        talking = self._state in (ConnectionState.READY, ConnectionState.ERROR)
        assert talking or not self._jobs
        assert (self._failure is not None) == (self._state is ConnectionState.ERROR)
        assert self._frames.waiting <= self._frames.capacity
        assert len(self._story) <= STORY_LINES
        gone = {JobState.ABSENT, JobState.CANCELLED}
        assert self._jobs.keys() == {job for job, state in self._job_states.items() if state not in gone}
        assert JobState.ABSENT not in self._job_states.values()
        for key, job in self._jobs.items():
            state, start = self._job_states[key], job.start
            assert start.job == key
            assert start.start_ns <= job.now_ns <= job.promised_ns
            assert 0 <= job.lengths <= (start.tasks or 0)
            loading = start.recipe is None and job.lengths != start.tasks
            assert (state is JobState.LOADING) == loading
            assert 0 <= job.edges <= job.told_edges
            assert (state in (JobState.LOADING, JobState.LINKING)) == (job.edges != job.told_edges or loading)
            assert (state in (JobState.REPORTING, JobState.SENDING)) == (job.records > 0)
            assert (state is JobState.SENDING) == (job.transfers > 0)

    # How bytes become events

    def _read(self, payload: memoryview) -> Message | Refusal:
        if self.role is Role.BRIDGE and self._state is ConnectionState.AWAIT_HELLO:
            refusal = self._greet(payload)
            if refusal:
                return refusal
        return decode(payload, self._peer)

    def _greet(self, payload: memoryview) -> Refusal | None:
        greeting = decode_greeting(payload)
        # The token first: who does not have it is told nothing.
        if not hmac.compare_digest(greeting.token.encode(), self._token):
            return self._refuse("wrong token", "stranger")
        self._token_shown = True
        if greeting.role == "scheduler":
            return self._refuse(IS_SCHEDULER, "application")
        if greeting.version not in SUPPORTED_VERSIONS:
            spoken = ", ".join(map(str, SUPPORTED_VERSIONS))
            reason = f"protocol version {greeting.version} is not spoken here; spoken: {spoken}"
            return self._refuse(reason, "application")
        return None

    def _refuse(self, reason: str, blame: Blame) -> Refusal:
        self._state = ConnectionState.CLOSED
        self._frames.clear()
        return Refusal(reason, blame, frame(encode(Refused(reason=reason, blame=blame))))

    def _fail(self, reason: str, job: int | None = None) -> ProtocolError:
        blame: Blame = "bridge"
        farewell = b""
        if self.role is Role.BRIDGE:
            blame = "application" if self._token_shown else "stranger"
            if blame == "application" and self._state is not ConnectionState.CLOSING:
                farewell = frame(encode(Refused(reason=reason[:500], blame=blame)))
        self._failure = ProtocolError(reason, blame=blame, job=job, farewell=farewell)
        self._state = ConnectionState.ERROR
        self._frames.clear()
        return self._failure

    def _end_of_stream(self) -> ConnectionClosed:
        first = next(iter(self._jobs), None)
        if first is not None:
            more = f" and {len(self._jobs) - 1} more" if len(self._jobs) > 1 else ""
            raise self._fail(f"it closed the connection with job {first}{more} open", first)
        if self._frames.waiting and self._state is not ConnectionState.CLOSING:
            raise self._fail("it closed the connection in the middle of a frame")
        self._state = CONNECTION_TABLE[self._state, ConnectionEvent.END_OF_STREAM]
        return ConnectionClosed()

    # The tables

    def _apply(self, message: Message) -> bool:
        """Judge a message, sent or received, and take the step. False if it is to be dropped."""
        name = name_of(message)
        event = CONNECTION_EVENTS[name]
        after = CONNECTION_TABLE.get((self._state, event))
        if after is None:
            raise BrokenRule(f"{name} is not allowed while the connection is in the state {self._state!s}")
        if event in (ConnectionEvent.ANSWER, ConnectionEvent.ORDER):
            return self._state is ConnectionState.READY and self._apply_to_job(message)
        if isinstance(message, Hello):
            self._hello = message
            if self.role is Role.BRIDGE:
                self._frames.allow(MAX_FRAME, READ_AT_MOST)
        elif isinstance(message, Welcome):
            if self._hello is None or message.version != self._hello.version:
                raise BrokenRule(f"welcome has version {message.version}; the hello had another")
            self._frames.allow(MAX_FRAME, READ_AT_MOST)
        else:
            self._jobs.clear()
            self._job_states.clear()
        self._state = after
        return True

    def _apply_to_job(self, message: Any) -> bool:
        key: int = message.job
        job = self._jobs.get(key)
        before = self.job_state(key)
        event = job_event(message, job)
        after = JOB_TABLE.get((before, event))
        if after is None:
            raise BrokenRule(f"{event!s} is not allowed while the job is {before!s}")
        heard = before is not JobState.CANCELLED
        if heard:
            if job:
                RULES[type(message)](message, job)
            elif isinstance(message, Start):
                assert self._hello is not None  # the connection is ready
                job = self._jobs[key] = JobSession.begin(
                    message, self._hello.tasks, conserves_work=self._hello.conserves_work
                )
            if after is JobState.ABSENT:
                del self._jobs[key], self._job_states[key]
            else:
                self._job_states[key] = after
            if after is JobState.CANCELLED:
                self._jobs.pop(key, None)
        self._story.append(StoryLine(key, event, before, after))
        return heard

    def _open(self, job: int) -> JobSession:
        try:
            return self._jobs[job]
        except KeyError:
            raise LocalProtocolError(f"job {job} is not open") from None


def _with_job(message: Message, error: Exception) -> str:
    job = getattr(message, "job", None)
    return str(error) if job is None else f"job {job}: {error}"
