"""Measurements of loops in Python: of joblib, multiprocessing, threads, or around calls of compiled functions."""

import itertools
import os
import struct
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from bridge.measure.folder import write_measurement
from bridge.measure.machine import record_head
from bridge.measure.records import CHUNK, HEADER_TYPE, LOOP, MAGIC, OWN, Findings, joined, run_tables
from bridge.runs.directory import fresh_directory
from bridge.scratch import scratch_folder
from traces.base.errors import InputError, whole
from traces.compiled import Array

_MOST = 2**62
_RECORD: Final = struct.Struct("<qqQQIIHHI")  #: a record of ``RECORD_TYPE``
_TRIED: Final = 200  #: chunks whose time is measured

#: (folder of records, process, thread) → file, number of the thread.
_files: dict[tuple[str, int, int], tuple[int, int]] = {}
_numbers = itertools.count(1)


@dataclass(frozen=True)
class MeasuredLoop:
    """A loop whose chunks are measured. It may be sent to other processes on this computer."""

    records: str  # folder of the files of records
    pid: int  # the process that measures
    number: int = 0  # of the loop

    @contextmanager
    def chunk(self, first: int, iterations: int) -> Iterator[None]:
        """Measure a chunk: ``with loop.chunk(first, iterations): …`` in the thread or process that executes it.

        ``first`` is its first iteration, from 0; ``iterations`` is at least 1.
        """
        first = whole("chunk: first", first, 0, _MOST)
        iterations = whole("chunk: iterations", iterations, 1, _MOST)
        begin_ns = time.monotonic_ns()
        yield
        _write(self, CHUNK, begin_ns, first, iterations)


class Measuring(MeasuredLoop):
    """A measurement in progress. Without :meth:`loop` the whole block of ``with`` is one loop."""

    @contextmanager
    def loop(self, name: str, iterations: int = 0) -> Iterator[MeasuredLoop]:
        """Measure one execution of a loop; its chunks belong to the object that this context provides.

        ``name`` is the same each time that the loop is executed; without ``iterations`` they are those of its chunks.
        """
        iterations = whole("loop: iterations", iterations, 0, _MOST)
        loop = MeasuredLoop(self.records, self.pid, next(_numbers))
        with (Path(self.records) / f"{self.pid}.names").open("a", encoding="utf-8") as file:
            file.write(f"loop\t{loop.number}\t{' '.join(name.split())}\n")
        begin_ns = time.monotonic_ns()
        yield loop
        _write(loop, LOOP, begin_ns, 0, iterations)


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
        if not any(records.glob("*.names")):
            _write(measured, LOOP, begin_ns, 0, 0)
        _close(measured)
        found = Findings()
        tables = joined([run_tables(records, begin_ns, time.monotonic_ns(), found)])
        if not len(tables["chunks"]["loop"]):
            raise InputError("measuring: no chunk was measured; allowed: with m.chunk(first, iterations) in the block")
        row = {"run": 0, "threads": 0, "repeat": 0, "begin_ns": 0, "end_ns": end_ns - begin_ns, "quiet_ns": -1}
        tables["runs"] = {name: [value] for name, value in (row | {"schedule": "", "exit_status": 0}).items()}
        event_ns, read_ns = _costs()
        record = record_head("python", sys.argv, read_ns, (event_ns, found.events, found.thread_ns))
        versions = {**record.versions, "python": sys.version.split()[0]}
        remarks = [f"{found.stray} chunks are left out, as they belong to no loop"] if found.stray else []
        write_measurement(target, replace(record, versions=versions, remarks=remarks), tables)


def _write(loop: MeasuredLoop, kind: int, begin_ns: int, a: int, b: int) -> None:
    end_ns = time.monotonic_ns()
    place = loop.records, os.getpid(), threading.get_ident()
    if place not in _files:
        _files[place] = _opened(loop)
    file, thread = _files[place]
    os.write(file, _RECORD.pack(begin_ns, end_ns, a, b, loop.number, OWN, kind, thread, 1))


def _opened(loop: MeasuredLoop) -> tuple[int, int]:
    # A new file, and the number of the thread: the first that no other thread or process has.
    for number in itertools.count():
        path = os.path.join(loop.records, f"{loop.pid}-{number}.records")
        try:
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            continue
        break
    header: Array = np.zeros(1, HEADER_TYPE)
    header["magic"], header["records"], header["pid"], header["number"] = MAGIC, _MOST, loop.pid, number
    os.write(file, header.tobytes())
    return file, number


def _close(loop: MeasuredLoop) -> None:
    # The files of this process; those of others are complete after each record.
    for place in [place for place in _files if place[:2] == (loop.records, os.getpid())]:
        os.close(_files.pop(place)[0])


def _costs() -> tuple[float, float]:
    # Time of a chunk's measurement, and of one read of the clock, ns: the shortest, since others are disturbed.
    with scratch_folder() as folder:
        loop, times = MeasuredLoop(str(folder), os.getpid()), []
        for k in range(_TRIED):
            begin_ns = time.monotonic_ns()
            with loop.chunk(k, 1):
                pass
            middle_ns = time.monotonic_ns()
            times.append((middle_ns - begin_ns, time.monotonic_ns() - middle_ns))
        _close(loop)
    event_ns, read_ns = map(min, zip(*times, strict=True))
    return float(event_ns), float(read_ns)
