"""GPUs of a published trace, allocated until no more tasks fit."""

import csv
import gzip
import json
import runpy
import shutil
from pathlib import Path

import numpy as np
import pytest
from command_line import succeeds
from pages import ROOT, section, table

import bridge
from bls.machine.platform import HostGroup, Platform
from bls.scheduler_options import ConstraintOptions
from bls.workloads.workload import Workload

PAGE, STUDIES = ROOT / "docs/explanation/gpu-packing.md", ROOT / "tools/studies"
STUDY = runpy.run_path(str(STUDIES / "alibaba_gpu.py"))


def rows(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("allocator", "milli", "rejected"),
    [
        ("pack-gpus", 5_712_800, 420),
        ("spread", 5_416_510, 356),
        ("tightest", 5_597_780, 537),
        ("fgd", 5_798_940, 307),
        ("fgd:scores=100", 5_838_780, 287),
    ],
)
def test_what_fits_on_the_machine_of_alibaba(
    allocator: str, milli: int, rejected: int, shared: Path, tmp_path: Path
) -> None:
    """The numbers are of a script that knows only the tables and the rules. A task is one core; there are enough cores."""
    hosts = tuple(
        HostGroup(
            count=1,
            cores=int(node["cpu_milli"]) // 1000,
            speed_gflops=1.0,
            resources={"cpu_milli": int(node["cpu_milli"]), "memory_mb": int(node["memory_mib"])},
            gpus=int(node["gpu"]),
            gpu=node["model"],
        )
        for node in rows(shared / "traces" / "alibaba-gpu-2023-nodes.csv.gz")
    )
    lines = ["job_id,cpu_milli,memory_mb,gpus_per_task,gpu_milli"]
    tasks = rows(shared / "traces" / "alibaba-gpu-2023-tasks.csv.gz")
    for number, task in enumerate(tasks, 1):
        share = task["gpu_milli"] if task["num_gpu"] != "0" else ""
        lines.append(f"{number},{task['cpu_milli']},{task['memory_mib']},{task['num_gpu']},{share}")
    path = tmp_path / "requests.csv"
    path.write_text("\n".join(lines) + "\n")
    result = bridge.simulate(
        Workload.from_jobs([(number, number, 10**9, 1, 10**9) for number in range(1, len(tasks) + 1)]),
        Platform(hosts),
        als="recorded",
        bls=STUDY["Pack"](),
        allocator=allocator,
        constraints=ConstraintOptions(requests=str(path)),
    )
    assert result.ledger.gpus is not None
    assert (int(result.ledger.gpus.milli.sum()), result.metrics["state_rejected"]) == (milli, rejected)


@pytest.fixture
def alibaba(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files of the page on packing, which is the current one."""
    monkeypatch.chdir(tmp_path)
    for path in (STUDIES / "alibaba_gpu.py", *STUDIES.glob("gpu-*.toml")):
        shutil.copy(path, tmp_path)
    for name, kind in (("nodes.csv", "nodes"), ("openb_pod_list_default.csv", "tasks")):
        packed = (shared / "traces" / f"alibaba-gpu-2023-{kind}.csv.gz").read_bytes()
        Path(name).write_bytes(gzip.decompress(packed))
    runpy.run_path("alibaba_gpu.py")["main"]("nodes.csv", "openb_pod_list_default.csv")
    return tmp_path


def test_the_page_on_packing(alibaba: Path) -> None:
    words = ["gpu-packing-tasks.toml", "--platform", "alibaba.toml", "--requests", "requests.csv", "--trace", "none"]
    succeeds("run", *words, "--als", "recorded", "--bls", "alibaba_gpu.py:Pack", "--out", "first-fit")
    found = json.loads(Path("first-fit/run.json").read_text())["metrics"]
    row = ["`first-fit`", f"{100 * found['gpu_utilisation']:.2f}", str(found["state_rejected"])]
    assert row == table(section(PAGE, "Tasks that never end"))[0]


def test_the_page_on_the_recorded_times(alibaba: Path) -> None:
    tasks = rows(alibaba / "openb_pod_list_default.csv")
    ran = [task for task in tasks if task["scheduled_time"]]
    kinds = {
        "without GPUs": [task["num_gpu"] == "0" for task in ran],
        "a share of a GPU": [0 < int(task["gpu_milli"]) < 1000 for task in ran],
        "one GPU": [(task["num_gpu"], task["gpu_milli"]) == ("1", "1000") for task in ran],
        "several GPUs": [int(task["num_gpu"]) > 1 for task in ran],
        "all": [True] * len(ran),
    }
    wait = np.array([int(float(task["scheduled_time"])) - int(task["creation_time"]) for task in ran])
    found = [
        [
            kind,
            f"{sum(some):,}",
            f"{wait[some].mean():.1f}",
            f"{np.percentile(wait[some], 95):.0f}",
            f"{wait[some].max():,}",
        ]
        for kind, some in kinds.items()
    ]
    assert found == table(section(PAGE, "The recorded times"))
    words = [
        "gpu-replay-tasks.toml",
        "--platform",
        "alibaba.toml",
        "--requests",
        "replay-requests.csv",
        "--trace",
        "none",
    ]
    succeeds("run", *words, "--als", "recorded", "--backfill", "easy", "--out", "replay")
    metrics = json.loads(Path("replay/run.json").read_text())["metrics"]
    assert metrics["max_wait_ns"] == 0
    assert f"uses {100 * metrics['gpu_utilisation']:.2f} % of the GPUs" in " ".join(
        section(PAGE, "The recorded times").split()
    )
