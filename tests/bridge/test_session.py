"""The session: every row of its tables and every pair that is no row, crossings, strangers, faults and noise."""

from itertools import product
from typing import Any

import msgspec
import pytest
from conversation import (
    JOB,
    ROLES,
    TOKEN,
    Pair,
    changed,
    edges,
    hello,
    lengths,
    loop,
    network,
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
from session_invariants import check_session
from test_protocol_page import example_messages

from bridge.protocol.application_book import ApplicationBook
from bridge.protocol.framing import HEADER_BYTES, MAX_FRAME, MAX_FRAME_BEFORE_HELLO, READ_AT_MOST, frame
from bridge.protocol.messages import (
    PROTOCOL_VERSION,
    Cancel,
    Failed,
    Hello,
    Quit,
    Refused,
    Resume,
    Welcome,
    WidthRange,
    Wish,
    decode,
    encode,
    sender_of,
)
from bridge.protocol.packing import pack_int32
from bridge.protocol.session import NEED_DATA, ConnectionClosed, LocalProtocolError, ProtocolError, Refusal, Session
from bridge.protocol.tables import APPLICATION_TABLE, JOB_TABLE, ConnectionState, JobEvent, JobState, Role, rows, steps
from bridge.protocol.vocabulary import Message

# Every row of the tables, and every pair that is no row

JOB_STEPS = {(before, event): after for before, event, _, after in rows(JOB_TABLE)}

#: What happens only to a job that has edges.
GRAPH_EVENTS = (JobEvent.LENGTHS_BEFORE_EDGES, JobEvent.EDGES, JobEvent.LAST_EDGES, JobEvent.TRANSFERS)


def pair_in(state: JobState, event: JobEvent) -> tuple[Pair, Message]:
    """Two ends that agree on the job's state, and a message for the event that is faultless by itself."""
    reports = state in (JobState.REPORTING, JobState.SENDING) or event in (JobEvent.RECORDS, JobEvent.TRANSFERS)
    linked = JobState.LINKING is state or JobState.SENDING is state or event in GRAPH_EVENTS
    drawn = event is JobEvent.START and state not in (JobState.LOADING, JobState.LINKING, JobState.SENDING)
    pair = Pair("recipe" if drawn else "lengths")
    of_graph = {"core_host": pack_int32([0, 2]), "network": network(), "parts": (loop(3, edges=2),)} if linked else {}
    if state is not JobState.ABSENT:
        until = 200 if state is JobState.SUSPENDED or event is JobEvent.SUSPENDED else None
        wide = {"resizes": (), "wishes": WidthRange(least=1, most=4)} if event is JobEvent.WISH and not linked else {}
        pair.say(start("recipe" if drawn else "lengths", records=reports, until_ns=until, **of_graph, **wide))
        if state is not JobState.LOADING and not drawn:
            pair.say(lengths())
            if linked and state is not JobState.LINKING:
                pair.say(edges())
    if state is JobState.SUSPENDED:
        pair.say(suspended(200, 250))
    if state is JobState.REPORTING:
        pair.say(records(count=2 if event is JobEvent.RECORDS else 3))
    if state is JobState.SENDING:
        pair.say(records(), transfers())
    if state is JobState.CANCELLED:
        pair.say(Cancel(job=JOB))
    messages = {
        JobEvent.START: start("recipe"),
        JobEvent.START_LENGTHS: start(),
        JobEvent.LENGTHS: lengths(count=2),
        JobEvent.LENGTHS_BEFORE_EDGES: lengths(),
        JobEvent.LAST_LENGTHS: lengths(),
        JobEvent.EDGES: edges(count=1),
        JobEvent.LAST_EDGES: edges(),
        JobEvent.PROMISE: promise(150),
        JobEvent.WISH: Wish(job=JOB, at_ns=150, cores=3),
        JobEvent.SUSPENDED: suspended(200, 250),
        JobEvent.RESUME: resume(),
        JobEvent.RECORDS: records(first=2 if state is JobState.REPORTING else 0, count=1),
        JobEvent.TRANSFERS: transfers(first=int(state is JobState.SENDING)),
        JobEvent.OUTCOME: outcome(transfers=int(state is JobState.SENDING)),
        JobEvent.FAILED: Failed(job=JOB, reason="no", blame="application"),
        JobEvent.CANCEL: Cancel(job=JOB),
    }
    assert pair.bridge.book.job_state(JOB) is pair.application.book.job_state(JOB) is state
    return pair, messages[event]


@pytest.mark.parametrize(("state", "event"), list(JOB_STEPS), ids=str)
def test_what_the_job_table_allows(state: JobState, event: JobEvent) -> None:
    pair, message = pair_in(state, event)
    sender, receiver = pair.ends[sender_of(message)], pair.receiver_of(message)
    after = JOB_STEPS[state, event]
    sent = sender.send(message)
    receiver.receive_data(sent or frame(encode(message)))
    heard = receiver.next_event()
    if state is JobState.CANCELLED:
        assert sent == b""
        assert heard is NEED_DATA
    else:
        assert heard == message
    for end in pair.ends.values():
        assert end.book.job_state(JOB) is after
        assert end.book.open_jobs() == ([JOB] if after not in (JobState.ABSENT, JobState.CANCELLED) else [])
        assert end.book.latest_step == (JOB, event, state, after)
        check_session(end)


@pytest.mark.parametrize(
    ("state", "event"), [row for row in product(JobState, JobEvent) if row not in JOB_STEPS], ids=str
)
def test_what_the_job_table_forbids(state: JobState, event: JobEvent) -> None:
    pair, message = pair_in(state, event)
    role = sender_of(message)
    with pytest.raises(LocalProtocolError, match=rf"job 7: .* is not allowed while the job is {state}"):
        pair.ends[role].send(message)
    assert pair.ends[role].book.job_state(JOB) is state
    check_session(pair.ends[role])
    receiver = pair.forge(message)
    with pytest.raises(ProtocolError, match=f"the {role} broke the protocol: job 7: ") as caught:
        receiver.next_event()
    assert (caught.value.blame, caught.value.job) == (role, JOB)
    assert receiver.state is ConnectionState.ERROR
    check_session(receiver)


def connection_in(state: ConnectionState) -> Pair:
    pair = Pair(welcomed=False)
    steps: dict[ConnectionState, list[Message]] = {
        ConnectionState.AWAIT_HELLO: [],
        ConnectionState.AWAIT_WELCOME: [hello()],
        ConnectionState.READY: [hello(), Welcome(version=13, run="r"), start(), lengths()],
        ConnectionState.CLOSING: [hello(), Welcome(version=13, run="r"), start(), lengths(), Quit()],
        ConnectionState.CLOSED: [hello(), Refused(reason="no", blame="bridge")],
    }
    for step in steps[state]:
        receiver = pair.receiver_of(step)
        receiver.receive_data(pair.ends[sender_of(step)].send(step))
        assert receiver.next_event() == step
    assert pair.bridge.state is pair.application.state is state
    return pair


CONNECTION_MESSAGES: dict[str, Message] = {
    "hello": hello(),
    "welcome": Welcome(version=13, run="r"),
    "refused": Refused(reason="no", blame="bridge"),
    "cancel": Cancel(job=JOB),
    "promise": promise(200),
    "quit": Quit(),
}
LIVE_STATES = [*APPLICATION_TABLE, ConnectionState.CLOSED]


@pytest.mark.parametrize(
    ("state", "event"),
    [row for row in product(LIVE_STATES, CONNECTION_MESSAGES) if row[1] not in steps(APPLICATION_TABLE)[row[0]]],
    ids=str,
)
def test_what_the_connection_table_forbids(state: ConnectionState, event: str) -> None:
    pair, message = connection_in(state), CONNECTION_MESSAGES[event]
    with pytest.raises(LocalProtocolError, match="is not allowed while the connection is in the state"):
        pair.ends[sender_of(message)].send(message)
    receiver = pair.forge(message)
    if state is ConnectionState.CLOSED:
        assert receiver.next_event() == ConnectionClosed()
        return
    with pytest.raises(ProtocolError) as caught:
        receiver.next_event()
    stranger = state is ConnectionState.AWAIT_HELLO and sender_of(message) is Role.APPLICATION
    assert caught.value.blame == ("stranger" if stranger else sender_of(message))
    assert pair.ends[sender_of(message)].state is state


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("state", LIVE_STATES, ids=str)
def test_the_end_of_the_stream(state: ConnectionState, role: Role) -> None:
    pair = connection_in(state)
    if state is ConnectionState.READY:
        pair.say(outcome())
    end = pair.ends[role]
    end.receive_data(b"")
    assert end.next_event() == ConnectionClosed()
    assert end.state is ConnectionState.CLOSED
    assert end.next_event() == ConnectionClosed()
    check_session(end)


# Strangers, other versions, broken streams


def greeted(payload: bytes) -> tuple[Session, Any]:
    session = Session(ApplicationBook, Role.BRIDGE, TOKEN)
    session.receive_data(frame(payload))
    return session, session.next_event()


def test_a_wrong_token_is_refused_without_further_words() -> None:
    session, refusal = greeted(encode(hello(token="S3cret", version=99)))
    assert isinstance(refusal, Refusal)
    assert (refusal.reason, refusal.blame) == ("wrong token", "stranger")
    shown = decode(refusal.farewell[HEADER_BYTES:], Role.BRIDGE)
    assert shown == Refused(reason="wrong token", blame="stranger")
    session.receive_data(b"x" * 100_000)
    assert session.next_event() == ConnectionClosed()
    check_session(session)


@pytest.mark.parametrize("version", [1, 12, 14])
def test_another_version_is_refused_whatever_else_its_hello_holds(version: int) -> None:
    other = {"type": "hello", "version": version, "token": TOKEN, "slots": 8}
    _, refusal = greeted(msgspec.msgpack.encode(other))
    assert isinstance(refusal, Refusal)
    assert refusal.reason == f"protocol version {version} is not supported; supported: 13"
    session = Session(ApplicationBook, Role.APPLICATION)
    session.send(hello())
    session.receive_data(refusal.farewell)
    assert session.next_event() == Refused(reason=refusal.reason, blame="application")
    assert session.state is ConnectionState.CLOSED


@pytest.mark.parametrize(
    ("stream", "blame"),
    [
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "stranger"),
        (b"\0\0\0\0", "stranger"),
        ((MAX_FRAME_BEFORE_HELLO + 1).to_bytes(4, "big"), "stranger"),
        (frame(b"\xc1"), "stranger"),
        (frame(encode(promise(1))), "stranger"),
        (frame(encode(hello())) * 60, "stranger"),
        (bytes(MAX_FRAME_BEFORE_HELLO + HEADER_BYTES + 1), "stranger"),
        (frame(msgspec.msgpack.encode({"type": "hello", "version": 13, "token": TOKEN})), "application"),
    ],
)
def test_what_is_no_hello_is_an_error_and_costs_bounded_memory(stream: bytes, blame: str) -> None:
    session = Session(ApplicationBook, Role.BRIDGE, TOKEN)
    session.receive_data(stream)
    check_session(session)
    for _ in range(2):
        with pytest.raises(ProtocolError) as caught:
            session.next_event()
        assert caught.value.blame == blame
        assert bool(caught.value.farewell) == (blame == "application")
        session.receive_data(stream)
    assert session.state is ConnectionState.ERROR
    check_session(session)


