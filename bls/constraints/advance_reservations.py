"""Advance reservations and maintenance: known windows of time on some cores, of a TOML file (docs/reference/inputs.md).

The jobs of a reservation run only inside it, and no other jobs run on its cores; hosts in maintenance are down.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bls.machine.partitions import existing, interval_columns, printable_name
from bls.machine.platform import Platform, from_keys
from bls.workloads.job_words import JobWords
from bls.workloads.workload import Workload
from traces.base.columns import Columns
from traces.base.errors import InputError, one_of, shown
from traces.base.given_file import check_keys, list_of_tables, parse_toml, read_text
from traces.base.time import format_ns, given_instant_ns
from traces.compiled import Array
from traces.intervals import OPEN, intervals_text, parse_intervals

KINDS = ("maintenance", "reservation")  #: kinds of windows

_NUMBERS = re.compile(r"[0-9,\s-]*")

_ALWAYS = ("name", "begin", "end")
_KEYS = {"maintenance": (*_ALWAYS, "hosts"), "reservation": (*_ALWAYS, "cores", "hosts", "jobs")}


@dataclass(frozen=True)
class Window:
    """One window. Raises InputError if a value is not allowed; the message begins with its name."""

    kind: str  # {"maintenance", "reservation"}
    name: str  # 1 to 100 printable characters
    begin_ns: int  # instant from 0
    end_ns: int  # instant after it
    hosts: str = ""  # host numbers, as ``0-3``
    cores: str = ""  # core numbers; a reservation has either hosts or cores, a maintenance has hosts
    jobs: str = ""  # job numbers of a reservation, as ``17 20-25``

    def __post_init__(self) -> None:
        printable_name("name", self.name)
        if self.kind not in KINDS:
            raise one_of("kind of window", self.kind, KINDS, "kind")
        for key in ("hosts", "cores", "jobs"):
            if not isinstance(getattr(self, key), str):
                raise InputError(f"{key}: {shown(getattr(self, key))} is not a text; allowed: e.g. '0-3 8'")
            if key != "jobs" or _NUMBERS.fullmatch(self.jobs):  # names of jobs are looked up in the workload
                object.__setattr__(self, key, intervals_text(parse_intervals(getattr(self, key), key)))
        if not 0 <= self.begin_ns < self.end_ns:
            raise InputError(f"end: {format_ns(self.end_ns)} is not after begin, {format_ns(self.begin_ns)}")
        if self.kind == "maintenance" and (self.cores or self.jobs or not self.hosts):
            raise InputError("hosts: a maintenance has hosts, and neither cores nor jobs")
        if self.kind == "reservation" and bool(self.cores) == bool(self.hosts):
            raise InputError("cores: a reservation has either cores or hosts")
        if self.kind == "reservation" and not self.jobs:
            raise InputError("jobs: missing; a reservation is for some jobs")

    def __str__(self) -> str:
        return f"{self.kind} {shown(self.name)}"


@dataclass(frozen=True, eq=False)
class Windows(Columns):
    """The windows on a platform as arrays, by (begin, kind in the order of ``KINDS``, place). Arrays are read-only."""

    windows: tuple[Window, ...]  # in the given order
    begin_ns: Array  # (W,)
    end_ns: Array  # (W,)
    is_reservation: Array  # (W,): 1 for a reservation, 0 for a maintenance
    core_first: Array  # (W + 1,): window ``w`` has the intervals ``core_first[w]:core_first[w + 1]``
    core_lo: Array  # int64: first cores of intervals, ascending and disjoint within a window
    core_hi: Array  # int64: one past their last cores
    # ndarray of int64: the same for the hosts of a maintenance; a reservation has none here
    host_first: Array
    host_lo: Array
    host_hi: Array

    def __len__(self) -> int:
        return len(self.windows)

    def of_jobs(self, workload: Workload) -> Array:
        """The window in which each job runs: int64, shape (n,), -1 for a job without a reservation. Raises InputError if a job
        of a reservation is not in the workload, is in two reservations, or cannot run within its reservation."""
        column = np.full(len(workload), -1, np.int64)
        by_number = np.argsort(workload.job_id)
        numbers = workload.job_id[by_number]
        words = JobWords(workload.numbers_of_ids)
        for w, window in enumerate(self.windows):
            width = int(np.sum((self.core_hi - self.core_lo)[self.core_first[w] : self.core_first[w + 1]]))
            for lo, hi in words.intervals(window.jobs, f"{window}: jobs") if window.jobs else ():
                first, stop = np.searchsorted(numbers, [lo, hi]).tolist()
                if hi < OPEN and stop - first < hi - lo:
                    here = set(numbers[first:stop].tolist())
                    lost = next(job for job in range(lo, hi) if job not in here)
                    raise InputError(f"{window}: job {lost} is not in {workload.source}, or not simulated")
                for row in by_number[first:stop].tolist():
                    if column[row] >= 0:
                        both = f"{self.windows[column[row]]} and {window}"
                        raise InputError(f"job {workload.job_id[row]} is in two reservations: {both}")
                    _check_job(workload, row, window, width)
                    column[row] = w
        return column


def _check_job(workload: Workload, row: int, window: Window, width: int) -> None:
    job, cores = workload.job_id[row], int(workload.cores[row])
    estimate, earliest = int(workload.estimate_ns[row]), int(workload.earliest_ns[row])
    if cores > width:
        raise InputError(f"{window}: job {job} requests {cores} cores; the reservation has {width}")
    if estimate > window.end_ns - window.begin_ns:
        length = format_ns(window.end_ns - window.begin_ns)
        runs = format_ns(estimate)
        raise InputError(f"{window}: job {job} is estimated to run {runs}; the reservation lasts {length}")
    if earliest + estimate > window.end_ns:
        since = "not to start before" if workload.held[row] else "submitted at"
        given = f"{since} {format_ns(earliest)} with an estimate of {format_ns(estimate)}"
        raise InputError(f"{window}: job {job}, {given}, cannot end before {format_ns(window.end_ns)}")


def windows(given: Sequence[Window], platform: Platform) -> Windows:
    """The arrays of windows. Raises InputError if two share a name, or a core at an instant, or a host or core is unknown."""
    names: set[str] = set()
    for window in given:
        if window.name in names:
            raise InputError(f"{window}: its name is that of two windows")
        names.add(window.name)
    order = sorted(given, key=lambda window: (window.begin_ns, KINDS.index(window.kind)))
    cores = [_cores(window, platform) for window in order]
    _check_shared(order, cores)
    hosts = [parse_intervals(w.hosts, "hosts", platform.n_hosts) if w.kind == "maintenance" else [] for w in order]
    begin_ns, end_ns = (np.array([getattr(w, name) for w in order], np.int64) for name in ("begin_ns", "end_ns"))
    is_reservation = np.array([w.kind == "reservation" for w in order], np.int64)
    intervals = (*interval_columns(cores), *interval_columns(hosts))
    return Windows(tuple(order), begin_ns, end_ns, is_reservation, *intervals)


def _cores(window: Window, platform: Platform) -> list[tuple[int, int]]:
    kind, limit = ("core", platform.n_cores) if window.cores else ("host", platform.n_hosts)
    found = existing(kind, window.cores or window.hosts, limit, f"{window}: {kind}s")
    if window.cores:
        return found
    return [(int(platform.first_core[lo]), int(platform.first_core[hi])) for lo, hi in found]


def _check_shared(order: Sequence[Window], cores: Sequence[list[tuple[int, int]]]) -> None:
    open_ones: list[int] = []
    for w, window in enumerate(order):
        open_ones = [k for k in open_ones if order[k].end_ns > window.begin_ns]
        for k in open_ones:
            shared = [max(a, c) for a, b in cores[k] for c, d in cores[w] if max(a, c) < min(b, d)]
            if shared:
                at = format_ns(window.begin_ns)
                raise InputError(f"{order[k]} and {window} both have core {min(shared)} at {at}")
        open_ones.append(w)


def load_windows(path: str | os.PathLike[str], platform: Platform) -> Windows:
    """The windows of a TOML file. Raises InputError: one line that names the file and the key or the windows."""
    return parse_windows(read_text(path, "window file", "TOML"), platform, os.fspath(path))


def parse_windows(text: str, platform: Platform, source: str = "windows") -> Windows:
    """The windows of a TOML text; ``source`` is its name for messages. Raises InputError as :func:`load_windows`."""
    table = parse_toml(text, source)
    check_keys(table, KINDS, f"{source}: ")
    found: list[Window] = []
    for kind in table:
        found += [_window(kind, one, where) for where, one in list_of_tables(table, kind, source)]
    try:
        return windows(found, platform)
    except InputError as error:
        raise InputError(f"{source}: {error.text}") from None


def _window(kind: str, values: Mapping[str, Any], where: str) -> Window:
    check_keys(values, _KEYS[kind], where)
    for key in _ALWAYS:
        if key not in values:
            raise InputError(f"{where}{key}: missing")
    times = {f"{key}_ns": given_instant_ns(values[key], f"{where}{key}") for key in ("begin", "end")}
    others = {key: value for key, value in values.items() if key not in ("begin", "end")}
    return from_keys(Window, {"kind": kind, **others, **times}, where)
