"""A scheduler's connection to a run, seen from either end, without any I/O: bytes in, messages out.

The order of messages is that of two tables, one of the connection and one of each job. Both ends hold them, and judge every
message, sent or received, by the same code: :class:`_Book` has what a decision is held to.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Any, Final, Literal

import numpy as np

from bridge.protocol.framing import (
    MAX_FRAME,
    MAX_FRAME_BEFORE_HELLO,
    READ_AT_MOST,
    FrameError,
    FrameReader,
    frame,
)
from bridge.protocol.messages import MessageError
from bridge.protocol.packing import unpack_int32
from bridge.protocol.scheduler_messages import (
    SCHEDULER_ROLE,
    SCHEDULER_VERSION,
    Decide,
    Decided,
    Eligible,
    Ended,
    GivenUp,
    Machine,
    Released,
    SchedulerHello,
    SchedulerMessage,
    SchedulerRole,
    Started,
    StartJob,
    Submitted,
    decode_scheduler,
    decode_scheduler_greeting,
    encode_scheduler,
    scheduler_message_name,
)
from bridge.protocol.session import NEED_DATA, ConnectionClosed, LocalProtocolError, Pause
from traces.base.errors import PeerError, shown

__all__ = [
    "SCHEDULED_JOB_TABLE",
    "SCHEDULER_TABLE",
    "ScheduledJob",
    "SchedulerProtocolError",
    "SchedulerRefusal",
    "SchedulerSession",
    "SchedulerState",
    "intervals",
]


class SchedulerState(StrEnum):
    """Where a scheduler's connection is."""

    AWAIT_HELLO = "AWAIT_HELLO"
    AWAIT_WELCOME = "AWAIT_WELCOME"
    AWAIT_MACHINE = "AWAIT_MACHINE"
    TELLING = "TELLING"
    DECIDING = "DECIDING"
    CLOSING = "CLOSING"
    CLOSED = "CLOSED"
    ERROR = "ERROR"


_END = "end of stream"
_S = SchedulerState

#: (state, message) → state; whatever is not in it is a protocol error of its sender.
SCHEDULER_TABLE: Final[dict[tuple[SchedulerState, str], SchedulerState]] = {
    (_S.AWAIT_HELLO, "hello"): _S.AWAIT_WELCOME,
    (_S.AWAIT_HELLO, "refused"): _S.CLOSED,
    (_S.AWAIT_HELLO, _END): _S.CLOSED,
    (_S.AWAIT_WELCOME, "welcome"): _S.AWAIT_MACHINE,
    (_S.AWAIT_WELCOME, "refused"): _S.CLOSED,
    (_S.AWAIT_MACHINE, "machine"): _S.TELLING,
    (_S.AWAIT_MACHINE, "refused"): _S.CLOSED,
    (_S.AWAIT_MACHINE, "quit"): _S.CLOSING,
    (_S.TELLING, "submitted"): _S.TELLING,
    (_S.TELLING, "eligible"): _S.TELLING,
    (_S.TELLING, "started"): _S.TELLING,
    (_S.TELLING, "released"): _S.TELLING,
    (_S.TELLING, "ended"): _S.TELLING,
    (_S.TELLING, "host"): _S.TELLING,
    (_S.TELLING, "decide"): _S.DECIDING,
    (_S.TELLING, "refused"): _S.CLOSED,
    (_S.TELLING, "quit"): _S.CLOSING,
    (_S.DECIDING, "decided"): _S.TELLING,
    (_S.DECIDING, "failed"): _S.CLOSED,
    (_S.DECIDING, "refused"): _S.CLOSED,
    (_S.DECIDING, "quit"): _S.CLOSING,
    # What was on its way when the run was given up is dropped.
    (_S.CLOSING, "decided"): _S.CLOSING,
    (_S.CLOSING, "failed"): _S.CLOSING,
    (_S.CLOSING, _END): _S.CLOSED,
}


class ScheduledJob(StrEnum):
    """Where a job is, as both sides know."""

    ABSENT = "ABSENT"
    HELD = "HELD"
    WAITING = "WAITING"
    CHOSEN = "CHOSEN"
    REJECTED = "REJECTED"
    RUNNING = "RUNNING"


_J = ScheduledJob
_SUBMITTED_HELD, _SUBMITTED, _START, _REJECT = (
    "submitted, held",
    "submitted, waiting",
    "decided: start",
    "decided: reject",
)

