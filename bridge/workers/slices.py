"""What happened to a job's tasks and to their data, in as many messages as it takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from bridge.protocol.message_fields import RECORDS_PER_FRAME
from bridge.protocol.messages import Records, Transfers
from bridge.protocol.packing import pack_float64, pack_int32, pack_int64
from traces.compiled import Array

Column: TypeAlias = Array | memoryview


def record_slices(
    job: int, start_ns: Column, end_ns: Column, core: Column, chunk: Column, lengths: Column
) -> Iterator[Records]:
    """The columns of a job's tasks, in task order: int64, int64, int32, int32 and float64."""
    for first in range(0, len(lengths), RECORDS_PER_FRAME):
        part = slice(first, first + RECORDS_PER_FRAME)
        yield Records(
            job=job,
            first=first,
            start_ns=start_ns[part].tobytes(),
            end_ns=end_ns[part].tobytes(),
            core=core[part].tobytes(),
            chunk=chunk[part].tobytes(),
            length_gflop=lengths[part].tobytes(),
        )


def transfer_slices(
    job: int, source: Array, target: Array, n_bytes: Array, sent_ns: Array, arrived_ns: Array
) -> Iterator[Transfers]:
    """The columns of a job's transfers, ascending by source and target."""
    for first in range(0, len(source), RECORDS_PER_FRAME):
        part = slice(first, first + RECORDS_PER_FRAME)
        yield Transfers(
            job=job,
            first=first,
            source=pack_int32(source[part]),
            target=pack_int32(target[part]),
            bytes=pack_float64(n_bytes[part]),
            sent_ns=pack_int64(sent_ns[part]),
            arrived_ns=pack_int64(arrived_ns[part]),
        )
