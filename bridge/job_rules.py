"""What the contents of a message about one job must be, given what was said about that job before.

The order of messages is the business of the tables in :mod:`bridge.session`; here are instants, counts and
columns. Every rule checks everything before it changes anything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from bridge.messages import (
    MAX_TASKS,
    Cancel,
    Failed,
    Lengths,
    Message,
    Outcome,
    Part,
    Promise,
    Records,
    Resume,
    Start,
    Suspended,
    unpack_float64,
    unpack_int32,
    unpack_int64,
)
from traces.extremes import extremes
from traces.time import MAX_NS

__all__ = ["RULES", "BrokenRule", "OpenJob"]


class BrokenRule(ValueError):
    """A message that may not be sent as it is. The text is one line and does not name the job."""


@dataclass(slots=True)
class OpenJob:
    """What is remembered about a job from its start to its last message."""

    start: Start
    cores: int
    now_ns: int
    promised_ns: int  # by the application
    until_ns: int | None
    stop_ns: int | None
    held_ns: int = 0  # a bound that the bridge computed; the application does not know it
    lengths: int = 0  # task lengths given so far
    records: int = 0  # task records reported so far, with those of tasks that ran, the last instant, the largest chunk
    ran: int = 0
    last_ns: int = 0
    last_chunk: int = -1
    loses: bool = False  # whether a core is, or may be, taken away: its tasks are begun again then, in further chunks

    @classmethod
    def begin(cls, start: Start, tasks: Literal["recipe", "lengths"]) -> OpenJob:
        """The job of a start, for an application that asked for a recipe or for lengths."""
        drawn = tasks == "recipe"
        if (start.recipe is not None) != drawn or (start.tasks is None) != drawn:
            raise BrokenRule(f"start has not exactly what the hello asked for, which is {tasks}")
        cores = _positive("core_speed_gflops", start.core_speed_gflops, lowest=0.0)
        _check_orders(start, start.start_ns, cores)
        if start.latency_ns is not None:
            _durations("latency_ns", start.latency_ns, cores)
        if start.parts is not None:
            _check_parts(start.parts, start.tasks)
        return cls(
            start=start,
            cores=cores,
            now_ns=start.start_ns,
            promised_ns=start.start_ns,
            until_ns=start.until_ns,
            stop_ns=start.stop_ns,
            loses=_takes_away(start),
        )

    @property
    def not_before_ns(self) -> int:
        """The instant before which the job cannot end."""
        return max(self.promised_ns, self.held_ns)

    def hold(self, instant_ns: int) -> None:
        """It cannot end before an instant, unless it is stopped."""
        bound_ns = instant_ns if self.stop_ns is None else min(instant_ns, self.stop_ns)
        self.held_ns = max(self.held_ns, bound_ns)

    def lower_promise(self, instant_ns: int) -> None:
        """What was known of the job holds only up to an instant."""
        self.promised_ns = min(self.promised_ns, instant_ns)
        self.held_ns = min(self.held_ns, instant_ns)


def _at_least(name: str, value: int, least: int, why: str) -> None:
    if value < least:
        raise BrokenRule(f"{name} is {value}; allowed: from {why} {least} on")


def _whole(name: str, column: bytes, size: int = 8) -> int:
    """How many values of ``size`` bytes a column has."""
    count, rest = divmod(len(column), size)
    if rest:
        raise BrokenRule(f"{name} has {len(column)} bytes; allowed: a multiple of {size}")
    return count


def _positive(name: str, column: bytes, lowest: float | None = None) -> int:
    """How many values a float64 column of positive numbers has, or of numbers from ``lowest`` on."""
    count = _whole(name, column)
    low, high = extremes(unpack_float64(column))
    if not ((low > 0.0 if lowest is None else low >= lowest) and high < np.inf):
        what = "positive" if lowest is None else f"at least {lowest:g}"
        raise BrokenRule(f"{name} has a value that is not {what} and finite")
    return count


def _durations(name: str, column: bytes, cores: int) -> None:
    """Check an int64 column of a duration for each core."""
    if len(column) != 8 * cores:
        raise BrokenRule(f"{name} has {len(column)} bytes; {cores} cores need {8 * cores}")
    low, high = extremes(unpack_int64(column))
    if low < 0 or high > MAX_NS:
        raise BrokenRule(f"{name} goes from {low} to {high}; allowed: 0 to {MAX_NS}")


def _check_parts(parts: tuple[Part, ...], tasks: int | None) -> None:
    if tasks is None:
        raise BrokenRule("parts, but a recipe was asked for, and its program says them")
    of_parts = sum(part.tasks for part in parts)
    if of_parts != tasks:
        raise BrokenRule(f"parts have {of_parts} tasks; the job has {tasks}")
    for at, part in enumerate(parts):
        if part.technique is None and part.tasks != 1:
            raise BrokenRule(f"part {at} is serial and has {part.tasks} tasks; allowed: 1")


def _takes_away(message: Start | Resume) -> bool:
    return any(change.speed_gflops == 0.0 for change in message.changes)


def _check_orders(message: Start | Resume, now_ns: int, cores: int) -> None:
    if message.until_ns is not None:
        _at_least("until_ns", message.until_ns, now_ns, "now,")
    if message.stop_ns is not None:
        _at_least("stop_ns", message.stop_ns, now_ns, "now,")
    last = now_ns
    for change in message.changes:
        _at_least("at_ns of a change", change.at_ns, last, "now and the change before,")
        if change.core >= cores:
            raise BrokenRule(f"core of a change is {change.core}; allowed: -1 to {cores - 1}")
        last = change.at_ns


def _lengths(message: Lengths, job: OpenJob) -> None:
    count = _positive("length_gflop", message.length_gflop)
    if message.first != job.lengths:
        raise BrokenRule(f"lengths begin at task {message.first}; expected: {job.lengths}")
    if job.lengths + count > (job.start.tasks or 0):
        last = job.lengths + count - 1
        raise BrokenRule(f"lengths go up to task {last}; the job has {job.start.tasks} tasks")
    job.lengths += count


def _resume(message: Resume, job: OpenJob) -> None:
    _check_orders(message, job.now_ns, job.cores)
    job.until_ns, job.stop_ns = message.until_ns, message.stop_ns
    job.loses = job.loses or _takes_away(message)
    # What was promised without knowing of these holds only up to the first of them.
    if message.changes:
        job.lower_promise(message.changes[0].at_ns)
    if message.stop_ns is not None:
        job.lower_promise(message.stop_ns)


def _check_promise(message: Promise | Suspended, job: OpenJob) -> None:
    _at_least("not_before_ns", message.not_before_ns, job.promised_ns, "the earlier promise,")
    if job.stop_ns is not None and message.not_before_ns > job.stop_ns:
        raise BrokenRule(f"not_before_ns is {message.not_before_ns}; allowed: up to stop_ns, {job.stop_ns}")


def _promise(message: Promise, job: OpenJob) -> None:
    _check_promise(message, job)
    job.promised_ns = message.not_before_ns


def _suspended(message: Suspended, job: OpenJob) -> None:
    if job.until_ns is None:
        raise BrokenRule("suspended, but it was told to run to the end")
    _at_least("now_ns", message.now_ns, job.now_ns, "the earlier now,")
    if message.now_ns > job.until_ns:
        raise BrokenRule(f"now_ns is {message.now_ns}; allowed: up to until_ns, {job.until_ns}")
    _at_least("not_before_ns", message.not_before_ns, message.now_ns, "now_ns,")
    _check_promise(message, job)
    job.now_ns, job.promised_ns = message.now_ns, message.not_before_ns


def _records(message: Records, job: OpenJob) -> None:
    if not job.start.records:
        raise BrokenRule("records, but they were not asked for")
    count = _whole("start_ns", message.start_ns)
    columns = (("end_ns", message.end_ns, 8), ("core", message.core, 4), ("chunk", message.chunk, 4))
    for name, column, size in (*columns, ("length_gflop", message.length_gflop, 8)):
        if len(column) != size * count:
            raise BrokenRule(f"{name} has {len(column)} bytes; {count} tasks need {size * count}")
    _positive("length_gflop", message.length_gflop)
    if message.first != job.records:
        raise BrokenRule(f"records begin at task {message.first}; expected: {job.records}")
    most = MAX_TASKS if job.start.tasks is None else job.start.tasks
    if job.records + count > most:
        raise BrokenRule(f"records go up to task {job.records + count - 1}; the job has at most {most} tasks")
    start, end = unpack_int64(message.start_ns), unpack_int64(message.end_ns)
    core, chunk = unpack_int32(message.core), unpack_int32(message.chunk)
    ran = (start >= job.start.start_ns) & (end >= start) & (core >= 0) & (chunk >= 0)
    never = (start == -1) & (end == -1) & (core >= -1) & (chunk >= -1)
    allowed = ran if job.stop_ns is None else ran | never
    if not (allowed.all() and core.max() < job.cores):
        bad = int(np.argmin(allowed & (core < job.cores)))
        raise BrokenRule(
            f"task {message.first + bad} has start_ns {start[bad]}, end_ns {end[bad]}, core {core[bad]}, "
            f"chunk {chunk[bad]}; allowed: {job.start.start_ns} <= start_ns <= end_ns, "
            f"core 0 to {job.cores - 1}, chunk from 0 on"
        )
    job.records += count
    job.ran += int(np.count_nonzero(ran))
    job.last_ns = max(job.last_ns, int(end.max()))
    job.last_chunk = max(job.last_chunk, int(chunk.max()))


def _outcome(message: Outcome, job: OpenJob) -> None:
    start, end_ns = job.start, message.end_ns
    if message.attempt != start.attempt:
        raise BrokenRule(f"attempt is {message.attempt}; expected: {start.attempt}")
    _at_least("end_ns", end_ns, start.start_ns, "the start,")
    _at_least("end_ns", end_ns, job.not_before_ns, "the promise,")
    if job.until_ns is not None and end_ns >= job.until_ns:
        raise BrokenRule(f"end_ns is {end_ns}; allowed: before until_ns, {job.until_ns}")
    if job.stop_ns is not None and end_ns > job.stop_ns:
        raise BrokenRule(f"end_ns is {end_ns}; allowed: up to stop_ns, {job.stop_ns}")
    if message.stopped and end_ns != job.stop_ns:
        expected = "it was told no stop" if job.stop_ns is None else f"expected: at stop_ns, {job.stop_ns}"
        raise BrokenRule(f"stopped at {end_ns}; {expected}")
    if len(message.finish_ns) != 8 * job.cores:
        held = len(message.finish_ns)
        raise BrokenRule(f"finish_ns has {held} bytes; {job.cores} cores need {8 * job.cores}")
    low, high = extremes(unpack_int64(message.finish_ns))
    if low < start.start_ns or high != end_ns:
        raise BrokenRule(
            f"finish_ns goes from {low} to {high}; allowed: from {start.start_ns} on, and exactly to end_ns, {end_ns}"
        )
    if start.tasks is not None and message.tasks != start.tasks:
        raise BrokenRule(f"tasks is {message.tasks}; the job has {start.tasks}")
    _durations("busy_ns", message.busy_ns, job.cores)
    if message.chunks > message.tasks and not job.loses:
        raise BrokenRule(f"chunks is {message.chunks}; allowed: up to tasks, {message.tasks}")
    if message.ran > message.tasks or (message.ran < message.tasks and not message.stopped):
        allowed = "up to" if message.stopped else "in a job that was not stopped, all"
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


def _no_rule(message: Message, job: OpenJob) -> None:
    """The table says it all."""


#: The rule for each message about an open job.
RULES: Final[dict[type[Message], Callable[[Any, OpenJob], None]]] = {
    Lengths: _lengths,
    Resume: _resume,
    Promise: _promise,
    Suspended: _suspended,
    Records: _records,
    Outcome: _outcome,
    Failed: _no_rule,
    Cancel: _no_rule,
}
