"""Addresses of a bridge's socket, ``unix:/path`` or ``tcp:host:port``, and asyncio streams to them."""

from __future__ import annotations

import asyncio
import socket

from traces.base.errors import InputError, shown

__all__ = ["Streams", "connect"]

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def connect(address: str) -> Streams:
    """Open a connection to a bridge.

    Raises
    ------
    InputError
        If the address is neither ``unix:/path`` nor ``tcp:host:port``.
    OSError
        If nobody listens there.
    """
    scheme, _, rest = address.partition(":")
    if scheme == "unix" and rest:
        # Blocking, since there is nothing else to do yet: asyncio takes a full queue at the other end for a success.
        plug = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            plug.connect(rest)
            return await asyncio.open_unix_connection(sock=plug)
        except BaseException:
            plug.close()
            raise
    host, _, port = rest.rpartition(":")
    if scheme == "tcp" and host and port.isdigit() and int(port) < 65536:
        return await asyncio.open_connection(host.removeprefix("[").removesuffix("]"), int(port))
    raise InputError(f"bridge address {shown(address)}; allowed: unix:/path or tcp:host:port")
