"""The session under noise, under spoilt conversations, and with both ends talking at once."""

from __future__ import annotations

from conversation import (
    TOKEN,
    Pair,
    change,
    changed,
    edges,
    graph,
    hello,
    lengths,
    measurement,
    outcome,
    promise,
    records,
    resume,
    start,
    suspended,
    transfers,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from bridge.protocol.framing import HEADER_BYTES, MAX_FRAME_BEFORE_HELLO, frame
from bridge.protocol.messages import (
    Cancel,
    Failed,
    Hello,
    Message,
    Promise,
    Quit,
    Resume,
    Role,
    Start,
    Suspended,
    Welcome,
    encode,
    sender_of,
)
from bridge.protocol.packing import pack_int64
from bridge.protocol.session import NEED_DATA, ConnectionClosed, ProtocolError, Refusal, Session
from bridge.protocol.tables import JOB_TABLE, ConnectionState, JobEvent, JobState


def whole_conversation() -> tuple[bytes, bytes]:
    """What each end of a conversation with every kind of message receives: the bridge, the application."""
    streams = {Role.BRIDGE: b"", Role.APPLICATION: b""}
    pair = Pair(welcomed=False)
    for message in [
        hello(),
        Welcome(version=11, run="r"),
        start(until_ns=200, records=True),
        lengths(),
        promise(150),
        suspended(200, 200),
        resume(changes=(change(250, -1),)),
        records(),
        outcome(),
        changed(graph(), job=8),
        changed(lengths(), job=8),
        changed(edges(0, 1), job=8),
        changed(edges(1, 1), job=8),
        changed(records(), job=8),
        changed(transfers(), job=8),
        changed(outcome(transfers=1, graph=measurement()), job=8),
        changed(start(), job=9),
        Cancel(job=9),
        Quit(),
    ]:
        streams[sender_of(message)] += frame(encode(message))
        pair.say(message)
    return streams[Role.APPLICATION], streams[Role.BRIDGE]


TO_BRIDGE, TO_APPLICATION = whole_conversation()


def check_farewell(error: ProtocolError) -> None:
    assert str(error).isprintable()
    assert len(error.farewell) <= MAX_FRAME_BEFORE_HELLO + HEADER_BYTES


def listen(session: Session, stream: bytes, step: int) -> None:
    """Feed a stream until it ends or the session has had enough; only ProtocolError may come of it."""
    for first in range(0, len(stream), step):
        session.receive_data(stream[first : first + step])
        while True:
            session.validate()
            try:
                event = session.next_event()
            except ProtocolError as error:
                check_farewell(error)
                session.validate()
                return
            if event is NEED_DATA:
                break
            if isinstance(event, Refusal | ConnectionClosed):
                return
            if isinstance(event, Hello):
                session.send(Welcome(version=11, run="r"))
                session.send(start(until_ns=200, records=True))
                session.send(lengths())
                session.send(changed(graph(), job=8))
                session.send(changed(lengths(), job=8))
                session.send(changed(edges(), job=8))


@settings(deadline=None, derandomize=True, max_examples=300)
@given(st.binary(max_size=300), st.integers(1, 100), st.sampled_from(list(Role)))
def test_noise_never_breaks_a_session(noise: bytes, step: int, role: Role) -> None:
    listen(Session(role, TOKEN), noise, step)


@settings(deadline=None, derandomize=True, max_examples=600)
@given(st.data(), st.integers(1, 300), st.sampled_from(list(Role)))
def test_a_spoilt_conversation_never_breaks_a_session(data: st.DataObject, step: int, role: Role) -> None:
    session = Session(role, TOKEN)
    if role is Role.APPLICATION:
        session.send(hello())
    stream = bytearray(TO_BRIDGE if role is Role.BRIDGE else TO_APPLICATION)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(stream) - 1))
        cut = data.draw(st.integers(at, min(at + 3, len(stream))))
        stream[at:cut] = data.draw(st.binary(max_size=3))
        if not stream:
            return
    listen(session, bytes(stream), step)


JOBS = range(3)
ORDERS = (
    JobEvent.START_LENGTHS,
    JobEvent.LENGTHS,
    JobEvent.LENGTHS_BEFORE_EDGES,
    JobEvent.LAST_LENGTHS,
    JobEvent.EDGES,
    JobEvent.LAST_EDGES,
    JobEvent.RESUME,
    JobEvent.CANCEL,
)


