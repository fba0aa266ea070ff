"""The connection to a scheduler, which is asked from within the batch engine: nothing else runs meanwhile."""

import contextlib
import logging
import select
import socket
import time
from typing import Final

from bridge.protocol.framing import READ_AT_MOST
from bridge.protocol.messages import Welcome
from bridge.protocol.scheduler_book import SchedulerBook
from bridge.protocol.scheduler_messages import SCHEDULER_VERSION, SchedulerHello
from bridge.protocol.session import NEED_DATA, STRANGER, ProtocolError, Refusal, Session
from bridge.protocol.tables import ConnectionState, Role
from bridge.schedulers.process import SchedulerProcess
from bridge.scratch import Scratch
from bridge.workers.address import socket_path
from traces.base.errors import InputError, PeerError

log = logging.getLogger("twolevel.bridge")

_STRANGERS: Final = 64  # number of connections without a hello; of more, the one that has been silent longest is closed
_LINES: Final = 10  # number of refused connections that are logged one by one
_BACKLOG: Final = 128  # number of connections that the kernel queues before they are accepted


class Silence(PeerError):
    """The other side has not sent what it must within the time limit."""


class Interrupted(PeerError):
    """Waiting was stopped from another thread."""


class Address:
    """A listening socket to which a scheduler connects, and its folder. ``text``: as ``PROTOCOL.md`` writes it."""

    def __init__(self, kind: str) -> None:
        self._folder: Scratch | None = None
        if kind == "tcp":
            self.listening = socket.create_server(("127.0.0.1", 0), backlog=_BACKLOG)
            self.text = f"tcp:127.0.0.1:{self.listening.getsockname()[1]}"
        else:
            self._folder = Scratch()
            try:
                path = socket_path(self._folder.path)
            except InputError:
                self._folder.close()
                raise
            self.listening = socket.socket(socket.AF_UNIX)
            self.listening.bind(path)
            self.listening.listen(_BACKLOG)
            self.text = f"unix:{path}"
        self.listening.setblocking(False)

    def close(self) -> None:
        """Accept no more connections."""
        self.listening.close()
        if self._folder is not None:
            self._folder.close()


