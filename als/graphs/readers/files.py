"""Which files tasks write and read, and how many bytes an edge between two of them therefore carries."""

from __future__ import annotations

import math

from als.graphs.readers.contract import GraphRows
from traces.base.errors import shown


class Files:
    """The files of a workflow. ``rows``: for errors."""

    def __init__(self, rows: GraphRows) -> None:
        self._rows = rows
        # Of each task: file → its size in bytes, if somebody said it.
        self._written: dict[str, dict[str, float | None]] = {}
        self._read: dict[str, dict[str, float | None]] = {}

    def write(self, task: str, file: str, size: float | None) -> None:
        """That a task writes a file."""
        self._written.setdefault(task, {})[file] = size

    def read(self, task: str, file: str, size: float | None) -> None:
        """That a task reads a file."""
        self._read.setdefault(task, {})[file] = size

    def passed(self, producer: str, consumer: str, place: str) -> float:
        """Bytes of all files that the one writes and the other reads, as large as they were written. Raises InputError
        if one of them has a size neither where it is written nor where it is read."""
        written, read = self._written.get(producer, {}), self._read.get(consumer, {})
        fewer, others = (written, read) if len(written) <= len(read) else (read, written)
        sizes = []
        for file in fewer:
            if file not in others:
                continue
            size = written[file] if written[file] is not None else read[file]
            if size is None:
                raise self._rows.error(
                    place, f"edge {shown(producer)} -> {shown(consumer)}: the file {shown(file)} has no size"
                )
            sizes.append(size)
        try:
            return math.fsum(sizes)  # whatever their order
        except OverflowError:
            return math.inf
