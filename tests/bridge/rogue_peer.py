"""The toy simulator gone wrong: once, or always, it spoils an answer. ``rogue_peer.py HOW [MARK]``.

With a file to mark that it has happened, it happens once in a run; whoever comes later behaves.
"""

import os
import runpy
import signal
import socket
import struct
import sys
from pathlib import Path

from msgspec import msgpack

HOW, MARK = sys.argv[1], sys.argv[2:]
WHERE = "records" if HOW == "other-lengths" else "outcome"


def is_first():
    try:
        for mark in MARK:
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def framed(message):
    payload = msgpack.encode(message)
    return struct.pack(">I", len(payload)) + payload


def spoiled(message):
    """What is sent instead of an outcome, or of records."""
    if HOW == "other-lengths":
        lengths = struct.unpack(f"<{len(message['length_gflop']) // 8}d", message["length_gflop"])
        return framed(message | {"length_gflop": struct.pack(f"<{len(lengths)}d", *reversed(lengths))})
    if HOW == "escapes":
        reason = "out\x1b[2J of\x07 luck\r\n\x9b31m"
        return framed({"type": "failed", "job": message["job"], "reason": reason, "blame": "application"})
    if HOW == "other-sum":
        return framed(
            message | {"length_gflop": message["length_gflop"] * (1 + 2**-50), "length_cov": message["length_cov"] + 1}
        )
    if HOW == "too-many-chosen":
        return framed(message | {"chosen": [1, 2, 3]})
    raise SystemExit(f"no {HOW}")


class Rogue(socket.socket):
    def sendall(self, data):
        message = msgpack.decode(data[4:])
        if message["type"] == WHERE and is_first():
            data = spoiled(message)
        super().sendall(data)


if HOW == "exits":
    raise SystemExit(3)
if HOW == "never-connects":
    signal.pause()
socket.socket = Rogue
runpy.run_path(str(Path(__file__).with_name("toy_peer.py")))
