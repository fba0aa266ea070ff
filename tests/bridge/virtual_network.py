"""Stream sockets between the simulated processes: bytes that arrive late, in pieces of any size, or no more."""

from __future__ import annotations

import asyncio
import math
import random
import socket
import struct
from collections.abc import Callable, Iterable
from typing import Any

from virtual_loop import VirtualLoop

#: Process numbers begin here: no real process has one, so that nothing about this machine's processes is found.
FIRST_PID = 2**30


class Link:
    """How slow and narrow a connection is: latency, bytes under way, bytes that wait before it is paused, and a beat."""

    def __init__(self, latency_s: float, room: int = 2**18, high: int = 2**16, beat_s: float = 0.0) -> None:
        self.latency_s, self.room, self.high, self.beat_s = latency_s, room, high, beat_s

    def arrival_s(self, now_s: float, fraction: float) -> float:
        """When bytes arrive that are sent now."""
        at_s = now_s + self.latency_s * fraction
        return math.ceil(at_s / self.beat_s) * self.beat_s if self.beat_s else at_s


class Wire:
    """Bytes under way in one direction: in order, late, in pieces; at last the end of the stream, perhaps with an error."""

    def __init__(
        self, loop: VirtualLoop, draw: random.Random, link: Link, deliver: Callable[[bytes], None], ended: Callable[[Any], None]
    ) -> None:  # fmt: skip
        self._loop, self._draw, self._link, self._deliver, self._ended = loop, draw, link, deliver, ended
        self._bytes = bytearray()
        self._timer: asyncio.TimerHandle | None = None
        self._holds = 0
        self._finished = self._told = self._split = False
        self._error: OSError | None = None
        self.roomy: Callable[[], None] = lambda: None

    @property
    def room(self) -> int:
        return max(0, self._link.room - len(self._bytes))

    @property
    def waiting(self) -> bool:
        return bool(self._bytes)

    def put(self, data: bytes | bytearray) -> None:
        self._bytes += data
        self._go()

    def finish(self, error: OSError | None = None) -> None:
        self._finished, self._error = True, error
        self._go()

    def hold(self) -> None:
        """Nothing arrives until it is released as often."""
        self._holds += 1

    def release(self) -> None:
        self._holds -= 1
        self._go()

    def _has_more(self) -> bool:
        return not self._holds and bool(self._bytes or (self._finished and not self._told))

    def _go(self) -> None:
        if self._timer is None and self._has_more():
            # A split delays nothing: the rest follows in the next turn of the loop.
            now_s = self._loop.time()
            at_s = now_s if self._split else self._link.arrival_s(now_s, self._draw.random())
            self._timer = self._loop.call_at(at_s, self._arrive)

    def _arrive(self) -> None:
        self._timer = None
        if not self._has_more():
            return
        if self._bytes:
            size = len(self._bytes)
            if self._draw.random() < 0.3:
                size = self._draw.randint(1, size)
            self._split = size < len(self._bytes)
            piece = bytes(self._bytes[:size])
            del self._bytes[:size]
            self._deliver(piece)
            self.roomy()
        elif self._finished:
            self._told = True
            self._ended(self._error)
        self._go()


