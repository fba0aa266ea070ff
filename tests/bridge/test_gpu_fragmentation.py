"""The fragmentation of GPUs of runs, folders and studies."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command_line import succeeds, twolevel
from gpu_runs import JOBS, MACHINE, simulated

import bridge
from bls.machine.platform import HostGroup, Platform
from bls.workloads.workload import Workload
from traces.base.errors import InputError


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