#: (state, event) → state, of each job; a job that has left is absent, and its key is not used again.
SCHEDULED_JOB_TABLE: Final[dict[tuple[ScheduledJob, str], ScheduledJob]] = {
    (_J.ABSENT, _SUBMITTED_HELD): _J.HELD,
    (_J.ABSENT, _SUBMITTED): _J.WAITING,
    (_J.HELD, "eligible"): _J.WAITING,
    (_J.HELD, "ended"): _J.ABSENT,
    (_J.WAITING, _START): _J.CHOSEN,
    (_J.WAITING, _REJECT): _J.REJECTED,
    (_J.WAITING, "started"): _J.RUNNING,  # it runs from the beginning of the run
    (_J.WAITING, "ended"): _J.ABSENT,
    (_J.CHOSEN, "started"): _J.RUNNING,
    (_J.REJECTED, "ended"): _J.ABSENT,
    (_J.RUNNING, "released"): _J.RUNNING,
    (_J.RUNNING, "ended"): _J.ABSENT,
}

#: Why a job that is no longer, or not yet, to be decided about cannot be started or rejected.
_NOT_WAITING: Final = {
    _J.HELD: "waits for another job",
    _J.CHOSEN: "this answer starts already",
    _J.REJECTED: "this answer rejects already",
    _J.RUNNING: "runs",
}

Blame = Literal["stranger", "scheduler", "bridge"]


class SchedulerProtocolError(PeerError):
    """The other side broke the protocol; the connection is of no more use.

    Attributes
    ----------
    reason : str
        What was wrong.
    blame : {"stranger", "scheduler", "bridge"}
    farewell : bytes
        What to send before closing, possibly nothing.
    """

    def __init__(self, reason: str, blame: Blame, farewell: bytes = b"") -> None:
        super().__init__(f"the {blame} broke the protocol: {reason}")
        self.reason, self.blame, self.farewell = reason, blame, farewell


@dataclass(frozen=True)
class SchedulerRefusal:
    """A hello that the session does not accept: send the farewell, close, and say the reason."""

    reason: str
    blame: Blame
    farewell: bytes


def intervals(column: bytes) -> list[tuple[int, int]]:
    """The half-open intervals in a column."""
    ends = unpack_int32(column).tolist()
    return list(zip(ends[::2], ends[1::2], strict=True))


@dataclass
class _Known:
    """What is known of a job that has not left."""

    number: int
    cores: int
    state: ScheduledJob