def test_an_application_receives_its_fault_and_a_bridge_does_not() -> None:
    with pytest.raises(ProtocolError) as caught:
        Pair().forge(lengths()).next_event()
    assert (caught.value.blame, caught.value.farewell) == ("bridge", b"")
    pair = Pair()
    pair.say(start(), lengths())
    with pytest.raises(ProtocolError) as caught:
        pair.forge(outcome(finish_ns=bytes(24))).next_event()
    pair.application.receive_data(caught.value.farewell)
    words = "job 7: finish_ns has 24 bytes; 2 cores need 16"
    assert pair.application.next_event() == Refused(reason=words, blame="application")
    assert pair.application.next_event() == ConnectionClosed()
    assert pair.bridge.book.open_jobs() == [JOB]


@pytest.mark.parametrize("role", ROLES)
def test_a_connection_that_ends_amid_a_frame_or_a_job_is_at_fault(role: Role) -> None:
    blame = "bridge" if role is Role.APPLICATION else "application"
    pair = Pair()
    pair.ends[role].receive_data(b"\0\0")
    pair.ends[role].receive_data(b"")
    with pytest.raises(ProtocolError, match=f"the {blame} .* in the middle of a frame"):
        pair.ends[role].next_event()
    pair = Pair()
    pair.say(start(), changed(start(), job=8))
    pair.ends[role].receive_data(b"")
    with pytest.raises(ProtocolError, match="with job 7 and 1 more open") as caught:
        pair.ends[role].next_event()
    assert (caught.value.blame, caught.value.job) == (blame, 7)
    assert pair.ends[role].book.open_jobs() == [7, 8]


