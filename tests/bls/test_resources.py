"""What jobs ask for: the log's memory, a file's requests, and who could never run."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import table_rows

from bls.constraints.partition_assignment import assign
from bls.constraints.resource_requests import ASKS_TOO_MUCH, Requests, fit_requests, requests
from bls.machine.partitions import Partition
from bls.machine.platform import HostGroup, Platform
from bls.machine.switches import Switch
from bls.workloads.workload import Workload
from traces.base.errors import InputError

MACHINE = Platform(
    (HostGroup(2, 8, 8.0, {"memory_gb": 64, "gpu": 4}), HostGroup(2, 4, 4.0, {"memory_gb": 16})),  # type: ignore[arg-type]
    licences={"matlab": 5},  # type: ignore[arg-type]
    partitions=(Partition("thin", "2-3", swf_queues=(1,)), Partition("all", default=True)),
    switches=(Switch("a", "0"), Switch("b", "1-2"), Switch("c", "3"), Switch("top", switches=("a", "b", "c"))),
)


def workload(*jobs: dict[str, int]) -> Workload:
    plain = {"submit_s": 0, "run_s": 10, "cores": 4, "estimate_s": 10}
    return Workload.from_jobs([plain | {"job_id": k} | job for k, job in enumerate(jobs)])


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "r.csv"
    path.write_text(text)
    return path


def fitted(made: Workload, asked: Requests, platform: Platform = MACHINE) -> list[int]:
    found, column, left = fit_requests(*assign(made, platform), asked, platform)
    assert len(found) == len(column) == len(left)
    assert found.rejects.get(ASKS_TOO_MUCH, 0) == len(made) - len(found)
    rows: list[int] = found.job_id.tolist()
    return rows


def test_by_default_jobs_ask_for_single_cores() -> None:
    made = workload({}, {"memory_kb": 10**9})
    asked = requests(made, MACHINE)
    assert asked.plain
    assert (asked.resource_names, asked.licence_names) == (("gpu", "memory"), ("matlab",))
    assert (asked.per_unit.shape, asked.licences.shape) == ((2, 2), (2, 1))
    assert asked.unit_cores.tolist() == [1, 1]
    assert fitted(made, asked) == [0, 1]
    plain = requests(made, Platform())
    assert (plain.per_unit.shape, plain.licences.shape, plain.plain) == ((2, 0), (2, 0), True)
    with pytest.raises(ValueError, match="read-only"):
        asked.unit_cores[0] = 2


def test_the_log_s_memory_is_each_core_s() -> None:
    made = workload({"memory_kb": 5}, {"memory_kb": -1}, {"memory_kb": 2**62})
    asked = requests(made, MACHINE, memory="swf")
    assert asked.per_unit[:, 1].tolist()[:2] == [5, 0]
    assert not asked.plain
    assert fitted(made, asked) == [0, 1]
    with pytest.raises(InputError, match="--memory: no host of the platform has memory"):
        requests(made, Platform(), memory="swf")
    with pytest.raises(InputError, match="--memory: unknown source of memory requests 'sfw'; known: swf, none"):
        requests(made, MACHINE, memory="sfw")


def test_a_file_stands_above_the_log(tmp_path: Path) -> None:
    text = "job_id, unit_cores,gpu,memory_mb,matlab,switches\n1,4,1,3,,1\n\n0,2,,,2,\n2,,,0,,\n"
    made = workload(*[{"memory_kb": 7}] * 4)
    asked = requests(made, MACHINE, memory="swf", path=write(tmp_path, text))
    assert asked.unit_cores.tolist() == [2, 4, 1, 1]
    assert asked.per_unit.tolist() == [[0, 14], [1, 3 * 1024], [0, 0], [0, 7]]
    assert asked.licences.tolist() == [[2], [0], [0], [0]]
    assert asked.switches.tolist() == [0, 1, 0, 0]
    some = asked.take(np.array([1, 3]))
    assert (len(some), some.per_unit.tolist()) == (2, [[1, 3 * 1024], [0, 7]])


def test_the_file_may_name_jobs_that_were_not_selected(tmp_path: Path) -> None:
    path = write(tmp_path, "job_id,gpu\n0,1\n9,2\n")
    made = workload({})
    assert requests(made, MACHINE, path=path, known=np.array([0, 9])).per_unit.tolist() == [[1, 0]]
    with pytest.raises(InputError, match=r"r\.csv: line 3: job 9 is not in jobs"):
        requests(made, MACHINE, path=path)


@pytest.mark.parametrize(("text", "message"), table_rows(__file__, "files_are_refused_with_their_line"))
def test_files_are_refused_with_their_line(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(InputError) as caught:
        requests(workload({}), MACHINE, path=path)
    assert str(caught.value).startswith(f"{path}: {message}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("line", "job", "fits"), table_rows(__file__, "who_could_never_run_is_a_reject"))
def test_who_could_never_run_is_a_reject(tmp_path: Path, line: str, job: dict[str, int], fits: bool) -> None:
    path = write(tmp_path, f"job_id,unit_cores,gpu,memory_gb,matlab,switches\n1,{line}\n")
    made = workload({}, job)
    assert fitted(made, requests(made, MACHINE, path=path)) == ([0, 1] if fits else [0])


HOST = st.tuples(st.integers(1, 2), st.integers(1, 5), st.integers(0, 5))


@settings(max_examples=150)
@given(
    st.lists(HOST, min_size=2, max_size=3), st.integers(1, 3), st.integers(1, 8), st.integers(0, 3), st.integers(0, 2),
    st.booleans(),
)  # fmt: skip
def test_agrees_with_a_slow_count(
    groups: list[tuple[int, int, int]], unit_cores: int, units: int, gpu: int, limit: int, some: bool
) -> None:
    hosts = [(cores, gpus) for count, cores, gpus in groups for _ in range(count)]
    cut = len(hosts) // 2
    platform = Platform(
        tuple(HostGroup(count, cores, 1.0, {"gpu": gpus}) for count, cores, gpus in groups),  # type: ignore[arg-type]
        partitions=(Partition("p", f"0-{len(hosts) - 2}" if some else "", default=True),),
        switches=(Switch("a", f"0-{cut - 1}"), Switch("b", f"{cut}-{len(hosts) - 1}")),
    )
    n_gpu = len(platform.resource_names)
    if units * unit_cores > sum(cores for cores, _ in hosts[: len(hosts) - some]):
        return  # rejected before
    made = Workload.from_jobs([(0, 0, 1, 1, 1), (1, 0, 1, units * unit_cores, 1)])
    plain = Requests(
        platform.resource_names, (), np.array([1, unit_cores]), np.array([[0] * n_gpu, [gpu] * n_gpu]).reshape(2, n_gpu),
        np.zeros((2, 0), np.int64), np.array([0, limit]),
    )  # fmt: skip
    room = [min(cores // unit_cores, gpus // gpu if gpu and n_gpu else 99) for cores, gpus in hosts]
    if some:
        room[-1] = 0
    leaves = [sum(room[:cut]), sum(room[cut:])]
    best = max(sum(chosen) for chosen in itertools.combinations(leaves, limit or 2))
    assert fitted(made, plain, platform) == ([0, 1] if units <= best else [0])
