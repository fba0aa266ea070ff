"""Which process is at the other end of a connection that this machine's kernel has made. Linux."""

from __future__ import annotations

import os
import socket
import struct
import sys
from collections.abc import Iterable
from typing import Final

_CREDENTIALS: Final = struct.Struct("3i")  # process, user, group

#: Where the kernel lists TCP sockets: a line each, of which these fields are used.
_TABLE: Final = "/proc/net/tcp"
_LOCAL, _REMOTE, _INODE = 1, 2, 9


def process_at(end: socket.socket) -> int:
    """The process that has connected to a Unix socket, even if it has ended since; 0 if it is not known."""
    try:
        data = end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    except OSError:
        return 0
    pid: int = _CREDENTIALS.unpack(data)[0]
    return pid


def process_of_tcp(end: socket.socket, candidates: Iterable[int]) -> int:
    """Which of some processes of this machine is at the other end of a TCP connection (IPv4); 0 if none is."""
    try:
        here, there = _listed(end.getsockname()), _listed(end.getpeername())
        with open(_TABLE, encoding="ascii") as table:
            rows = [line.split() for line in table if there in line]
    except OSError:
        return 0
    wanted = {f"socket:[{row[_INODE]}]" for row in rows if row[_LOCAL] == there and row[_REMOTE] == here}
    return next((pid for pid in candidates if wanted & _opened(pid)), 0) if wanted else 0


def _listed(address: tuple[str, int]) -> str:
    host, port = address[:2]
    return f"{int.from_bytes(socket.inet_aton(host), sys.byteorder):08X}:{port:04X}"


def _opened(pid: int) -> set[str]:
    folder = f"/proc/{pid}/fd"
    found = set()
    try:
        for name in os.listdir(folder):
            found.add(os.readlink(f"{folder}/{name}"))
    except OSError:  # it has ended, or closed one of them
        pass
    return found