def test_a_session_that_its_own_side_misuses() -> None:
    pair = Pair()
    for _ in range(MAX_FRAME // READ_AT_MOST + 1):
        pair.bridge.receive_data(bytes(READ_AT_MOST))
    with pytest.raises(LocalProtocolError, match=r"^take the events first: "):
        pair.bridge.receive_data(bytes(READ_AT_MOST))
    check_session(pair.bridge)
    pair.application.receive_data(b"")
    with pytest.raises(LocalProtocolError, match=r"^bytes after the end of the stream$"):
        pair.application.receive_data(b"x")


def test_a_bridge_needs_a_token_and_its_own_version() -> None:
    with pytest.raises(LocalProtocolError, match="needs a token"):
        Session(ApplicationBook, Role.BRIDGE)
    pair, welcome = Pair(welcomed=False), Welcome(version=PROTOCOL_VERSION + 1, run="r")
    pair.say(hello())
    with pytest.raises(ProtocolError, match=f"the bridge broke the protocol: welcome has version {welcome.version}"):
        pair.forge(welcome).next_event()


def example_of(role: Role) -> bytes:
    """The bytes of the example of PROTOCOL.md that this end receives."""
    return b"".join(frame(encode(message)) for message in example_messages() if sender_of(message) is not role)


EXAMPLE = {role: example_of(role) for role in ROLES}


def listen(session: Session, stream: bytes, step: int) -> None:
    """Feed a stream until it ends or the session has had enough; only ProtocolError may come of it."""
    for first in range(0, len(stream), step):
        session.receive_data(stream[first : first + step])
        while True:
            check_session(session)
            try:
                event = session.next_event()
            except ProtocolError as error:
                event = error
            if isinstance(event, ProtocolError):
                assert str(event).isprintable()
                assert len(event.farewell) <= MAX_FRAME_BEFORE_HELLO + HEADER_BYTES
                check_session(session)
                return
            if event is NEED_DATA:
                break
            if isinstance(event, Refusal | ConnectionClosed):
                return
            if isinstance(event, Hello):
                for message in example_messages():
                    if sender_of(message) is Role.BRIDGE and not isinstance(message, Quit | Resume):
                        session.send(message)


@settings(deadline=None, derandomize=True, max_examples=600)
@given(st.data(), st.integers(1, 300), st.sampled_from(ROLES))
def test_a_spoilt_conversation_never_breaks_a_session(data: st.DataObject, step: int, role: Role) -> None:
    session = Session(ApplicationBook, role, TOKEN)
    if role is Role.APPLICATION:
        session.send(hello())
    stream = bytearray(EXAMPLE[role])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(stream) - 1))
        cut = data.draw(st.integers(at, min(at + 3, len(stream))))
        stream[at:cut] = data.draw(st.binary(max_size=3))
    listen(session, bytes(stream), step)
