"""The toy simulator gone wrong: once, or always, it spoils an answer. ``rogue_peer.py HOW [MARK]``.

With a file to mark that it has happened, it happens once in a run; later processes behave.
"""

import os
import runpy
import signal
import socket
import struct
import sys
from pathlib import Path

from msgspec import msgpack
from rogue_frames import framed

HOW, MARK = sys.argv[1], sys.argv[2:]


def is_first():
    try:
        for mark in MARK:
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


#: The type of the message that is spoiled, and what is sent instead.
SPOILS = {
    "other-lengths": ("records", lambda said: said | {"length_gflop": struct.pack("<d", 1.0) + said["length_gflop"][8:]}),
    "escapes": (
        "outcome",
        lambda said: {
            "type": "failed", "job": said["job"], "reason": "out\x1b[2J of\x07 luck\r\n\x9b31m", "blame": "application"
        },
    ),
    "other-sum": (
        "outcome",
        lambda said: said | {"length_gflop": said["length_gflop"] * (1 + 2**-50), "length_cov": said["length_cov"] + 1},
    ),
    "too-many-chosen": ("outcome", lambda said: said | {"chosen": [1, 2, 3]}),
}  # fmt: skip


class Rogue(socket.socket):
    def sendall(self, data):
        message = msgpack.decode(data[4:])
        kind, spoil = SPOILS[HOW]
        super().sendall(framed(spoil(message)) if message["type"] == kind and is_first() else data)


if HOW == "exits":
    raise SystemExit(3)
if HOW == "never-connects":
    signal.pause()
socket.socket = Rogue
runpy.run_path(str(Path(__file__).with_name("toy_peer.py")))
