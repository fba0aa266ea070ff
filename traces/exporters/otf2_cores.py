"""The loop that writes what every core did, sent and received: one event writer after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from traces.compiled import Array, CFunction, compiled, types
from traces.exporters.otf2_kernels import CHUNK, COMMUNICATOR, NO_WRITER, TASK
from traces.exporters.otf2_library import CALLS

__all__ = ["write_cores"]

# Messages have tags below this, and no more bytes than that.
_TAGS = 2**31
_MOST_BYTES = 2.0**62

# Earlier and later than any event.
_EARLIEST, _NEVER = np.iinfo(np.int64).min, np.iinfo(np.int64).max

_int32: Any = types.int32
_int64: Any = types.int64
_column32 = types.Column(types.int32, 1)
_column64 = types.Column(types.int64, 1)
_column_float = types.Column(types.float64, 1)


@compiled(inner=True)
def _write_messages(
    writer: int,
    sends_before: int,
    receives_before: int,
    sends: Array,
    next_send: int,
    receives: Array,
    next_receive: int,
    source_core: Array,
    target_core: Array,
    size: Array,
    sent: Array,
    arrived: Array,
    send: CFunction,
    receive: CFunction,
) -> tuple[int, int, int, int]:
    """Write what a core sent before ``sends_before`` and received before ``receives_before``, which is no earlier.

    ``sends`` and ``receives`` are the transfers of that core in the order of time, ``next_send`` and ``next_receive`` the
    first of them that are not written yet. Returned are 0 or an error code, the next of each, and when the sooner of them is.
    """
    while True:
        sent_ns = sent[sends[next_send]] if next_send < len(sends) else _NEVER
        arrived_ns = arrived[receives[next_receive]] if next_receive < len(receives) else _NEVER
        if sent_ns < sends_before and sent_ns <= arrived_ns:
            row = sends[next_send]
            n_bytes = int(np.rint(min(size[row], _MOST_BYTES)))
            code: int = send(writer, 0, sent_ns, target_core[row], COMMUNICATOR, row % _TAGS, n_bytes)
            next_send += 1
        elif arrived_ns < receives_before:
            row = receives[next_receive]
            n_bytes = int(np.rint(min(size[row], _MOST_BYTES)))
            code = receive(writer, 0, arrived_ns, source_core[row], COMMUNICATOR, row % _TAGS, n_bytes)
            next_receive += 1
        else:
            return 0, next_send, next_receive, min(sent_ns, arrived_ns)
        if code != 0:
            return code, next_send, next_receive, 0


@compiled(
    _int32(
        _int64,
        _int64,
        *[_column64, _column32, _column32],
        *[_column64, _column64],
        *[_column64, _column64, _column64, _column32],
        *[_column64, _column64, _int64],
        *[_column64, _column64, _column64, _column64],
        *[_column32, _column32, _column_float, _column64, _column64],
        CALLS["Archive_GetEvtWriter"],
        CALLS["Archive_CloseEvtWriter"],
        CALLS["AttributeList_AddUint64"],
        CALLS["EvtWriter_Enter"],
        CALLS["EvtWriter_Leave"],
        CALLS["EvtWriter_MpiSend"],
        CALLS["EvtWriter_MpiRecv"],
    )
)
def write_cores(
    archive: int,
    attributes: int,
    bar_first: Array,
    bar_job: Array,
    bar_task: Array,
    job_start: Array,
    job_end: Array,
    rows_first: Array,
    task_start: Array,
    task_end: Array,
    task_chunk: Array,
    wait_bar: Array,
    wait_from: Array,
    wait_region: int,
    send_first: Array,
    send_row: Array,
    receive_first: Array,
    receive_row: Array,
    source_core: Array,
    target_core: Array,
    size: Array,
    sent: Array,
    arrived: Array,
    get_writer: CFunction,
    close_writer: CFunction,
    add_uint64: CFunction,
    enter: CFunction,
    leave: CFunction,
    send: CFunction,
    receive: CFunction,
) -> int:
    """Write every core's Enter and Leave, and what it sent and received; the core's number is its location and its rank, the
    job's row its region.

    ``attributes`` is an empty attribute list, which OTF2 empties again at every event. The waits are
    ``traces.waits.bar_waits``'s, the messages ``traces.exporters.core_messages.CoreMessages``'s. At one instant a core first
    leaves what it did, then sends, then receives, then enters what it does next; what ends a wait is received within it.
    """
    wait = 0
    code: int = 0
    for core in range(len(bar_first) - 1):
        writer = get_writer(archive, core)
        if writer == 0:
            return NO_WRITER
        sends = send_row[send_first[core] : send_first[core + 1]]
        receives = receive_row[receive_first[core] : receive_first[core + 1]]
        messages = source_core, target_core, size, sent, arrived, send, receive
        s, r = 0, 0
        # Most bars have no message before them, and most traces none at all; to ask costs as much as to write an event, so
        # that is done only where the next one is due.
        code, s, r, due_ns = _write_messages(writer, _EARLIEST, _EARLIEST, sends, s, receives, r, *messages)
        for bar in range(bar_first[core], bar_first[core + 1]):
            job = bar_job[bar]
            task = bar_task[bar]
            if task >= 0:
                row = rows_first[job] + task
                start, end = task_start[row], task_end[row]
            else:
                start, end = job_start[job], job_end[job]
            if wait < len(wait_bar) and wait_bar[wait] == bar:
                since = wait_from[wait]
                wait += 1
                if due_ns < since + 1:
                    code, s, r, due_ns = _write_messages(writer, since + 1, since + 1, sends, s, receives, r, *messages)
                    if code != 0:
                        return code
                code = enter(writer, 0, since, wait_region)
                if code != 0:
                    return code
                if due_ns < start + 1:
                    code, s, r, due_ns = _write_messages(writer, start, start + 1, sends, s, receives, r, *messages)
                    if code != 0:
                        return code
                code = leave(writer, 0, start, wait_region)
                if code != 0:
                    return code
            # What a task of no duration makes is sent behind it.
            if due_ns < start + 1:
                code, s, r, due_ns = _write_messages(
                    writer, min(start + 1, end), start + 1, sends, s, receives, r, *messages
                )
                if code != 0:
                    return code
            if task >= 0:
                code = add_uint64(attributes, TASK, task)
                if code != 0:
                    return code
                code = add_uint64(attributes, CHUNK, task_chunk[row])
                if code != 0:
                    return code
                code = enter(writer, attributes, start, job)
            else:
                code = enter(writer, 0, start, job)
            if code != 0:
                return code
            if due_ns < end:
                code, s, r, due_ns = _write_messages(writer, end, end, sends, s, receives, r, *messages)
                if code != 0:
                    return code
            code = leave(writer, 0, end, job)
            if code != 0:
                return code
        code, s, r, due_ns = _write_messages(writer, _NEVER, _NEVER, sends, s, receives, r, *messages)
        if code != 0:
            return code
        code = close_writer(archive, writer)
        if code != 0:
            return code
    return 0
