"""Traces of more jobs, more cores and longer names than one record of a format holds."""

from __future__ import annotations

import os
import resource
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ledgers import Job, ledger, machine, transfer_records

from traces.base.errors import TwolevelError
from traces.exporters import EXPORTERS, exporter
from traces.exporters.otf2 import definitions, write_otf2
from traces.exporters.otf2.library import binding, reading
from traces.ledger import JobRecords, Ledger, TaskRecords

pytestmark = pytest.mark.whole

#: More than fit into one record of any format.
JOBS = 300_000

CORES = 64


def of_many_jobs(n: int) -> Ledger:
    """``n`` jobs of one task each on 64 cores, of two techniques in turn."""
    place = np.arange(n, dtype=np.int64)
    start = place // CORES * 10
    core = place % CORES
    jobs = JobRecords(
        job_id=place + 1,
        submit_ns=start,
        start_ns=start,
        end_ns=start + 10,
        estimate_ns=np.full(n, 10),
        deadline_ns=start + 10,
        cores=np.ones(n, np.int64),
        tasks=np.ones(n, np.int64),
        chunks=np.ones(n, np.int64),
        length_gflop=np.ones(n),
        imbalance=np.zeros(n),
        cov=np.zeros(n),
        allocation_first=np.arange(n + 1),
        allocation_lo=core,
        allocation_hi=core + 1,
    )
    numbers = core.astype(np.int32)
    tasks = TaskRecords(np.arange(n + 1), start, start + 10, numbers, np.zeros(n, np.int32), np.ones(n))
    technique = (place % 2).astype(np.int32)
    return Ledger(machine(32, 32), jobs, tasks, techniques=("gss", "static"), technique=technique)


@contextmanager
def few_files(n: int = 8) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + n, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def begun(text: bytes, *words: str) -> int:
    return sum(text.count(f"\n{word}".encode()) for word in words)


#: Of each format: the number of tasks, or of jobs where it shows no tasks, in what was written.
COUNTS: dict[str, Callable[[Path], int]] = {
    "chrome": lambda path: path.read_bytes().count(b'"cat":"task,'),
    "paje": lambda path: begun(path.read_bytes(), "10 "),
    "csv": lambda path: path.read_bytes().count(b"\n") - 1,
    "text": lambda path: len(os.listdir(path.parent / "applications")),
    "batsim": lambda path: path.read_bytes().count(b"\n") - 1,
    "swf": lambda path: path.read_bytes().count(b" 1 -1 -1 -1"),
}


@pytest.mark.parametrize(
    ("name", "n"),
    [
        *((name, JOBS) for name in sorted(set(EXPORTERS) - {"otf2", "text"})),
        ("text", 3000),  # a file for each job
        pytest.param("text", JOBS, marks=pytest.mark.release),
    ],
)
def test_a_trace_has_all_jobs(name: str, n: int, tmp_path: Path) -> None:
    with few_files():
        path = exporter(name)(of_many_jobs(n), tmp_path)
    if name in COUNTS:
        assert COUNTS[name](path) == n
    else:  # each task has two packets of more than 10 bytes; what they say: test_trace_formats.py
        assert path.stat().st_size > 20 * n


def test_an_otf2_trace_of_many_jobs_is_written(tmp_path: Path) -> None:
    """Only looked at from outside: the reader makes an object of each definition."""
    with few_files():
        write_otf2(of_many_jobs(JOBS), tmp_path)
    # Each pair of events of a task has 25 bytes at least.
    assert sum((tmp_path / "traces" / f"{core}.evt").stat().st_size for core in range(CORES)) > 25 * JOBS


def test_groups_of_regions_are_split(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(definitions, "GROUP_MEMBERS", 32)
    n = 300
    with reading(write_otf2(of_many_jobs(n), tmp_path)) as trace:
        regions = {region: place for place, region in enumerate(trace.definitions.regions)}
        groups = [(group.name, [regions[one] for one in group.members]) for group in trace.definitions.groups]
    assert Counter(name for name, _ in groups) == dict.fromkeys(("gss", "static"), -(-n // 2 // 32))
    for first, name in enumerate(("gss", "static")):
        assert [one for mine, members in groups if mine == name for one in members] == list(range(first, n, 2))


def test_messages_between_cores_of_a_wide_machine(tmp_path: Path) -> None:
    n = 120_000
    rows = [Job(1, 0, 0, 9, [(0, 1), (n - 1, n)], [(0, 0, 0, 4), (n - 1, 1, 6, 9)])]
    of = replace(ledger(machine(1, n - 1), rows), transfers=transfer_records(1, [(0, (0, 1, 8.0, 4, 5))]))
    with reading(write_otf2(of, tmp_path)) as trace:
        (group,) = (one for one in trace.definitions.groups if str(one.group_type).endswith("COMM_GROUP"))
        assert len(group.members) == 2
        sent = [event for _, event in trace.events if type(event).__name__ == "MpiSend"]
        ends = [sent[0].communicator.group.location(event.receiver).name for event in sent]
    assert ends == [f"host 1 core {n - 2}"]


@pytest.mark.parametrize("length", [16_385, 300_000, 2_000_000])
def test_an_otf2_trace_has_names_longer_than_a_chunk(length: int, tmp_path: Path) -> None:
    of = ledger(machine(1, 1), [Job(1, 0, 0, 4, [(0, 1)])])
    of = replace(of, machine=replace(of.machine, host_names=("h" * length, "host 1")))
    with reading(write_otf2(of, tmp_path)) as trace:
        assert [len(group.name) for group in trace.definitions.location_groups][:2] == [length, 6]


def test_a_name_longer_than_any_chunk_is_one_error(tmp_path: Path) -> None:
    of = ledger(machine(1), [])
    of = replace(of, machine=replace(of.machine, name="c" * binding.CHUNK_SIZE_MAX.value))
    with pytest.raises(TwolevelError, match="OTF2 has no room for a definition of 16777280 bytes"):
        write_otf2(of, tmp_path)
