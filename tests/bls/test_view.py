"""The view: jobs, hosts, limits, windows and free resources; its columns; and trials of placements."""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from inside import column, held
from tables import table_rows

import bridge
from bls import BatchSimulator, ConstraintOptions, Partition, Platform, Rules, SeenJob, View, allocator
from bls.constraints.job_constraints import constrain
from bls.machine.host_power import HostPower
from bls.machine.platform import HostGroup
from bls.power.options import Power
from bls.workloads.workload import Workload
from traces.base.errors import PluginError
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
JOBS = table_rows(__file__, "jobs")


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
    said = ConstraintOptions(
        dependencies=True, **{name: str(folder / f"{name}.{end}") for name, (_, end) in files.items()}
    )
    made = Workload.from_jobs(JOBS)
    jobs, constraints = constrain(replace(made, extras={"energy": np.arange(5) * 10}), PLATFORM, said)
    simulator = BatchSimulator(
        jobs, PLATFORM, noted, allocator("first-fit"), constraints=constraints, recorded=True, slack=2.0
    )
    while simulator.advance(10**6):
        pass
    became = [STATES[state] for state in column(simulator.state, "jobs.state")[: simulator.rows]]
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
    for name in ("run_ns", "status", "wait_ns", "cancel_ns", "end_ns"):  # unknown to a scheduler
        assert not hasattr(one, name)
        assert not hasattr(one.facts, name)


def test_free_resources_at_each_instant(notes: Notes) -> None:
    seen = notes.seen
    # Job 1 holds 4 cores of host 0 with a gpu for each 2, job 2 two of host 1, which is of both partitions.
    held = [(3, 1, 40 * S, False)]
    assert seen[0] == {
        "free": [4, 4, 6], "gpu": [2, 2, 0], "solver": 3, "down": [], "up": [None] * 3, "held": held, "day": (0, 0, (0, 0)),
    }  # fmt: skip
    assert seen[1] == {
        "free": [0, 2, 6], "gpu": [0, 2, 0], "solver": 1, "down": [], "up": [None] * 3, "held": held, "day": (1, 4, (1, 4)),
    }  # fmt: skip
    # The repair of a failed host is unknown.
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
    found = [(host.number, host.n_cores, host.speed_gflops) for host in hosts]
    assert found == [(0, 4, 40.0), (1, 4, 40.0), (2, 6, 90.0)]
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
    jobs, constraints = constrain(Workload.from_jobs(JOBS), PLATFORM, ConstraintOptions(windows=str(path)))
    view = BatchSimulator(jobs, PLATFORM, Notes(), allocator("first-fit"), constraints=constraints, recorded=True).view
    lecture, service = view.windows
    assert (lecture.kind, lecture.cores, lecture.jobs) == ("reservation", ((0, 2), (4, 5)), "4")
    assert (service.kind, service.name, service.begin_ns // S, service.end_ns // S) == (
        "maintenance",
        "service",
        300,
        340,
    )
    assert service.cores == ((8, 14),)
    met = [service.meets(*span) for span in ((0, 300 * S), (0, 300 * S + 1), (340 * S, 341 * S))]
    assert met == [False, True, False]


def test_it_only_shows() -> None:
    jobs = Workload.from_jobs(JOBS)
    view = BatchSimulator(jobs, PLATFORM, Notes(), allocator("first-fit"), recorded=True).view
    for shown_values in (view.is_free, view.free_by_host, view.free_resources, view.platform.first_core):
        with pytest.raises(ValueError, match="read-only"):
            shown_values[0] = 1
    for shown, name in ((view.hosts[0], "number"), (view.partitions[0], "n_cores")):
        with pytest.raises(FrozenInstanceError):
            setattr(shown, name, 5)
    with pytest.raises(FrozenInstanceError):
        view._run.rules = Rules()  # type: ignore[misc]
    for mapping in (view.free_licences, view.hosts[0].resources, view.hosts[0].free_resources):
        with pytest.raises(TypeError):
            mapping["gpu"] = 9  # type: ignore[index]


