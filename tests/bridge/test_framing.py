"""Frames: any chunking gives the same payloads, and a reader never keeps more than its capacity."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bridge.protocol.framing
from bridge.protocol.framing import MAX_FRAME, FrameError, FrameReader, frame
from bridge.protocol.messages import Promise, encode

PROTOCOL = Path(bridge.protocol.framing.__file__).parents[1] / "PROTOCOL.md"


def drain(reader: FrameReader) -> list[bytes]:
    payloads = []
    while (payload := reader.take(bytes)) is not None:
        payloads.append(payload)
    return payloads


@settings(deadline=None, derandomize=True, max_examples=200)
@given(st.lists(st.binary(min_size=1, max_size=300), max_size=12), st.data())
def test_any_chunking_gives_back_the_payloads(payloads: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(frame(payload) for payload in payloads)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=20)))
    reader = FrameReader(limit=300, spare=len(stream))
    got: list[bytes] = []
    for first, stop in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        reader.feed(stream[first:stop])
        if data.draw(st.booleans()):
            got += drain(reader)
    got += drain(reader)
    assert got == payloads
    assert reader.waiting == 0


def test_a_length_outside_the_limits_is_refused_before_its_payload_comes_and_never_sent() -> None:
    for header in (b"\0\0\0\0", b"\0\0\0\x11", b"\xff\xff\xff\xff"):
        reader = FrameReader(limit=16, spare=0)
        reader.feed(header)
        with pytest.raises(FrameError, match="allowed: 1 to 16"):
            reader.take(bytes)
    for size in (0, 17):
        with pytest.raises(FrameError, match=f"a frame of {size} bytes; allowed: 1 to 16"):
            frame(bytes(size), limit=16)


def test_without_spare_not_a_byte_may_follow_a_whole_frame() -> None:
    reader = FrameReader(limit=16, spare=0)
    reader.feed(frame(bytes(16), limit=16))
    with pytest.raises(FrameError, match="21 bytes are waiting; allowed: 20"):
        reader.feed(b"x")


def test_a_frame_whose_reading_fails_stays() -> None:
    reader = FrameReader(limit=16, spare=0)
    reader.feed(frame(b"ab", limit=16))

    def fail(payload: memoryview) -> None:
        raise LookupError

    with pytest.raises(LookupError):
        reader.take(fail)
    assert reader.take(bytes) == b"ab"


def test_the_limits_can_be_widened_and_the_rest_forgotten() -> None:
    reader = FrameReader(limit=1, spare=0)
    reader.feed(b"\0\0\0\x05")
    reader.allow(limit=5, spare=3)
    reader.feed(b"12345" + b"678")
    assert reader.take(bytes) == b"12345"
    assert reader.waiting == 3
    reader.clear()
    assert reader.waiting == 0
    assert reader.take(bytes) is None


def test_a_large_frame_in_small_pieces_is_read_once() -> None:
    payload = bytes(range(256)) * (MAX_FRAME // 256)
    stream, step = frame(payload), 64 * 1024
    reader, seen = FrameReader(MAX_FRAME, spare=0), []
    for first in range(0, len(stream), step):
        reader.feed(memoryview(stream)[first : first + step])
        seen.append(reader.take(lambda view: view == payload))
    assert seen == [None] * (len(seen) - 1) + [True]
    assert reader.waiting == 0


def test_the_bytes_shown_in_the_specification_are_the_ones_we_send() -> None:
    listing = re.search(r"```hex\n(.*?)```", PROTOCOL.read_text(encoding="utf-8"), re.DOTALL)
    assert listing
    shown = bytes.fromhex(listing[1])
    assert shown == frame(encode(Promise(job=7, not_before_ns=1000)))
    assert len(shown) == 40