class _Book:
    """Both sides' account of jobs and of the decision under way, by which messages are judged."""

    def __init__(self) -> None:
        self.n_cores = 0
        self.whole_hosts = False
        self.jobs: dict[int, _Known] = {}
        self.decision, self.now_ns = 0, 0

    def judge(self, message: SchedulerMessage) -> None:
        """Take note of a message that the connection's table allows.

        Raises
        ------
        MessageError
            If it does not fit what was said before.
        """
        if isinstance(message, Decided):
            self._judge_answer(message)
        elif isinstance(message, Decide):
            self._judge_question(message)
        elif isinstance(message, Submitted):
            self._judge_submit(message)
        elif isinstance(message, Eligible | Started | Released | Ended):
            if isinstance(message, Started | Released):
                self._judge_cores(message.cores)
            self._step(message.job, scheduler_message_name(message))
        elif isinstance(message, Machine):
            together = sum(group.count * group.cores for group in message.hosts)
            if together != message.cores:
                raise MessageError(f"machine: {together} cores on its hosts; expected: {message.cores}")
            self.n_cores, self.whole_hosts = message.cores, message.whole_hosts

    def _step(self, key: int, event: str) -> None:
        known = self.jobs.get(key)
        before = ScheduledJob.ABSENT if known is None else known.state
        after = SCHEDULED_JOB_TABLE.get((before, event))
        if after is None or known is None:
            raise MessageError(f"{event} of job {key} is not allowed while the job is {before!s}")
        if after is ScheduledJob.ABSENT:
            del self.jobs[key]
        else:
            known.state = after

    def _judge_submit(self, message: Submitted) -> None:
        if message.job in self.jobs:
            raise MessageError(f"job {message.job} is submitted twice")
        event = _SUBMITTED_HELD if message.eligible_ns is None else _SUBMITTED
        state = SCHEDULED_JOB_TABLE[ScheduledJob.ABSENT, event]
        self.jobs[message.job] = _Known(message.number, message.cores, state)

    def _judge_cores(self, column: bytes) -> list[tuple[int, int]]:
        if not column or len(column) % 8:
            raise MessageError(f"cores: {len(column)} bytes; allowed: 8 for each interval, and at least one")
        found = intervals(column)
        ends = unpack_int32(column)
        if ends[0] < 0 or ends[-1] > self.n_cores or np.any(np.diff(ends)[::2] < 1) or np.any(np.diff(ends)[1::2] < 0):
            raise MessageError(
                f"cores: {shown(found)}; allowed: half-open intervals, ascending and disjoint, of cores 0 to {self.n_cores - 1}"
            )
        return found

    def _judge_question(self, message: Decide) -> None:
        if message.decision != self.decision + 1 or message.now_ns < self.now_ns:
            raise MessageError(
                f"decide {message.decision} at {message.now_ns} ns; expected: {self.decision + 1}, later"
            )
        self.decision, self.now_ns = message.decision, message.now_ns

    def _judge_answer(self, message: Decided) -> None:
        if message.decision != self.decision:
            raise MessageError(f"decided {message.decision}; expected: {self.decision}")
        for instant in message.wake_ns:
            if instant <= self.now_ns:
                raise MessageError(f"it asks to decide at {instant} ns; allowed: later than now, {self.now_ns}")
        for one in message.reject:
            self._take_up(one.job, "reject", _REJECT)
            if not one.reason.strip():
                raise MessageError(f"it rejects {self._named(one.job)} without a reason; allowed: 1 to 200 characters")
        spans: list[tuple[int, int, int]] = []
        for chosen in message.start:
            self._take_up(chosen.job, "start", _START)
            spans += self._placed(chosen)
        spans.sort()
        for (_, end, one_key), (begin, _, other) in pairwise(spans):
            if begin < end:
                first, second = sorted((one_key, other))
                raise MessageError(f"it places {self._named(first)} and {self._named(second)} on core {begin}")

    def _take_up(self, key: int, what: str, event: str) -> None:
        known = self.jobs.get(key)
        if known is None:
            raise MessageError(f"it {what}s job {key}, which is not there; allowed: jobs that wait, {self._waiting()}")
        after = SCHEDULED_JOB_TABLE.get((known.state, event))
        if after is None:
            raise MessageError(
                f"it {what}s {self._named(key)}, which {_NOT_WAITING[known.state]}; "
                f"allowed: jobs that wait, {self._waiting()}"
            )
        known.state = after

    def _placed(self, chosen: StartJob) -> list[tuple[int, int, int]]:
        if chosen.cores is None:
            return []
        try:
            found = self._judge_cores(chosen.cores)
        except MessageError as error:
            raise MessageError(f"it places {self._named(chosen.job)}: {error}") from None
        together, asked = sum(hi - lo for lo, hi in found), self.jobs[chosen.job].cores
        if together != asked and not (self.whole_hosts and together > asked):
            raise MessageError(f"it places {self._named(chosen.job)} on {together} cores; it asks for {asked}")
        return [(lo, hi, chosen.job) for lo, hi in found]

    def _named(self, key: int) -> str:
        # As both the user, who knows the log, and the scheduler's author, who knows keys, call it.
        number = self.jobs[key].number
        return f"job {key}" if number == key else f"job {key} (number {number})"

    def _waiting(self) -> str:
        waiting = [key for key, known in self.jobs.items() if known.state is ScheduledJob.WAITING]
        if not waiting:
            return "none"
        return ", ".join(map(str, waiting[:5])) + (" …" if len(waiting) > 5 else "")


