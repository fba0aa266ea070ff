"""GPUs of a published trace, allocated until no more tasks fit."""

import csv
import gzip
from pathlib import Path
from typing import Any

import pytest

import bridge
from bls.machine.platform import HostGroup, Platform
from bls.scheduler_options import ConstraintOptions
from bls.workloads.workload import Workload


class Pack:
    """Jobs in order of arrival; one that does not fit is rejected."""

    name = "pack"

    def decide(self, view: Any) -> Any:
        trial = view.trial()
        for job in view.waiting:
            if trial.place(job) is None:
                view.reject(job, "full")
            else:
                yield job


def rows(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt") as file:
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
    """The numbers are of a script that knows only the tables and the rules. A task is one core, of which there are enough."""
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
        bls=Pack(),
        allocator=allocator,
        constraints=ConstraintOptions(requests=str(path)),
    )
    assert result.ledger.gpus is not None
    assert (int(result.ledger.gpus.milli.sum()), result.metrics["state_rejected"]) == (milli, rejected)
