"""The toy scheduler gone wrong: ``rogue_scheduler.py HOW [MARK]``; the fourth time that it is asked, it misbehaves.

The file MARK is given its process, or that of what it has started.
"""

import os
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

from msgspec import msgpack

HOW = sys.argv[1]


def framed(message):
    payload = msgpack.encode(message)
    return struct.pack(">I", len(payload)) + payload


def left(started):
    """The jobs that go on waiting, the head first."""
    return sorted(seen["waiting"].keys() - {one["job"] for one in started})


def start(answer, job):
    return answer | {"start": [*answer["start"], {"job": job, "cores": None}]}


#: Another answer; None: not yet.
SPOILT = {
    "running": lambda answer: start(answer, next(iter(seen["running"]))) if seen["running"] else None,
    "failed": lambda answer: {"type": "failed", "reason": "out\x1b[2J of ideas", "blame": "scheduler"},
    "users": lambda answer: {"type": "failed", "reason": "no partitions, please", "blame": "user"},
    "wide": lambda answer: start(answer, left(answer["start"])[0]) if left(answer["start"]) else None,
}


class Spoilt(socket.socket):
    """Sends what the toy sends, three times."""

    asked = 0

    def sendall(self, data):
        message = msgpack.decode(data[4:])
        if message["type"] == "hello" and HOW in ("version", "token"):
            return super().sendall(framed(message | {HOW: 7 if HOW == "version" else "guessed"}))
        if message["type"] != "decided":
            return super().sendall(data)
        Spoilt.asked += 1
        if HOW == "never":
            return super().sendall(framed(message | {"start": []}))
        if HOW == "sleepless":
            wake = [seen["message"]["now_ns"] + 1]
            return super().sendall(framed(message | {"start": [], "wake_ns": wake}))
        if HOW in ("pieces", "drips"):
            for at in range(len(data)):
                super().sendall(data[at : at + 1])
                time.sleep(0.2 if HOW == "drips" and Spoilt.asked == 4 else 0.0)
            return None
        if HOW in SPOILT and Spoilt.asked >= 4 and (other := SPOILT[HOW](message)):
            return super().sendall(framed(other))
        if Spoilt.asked == 4:
            self.misbehave(data)
        return super().sendall(data)

    def misbehave(self, data):
        if HOW == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        if HOW == "exits":
            raise SystemExit(3)
        if HOW == "hangs-up":
            self.shutdown(socket.SHUT_RDWR)
        if HOW in ("hangs-up", "silent"):
            time.sleep(600)
        while HOW == "floods":
            super().sendall(data)


if HOW == "stays":  # though the run is over
    import atexit

    atexit.register(time.sleep, 600)
if HOW == "parent":
    child = subprocess.Popen(["sleep", "600"])
    Path(sys.argv[2]).write_text(str(child.pid))
elif len(sys.argv) > 2:
    Path(sys.argv[2]).write_text(str(os.getpid()))
if HOW == "late":
    time.sleep(600)
socket.socket = Spoilt
TOY = Path(__file__).with_name("toy_scheduler.py")
seen = {}
source = TOY.read_text(encoding="utf-8").replace(
    'kind, job = message["type"]',
    'seen.update(message=message, waiting=waiting, running=running)\n    kind, job = message["type"]',
)
exec(compile(source, str(TOY), "exec"), {"seen": seen, "__name__": "__main__"})