CARDS = Platform(
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
        facts = {"user": rng.randint(-1, 3), "queue": rng.randint(-1, 1), "application": rng.randint(-1, 5)}
        times = {"submit_s": rng.randint(0, 3 * n), "run_s": run, "estimate_s": run + 5}
        jobs.append({"job_id": number, "cores": unit * units, **times, **facts})
        if jobs[-1]["queue"] == 1 and units * unit > 2:  # some of its hosts have no cards
            lines.append(f"{number},{unit},0,0,{rng.randint(0, 2)}")
        else:
            lines.append(f"{number},{unit},{rng.randint(0, 1)},{rng.choice([0, 100])},{rng.randint(0, 2)}")
    return sorted(jobs, key=lambda job: job["submit_s"]), "\n".join(lines) + "\n"


def test_columns_agree_with_jobs(tmp_path: Path) -> None:
    jobs, requests = drawn(80, 5)
    (tmp_path / "r.csv").write_text(requests)
    (tmp_path / "f.csv").write_text("host,down_s,up_s\n1,20,30\n3,60,65\n0,100,101\n")
    constraints = ConstraintOptions(requests=str(tmp_path / "r.csv"), failures=str(tmp_path / "f.csv"))
    checks = Checks()
    bridge.simulate(Workload.from_jobs(jobs), CARDS, bls=checks, als="recorded", constraints=constraints)
    assert checks.looks > 100
    assert min(checks.most_running, checks.attempts, checks.several_hosts) > 3


TRIED_WINDOWS = Path(__file__).with_name("tables").joinpath("view_columns_windows.toml").read_text("utf-8")


class Tries:
    """Starts what a trial places, in the order of arrival, and notes where that was."""

    name = "tries"

    def __init__(self, *, names: bool = False) -> None:
        self.placed: dict[int, list[int]] = {}
        self.names = names
        self.refused = 0

    def decide(self, view: View) -> Iterator[Any]:
        trial, state = view.trial(), view._run.state
        assert trial.free_cores == view.free_cores
        before = held(state)
        for job in view.waiting:
            free = trial.free_cores
            cores = trial.place(job)
            assert held(state) == before
            if cores is None:
                self.refused += 1
                assert trial.free_cores == free
                continue
            assert trial.free_cores == free - len(cores)
            self.placed[job.row] = cores
            yield (job, cores) if self.names else job


class Waits:
    """The same by the engine alone: all jobs are tried, and jobs without a place wait."""

    name = "waits"
    may_not_fit = True

    def decide(self, view: View) -> list[SeenJob]:
        return list(view.waiting)


def numbers(allocation: str) -> list[int]:
    ends = [part.split("-") for part in allocation.split()]
    return [core for one in ends for core in range(int(one[0]), int(one[-1]) + 1)]


LIMITED = Platform(
    CARDS.hosts,
    licences={"solver": 3},  # type: ignore[arg-type]
    partitions=(
        Partition("day", hosts="0-4", default=True, max_running_jobs=4, max_cores_per_user=6),
        Partition("night", hosts="2-4", swf_queues=(1,), max_running_cores=8),
    ),
)


# Units of several cores in one run of cores are on no machine of such hosts.
TRIALS = [
    ("contiguous", "plain"),
    ("random", "asks"),
    ("whole-host", "limits"),
    ("topology", "asks"),
    ("best-fit", "limits"),
]


@pytest.mark.parametrize(("allocator", "kind"), TRIALS)
def test_a_trial_predicts_the_engine(tmp_path: Path, allocator: str, kind: str) -> None:
    jobs, requests = drawn(60, 11)
    constraints = ConstraintOptions()
    if kind != "plain":
        failures = "host,down_s,up_s\n3,60,65\n0,100,101\n"
        for name, text in (("r.csv", requests), ("w.toml", TRIED_WINDOWS), ("f.csv", failures)):
            (tmp_path / name).write_text(text)
        files = {name: str(tmp_path / file) for name, file in (("requests", "r.csv"), ("failures", "f.csv"))}
        constraints = ConstraintOptions(**files, windows=str(tmp_path / "w.toml"))
    machine = {"plain": Platform((HostGroup(4, 6, 6.0),)), "asks": CARDS, "limits": LIMITED}[kind]
    workload = Workload.from_jobs(jobs)
    options: dict[str, Any] = {"als": "recorded", "allocator": allocator, "constraints": constraints}
    # Of whole hosts ``whole-host`` may take one that is not needed, as it goes by number; a policy may not name such.
    for names in (False, True)[: 1 if allocator == "whole-host" else 2]:
        tries = Tries(names=names)
        result, waits = (
            bridge.run(
                bridge.ReadyScenario.of(
                    workload, machine, bridge.Scenario.flat(bls=order, **options), known_jobs=workload.job_id
                ),
                check=True,
            )
            for order in (tries, Waits())
        )
        assert tries.refused > 20
        assert {row: numbers(text) for row, text in enumerate(result.jobs.allocation.tolist()) if text} == tries.placed
        assert result.jobs.allocation.tolist() == waits.jobs.allocation.tolist()
        assert result.jobs.start_ns.tolist() == waits.jobs.start_ns.tolist()


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
        (lambda trial, job: trial.take(job, [0]), "placed job 1 on 1 core, core 0; it requests 2"),
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


def test_a_trial_is_for_a_policy_while_it_decides_and_not_under_limits_to_power() -> None:
    kept: list[Any] = []

    def decide(_: object, view: View) -> Any:
        kept.append(view.trial())
        kept[0].place(next(iter(view.waiting)))
        return [next(iter(view.waiting))]

    with pytest.raises(PluginError, match=r"at 1000000000 ns: trial: place\(\) after decide\(\); allowed: while"):
        simulated(decide)

    class Looks:
        name, every_ns = "looks", None

        def look(self, view: View) -> None:
            view.trial()

    message = r"^observer looks, at 0 ns: trial\(\) is for a batch policy while it decides"
    with pytest.raises(PluginError, match=message):
        simulated(lambda _, view: list(view.waiting)[: view.free_cores // 3], observers=[Looks()])
    power = Power(limits=[(0, 10**9, 10**6)], fallback="hold")
    machine = Platform((HostGroup(2, 2, 2.0, power=HostPower(1, [(1, 4)])),))
    order = type("Mine", (), {"name": "mine", "decide": lambda _, view: [view.trial()]})()
    with pytest.raises(PluginError, match=r"trial\(\) is not for runs with a power limit"):
        bridge.simulate(Workload.from_jobs([(1, 0, 10, 2, 10)]), machine, bls=order, als="recorded", power=power)
