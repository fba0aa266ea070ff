"""A scheduler's connection to a run, seen from either end, without any I/O: bytes in, messages out.

The order of messages is that of two tables, one of the connection and one of each job. Both ends hold them, and judge every
message, sent or received, by the same code: :class:`_Book` has what a decision is held to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Final, Literal

import numpy as np

from bridge.protocol.message_session import END, Form, MessageSession
from bridge.protocol.messages import MessageError
from bridge.protocol.packing import unpack_int32
from bridge.protocol.scheduler_messages import (
    SCHEDULER_ROLE,
    SCHEDULER_VERSION,
    Decide,
    Decided,
    Eligible,
    Ended,
    EndJob,
    Expected,
    Given,
    GivenUp,
    Greeting,
    HintJob,
    Machine,
    Released,
    ResizeJob,
    ScaleJob,
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
from traces.base.errors import PeerError, shown


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


_S = SchedulerState

#: (state, message) → state; whatever is not in it is a protocol error of its sender.
SCHEDULER_TABLE: Final[dict[tuple[SchedulerState, str], SchedulerState]] = {
    (_S.AWAIT_HELLO, "hello"): _S.AWAIT_WELCOME,
    (_S.AWAIT_HELLO, "refused"): _S.CLOSED,
    (_S.AWAIT_HELLO, END): _S.CLOSED,
    (_S.AWAIT_WELCOME, "welcome"): _S.AWAIT_MACHINE,
    (_S.AWAIT_WELCOME, "refused"): _S.CLOSED,
    (_S.AWAIT_MACHINE, "machine"): _S.TELLING,
    (_S.AWAIT_MACHINE, "refused"): _S.CLOSED,
    (_S.AWAIT_MACHINE, "quit"): _S.CLOSING,
    (_S.TELLING, "submitted"): _S.TELLING,
    (_S.TELLING, "eligible"): _S.TELLING,
    (_S.TELLING, "started"): _S.TELLING,
    (_S.TELLING, "expected"): _S.TELLING,
    (_S.TELLING, "released"): _S.TELLING,
    (_S.TELLING, "given"): _S.TELLING,
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
    (_S.CLOSING, END): _S.CLOSED,
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
    (_J.RUNNING, "expected"): _J.RUNNING,
    (_J.RUNNING, "released"): _J.RUNNING,
    (_J.RUNNING, "given"): _J.RUNNING,
    (_J.RUNNING, "ended"): _J.ABSENT,
}

#: Why a job that is no longer, or not yet, to be decided about cannot be started or rejected.
_NOT_WAITING: Final = {
    _J.HELD: "waits for another job",
    _J.CHOSEN: "this answer starts already",
    _J.REJECTED: "this answer rejects already",
    _J.RUNNING: "runs",
}

#: Where ``machine`` says whether a run is for what a scheduler directs.
_LETS: Final = {"widths": "resizes", "hints": "hints"}

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


#: What a scheduler may do to jobs that run.
_DIRECTIONS: Final = ("speeds", "ends", "widths", "hints")


def _directs(said: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(said)) < len(said) or not set(said) <= set(_DIRECTIONS):
        raise MessageError(
            f"directs: {shown(list(said))}; allowed: some of {', '.join(map(repr, _DIRECTIONS))}, each once, or nothing"
        )
    return said


@dataclass
class _Known:
    """What is known of a job that has not left."""

    number: int
    cores: int
    min_cores: int
    max_cores: int
    state: ScheduledJob


class _Book:
    """Both sides' account of jobs and of the decision under way, by which messages are judged."""

    def __init__(self) -> None:
        self.n_cores = 0
        self.whole_hosts = False
        self.directs: tuple[str, ...] | None = None
        self.lets: dict[str, bool] = {}  # of what it may direct, what the run is for
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
        elif isinstance(message, Eligible | Started | Expected | Released | Given | Ended):
            if isinstance(message, Started | Released | Given):
                self._judge_cores(message.cores)
            self._step(message.job, scheduler_message_name(message))
        elif isinstance(message, SchedulerHello):
            self.directs = _directs(message.directs)
        elif isinstance(message, Machine):
            together = sum(group.count * group.cores for group in message.hosts)
            if together != message.cores:
                raise MessageError(f"machine: {together} cores on its hosts; expected: {message.cores}")
            self.n_cores, self.whole_hosts = message.cores, message.whole_hosts
            self.lets = {"widths": message.resizes, "hints": message.hints}

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
        if not message.min_cores <= message.cores <= message.max_cores:
            raise MessageError(
                f"submitted: job {message.job} asks for {message.cores} cores, and may have {message.min_cores} to "
                f"{message.max_cores}"
            )
        self.jobs[message.job] = _Known(message.number, message.cores, message.min_cores, message.max_cores, state)

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

        self._judge_directions(message)

    def _judge_directions(self, message: Decided) -> None:
        self._judge_whom("scales", "speeds", message.scale)
        self._judge_whom("ends", "ends", message.end)
        self._judge_whom("resizes", "widths", message.resize)
        self._judge_whom("hints to", "hints", message.hint)
        for scaled in message.scale:
            if scaled.cores is not None:
                self._judge_named("scales", scaled.job, scaled.cores)
        for resized in message.resize:
            known = self.jobs[resized.job]
            if not known.min_cores <= resized.cores <= known.max_cores or known.min_cores == known.max_cores:
                raise MessageError(
                    f"it resizes {self._named(resized.job)} to {resized.cores} cores; allowed: "
                    + (
                        f"{known.min_cores} to {known.max_cores}"
                        if known.min_cores < known.max_cores
                        else "jobs whose width may change"
                    )
                )
        for hinted in message.hint:
            self._judge_hint(hinted)

    def _judge_whom(self, what: str, name: str, said: Sequence[ScaleJob | EndJob | ResizeJob | HintJob]) -> None:
        if not said:
            return
        if name not in (self.directs or ()):
            raise MessageError(f"it {what} {self._named(said[0].job)}; allowed: if directs in its hello has {name!r}")
        if not self.lets.get(name, True):
            raise MessageError(
                f"it {what} {self._named(said[0].job)}; allowed: where machine says {_LETS[name]} = true"
            )
        keys = [one.job for one in said]
        if name != "speeds" and len(set(keys)) < len(keys):
            twice = next(key for place, key in enumerate(keys) if key in keys[:place])
            raise MessageError(f"it {what} {self._named(twice)} twice; allowed: once")
        states = (ScheduledJob.RUNNING,) if name == "hints" else (ScheduledJob.RUNNING, ScheduledJob.CHOSEN)
        for one in said:
            known = self.jobs.get(one.job)
            if known is None or known.state not in states:
                raise MessageError(
                    f"it {what} {self._named(one.job)}, which does not run; allowed: jobs that run"
                    + (", or that it starts" if ScheduledJob.CHOSEN in states else "")
                )

    def _judge_hint(self, hinted: HintJob) -> None:
        if hinted.cores is not None:
            self._judge_named("hints to", hinted.job, hinted.cores)
            if hinted.waiting is None:
                raise MessageError(
                    f"it hints to {self._named(hinted.job)}: waiting: nil; allowed: who waits for these cores"
                )
        if hinted.waiting is None:
            return
        known = self.jobs.get(hinted.waiting)
        if known is None or known.state is not ScheduledJob.WAITING:
            why = "is not there" if known is None else _NOT_WAITING[known.state]
            raise MessageError(
                f"it hints to {self._named(hinted.job)} that {self._named(hinted.waiting)} waits, which {why}; "
                f"allowed: jobs that wait, {self._waiting()}"
            )

    def _judge_named(self, what: str, job: int, cores: bytes) -> None:
        try:
            self._judge_cores(cores)
        except MessageError as error:
            raise MessageError(f"it {what} {self._named(job)}: {error}") from None

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
        known = self.jobs.get(key)
        number = key if known is None else known.number
        return f"job {key}" if number == key else f"job {key} (number {number})"

    def _waiting(self) -> str:
        waiting = [key for key, known in self.jobs.items() if known.state is ScheduledJob.WAITING]
        if not waiting:
            return "none"
        return ", ".join(map(str, waiting[:5])) + (" …" if len(waiting) > 5 else "")