class End(asyncio.Transport):
    """One end of a connection, as asyncio sees a socket."""

    wire: Wire
    other: End

    def __init__(self, loop: VirtualLoop, name: str, link: Link, pid: int) -> None:
        super().__init__()
        self._loop, self.name, self._link, self._pid = loop, name, link, pid
        self._waiting = bytearray()
        self._protocol: Any = None
        self.paused = self._closing = self._losing = self._dead = False
        self._reading = True
        self.lost = False
        self.written = 0
        self.alpn = ""
        self.parting_s = math.inf  # how long a farewell of TLS may take
        self.change: Callable[[bytes], bytes] = lambda data: data
        self.heard: Callable[[bytes], None] = lambda data: None

    # What arrives

    def begin(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol
        protocol.connection_made(self)

    def take(self, data: bytes) -> None:
        if self._closing or self._dead:
            self.other.reset()
        else:
            self.heard(data)
            if not self._dead:
                self._protocol.data_received(data)

    def take_end(self, error: OSError | None) -> None:
        if self._dead or self._closing:
            return
        if error is not None:
            self.lose(error)
        elif not self._protocol.eof_received():
            self.close()

    def reset(self) -> None:
        """The other end is closed, and has received something nevertheless."""
        if not self._dead:
            self.lose(None if self._closing else ConnectionResetError("reset by the simulation"))

    def lose(self, error: OSError | None) -> None:
        if self._losing:
            return
        self._closing = self._losing = True
        self._waiting.clear()
        self.wire.finish()
        self._loop.call_soon(self._report_loss, error)

    def _report_loss(self, error: OSError | None) -> None:
        self.lost = True
        if not self._dead:
            self._protocol.connection_lost(error)

    # What is sent

    def write(self, data: Any) -> None:
        self.written += len(data)
        if self._closing or self._dead:
            return
        self._waiting += self.change(bytes(data))
        self._push()

    def _push(self) -> None:
        count = min(len(self._waiting), self.wire.room)
        if count:
            self.wire.put(self._waiting[:count])
            del self._waiting[:count]
        if self._dead:
            return
        if len(self._waiting) > self._link.high and not self.paused:
            self.paused = True
            self._protocol.pause_writing()
        elif len(self._waiting) <= self._link.high // 4 and self.paused:
            self.paused = False
            self._protocol.resume_writing()
        if self._closing and not self._waiting and not self.lost:
            self.lose(None)

    def sent(self) -> None:
        if not self.lost and (self._waiting or self.paused):
            self._push()

    def die(self, error: OSError | None = None) -> None:
        """The process of this end has ended: bytes that were sent arrive, those that waited do not."""
        self._dead = self.lost = True
        self._waiting.clear()
        self.wire.finish(error)

    # As asyncio has it

    def close(self) -> None:
        if not self._closing and not self._dead:
            self._closing = True
            if not self._waiting:
                self.lose(None)
            elif self.parting_s < math.inf:
                self._loop.call_later(self.parting_s, self.abort)

    def abort(self) -> None:
        if not self.lost:
            self.lose(None)

    def is_closing(self) -> bool:
        return self._closing or self._dead

    def pause_reading(self) -> None:
        if self._reading:
            self._reading = False
            self.other.wire.hold()

    def resume_reading(self) -> None:
        if not self._reading:
            self._reading = True
            self.other.wire.release()

    def is_reading(self) -> bool:
        return self._reading

    def get_write_buffer_size(self) -> int:
        return len(self._waiting)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        if name == "peername":
            return ("10.0.0.7", 1) if self.alpn else default
        return self if name in ("socket", "ssl_object") else default

    # As its socket, and its TLS

    family = socket.AF_UNIX

    def selected_alpn_protocol(self) -> str:
        return self.alpn

    def getsockopt(self, level: int, option: int, size: int) -> bytes:
        """SO_PEERCRED: the process at the other end."""
        return struct.pack("3i", self._pid, 0, 0)


def connect_ends(loop: VirtualLoop, draw: random.Random, name: str, link: Link, pid: int) -> tuple[End, End]:
    """Both ends of a new connection: of the process ``pid`` that connects, and of the listener."""
    near, far = End(loop, f"{name} near", link, 0), End(loop, f"{name} far", link, pid)
    near.other, far.other = far, near
    for end in (near, far):
        end.wire = Wire(loop, draw, link, end.other.take, end.other.take_end)
        end.wire.roomy = end.sent
    return near, far


def hold(ends: Iterable[End]) -> list[End]:
    """Let nothing arrive on these connections, in neither direction, until they are released."""
    held = list(ends)
    for end in held:
        end.wire.hold()
        end.other.wire.hold()
    return held


def release(ends: Iterable[End]) -> None:
    for end in ends:
        end.wire.release()
        end.other.wire.release()


class VirtualServer(asyncio.AbstractServer):
    """A listener."""

    def __init__(self, loop: VirtualLoop, factory: Callable[[], asyncio.BaseProtocol]) -> None:
        self._loop, self._factory = loop, factory
        self._queue: list[End] = []
        self.accepting = self.closed = False
        self.sockets = (self,)

    async def start_serving(self) -> None:
        self.accepting = True

    def is_serving(self) -> bool:
        return self.accepting

    def queue(self, far: End, delay_s: float, turns: int, once: Callable[[Callable[[], None]], None]) -> None:
        """A connection arrives, and is accepted after a while, ``once`` something else has happened."""
        far.other.wire.hold()
        self._queue.append(far)
        self._loop.call_later(delay_s, once, lambda: self._accept(far, turns))

    def _accept(self, far: End, turns: int) -> None:
        if self.accepting and far in self._queue:
            self._queue.remove(far)
            self._loop.call_soon(self._made, far, turns)

    def _made(self, far: End, turns: int) -> None:
        if turns:
            self._loop.call_soon(self._made, far, turns - 1)
        else:
            far.begin(self._factory())
            far.other.wire.release()

    def close(self) -> None:
        self.accepting, self.closed = False, True
        for far in self._queue:  # the kernel refuses connections that were not accepted
            far.die(ConnectionResetError("nobody listens"))

    async def wait_closed(self) -> None:
        return