class Line:
    """One connection, and its session. ``gone``: whether the other end has closed its stream, or the connection is broken."""

    def __init__(self, plug: socket.socket, token: str) -> None:
        plug.setblocking(False)
        if plug.family != socket.AF_UNIX:
            plug.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.plug, self.session = plug, Session(SchedulerBook, Role.BRIDGE, token)
        self._poll = select.poll()
        self._poll.register(plug, select.POLLIN)
        self._broken_off = -1
        self.messages = self.bytes_sent = self.bytes_received = 0
        self.gone = False

    @property
    def cost(self) -> dict[str, int]:
        """Traffic so far."""
        sent, received = self.bytes_sent, self.bytes_received
        return {"messages": self.messages, "bytes_sent": sent, "bytes_received": received}

    def heed(self, broken_off: int) -> None:
        """Stop waiting for an answer as soon as this descriptor is readable."""
        self._broken_off = broken_off
        self._poll.register(broken_off, select.POLLIN)

    def read(self) -> bool:
        """Read what has arrived; False if that is nothing, and the connection is still open."""
        try:
            data = self.plug.recv(READ_AT_MOST)
        except BlockingIOError:
            return False
        except OSError:  # the connection was reset
            data = b""
        self.bytes_received += len(data)
        self.gone = self.gone or not data
        self.session.receive_data(data)
        return True

    def check_silence(self) -> None:
        """Raise ProtocolError if a message has arrived without a request, or the other end has closed the connection."""
        quiet = not self.read() or self.session.state is not ConnectionState.TELLING
        if not quiet and (event := self.session.next_event()) is not NEED_DATA:
            raise AssertionError(event)  # the session allows no event here

    def ask(self, data: bytes, timeout_s: float) -> object:
        """Send bytes of the session, and wait for the next event. Raises ProtocolError if the other side broke the
        protocol. Raises Silence if it has not read all and answered within the time limit."""
        deadline_s = time.monotonic() + timeout_s
        self._write_all(data, deadline_s, timeout_s)
        while (event := self.session.next_event()) is NEED_DATA:
            self._await(deadline_s, f"it has not answered for {timeout_s:g} s")
            self.read()
        self.messages += 1
        return event

    def send(self, data: bytes, timeout_s: float) -> None:
        """Send bytes that have no answer; raises as :meth:`ask`."""
        self._write_all(data, time.monotonic() + timeout_s, timeout_s)

    def _write_all(self, data: bytes, deadline_s: float, timeout_s: float) -> None:
        left = memoryview(data)
        while left := left[self._write(left) :]:
            # Read while writing: otherwise a peer that only writes and this side would wait for each other. But read at most
            # one answer: a peer that writes without end and reads nothing counts as silent.
            reads = not self.session.full
            self._poll.modify(self.plug, select.POLLIN | select.POLLOUT if reads else select.POLLOUT)
            try:
                self._await(deadline_s, f"it has not read its messages for {timeout_s:g} s")
            finally:
                self._poll.modify(self.plug, select.POLLIN)
            if reads:
                self.check_silence()

    def _await(self, deadline_s: float, words: str) -> None:
        left_s = deadline_s - time.monotonic()
        ready = self._poll.poll(1000.0 * left_s) if left_s > 0 else []
        if not ready:
            raise Silence(words)
        if any(descriptor == self._broken_off for descriptor, _ in ready):
            raise Interrupted("waiting was stopped")

    def send_now(self, data: bytes) -> None:
        """Send as much of a farewell as the socket takes immediately."""
        with contextlib.suppress(OSError):
            self._write(memoryview(data))

    def _write(self, data: memoryview) -> int:
        try:
            sent = self.plug.send(data)
        except BlockingIOError:
            return 0
        except OSError:  # broken; earlier messages, and then the end of the stream, can still be read
            return len(data)
        self.bytes_sent += sent
        return sent

    def hang_up(self) -> None:
        """Close the sending direction: the other end reads the end of the stream."""
        with contextlib.suppress(OSError):
            self.plug.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection."""
        self.plug.close()


def meet(address: Address, token: str, process: SchedulerProcess, timeout_s: float) -> Line:
    """Wait until the scheduler has connected and sent a valid hello, and welcome it. Other programs may send one small frame
    each; the first refused ones are logged. Raises ProtocolError if its hello is invalid, PeerError if it is refused, ends
    before, or does not connect within the time limit."""
    with contextlib.closing(_Meeting(address, token)) as meeting:
        line = meeting.hold(process, time.monotonic() + timeout_s, timeout_s)
    line.messages += 1
    line.send(line.session.send(Welcome(version=SCHEDULER_VERSION, run="twolevel")), timeout_s)
    return line


class _Meeting:
    """The connections until one of them is the scheduler."""

    def __init__(self, address: Address, token: str) -> None:
        self._address, self._token = address, token
        self._poll = select.poll()
        self._poll.register(address.listening, select.POLLIN)
        self._strangers: dict[int, Line] = {}  # by descriptor, the oldest first
        self._refused = 0

    def hold(self, process: SchedulerProcess, deadline_s: float, timeout_s: float) -> Line:
        self._poll.register(process.ended, select.POLLIN)
        while True:
            left_s = deadline_s - time.monotonic()
            ready = self._poll.poll(1000.0 * left_s) if left_s > 0 else []
            if not ready:
                raise Silence(f"it has not connected and sent its hello for {timeout_s:g} s")
            found = {descriptor for descriptor, _ in ready}
            if self._address.listening.fileno() in found:
                self._receive()
            for descriptor in found & self._strangers.keys():
                if (line := self._heed(descriptor)) is not None:
                    return line
            if found == {process.ended}:  # and everything that it sent has been read
                raise PeerError("it ended before it had connected and sent its hello")

    def _receive(self) -> None:
        try:
            plug, _ = self._address.listening.accept()
        except OSError:  # closed already
            return
        while len(self._strangers) >= _STRANGERS:
            self._dismiss(next(iter(self._strangers)), "it was silent longest of too many connections")
        line = Line(plug, self._token)
        self._strangers[plug.fileno()] = line
        self._poll.register(plug, select.POLLIN)

    def _heed(self, descriptor: int) -> Line | None:
        line = self._strangers[descriptor]
        line.read()
        try:
            event = line.session.next_event()
        except ProtocolError as error:
            if error.blame != STRANGER:
                line.send_now(error.farewell)
                raise
            self._dismiss(descriptor, error.reason)
            return None
        if isinstance(event, Refusal):
            line.send_now(event.farewell)
            if event.blame != STRANGER:
                raise PeerError(event.reason)
            self._dismiss(descriptor, event.reason)
        elif isinstance(event, SchedulerHello):
            del self._strangers[descriptor]
            line.messages += 1
            return line
        elif event is not NEED_DATA:
            self._dismiss(descriptor, "it ended before a hello")
        return None

    def _dismiss(self, descriptor: int, why: str) -> None:
        self._poll.unregister(descriptor)
        self._strangers.pop(descriptor).close()
        self._refused += 1
        if self._refused <= _LINES:
            log.warning("a connection was refused: %s", why)
        elif self._refused == _LINES + 1:
            log.warning("further connections are refused without a message each")

    def close(self) -> None:
        for line in self._strangers.values():
            line.close()
        self._strangers.clear()
