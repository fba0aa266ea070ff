"""The view's columns say of each job what the job itself says, whatever jobs ask for and wherever they run."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bridge
from bls import Partition, Platform, SeenJob, Surroundings, View
from bls.machine.platform import HostGroup
from bls.workloads.workload import Workload

PLATFORM = Platform(
    (HostGroup(3, 4, 4.0, {"gpu": 2, "memory_gb": 1}), HostGroup(2, 6, 6.0)),  # type: ignore[arg-type]
    licences={"solver": 3},  # type: ignore[arg-type]
    partitions=(Partition("day", hosts="0-4", default=True), Partition("night", hosts="2-4", swf_queues=(1,))),
)
OF_WORKLOAD = ("job_id", "submit_ns", "cores", "user", "group", "queue", "partition", "qos", "application", "memory_kb")
OF_JOBS = (*OF_WORKLOAD, "eligible_ns", "estimate_ns", "attempt", "row", "walltime_ns", "deadline_ns")


class Checks:
    """Starts what has a place, in the order of arrival, and sees that the columns agree with the jobs."""

    name = "checks"
    may_not_fit = True

    def __init__(self) -> None:
        self.looks = self.most_running = self.attempts = self.several_hosts = 0

    def decide(self, view: View) -> Iterator[SeenJob]:
        self.check(view)
        free = view.free_cores
        for job in view.waiting:
            if job.cores <= free:
                free -= job.cores
                yield job

    def check(self, view: View) -> None:
        for columns, jobs in ((view.waiting_columns, list(view.waiting)), (view.running_columns, list(view.running))):
            assert columns.jobs == tuple(jobs)
            assert len(columns) == len(jobs)
            for name in OF_JOBS:
                column = getattr(columns, f"{name}s" if name == "row" else name)
                assert column.dtype == np.int64
                assert not column.flags.writeable
                assert column.tolist() == [getattr(job, name) for job in jobs], name
            assert columns.units.tolist() == [job.request.units for job in jobs]
            assert columns.unit_cores.tolist() == [job.request.unit_cores for job in jobs]
            assert columns.switches.tolist() == [job.request.switches for job in jobs]
            kinds, licences = view.platform.resource_names, view.platform.licence_names
            assert columns.resources.shape == (len(jobs), len(kinds))
            assert columns.resources.tolist() == [[job.request.resources[name] for name in kinds] for job in jobs]
            assert columns.licences.tolist() == [[job.request.licences[name] for name in licences] for job in jobs]
            assert [view.partitions[k].name for k in columns.partition_place] == [job.partition_name for job in jobs]
            self.attempts += sum(job.attempt for job in jobs)
        running = view.running_columns
        assert running.start_ns.tolist() == [job.start_ns for job in view.running]
        assert running.expected_end_ns.tolist() == [job.expected_end_ns for job in view.running]
        host_of = np.repeat(np.arange(view.platform.n_hosts), np.diff(view.platform.first_core))
        for place, job in enumerate(view.running):
            held = Counter(int(host_of[core]) for lo, hi in view.allocation(job) for core in range(lo, hi))
            mine = slice(*running.host_first[place : place + 2].tolist())
            assert running.host[mine].tolist() == sorted(held)
            assert running.host_cores[mine].tolist() == [held[host] for host in sorted(held)]
            assert (running.host_units[mine] * job.request.unit_cores == running.host_cores[mine]).all()
            self.several_hosts += len(held) > 1
        # What runs and what is free is all there is.
        taken = np.zeros((view.platform.n_hosts, len(view.platform.resource_names)), np.int64)
        units = np.repeat(running.resources, np.diff(running.host_first), axis=0) * running.host_units[:, None]
        np.add.at(taken, running.host, units)
        assert (taken + view.free_resources == view.platform.host_resources).all()
        self.looks += 1
        self.most_running = max(self.most_running, view.n_running)


def drawn(n: int, seed: int) -> tuple[list[dict[str, Any]], str]:
    rng = random.Random(seed)
    jobs, lines = [], ["job_id,unit_cores,gpu,memory_mb,solver"]
    for number in range(1, n + 1):
        unit, units = rng.choice([1, 2]), rng.randint(1, 4)
        run = rng.randint(1, 30)
        jobs.append(
            {
                "job_id": number, "submit_s": rng.randint(0, 3 * n), "run_s": run, "cores": unit * units, "estimate_s": run + 5,
                "user": rng.randint(-1, 3), "queue": rng.randint(-1, 1), "application": rng.randint(-1, 5),
            }
        )  # fmt: skip
        if jobs[-1]["queue"] == 1 and units * unit > 2:  # some of its hosts have no cards
            lines.append(f"{number},{unit},0,0,{rng.randint(0, 2)}")
        else:
            lines.append(f"{number},{unit},{rng.randint(0, 1)},{rng.choice([0, 100])},{rng.randint(0, 2)}")
    return sorted(jobs, key=lambda job: job["submit_s"]), "\n".join(lines) + "\n"


def test_columns_agree_with_jobs(tmp_path: Path) -> None:
    jobs, requests = drawn(80, 5)
    (tmp_path / "r.csv").write_text(requests)
    (tmp_path / "f.csv").write_text("host,down_s,up_s\n1,20,30\n3,60,65\n0,100,101\n")
    around = Surroundings(requests=str(tmp_path / "r.csv"), failures=str(tmp_path / "f.csv"))
    checks = Checks()
    bridge.simulate(Workload.from_jobs(jobs), PLATFORM, bls=checks, als="recorded", surroundings=around)
    assert checks.looks > 100
    assert min(checks.most_running, checks.attempts, checks.several_hosts) > 3


def test_plain_jobs_have_columns_of_resources_too() -> None:
    checks = Checks()
    bridge.simulate(Workload.from_jobs(drawn(40, 6)[0]), PLATFORM, bls=checks, als="recorded")
    assert checks.looks > 40


def test_there_are_no_others() -> None:
    class Asks(Checks):
        def check(self, view: View) -> None:
            assert not hasattr(view.waiting_columns, "run_ns")
            with pytest.raises(ValueError, match="read-only"):
                view.waiting_columns.cores[0] = 1
            assert view.waiting_columns is view.waiting_columns
            assert view.waiting_columns.cores is view.waiting_columns.cores

    bridge.simulate(Workload.from_jobs(drawn(3, 7)[0]), PLATFORM, bls=Asks(), als="recorded")
