"""Frames: a 4-byte big-endian length, then that many bytes, which this module does not interpret. Length and buffer are
bounded, so neither side can make the other keep more than was agreed."""

from collections.abc import Callable
from typing import Final, TypeVar

HEADER_BYTES: Final = 4  # bytes of the length that opens every frame
MAX_FRAME_BEFORE_HELLO: Final = 4 * 1024  # longest payload in bytes before the hello is accepted
MAX_FRAME: Final = 36 * 1024 * 1024  # longest payload in bytes afterwards

#: Most bytes to read from a socket at once; a reader whose frames are taken after each read never overflows.
READ_AT_MOST: Final = 256 * 1024

T = TypeVar("T")


class FrameError(ValueError):
    """A length outside the limits, or more buffered bytes than allowed."""


def frame(payload: bytes, limit: int = MAX_FRAME) -> bytes:
    """The frame of a payload of 1 to ``limit`` bytes. Raises FrameError if the payload has another length."""
    _check_length(len(payload), limit)
    return len(payload).to_bytes(HEADER_BYTES, "big") + payload


def _check_length(length: int, limit: int) -> None:
    if not 0 < length <= limit:
        raise FrameError(f"a frame of {length} bytes; allowed: 1 to {limit}")


class FrameReader:
    """Cuts a byte stream, which may arrive in pieces of any size, into payloads. ``limit``: longest payload in bytes.
    ``spare``: number of bytes beyond one whole frame that may be buffered. With 0 no byte may follow an unread frame."""

    def __init__(self, limit: int, spare: int) -> None:
        self._buffer = bytearray()
        self.allow(limit, spare)

    @property
    def waiting(self) -> int:
        """Number of bytes that are buffered."""
        return len(self._buffer)

    @property
    def full(self) -> bool:
        """Whether more than the longest frame is buffered, so that there may be no room for another read."""
        return len(self._buffer) > HEADER_BYTES + self._limit

    def allow(self, limit: int, spare: int) -> None:
        """Change the limits of the frames that follow."""
        self._limit = limit
        self.capacity = HEADER_BYTES + limit + spare  # largest number of bytes in the buffer

    def feed(self, data: bytes | bytearray | memoryview) -> None:
        """Add bytes of the stream. Raises FrameError, and adds nothing, if the buffer would exceed its capacity."""
        waiting = len(self._buffer) + len(data)
        if waiting > self.capacity:
            raise FrameError(f"{waiting} bytes are waiting; allowed: {self.capacity}")
        self._buffer += data

    def take(self, read: Callable[[memoryview], T]) -> T | None:
        """Remove the next payload and return ``read`` of it, or None if it has not arrived completely. The view that ``read``
        receives is valid during the call only. If it raises, the frame stays. Raises FrameError, as soon as the header has
        arrived, if the length is zero or above the limit."""
        buffer = self._buffer
        if len(buffer) < HEADER_BYTES:
            return None
        length = int.from_bytes(buffer[:HEADER_BYTES], "big")
        _check_length(length, self._limit)
        end = HEADER_BYTES + length
        if len(buffer) < end:
            return None
        with memoryview(buffer) as whole, whole[HEADER_BYTES:end] as payload:
            result = read(payload)
        del buffer[:end]
        return result

    def clear(self) -> None:
        """Clear the buffer."""
        self._buffer = bytearray()
