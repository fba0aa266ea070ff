"""The pages on GPUs show what runs give."""

import json
import runpy
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import succeeds
from pages import ROOT, blocks, section, table

from als.application import ApplicationSimulator
from als.techniques import technique
from als.workers import with_devices
from bridge.scenarios.application_map import load_application_map
from bridge.studies.input.study_file import load_study

PAGE, STUDIES = ROOT / "docs/explanation/gpu-study.md", ROOT / "tools/studies"
LOOPS = {row[0].strip("`"): row[1:] for row in table(section(PAGE, "One loop"))}


@pytest.mark.parametrize("name", LOOPS)
def test_the_run_times_of_a_loop(name: str) -> None:
    program = load_application_map(STUDIES / "devices-shared.toml").applications[0].program
    speed, workers = with_devices(program.workers, np.ones(64))
    found = []
    for seed in range(50):
        lengths = np.random.default_rng(seed).gamma(4, 1, 256)
        lengths *= 956.0 * (64 + program.capacity(0)[1]) / lengths.sum()
        application = ApplicationSimulator(
            lengths, speed, technique(name), workers=workers, keep_tasks=False, seed=seed
        )
        application.advance()
        found.append(application.end_ns / 956e9)
    half = 1.96 * np.std(found, ddof=1) / 50**0.5
    assert LOOPS[name][0] == f"{np.mean(found):.2f} ± {half:.2f}"


def test_the_studies_can_be_run() -> None:
    assert len(load_study(STUDIES / "devices.toml", []).cells) == 12
    allocated = load_study(STUDIES / "devices-allocated.toml", [])
    shown = [row[0].strip("`") for row in table(section(PAGE, "GPUs of the batch level"))]
    assert shown == ["static", "gss", "fac", "awf-c", "af"]
    assert len(allocated.cells) == len(shown)


PACKING = ROOT / "docs/explanation/gpu-packing.md"
NODES = "sn,cpu_milli,memory_mib,gpu,model\na,8000,1024,2,T4\nb,8000,1024,2,T4\nc,4000,512,4,G2\nd,4000,512,0,\n"
#: Of these tasks, b waits; the pending one never ran.
TASKS = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
a,2500,10,1,600,,LS,Running,0,100,0
b,2500,10,1,600,,LS,Succeeded,1,100,7
c,2500,10,2,1000,,LS,Pending,2,100,
d,1000,10,8,1000,,LS,Succeeded,3,100,3
e,1000,10,0,0,,LS,Failed,4,100,4
"""


def test_the_commands_on_packing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for path in (STUDIES / "alibaba_gpu.py", *STUDIES.glob("gpu-*.toml")):
        shutil.copy(path, tmp_path)
    Path("nodes.csv").write_text(NODES)
    Path("openb_pod_list_default.csv").write_text(TASKS)
    runpy.run_path("alibaba_gpu.py")["main"]("nodes.csv", "openb_pod_list_default.csv")
    assert Path("requests.csv").read_text().splitlines() == [
        "job_id,cpu_milli,memory_mb",
        *(f"{line},{cpu},10" for line, cpu in ((2, 2500), (3, 2500), (4, 2500), (5, 1000), (6, 1000))),
    ]
    study = Path("gpu-packing.toml")
    lines = study.read_text().splitlines()
    two = ['allocator = ["pack-gpus", "spread"]' if line.startswith("allocator") else line for line in lines]
    study.write_text("\n".join(two))
    run, *study_and_table = sorted(
        (
            line.split()[1:]
            for block in blocks(PACKING, "bash")
            for line in block.splitlines()
            if line.startswith("twolevel")
        ),
        key=lambda words: ["run", "study", "table", "metrics"].index(words[0]),
    )
    # No host has 8 GPUs: that task is never a job. Task c finds two free GPUs on one host, in both ways.
    succeeds(*run)
    for words in study_and_table:
        said = succeeds(*words)
    assert "gpu_fragmentation" in said.out
    assert json.loads(Path("replay/run.json").read_text())["metrics"]["mean_gpu_wait_ns"] == 0
    found = pd.read_parquet("packing/results.parquet").set_index("allocator")
    assert found["gpu_utilisation"].tolist() == [3.2 / 8, 3.2 / 8]
    assert found["state_rejected"].tolist() == [0, 0]
