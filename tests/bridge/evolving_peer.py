"""A toy whose jobs evolve: plain Python, any MessagePack library, and PROTOCOL.md.

A job wishes for as many cores as it may have as half of its tasks have been handed out, and for as few as its last quarter
begins. With the argument "many" it wishes for more than it may have, with "never" it says that it never wishes.
"""

import os
import socket
import statistics
import struct
import sys

from msgspec import msgpack

NEVER = 2**63 - 1
HOW = sys.argv[1] if len(sys.argv) > 1 else ""


def send(kind, **fields):
    payload = msgpack.encode({"type": kind, **fields})
    connection.sendall(struct.pack(">I", len(payload)) + payload)


def column(code, values):
    return struct.pack(f"<{len(values)}{code}", *values)


def values(code, data):
    return struct.unpack(f"<{len(data) // struct.calcsize(code)}{code}", data)


def simulate(job, order, lengths):
    start, n = order["start_ns"], len(lengths)
    speed = list(values("d", order["core_speed_gflops"]))
    free, finish, busy = [start] * len(speed), [start] * len(speed), [0] * len(speed)
    released, leaving, resizes = [NEVER] * len(speed), set(), list(order["resizes"])
    records, wishes = [], []
    while len(records) < n:
        c = min((c for c in range(len(speed)) if released[c] == NEVER), key=lambda c: (free[c], c))
        t = free[c]
        if resizes and resizes[0]["at_ns"] < t:
            one = resizes.pop(0)
            assert list(values("i", one["places"])) == list(range(len(speed), len(speed) + len(one["places"]) // 4))
            for gflops in values("d", one["speed_gflops"]):
                speed.append(gflops), free.append(one["at_ns"] + 1), finish.append(start), busy.append(0)
                released.append(NEVER)
            leaving |= set(values("i", one["asked"]))
            continue
        if c in leaving:
            released[c] = t  # it is served no more
            continue
        width = order["wishes"]
        for share, cores in ((n // 2, "most"), (3 * n // 4, "least")):
            if width and len(records) == share:
                wishes.append((t, width[cores]))
        end = t + round(lengths[len(records)] / speed[c] * 1e9)
        records.append((t, end, c, len(records), lengths[len(records)]))
        free[c], finish[c], busy[c] = end, end, busy[c] + end - t
    released = [free[c] if c in leaving else at for c, at in enumerate(released)]
    for at_ns, cores in wishes:
        send("wish", job=job, at_ns=at_ns, cores=cores + 1000 * (HOW == "many"))
    if order["records"]:
        named = zip(
            ("start_ns", "end_ns", "core", "chunk", "length_gflop"), "qqiid", zip(*records, strict=True), strict=True
        )
        send("records", job=job, first=0, **{name: column(code, rows) for name, code, rows in named})
    end = {"attempt": order["attempt"], "end_ns": max(finish), "stopped": False, "tasks": n, "ran": n, "chunks": n}
    end |= {"length_gflop": sum(lengths), "length_cov": statistics.pstdev(lengths) / statistics.fmean(lengths)}
    end |= {"scheduling_ns": 0, "chosen": [], "transfers": 0, "ahead_chunks": 0, "graph": None, "last_lost": None}
    named = {"finish_ns": finish, "busy_ns": busy, "released_ns": released}
    send("outcome", job=job, **end, **{name: column("q", rows) for name, rows in named.items()})


kind, _, place = os.environ["TWOLEVEL_ADDRESS"].partition(":")
connection = socket.socket(socket.AF_UNIX)
connection.connect(place)
stream, jobs = connection.makefile("rb"), {}
said = {"token": os.environ["TWOLEVEL_TOKEN"], "worker": os.environ["TWOLEVEL_WORKER"], "conserves_work": True}
said |= {"releases": True, "hints": False, "resizes": True, "wishes": HOW != "never", "scales": False}
send("hello", version=11, name="evolving", tasks="lengths", **said)
while len(header := stream.read(4)) == 4:
    message = msgpack.decode(stream.read(int.from_bytes(header, "big")))
    if message["type"] == "start":
        jobs[message["job"]] = message, []
    elif message["type"] == "lengths":
        order, lengths = jobs[message["job"]]
        lengths += values("d", message["length_gflop"])
        if len(lengths) == order["tasks"]:
            simulate(message["job"], *jobs.pop(message["job"]))
    elif message["type"] in ("refused", "quit"):
        raise SystemExit(message.get("reason"))
