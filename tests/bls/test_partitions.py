"""Partitions: whose jobs they get, what they refuse, and what the engine sees of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bls.constraints.partition_assignment import BEYOND_LIMITS, NO_PARTITION, assign
from bls.machine.partitions import NO_LIMIT, Partition, partition_table
from bls.machine.platform import HostGroup, Platform
from bls.workloads.workload import TOO_WIDE, Workload
from traces.base.errors import InputError

NS = 10**9


def platform(*partitions: Partition) -> Platform:
    return Platform((HostGroup(3, 4, 4.0), HostGroup(1, 2, 2.0)), partitions=partitions)


def workload(*jobs: dict[str, int]) -> Workload:
    plain = {"submit_s": 0, "run_s": 10, "cores": 1, "estimate_s": 10}
    return Workload.from_jobs([plain | {"job_id": k} | job for k, job in enumerate(jobs)])


def test_the_table() -> None:
    found = partition_table(
        platform(
            Partition("a", hosts="3 0-1", priority=5, max_running_jobs=2, max_cores_per_user=7),
            Partition("b", default=True, max_running_cores=9, max_jobs_per_user=1),
        )
    )
    assert found.names == ("a", "b")
    assert found.priority.tolist() == [5, 0]
    assert found.n_cores.tolist() == [10, 14]
    assert found.first.tolist() == [0, 2, 3]
    assert list(zip(found.core_lo.tolist(), found.core_hi.tolist(), strict=True)) == [(0, 8), (12, 14), (0, 14)]
    assert list(zip(found.host_lo.tolist(), found.host_hi.tolist(), strict=True)) == [(0, 2), (3, 4), (0, 4)]
    assert found.max_running_jobs.tolist() == [2, NO_LIMIT]
    assert found.max_running_cores.tolist() == [NO_LIMIT, 9]
    assert found.max_jobs_per_user.tolist() == [NO_LIMIT, 1]
    assert found.max_cores_per_user.tolist() == [7, NO_LIMIT]
    with pytest.raises(ValueError, match="read-only"):
        found.priority[0] = 1


def test_without_partitions_there_is_one_of_everything() -> None:
    found = partition_table(platform())
    assert (len(found), found.names, found.n_cores.tolist()) == (1, ("all",), [14])
    made = workload({"cores": 14}, {})
    same, column = assign(made, platform())
    assert same is made
    assert column.tolist() == [0, 0]


JOB = st.fixed_dictionaries(
    {"cores": st.integers(1, 8), "estimate_s": st.integers(1, 4), "queue": st.integers(-1, 3), "partition": st.integers(-1, 2)}
)  # fmt: skip
LIMIT = st.none() | st.integers(3, 9)


@st.composite
def partitions(draw: st.DrawFn) -> list[Partition]:
    found = []
    for k in range(draw(st.integers(1, 3))):
        limits: dict[str, Any] = {key: draw(LIMIT) for key in ("max_cores", "max_running_cores", "max_cores_per_user")}
        limits["min_cores"] = draw(st.none() | st.integers(1, limits["max_cores"] or 3))
        numbers = {key: draw(st.lists(st.integers(0, 3), max_size=2)) for key in ("swf_queues", "swf_partitions")}
        hosts = draw(st.sampled_from(["", "0", "1-3", "0 3"]))
        time = draw(st.none() | st.integers(1, 4))
        found.append(Partition(f"p{k}", hosts, max_time_ns=time and time * NS, **limits, **numbers))  # type: ignore[arg-type]
    if draw(st.booleans()):
        found.append(Partition("default", "0-2", default=True))
    return found


@settings(max_examples=1000)
@given(st.lists(JOB, min_size=1, max_size=6), partitions())
def test_agrees_with_a_slow_assignment(jobs: list[dict[str, int]], tables: list[Partition]) -> None:
    width = {"": 14, "0": 4, "1-3": 10, "0 3": 6, "0-2": 12}
    expected, counts = {}, {TOO_WIDE: 0, NO_PARTITION: 0, BEYOND_LIMITS: 0}
    for number, job in enumerate(jobs):
        homes = [
            k for k, p in enumerate(tables)
            if (p.swf_queues or p.swf_partitions)
            and (not p.swf_queues or job["queue"] in p.swf_queues)
            and (not p.swf_partitions or job["partition"] in p.swf_partitions)
        ] + [k for k, p in enumerate(tables) if p.default]  # fmt: skip
        if job["cores"] > max(width[p.hosts] for p in tables):
            counts[TOO_WIDE] += 1
        elif not homes:
            counts[NO_PARTITION] += 1
        else:
            p = tables[homes[0]]
            limits = [width[p.hosts], p.max_cores, p.max_running_cores, p.max_cores_per_user]
            too_long = job["estimate_s"] * NS > (p.max_time_ns or 2**62)
            too_wide = any(limit and job["cores"] > limit for limit in limits)
            if too_wide or too_long or job["cores"] < (p.min_cores or 1):
                counts[BEYOND_LIMITS] += 1
            else:
                expected[number] = homes[0]
    if not expected:
        with pytest.raises(InputError, match=f"none of {len(jobs)} jobs fits its partition"):
            assign(workload(*jobs), platform(*tables))
        return
    found, column = assign(workload(*jobs), platform(*tables))
    assert dict(zip(found.job_id.tolist(), column.tolist(), strict=True)) == expected
    assert {reason: found.rejects.get(reason, 0) for reason in counts} == counts
