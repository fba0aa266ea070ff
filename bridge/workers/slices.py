"""What happened to a job's tasks and to their data, in as many messages as it takes."""

from __future__ import annotations

from collections.abc import Iterator

from bridge.protocol.message_fields import RECORDS_PER_FRAME
from bridge.protocol.messages import Records, Transfers
from bridge.protocol.packing import pack_float64, pack_int32, pack_int64
from traces.compiled import Array


def record_slices(
    job: int, start_ns: Array, end_ns: Array, core: Array, chunk: Array, lengths: Array
) -> Iterator[Records]:
    """The columns of a job's tasks, in task order."""
    for first in range(0, len(lengths), RECORDS_PER_FRAME):
        part = slice(first, first + RECORDS_PER_FRAME)
        yield Records(
            job=job,
            first=first,
            start_ns=pack_int64(start_ns[part]),
            end_ns=pack_int64(end_ns[part]),
            core=pack_int32(core[part]),
            chunk=pack_int32(chunk[part]),
            length_gflop=pack_float64(lengths[part]),
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
