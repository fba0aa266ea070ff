"""What a worker of the fork server does: the messages of ``bridge.workers.worker``, of plain jobs without a session.

A process of one job costs what it writes to: Python counts the uses of every object in the object, so that each page of objects
is copied. A session alone, which judges every message, makes that a hundred pages; the bridge has one, too, and judges what it
says and hears. As soon as an order is not plain a session of our own takes over.
"""

from __future__ import annotations

import random
import socket
from typing import TYPE_CHECKING

from bridge.protocol.framing import HEADER_BYTES, READ_AT_MOST, frame
from bridge.protocol.messages import Message, MessageError, Quit, Role, Start, Welcome, decode, encode
from bridge.protocol.session import Session
from bridge.workers.address import dial
from bridge.workers.application_peer import ApplicationPeer
from bridge.workers.blocking import BlockingConnection, run
from bridge.workers.worker import go_on, hello_of, serve

if TYPE_CHECKING:
    import ssl


class PlainWorker:
    """Our application simulator as a worker; each that is forked has a copy.

    Parameters
    ----------
    context : SSLContext, optional
        Verifies a bridge on another host.
    """

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self._peer, self._context = ApplicationPeer(), context

    def __call__(self, worker: str, address: str, token: str) -> None:
        """Connect to a bridge, and serve it until it says quit or is gone."""
        plug = dial(address, self._context)
        if self._context is None:
            self.serve(plug, worker, token)
            plug.close()
        else:
            run(serve(BlockingConnection(Session(Role.APPLICATION), plug), token, worker, self._peer))

    def serve(self, plug: socket.socket, worker: str, token: str) -> None:
        """Serve the bridge at the other end of a socket."""
        hello, welcome, heard = hello_of(self._peer, token, worker), b"", b""
        plug.sendall(frame(encode(hello)))
        while data := plug.recv(READ_AT_MOST):
            heard += data
            while len(heard) >= (stop := HEADER_BYTES + int.from_bytes(heard[:HEADER_BYTES], "big")):
                try:
                    message = decode(heard[HEADER_BYTES:stop], Role.BRIDGE)
                except MessageError:
                    message = None
                if isinstance(message, Quit):
                    return
                if isinstance(message, Welcome):
                    welcome = heard[:stop]
                elif isinstance(message, Start) and (outcome := self._peer.plain_outcome(message)) is not None:
                    plug.sendall(frame(encode(outcome)))
                else:
                    self._hand_over(plug, hello, welcome + heard)
                    return
                heard = heard[stop:]

    def _hand_over(self, plug: socket.socket, hello: Message, heard: bytes) -> None:
        # To a session, as if it had said the hello, and heard no more than this.
        random.seed()  # what a plug-in draws is not to be the same in every process
        session = Session(Role.APPLICATION)
        session.send(hello)
        session.receive_data(heard)
        connection = BlockingConnection(session, plug)
        try:
            run(go_on(connection, self._peer))
        finally:
            connection.close()
