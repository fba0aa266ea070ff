"""Addresses of a bridge's socket, ``unix:/path``, ``tcp:host:port`` or ``tls://host:port``, and blocking sockets to them."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from traces.base.errors import InputError, shown

if TYPE_CHECKING:
    import ssl

HANDSHAKE_S: Final = 10.0  # time limit of a TLS handshake, s
PARTING_TLS_S: Final = 2.0  # time limit of a TLS farewell, s

#: TCP keep-alive: seconds of silence before the first probe, number of probes, and seconds between them. The connection of a
#: host that has lost its power or its network ends after a minute. Data that are under way to such a host are not limited here,
#: as a limit would also end the connections of a run that is only stopped; the option ``timeout`` finds its silent processes.
_QUIET_S, _ASKS, _BETWEEN_S = 30, 3, 10

_TLS: Final = "tls://"

_UNIX_PATH: Final = 107  # longest path of a Unix socket on Linux, in bytes


def tls_address(address: str, where: str) -> tuple[str, int]:
    """Return host and port of ``tls://HOST:PORT``; an IPv6 host is written in brackets. Raises InputError if it is not
    such an address; the message begins with ``where``."""
    host, colon, port = address.removeprefix(_TLS).rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    bracketed = host == f"[{bare}]"
    well = address.startswith(_TLS) and colon and bare and (bracketed or not set(":/[]@?#") & set(host))
    if not well or not bare.isascii() or " " in bare or not _is_port(port):
        raise InputError(f"{where}: {shown(address)}; allowed: tls://HOST:PORT")
    return bare, int(port)


def _is_port(text: str) -> bool:
    return re.fullmatch(r"[0-9]{1,5}", text) is not None and int(text) < 65536


def keep_alive(plug: Any) -> None:
    """Let the system detect that the other end of a TCP connection is gone."""
    plug.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    plug.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _QUIET_S)
    plug.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _BETWEEN_S)
    plug.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _ASKS)


def socket_path(folder: Path) -> str:
    """Return the path of a bridge's Unix socket in a folder. Raises InputError if it is too long."""
    path = str(folder / "bridge")
    if len(os.fsencode(path)) > _UNIX_PATH:
        raise InputError(f"{path} is too long for a Unix socket; set TMPDIR to a shorter path")
    return path


def dial(address: str, context: ssl.SSLContext | None = None) -> socket.socket:
    """Connect a blocking socket to a bridge at ``unix:/path`` or ``tcp:host:port``, or with a context, which verifies the
    bridge, at ``tls://host:port``. Raises InputError for another address. Raises OSError if nothing listens there, or
    something other than the bridge."""
    if context is not None:
        host, port = tls_address(address, "bridge address")
        plain = socket.create_connection((host, port), HANDSHAKE_S)
        try:
            plug: socket.socket = context.wrap_socket(plain)
        except BaseException:
            plain.close()
            raise
        plug.settimeout(None)
        keep_alive(plug)
        return plug
    scheme, _, rest = address.partition(":")
    if scheme == "unix" and rest:
        plug = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            plug.connect(rest)
        except BaseException:
            plug.close()
            raise
        return plug
    host, _, port_text = rest.rpartition(":")
    if scheme == "tcp" and host and _is_port(port_text):
        plug = socket.create_connection((host.removeprefix("[").removesuffix("]"), int(port_text)))
        plug.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return plug
    raise InputError(f"bridge address {shown(address)}; allowed: unix:/path or tcp:host:port")
