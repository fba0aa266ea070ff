"""The view's columns say of each job what the job itself says; and trials of placements what the engine does."""

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
from bls.machine.host_power import HostPower
from bls.machine.platform import HostGroup
from bls.power.options import PowerOptions
from bls.workloads.workload import Workload
from traces.base.errors import PluginError

S = 10**9
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


WINDOWS = Path(__file__).with_name("tables").joinpath("view_columns_windows.toml").read_text("utf-8")


class Tries:
    """Starts what a trial places, in the order of arrival, and notes where that was."""

    name = "tries"

    def __init__(self, *, names: bool = False) -> None:
        self.placed: dict[int, list[int]] = {}
        self.names = names
        self.refused = 0

    def decide(self, view: View) -> Iterator[Any]:
        trial = view.trial()
        assert trial.free_cores == view.free_cores
        for job in view.waiting:
            free = trial.free_cores
            cores = trial.place(job)
            if cores is None:
                self.refused += 1
                assert trial.free_cores == free
                continue
            assert trial.free_cores == free - len(cores)
            self.placed[job.row] = cores
            yield (job, cores) if self.names else job


class Waits:
    """The same by the engine alone: everybody is tried, and who has no place waits."""

    name = "waits"
    may_not_fit = True

    def decide(self, view: View) -> list[SeenJob]:
        return list(view.waiting)


def numbers(allocation: str) -> list[int]:
    ends = [part.split("-") for part in allocation.split()]
    return [core for one in ends for core in range(int(one[0]), int(one[-1]) + 1)]


LIMITED = Platform(
    PLATFORM.hosts,
    licences={"solver": 3},  # type: ignore[arg-type]
    partitions=(
        Partition("day", hosts="0-4", default=True, max_running_jobs=4, max_cores_per_user=6),
        Partition("night", hosts="2-4", swf_queues=(1,), max_running_cores=8),
    ),
)


@pytest.mark.parametrize(
    ("allocator", "kind"),
    # Units of several cores in one run of cores are on no machine of such hosts.
    [
        ("contiguous", "plain"),
        ("random", "asks"),
        ("whole-host", "limits"),
        ("topology", "asks"),
        ("best-fit", "limits"),
    ],
)
def test_a_trial_says_what_the_engine_does(tmp_path: Path, allocator: str, kind: str) -> None:
    jobs, requests = drawn(60, 11)
    around = Surroundings()
    if kind != "plain":
        for name, text in (
            ("r.csv", requests),
            ("w.toml", WINDOWS),
            ("f.csv", "host,down_s,up_s\n3,60,65\n0,100,101\n"),
        ):
            (tmp_path / name).write_text(text)
        files = {name: str(tmp_path / file) for name, file in (("requests", "r.csv"), ("failures", "f.csv"))}
        around = Surroundings(**files, windows=str(tmp_path / "w.toml"))
    machine = {"plain": Platform((HostGroup(4, 6, 6.0),)), "asks": PLATFORM, "limits": LIMITED}[kind]
    workload = Workload.from_jobs(jobs)
    options: dict[str, Any] = {"als": "recorded", "allocator": allocator, "surroundings": around, "check": True}
    # Of whole hosts ``whole-host`` may take one that is not needed, as it goes by number; a policy may not name such.
    for names in (False, True)[: 1 if allocator == "whole-host" else 2]:
        tries = Tries(names=names)
        result = bridge.run(_scenario(workload, machine, tries, options), check=True)
        waits = bridge.run(_scenario(workload, machine, Waits(), options))
        assert tries.refused > 20
        assert {row: numbers(text) for row, text in enumerate(result.jobs.allocation.tolist()) if text} == tries.placed
        assert result.jobs.allocation.tolist() == waits.jobs.allocation.tolist()
        assert result.jobs.start_ns.tolist() == waits.jobs.start_ns.tolist()


def _scenario(workload: Workload, machine: Platform, order: Any, options: dict[str, Any]) -> bridge.Scenario:
    said = bridge.Options(bls=order, als="recorded", allocator=options["allocator"], around=options["surroundings"])
    return bridge.Scenario.of(workload, machine, said, known_jobs=workload.job_id)


def simulated(decide: Any, **options: Any) -> bridge.Result:
    order = type("Mine", (), {"name": "mine", "decide": decide})()
    rows = [(1, 0, 10, 2, 10), (2, 0, 10, 3, 10), (3, 1, 10, 2, 10)]
    return bridge.simulate(
        Workload.from_jobs(rows), Platform((HostGroup(2, 2, 2.0),)), bls=order, als="recorded", **options
    )


def test_cores_that_are_named_are_tried_too() -> None:
    def decide(_: object, view: View) -> Iterator[Any]:
        trial, waiting = view.trial(), list(view.waiting)
        if view.now_ns == 0:
            one, other = waiting
            assert trial.take(one, [3, 1])
            assert not trial.take(other, [0, 1, 2])
            assert trial.place(other) is None
            assert trial.free_cores == 2
            assert view.trial().place(other) == [0, 1, 2], "each trial is one of its own"
            yield one, [1, 3]
        else:
            yield from (job for job in waiting if trial.place(job))

    result = simulated(decide)
    assert result.jobs.allocation.tolist() == ["1 3", "0-2", "0 2"]
    assert (result.jobs.start_ns // S).tolist() == [0, 11, 1]


@pytest.mark.parametrize(
    ("asks", "message"),
    [
        (lambda trial, job: trial.place(7), "trial: place() was given 7; allowed: jobs of view.waiting"),
        (
            lambda trial, job: (trial.place(job), trial.place(job)),
            "place() was given job 1, which it has placed already",
        ),
        (lambda trial, job: trial.take(job, [0]), "placed job 1 on 1 core, core 0; it asks for 2"),
        (lambda trial, job: trial.take(job, [0, 9]), "placed job 1 on 9: core: 9 is out of range; allowed: 0 to 3"),
    ],
)
def test_mistakes(asks: Any, message: str) -> None:
    def decide(_: object, view: View) -> Any:
        asks(view.trial(), next(iter(view.waiting)))

    with pytest.raises(PluginError) as caught:
        simulated(decide)
    assert str(caught.value).startswith("batch policy mine, at 0 ns: ")
    assert message in str(caught.value)


def test_a_trial_is_over_when_the_policy_has_answered() -> None:
    kept: list[Any] = []

    def decide(_: object, view: View) -> Any:
        kept.append(view.trial())
        kept[0].place(next(iter(view.waiting)))
        return [next(iter(view.waiting))]

    with pytest.raises(
        PluginError, match=r"at 1000000000 ns: trial: place\(\) after decide\(\); allowed: while it decides"
    ):
        simulated(decide)


def test_a_trial_is_for_a_policy_that_decides_and_not_under_limits_to_power() -> None:
    class Looks:
        name, every_ns = "looks", None

        def look(self, view: View) -> None:
            view.trial()

    with pytest.raises(
        PluginError, match=r"^observer looks, at 0 ns: trial\(\) is for a batch policy while it decides"
    ):
        simulated(lambda _, view: list(view.waiting)[: view.free_cores // 3], observers=[Looks()])
    power = PowerOptions(limits=[(0, 10**9, 10**6)], fallback="hold")
    machine = Platform((HostGroup(2, 2, 2.0, power=HostPower(1, [(1, 4)])),))
    order = type("Mine", (), {"name": "mine", "decide": lambda _, view: [view.trial()]})()
    with pytest.raises(PluginError, match=r"trial\(\) is not for runs under a limit to power"):
        bridge.simulate(Workload.from_jobs([(1, 0, 10, 2, 10)]), machine, bls=order, als="recorded", power=power)
