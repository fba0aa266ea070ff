"""What the view shows beside the clock and the queue: hosts, requests, limits, windows, dependencies, what is left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from inside import column

from bls import BatchSimulator, Partition, Platform, SeenJob, Surroundings, View, allocator
from bls.constraints.options import surround
from bls.machine.platform import HostGroup
from bls.workloads.workload import Workload
from traces.ledger import STATES

S = 10**9

PLATFORM = Platform(
    (HostGroup(2, 4, 40.0, {"gpu": 2, "memory_gb": 1}), HostGroup(1, 6, 90.0)),  # type: ignore[arg-type]
    licences={"solver": 3},  # type: ignore[arg-type]
    partitions=(
        Partition("day", hosts="0-1", default=True, priority=2, max_cores=6, max_running_jobs=3, max_cores_per_user=5),
        Partition("night", hosts="1-2", swf_queues=(5,), max_time_ns=100 * S),
    ),
)
REQUESTS = "job_id,unit_cores,gpu,memory_mb,solver\n1,2,1,100,2\n3,1,0,0,1\n"
WINDOWS = Path(__file__).with_name("tables").joinpath("view_windows.toml").read_text("utf-8")
FAILURES = "host,down_s,up_s\n2,5,50\n"
JOBS = [
    {"job_id": 1, "submit_s": 0, "run_s": 20, "cores": 4, "estimate_s": 30, "user": 7, "memory_kb": 12, "application": 3},
    {"job_id": 2, "submit_s": 0, "run_s": 20, "cores": 2, "queue": 5, "user": 8},
    {"job_id": 3, "submit_s": 0, "run_s": 5, "cores": 1, "preceding": 1, "think_s": 40, "user": 7},
    {"job_id": 4, "submit_s": 1, "run_s": 50, "cores": 2},
    {"job_id": 5, "submit_s": 310, "run_s": 5, "cores": 1},
]  # fmt: skip


class Notes:
    """Starts jobs where the engine may and the view says so, and keeps what it has seen at each instant."""

    name = "notes"

    def __init__(self) -> None:
        self.seen: dict[int, Any] = {}
        self.jobs: dict[int, SeenJob] = {}

    def decide(self, view: View) -> Iterator[Any]:
        left = view.free_resources
        self.seen[view.now_ns // S] = {
            "free": view.free_by_host.tolist(),
            "gpu": left[:, view.platform.resource_names.index("gpu")].tolist(),
            "solver": view.free_licences["solver"],
            "down": view.down,
            "up": [host.up_again_ns for host in view.hosts],
            "held": [(job.job_id, job.depends_on, job.think_ns, job.dependency_holds) for job in view.held],
            "day": (
                view.partitions[0].running_jobs,
                view.partitions[0].running_cores,
                view.partitions[0].running_of(7),
            ),
        }
        for job in view.waiting:
            self.jobs[job.job_id] = job
            if job.reservation is not None:
                begin_ns = next(window.begin_ns for window in view.windows if window.name == job.reservation)
                if view.now_ns < begin_ns:
                    view.wake_at(begin_ns)
                    continue
            if view.partition_of(job).allows(job):
                yield job


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Notes:
    folder, noted = tmp_path_factory.mktemp("view"), Notes()
    files = {"requests": (REQUESTS, "csv"), "windows": (WINDOWS, "toml"), "failures": (FAILURES, "csv")}
    for name, (text, ending) in files.items():
        (folder / f"{name}.{ending}").write_text(text)
    said = Surroundings(dependencies=True, **{name: str(folder / f"{name}.{end}") for name, (_, end) in files.items()})
    made = Workload.from_jobs(JOBS)
    jobs, around = surround(replace(made, extras={"energy": np.arange(5) * 10}), PLATFORM, said)
    simulator = BatchSimulator(
        jobs, PLATFORM, noted, allocator("first-fit"), circumstances=around, recorded=True, slack=2.0
    )
    while simulator.advance(10**6):
        pass
    became = [STATES[state] for state in column(simulator.state, "jobs.STATE")[: simulator.rows]]
    assert [state for state in became if state != "requeued"] == ["completed"] * 5
    return noted


def test_a_job_is_shown_with_all_that_a_scheduler_knows(notes: Notes) -> None:
    one, two, three, four, five = (notes.jobs[number] for number in (1, 2, 3, 4, 5))
    asked = one.request
    assert (asked.units, asked.unit_cores, asked.switches) == (2, 2, 0)
    assert dict(asked.resources) == {"gpu": 1, "memory": 100 * 1024}
    assert dict(asked.licences) == {"solver": 2}
    assert (one.walltime_ns, one.estimate_ns, one.deadline_ns) == (30 * S, 30 * S, 60 * S)
    assert (one.memory_kb, one.application, one.user, dict(one.extras)) == (12, 3, 7, {"energy": 0})
    assert dict(three.extras) == {"energy": 20}
    assert [job.partition_name for job in (one, two, three)] == ["day", "night", "day"]
    assert (one.depends_on, one.think_ns, one.dependency_holds) == (None, 0, True)
    assert (three.depends_on, three.think_ns, three.dependency_holds, three.eligible_ns) == (1, 40 * S, True, 60 * S)
    assert [job.reservation for job in (three, four, five)] == [None, "lecture", None]
    assert dict(five.request.resources) == {"gpu": 0, "memory": 0}


def test_what_nobody_knows_is_not_shown(notes: Notes) -> None:
    job = notes.jobs[1]
    for name in ("run_ns", "status", "wait_ns", "cancel_ns", "end_ns"):
        assert not hasattr(job, name)
        assert not hasattr(job.facts, name)


def test_what_is_free_at_each_instant(notes: Notes) -> None:
    seen = notes.seen
    # Job 1 holds 4 cores of host 0 with a gpu for each 2, job 2 two of host 1, which is of both partitions.
    held = [(3, 1, 40 * S, False)]
    assert seen[0] == {
        "free": [4, 4, 6], "gpu": [2, 2, 0], "solver": 3, "down": [], "up": [None] * 3, "held": held, "day": (0, 0, (0, 0)),
    }  # fmt: skip
    assert seen[1] == {
        "free": [0, 2, 6], "gpu": [0, 2, 0], "solver": 1, "down": [], "up": [None] * 3, "held": held, "day": (1, 4, (1, 4)),
    }  # fmt: skip
    # Nobody knows when a host is repaired that has failed.
    assert (seen[5]["free"], seen[5]["down"], seen[5]["up"]) == ([0, 2, 0], [2], [None] * 3)
    assert (seen[20]["free"], seen[20]["gpu"], seen[20]["solver"], seen[20]["held"]) == ([4, 4, 0], [2, 2, 0], 3, held)
    assert (seen[50]["free"], seen[50]["down"]) == ([4, 4, 6], [])
    assert seen[60]["held"] == []
    assert seen[65]["free"] == [4, 4, 6]
    assert set(seen) == {0, 1, 5, 20, 50, 60, 65, 200, 250, 260, 300, 310, 315}
    # The end of a maintenance is known.
    assert (seen[310]["free"], seen[310]["down"], seen[310]["up"]) == ([4, 4, 0], [2], [None, None, 340 * S])


def test_hosts_partitions_and_windows() -> None:
    jobs = Workload.from_jobs([(1, 0, 10, 1, 10)])
    view = BatchSimulator(jobs, PLATFORM, Notes(), allocator("first-fit"), recorded=True).view
    hosts = view.hosts
    assert [list(host.cores) for host in hosts] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11, 12, 13]]
    assert [(host.number, host.n_cores, host.speed_gflops) for host in hosts] == [
        (0, 4, 40.0),
        (1, 4, 40.0),
        (2, 6, 90.0),
    ]
    assert dict(hosts[1].resources) == dict(hosts[1].free_resources) == {"gpu": 2, "memory": 2**20}
    assert dict(hosts[2].resources) == {"gpu": 0, "memory": 0}
    assert [host.partitions for host in hosts] == [("day",), ("day", "night"), ("night",)]
    assert hosts is view.hosts
    day, night = view.partitions
    assert (day.name, day.priority, day.hosts, day.n_cores) == ("day", 2, (0, 1), 8)
    assert (day.limits.max_running_jobs, day.limits.max_cores_per_user, day.limits.max_cores) == (3, 5, 6)
    assert (night.limits.max_running_jobs, night.limits.max_time_ns, night.hosts) == (None, 100 * S, (1, 2))
    assert view.windows == ()
    plain = BatchSimulator(jobs, Platform(), Notes(), allocator("first-fit"), recorded=True).view
    assert [(one.name, one.hosts, one.n_cores) for one in plain.partitions] == [("all", (0, 1, 2, 3), 256)]


def test_windows_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "w.toml"
    path.write_text(WINDOWS)
    jobs, around = surround(Workload.from_jobs(JOBS), PLATFORM, Surroundings(windows=str(path)))
    view = BatchSimulator(jobs, PLATFORM, Notes(), allocator("first-fit"), circumstances=around, recorded=True).view
    lecture, service = view.windows
    assert (lecture.kind, lecture.cores, lecture.jobs) == ("reservation", ((0, 2), (4, 5)), "4")
    assert (service.kind, service.name, service.begin_ns, service.end_ns) == (
        "maintenance",
        "service",
        300 * S,
        340 * S,
    )
    assert service.cores == ((8, 14),)
    assert [service.meets(*span) for span in ((0, 300 * S), (0, 300 * S + 1), (340 * S, 341 * S))] == [
        False,
        True,
        False,
    ]


def test_it_only_shows() -> None:
    jobs = Workload.from_jobs(JOBS)
    view = BatchSimulator(jobs, PLATFORM, Notes(), allocator("first-fit"), recorded=True).view
    for shown_values in (view.is_free, view.free_by_host, view.free_resources, view.platform.first_core):
        with pytest.raises(ValueError, match="read-only"):
            shown_values[0] = 1
    for shown, name in ((view.hosts[0], "number"), (view.partitions[0], "n_cores")):
        with pytest.raises(FrozenInstanceError):
            setattr(shown, name, 5)
    for mapping in (view.free_licences, view.hosts[0].resources, view.hosts[0].free_resources):
        with pytest.raises(TypeError):
            mapping["gpu"] = 9  # type: ignore[index]
