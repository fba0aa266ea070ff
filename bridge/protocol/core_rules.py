"""What an outcome, and the records before it, say of a job's cores: whether cores can have done that in the time of the job."""

from __future__ import annotations

import numpy as np

from bridge.protocol.messages import Outcome
from bridge.protocol.open_job import OpenJob, check_size
from bridge.protocol.packing import unpack_int32, unpack_int64
from bridge.protocol.vocabulary import BrokenRule
from traces.base.time import MAX_NS
from traces.compiled import Array

_OF_TWO_BYTES = 2**15


def check_cores(message: Outcome, job: OpenJob) -> None:
    """No core works on two tasks at once, longer than until it finished, or less than was recorded of it. And cores
    neither ask for work, nor wait for data, for longer than the job leaves them."""
    start_ns = job.start.start_ns
    finish_ns, busy_ns = unpack_int64(message.finish_ns), unpack_int64(message.busy_ns)
    longer = busy_ns > finish_ns - start_ns
    if longer.any():
        core = int(np.argmax(longer))
        raise BrokenRule(
            f"busy_ns of core {core} is {busy_ns[core]}; allowed: up to its finish_ns less start_ns, "
            f"{finish_ns[core] - start_ns}"
        )
    _check_releases(message, job, finish_ns)
    if job.spans:
        _check_spans(job, finish_ns, busy_ns)
    of_all_ns = job.cores * (message.end_ns - start_ns)
    # A sum may be beyond int64; no core is busy for longer than the job lasts.
    idle_ns = of_all_ns - (int(busy_ns.sum()) if of_all_ns <= MAX_NS else sum(busy_ns.tolist()))
    asking_ns = idle_ns + _never_begun_ns(message, job)
    if message.scheduling_ns > asking_ns:
        raise BrokenRule(
            f"scheduling_ns is {message.scheduling_ns}; allowed: up to {asking_ns}, as cores were busy else"
        )
    if message.graph is not None and message.graph.transfer_wait_ns > of_all_ns:
        raise BrokenRule(
            f"transfer_wait_ns is {message.graph.transfer_wait_ns}; allowed: up to {of_all_ns}, all the time of all cores"
        )


def _check_releases(message: Outcome, job: OpenJob, finish_ns: Array) -> None:
    said = "releases = true" if job.start.releases else "resizes"
    if not job.tells_releases:
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
        raise BrokenRule(
            f"released_ns of core {core} is {released_ns[core]}; allowed: from its finish_ns, {finish_ns[core]}, on"
        )


def _never_begun_ns(message: Outcome, job: OpenJob) -> int:
    """How much of ``scheduling_ns`` may be after the end, or while a core does something else. A chunk that is on its
    way when its core is stopped, or lost, counts up to when it would have begun."""
    if not (message.stopped or message.last_lost is not None or job.loses):
        return 0
    start = job.start
    latency = 0 if start.latency_ns is None else int(unpack_int64(start.latency_ns).max())
    resizes = start.resizes or ()
    latency = max([latency, *(int(unpack_int64(one.latency_ns).max(initial=0)) for one in resizes)])
    cost = len(resizes) * start.resize_ns
    return message.chunks * (job.cores * start.overhead_ns + 2 * latency) + job.cores * cost


def _check_spans(job: OpenJob, finish_ns: Array, busy_ns: Array) -> None:
    # No copies are kept of what was recorded: these are views of the messages' own bytes.
    parts = [(unpack_int64(start), unpack_int64(end), unpack_int32(core)) for start, end, core in job.spans]
    start_ns, end_ns, core = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    task = np.arange(len(core)) if job.ran == job.records else np.flatnonzero(start_ns >= 0)
    if not len(task):
        return
    # Mostly this is by time, too: a core takes tasks by number. Numbers of two bytes are sorted far faster.
    of_core = core[task]
    order = task[np.argsort(of_core.astype(np.int16) if job.cores <= _OF_TWO_BYTES else of_core, kind="stable")]
    of_core, begun, ended = core[order], start_ns[order], end_ns[order]
    same = of_core[1:] == of_core[:-1]
    if (same & (begun[1:] < ended[:-1])).any():
        order = task[np.lexsort((end_ns[task], start_ns[task], core[task]))]
        begun, ended = start_ns[order], end_ns[order]
        overlaps = same & (begun[1:] < ended[:-1])
        if overlaps.any():
            at = int(np.argmax(overlaps))
            raise BrokenRule(
                f"core {of_core[at]} works on two tasks at once: task {order[at]} from {begun[at]} to {ended[at]}, "
                f"task {order[at + 1]} from {begun[at + 1]} to {ended[at + 1]}; allowed: one after the other"
            )
    first = np.concatenate([[0], np.flatnonzero(~same) + 1])
    cores, last, worked = of_core[first], np.maximum.reduceat(ended, first), np.add.reduceat(ended - begun, first)
    for name, told, least in (("finish_ns", finish_ns[cores], last), ("busy_ns", busy_ns[cores], worked)):
        less = told < least
        if less.any():
            at = int(np.argmax(less))
            raise BrokenRule(
                f"{name} of core {cores[at]} is {told[at]}; allowed: from {least[at]} on, as its tasks were recorded"
            )
