"""Messages about one job of two cores and three tasks, from 100 ns on, and both ends of a connection."""

from typing import Any, Literal

import msgspec
from session_invariants import check_session

from bridge.protocol.application_book import ApplicationBook
from bridge.protocol.framing import frame
from bridge.protocol.messages import (
    Change,
    EdgeSlice,
    Hello,
    Lengths,
    Measurement,
    NetworkFields,
    Outcome,
    Part,
    Promise,
    Recipe,
    Records,
    Resume,
    SimulateJob,
    Suspended,
    Transfers,
    Welcome,
    encode,
    sender_of,
)
from bridge.protocol.packing import pack_float64, pack_int32, pack_int64
from bridge.protocol.session import NEED_DATA, Session
from bridge.protocol.tables import Role
from bridge.protocol.vocabulary import Message

TOKEN = "s3cret"
JOB = 7
ROLES = (Role.BRIDGE, Role.APPLICATION)
changed = msgspec.structs.replace


ABLE = dict.fromkeys(("releases", "hints", "resizes", "wishes", "scales"), True)


def hello(**fields: Any) -> Hello:
    said = {"version": 13, "token": TOKEN, "worker": "w", "name": "n", "tasks": "lengths", "conserves_work": True}
    return Hello(**said | ABLE | fields)


def recipe(**fields: Any) -> Recipe:
    tasks = {"seed": 1, "job_number": 1, "cores": 2, "n": 3, "mean_gflop": 1.0, "variation": 0.0, "program": ""}
    work = {"total_gflop": 3.0, "core_gflop": 1.5, "speed_gflops": 1.0, "bytes_per_gflop": 1e9}
    work |= dict.fromkeys(("drives", "placement"))
    return Recipe(**tasks | work | fields)


def start(how: str = "lengths", /, **fields: Any) -> SimulateJob:
    none = ("parts", "latency_ns", "core_host", "network", "until_ns", "resizes", "wishes", "stop_ns")
    no = dict.fromkeys(("master", "records", "releases"), False)
    job = {"job": JOB, "attempt": 4, "start_ns": 100, "core_speed_gflops": pack_float64([1.0, 1.0]), "technique": "ss"}
    job |= {"overhead_ns": 0, "resize_ns": 0, **dict.fromkeys(("changes", "hints", "scales"), ())}
    job |= {"recipe": None, "tasks": 3} if how != "recipe" else {"recipe": recipe(), "tasks": None}
    return SimulateJob(**dict.fromkeys(none) | no | job | fields)


def lengths(first: int = 0, count: int = 3) -> Lengths:
    return Lengths(job=JOB, first=first, length_gflop=pack_float64([1.0] * count))


def records(first: int = 0, count: int = 3, **fields: Any) -> Records:
    """All on core 0, one after the other, 50 ns each."""
    starts = [100 + 50 * task for task in range(first, first + count)]
    columns = {"start_ns": pack_int64(starts), "end_ns": pack_int64([start_ns + 50 for start_ns in starts])}
    columns |= dict.fromkeys(("core", "chunk"), pack_int32([0] * count))
    return Records(**{"job": JOB, "first": first, "length_gflop": pack_float64([1.0] * count)} | columns | fields)


def outcome(**fields: Any) -> Outcome:
    end: dict[str, Any] = {"job": JOB, "attempt": 4, "end_ns": 300, "stopped": False, "tasks": 3, "ran": 3, "chunks": 2}
    end |= {"transfers": 0, "length_gflop": 3.0, "length_cov": 0.0, "scheduling_ns": 0, "chosen": (), "ahead_chunks": 0}
    end |= {"finish_ns": pack_int64([300, 100]), "busy_ns": pack_int64([150, 0])}
    return Outcome(**dict.fromkeys(("last_lost", "released_ns", "graph")) | end | fields)


def promise(not_before_ns: int) -> Promise:
    return Promise(job=JOB, not_before_ns=not_before_ns)


