"""The loop that writes the tasks, sends and receives of every core, one event writer after the other."""

from __future__ import annotations

import numpy as np

from traces.checks.core_bars import CoreBars, TaskTimes
from traces.compiled import CFunction, State, compiled
from traces.exporters.otf2.kernels import CHUNK, COMMUNICATOR, NO_WRITER, TASK
from traces.exporters.otf2.library import AddUint64, CloseEvtWriter, Enter, GetEvtWriter, Leave, MpiRecv, MpiSend
from traces.exporters.otf2.messages import CoreMessages
from traces.holdings import Holdings
from traces.kernels.signatures import Ints

# Upper limits of the tags and bytes of messages.
_TAGS = 2**31
_MOST_BYTES = 2.0**62

# Earlier and later than any event.
_EARLIEST, _NEVER = np.iinfo(np.int64).min, np.iinfo(np.int64).max

_BLOCK = 1024  #: number of bars whose times are fetched at once


class BarTimes(State):
    """The times and chunks of the next bars of a core: work space.

    Tasks are in memory by job, so each of a core's tasks is a cache miss. Fetched together, the misses overlap; fetched
    between calls of OTF2, each has to be waited for.
    """

    start: Ints
    end: Ints
    chunk: Ints

    @classmethod
    def empty(cls) -> BarTimes:
        """Return an empty one."""
        return cls(*(np.zeros(_BLOCK, np.int64) for _ in range(3)))


class CoreEvents(State):
    """The tasks, sends and receives of cores; ``number``: the cores that have a location, in ascending order; ``wait_bar``
    and ``wait_from`` are from ``traces.waits.bar_waits``; ``block`` is work space."""

    number: Ints
    bars: CoreBars
    jobs: Holdings
    tasks: TaskTimes
    messages: CoreMessages
    wait_bar: Ints
    wait_from: Ints
    block: BarTimes


@compiled(inner=True)
def _write_messages(
    writer: int,
    sends_before: int,
    receives_before: int,
    next_send: int,
    send_stop: int,
    next_receive: int,
    receive_stop: int,
    messages: CoreMessages,
    send: CFunction,
    receive: CFunction,
) -> tuple[int, int, int, int]:
    """Write a core's sends before ``sends_before`` and receives before ``receives_before``, which is no earlier.

    ``next_send`` and ``next_receive`` are the first rows of ``send_row`` and ``receive_row`` not written yet; the core's rows
    end at ``send_stop`` and ``receive_stop``. Returns 0 or an error code, the next row of each, and the time of the earlier
    one.
    """
    while True:
        sent_ns = messages.sent[messages.send_row[next_send]] if next_send < send_stop else _NEVER
        arrived_ns = messages.arrived[messages.receive_row[next_receive]] if next_receive < receive_stop else _NEVER
        if sent_ns < sends_before and sent_ns <= arrived_ns:
            row = messages.send_row[next_send]
            n_bytes = int(np.rint(min(messages.size[row], _MOST_BYTES)))
            code: int = send(writer, 0, sent_ns, messages.target_core[row], COMMUNICATOR, row % _TAGS, n_bytes)
            next_send += 1
        elif arrived_ns < receives_before:
            row = messages.receive_row[next_receive]
            n_bytes = int(np.rint(min(messages.size[row], _MOST_BYTES)))
            code = receive(writer, 0, arrived_ns, messages.source_core[row], COMMUNICATOR, row % _TAGS, n_bytes)
            next_receive += 1
        else:
            return 0, next_send, next_receive, min(sent_ns, arrived_ns)
        if code != 0:
            return code, next_send, next_receive, 0


@compiled(inner=True)
def _fetch_bars(first: int, stop: int, bars: CoreBars, jobs: Holdings, tasks: TaskTimes, block: BarTimes) -> None:
    for bar in range(first, stop):
        job, task = bars.job[bar], bars.task[bar]
        if task >= 0:
            row = tasks.first[job] + task
            block.start[bar - first] = tasks.start[row]
            block.end[bar - first] = tasks.end[row]
            block.chunk[bar - first] = tasks.chunk[row]
        else:
            block.start[bar - first] = jobs.start_ns[job]
            block.end[bar - first] = jobs.end_ns[job]


