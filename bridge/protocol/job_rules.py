"""Rules for instants, counts and columns in a message about one job, given the earlier messages about it.

Every rule checks everything before it changes anything.
"""

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from bridge.protocol import messages as m
from bridge.protocol import open_job as o
from bridge.protocol.open_job import OpenJob, at_least, check_size
from bridge.protocol.packing import column_extremes, unpack_int32, unpack_int64
from bridge.protocol.vocabulary import BrokenRule, Message
from traces.base.time import MAX_NS
from traces.compiled import Array

_ROUNDED: Final = 1e-9  # relative tolerance for sums that a peer computes


def _wrong(name: str, value: object, allowed: str) -> BrokenRule:
    return BrokenRule(f"{name} is {value}; allowed: {allowed}")


def _lengths(message: m.Lengths, job: OpenJob) -> None:
    count = o.check_positive("length_gflop", message.length_gflop, job.lowest_gflop)
    o.check_slice("lengths", "task", message.first, count, job.lengths, job.start.tasks or 0)
    job.lengths += count


def _resume(message: m.Resume, job: OpenJob) -> None:
    o.check_orders(message, job.now_ns, job.cores)
    job.until_ns, job.stop_ns = message.until_ns, message.stop_ns
    job.taken |= o.taken(message)
    # Earlier promises did not include these changes: they hold only up to the first of them.
    if message.changes:
        job.lower_promise(message.changes[0].at_ns)
    if message.stop_ns is not None:
        job.lower_promise(message.stop_ns)


def _check_promise(message: m.Promise | m.Suspended, job: OpenJob) -> None:
    at_least("not_before_ns", message.not_before_ns, job.promised_ns, "the earlier promise,")
    if job.stop_ns is not None and message.not_before_ns > job.stop_ns:
        raise _wrong("not_before_ns", message.not_before_ns, f"up to stop_ns, {job.stop_ns}")


def _promises(job: OpenJob) -> int:
    if job.promises == m.MAX_PROMISES:
        raise BrokenRule(f"promise {job.promises + 1}; allowed: up to {m.MAX_PROMISES} for a job")
    return job.promises + 1


def _promise(message: m.Promise, job: OpenJob) -> None:
    _check_promise(message, job)
    job.promises = _promises(job)
    job.promised_ns = message.not_before_ns


def _wish(message: m.Wish, job: OpenJob) -> None:
    width = job.start.wishes
    if width is None:
        raise BrokenRule(f"a wish for {message.cores} cores, but start said wishes = nil; allowed: none")
    if not width.least <= message.cores <= width.most:
        raise BrokenRule(f"a wish for {message.cores} cores; allowed: {width.least} to {width.most}")
    at_least("at_ns of a wish", message.at_ns, job.start.start_ns, "the start,")
    at_least("at_ns of a wish", message.at_ns, job.width_request_ns + 1, "1 ns after the previous wish,")
    if job.wishes == m.MAX_WISHES:
        raise BrokenRule(f"wish {job.wishes + 1}; allowed: up to {m.MAX_WISHES} for a job")
    job.wishes, job.width_request_ns = job.wishes + 1, message.at_ns


def _suspended(message: m.Suspended, job: OpenJob) -> None:
    if job.until_ns is None:
        raise BrokenRule("suspended, but the order was to run to the end")
    at_least("now_ns", message.now_ns, job.now_ns, "the earlier now,")
    if message.now_ns > job.until_ns:
        raise _wrong("now_ns", message.now_ns, f"up to until_ns, {job.until_ns}")
    at_least("not_before_ns", message.not_before_ns, message.now_ns, "now_ns,")
    _check_promise(message, job)
    if message.now_ns < job.until_ns:  # limit these, or a job could be suspended for ever without progress
        job.promises = _promises(job)
    job.now_ns, job.promised_ns = message.now_ns, message.not_before_ns


