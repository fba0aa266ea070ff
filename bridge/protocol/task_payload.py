"""The tasks of a job as messages: for workers that request lengths, and as workers report them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias, TypeVar

import numpy as np

from als.lengths.draw import length_cov
from bridge.protocol import messages as m
from bridge.protocol.packing import pack_float64, pack_int32, unpack_float64, unpack_int32
from bridge.protocol.session import ProtocolError
from traces.compiled import Array

_M = TypeVar("_M", m.Records, m.Transfers)

Column: TypeAlias = Array | memoryview  # a column of reported values, by task or transfer


@dataclass(frozen=True, eq=False)
class TaskPayload:
    """The tasks of a job for a worker that requests their lengths."""

    lengths: Array  # float64 (N,)
    parts: tuple[m.Part, ...] | None = None  # None: one loop
    # source, target: int64 (E,), the edges of its graphs, part by part; tasks counted within their part
    source: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    target: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    bytes: Array = field(default_factory=lambda: np.zeros(0))  # float64 (E,)

    @property
    def total_gflop(self) -> float:
        """Total work, summed in task order like the application engine: another order would give another sum."""
        return float(np.cumsum(self.lengths)[-1])

    @property
    def cov(self) -> float:
        """The coefficient of variation of their lengths."""
        return float(length_cov(self.lengths, 0, len(self.lengths)))

    def messages(self, job: int) -> Iterator[m.Lengths | m.EdgeSlice]:
        """The messages that follow a start."""
        for first in range(0, len(self.lengths), m.LENGTHS_PER_FRAME):
            lengths = pack_float64(self.lengths[first : first + m.LENGTHS_PER_FRAME])
            yield m.Lengths(job=job, first=first, length_gflop=lengths)
        for first in range(0, len(self.source), m.EDGES_PER_FRAME):
            some = slice(first, first + m.EDGES_PER_FRAME)
            ends = {"source": pack_int32(self.source[some]), "target": pack_int32(self.target[some])}
            yield m.EdgeSlice(job=job, first=first, **ends, bytes=pack_float64(self.bytes[some]))

    def are_edges(self, source: Array, target: Array, n_bytes: Array) -> bool:
        """Whether these transfers, with tasks counted within the job, match the edges and their bytes."""
        edges = self._edges
        wanted = source.astype(np.int64) * len(self.lengths) + target
        at = np.searchsorted(edges, wanted)
        if (at == len(edges)).any():
            return False
        return bool((edges[at] == wanted).all() and (self.bytes[at] == n_bytes).all())

    @cached_property
    def _edges(self) -> Array:
        # A number for each pair of tasks of the job with an edge between them; ascending, as parts and edges are.
        parts, n = self.parts or (), len(self.lengths)
        tasks = np.array([part.tasks for part in parts], np.int64)
        first = np.repeat(np.cumsum(tasks) - tasks, np.array([part.edges for part in parts], np.int64))
        return (first + self.source) * n + first + self.target


def check_payload(payload: TaskPayload | None, message: m.Records | m.Transfers) -> None:
    """Check a worker's report against the lengths and edges that were sent to it. Raises ProtocolError if it reports other
    lengths, or transfers along other edges."""
    if payload is None:
        return
    if isinstance(message, m.Records):
        last = message.first + len(message.length_gflop) // 8
        same = pack_float64(payload.lengths[message.first : last]) == message.length_gflop
        what = "records of tasks with other lengths than the bridge sent"
    else:
        pairs = unpack_int32(message.source), unpack_int32(message.target)
        same = payload.are_edges(*pairs, unpack_float64(message.bytes))
        what = "transfers along other edges, or with other bytes, than the bridge sent"
    if not same:
        raise ProtocolError(f"job {message.job}: {what}", blame="application", job=message.job)


def record_slices(
    job: int, start_ns: Column, end_ns: Column, core: Column, chunk: Column, lengths: Column
) -> Iterator[m.Records]:
    """The columns of a job's tasks, in task order: int64, int64, int32, int32 and float64 (GFLOP)."""
    columns = {"start_ns": start_ns, "end_ns": end_ns, "core": core, "chunk": chunk, "length_gflop": lengths}
    return _slices(m.Records, job, len(lengths), columns)


def transfer_slices(
    job: int, source: Array, target: Array, n_bytes: Array, sent_ns: Array, arrived_ns: Array
) -> Iterator[m.Transfers]:
    """The columns of a job's transfers, ascending by source and target."""
    columns: dict[str, Column] = {
        "source": np.asarray(source, "<i4"),
        "target": np.asarray(target, "<i4"),
        "bytes": np.asarray(n_bytes, "<f8"),
        "sent_ns": np.asarray(sent_ns, "<i8"),
        "arrived_ns": np.asarray(arrived_ns, "<i8"),
    }
    return _slices(m.Transfers, job, len(source), columns)


def _slices(kind: type[_M], job: int, size: int, columns: Mapping[str, Column]) -> Iterator[_M]:
    # Messages of a kind that together have columns of this size.
    for first in range(0, size, m.RECORDS_PER_FRAME):
        part = slice(first, first + m.RECORDS_PER_FRAME)
        yield kind(job=job, first=first, **{name: column[part].tobytes() for name, column in columns.items()})
