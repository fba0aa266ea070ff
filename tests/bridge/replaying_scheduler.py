"""A scheduler that decides what a schedule says, then and there: ``replaying_scheduler.py SCHEDULE.json``.

It has, by ``NUMBER/ATTEMPT`` of a job, the instant at which its start is decided and its cores, as half-open intervals; and the
instants at which it asks to decide. The scheduler keeps books of its own, and says ``failed`` where they do not fit what it is
told.
"""

import json
import os
import socket
import struct
import sys
from pathlib import Path

from msgspec import msgpack


def numbers(column):
    ends = struct.unpack(f"<{len(column) // 4}i", column)
    return {core for first, stop in zip(ends[::2], ends[1::2], strict=True) for core in range(first, stop)}


def send(kind, **fields):
    payload = msgpack.encode({"type": kind, **fields})
    connection.sendall(struct.pack(">I", len(payload)) + payload)


def require(holds, what):
    if not holds:
        send("failed", reason=f"books: {what}", blame="bridge")
        raise SystemExit(2)


def decide(message):
    now = message["now_ns"]
    chosen = []
    for job in sorted(waiting, key=lambda job: waiting[job]["first"]):
        decided_ns, intervals = plan.get(name_of[job], (-1, ()))
        if decided_ns == now:
            ends = [end for interval in intervals for end in interval]
            chosen.append({"job": job, "cores": struct.pack(f"<{len(ends)}i", *ends)})
    later = [instant for instant in wakes if instant > now]
    wake = [min(later)] if later else []
    require(message["woken"] == (now in asked), f"woken is {message['woken']}, and {now} was asked for: {now in asked}")
    asked.update(wake)
    answer = {"start": chosen, "reject": [], "wake_ns": wake, "scale": [], "end": [], "resize": [], "hint": []}
    send("decided", decision=message["decision"], **answer)


plan, wakes = json.loads(Path(sys.argv[1]).read_text())
kind, _, place = os.environ["TWOLEVEL_ADDRESS"].partition(":")
host, _, port = place.rpartition(":")
connection = socket.socket(socket.AF_UNIX if kind == "unix" else socket.AF_INET)
connection.connect(place if kind == "unix" else (host, int(port)))
stream, waiting, held, running, down = connection.makefile("rb"), {}, {}, {}, set()
name_of, free, asked, ends = {}, set(), set(), {}
send("hello", version=4, role="scheduler", token=os.environ["TWOLEVEL_TOKEN"], name="replay", directs=[])
while len(header := stream.read(4)) == 4:
    message = msgpack.decode(stream.read(int.from_bytes(header, "big")))
    kind, job = message["type"], message.get("job")
    if kind == "machine":
        free = set(range(message["cores"]))
    elif kind == "submitted":
        name_of[job] = f"{message['number']}/{message['attempt']}"
        require(message["units"] * message["unit_cores"] == message["cores"], f"units of {job}")
        (held if message["eligible_ns"] is None else waiting)[job] = message
    elif kind == "eligible":
        waiting[job] = held.pop(job)
    elif kind == "started":
        waiting.pop(job, None)
        running[job] = numbers(message["cores"])
        require(running[job] <= free, f"{job} starts on cores in use")
        free -= running[job]
    elif kind == "released":
        gone = numbers(message["cores"])
        require(gone < running[job], f"{job} releases what it has not")
        running[job] -= gone
        free |= gone
    elif kind == "given":
        came = numbers(message["cores"])
        require(came <= free, f"{job} is given cores in use")
        running[job] |= came
        free -= came
    elif kind == "ended":
        ends[name_of[job]] = message["how"]
        free |= running.pop(job, set())
        waiting.pop(job, None)
        held.pop(job, None)
    elif kind == "host":
        (down.add if message["down"] else down.discard)(message["host"])
    elif kind == "decide":
        decide(message)
    elif kind == "quit":
        # Whatever has happened was told.
        Path(sys.argv[1]).with_suffix(".ends").write_text(json.dumps(ends))
        raise SystemExit(1 if waiting or held or running else 0)
    elif kind == "refused":
        raise SystemExit(message["reason"])
