"""What records, stories and pages of runs say about GPUs."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import succeeds
from gpu_runs import JOBS, TWO_KINDS, S, simulated

import bridge
from bls.machine.platform import HostGroup, Platform
from bls.metrics.gpus import by_kind
from bls.metrics.schedule import Schedule
from bls.scheduler_options import ConstraintOptions, Rules
from bls.workloads import read_workload
from bls.workloads.workload import Workload
from bridge.runs.afterwards import StoredRun
from bridge.runs.page import parts_of_folder, parts_of_result
from traces.base.errors import InputError
from traces.checks.faults import InvariantError
from traces.checks.ledger import check_ledger
from traces.ledger import JobRecords, Ledger
from traces.records.gpus import GpuRecords


def test_the_checks_of_records_count_gpus(tmp_path: Path) -> None:
    ledger = simulated(JOBS, "job_id,gpus_per_task,gpu_milli\n1,1,400\n2,1,600\n3,1,500\n", tmp_path).ledger
    assert ledger.gpus.columns_of_jobs()["gpu_allocation"] == ["0:400", "0:600", "1"]

    def with_texts(*texts: str) -> Any:
        return replace(ledger, gpus=GpuRecords.of_texts(texts))

    check_ledger(with_texts("0:999", "0:1", "1"))
    for texts, error in (
        (("0:999", "0:2", "1"), "jobs hold 1001 thousandths of GPU 0 at 0 ns"),
        (("2", "0", ""), "job 1 cannot hold 1000 thousandths of GPU 2"),
    ):
        with pytest.raises(InvariantError, match=error):
            check_ledger(with_texts(*texts))
    for text in ("0:1000", "0:x", "a", "0-999999999999"):
        with pytest.raises(InputError, match="gpu_allocation: "):
            GpuRecords.of_texts([text])


#: Jobs before job 3, which is submitted at 2 s; requests; the cores of job 3; parts of its story.
STORIES: dict[str, tuple[list[tuple[int, ...]], str, int, list[str]]] = {
    "a kind": (
        [(1, 0, 10, 1, 10), (2, 0, 10, 1, 10)],
        "job_id,gpus_per_task,gpu_kind\n1,2,a\n2,2,a\n3,1,a\n",
        1,
        [
            "14 of 16 cores and 0 of 4 GPUs (a) are free",
            "waits for a GPU: 6 cores are free on hosts with its kinds, the most ",
        ],
    ),
    "a share": (
        [(1, 0, 10, 1, 10), (2, 0, 10, 1, 10)],
        "job_id,gpus_per_task,gpu_milli,gpu_kind\n1,1,600,b\n2,2,,a\n3,1,500,b\n",
        1,
        [
            "0.4 of 1 GPU (b) are free",
            "waits for a GPU: 3 cores are free on hosts with its kinds, the most left of one GPU is 400 milli",
        ],
    ),
    "any kind": (
        [(1, 0, 10, 2, 10), (2, 0, 10, 1, 10)],
        "job_id,gpus_per_task,gpu_kind\n1,2,\n2,1,b\n3,1,\n",
        1,
        [
            "13 of 16 cores and 0 of 5 GPUs are free",
            "waits for a GPU: 9 cores are free on hosts with GPUs, the most left of one GPU is 0 milli",
        ],
    ),
    "several on a host": (
        [(1, 0, 10, 1, 10), (2, 0, 10, 1, 10)],
        "job_id,gpus_per_task,gpu_kind\n1,1,a\n2,2,a\n3,2,a\n",
        1,
        [
            "14 of 16 cores and 1 of 4 GPUs (a) are free",
            "waits for a GPU: 6 cores are free on hosts with its kinds, no host has 2 free GPUs",
        ],
    ),
    "several units": (
        [(1, 0, 10, 1, 10), (2, 0, 10, 1, 10)],
        "job_id,gpus_per_task,gpu_kind\n1,1,a\n2,2,a\n3,1,a\n",
        2,
        ["they and the free GPUs suffice for 1 of 2 units"],
    ),
    "cores": (
        [(1, 0, 10, 4, 10), (2, 0, 10, 4, 10)],
        "job_id,gpus_per_host,gpu_kind\n1,1,a\n2,1,a\n3,1,a\n",
        1,
        ["8 of 16 cores and 2 of 4 GPUs (a) are free", "waited 8 s: waits for cores: 2 GPUs are idle on full hosts"],
    ),
    "all cores": (
        [(1, 0, 10, 12, 10), (2, 0, 10, 4, 10)],
        "job_id,gpus_per_host,gpu_kind\n1,,\n3,1,a\n",
        1,
        ["1 core requested, 0 free when it became eligible; waits for cores: 4 GPUs are idle on full hosts"],
    ),
}


@pytest.mark.parametrize("name", STORIES)
@pytest.mark.parametrize("stored", [False, True])
def test_the_story_of_a_job_with_gpus(name: str, stored: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs, requests, cores, lines = STORIES[name]
    jobs = [*jobs, (3, 2, 10, cores, 10)]
    result = simulated(jobs, requests, tmp_path, platform=TWO_KINDS)
    said = result.story(3)
    for line in lines:
        assert line in said
    monkeypatch.chdir(tmp_path)
    Path("machine.toml").write_text(TWO_KINDS.to_toml())
    log = [f"{k} {at} 0 {run} {n} -1 -1 {n} {run} -1 1 1 1 -1 1 1 -1 -1\n" for k, at, run, n, _ in jobs]
    Path("log.swf").write_text("".join(log))
    words = ["run", "log.swf", "--als", "recorded", "--platform", "machine.toml", "--trace", "none"]
    succeeds(*words, "--requests", "requests.csv", "--out", "r")
    assert StoredRun(Path("r")).story(3) == said
    held, of_folder = (parts.view.gpus for parts in (parts_of_result(result), parts_of_folder(Path("r"))))
    assert held is not None
    assert of_folder is not None
    assert held.kinds == of_folder.kinds == TWO_KINDS.machine().gpu_kinds
    assert all(np.array_equal(one, other) for one, other in zip(held[:7], of_folder[:7], strict=True))
    Path("log.swf").write_text("".join(log[:2]))  # then requests are unknown
    without = StoredRun(Path("r")).story(3)
    assert "GPUs are free" in without


@pytest.mark.parametrize("state", ["down", "drain"])
def test_hosts_where_no_job_may_start_have_nothing_free(
    state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Job 1 has the GPUs of host 1, as host 0 is away until 9 s; then job 3 starts there."""
    monkeypatch.chdir(tmp_path)
    Path("fails.csv").write_text(f"host,down_s,up_s,state\n0,0,9,{state}\n1,11,12,{state}\n")
    Path("requests.csv").write_text("job_id,gpus_per_task,gpu_kind\n1,2,a\n3,1,a\n")
    Path("machine.toml").write_text(TWO_KINDS.to_toml())
    Path("log.swf").write_text(
        "".join(f"{k} {at} 0 10 1 -1 -1 1 10 -1 1 1 1 -1 1 1 -1 -1\n" for k, at in ((1, 0), (3, 2)))
    )
    words = ["run", "log.swf", "--als", "recorded", "--platform", "machine.toml", "--trace", "none"]
    succeeds(*words, "--requests", "requests.csv", "--failures", "fails.csv", "--out", "r")
    given = ConstraintOptions(requests="requests.csv", failures="fails.csv")
    found = bridge.simulate(read_workload("log.swf"), TWO_KINDS, als="recorded", constraints=given)
    said = found.story(3)
    assert found.jobs.start_ns.tolist() == [0, 9 * S]
    assert "0 of 4 GPUs (a) are free" in said
    assert "waits for a GPU: 3 cores are free on hosts with its kinds, the most left of one GPU is 0 milli" in said
    assert StoredRun(Path("r")).story(3) == said


