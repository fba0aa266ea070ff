"""Sockets in a folder that only its owner may enter; no port is opened."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
