"""A toy application simulator: plain Python, any MessagePack library, and PROTOCOL.md."""

import heapq
import os
import socket
import struct

from msgspec import msgpack

COLUMNS = {"start_ns": "q", "end_ns": "q", "core": "i", "chunk": "i", "length_gflop": "d"}


def send(kind, **fields):
    payload = msgpack.encode({"type": kind, **fields})
    connection.sendall(struct.pack(">I", len(payload)) + payload)


def simulate(job, order, lengths):
    speed = struct.unpack(f"<{len(order['core_speed_gflops']) // 8}d", order["core_speed_gflops"])
    n, p, technique = len(lengths), len(speed), order["technique"]
    if technique not in ("ss", "static"):
        return send("failed", job=job, reason=f"unknown technique {technique}: ss, static", blame="user")
    if order["changes"] or order["until_ns"] is not None or order["stop_ns"] is not None:
        return send("failed", job=job, reason="the toy only runs straight to the end", blame="application")
    tasks, chunks, finish, asking = [], 0, [0] * p, [(order["start_ns"], core) for core in range(p)]
    while asking:
        t, core = heapq.heappop(asking)
        size = 1 if technique == "ss" else n // p + (core < n % p) if chunks < p else 0
        finish[core], t = t, t + order["overhead_ns"]
        if chunk := lengths[len(tasks) : len(tasks) + size]:
            for length in chunk:
                tasks.append((t, t := t + round(length / speed[core] * 1e9), core, chunks, length))
            heapq.heappush(asking, (t, core))
            chunks += 1
    for first in range(0, n if order["records"] else 0, 262_144):
        named = zip(COLUMNS.items(), zip(*tasks[first : first + 262_144], strict=True), strict=True)
        columns = {name: struct.pack(f"<{len(column)}{code}", *column) for (name, code), column in named}
        send("records", job=job, first=first, **columns)
    end = {"attempt": order["attempt"], "end_ns": max(finish), "stopped": False, "tasks": n, "ran": n, "chunks": chunks}
    return send("outcome", job=job, length_gflop=sum(lengths), finish_ns=struct.pack(f"<{p}q", *finish), **end)


kind, _, place = os.environ["TWOLEVEL_ADDRESS"].partition(":")
host, _, port = place.rpartition(":")
connection = socket.socket(socket.AF_UNIX if kind == "unix" else socket.AF_INET)
connection.connect(place if kind == "unix" else (host, int(port)))
stream, jobs = connection.makefile("rb"), {}
secret = {"token": os.environ["TWOLEVEL_TOKEN"], "worker": os.environ["TWOLEVEL_WORKER"]}
send("hello", version=2, name="toy", tasks="lengths", conserves_work=True, **secret)
while len(header := stream.read(4)) == 4:
    message = msgpack.decode(stream.read(int.from_bytes(header, "big")))
    if message["type"] == "start":
        jobs[message["job"]] = message, []
    elif message["type"] == "lengths":
        order, lengths = jobs[message["job"]]
        lengths += struct.unpack(f"<{len(message['length_gflop']) // 8}d", message["length_gflop"])
        if len(lengths) == order["tasks"]:
            simulate(message["job"], *jobs.pop(message["job"]))
    elif message["type"] in ("refused", "quit"):
        raise SystemExit(message.get("reason"))