def suspended(now_ns: int, not_before_ns: int) -> Suspended:
    return Suspended(job=JOB, now_ns=now_ns, not_before_ns=not_before_ns)


def resume(**fields: Any) -> Resume:
    return Resume(**{"job": JOB, "until_ns": None, "changes": (), "stop_ns": None} | fields)


def change(at_ns: int, core: int = 0, speed_gflops: float | None = 2.0) -> Change:
    return Change(at_ns=at_ns, core=core, speed_gflops=speed_gflops)


def loop(tasks: int, technique: str = "ss", edges: int = 0, order: Literal["index", "rank"] = "index") -> Part:
    return Part(tasks=tasks, technique=technique, order=order, edges=edges, cores=None)


SERIAL = Part(tasks=1, technique=None, order="index", edges=0, cores=None)


def network(**fields: Any) -> NetworkFields:
    """Transfers take 10 ns and 1 ns a byte."""
    given = {"kind": "hockney", "topology": "full", "hosts": 3, "bandwidth_bytes_per_s": 1e9, "latency_ns": 10.0}
    given |= {"memory_bytes_per_s": None, "latency_factor": 1.0, "bandwidth_factor": 1.0, "crosstraffic": False}
    return NetworkFields(**given | {"weight_bytes": 0.0, "gamma_bytes": 0.0} | fields)


def graph(edges: int = 2, **fields: Any) -> SimulateJob:
    linked = {"parts": (loop(3, edges=edges),), "core_host": pack_int32([0, 2]), "network": network(), "records": True}
    return start(**linked | fields)


def _edge_columns(first: int, count: int) -> dict[str, Any]:
    target = pack_int32(range(1 + first, 1 + first + count))
    return {"source": pack_int32([0] * count), "target": target, "bytes": pack_float64([50.0] * count)}


def edges(first: int = 0, count: int = 2, **fields: Any) -> EdgeSlice:
    """Edges from task 0 to the tasks 1 and 2."""
    return EdgeSlice(**{"job": JOB, "first": first} | _edge_columns(first, count) | fields)


def transfers(first: int = 0, count: int = 1, **fields: Any) -> Transfers:
    instants = {"sent_ns": pack_int64([150] * count), "arrived_ns": pack_int64([210] * count)}
    return Transfers(**{"job": JOB, "first": first} | _edge_columns(first, count) | instants | fields)


def measurement(**fields: Any) -> Measurement:
    given: dict[str, Any] = {"critical_path_ns": 2.0, "parallelism": 1.5, "slr": 2.0, "speedup": None, "transfers": 1}
    return Measurement(**given | {"transfer_bytes": 50.0, "transfer_wait_ns": 60} | fields)


class Pair:
    """Both ends of one connection, without a network."""

    def __init__(self, tasks: str = "lengths", *, welcomed: bool = True) -> None:
        self.bridge, self.application = (
            Session(ApplicationBook, Role.BRIDGE, TOKEN),
            Session(ApplicationBook, Role.APPLICATION),
        )
        self.ends = {Role.BRIDGE: self.bridge, Role.APPLICATION: self.application}
        if welcomed:
            self.say(hello(tasks=tasks), Welcome(version=13, run="r"))

    def receiver_of(self, message: Message) -> Session:
        return self.application if sender_of(message) is Role.BRIDGE else self.bridge

    def say(self, *messages: Message) -> None:
        for message in messages:
            data = self.ends[sender_of(message)].send(message)
            receiver = self.receiver_of(message)
            receiver.receive_data(data)
            assert receiver.next_event() == message
            assert receiver.next_event() is NEED_DATA
            check_session(self.bridge)
            check_session(self.application)

    def forge(self, message: Message) -> Session:
        """Let a message arrive that the other end may never have been able to send."""
        receiver = self.receiver_of(message)
        receiver.receive_data(frame(encode(message)))
        return receiver
