"""A toy application simulator: plain Python, any MessagePack library, and PROTOCOL.md."""

import heapq
import socket
import statistics
import struct
from os import environ

from msgspec import msgpack

COLUMNS = {"start_ns": "q", "end_ns": "q", "core": "i", "chunk": "i", "length_gflop": "d"}


def send(kind, **fields):
    payload = msgpack.encode({"type": kind, **fields})
    connection.sendall(struct.pack(">I", len(payload)) + payload)


def column(code, values):
    return struct.pack(f"<{len(values)}{code}", *values)


def simulate(job, order, lengths):
    speed = struct.unpack(f"<{len(order['core_speed_gflops']) // 8}d", order["core_speed_gflops"])
    n, p, t, overhead = len(lengths), len(speed), order["start_ns"], order["overhead_ns"]
    wait = [0] * p if order["latency_ns"] is None else struct.unpack(f"<{p}q", order["latency_ns"])
    parts = order["parts"] or [{"tasks": n, "technique": order["technique"]}]
    for technique in {part["technique"] for part in parts} - {None, "ss", "static"}:
        return send("failed", job=job, reason=f"unknown technique {technique}: ss, static", blame="user")
    if order["changes"] or order["network"] or {order["until_ns"], order["stop_ns"]} != {None} or 0 in speed:
        return send("failed", job=job, reason="the toy only runs straight: no --speeds, no --network", blame="user")
    tasks, chunks, scheduling, finish, busy, barrier, free = [], 0, 0, [t] * p, [0] * p, t, t
    for part in parts:
        technique, m, stop, served = part["technique"], part["tasks"], len(tasks) + part["tasks"], set()
        # A serial part is the first core's, and nobody hands it out.
        asking = [(barrier + wait[c], c) for c in range(p)] if technique else [(barrier, 0)]
        heapq.heapify(asking)
        while asking:
            t, c = heapq.heappop(asking)
            latency = wait[c] if technique else 0
            size = (c not in served) * (m // p + (c < m % p)) if technique == "static" else 1
            if not (chunk := lengths[len(tasks) : min(stop, len(tasks) + size)]):
                barrier = max(barrier, t + latency)
                continue
            asked, t = t - latency, max(t, free) if order["master"] and technique else t
            free = t + overhead if technique else free
            begin = t = free + latency if technique else t
            for length in chunk:
                tasks.append((t, t := t + round(length / speed[c] * 1e9), c, chunks, length))
            heapq.heappush(asking, (t + latency, c))
            served.add(c)
            chunks, scheduling, busy[c], finish[c] = chunks + 1, scheduling + begin - asked, busy[c] + t - begin, t
    for first in range(0, n if order["records"] else 0, 262_144):
        named = zip(COLUMNS.items(), zip(*tasks[first : first + 262_144], strict=True), strict=True)
        send("records", job=job, first=first, **{name: column(code, values) for (name, code), values in named})
    end = {"attempt": order["attempt"], "end_ns": max(finish), "stopped": False, "tasks": n, "ran": n, "chunks": chunks}
    end |= {"length_gflop": sum(lengths), "length_cov": statistics.pstdev(lengths) / statistics.fmean(lengths)}
    end |= {"busy_ns": column("q", busy), "scheduling_ns": scheduling, "chosen": [], "transfers": 0, "ahead_chunks": 0}
    return send("outcome", job=job, finish_ns=column("q", finish), graph=None, released_ns=None, last_lost=None, **end)


kind, _, place = environ["TWOLEVEL_ADDRESS"].partition(":")
host, _, port = place.rpartition(":")
connection = socket.socket(socket.AF_UNIX if kind == "unix" else socket.AF_INET)
connection.connect(place if kind == "unix" else (host, int(port)))
stream, jobs, can = connection.makefile("rb"), {}, ("releases", "hints", "resizes", "wishes", "scales")
said = {"token": environ["TWOLEVEL_TOKEN"], "worker": environ["TWOLEVEL_WORKER"], "conserves_work": True}
send("hello", version=13, name="toy", tasks="lengths", **said, **dict.fromkeys(can, False))
while len(header := stream.read(4)) == 4:
    message = msgpack.decode(stream.read(int.from_bytes(header, "big")))
    if message["type"] == "start":
        jobs[message["job"]] = message, []
    elif message["type"] in ("lengths", "edges"):
        order, lengths = jobs[message["job"]]
        values = message.get("length_gflop") or message["bytes"]  # edges are only waited for
        lengths += struct.unpack(f"<{len(values) // 8}d", values)
        if len(lengths) == order["tasks"] + sum(part["edges"] for part in order["parts"] or ()):
            simulate(message["job"], *jobs.pop(message["job"]))
    elif message["type"] in ("refused", "quit"):
        raise SystemExit(message.get("reason"))
