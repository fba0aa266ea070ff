"""The node controller speaks for all nodes: what slurmctld says to any of them comes here, and is answered at once.

Its sockets are in a folder that only its owner may enter; no port is opened.
"""

import os
import socket
import struct
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bridge.replay.messages import (
    FieldReader,
    Kind,
    SlurmLaunch,
    framed,
    launch_of,
    opened,
    stopped_job,
    whole_messages,
)


@contextmanager
def _address(folder: Path, name: str) -> Iterator[str]:
    # A short one, however long the folder's name is.
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{name}"
    finally:
        os.close(descriptor)


def listening(folder: Path, name: str, backlog: int) -> socket.socket:
    """A new socket that others connect to."""
    found = socket.socket(socket.AF_UNIX)
    with _address(folder, name) as address:
        found.bind(address)
    found.listen(backlog)
    found.setblocking(False)
    return found


def connected(folder: Path, name: str) -> socket.socket:
    """A socket that is connected to one."""
    found = socket.socket(socket.AF_UNIX)
    try:
        with _address(folder, name) as address:
            found.connect(address)
    except OSError:  # nobody listens
        found.close()
        raise
    return found


#: What a slurmd answers when it is to end a job whose processes are gone: the node is free at once.
_ALREADY_COMPLETE = 4002

#: Before a message its sender tells the address that it means: IPv4, and a port.
_ADDRESS_BYTES = 6

#: The nodes' addresses count up from here; nothing is ever sent to them.
_FIRST_ADDRESS = 10 << 24

#: What slurmctld may have open towards nodes at once, before it is answered.
_BACKLOG = 4096

#: Kinds that end a job on its nodes, if it has not ended.
_ENDS = (Kind.REQUEST_KILL_TIMELIMIT, Kind.REQUEST_TERMINATE_JOB, Kind.REQUEST_ABORT_JOB, Kind.REQUEST_KILL_PREEMPTED)


def node_address(node: int) -> str:
    """The address that a node has in slurm.conf."""
    return ".".join(map(str, (_FIRST_ADDRESS + 1 + node).to_bytes(4, "big")))


def node_of(address: bytes | bytearray) -> int:
    """The node of an address."""
    return int.from_bytes(address[:4], "big") - _FIRST_ADDRESS - 1


class Happenings(NamedTuple):
    """Functions to call when something happens; by default nothing is done."""

    launched: Callable[[SlurmLaunch], object] = lambda launch: None  # Slurm starts a job
    # Slurm ends a job on a node, by its number, and with a message of this kind; returns whether the node says that
    # there is nothing left of it, and not that it will
    ended: Callable[[int, Kind, int], bool] = lambda job, kind, node: True
    wanted: Callable[[int], object] = lambda node: None  # Slurm wants a node to register


class NodeController:
    """All nodes; ``tell`` is called when something happens. ``folder``: where its socket is made."""

    def __init__(self, folder: Path, version: int) -> None:
        self._version = version
        self.tell = Happenings()
        self._listener = listening(folder, "nodes", _BACKLOG)
        self._open: list[tuple[socket.socket, bytearray]] = []
        #: Whether there was any connection when last looked at.
        self.spoken_to = False
        #: How many messages there were of each kind.
        self.messages: dict[int, int] = {}

    def serve(self) -> int:
        """Answer what has come; returns how much that was."""
        answered = 0
        while True:
            try:
                connection, _ = self._listener.accept()
            except BlockingIOError:
                break
            self._open.append((connection, bytearray()))
        self.spoken_to = bool(self._open)
        still = []
        for connection, received in self._open:
            over = self._receive(connection, received)
            if len(received) > _ADDRESS_BYTES:
                rest = received[_ADDRESS_BYTES:]
                for raw in whole_messages(rest):
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
        """Nobody is answered any more."""
        for connection, _ in self._open:
            connection.close()
        self._listener.close()

    def _receive(self, connection: socket.socket, received: bytearray) -> bool:
        # Whether nothing more will come.
        connection.setblocking(False)
        while True:
            try:
                part = connection.recv(1 << 18)
            except BlockingIOError:
                return False
            except ConnectionError:
                return True
            if not part:
                return True
            received += part

    def _answer(self, connection: socket.socket, node: int, raw: bytes) -> None:
        kind, body = opened(raw, self._version)
        self.messages[kind] = self.messages.get(kind, 0) + 1
        answer = self._said(kind, body, node)
        try:
            connection.sendall(answer)
        except ConnectionError:  # it does not wait for one
            return

    def _said(self, kind: int, body: FieldReader, node: int) -> bytes:
        if kind == Kind.REQUEST_PING:
            load_and_free_memory = struct.pack(">IQ", 0, 0)
            return framed(self._version, Kind.RESPONSE_PING_SLURMD, load_and_free_memory)
        if kind == Kind.REQUEST_BATCH_JOB_LAUNCH:
            self.tell.launched(launch_of(body))
        elif kind in _ENDS:
            over = self.tell.ended(stopped_job(body), Kind(kind), node)
            return self._return_code(_ALREADY_COMPLETE if over else 0)
        elif kind == Kind.REQUEST_NODE_REGISTRATION_STATUS:
            self.tell.wanted(node)
        return self._return_code(0)

    def _return_code(self, code: int) -> bytes:
        return framed(self._version, Kind.RESPONSE_SLURM_RC, struct.pack(">I", code))


class Cleaning:
    """Nodes that clean up after jobs, each for ``cleanup_ns``. Instants are a workload's; numbers of jobs are
    Slurm's."""

    def __init__(self, cleanup_ns: int) -> None:
        self._cleanup_ns = cleanup_ns
        self._left: dict[int, int] = {}
        self._to_tell: deque[tuple[int, int, int]] = deque()  # ascending, as all take as long

    def begin(self, number: int, nodes: int) -> None:
        """A job has started on so many nodes."""
        self._left[number] = nodes

    def lose(self, number: int) -> None:
        """One of a job's nodes went down: it tells nothing."""
        self._left[number] -= 1

    def end(self, number: int, node: int, now_ns: int) -> bool:
        """Slurm has ended a job on a node, or asks again; whether there is nothing left of it there.

        A real node says so later, and after the last one Slurm looks for whom to start at once. So does it here: the last
        one tells it by itself, and the others when they are asked.
        """
        left = self._left.get(number, 0) - 1
        self._left[number] = left
        if left == 0:
            self._to_tell.append((now_ns + self._cleanup_ns, number, node))
        # Slurm asks again after some minutes.
        return left != 0 and not any((number, node) == one[1:] for one in self._to_tell)

    def next_ns(self) -> int | None:
        """When the next node tells that it has cleaned up; None if none will."""
        return self._to_tell[0][0] if self._to_tell else None

    def told(self, until_ns: int) -> tuple[int, int] | None:
        """The (number, node) that tells it by an instant, and does not any more; None if none does."""
        if not self._to_tell or self._to_tell[0][0] > until_ns:
            return None
        return self._to_tell.popleft()[1:]
