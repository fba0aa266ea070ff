"""Measurements of loops in Python: of joblib, multiprocessing, threads, or around calls of compiled functions."""

import itertools
import mmap
import os
import struct
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from bridge.measure.folder import MeasurementRecord, write_measurement
from bridge.measure.machine import clock, machine, own_version
from bridge.measure.records import CHUNK, HEADER_TYPE, LOOP, MAGIC, OWN, joined, run_tables
from bridge.runs.directory import fresh_directory
from bridge.scratch import scratch_folder
from traces.base.errors import InputError, whole
from traces.compiled import Array

_MOST = 2**62
_TRIED, _BATCH = 50, 20  #: batches of chunks, and of reads of the clock, whose time is measured; size of a batch

_RECORD: Final = struct.Struct("<qqQQIIHHI")  #: a record of ``RECORD_TYPE``
_BLOCK: Final = 16_384 * _RECORD.size  #: bytes by which a file grows: a multiple of pages

#: (folder of records, process, thread) → file.
_files: "dict[tuple[str, int, int], _File]" = {}


@dataclass(frozen=True)
class MeasuredLoop:
    """A loop whose chunks are measured. It may be sent to other processes on this computer."""

    records: str  # folder of the files of records
    pid: int  # the process that measures
    number: int = 0  # of the loop

    def chunk(self, first: int, iterations: int) -> "MeasuredChunk":
        """Measure a chunk: ``with loop.chunk(first, iterations): …`` in the thread or process that executes it.

        Parameters
        ----------
        first : int
            Its first iteration, from 0.
        iterations : int
            Its number of iterations, at least 1.
        """
        first = whole("chunk: first", first, 0, _MOST)
        return MeasuredChunk(self, first, whole("chunk: iterations", iterations, 1, _MOST))


class MeasuredChunk:
    """The context of one chunk, which is recorded when it ends."""

    def __init__(self, loop: MeasuredLoop, first: int, iterations: int) -> None:
        self._loop, self._first, self._iterations = loop, first, iterations
        self._begin_ns = 0

    def __enter__(self) -> None:
        self._begin_ns = time.monotonic_ns()

    def __exit__(self, *error: object) -> None:
        end_ns = time.monotonic_ns()
        _write(self._loop, CHUNK, (self._begin_ns, end_ns), self._first, self._iterations)


class Measuring(MeasuredLoop):
    """A measurement in progress. Without :meth:`loop` the whole block of ``with`` is one loop."""

    @contextmanager
    def loop(self, name: str, iterations: int = 0) -> Iterator[MeasuredLoop]:
        """Measure one execution of a loop; chunks belong to the object that this context provides.

        Parameters
        ----------
        name : str
            The loop's name, the same each time that it is executed.
        iterations : int
            Its number of iterations; 0: those of its chunks.
        """
        loop = MeasuredLoop(self.records, self.pid, next(_numbers))
        _name(loop, name)
        begin_ns = time.monotonic_ns()
        yield loop
        times = begin_ns, time.monotonic_ns()
        _write(loop, LOOP, times, 0, whole("loop: iterations", iterations, 0, _MOST))


_numbers = itertools.count(1)


