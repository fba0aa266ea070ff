"""Traces of more jobs, more cores and longer names than one record of a format holds."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ledgers import Job, ledger, machine

from traces.base.errors import TwolevelError
from traces.exporters.otf2 import write_otf2
from traces.exporters.otf2.definitions import GROUP_MEMBERS
from traces.exporters.otf2.library import binding, reading
from traces.ledger import JobRecords, Ledger, TaskRecords

#: More than the longest log of the Parallel Workloads Archive that is simulated as a whole.
JOBS = 300_000

CORES = 64


def of_many_jobs(n: int = JOBS) -> Ledger:
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


def test_an_otf2_trace_has_all_regions_and_groups_of_at_most_a_chunk(tmp_path: Path) -> None:
    with reading(write_otf2(of_many_jobs(), tmp_path)) as trace:
        regions = {region: place for place, region in enumerate(trace.definitions.regions)}
        events = sum(one.number_of_events for one in list(trace.definitions.locations)[:CORES])
        groups = [(group.name, [regions[one] for one in group.members]) for group in trace.definitions.groups]
    assert events == 2 * JOBS
    assert sum(region.name.startswith("job ") for region in regions) == JOBS
    assert max(len(members) for _, members in groups) <= GROUP_MEMBERS
    assert Counter(name for name, _ in groups) == dict.fromkeys(("gss", "static"), -(-JOBS // 2 // GROUP_MEMBERS))
    for first, name in enumerate(("gss", "static")):
        assert sorted(one for mine, members in groups if mine == name for one in members) == list(range(first, JOBS, 2))


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
