"""The session under noise, and under spoilt conversations; both ends at once are in ``test_simulated_network.py``."""

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

from bridge.protocol.framing import HEADER_BYTES, MAX_FRAME_BEFORE_HELLO, frame
from bridge.protocol.messages import (
    Cancel,
    Hello,
    Quit,
    Role,
    Welcome,
    encode,
    sender_of,
)
from bridge.protocol.session import NEED_DATA, ConnectionClosed, ProtocolError, Refusal, Session


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