_FORM: Final = Form(
    first=SchedulerState.AWAIT_HELLO,
    closing=SchedulerState.CLOSING,
    closed=SchedulerState.CLOSED,
    error=SchedulerState.ERROR,
    table=SCHEDULER_TABLE,
    opening=SchedulerHello,
    other="scheduler",
    name=scheduler_message_name,
    encode=encode_scheduler,
    decode=decode_scheduler,
    greeting=decode_scheduler_greeting,
    refused=GivenUp,
    refusal=SchedulerRefusal,
    broken=SchedulerProtocolError,
)


class SchedulerSession(MessageSession[SchedulerState, SchedulerMessage, SchedulerRefusal, SchedulerProtocolError]):
    """One end of a scheduler's connection; used as ``bridge.protocol.session.Session`` is.

    Parameters
    ----------
    role : SchedulerRole
        Which end this is.
    token : str
        What a scheduler must know; the bridge end needs it.
    """

    def __init__(self, role: SchedulerRole, token: str = "") -> None:
        self.role: Final = role
        bridge = role is SchedulerRole.BRIDGE
        other = SchedulerRole.SCHEDULER if bridge else SchedulerRole.BRIDGE
        super().__init__(_FORM, role, other, bridge=bridge, token=token)
        self._book = _Book()

    @property
    def decision(self) -> int:
        """The number of the latest question."""
        return self._book.decision

    @property
    def directs(self) -> tuple[str, ...] | None:
        """What the scheduler does to running jobs, as its hello says; None before it."""
        return self._book.directs

    def job_state(self, job: int) -> ScheduledJob:
        """Where a job is."""
        known = self._book.jobs.get(job)
        return ScheduledJob.ABSENT if known is None else known.state

    def _judge(self, message: SchedulerMessage) -> None:
        self._book.judge(message)

    def _too_soon(self) -> str:
        what = "and has not answered" if self._state is SchedulerState.DECIDING else "before the run was over"
        return f"it closed the connection {what}"

    def _wrong(self, greeting: Greeting) -> str:
        if greeting.role != SCHEDULER_ROLE:
            return f"role is {shown(greeting.role) if greeting.role else 'missing'}; expected: {SCHEDULER_ROLE!r}"
        if greeting.version == SCHEDULER_VERSION:
            return ""
        return f"version {greeting.version} of the role of schedulers is not spoken here; spoken: {SCHEDULER_VERSION}"
