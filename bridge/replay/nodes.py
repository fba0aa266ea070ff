"""The node controller receives and answers slurmctld's messages to all nodes, on sockets in a folder that only its owner may
enter; no port is opened."""

import os
import socket
import struct
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from bridge.replay import messages as m


@contextmanager
def _address(folder: Path, name: str) -> Iterator[str]:
    # A short path, however long the folder's name is.
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{name}"
    finally:
        os.close(descriptor)


def listening(folder: Path, name: str, backlog: int) -> socket.socket:
    """A new socket that accepts connections."""
    found = socket.socket(socket.AF_UNIX)
    with _address(folder, name) as address:
        found.bind(address)
    found.listen(backlog)
    found.setblocking(False)
    return found


def connected(folder: Path, name: str) -> socket.socket:
    """A socket that is connected to one of these."""
    found = socket.socket(socket.AF_UNIX)
    try:
        with _address(folder, name) as address:
            found.connect(address)
    except OSError:  # no program listens
        found.close()
        raise
    return found


#: A slurmd's answer to the order to end a job whose processes are gone: the node is free at once.
_ALREADY_COMPLETE = 4002
_ADDRESS_BYTES = 6  # before each message its sender sends the address of the receiver: IPv4, and a port
_FIRST_ADDRESS = 10 << 24  # the nodes' addresses count up from here; nothing is ever sent to them
_BACKLOG = 4096  # largest number of connections of slurmctld to nodes without an answer

#: Kinds that end a job on its nodes, if it has not ended.
_ENDS = (
    m.Kind.REQUEST_KILL_TIMELIMIT,
    m.Kind.REQUEST_TERMINATE_JOB,
    m.Kind.REQUEST_ABORT_JOB,
    m.Kind.REQUEST_KILL_PREEMPTED,
)


def node_address(node: int) -> str:
    """The address of a node in slurm.conf."""
    return ".".join(map(str, (_FIRST_ADDRESS + 1 + node).to_bytes(4, "big")))


def node_of(address: bytes | bytearray) -> int:
    """The node with an address."""
    return int.from_bytes(address[:4], "big") - _FIRST_ADDRESS - 1


class Happenings(NamedTuple):
    """Functions to be called at events; by default nothing is done."""

    launched: Callable[[m.SlurmLaunch], object] = lambda launch: None  # Slurm starts a job
    # Slurm ends a job on a node, by its number, and with a message of this kind; returns whether the node answers that
    # nothing of it is left, instead of that it will end it
    ended: Callable[[int, m.Kind, int], bool] = lambda job, kind, node: True
    wanted: Callable[[int], object] = lambda node: None  # Slurm requests the registration of a node


class NodeController:
    """All nodes; ``handlers`` are the functions called at events. ``folder``: place of its socket."""

    def __init__(self, folder: Path, version: int) -> None:
        self._version = version
        self.handlers = Happenings()
        self._listener = listening(folder, "nodes", _BACKLOG)
        self._open: list[tuple[socket.socket, bytearray]] = []
        self.spoken_to = False  # whether there was any connection at the last call of :meth:`serve`
        self.messages: dict[int, int] = {}  # number of messages of each kind

    def serve(self) -> int:
        """Answer all messages that have arrived; return their number."""
        answered = 0
        with suppress(BlockingIOError):  # no further connection waits
            while True:
                self._open.append((self._listener.accept()[0], bytearray()))
        self.spoken_to = bool(self._open)
        still = []
        for connection, received in self._open:
            over = self._receive(connection, received)
            if len(received) > _ADDRESS_BYTES:
                for raw in m.whole_messages(received[_ADDRESS_BYTES:]):
                    self._answer(connection, node_of(received), raw)
                    answered += 1
                    over = True
            if over:
                connection.close()
            else:
                still.append((connection, received))
        self._open = still
        return answered

    def close(self) -> None:
        """Close all connections."""
        for connection, _ in self._open:
            connection.close()
        self._listener.close()

    def _receive(self, connection: socket.socket, received: bytearray) -> bool:
        # Returns whether the connection has ended.
        connection.setblocking(False)
        try:
            while part := connection.recv(1 << 18):
                received += part
        except BlockingIOError:
            return False
        except ConnectionError:
            pass
        return True

    def _answer(self, connection: socket.socket, node: int, raw: bytes) -> None:
        kind, body = m.opened(raw, self._version)
        self.messages[kind] = self.messages.get(kind, 0) + 1
        answer = self._said(kind, body, node)
        with suppress(ConnectionError):  # it does not wait for an answer
            connection.sendall(answer)

    def _said(self, kind: int, body: m.FieldReader, node: int) -> bytes:
        if kind == m.Kind.REQUEST_PING:
            load_and_free_memory = struct.pack(">IQ", 0, 0)
            return m.framed(self._version, m.Kind.RESPONSE_PING_SLURMD, load_and_free_memory)
        if kind == m.Kind.REQUEST_BATCH_JOB_LAUNCH:
            self.handlers.launched(m.launch_of(body))
        elif kind in _ENDS:
            over = self.handlers.ended(m.stopped_job(body), m.Kind(kind), node)
            return self._return_code(_ALREADY_COMPLETE if over else 0)
        elif kind == m.Kind.REQUEST_NODE_REGISTRATION_STATUS:
            self.handlers.wanted(node)
        return self._return_code(0)

    def _return_code(self, code: int) -> bytes:
        return m.framed(self._version, m.Kind.RESPONSE_SLURM_RC, struct.pack(">I", code))


class Cleaning:
    """Nodes that clean up after jobs, by their numbers in Slurm, each for ``cleanup_ns``."""

    def __init__(self, cleanup_ns: int) -> None:
        self._cleanup_ns = cleanup_ns
        #: Number of nodes of each started job that are still to report; those that went down do not.
        self.left: dict[int, int] = {}
        self._to_report: deque[tuple[int, int, int]] = deque()  # ascending, as all take equally long

    def end(self, number: int, node: int, now_ns: int) -> bool:
        """Slurm ends a job on a node, or asks again; return whether nothing of it is left there. A real node reports that
        later, and after the last report Slurm looks for jobs to start: here the last node reports by itself, the others when
        asked."""
        left = self.left[number] = self.left.get(number, 0) - 1
        if left == 0:
            self._to_report.append((now_ns + self._cleanup_ns, number, node))
        # Slurm asks again after some minutes.
        return left != 0 and not any((number, node) == one[1:] for one in self._to_report)

    def next_ns(self) -> int | None:
        """The next instant at which a node reports that it has cleaned up; None if none will."""
        return self._to_report[0][0] if self._to_report else None

    def report(self, until_ns: int) -> tuple[int, int] | None:
        """Remove and return the (number, node) that reports by an instant; None if none does."""
        if not self._to_report or self._to_report[0][0] > until_ns:
            return None
        return self._to_report.popleft()[1:]