@compiled(merged=True)
def _enter_task(
    writer: int, attributes: int, start: int, job: int, task: int, chunk: int, add_uint64: CFunction, enter: CFunction
) -> int:
    """Write the Enter of a task with its attributes; return 0 or an error code."""
    code: int = add_uint64(attributes, TASK, task)
    if code == 0:
        code = add_uint64(attributes, CHUNK, chunk)
    if code == 0:
        code = enter(writer, attributes, start, job)
    return code


@compiled()
def write_cores(
    archive: int,
    attributes: int,
    run: CoreEvents,
    get_writer: GetEvtWriter,
    close_writer: CloseEvtWriter,
    add_uint64: AddUint64,
    enter: Enter,
    leave: Leave,
    send: MpiSend,
    receive: MpiRecv,
) -> int:
    """Write the Enter and Leave of the cores that have a location, and their sends and receives.

    The core's number is its location, the job's row its region; the region after the last job's is for waiting.

    ``attributes`` is an attribute list, which OTF2 empties at every event. At one instant a core first leaves its task, then
    sends, then receives, then enters its next task; the message that ends a wait is received within the wait.
    """
    # Local variables: the compiler must assume that OTF2's functions change any state.
    messages, wait_bar, wait_from, waiting = run.messages, run.wait_bar, run.wait_from, len(run.jobs.start_ns)
    bar_first, bar_job, bar_task = run.bars.first, run.bars.job, run.bars.task
    starts, ends, chunks = run.block.start, run.block.end, run.block.chunk
    wait = 0
    code: int = 0
    number = run.number
    for place in range(len(number)):
        core = number[place]
        writer = get_writer(archive, core)
        if writer == 0:
            return NO_WRITER
        s, s_stop = messages.send_first[core], messages.send_first[core + 1]
        r, r_stop = messages.receive_first[core], messages.receive_first[core + 1]
        how = messages, send, receive
        # Most bars have no message before them, and most traces have no messages; checking costs as much as writing an event,
        # so it is done only when the next message is due.
        code, s, r, due_ns = _write_messages(writer, _EARLIEST, _EARLIEST, s, s_stop, r, r_stop, *how)
        for bar in range(bar_first[core], bar_first[core + 1]):
            at = (bar - bar_first[core]) % _BLOCK
            if at == 0:
                _fetch_bars(bar, min(bar + _BLOCK, bar_first[core + 1]), run.bars, run.jobs, run.tasks, run.block)
            job, task, start, end = bar_job[bar], bar_task[bar], starts[at], ends[at]
            if wait < len(wait_bar) and wait_bar[wait] == bar:
                since = wait_from[wait]
                wait += 1
                if due_ns < since + 1:
                    code, s, r, due_ns = _write_messages(writer, since + 1, since + 1, s, s_stop, r, r_stop, *how)
                    if code != 0:
                        return code
                code = enter(writer, 0, since, waiting)
                if code != 0:
                    return code
                if due_ns < start + 1:
                    code, s, r, due_ns = _write_messages(writer, start, start + 1, s, s_stop, r, r_stop, *how)
                    if code != 0:
                        return code
                code = leave(writer, 0, start, waiting)
                if code != 0:
                    return code
            # The data of a task of duration 0 are sent after it.
            if due_ns < start + 1:
                upto = min(start + 1, end)
                code, s, r, due_ns = _write_messages(writer, upto, start + 1, s, s_stop, r, r_stop, *how)
                if code != 0:
                    return code
            if task >= 0:
                code = _enter_task(writer, attributes, start, job, task, chunks[at], add_uint64, enter)
            else:
                code = enter(writer, 0, start, job)
            if code != 0:
                return code
            if due_ns < end:
                code, s, r, due_ns = _write_messages(writer, end, end, s, s_stop, r, r_stop, *how)
                if code != 0:
                    return code
            code = leave(writer, 0, end, job)
            if code != 0:
                return code
        code, s, r, due_ns = _write_messages(writer, _NEVER, _NEVER, s, s_stop, r, r_stop, *how)
        if code == 0:
            code = close_writer(archive, writer)
        if code != 0:
            return code
    return 0
