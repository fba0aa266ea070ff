"""The application process: connects to a bridge and answers its orders until it is told to quit or the bridge is gone.

Started by the fork server, or by hand as ``python -m bridge.worker`` with the environment of ``PROTOCOL.md``.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import sys

from bridge.address import connect
from bridge.application_peer import ApplicationPeer
from bridge.framing import READ_AT_MOST
from bridge.messages import (
    ADDRESS_VARIABLE,
    PROTOCOL_VERSION,
    TOKEN_VARIABLE,
    WORKER_VARIABLE,
    Hello,
    Quit,
    Refused,
    Role,
    Welcome,
)
from bridge.session import NEED_DATA, ConnectionClosed, Session
from traces.errors import InputError, PeerError

__all__ = ["PROCESS_NAME", "die_with_parent", "name_process", "serve"]

#: What ``ps`` shows.
PROCESS_NAME = "twolevel-als"

_PR_SET_PDEATHSIG, _PR_SET_NAME = 1, 15


def name_process(name: str) -> None:
    """Set the name that ``ps`` shows for this process, at most 15 bytes (Linux)."""
    ctypes.CDLL(None).prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)


def die_with_parent(parent: int) -> None:
    """Have this process killed when its parent dies, however that comes about (Linux)."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before we asked
        os._exit(1)


async def serve(address: str, token: str, worker: str) -> None:
    """Serve one bridge until it says quit or closes the connection.

    Raises
    ------
    OSError
        If nobody listens at the address.
    PeerError
        If the bridge refuses us, or breaks the protocol.
    """
    reader, writer = await connect(address)
    session, peer = Session(Role.APPLICATION), ApplicationPeer()
    hello = Hello(
        version=PROTOCOL_VERSION, token=token, worker=worker, name=PROCESS_NAME, tasks="recipe", conserves_work=True
    )
    try:
        writer.write(session.send(hello))
        while True:
            event = session.next_event()
            if event is NEED_DATA:
                data = await reader.read(READ_AT_MOST)
                session.receive_data(data) if data else session.receive_eof()
            elif isinstance(event, ConnectionClosed | Quit):
                return
            elif isinstance(event, Refused):
                raise PeerError(f"the bridge refused this process: {event.reason}")
            elif not isinstance(event, Welcome):
                for answer in peer.answers(event):  # type: ignore[arg-type]
                    writer.write(session.send(answer))
                    await writer.drain()
    except ConnectionError:
        return  # the bridge is gone: nobody is left to tell
    finally:
        writer.close()


def main() -> None:
    """``python -m bridge.worker``."""
    missing = [name for name in (ADDRESS_VARIABLE, TOKEN_VARIABLE, WORKER_VARIABLE) if name not in os.environ]
    if missing:
        sys.exit(f"twolevel-als: {missing[0]} is not set; a bridge sets it when it starts an application simulator")
    name_process(PROCESS_NAME)
    try:
        asyncio.run(serve(*(os.environ[name] for name in (ADDRESS_VARIABLE, TOKEN_VARIABLE, WORKER_VARIABLE))))
    except (OSError, PeerError, InputError) as error:
        sys.exit(f"twolevel-als: {error}")


if __name__ == "__main__":
    main()