class TwoEnds(RuleBasedStateMachine):
    """Both ends say what their own view allows; bytes arrive late and in pieces. Neither is ever at fault."""

    TASKS = 3

    def __init__(self) -> None:
        super().__init__()
        self.pair = Pair()
        self.wires = {Role.BRIDGE: bytearray(), Role.APPLICATION: bytearray()}  # by sender
        self.until: dict[int, int | None] = {}  # as the application was told
        self.now: dict[int, int] = {}  # as the bridge was told
        self.loaded: dict[int, int] = {}
        self.linked: dict[int, int] = {}
        self.sent: dict[int, int] = {}
        self.reported: dict[int, int] = {}
        self.graphs: set[int] = set()  # as the application was told
        # Two jobs run from the start, so that a short example comes to something.
        for job, until in ((0, None), (1, 150)):
            self.loaded[job], self.now[job], self.until[job] = self.TASKS, 100, until
            self.pair.say(changed(start(records=True, until_ns=until), job=job), changed(lengths(), job=job))

    def events_of(self, role: Role, job: int) -> list[JobEvent]:
        if self.pair.ends[role].state is not ConnectionState.READY:
            return []
        state = self.pair.ends[role].job_state(job)
        allowed = [event for before, event in JOB_TABLE if before is state and event is not JobEvent.START]
        return [event for event in allowed if (event in ORDERS) == (role is Role.BRIDGE)]

    @rule(data=st.data(), role=st.sampled_from(list(Role)))
    def speak(self, data: st.DataObject, role: Role) -> None:
        for _ in range(data.draw(st.integers(1, 6))):
            steps = [(job, event) for job in JOBS for event in self.events_of(role, job)]
            if not steps:
                return
            job, event = data.draw(st.sampled_from(steps))
            if event in (JobEvent.CANCEL, JobEvent.FAILED) and data.draw(st.integers(0, 19)) != 7:
                continue  # or hardly a job would ever get far
            self.wires[role] += self.pair.ends[role].send(self.message(event, job, data))

    def message(self, event: JobEvent, job: int, data: st.DataObject) -> Message:
        end = self.pair.application
        if event is JobEvent.START_LENGTHS:
            until = data.draw(st.none() | st.integers(100, 200))
            self.loaded[job], self.linked[job], self.now[job] = 0, 0, 100
            begun = graph() if data.draw(st.booleans()) else start(records=True)
            return changed(begun, job=job, until_ns=until)
        if event in (JobEvent.EDGES, JobEvent.LAST_EDGES):
            left = 2 - self.linked[job]
            count = left if event is JobEvent.LAST_EDGES else 1
            first, self.linked[job] = self.linked[job], self.linked[job] + count
            return changed(edges(first, count), job=job)
        if event in (JobEvent.LENGTHS, JobEvent.LENGTHS_BEFORE_EDGES, JobEvent.LAST_LENGTHS):
            left = self.TASKS - self.loaded[job]
            count = left if event is not JobEvent.LENGTHS or left == 1 else 1
            first, self.loaded[job] = self.loaded[job], self.loaded[job] + count
            return changed(lengths(first, count), job=job)
        if event is JobEvent.RESUME:
            now = self.now[job]
            until = data.draw(st.none() | st.integers(now, now + 50))
            later = sorted(data.draw(st.lists(st.integers(0, 9), max_size=2)))
            changes = tuple(change(now + ns) for ns in later)
            return changed(resume(until_ns=until, changes=changes), job=job)
        if event is JobEvent.CANCEL:
            return Cancel(job=job)
        if event is JobEvent.FAILED or end.job_state(job) is JobState.CANCELLED:
            return Failed(job=job, reason="", blame="bridge")
        least = end.not_before_ns(job)
        if event is JobEvent.PROMISE:
            return Promise(job=job, not_before_ns=least + data.draw(st.integers(0, 30)))
        until = self.until[job]
        if event is JobEvent.SUSPENDED and until is not None:
            return Suspended(job=job, now_ns=until, not_before_ns=max(until, least))
        reported = self.reported.setdefault(job, 0)
        if until is None and reported == self.TASKS:
            stop, sent = max(least, 300), self.sent.setdefault(job, 0)
            if event is JobEvent.TRANSFERS and job in self.graphs and sent < 2:
                self.sent[job] += 1
                return changed(transfers(sent), job=job)
            return changed(outcome(end_ns=stop, finish_ns=pack_int64([stop, 100]), transfers=sent), job=job)
        if until is None:
            count = data.draw(st.integers(1, self.TASKS - reported))
            self.reported[job] = reported + count
            return changed(records(reported, count), job=job)
        return Failed(job=job, reason="", blame="application")

    @rule(data=st.data(), role=st.sampled_from(list(Role)))
    def arrive(self, data: st.DataObject, role: Role) -> None:
        wire = self.wires[role]
        self.deliver(role, data.draw(st.just(len(wire)) | st.integers(0, len(wire))))

    def deliver(self, sender: Role, count: int) -> None:
        receiver = self.pair.bridge if sender is Role.APPLICATION else self.pair.application
        receiver.receive_data(bytes(self.wires[sender][:count]))
        del self.wires[sender][:count]
        while (event := receiver.next_event()) is not NEED_DATA:
            if isinstance(event, Start | Resume):
                self.until[event.job] = event.until_ns
            if isinstance(event, Start):
                self.reported.pop(event.job, None)
                self.sent.pop(event.job, None)
                (self.graphs.discard if event.network is None else self.graphs.add)(event.job)
            if isinstance(event, Suspended):
                self.now[event.job] = event.now_ns

    @precondition(lambda self: self.pair.bridge.state is ConnectionState.READY)
    @rule()
    def meet(self) -> None:
        """When nothing is under way both ends see the same."""
        for role in Role:
            self.deliver(role, len(self.wires[role]))
        for job in JOBS:
            assert self.pair.bridge.job_state(job) is self.pair.application.job_state(job)
        assert set(self.pair.bridge.open_jobs()) == set(self.pair.application.open_jobs())
        for job in self.pair.bridge.open_jobs():
            assert self.pair.bridge.not_before_ns(job) == self.pair.application.not_before_ns(job)

    @precondition(lambda self: self.pair.bridge.state is ConnectionState.READY)
    @rule(really=st.integers(0, 9))
    def leave(self, really: int) -> None:
        if really == 5:
            self.wires[Role.BRIDGE] += self.pair.bridge.send(Quit())

    @invariant()
    def sane(self) -> None:
        for end in self.pair.ends.values():
            end.validate()

    def teardown(self) -> None:
        for role in Role:
            self.deliver(role, len(self.wires[role]))
        self.sane()


TwoEnds.TestCase.settings = settings(deadline=None, derandomize=True, max_examples=80, stateful_step_count=50)
TestTwoEnds = TwoEnds.TestCase
