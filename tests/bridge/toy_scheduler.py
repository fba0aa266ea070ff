"""A toy scheduler: first come, first served, on the lowest free cores; plain Python, any MessagePack library."""

import os
import socket
import struct

from msgspec import msgpack


def send(kind, **fields):
    payload = msgpack.encode({"type": kind, **fields})
    connection.sendall(struct.pack(">I", len(payload)) + payload)


def numbers(column):
    ends = struct.unpack(f"<{len(column) // 4}i", column)
    return {core for first, stop in zip(ends[::2], ends[1::2], strict=True) for core in range(first, stop)}


def column(cores):
    ends = []
    for core in cores:  # ascending
        if ends and ends[-1] == core:
            ends[-1] += 1
        else:
            ends += [core, core + 1]
    return struct.pack(f"<{len(ends)}i", *ends)


def decide():
    chosen, usable = [], sorted(core for core in free if host_of[core] not in down)
    for job in sorted(waiting, key=lambda job: waiting[job]["first"]):  # a requeued job keeps its place
        needed = waiting[job]["cores"]
        if needed > len(usable):
            break
        chosen.append({"job": job, "cores": column(usable[:needed])})
        usable = usable[needed:]
    answer = {"start": chosen, "reject": [], "wake_ns": [], "scale": [], "end": [], "resize": [], "hint": []}
    send("decided", decision=message["decision"], **answer)


kind, _, place = os.environ["TWOLEVEL_ADDRESS"].partition(":")
host, _, port = place.rpartition(":")
connection = socket.socket(socket.AF_UNIX if kind == "unix" else socket.AF_INET)
connection.connect(place if kind == "unix" else (host, int(port)))
stream, waiting, held, running, down = connection.makefile("rb"), {}, {}, {}, set()
send("hello", version=6, role="scheduler", token=os.environ["TWOLEVEL_TOKEN"], name="toy", directs=[])
while len(header := stream.read(4)) == 4:
    message = msgpack.decode(stream.read(int.from_bytes(header, "big")))
    kind, job = message["type"], message.get("job")
    if kind == "machine":
        sizes = [group["cores"] for group in message["hosts"] for _ in range(group["count"])]
        host_of = [host for host, size in enumerate(sizes) for _ in range(size)]
        free = set(range(message["cores"]))
    elif kind == "submitted":
        (held if message["eligible_ns"] is None else waiting)[job] = message
    elif kind == "eligible":
        waiting[job] = held.pop(job)
    elif kind == "started":
        waiting.pop(job, None)
        running[job] = numbers(message["cores"])
        free -= running[job]
    elif kind == "released":
        running[job] -= numbers(message["cores"])
        free |= numbers(message["cores"])
    elif kind == "given":
        running[job] |= numbers(message["cores"])
        free -= numbers(message["cores"])
    elif kind == "ended":
        free |= running.pop(job, set())
        waiting.pop(job, None)
        held.pop(job, None)
    elif kind == "host":
        (down.add if message["down"] else down.discard)(message["host"])
    elif kind == "decide":
        decide()
    elif kind in ("refused", "quit"):
        raise SystemExit(message.get("reason"))