class SchedulerSession:
    """One end of a scheduler's connection; used as ``bridge.protocol.session.Session`` is.

    Parameters
    ----------
    role : SchedulerRole
        Which end this is.
    token : str
        What a scheduler must know; the bridge end needs it.
    """

    def __init__(self, role: SchedulerRole, token: str = "") -> None:
        if role is SchedulerRole.BRIDGE and not token:
            raise LocalProtocolError("the bridge end needs a token")
        self.role: Final = role
        self._peer: Final = SchedulerRole.SCHEDULER if role is SchedulerRole.BRIDGE else SchedulerRole.BRIDGE
        self._token = token.encode()
        self._frames = FrameReader(MAX_FRAME_BEFORE_HELLO, 0 if role is SchedulerRole.BRIDGE else READ_AT_MOST)
        self._state = SchedulerState.AWAIT_HELLO
        self._book = _Book()
        self._ended = self._token_shown = False
        self._failure: SchedulerProtocolError | None = None

    @property
    def state(self) -> SchedulerState:
        """Where the connection is."""
        return self._state

    @property
    def decision(self) -> int:
        """The number of the latest question."""
        return self._book.decision

    def job_state(self, job: int) -> ScheduledJob:
        """Where a job is."""
        known = self._book.jobs.get(job)
        return ScheduledJob.ABSENT if known is None else known.state

    def send(self, message: SchedulerMessage) -> bytes:
        """Judge a message of ours by the tables and return its frame.

        Raises
        ------
        LocalProtocolError
            If it may not be sent now, or has a field out of range; the connection is of no more use.
        """
        name = scheduler_message_name(message)
        try:
            payload = encode_scheduler(message)
            decode_scheduler(payload, self.role)  # what we send must be what we would accept
            strange = self._state is SchedulerState.AWAIT_HELLO
            data = frame(payload, MAX_FRAME_BEFORE_HELLO if strange else MAX_FRAME)
            self._step(name)
            self._book.judge(message)
        except (MessageError, FrameError) as error:
            raise LocalProtocolError(f"{name} cannot be sent: {error}") from error
        if isinstance(message, SchedulerHello):
            self._frames.allow(MAX_FRAME, READ_AT_MOST)
        return data

    def receive_data(self, data: bytes | bytearray | memoryview) -> None:
        """Take bytes that were read from the stream."""
        if self._state in (SchedulerState.CLOSED, SchedulerState.ERROR):
            return
        try:
            self._frames.feed(data)
        except FrameError as error:
            self._fail(str(error))

    def receive_eof(self) -> None:
        """The other side has closed its end of the stream."""
        self._ended = True

    def next_event(self) -> SchedulerMessage | SchedulerRefusal | ConnectionClosed | Pause:
        """The next message, judged, or why there is none; as ``Session.next_event``.

        Raises
        ------
        SchedulerProtocolError
            If the other side broke the protocol; again at every later call.
        """
        if self._failure is not None:
            raise self._failure
        if self._state is SchedulerState.CLOSED:
            return ConnectionClosed()
        try:
            event = self._frames.take(self._read)
            if event is None and not self._ended:
                return NEED_DATA
            if isinstance(event, SchedulerRefusal):
                return event
            self._take(event)
        except (MessageError, FrameError) as error:
            raise self._fail(str(error)) from None
        return ConnectionClosed() if event is None else event

    def _take(self, event: SchedulerMessage | None) -> None:
        closing = self._state is SchedulerState.CLOSING
        if event is None:
            if self._frames.waiting and not closing:
                raise MessageError("it closed the connection in the middle of a frame")
            if (self._state, _END) not in SCHEDULER_TABLE:
                what = "and has not answered" if self._state is SchedulerState.DECIDING else "before the run was over"
                raise MessageError(f"it closed the connection {what}")
            self._step(_END)
            return
        self._step(scheduler_message_name(event))
        if not closing:
            self._book.judge(event)
        if isinstance(event, SchedulerHello):
            self._frames.allow(MAX_FRAME, READ_AT_MOST)

    def _step(self, name: str) -> None:
        after = SCHEDULER_TABLE.get((self._state, name))
        if after is None:
            raise MessageError(f"{name} is not allowed while the connection is in the state {self._state!s}")
        self._state = after

    def _read(self, payload: memoryview) -> Any:
        if self.role is SchedulerRole.BRIDGE and self._state is SchedulerState.AWAIT_HELLO:
            greeting = decode_scheduler_greeting(payload)
            # The token first: who does not have it is told nothing.
            if not hmac.compare_digest(greeting.token.encode(), self._token):
                return self._refuse("wrong token", "stranger")
            self._token_shown = True
            if greeting.role != SCHEDULER_ROLE:
                said = shown(greeting.role) if greeting.role else "missing"
                return self._refuse(f"role is {said}; expected: {SCHEDULER_ROLE!r}", "scheduler")
            if greeting.version != SCHEDULER_VERSION:
                spoken = f"spoken: {SCHEDULER_VERSION}"
                return self._refuse(
                    f"version {greeting.version} of the role of schedulers is not spoken here; {spoken}", "scheduler"
                )
        return decode_scheduler(payload, self._peer)

    def _refuse(self, reason: str, blame: Literal["stranger", "scheduler"]) -> SchedulerRefusal:
        self._state = SchedulerState.CLOSED
        self._frames.clear()
        return SchedulerRefusal(reason, blame, frame(encode_scheduler(GivenUp(reason=reason, blame=blame))))

    def _fail(self, reason: str) -> SchedulerProtocolError:
        blame: Blame = "bridge"
        farewell = b""
        if self.role is SchedulerRole.BRIDGE:
            blame = "scheduler" if self._token_shown else "stranger"
            if blame == "scheduler" and self._state is not SchedulerState.CLOSING:
                farewell = frame(encode_scheduler(GivenUp(reason=reason[:500], blame=blame)))
        self._failure = SchedulerProtocolError(reason, blame, farewell)
        self._state = SchedulerState.ERROR
        self._frames.clear()
        return self._failure
