"""What the contents of a message about one job must be, given what was said about that job before.

The order of messages is the business of the tables in :mod:`bridge.protocol.tables`; here are instants, counts and
columns. Every rule checks everything before it changes anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from bridge.protocol import messages as m
from bridge.protocol.core_rules import check_cores
from bridge.protocol.graph_rules import check_graph, edges_rule, transfers_rule
from bridge.protocol.message_fields import ALL_CORES, MAX_PROMISES, MAX_TASKS, MAX_WISHES
from bridge.protocol.open_job import (
    OpenJob,
    at_least,
    check_durations,
    check_orders,
    check_positive,
    check_size,
    check_slice,
    taken,
    takes_away,
    whole_column,
)
from bridge.protocol.packing import unpack_int32, unpack_int64
from bridge.protocol.vocabulary import BrokenRule, Message
from traces.algorithms.extremes import extremes

#: How far a peer's sums may be from exact ones, relatively.
_ROUNDED: Final = 1e-9


def _lengths(message: m.Lengths, job: OpenJob) -> None:
    count = check_positive("length_gflop", message.length_gflop, job.lowest_gflop)
    check_slice("lengths", "task", message.first, count, job.lengths, job.start.tasks or 0)
    job.lengths += count


def _resume(message: m.Resume, job: OpenJob) -> None:
    check_orders(message, job.now_ns, job.cores)
    job.until_ns, job.stop_ns = message.until_ns, message.stop_ns
    job.loses = job.loses or takes_away(message)
    job.taken |= taken(message)
    # What was promised without knowing of these holds only up to the first of them.
    if message.changes:
        job.lower_promise(message.changes[0].at_ns)
    if message.stop_ns is not None:
        job.lower_promise(message.stop_ns)


def _check_promise(message: m.Promise | m.Suspended, job: OpenJob) -> None:
    at_least("not_before_ns", message.not_before_ns, job.promised_ns, "the earlier promise,")
    if job.stop_ns is not None and message.not_before_ns > job.stop_ns:
        raise BrokenRule(f"not_before_ns is {message.not_before_ns}; allowed: up to stop_ns, {job.stop_ns}")


def _promises(job: OpenJob) -> int:
    """How many there are with one more."""
    if job.promises == MAX_PROMISES:
        raise BrokenRule(f"promise {job.promises + 1}; allowed: up to {MAX_PROMISES} for a job")
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
    at_least("at_ns of a wish", message.at_ns, job.wished_ns + 1, "1 ns behind the wish before,")
    if job.wishes == MAX_WISHES:
        raise BrokenRule(f"wish {job.wishes + 1}; allowed: up to {MAX_WISHES} for a job")
    job.wishes, job.wished_ns = job.wishes + 1, message.at_ns


def _suspended(message: m.Suspended, job: OpenJob) -> None:
    if job.until_ns is None:
        raise BrokenRule("suspended, but it was told to run to the end")
    at_least("now_ns", message.now_ns, job.now_ns, "the earlier now,")
    if message.now_ns > job.until_ns:
        raise BrokenRule(f"now_ns is {message.now_ns}; allowed: up to until_ns, {job.until_ns}")
    at_least("not_before_ns", message.not_before_ns, message.now_ns, "now_ns,")
    _check_promise(message, job)
    if message.now_ns < job.until_ns:  # or a job could be suspended for ever without coming any further
        job.promises = _promises(job)
    job.now_ns, job.promised_ns = message.now_ns, message.not_before_ns


def _records(message: m.Records, job: OpenJob) -> None:
    if not job.start.records:
        raise BrokenRule("records, but they were not asked for")
    count = whole_column("start_ns", message.start_ns)
    columns = (("end_ns", message.end_ns, 8), ("core", message.core, 4), ("chunk", message.chunk, 4))
    for name, column, size in (*columns, ("length_gflop", message.length_gflop, 8)):
        check_size(name, column, size, count, "tasks")
    check_positive("length_gflop", message.length_gflop, job.lowest_gflop)
    most = MAX_TASKS if job.start.tasks is None else job.start.tasks
    check_slice("records", "task", message.first, count, job.records, most, "the job has at most")
    start, end = unpack_int64(message.start_ns), unpack_int64(message.end_ns)
    core, chunk = unpack_int32(message.core), unpack_int32(message.chunk)
    ran = (start >= job.start.start_ns) & (end >= start) & (core >= 0) & (chunk >= 0)
    never = (start == -1) & (end == -1) & (core >= -1) & (chunk >= -1)
    allowed = ran | never  # if it was stopped, or its cores were lost: that is said in the outcome
    if not (allowed.all() and core.max() < job.cores):
        bad = int(np.argmin(allowed & (core < job.cores)))
        raise BrokenRule(
            f"task {message.first + bad} has start_ns {start[bad]}, end_ns {end[bad]}, core {core[bad]}, "
            f"chunk {chunk[bad]}; allowed: {job.start.start_ns} <= start_ns <= end_ns, "
            f"core 0 to {job.cores - 1}, chunk from 0 on"
        )
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
    if job.wished_ns > end_ns:
        raise BrokenRule(f"end_ns is {end_ns}; allowed: from its last wish, {job.wished_ns}, on")
    if job.until_ns is not None and end_ns >= job.until_ns:
        raise BrokenRule(f"end_ns is {end_ns}; allowed: before until_ns, {job.until_ns}")
    if job.stop_ns is not None and end_ns > job.stop_ns:
        raise BrokenRule(f"end_ns is {end_ns}; allowed: up to stop_ns, {job.stop_ns}")
    if message.stopped and end_ns != job.stop_ns:
        expected = "it was told no stop" if job.stop_ns is None else f"expected: at stop_ns, {job.stop_ns}"
        raise BrokenRule(f"stopped at {end_ns}; {expected}")
    lost = message.last_lost is not None
    if lost and (message.stopped or end_ns == job.stop_ns):
        what = "stopped, too" if message.stopped else f"at stop_ns, {job.stop_ns}"
        raise BrokenRule(f"last_lost is {message.last_lost}, {what}; allowed: an end before a stop")
    if message.last_lost is not None:
        _check_lost(message.last_lost, end_ns, job)
    check_size("finish_ns", message.finish_ns, 8, job.cores)
    low, high = extremes(unpack_int64(message.finish_ns))
    if low < start.start_ns or high != end_ns:
        raise BrokenRule(
            f"finish_ns goes from {low} to {high}; allowed: from {start.start_ns} on, and exactly to end_ns, {end_ns}"
        )
    if start.tasks is not None and message.tasks != start.tasks:
        raise BrokenRule(f"tasks is {message.tasks}; the job has {start.tasks}")
    check_durations("busy_ns", message.busy_ns, job.cores)
    if message.length_gflop == 0.0 and not job.has_graph:
        raise BrokenRule("length_gflop is 0; allowed: above 0")
    if message.length_cov is None and message.length_gflop > 0.0:
        raise BrokenRule(f"length_cov is nil, and length_gflop {message.length_gflop}; allowed: a number from 0 on")
    if message.length_cov is not None and message.length_cov > (1 + _ROUNDED) * math.sqrt(message.tasks - 1):
        raise BrokenRule(
            f"length_cov is {message.length_cov}; allowed: up to {math.sqrt(message.tasks - 1):.6g}, the largest of "
            f"{message.tasks} lengths"
        )
    ahead = sum(message.chosen) * len(message.chosen) * message.tasks
    if message.ahead_chunks > ahead:
        raise BrokenRule(
            f"ahead_chunks is {message.ahead_chunks}; allowed: up to {ahead}, a chunk per task, choice and technique"
        )
    if message.chunks > message.tasks and not job.loses:
        raise BrokenRule(f"chunks is {message.chunks}; allowed: up to tasks, {message.tasks}")
    if message.ran > message.tasks or (message.ran < message.tasks and not (message.stopped or lost)):
        allowed = "up to" if message.stopped or lost else "in a job that was not stopped, and not lost, all"
        raise BrokenRule(f"ran is {message.ran}; allowed: {allowed} tasks, {message.tasks}")
    if start.records and (job.records, job.ran) != (message.tasks, message.ran):
        raise BrokenRule(
            f"tasks is {message.tasks} and ran is {message.ran}, but {job.records} were recorded and {job.ran} of them ran"
        )
    if job.records and (job.last_ns > end_ns or job.last_chunk >= message.chunks):
        raise BrokenRule(
            f"the records go to {job.last_ns} ns and chunk {job.last_chunk}; "
            f"allowed: up to end_ns, {end_ns}, and chunk {message.chunks - 1}"
        )
    check_graph(message, job)
    check_cores(message, job)


def _check_lost(core: int, end_ns: int, job: OpenJob) -> None:
    """An application that conserves work names a core that was taken away before the end; with -1 any core was."""
    if core >= job.cores:
        raise BrokenRule(f"last_lost is {core}; allowed: -1 to {job.cores - 1}")
    if not job.conserves_work or any(at <= end_ns and (core < 0 or of in (core, ALL_CORES)) for at, of in job.taken):
        return
    which = f"core {core}" if core >= 0 else "a core"
    raise BrokenRule(f"last_lost is {core}, but {which} was not taken away up to end_ns, {end_ns}; allowed: nil")


def _no_rule(message: Message, job: OpenJob) -> None:
    """The table says it all."""


#: The rule for each message about an open job.
RULES: Final[dict[type[Message], Callable[[Any, OpenJob], None]]] = {
    m.Lengths: _lengths,
    m.EdgeSlice: edges_rule,
    m.Resume: _resume,
    m.Promise: _promise,
    m.Wish: _wish,
    m.Suspended: _suspended,
    m.Records: _records,
    m.Transfers: transfers_rule,
    m.Outcome: _outcome,
    m.Failed: _no_rule,
    m.Cancel: _no_rule,
}