def _records(message: m.Records, job: OpenJob) -> None:
    if not job.start.records:
        raise BrokenRule("records, but none were requested")
    count = o.whole_column("start_ns", message.start_ns)
    columns = (("end_ns", message.end_ns, 8), ("core", message.core, 4), ("chunk", message.chunk, 4))
    for name, column, size in (*columns, ("length_gflop", message.length_gflop, 8)):
        check_size(name, column, size, count, "tasks")
    o.check_positive("length_gflop", message.length_gflop, job.lowest_gflop)
    most = m.MAX_TASKS if job.start.tasks is None else job.start.tasks
    o.check_slice("records", "task", message.first, count, job.records, most, "the job has at most")
    start, end = unpack_int64(message.start_ns), unpack_int64(message.end_ns)
    core, chunk = unpack_int32(message.core), unpack_int32(message.chunk)
    ran = (start >= job.start.start_ns) & (end >= start) & (core >= 0) & (chunk >= 0)
    never = (start == -1) & (end == -1) & (core >= -1) & (chunk >= -1)
    allowed = ran | never  # tasks that never ran, or ended early, are explained by the outcome
    if not (allowed.all() and core.max() < job.cores):
        bad = int(np.argmin(allowed & (core < job.cores)))
        has = f"start_ns {start[bad]}, end_ns {end[bad]}, core {core[bad]}, chunk {chunk[bad]}"
        expected = f"{job.start.start_ns} <= start_ns <= end_ns, core 0 to {job.cores - 1}, chunk from 0 on"
        raise BrokenRule(f"task {message.first + bad} has {has}; allowed: {expected}")
    job.records += count
    job.spans.append((message.start_ns, message.end_ns, message.core))
    job.ran += int(np.count_nonzero(ran))
    job.last_ns = max(job.last_ns, int(end.max()))
    job.last_chunk = max(job.last_chunk, int(chunk.max()))


def _outcome(message: m.Outcome, job: OpenJob) -> None:
    start, end_ns = job.start, message.end_ns
    if message.attempt != start.attempt:
        raise BrokenRule(f"attempt is {message.attempt}; expected: {start.attempt}")
    at_least("end_ns", end_ns, start.start_ns, "the start,")
    at_least("end_ns", end_ns, job.not_before_ns, "the promise,")
    if job.width_request_ns > end_ns:
        raise _wrong("end_ns", end_ns, f"from its last wish, {job.width_request_ns}, on")
    if job.until_ns is not None and end_ns >= job.until_ns:
        raise _wrong("end_ns", end_ns, f"before until_ns, {job.until_ns}")
    if job.stop_ns is not None and end_ns > job.stop_ns:
        raise _wrong("end_ns", end_ns, f"up to stop_ns, {job.stop_ns}")
    if message.stopped and end_ns != job.stop_ns:
        expected = "no stop was ordered" if job.stop_ns is None else f"expected: at stop_ns, {job.stop_ns}"
        raise BrokenRule(f"stopped at {end_ns}; {expected}")
    lost = message.last_lost is not None
    if lost and (message.stopped or end_ns == job.stop_ns):
        what = "stopped, too" if message.stopped else f"at stop_ns, {job.stop_ns}"
        raise BrokenRule(f"last_lost is {message.last_lost}, {what}; allowed: an end before a stop")
    if message.last_lost is not None:
        _check_lost(message.last_lost, end_ns, job)
    check_size("finish_ns", message.finish_ns, 8, job.cores)
    low, high = column_extremes(message.finish_ns, "q")
    if low < start.start_ns or high != end_ns:
        allowed = f"from {start.start_ns} on, and exactly to end_ns, {end_ns}"
        raise BrokenRule(f"finish_ns goes from {low} to {high}; allowed: {allowed}")
    if start.tasks is not None and message.tasks != start.tasks:
        raise BrokenRule(f"tasks is {message.tasks}; the job has {start.tasks}")
    o.check_durations("busy_ns", message.busy_ns, job.cores)
    if message.length_gflop == 0.0 and not job.has_graph:
        raise BrokenRule("length_gflop is 0; allowed: above 0")
    if message.length_cov is None and message.length_gflop > 0.0:
        raise BrokenRule(f"length_cov is nil, and length_gflop {message.length_gflop}; allowed: a number from 0 on")
    if message.length_cov is not None and message.length_cov > (1 + _ROUNDED) * math.sqrt(message.tasks - 1):
        most = f"up to {math.sqrt(message.tasks - 1):.6g}, the largest of {message.tasks} lengths"
        raise _wrong("length_cov", message.length_cov, most)
    ahead = sum(message.chosen) * len(message.chosen) * message.tasks
    if message.ahead_chunks > ahead:
        raise _wrong("ahead_chunks", message.ahead_chunks, f"up to {ahead}, a chunk per task, choice and technique")
    if message.chunks > message.tasks and not job.taken:
        raise _wrong("chunks", message.chunks, f"up to tasks, {message.tasks}")
    if message.ran > message.tasks or (message.ran < message.tasks and not (message.stopped or lost)):
        allowed = "up to" if message.stopped or lost else "in a job that was not stopped, and not lost, all"
        raise _wrong("ran", message.ran, f"{allowed} tasks, {message.tasks}")
    if start.records and (job.records, job.ran) != (message.tasks, message.ran):
        known = f"{job.records} were recorded and {job.ran} of them ran"
        raise BrokenRule(f"tasks is {message.tasks} and ran is {message.ran}, but {known}")
    if job.records and (job.last_ns > end_ns or job.last_chunk >= message.chunks):
        most = f"up to end_ns, {end_ns}, and chunk {message.chunks - 1}"
        raise BrokenRule(f"the records go to {job.last_ns} ns and chunk {job.last_chunk}; allowed: {most}")
    _check_graph(message, job)
    _check_cores(message, job)


