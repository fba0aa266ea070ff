"""GPUs of the batch level in runs: policies that name cores, jobs that leave hosts early, and what the records say."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import succeeds, twolevel

import bridge
from bls.machine.platform import HostGroup, Platform
from bls.metrics.gpus import by_kind
from bls.metrics.schedule import Schedule
from bls.scheduler_options import ConstraintOptions, Rules
from bls.workloads.workload import Workload
from bridge.runs.afterwards import StoredRun
from traces.base.errors import InputError, PluginError
from traces.checks.faults import InvariantError
from traces.checks.ledger import check_ledger
from traces.holdings import gpu_ends
from traces.ledger import JobRecords, Ledger
from traces.records.gpus import GpuRecords

MACHINE = Platform((HostGroup(2, 4, 4.0, gpus=2),))
S = 10**9


def simulated(jobs: list[tuple[int, ...]], requests: str, tmp_path: Path, **options: Any) -> Any:
    path = tmp_path / "requests.csv"
    path.write_text(requests)
    given = {"als": "recorded", "platform": MACHINE, "constraints": ConstraintOptions(requests=str(path))} | options
    result = bridge.simulate(Workload.from_jobs(jobs), **given)
    check_ledger(result.ledger)
    return result


class Names:
    """Places each waiting job, where its number says, or where it may."""

    name = "names"

    def __init__(self, cores: dict[int, list[int]]) -> None:
        self.cores = cores

    def decide(self, view: Any) -> Any:
        trial = view.trial()
        for job in view.waiting:
            cores = self.cores.get(job.job_id)
            if cores is not None:
                yield job, cores
            elif (found := trial.place(job)) is not None:
                yield job, found


JOBS = [(1, 0, 10, 1, 10), (2, 0, 10, 1, 10), (3, 1, 10, 2, 10)]
ASKED = "job_id,gpus_per_task\n1,1\n2,2\n3,1\n"


def test_a_policy_names_cores_and_the_job_gets_gpus_of_their_hosts(tmp_path: Path) -> None:
    jobs = simulated(JOBS, ASKED, tmp_path, bls=Names({1: [5]})).jobs
    # Job 2 finds both GPUs on host 0 only. One of host 1 is left for job 3, which needs two.
    assert jobs.allocation.tolist() == ["5", "0", "0-1"]
    assert jobs.gpu_allocation.tolist() == ["2", "0-1", "0-1"]
    assert (jobs.start_ns // S).tolist() == [0, 0, 10]


def test_a_policy_is_told_that_gpus_do_not_suffice(tmp_path: Path) -> None:
    with pytest.raises(
        PluginError, match=r"placed job 2 on core 6: the free GPUs of host 1 suffice for 0 of its units there"
    ):
        simulated(JOBS, ASKED, tmp_path, bls=Names({1: [5], 2: [6]}))


def test_gpus_are_held_until_the_last_core_of_their_host_is_released(tmp_path: Path) -> None:
    """Two jobs of two hosts: with unequal tasks one host is done first."""
    jobs = [(1, 0, 100, 8, 200), *((k, 1, 10, 1, 10) for k in range(2, 6))]
    asked = "job_id,gpus_per_host\n1,2\n2,1\n3,1\n4,1\n5,1\n"
    found = {}
    for how in ("none", "release:host", "release"):
        for backfill in ("none", "easy", "conservative"):
            rules = Rules(backfill, coordination=how)
            result = simulated(jobs, asked, tmp_path, als="static", variation=0.9, tasks_per_core=1, rules=rules)
            ends = gpu_ends(result.ledger)[:4]  # of job 1
            assert ends.max() == result.jobs.end_ns[0] if how == "none" else ends.min() < ends.max()
            assert result.jobs.start_ns[1] == ends.min()
            found[how, backfill] = (result.jobs.start_ns.tolist(), result.jobs.gpu_allocation.tolist())
    assert found["release:host", "easy"] == found["release", "easy"]  # whole hosts count for GPUs


def test_widths_and_gpus_exclude_each_other(tmp_path: Path) -> None:
    path = tmp_path / "requests.csv"
    path.write_text(ASKED)
    said = ConstraintOptions(requests=str(path), malleable="1")
    with pytest.raises(InputError, match="job 1 requests GPUs"):
        bridge.simulate(Workload.from_jobs(JOBS), MACHINE, constraints=said, rules=Rules(resize="expand"), als="static")


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


TWO_KINDS = Platform(
    (HostGroup(2, 4, 4.0, gpus=2, gpu="a"), HostGroup(1, 4, 4.0, gpus=1, gpu="b"), HostGroup(1, 4, 4.0))
)
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
    said = simulated(jobs, requests, tmp_path, platform=TWO_KINDS).story(3)
    for line in lines:
        assert line in said
    monkeypatch.chdir(tmp_path)
    Path("machine.toml").write_text(TWO_KINDS.to_toml())
    log = [f"{k} {at} 0 {run} {n} -1 -1 {n} {run} -1 1 1 1 -1 1 1 -1 -1\n" for k, at, run, n, _ in jobs]
    Path("log.swf").write_text("".join(log))
    words = ["run", "log.swf", "--als", "recorded", "--platform", "machine.toml", "--trace", "none"]
    succeeds(*words, "--requests", "requests.csv", "--out", "r")
    assert StoredRun(Path("r")).story(3) == said
    Path("log.swf").write_text("".join(log[:2]))  # then requests are unknown
    without = StoredRun(Path("r")).story(3)
    assert "GPUs are free" in without


def test_gpus_that_were_given_back_early_are_free(tmp_path: Path) -> None:
    """Job 1 leaves host 1 at 220.7 s and host 0 at 286.1 s; job 2 then runs on one of them for 10 s."""
    jobs = [(1, 0, 100, 8, 200), (2, 1, 10, 1, 10), (3, 240, 10, 8, 10)]
    for how, free in (("none", "0 of 8 cores and 0 of 4"), ("release:host", "4 of 8 cores and 2 of 4")):
        options = {"als": "static", "variation": 0.9, "tasks_per_core": 1, "rules": Rules(coordination=how)}
        result = simulated(jobs, "job_id,gpus_per_host\n1,2\n2,2\n3,1\n", tmp_path, **options)
        assert f"eligible: {free} GPUs are free" in result.story(3)


def test_fragmentation_of_six_tasks(tmp_path: Path) -> None:
    """As in ``tests/bls/test_gpu_reference.py``, test_metrics_of_six_tasks."""
    asked = "job_id,gpus_per_task,gpu_milli\n" + "".join(f"{k},1,{200 if k < 4 else 600}\n" for k in range(1, 7))
    machine = Platform((HostGroup(1, 4, 4.0, gpus=1), HostGroup(1, 4, 4.0, gpus=2)))
    result = simulated([(k, 0, 10, 1, 10) for k in range(1, 7)], asked, tmp_path, platform=machine)
    assert result.gpu_fragmentation == (600 * 10 + 200 * 10) / (1200 * 10 + 2400 * 10)
    assert result.metrics["gpu_utilisation"] == ((3 * 200 + 2 * 600) * 10 + 600 * 10) / (3000 * 20)
    with pytest.raises(InputError, match="gpu_fragmentation: no job"):
        bridge.simulate(Workload.from_jobs(JOBS), MACHINE, als="recorded").gpu_fragmentation  # noqa: B018


#: Jobs of one or two GPUs, or a share of one, and some without; more than the machine has at once.
LOG = "; Field 19: gpus\n; Field 20: gpu_milli\n" + "".join(
    f"{k + 1} {2 * k} 0 {9 + k % 7} {1 + k % 4} -1 -1 {1 + k % 4} {20 + k % 9} -1 1 {k % 5} 1 -1 1 1 -1 -1 "
    f"{(k % 4 != 3) * (1 + k % 2)} {250 if k % 2 == 0 else -1}\n"
    for k in range(60)
)
STUDY = """
[study]
seeds = 1
metrics = ["gpu_fragmentation", "gpu_utilisation"]
[workload]
file = "log.swf"
[run]
als = "recorded"
platform = "machine.toml"
{}
[results]
gpu-fragmentation = true
"""


@pytest.mark.parametrize(
    "more",
    [[], ["--failures", "mtbf:20s,mttr:3s"], ["--backfill", "easy", "--allocator", "pack-gpus"]],
    ids=["plain", "failures", "by units"],
)
def test_fragmentation_of_a_folder_and_in_a_study(more: list[str], tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log.swf").write_text(LOG)
    Path("machine.toml").write_text(MACHINE.to_toml())
    results: list[bridge.Result] = []
    monkeypatch.setattr("bridge.cli.run_commands._say_run", lambda result, same: results.append(result))
    for name, stream in (("r", []), ("s", ["--stream"])):
        words = ["run", "log.swf", "--als", "recorded", "--platform", "machine.toml", "--trace", "none", *more]
        succeeds(*words, *stream, "--out", name)
    known = results[0].gpu_fragmentation
    assert 0.01 < known < 0.99
    for name in ("r", "s"):
        said = json.loads(succeeds("metrics", name, "--gpu-fragmentation", "--json").out)
        assert said["gpu_fragmentation"] == known
    options = "".join(f'{name[2:]} = "{value}"\n' for name, value in zip(more[::2], more[1::2], strict=True))
    Path("study.toml").write_text(STUDY.format(options))
    succeeds("study", "study.toml", "--out", "study")
    row = pd.read_parquet("study/results.parquet").iloc[0]
    assert (row.gpu_fragmentation, row.gpu_utilisation) == (known, said["gpu_utilisation"])


def test_runs_without_fragmentation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log.swf").write_text(LOG)
    Path("machine.toml").write_text(MACHINE.to_toml())
    succeeds("run", "log.swf", "--als", "recorded", "--trace", "none", "--platform", "machine.toml", "--out", "r")
    Path("machine.toml").write_text(replace(MACHINE, name="another").to_toml())
    wrong = twolevel("metrics", "r", "--gpu-fragmentation")
    assert (wrong.code, wrong.err.count("\n")) == (2, 1)
    assert "r: gpu_fragmentation: the platform has changed" in wrong.err
    Path("machine.toml").write_text(Platform().to_toml())
    Path("study.toml").write_text(STUDY.format(""))
    wrong = twolevel("study", "study.toml", "--out", "study")
    assert (wrong.code, "[results]: gpu_fragmentation: no job of this run can request" in wrong.err) == (2, True)


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
