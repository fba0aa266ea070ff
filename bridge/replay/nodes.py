"""The node controller speaks for all nodes: what slurmctld says to any of them comes here, and is answered at once."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bridge.replay.messages import (
    Kind,
    Launch,
    Reader,
    launch_of,
    opened,
    ping_answer,
    return_code,
    stopped_job,
    whole_messages,
)
from bridge.replay.sockets import listening

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
    """Whom to tell what."""

    launched: Callable[[Launch], None]  # Slurm starts a job
    # Slurm ends a job on a node, by its number, and with a message of this kind; returns whether the node says that
    # there is nothing left of it, and not that it will
    ended: Callable[[int, Kind, int], bool]
    wanted: Callable[[int], None]  # Slurm wants a node to register


def _nothing(*said: object) -> None:
    pass


def _over(job: int, kind: Kind, node: int) -> bool:
    return True


#: Whom to tell what, before there is anybody.
NOBODY = Happenings(_nothing, _over, _nothing)


class NodeController:
    """All nodes; ``tell`` is who is told what happens.

    - ``folder``: where its socket is made.
    - ``version``: of the protocol.
    """

    def __init__(self, folder: Path, version: int) -> None:
        self._version = version
        self.tell = NOBODY
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

    def _said(self, kind: int, body: Reader, node: int) -> bytes:
        if kind == Kind.REQUEST_PING:
            return ping_answer(self._version)
        if kind == Kind.REQUEST_BATCH_JOB_LAUNCH:
            self.tell.launched(launch_of(body))
        elif kind in _ENDS:
            over = self.tell.ended(stopped_job(body), Kind(kind), node)
            return return_code(self._version, _ALREADY_COMPLETE if over else 0)
        elif kind == Kind.REQUEST_NODE_REGISTRATION_STATUS:
            self.tell.wanted(node)
        return return_code(self._version, 0)