@contextmanager
def measuring(folder: str | os.PathLike[str], *, force: bool = False) -> Iterator[Measuring]:
    """Measure loops of a Python program, and write the folder of the measurement at the end.

    Parameters
    ----------
    folder : path
        The folder; it must not exist.
    force : bool
        Replace an existing measurement.

    Yields
    ------
    Measuring
        Its method ``chunk`` measures a chunk, also in other threads and processes; ``loop`` distinguishes several loops.

    Raises
    ------
    InputError
        If the folder cannot be written, or no chunk was measured. Nothing is written if the block raises an exception.

    Examples
    --------
    >>> with measuring("measured") as m:  # doctest: +SKIP
    ...     Parallel(n_jobs=2)(delayed(work)(m, first) for first in range(0, 1000, 10))
    """
    with fresh_directory(Path(folder), force) as target, scratch_folder() as records:
        measured = Measuring(str(records), os.getpid())
        begin_ns = time.monotonic_ns()
        yield measured
        end_ns = time.monotonic_ns()
        _close(measured)
        if not any(records.glob("*.names")):
            _name(measured, "loop")
            _write(measured, LOOP, (begin_ns, end_ns), 0, 0)
            _close(measured)
        run = run_tables(records, begin_ns, end_ns)
        if not len(run.tables["chunks"]["loop"]):
            raise InputError("measuring: no chunk was measured; allowed: with m.chunk(first, iterations) in the block")
        event_ns, read_ns = _costs()
        tables, _ = joined([run])
        row = {"run": 0, "threads": 0, "repeat": 0, "begin_ns": 0, "end_ns": end_ns - begin_ns, "quiet_ns": -1}
        tables["runs"] = {name: [value] for name, value in (row | {"schedule": "", "exit_status": 0}).items()}
        events = run.findings.events
        share = min(1.0, event_ns * events / run.findings.thread_ns) if run.findings.thread_ns else 0.0
        record = MeasurementRecord(
            "python",
            sys.argv,
            machine(),
            own_version() | {"python": sys.version.partition(" ")[0]},
            clock(read_ns),
            {"event_ns": round(event_ns, 1), "events": events, "share": round(share, 6)},
            remarks=["chunks of no loop are left out"] if run.findings.lost else [],
        )
        write_measurement(target, record, tables)


def _name(loop: MeasuredLoop, name: str) -> None:
    line = f"loop\t{loop.number}\t{' '.join(name.split())}\n"
    with (Path(loop.records) / f"{loop.pid}.names").open("a", encoding="utf-8") as file:
        file.write(line)


def _write(loop: MeasuredLoop, kind: int, times: tuple[int, int], a: int, b: int) -> None:
    place = loop.records, os.getpid(), threading.get_ident()
    file = _files.get(place)
    if file is None:
        file = _files[place] = _File(loop)
    file.add(*times, a, b, loop.number, OWN, kind, file.thread, 1)


class _File:
    """A thread's file of records, which is mapped into memory, so that it survives the end of the process."""

    def __init__(self, loop: MeasuredLoop) -> None:
        self.thread = 0  # number of the thread: the first that no other thread or process has
        self._file = -1
        while self._file < 0:
            path = os.path.join(loop.records, f"{loop.pid}-{self.thread}.records")
            try:
                self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            except FileExistsError:
                self.thread += 1
        self._size = 0
        self._grow()
        header: Array = np.zeros(1, HEADER_TYPE)
        header["magic"], header["records"], header["pid"], header["number"] = MAGIC, _MOST, loop.pid, self.thread
        self._block[: _RECORD.size] = header.tobytes()
        self._at = _RECORD.size

    def _grow(self) -> None:
        # Space is reserved first, since a write to a full disk would end the process.
        os.posix_fallocate(self._file, self._size, _BLOCK)
        self._block = mmap.mmap(self._file, _BLOCK, offset=self._size)
        self._size += _BLOCK
        self._at = 0

    def add(self, *values: int) -> None:
        """Add a record."""
        if self._at == _BLOCK:
            self._grow()
        _RECORD.pack_into(self._block, self._at, *values)
        self._at += _RECORD.size

    def close(self) -> None:
        """Close the file."""
        self._block.close()
        os.close(self._file)


def _close(loop: MeasuredLoop) -> None:
    # The files of this process; those of others are complete after each record.
    for place in [place for place in _files if place[:2] == (loop.records, os.getpid())]:
        _files.pop(place).close()


def _costs() -> tuple[float, float]:
    # Time of a chunk's measurement, and of one read of the clock, ns; the shortest, as others are disturbed.
    event_ns = read_ns = float("inf")
    with scratch_folder() as folder:
        loop = MeasuredLoop(str(folder), os.getpid())
        for _ in range(_TRIED):
            begin_ns = time.monotonic_ns()
            for k in range(_BATCH):
                with loop.chunk(k, 1):
                    pass
            middle_ns = time.monotonic_ns()
            for _ in range(_BATCH):
                time.monotonic_ns()
            end_ns = time.monotonic_ns()
            event_ns, read_ns = min(event_ns, middle_ns - begin_ns), min(read_ns, end_ns - middle_ns)
        _close(loop)
    return event_ns / _BATCH, read_ns / _BATCH
