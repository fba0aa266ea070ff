"""Everything that the batch level can do with or to a job, in every coupling: one result, whole ledgers, whole traces."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bridge
from bls import Partition, Platform, Rules, SeenJob, Surroundings, View
from bls.machine.platform import HostGroup
from bls.workloads.workload import Workload
from traces.checks.ledger import check_ledger
from traces.exporters.otf2_checks import check_nesting
from traces.ledger import STATES, WHY

S = 10**9
HOSTS = (HostGroup(2, 4, 40.0, (("gpu", 2),)), HostGroup(2, 4, 60.0))
MACHINE = Platform(HOSTS)

FAILURES = "host,down_s,up_s\n0,55,80\n2,100,140\n1,200,201\n3,330,500\n0,400,420\n"
WINDOWS = """
[[maintenance]]
name = "service"
begin = "15s"
end = "60s"
hosts = "0"

[[reservation]]
name = "lecture"
begin = "90s"
end = "300s"
cores = "12-15"
jobs = "110 112 117"
"""
REQUESTS = "job_id,unit_cores,gpu\n103,2,1\n105,1,1\n115,4,\n"


def jobs(n: int = 40) -> Workload:
    """Jobs 100, 101, … of 1 to 12 cores, every fifth with an estimate that is too short, some withdrawn, some in a chain."""
    rows = [(100 + k, 11 * k, 20 + 13 * k % 60, 1 + 5 * k % 12, (10 if k % 5 == 0 else 90)) for k in range(n)]
    made = Workload.from_jobs(rows)
    number = np.arange(n)
    preceding = np.where(number % 4 == 3, made.job_id - 2, -1)
    cancel = np.where(number % 9 == 5, made.submit_ns + 40 * S, -1)
    return replace(
        made,
        preceding=preceding,
        think_ns=np.where(preceding >= 0, 7 * S, 0),
        cancel_ns=cancel,
        user=number % 3,
        queue=np.where(made.cores <= 6, 3, 7),
    )


def running_at_first() -> Workload:
    """The first three run already at time 0."""
    made = jobs()
    first = np.arange(len(made)) < 3
    cores = np.where(first, 4, made.cores)
    submit_ns = np.where(first, 0, made.submit_ns)
    return replace(made, submit_ns=submit_ns, cores=cores, preset=first.astype(np.int64), cancel_ns=np.array(-1))


def of_unknown_run_times() -> Workload:
    """Every ninth was withdrawn before it started, so that nobody knows how long it would have run."""
    made = jobs()
    gone = made.cancel_ns >= 0
    return replace(made, run_ns=np.where(gone, 1, made.run_ns), status=np.where(gone, 5, -1))


class Impatient:
    """Starts what fits in the order of size, and looks again after three seconds."""

    name = "impatient"

    def decide(self, view: View) -> list[SeenJob]:
        free, chosen = view.free_cores, []
        for job in sorted(view.waiting, key=lambda job: (-job.cores, job.job_id)):
            if job.cores <= free and view.now_ns >= job.submit_ns + 2 * S:
                free -= job.cores
                chosen.append(job)
        if view.n_waiting:
            view.wake_at(view.now_ns + 3 * S)
        return chosen


@dataclass(frozen=True)
class Feature:
    """Options of a run, and the states in which some of its jobs must end, so that it is a test of them."""

    options: dict[str, Any]
    ends: tuple[str, ...] = ("completed",)
    platform: Platform = MACHINE
    files: dict[str, str] = field(default_factory=dict)
    workload: Callable[[], Workload] = jobs

    def simulated(self, folder: Path, **options: Any) -> bridge.Result:
        given: dict[str, Any] = {"als": "ss", "variation": 0.25, "tasks_per_core": 3, "seed": 5}
        given |= self.options | options
        names: dict[str, Any] = {}
        for name, text in self.files.items():
            if text.startswith("mtbf"):
                names[name] = text
                continue
            path = folder / (f"{name}.toml" if name == "windows" else f"{name}.csv")
            path.write_text(text, encoding="utf-8")
            names[name] = str(path)
        around = Surroundings(dependencies=given.pop("dependencies", False), **names)
        return bridge.simulate(self.workload(), self.platform, surroundings=around, **given)


PARTITIONED = Platform(
    HOSTS,
    partitions=(
        Partition("small", hosts="0-1", swf_queues=(3,), priority=2, max_cores_per_user=6),
        Partition("wide", hosts="0-3", swf_queues=(7,)),
    ),
)

EVERYTHING = Rules("conservative", kill_at_walltime=True, charge_decisions=True, decision_cost_ns=S)

FEATURES = {
    "killed": Feature({"rules": Rules("easy", kill_at_walltime=True)}, ("completed", "killed")),
    "cancelled": Feature({"rules": Rules("conservative")}, ("completed", "cancelled")),
    "requeued": Feature({"backfill": "easy"}, ("completed", "requeued"), files={"failures": FAILURES}),
    "lost": Feature({"rules": Rules(on_failure="lose")}, ("completed", "failed"), files={"failures": FAILURES}),
    "mean-time": Feature({"backfill": "2"}, ("completed", "requeued"), files={"failures": "mtbf:400s,mttr:20s"}),
    "chain": Feature({"dependencies": True, "backfill": "easy"}),
    "windows": Feature({"backfill": "conservative"}, ("completed", "requeued"), files={"windows": WINDOWS}),
    "whole-host": Feature({"allocator": "whole-host", "backfill": "easy"}),
    "conservative": Feature({"rules": Rules("conservative", "rebuild")}),
    "wfp3": Feature({"bls": "wfp3", "backfill": "easy"}),
    "charged": Feature({"rules": Rules("easy", charge_decisions=True, decision_cost_ns=3 * S)}),
    "python": Feature({"bls": Impatient()}),
    "python-cut": Feature(
        {"bls": Impatient(), "rules": Rules(kill_at_walltime=True), "dependencies": True},
        ("completed", "killed", "requeued", "cancelled"),
        files={"failures": FAILURES},
    ),
    "python-charged": Feature({"bls": Impatient(), "rules": Rules(charge_decisions=True, decision_cost_ns=2 * S)}),
    "preset": Feature({"backfill": "easy"}, workload=running_at_first),
    "withdrawn": Feature({"backfill": "conservative"}, ("completed", "cancelled"), workload=of_unknown_run_times),
    "units": Feature({"backfill": "conservative"}, files={"requests": REQUESTS}),
    "partitions": Feature({"backfill": "easy"}, platform=PARTITIONED),
    "all": Feature(
        {"rules": EVERYTHING, "dependencies": True},
        ("completed", "killed", "requeued", "cancelled"),
        files={"failures": FAILURES, "windows": WINDOWS, "requests": REQUESTS},
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def inline(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], bridge.Result]:
    return cache(lambda name: FEATURES[name].simulated(tmp_path_factory.mktemp("files")))


def assert_same_ledger(result: bridge.Result, expected: bridge.Result) -> None:
    """Every column of both records, to the last bit."""
    for records in ("jobs", "tasks"):
        ours, theirs = getattr(result.ledger, records), getattr(expected.ledger, records)
        for column in fields(theirs):
            left, right = np.asarray(getattr(ours, column.name)), np.asarray(getattr(theirs, column.name))
            assert left.dtype == right.dtype, column.name
            assert left.tobytes() == right.tobytes(), (records, column.name)


@pytest.mark.parametrize(("coupling", "workers"), [("pool", 1), ("pool", 2), ("process", 2)])
@pytest.mark.parametrize("name", FEATURES)
def test_one_result(
    name: str, coupling: str, workers: int, inline: Callable[[str], bridge.Result], tmp_path: Path
) -> None:
    expected = inline(name)
    result = FEATURES[name].simulated(tmp_path, coupling=coupling, workers=workers)
    assert result.coupling["retries"] == 0
    check_ledger(result.ledger)
    assert_same_ledger(result, expected)
    assert result.notes.left_ns.tolist() == expected.notes.left_ns.tolist()
    assert dict(result.metrics) == dict(expected.metrics)


@pytest.mark.parametrize("name", FEATURES)
def test_what_is_meant_to_happen_does(name: str, inline: Callable[[str], bridge.Result]) -> None:
    feature, result = FEATURES[name], inline(name)
    check_ledger(result.ledger)
    records = result.ledger.jobs
    ends = {STATES[k] for k in records.state.tolist()}
    assert set(feature.ends) <= ends, ends
    # Nobody is lost: each job number has one attempt that is the last, and it is no requeued one.
    final = records.state != STATES.index("requeued")
    assert sorted(records.job_id[final].tolist()) == list(range(100, 140))
    started = records.start_ns >= 0
    assert ((records.why == WHY.index("never")) == ~started).all()
    assert (records.eligible_ns[started] <= records.start_ns[started]).all()


@pytest.mark.parametrize("name", ["python-cut", "all", "requeued", "cancelled"])
def test_traces_of_attempts_that_were_cut(name: str, inline: Callable[[str], bridge.Result], tmp_path: Path) -> None:
    result = inline(name)
    path = result.write_trace(tmp_path / "trace")
    check_nesting(path)
    assert shutil.which("otf2-print"), "install it: tools/install_system_packages.sh otf2-tools"
    printed = subprocess.run(["otf2-print", str(path)], capture_output=True, text=True, check=True).stdout
    enters, leaves = (sum(line.startswith(f"{kind} ") for line in printed.splitlines()) for kind in ("ENTER", "LEAVE"))
    assert enters == leaves > 0