def _check_lost(core: int, end_ns: int, job: OpenJob) -> None:
    """Check the core that ended a job: one taken away before the end; -1: any core."""
    if core >= job.cores:
        raise BrokenRule(f"last_lost is {core}; allowed: -1 to {job.cores - 1}")
    if not job.conserves_work or any(at <= end_ns and (core < 0 or of in (core, m.ALL_CORES)) for at, of in job.taken):
        return
    which = f"core {core}" if core >= 0 else "a core"
    raise BrokenRule(f"last_lost is {core}, but {which} was not taken away up to end_ns, {end_ns}; allowed: nil")


def _edges(message: m.EdgeSlice, job: OpenJob) -> None:
    """Check a slice of the edges: within their parts, in order, and within the announced number."""
    source, target = _pairs(message)
    count = len(source)
    o.check_slice("edges", "edge", message.first, count, job.edges, job.announced_edges)
    parts = job.start.parts or ()
    stops = np.cumsum([part.edges for part in parts])
    part = np.searchsorted(stops, np.arange(job.edges, job.edges + count), side="right")
    tasks = np.array([part.tasks for part in parts])[part]
    good = (source >= 0) & (source < tasks) & (target >= 0) & (target < tasks) & (source != target)
    if not good.all():
        bad = int(np.argmin(good))
        raise _misplaced(message, bad, f"between two tasks of part {part[bad]}, 0 to {tasks[bad] - 1}")
    _check_order(message, job.last_edge, part, "in each part by source and target, ascending")
    job.edges += count
    job.last_edge = int(part[-1]), int(source[-1]), int(target[-1])


def _transfers(message: m.Transfers, job: OpenJob) -> None:
    """Check a slice of the transfers: between recorded tasks, in order, at instants of the job."""
    start = job.start
    if start.network is None or start.network.kind == "none":
        raise BrokenRule("transfers, but there is no network")
    source, target = _pairs(message)
    count = len(source)
    check_size("sent_ns", message.sent_ns, 8, count, "transfers")
    check_size("arrived_ns", message.arrived_ns, 8, count, "transfers")
    most = m.MAX_TASKS if start.tasks is None else job.announced_edges
    o.check_slice("transfers", "transfer", message.first, count, job.transfers, most, "the job has at most")
    tasks = job.records
    good = (source >= 0) & (source < tasks) & (target >= 0) & (target < tasks) & (source != target)
    sent, arrived = unpack_int64(message.sent_ns), unpack_int64(message.arrived_ns)
    good &= (sent >= start.start_ns) & (arrived >= sent) & (arrived <= MAX_NS)
    if not good.all():
        bad = int(np.argmin(good))
        has = f"source {source[bad]}, target {target[bad]}, sent_ns {sent[bad]}, arrived_ns {arrived[bad]}"
        expected = f"two tasks, 0 to {tasks - 1}, and {start.start_ns} <= sent_ns <= arrived_ns"
        raise BrokenRule(f"transfer {message.first + bad} has {has}; allowed: {expected}")
    _check_order(message, (0, *job.last_transfer), np.zeros(count, np.int64), "by source and target, ascending")
    job.transfers += count
    job.last_transfer = int(source[-1]), int(target[-1])
    job.arrived_ns = max(job.arrived_ns, int(arrived.max()))