def test_gpus_that_were_given_back_early_are_free(tmp_path: Path) -> None:
    """Job 1 leaves host 1 at 220.7 s and host 0 at 286.1 s; job 2 then runs on one of them for 10 s."""
    jobs = [(1, 0, 100, 8, 200), (2, 1, 10, 1, 10), (3, 240, 10, 8, 10)]
    for how, free in (("none", "0 of 8 cores and 0 of 4"), ("release:host", "4 of 8 cores and 2 of 4")):
        options = {"als": "static", "variation": 0.9, "tasks_per_core": 1, "rules": Rules(coordination=how)}
        result = simulated(jobs, "job_id,gpus_per_host\n1,2\n2,2\n3,1\n", tmp_path, **options)
        assert f"eligible: {free} GPUs are free" in result.story(3)


def test_the_page_has_a_table_of_kinds(tmp_path: Path) -> None:
    machine = Platform(
        (HostGroup(1, 4, 4.0, gpus=2, gpu="a100"), HostGroup(1, 4, 4.0), HostGroup(2, 4, 4.0, gpus=1, gpu="t4"))
    )
    asked = "job_id,gpus_per_task,gpu_milli,gpu_kind\n1,2,,a100\n2,2,,a100\n3,1,500,t4\n4,1,500,\n"
    jobs = [(1, 0, 10, 1, 10), (2, 1, 10, 1, 10), (3, 1, 5, 1, 10), (4, 2, 4, 1, 10), (5, 2, 3, 1, 10)]
    result = simulated(jobs, asked, tmp_path, platform=machine)
    section = result.report().html().partition('<section id="gpus"')[2].partition("</section>")[0]
    rows = [re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", row) for row in section.split("<tr>")[1:]]
    assert rows == [
        ["kind", "GPUs", "jobs", "utilisation", "mean wait"],
        ["a100", "2", "2", "1.000", "4.5 s"],  # job 2 waits for 9 s, and the others behind it
        ["t4", "2", "2", "0.1125", "8.5 s"],  # (5 + 4) s of half a GPU, of 2 × 20 s
    ]
    assert result.metrics["gpu_utilisation"] == (2 * 20 + 0.5 * 9) / 80
    assert 'id="gpus"' not in bridge.simulate(Workload.from_jobs(jobs), als="recorded").report().html()


def test_gpus_by_kind() -> None:
    """Two hosts of kind a and one of kind b have a GPU each. Job 3 waits for b until 10, job 4 has half of an a. Without kinds
    there is one row."""
    groups = HostGroup(2, 2, 2.0, gpus=1, gpu="a"), HostGroup(1, 2, 2.0, gpus=1, gpu="b")
    zeros, ones = np.zeros(4, np.int64), np.ones(4, np.int64)
    start, end, core = np.array([0, 0, 10, 0]), np.array([20, 10, 20, 5]), np.array([0, 4, 4, 2])
    given = (ones.cumsum(), zeros, start, end, zeros, zeros, ones, *[zeros] * 5, np.arange(5), core, core + 1)
    ledger = Ledger(
        Platform(groups).machine(), JobRecords(*given), None, gpus=GpuRecords.of_texts(["0", "2", "2", "1:500"])
    )
    schedule = Schedule(submit_ns=zeros, start_ns=start, end_ns=end, cores=ones, n_cores=6)
    plain = Platform(tuple(replace(group, gpu="") for group in groups))
    for platform, rows in (
        (Platform(groups), [("a", 2, 22.5 / 40, 2, 0.0), ("b", 1, 1.0, 2, 5.0)]),
        (plain, [("", 3, 42.5 / 60, 4, 2.5)]),
    ):
        found = by_kind(ledger, schedule, platform)
        assert [tuple(row.values()) for row in found] == rows


def test_gpus_of_a_result_by_kind(tmp_path: Path) -> None:
    jobs = [(1, 0, 10, 1, 10), (2, 0, 20, 1, 20), (3, 5, 10, 1, 10)]
    found = simulated(jobs, "job_id,gpus_per_task,gpu_kind\n1,1,b\n2,2,a\n3,1,b\n", tmp_path, platform=TWO_KINDS)
    assert found.gpus_by_kind.to_numpy().tolist() == [["a", 4, 0.5, 1, 0.0], ["b", 1, 1.0, 2, 2.5e9]]
