"""What the contents of messages about a job's graphs must be: edges, transfers, and what was measured."""

from __future__ import annotations

import numpy as np

from bridge.protocol.message_fields import MAX_TASKS
from bridge.protocol.messages import EdgeSlice, Outcome, Transfers
from bridge.protocol.open_job import OpenJob, check_positive, check_size, check_slice, whole_column
from bridge.protocol.packing import unpack_int32, unpack_int64
from bridge.protocol.vocabulary import BrokenRule
from traces.base.time import MAX_NS
from traces.compiled import Array


def edges_rule(message: EdgeSlice, job: OpenJob) -> None:
    """A slice of the edges: each within its part, in order, and no more than were announced."""
    source, target = _pairs(message)
    count = len(source)
    check_slice("edges", "edge", message.first, count, job.edges, job.told_edges)
    parts = job.start.parts or ()
    stops = np.cumsum([part.edges for part in parts])
    part = np.searchsorted(stops, np.arange(job.edges, job.edges + count), side="right")
    tasks = np.array([part.tasks for part in parts])[part]
    good = (source >= 0) & (source < tasks) & (target >= 0) & (target < tasks) & (source != target)
    if not good.all():
        bad = int(np.argmin(good))
        raise BrokenRule(
            f"edge {message.first + bad} goes from {source[bad]} to {target[bad]}; "
            f"allowed: between two tasks of part {part[bad]}, 0 to {tasks[bad] - 1}"
        )
    bad = _unordered(job.last_edge, part, source, target)
    if bad >= 0:
        raise BrokenRule(
            f"edge {message.first + bad} goes from {source[bad]} to {target[bad]}; "
            "allowed: in each part by source and target, ascending"
        )
    job.edges += count
    job.last_edge = int(part[-1]), int(source[-1]), int(target[-1])


def transfers_rule(message: Transfers, job: OpenJob) -> None:
    """A slice of the transfers: each between two tasks that were recorded, in order, at instants of the job."""
    start = job.start
    if start.network is None or start.network.kind == "none":
        raise BrokenRule("transfers, but there is no network")
    source, target = _pairs(message)
    count = len(source)
    check_size("sent_ns", message.sent_ns, 8, count, "transfers")
    check_size("arrived_ns", message.arrived_ns, 8, count, "transfers")
    most = MAX_TASKS if start.tasks is None else job.told_edges
    check_slice("transfers", "transfer", message.first, count, job.transfers, most, "the job has at most")
    tasks = job.records
    good = (source >= 0) & (source < tasks) & (target >= 0) & (target < tasks) & (source != target)
    sent, arrived = unpack_int64(message.sent_ns), unpack_int64(message.arrived_ns)
    good &= (sent >= start.start_ns) & (arrived >= sent) & (arrived <= MAX_NS)
    if not good.all():
        bad = int(np.argmin(good))
        raise BrokenRule(
            f"transfer {message.first + bad} has source {source[bad]}, target {target[bad]}, sent_ns {sent[bad]}, "
            f"arrived_ns {arrived[bad]}; allowed: two tasks, 0 to {tasks - 1}, and {start.start_ns} <= sent_ns <= arrived_ns"
        )
    bad = _unordered((0, *job.last_transfer), np.zeros(count, np.int64), source, target)
    if bad >= 0:
        raise BrokenRule(
            f"transfer {message.first + bad} goes from {source[bad]} to {target[bad]}; "
            "allowed: by source and target, ascending"
        )
    job.transfers += count
    job.last_transfer = int(source[-1]), int(target[-1])
    job.arrived_ns = max(job.arrived_ns, int(arrived.max()))


def check_graph(message: Outcome, job: OpenJob) -> None:
    """What an outcome says of graphs."""
    if message.graph is not None and not job.has_graph:
        raise BrokenRule("graph is given, but no part of the job is a graph")
    if message.transfers != job.transfers:
        raise BrokenRule(f"transfers is {message.transfers}, but {job.transfers} were recorded")
    if job.arrived_ns > message.end_ns:
        raise BrokenRule(f"the transfers go to {job.arrived_ns} ns; allowed: up to end_ns, {message.end_ns}")


def _pairs(message: EdgeSlice | Transfers) -> tuple[Array, Array]:
    """Source and target, once it is clear that the columns go with each other and the bytes are numbers."""
    what = "edges" if isinstance(message, EdgeSlice) else "transfers"
    count = whole_column("source", message.source, 4)
    check_size("target", message.target, 4, count, what)
    check_size("bytes", message.bytes, 8, count, what)
    # What only waits for something else is sent nothing.
    check_positive("bytes", message.bytes, 0.0 if isinstance(message, EdgeSlice) else None)
    return unpack_int32(message.source), unpack_int32(message.target)


def _unordered(last: tuple[int, int, int], part: Array, source: Array, target: Array) -> int:
    """The first that does not come behind the one before it, of which the first one's is ``last``; -1 if there is none."""
    columns = [np.concatenate([[before], column]) for before, column in zip(last, (part, source, target), strict=True)]
    (part_up, part_same), (source_up, source_same), (target_up, _) = (
        (column[1:] > column[:-1], column[1:] == column[:-1]) for column in columns
    )
    up = part_up | (part_same & (source_up | (source_same & target_up)))
    return -1 if up.all() else int(np.argmin(up))