def _check_graph(message: m.Outcome, job: OpenJob) -> None:
    if message.graph is not None and not job.has_graph:
        raise BrokenRule("graph is given, but no part of the job is a graph")
    if message.transfers != job.transfers:
        raise BrokenRule(f"transfers is {message.transfers}, but {job.transfers} were recorded")
    if job.arrived_ns > message.end_ns:
        raise BrokenRule(f"the transfers go to {job.arrived_ns} ns; allowed: up to end_ns, {message.end_ns}")


def _pairs(message: m.EdgeSlice | m.Transfers) -> tuple[Array, Array]:
    """Source and target, after checking that the columns have equal lengths and valid bytes."""
    what = "edges" if isinstance(message, m.EdgeSlice) else "transfers"
    count = o.whole_column("source", message.source, 4)
    check_size("target", message.target, 4, count, what)
    check_size("bytes", message.bytes, 8, count, what)
    # A dependency without data has no bytes.
    o.check_positive("bytes", message.bytes, 0.0 if isinstance(message, m.EdgeSlice) else None)
    return unpack_int32(message.source), unpack_int32(message.target)


def _misplaced(message: m.EdgeSlice | m.Transfers, at: int, allowed: str) -> BrokenRule:
    what = "edge" if isinstance(message, m.EdgeSlice) else "transfer"
    source, target = unpack_int32(message.source)[at], unpack_int32(message.target)[at]
    return BrokenRule(f"{what} {message.first + at} goes from {source} to {target}; allowed: {allowed}")


def _check_order(message: m.EdgeSlice | m.Transfers, last: tuple[int, int, int], part: Array, allowed: str) -> None:
    """Check that each edge follows its predecessor, the first one ``last``: part, source, target."""
    ends = part, unpack_int32(message.source), unpack_int32(message.target)
    columns = [np.concatenate([[before], column]) for before, column in zip(last, ends, strict=True)]
    (part_up, source_up, target_up) = (column[1:] > column[:-1] for column in columns)
    part_same, source_same = (column[1:] == column[:-1] for column in columns[:2])
    up = part_up | (part_same & (source_up | (source_same & target_up)))
    if not up.all():
        raise _misplaced(message, int(np.argmin(up)), allowed)


def _check_cores(message: m.Outcome, job: OpenJob) -> None:
    """Check that no core runs two tasks at once, runs after its finish, or runs less than its records state; and that cores
    neither request work nor wait for data for longer than the rest of the job."""
    start_ns = job.start.start_ns
    finish_ns, busy_ns = unpack_int64(message.finish_ns), unpack_int64(message.busy_ns)
    longer = busy_ns > finish_ns - start_ns
    if longer.any():
        core = int(np.argmax(longer))
        most = f"up to its finish_ns less start_ns, {finish_ns[core] - start_ns}"
        raise _wrong(f"busy_ns of core {core}", busy_ns[core], most)
    _check_releases(message, job, finish_ns)
    if job.spans:
        _check_spans(job, finish_ns, busy_ns)
    of_all_ns = job.cores * (message.end_ns - start_ns)
    # The sum may exceed int64; no core is busy for longer than the job.
    idle_ns = of_all_ns - (int(busy_ns.sum()) if of_all_ns <= MAX_NS else sum(busy_ns.tolist()))
    asking_ns = idle_ns + _never_begun_ns(message, job)
    if message.scheduling_ns > asking_ns:
        most = f"up to {asking_ns}, the time in which cores were not busy"
        raise _wrong("scheduling_ns", message.scheduling_ns, most)
    if message.graph is not None and message.graph.transfer_wait_ns > of_all_ns:
        most = f"up to {of_all_ns}, the total time of all cores"
        raise _wrong("transfer_wait_ns", message.graph.transfer_wait_ns, most)


