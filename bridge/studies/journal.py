"""The journal of a study: finished work, one line each, appended and never rewritten.

A line is JSON. The first states the format and the program that wrote it; a line ``columns`` lists the metrics of the rows that
refer to it, in order, and whether these are all metrics of their runs; every other line is a cell and seed that is finished or
has failed. Only the last line can be incomplete, after a kill or on a full disk; its work is done again.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from io import FileIO
from pathlib import Path
from typing import Any

from bridge.encoding import Struct, field, json
from bridge.options.declared import OUT
from bridge.studies.unit import NoRoomError
from traces.base.errors import InputError, shown, shown_name
from traces.base.given_file import parsing
from traces.base.written_file import NO_ROOM

JOURNAL = "journal.jsonl"  #: name of the file in the folder of a study
FORMAT = 1  #: version of the format that this module reads and writes
_ASKING_S = 0.05  #: time for which a process that only checks whether a study is under way may hold the lock, s


@dataclass(frozen=True)
class Entry:
    """The outcome of a cell and seed."""

    key: str  # of the cell and its inputs
    seed: int
    metrics: dict[str, Any] | None  # by name; None if it failed
    every: bool  # whether these are all metrics of the run
    error: str  # why it failed; empty if it did not
    jobs: int  # number of simulated jobs
    # wall_s, simulation_s: total time including reading and writing, and time of the simulation alone
    wall_s: float
    simulation_s: float
    worker: str  # the process that ran it


class _Line(Struct, omit_defaults=True):
    # Short names, as there may be millions of them.
    k: str = ""
    s: int = 0
    c: int = -1
    r: list[Any] = field(default_factory=list)
    e: str = ""
    n: int = 0
    w: float = 0.0
    t: float = 0.0
    by: str = ""
    columns: list[str] | None = None
    every: bool = False
    format: int = 0
    twolevel: str = ""


def is_journal(folder: Path) -> bool:
    """Whether the journal in a folder begins like those of ``twolevel``, in any format and version; or is empty."""
    with open(folder / JOURNAL, "rb") as file:
        first = file.readline(1000)
    try:
        with parsing("JSON", ""):
            line = json.decode(first, type=_Line) if first else None
    except InputError:
        return False
    return line is None or (line.format > 0 and line.twolevel != "")


def at_work(folder: Path) -> bool:
    """Whether a process has the journal in a folder open for appending; also if the disk does not support locks."""
    try:
        with open(folder / JOURNAL, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def _lock(file: FileIO) -> None:
    how = fcntl.LOCK_EX | fcntl.LOCK_NB
    try:
        fcntl.flock(file, how)
    except BlockingIOError:
        time.sleep(_ASKING_S)
        fcntl.flock(file, how)


class Journal:
    """The journal of one folder, which one process at a time appends to; ``again`` drops its contents. Raises InputError if
    another process has it open, or it has another format or version. :meth:`add` raises NoRoomError if the disk is full."""

    def __init__(self, folder: Path, *, again: bool = False) -> None:
        self._path, self._again = folder / JOURNAL, again
        self._file: FileIO | None = None
        self._columns: list[tuple[tuple[str, ...], bool]] = []
        self._end = 0
        #: Begin of the line and columns of each finished (key, seed); begin of the line of each failed one.
        self.finished: dict[tuple[str, int], tuple[int, int]] = {}
        self.failed: dict[tuple[str, int], int] = {}

    @classmethod
    def as_it_stands(cls, folder: Path) -> Journal:
        """The content so far, even while another process appends. Raises InputError if it is missing, or of another version."""
        journal = cls(folder)
        try:
            with open(journal._path, "rb") as lines:
                journal._read_lines(lines)
        except OSError as error:
            raise InputError(f"{journal._path}: cannot be read: {error.strerror}") from None
        return journal

    @property
    def keys(self) -> set[str]:
        """The keys of all cells that are finished or have failed for some seed."""
        return {key for key, _ in (*self.finished, *self.failed)}

    def __enter__(self) -> Journal:
        try:
            self._file = open(self._path, "a+b", buffering=0)  # closed by __exit__
        except OSError as error:
            raise InputError(f"{self._path}: cannot be written: {error.strerror}") from None
        try:
            _lock(self._file)
        except BlockingIOError:
            self._file.close()
            raise InputError(f"{self._path.parent}: another twolevel is running this study") from None
        except OSError as error:
            self._file.close()
            why = f"cannot be locked: {error.strerror}"
            raise InputError(f"{self._path}: {why}; choose a folder on another disk") from None
        try:
            if self._again:
                self._file.truncate(0)
            with open(self._path, "rb") as lines:
                self._read_lines(lines)
            self._file.truncate(self._end)  # remove an incomplete last line
            if self._end == 0:
                self._append(_Line(format=FORMAT, twolevel=version("twolevel")))
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        assert self._file is not None
        with contextlib.suppress(OSError):
            os.fsync(self._file.fileno())
        self._file.close()

    def _read_lines(self, lines: Iterable[bytes]) -> None:
        decode = json.Decoder(_Line).decode
        at = 0
        for number, text in enumerate(lines, 1):
            if not text.endswith(b"\n"):
                break
            try:
                with parsing("JSON", ""):
                    line = decode(text)
            except InputError:
                raise self._damaged(number, text) from None
            if at == 0:
                self._check(line)
            elif line.columns is not None:
                self._columns.append((tuple(line.columns), line.every))
            elif line.e:
                self.failed[line.k, line.s] = at
            elif not 0 <= line.c < len(self._columns) or len(line.r) != len(self._columns[line.c][0]):
                raise self._damaged(number, text)
            else:
                self.finished[line.k, line.s] = at, line.c
                self.failed.pop((line.k, line.s), None)
            at += len(text)
        self._end = at

    def _damaged(self, number: int, text: bytes) -> InputError:
        what = f"{self._path}, line {number}: {shown(text[:40])} is not a line of a journal"
        return InputError(f"{what}; move the file away to begin again, or repair it: nothing was changed")

    def _check(self, line: _Line) -> None:
        ours = version("twolevel")
        if line.format != FORMAT:
            what = f"is a journal of format {shown(line.format)}; this twolevel reads format {FORMAT}"
            raise InputError(f"{self._path}: {what}: use the version that wrote it, or another {OUT}")
        if line.twolevel != ours:
            what = f"was written by twolevel {shown_name(line.twolevel)}; this is {ours}, whose results may differ"
            again = f"continue with that version, or begin again with another {OUT}"
            raise InputError(f"{self._path}: {what}: {again}")

    def _append(self, line: _Line) -> int:
        assert self._file is not None
        text = json.encode(line) + b"\n"
        at = self._end
        try:
            left = memoryview(text)
            while left:
                left = left[self._file.write(left) or 0 :]
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.truncate(at)
            if error.errno in NO_ROOM:
                raise NoRoomError(f"{self._path}: {error.strerror}; finished cells are kept") from None
            raise
        self._end = at + len(text)
        return at

    def add(self, entry: Entry) -> None:
        """Append the outcome of a cell and seed; after the return it is safe against a kill."""
        line = _Line(k=entry.key, s=entry.seed, e=entry.error, n=entry.jobs, w=entry.wall_s, t=entry.simulation_s)
        line.by = entry.worker
        if entry.metrics is not None:
            columns = (tuple(entry.metrics), entry.every)
            if columns not in self._columns:
                self._append(_Line(columns=list(columns[0]), every=entry.every))
                self._columns.append(columns)
            line.c, line.r = self._columns.index(columns), list(entry.metrics.values())
        at = self._append(line)
        key = (entry.key, entry.seed)
        if entry.error:
            self.failed[key] = at
        else:
            self.finished[key] = at, line.c
            self.failed.pop(key, None)

    def has(self, key: str, seed: int, metrics: tuple[str, ...] | None) -> bool:
        """Whether a cell and seed is finished, with these metrics; None is all."""
        if (key, seed) not in self.finished:
            return False
        names, every = self._columns[self.finished[key, seed][1]]
        return every or (metrics is not None and set(metrics) <= set(names))

    def entries(
        self, keys: Iterator[tuple[str, int]], metrics: tuple[str, ...] | None = None
    ) -> Iterator[Entry | None]:
        """The outcomes of some cells and seeds with some metrics, None being all; None if not run yet. A cell that failed
        with these metrics has failed, even if it is finished with others."""
        decode = json.Decoder(_Line).decode
        with open(self._path, "rb") as file:
            for key in keys:
                if not self.has(*key, metrics) and key in self.failed:
                    file.seek(self.failed[key])
                elif key in self.finished:
                    file.seek(self.finished[key][0])
                else:
                    yield None
                    continue
                line = decode(file.readline())
                found, every = None, False
                if not line.e:
                    names, every = self._columns[line.c]
                    found = dict(zip(names, line.r, strict=True))
                yield Entry(line.k, line.s, found, every, line.e, line.n, line.w, line.t, line.by)
