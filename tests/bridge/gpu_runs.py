"""Small runs of jobs with GPUs, for several files of tests."""

from pathlib import Path
from typing import Any

import bridge
from bls.machine.platform import HostGroup, Platform
from bls.scheduler_options import ConstraintOptions
from bls.workloads.workload import Workload
from traces.checks.ledger import check_ledger

MACHINE = Platform((HostGroup(2, 4, 4.0, gpus=2),))
S = 10**9


def simulated(jobs: list[tuple[int, ...]], requests: str, tmp_path: Path, **options: Any) -> Any:
    path = tmp_path / "requests.csv"
    path.write_text(requests)
    given = {"als": "recorded", "platform": MACHINE, "constraints": ConstraintOptions(requests=str(path))} | options
    result = bridge.simulate(Workload.from_jobs(jobs), **given)
    check_ledger(result.ledger)
    return result


JOBS = [(1, 0, 10, 1, 10), (2, 0, 10, 1, 10), (3, 1, 10, 2, 10)]
ASKED = "job_id,gpus_per_task\n1,1\n2,2\n3,1\n"
TWO_KINDS = Platform(
    (HostGroup(2, 4, 4.0, gpus=2, gpu="a"), HostGroup(1, 4, 4.0, gpus=1, gpu="b"), HostGroup(1, 4, 4.0))
)