def _check_releases(message: m.Outcome, job: OpenJob, finish_ns: Array) -> None:
    said = "releases = true" if job.start.releases else "resizes"
    if not job.reports_releases:
        if message.released_ns is not None:
            raise BrokenRule("released_ns is given, but start said releases = false; allowed: nil")
        return
    if message.released_ns is None:
        raise BrokenRule(f"released_ns is nil, but start said {said}; allowed: {job.cores} instants")
    check_size("released_ns", message.released_ns, 8, job.cores)
    released_ns = unpack_int64(message.released_ns)
    early = released_ns < np.maximum(finish_ns, job.start.start_ns)
    if early.any():
        core = int(np.argmax(early))
        least = f"from its finish_ns, {finish_ns[core]}, on"
        raise _wrong(f"released_ns of core {core}", released_ns[core], least)


def _never_begun_ns(message: m.Outcome, job: OpenJob) -> int:
    """The part of ``scheduling_ns`` that may lie after the end, or overlap other activity of a core. A chunk on its way to a
    core that is stopped or lost counts up to the time at which it would have begun."""
    if not (message.stopped or message.last_lost is not None or job.taken):
        return 0
    start = job.start
    latency = 0 if start.latency_ns is None else int(unpack_int64(start.latency_ns).max())
    resizes = start.resizes or ()
    latency = max([latency, *(int(unpack_int64(one.latency_ns).max(initial=0)) for one in resizes)])
    cost = len(resizes) * start.resize_ns
    return message.chunks * (job.cores * start.overhead_ns + 2 * latency) + job.cores * cost


def _check_spans(job: OpenJob, finish_ns: Array, busy_ns: Array) -> None:
    # Nothing is copied: these are views of the messages' bytes.
    parts = [(unpack_int64(start), unpack_int64(end), unpack_int32(core)) for start, end, core in job.spans]
    start_ns, end_ns, core = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    task = np.arange(len(core)) if job.ran == job.records else np.flatnonzero(start_ns >= 0)
    if not len(task):
        return
    # Usually this is also the order in time, as a core takes tasks by number. Two-byte numbers are sorted far faster.
    of_core = core[task]
    order = task[np.argsort(of_core.astype(np.int16) if job.cores <= 2**15 else of_core, kind="stable")]
    of_core, begun, ended = core[order], start_ns[order], end_ns[order]
    same = of_core[1:] == of_core[:-1]
    if (same & (begun[1:] < ended[:-1])).any():
        order = task[np.lexsort((end_ns[task], start_ns[task], core[task]))]
        begun, ended = start_ns[order], end_ns[order]
        overlaps = same & (begun[1:] < ended[:-1])
        if overlaps.any():
            at = int(np.argmax(overlaps))
            two = ", ".join(f"task {order[k]} from {begun[k]} to {ended[k]}" for k in (at, at + 1))
            raise BrokenRule(f"core {of_core[at]} works on two tasks at once: {two}; allowed: one after the other")
    first = np.concatenate([[0], np.flatnonzero(~same) + 1])
    cores, last, worked = of_core[first], np.maximum.reduceat(ended, first), np.add.reduceat(ended - begun, first)
    for name, reported, least in (("finish_ns", finish_ns[cores], last), ("busy_ns", busy_ns[cores], worked)):
        less = reported < least
        if less.any():
            at = int(np.argmax(less))
            begin = f"from {least[at]} on, as its tasks were recorded"
            raise _wrong(f"{name} of core {cores[at]}", reported[at], begin)


#: The rule for each message about an open job, beyond the table; others have none.
RULES: Final[dict[type[Message], Callable[[Any, OpenJob], None]]] = {
    m.Lengths: _lengths,
    m.EdgeSlice: _edges,
    m.Resume: _resume,
    m.Promise: _promise,
    m.Wish: _wish,
    m.Suspended: _suspended,
    m.Records: _records,
    m.Transfers: _transfers,
    m.Outcome: _outcome,
}
