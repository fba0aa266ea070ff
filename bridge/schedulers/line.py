"""The line to a scheduler: where it connects, and how it is asked and answers, while the batch engine waits.

A decision is asked for within the engine, which can do nothing before it is answered: so the socket is read and written here,
and nothing else happens meanwhile.
"""

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

#: How many may be connected without having said hello; of more, the one that has been silent longest must go.
_STRANGERS: Final = 64

#: Of so many refused connections there is a line each.
_LINES: Final = 10

#: How many connections the kernel may hold for us before they are accepted.
_BACKLOG: Final = 128


class Silence(PeerError):
    """The other side has not said what it must within so long."""


class Interrupted(PeerError):
    """Somebody has broken off what was waited for."""


class Address:
    """Where a scheduler connects: a socket that listens, and its folder. ``text``: as ``PROTOCOL.md`` writes it."""

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
        """Let nobody in any more."""
        self.listening.close()
        if self._folder is not None:
            self._folder.close()


class Line:
    """One connection, and its session.

    - ``token``: what the other end must know.
    - ``messages``, ``bytes_sent``, ``bytes_received``: how much went over it.
    - ``gone``: whether the other end has closed its stream, or it is broken.
    """

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
        """What went over it."""
        sent, received = self.bytes_sent, self.bytes_received
        return {"messages": self.messages, "bytes_sent": sent, "bytes_received": received}

    def heed(self, broken_off: int) -> None:
        """Have whoever waits for an answer give up as soon as this descriptor is readable."""
        self._broken_off = broken_off
        self._poll.register(broken_off, select.POLLIN)

    def read(self) -> bool:
        """Take what has come; False where that is nothing, and the other end is still there."""
        try:
            data = self.plug.recv(READ_AT_MOST)
        except BlockingIOError:
            return False
        except OSError:  # reset: whoever was there no longer speaks
            data = b""
        self.bytes_received += len(data)
        self.gone = self.gone or not data
        self.session.receive_data(data)
        return True

    def hear_early(self) -> None:
        """See that nothing was said that nobody asked for. Raises ProtocolError if something was, or the other end has
        gone."""
        if self.read():
            self.hear_nothing()

    def ask(self, data: bytes, timeout_s: float) -> object:
        """Send bytes that the session has made, and wait for the next event. Raises ProtocolError if the other side
        broke the protocol. Raises Silence if it has neither taken all nor answered within so long."""
        deadline_s = time.monotonic() + timeout_s
        self._write_all(data, deadline_s, timeout_s)
        while (event := self.session.next_event()) is NEED_DATA:
            self._await(deadline_s, f"it has not answered for {timeout_s:g} s")
            self.read()
        self.messages += 1
        return event

    def tell(self, data: bytes, timeout_s: float) -> None:
        """Send bytes to which there is no answer; raises as :meth:`ask`."""
        self._write_all(data, time.monotonic() + timeout_s, timeout_s)

    def _write_all(self, data: bytes, deadline_s: float, timeout_s: float) -> None:
        left = memoryview(data)
        while left := left[self._write(left) :]:
            # Read while writing: otherwise a peer that only writes and this side would wait for each other. But read no more
            # than one answer: a peer that writes without end and reads nothing counts as silent.
            reads = not self.session.full
            self._poll.modify(self.plug, select.POLLIN | select.POLLOUT if reads else select.POLLOUT)
            try:
                self._await(deadline_s, f"it has not read what it is told for {timeout_s:g} s")
            finally:
                self._poll.modify(self.plug, select.POLLIN)
            if reads and self.read():
                self.hear_nothing()

    def hear_nothing(self) -> None:
        """See that nothing has come that the session does not allow now."""
        if self.session.state is ConnectionState.TELLING and (event := self.session.next_event()) is not NEED_DATA:
            raise AssertionError(event)  # nothing is

    def _await(self, deadline_s: float, words: str) -> None:
        left_s = deadline_s - time.monotonic()
        ready = self._poll.poll(1000.0 * left_s) if left_s > 0 else []
        if not ready:
            raise Silence(words)
        if any(descriptor == self._broken_off for descriptor, _ in ready):
            raise Interrupted("it was broken off")

    def say(self, data: bytes) -> None:
        """Send what fits at once, of a farewell: nobody waits for who does not read."""
        with contextlib.suppress(OSError):
            self._write(memoryview(data))

    def _write(self, data: memoryview) -> int:
        try:
            sent = self.plug.send(data)
        except BlockingIOError:
            return 0
        except OSError:  # what it has said before is still to be read, and its end then
            return len(data)
        self.bytes_sent += sent
        return sent

    def hang_up(self) -> None:
        """Say no more: the other end finds the end of its stream."""
        with contextlib.suppress(OSError):
            self.plug.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close it."""
        self.plug.close()


def meet(address: Address, token: str, process: SchedulerProcess, timeout_s: float) -> Line:
    """Wait until the scheduler has connected and said a proper hello, and welcome it.

    Strangers may send one small frame each and be silent, no more; the first ones that are refused are said in the log.
    Raises ProtocolError if its hello is none. Raises PeerError if it is refused, ends before it has connected, or has
    not within so long.
    """
    meeting = _Meeting(address, token)
    try:
        line = meeting.hold(process, time.monotonic() + timeout_s, timeout_s)
    finally:
        meeting.close()
    line.messages += 1
    line.tell(line.session.send(Welcome(version=SCHEDULER_VERSION, run="twolevel")), timeout_s)
    return line


class _Meeting:
    """Those who have connected, until one of them is the scheduler."""

    def __init__(self, address: Address, token: str) -> None:
        self._address, self._token = address, token
        self._poll = select.poll()
        self._poll.register(address.listening, select.POLLIN)
        self._strangers: dict[int, Line] = {}  # by descriptor, the longest here first
        self._refused = 0

    def hold(self, process: SchedulerProcess, deadline_s: float, timeout_s: float) -> Line:
        self._poll.register(process.ended, select.POLLIN)
        while True:
            left_s = deadline_s - time.monotonic()
            ready = self._poll.poll(1000.0 * left_s) if left_s > 0 else []
            if not ready:
                raise Silence(f"it has not connected and said hello for {timeout_s:g} s")
            found = {descriptor for descriptor, _ in ready}
            if self._address.listening.fileno() in found:
                self._receive()
            for descriptor in found & self._strangers.keys():
                if (line := self._heed(descriptor)) is not None:
                    return line
            if found == {process.ended}:  # and nothing that it has said is left to be heard
                raise PeerError("it has ended before it has connected and said hello")

    def _receive(self) -> None:
        try:
            plug, _ = self._address.listening.accept()
        except OSError:  # gone already
            return
        while len(self._strangers) >= _STRANGERS:
            self._dismiss(next(iter(self._strangers)), "others came, and it was silent longest")
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
                line.say(error.farewell)
                raise
            self._dismiss(descriptor, error.reason)
            return None
        if event is NEED_DATA:
            return None
        if isinstance(event, Refusal):
            line.say(event.farewell)
            if event.blame != STRANGER:
                raise PeerError(event.reason)
            self._dismiss(descriptor, event.reason)
        elif isinstance(event, SchedulerHello):
            del self._strangers[descriptor]
            line.messages += 1
            return line
        else:
            self._dismiss(descriptor, "it ended before a hello")
        return None

    def _dismiss(self, descriptor: int, why: str) -> None:
        self._poll.unregister(descriptor)
        self._strangers.pop(descriptor).close()
        self._refused += 1
        if self._refused <= _LINES:
            log.warning("a connection was refused: %s", why)
        elif self._refused == _LINES + 1:
            log.warning("more connections are refused; they are only counted")

    def close(self) -> None:
        for line in self._strangers.values():
            line.close()
        self._strangers.clear()
