"""One order to two application simulators, the project's and SimGrid: what each answers, and how far they are apart."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from conversation import Pair, network, recipe, start

from bridge.adapters.simgrid.peer import SimGridPeer
from bridge.adapters.simgrid.process import Installation, find_simgrid
from bridge.protocol.messages import Failed, Outcome, Recipe, Records, Resume, SimulateJob, Suspended, Transfers
from bridge.protocol.packing import pack_float64, pack_int32, unpack_float64, unpack_int32, unpack_int64
from bridge.protocol.vocabulary import Message
from bridge.workers.application_peer import ApplicationPeer
from bridge.workers.worker import Peer

#: The numbers of SimGrid's default model of networks.
LV08 = {
    "kind": "sharing",
    "latency_factor": 13.01,
    "bandwidth_factor": 0.97,
    "weight_bytes": 20537.0,
    "gamma_bytes": 4194304.0,
    "crosstraffic": True,
}


@cache
def simgrid() -> Installation:
    return find_simgrid()


def between(core_host: list[int], **fields: Any) -> dict[str, Any]:
    """The start message's network of these hosts: 10 Gbit/s and 1 µs per link, LV08."""
    given = {"hosts": max(core_host) + 1, "bandwidth_bytes_per_s": 1.25e9, "latency_ns": 1000.0, **LV08, **fields}
    return {"core_host": pack_int32(core_host), "network": network(**given)}


def ordered(speed: Iterable[float], how: str = "ss", program: str = "", **fields: Any) -> SimulateJob:
    """A job of about 12 tasks of 1 GFLOP a core, or of a program, on cores of these speeds."""
    cores = np.array(list(speed))
    drawn: dict[str, Any] = {"seed": 3, "job_number": 17, "cores": len(cores), "n": 12 * len(cores), "variation": 0.5}
    drawn |= {"total_gflop": 12.0 * len(cores), "core_gflop": 12.0, "program": program}
    drawn |= {name: fields.pop(name) for name in Recipe.__struct_fields__ if name in fields}
    given = {"job": 4, "attempt": 0, "start_ns": 7 * 10**9, "core_speed_gflops": pack_float64(cores), "technique": how}
    return start(**{**given, "records": True, "recipe": recipe(**drawn), "tasks": None, **fields})


@dataclass(frozen=True, eq=False)
class Answered:
    """A simulator's report about a job."""

    start: np.ndarray
    end: np.ndarray
    core: np.ndarray
    chunk: np.ndarray
    transfers: list[tuple[int, int, float]]
    sent: np.ndarray
    arrived: np.ndarray
    outcome: Outcome
    suspended: list[Suspended]

    @property
    def finish(self) -> np.ndarray:
        return unpack_int64(self.outcome.finish_ns)

    @property
    def busy(self) -> np.ndarray:
        return unpack_int64(self.outcome.busy_ns)


def answered(peer: Peer, order: SimulateJob, resumes: Iterable[Resume] = ()) -> Answered | Failed:
    pair, suspended = Pair("recipe"), []
    said: list[Message] = []
    for message in (order, *resumes):
        if said and not isinstance(said[-1], Suspended):
            break
        pair.say(message)
        said = []
        for answer in peer.answers(message):
            pair.say(answer)
            said.append(answer)
        suspended += [answer for answer in said if isinstance(answer, Suspended)]
    last = said[-1]
    if isinstance(last, Failed):
        return last
    assert isinstance(last, Outcome), last
    records = [answer for answer in said if isinstance(answer, Records)]

    def column(name: str) -> np.ndarray:
        unpack = unpack_int64 if name.endswith("_ns") else unpack_int32
        return np.concatenate([unpack(getattr(one, name)) for one in records])

    rows: list[tuple[int, int, float, int, int]] = []
    for some in (answer for answer in said if isinstance(answer, Transfers)):
        columns = unpack_int32(some.source), unpack_int32(some.target), unpack_float64(some.bytes)
        instants = unpack_int64(some.sent_ns), unpack_int64(some.arrived_ns)
        rows += zip(*(one.tolist() for one in (*columns, *instants)), strict=True)
    sent, arrived = (np.array([row[k] for row in rows], np.int64) for k in (3, 4))
    tasks = (column(name) for name in ("start_ns", "end_ns", "core", "chunk"))
    return Answered(*tasks, [row[:3] for row in rows], sent, arrived, last, suspended)


def both(order: SimulateJob, resumes: Iterable[Resume] = (), platform: Path | None = None) -> tuple[Answered, Answered]:
    """Answers of the project's engine and of SimGrid."""
    again = list(resumes)
    ours = answered(ApplicationPeer(), order, again)
    peer = SimGridPeer(simgrid(), platform)
    try:
        theirs = answered(peer, order, again)
    finally:
        peer.close()
    assert isinstance(ours, Answered), ours
    assert isinstance(theirs, Answered), theirs
    return ours, theirs


def unlike(ours: Answered, theirs: Answered) -> int:
    """How far the two are apart at most, ns; that no core has another task, and nothing is said otherwise, is asserted."""
    assert (ours.core == theirs.core).all()
    assert ours.transfers == theirs.transfers
    mine, other = ours.outcome, theirs.outcome
    for name in ("stopped", "tasks", "ran", "chunks", "transfers", "length_gflop", "length_cov", "released_ns"):
        assert getattr(mine, name) == getattr(other, name), name
    apart = [abs(mine.end_ns - other.end_ns), abs(mine.scheduling_ns - other.scheduling_ns) // max(1, mine.chunks)]
    if mine.graph is None or other.graph is None:
        assert mine.graph is other.graph is None
    else:
        assert mine.graph.transfers == other.graph.transfers
        for name in ("critical_path_ns", "parallelism", "slr", "speedup", "transfer_bytes"):
            here, there = getattr(mine.graph, name), getattr(other.graph, name)
            assert (here is None) == (there is None), name
            assert here is None or abs(here - there) <= 1e-7 * abs(here), name
        apart.append(abs(mine.graph.transfer_wait_ns - other.graph.transfer_wait_ns) // max(1, mine.tasks))
    for name in ("start", "end", "finish", "busy", "sent", "arrived"):
        apart.append(int(np.abs(getattr(ours, name) - getattr(theirs, name)).max(initial=0)))
    return max(apart)
