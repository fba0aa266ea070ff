"""Policies that place jobs themselves: the engine's own allocators when they follow their rules, and held to what is free."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import twolevel
from hypothesis import given, settings
from hypothesis import strategies as st

import bridge
from bls import BatchSimulator, Partition, Platform, Rules, SeenJob, Surroundings, View, allocator, policy
from bls.constraints.options import surround
from bls.engine import state as b
from bls.machine.platform import HostGroup
from bls.machine.switches import Switch
from bls.policies import AnyPolicy
from bls.workloads.workload import Workload
from traces.base.errors import PluginError
from traces.checks.ledger import check_ledger
from traces.intervals import intervals_text

S = 10**9

Placed = Iterator[tuple[SeenJob, list[int]]]


class ByHosts:
    """FCFS that fills hosts one after the other, in an order of its own, with the lowest free cores of each."""

    name = "by-hosts"

    def order(self, left: list[list[int]], unit: int) -> list[int]:
        raise NotImplementedError

    def decide(self, view: View) -> Placed:
        left = [host.free_cores for host in view.hosts]
        assert [len(cores) for cores in left] == view.free_by_host.tolist() == [host.n_free for host in view.hosts]
        assert sum(map(len, left)) == view.free_cores == int(view.is_free.sum())
        for job in sorted(view.waiting, key=lambda job: job.origin):  # a later attempt keeps its place
            unit = job.request.unit_cores
            usable = [len(cores) // unit * unit for cores in left]
            if sum(usable) < job.cores:
                return
            cores: list[int] = []
            for host in self.order(left, unit):
                number = min(usable[host], job.cores - len(cores))
                cores += left[host][:number]
                left[host] = left[host][number:]
            yield job, cores


class FirstFit(ByHosts):
    """Hosts by number."""

    def order(self, left: list[list[int]], unit: int) -> list[int]:
        return list(range(len(left)))


class BestFit(ByHosts):
    """Those with the fewest usable cores first, equals by number."""

    def order(self, left: list[list[int]], unit: int) -> list[int]:
        return sorted(range(len(left)), key=lambda host: (len(left[host]) // unit, host))


class WorstFit(ByHosts):
    """Those with the most first."""

    def order(self, left: list[list[int]], unit: int) -> list[int]:
        return sorted(range(len(left)), key=lambda host: (-(len(left[host]) // unit), host))


RULES: dict[str, type[ByHosts]] = {"first-fit": FirstFit, "best-fit": BestFit, "worst-fit": WorstFit}


def machine(*hosts: int, **more: Any) -> Platform:
    return Platform(tuple(HostGroup(1, cores, 1.0) for cores in hosts), **more)


def simulated(
    workload: Workload,
    platform: Platform,
    order: AnyPolicy,
    placed: str,
    said: Surroundings | None = None,
    **options: Any,
) -> list[tuple[int, str]]:
    """When each attempt at a job started, and where."""
    workload, around = surround(workload, platform, said or Surroundings())
    options |= {"recorded": True, "circumstances": around}
    simulator = BatchSimulator(workload, platform, order, allocator(placed), **options)
    simulator.checks = 1
    while simulator.advance(1):
        pass
    found = simulator.column(b.START).tolist()
    return [(start, intervals_text(simulator.allocation(row))) for row, start in enumerate(found)]


rows_of_jobs = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 12), st.integers(1, 9), st.integers(1, 14)), min_size=1, max_size=14
).map(sorted)


@settings(max_examples=100)
@given(rows=rows_of_jobs, hosts=st.lists(st.integers(1, 5), min_size=3, max_size=5))
@pytest.mark.parametrize("rule", RULES)
def test_it_is_the_engines_own_rule(rule: str, rows: list[tuple[int, int, int, int]], hosts: list[int]) -> None:
    platform = machine(*hosts)
    jobs = Workload.from_jobs([(k, q, p, min(n, sum(hosts)), r) for k, (q, p, n, r) in enumerate(rows)])
    by_hand = simulated(jobs, platform, RULES[rule](), "random")
    assert by_hand == simulated(jobs, platform, policy("fcfs"), rule)


@settings(max_examples=30)
@given(rows=rows_of_jobs, units=st.data())
@pytest.mark.parametrize("rule", ["first-fit", "best-fit"])
def test_so_it_is_with_units_and_hosts_that_fail(
    rule: str, rows: list[tuple[int, int, int, int]], units: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    platform, folder = machine(4, 4, 6, 3), tmp_path_factory.mktemp("units")
    chosen = units.draw(st.lists(st.sampled_from([1, 2, 3]), min_size=len(rows), max_size=len(rows)))
    jobs = Workload.from_jobs(
        [(k, q, p, unit * (1 + n % 2), r) for k, ((q, p, n, r), unit) in enumerate(zip(rows, chosen, strict=True))]
    )
    requests, failures = folder / "requests.csv", folder / "failures.csv"
    requests.write_text("job_id,unit_cores\n" + "".join(f"{k},{unit}\n" for k, unit in enumerate(chosen)))
    failures.write_text("host,down_s,up_s\n0,5,9\n2,7,30\n0,20,21\n3,3,60\n")
    said = Surroundings(requests=str(requests), failures=str(failures))
    assert simulated(jobs, platform, RULES[rule](), "lowest", said) == simulated(
        jobs, platform, policy("fcfs"), rule, said
    )


def test_a_thousand_jobs_with_an_application_level() -> None:
    draw = np.random.default_rng(3)
    submit, run, cores = np.sort(draw.integers(0, 9000, 1000)), draw.integers(1, 40, 1000), draw.integers(1, 13, 1000)
    columns = zip(range(1000), submit.tolist(), run.tolist(), cores.tolist(), (run + 5).tolist(), strict=True)
    jobs, platform = Workload.from_jobs(columns), machine(8, 4, 4)
    options: dict[str, Any] = {"als": "gss", "variation": 0.25, "tasks_per_core": 2, "seed": 4}
    by_hand = bridge.simulate(jobs, platform, bls=BestFit(), allocator="worst-fit", **options)
    own = bridge.simulate(jobs, platform, allocator="best-fit", **options)
    check_ledger(by_hand.ledger)
    assert by_hand.jobs.equals(own.jobs)
    assert by_hand.tasks.equals(own.tasks)


def always(answer: Callable[[View], Any]) -> AnyPolicy:
    class Mine:
        name = "mine"

        def decide(self, view: View) -> Any:
            return answer(view)

    return Mine()


def places(cores: dict[int, Iterable[int] | None]) -> AnyPolicy:
    """Starts each job as it comes on these cores, or where the allocator says."""

    def answer(view: View) -> Iterator[Any]:
        for job in list(view.waiting):
            where = cores[job.job_id]
            yield job if where is None else (job, where)

    return always(answer)


def test_known_answers() -> None:
    jobs = Workload.from_jobs([(1, 0, 10, 3, 10), (2, 0, 10, 2, 10), (3, 0, 10, 2, 10), (4, 20, 1, 7, 1)])
    cores: dict[int, Iterable[int] | None] = {1: [6, 0, 3], 2: None, 3: np.array([5, 4]), 4: range(7)}
    found = simulated(jobs, machine(4, 3), places(cores), "first-fit")
    # Job 2 is placed by the allocator among what job 1 has left.
    assert found == [(0, "0 3 6"), (0, "1-2"), (0, "4-5"), (20 * S, "0-6")]


def test_numbers_may_be_of_any_kind() -> None:
    jobs = Workload.from_jobs([(1, 0, 10, 2, 10)])
    for cores in ((1, 3), {3, 1}, np.array([3, 1], np.int8), iter([3, np.uint64(1)]), (k for k in (1, 3))):
        assert simulated(jobs, machine(4), places({1: cores}), "first-fit") == [(0, "1 3")]


JOBS = [(7, 0, 10, 3, 10), (8, 0, 10, 2, 10), (9, 1, 10, 1, 10)]
FREE: dict[int, Iterable[int] | None] = {7: [0, 1, 2], 8: [3, 4], 9: [5]}


def refused(
    platform: Platform,
    cores: dict[int, Any],
    message: str,
    *,
    jobs: list[Any] = JOBS,
    said: Surroundings | None = None,
    placed: str = "first-fit",
) -> None:
    with pytest.raises(PluginError) as caught:
        simulated(Workload.from_jobs(jobs), platform, places(FREE | cores), placed, said)
    assert re.fullmatch(f"batch policy mine, at {message}", str(caught.value)), caught.value


@pytest.mark.parametrize(
    ("cores", "message"),
    [
        ({7: [0, 1]}, r"0 ns: decide\(\) placed job 7 on 2 cores, cores 0-1; it asks for 3"),
        ({7: [0, 1, 2, 3]}, r"0 ns: decide\(\) placed job 7 on 4 cores, cores 0-3; it asks for 3"),
        ({7: []}, r"0 ns: decide\(\) placed job 7 on no core; it asks for 3"),
        ({7: [0, 1, 6]}, r"0 ns: decide\(\) placed job 7 on 6: core: 6 is out of range; allowed: 0 to 5"),
        ({7: [-1, 1, 0]}, r"0 ns: decide\(\) placed job 7 on -1: core: -1 is out of range; allowed: 0 to 5"),
        ({7: [0, 1, 1.5]}, r"0 ns: decide\(\) placed job 7 on 1.5: core: 1.5 is not a whole number; allowed: 0 to 5"),
        ({7: [0, True, 2]}, r"0 ns: decide\(\) placed job 7 on True: core: True is not a whole .*"),
        ({7: "0-2"}, r"0 ns: decide\(\) placed job 7 on '0-2'; allowed: the numbers of 3 cores, as \[0, 1, 5\]"),
        ({7: 3}, r"0 ns: decide\(\) placed job 7 on 3; allowed: the numbers of 3 cores, as \[0, 1, 5\]"),
        ({7: [0, 2, 2]}, r"0 ns: decide\(\) placed job 7 on core 2 twice"),
        ({8: [2, 3]}, r"0 ns: decide\(\) placed job 8 on cores 2-3: core 2 is named for job 7, too"),
        ({7: None, 8: [2, 3]}, r"0 ns: decide\(\) placed job 8 on cores 2-3: core 2 is held by job 7"),
        ({9: [4]}, r"1000000000 ns: decide\(\) placed job 9 on core 4: core 4 is held by job 8"),
    ],
)
def test_cores_that_cannot_be(cores: dict[int, Any], message: str) -> None:
    refused(machine(4, 2), cores, message)


def test_a_host_that_is_down(tmp_path: Path) -> None:
    failures = tmp_path / "f.csv"
    failures.write_text("host,down_s,up_s\n1,1,8\n")
    said = Surroundings(failures=str(failures))
    message = r"1000000000 ns: decide\(\) placed job 9 on core 6: core 6 is on host 1, which is down"
    refused(machine(6, 2), {9: [6]}, message, said=said)


def test_another_partition() -> None:
    halves = (Partition("low", hosts="0", default=True), Partition("high", hosts="1", swf_queues=(1,)))
    refused(
        machine(5, 2, partitions=halves),
        {8: [3, 5]},
        r"0 ns: decide\(\) placed job 8 on cores 3 5: core 5 is not of its partition, 'low'",
    )


def test_a_limit_of_a_partition() -> None:
    limited = (Partition("one", default=True, max_running_jobs=1),)
    message = r"0 ns: decide\(\) placed job 8 on cores 3-4: a limit of its partition on what runs at once .*"
    refused(machine(4, 2, partitions=limited), {}, message)


WINDOWS = """
[[maintenance]]
name = "service"
begin = "9s"
end = "60s"
hosts = "1"

[[reservation]]
name = "lecture"
begin = "20s"
end = "40s"
cores = "0-1"
jobs = "9"
"""


@pytest.mark.parametrize(
    ("jobs", "cores", "message"),
    [
        (
            JOBS[:2],
            {8: [3, 4]},
            r"0 ns: .* job 8 on cores 3-4: it would meet maintenance 'service', from 9 s to 60 s, on core 4",
        ),
        (
            [(7, 15, 10, 1, 10)],
            {7: [1]},
            r"15000000000 ns: .* it would meet reservation 'lecture', from 20 s to 40 s, on core 1",
        ),
        (
            [],
            {9: [0]},
            r"1000000000 ns: .* on core 0: it may only run inside reservation 'lecture', from 20 s to 40 s",
        ),
        (
            [(6, 20, 1, 1, 1)],
            {6: [2], 9: [3]},
            r"20000000000 ns: .* job 9 on core 3: core 3 is not of its reservation 'lecture'",
        ),
    ],
)
def test_windows(jobs: list[Any], cores: dict[int, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "w.toml"
    path.write_text(WINDOWS)
    last = (9, 20 if jobs else 1, 10, 1, 10)
    refused(machine(4, 2), cores, message, jobs=[*jobs, last], said=Surroundings(windows=str(path)))


def in_window(view: View) -> Iterator[Any]:
    for job in view.waiting:
        (own,) = [window for window in view.windows if window.name == job.reservation]
        if own.begin_ns <= view.now_ns:
            yield job, [1]
        else:
            view.wake_at(own.begin_ns)


def test_a_job_is_placed_in_its_window(tmp_path: Path) -> None:
    path = tmp_path / "w.toml"
    path.write_text(WINDOWS)
    jobs = Workload.from_jobs([(9, 1, 10, 1, 10)])
    found = simulated(jobs, machine(4, 2), always(in_window), "first-fit", Surroundings(windows=str(path)))
    assert found == [(20 * S, "1")]


GPUS = Platform((HostGroup(2, 4, 1.0, (("gpu", 2),)),), licences=(("solver", 1),))
REQUESTS = "job_id,unit_cores,gpu,solver\n7,1,0,1\n8,2,1,0\n9,1,2,1\n"


@pytest.mark.parametrize(
    ("cores", "message"),
    [
        ({8: [3, 4]}, r"0 ns: .* job 8 on cores 3-4: 1 cores on host 0 are no multiple of the 2 of a unit"),
        ({8: [4, 5], 9: [6]}, r"1000000000 ns: .* job 9 on core 6: host 1 has 1 gpu left, and each unit needs 2"),
        ({8: [4, 5], 9: [3]}, r"1000000000 ns: .* job 9 on core 3: 0 solver are left, and it needs 1"),
    ],
)
def test_units_resources_and_licences(cores: dict[int, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text(REQUESTS)
    refused(GPUS, cores, message, said=Surroundings(requests=str(path)))


def test_high_cores_of_a_host_that_has_room_for_few_units(tmp_path: Path) -> None:
    # The allocator would be offered the lowest ones only.
    path = tmp_path / "r.csv"
    path.write_text("job_id,gpu\n1,1\n")
    jobs = Workload.from_jobs([(1, 0, 10, 2, 10)])
    assert simulated(jobs, GPUS, places({1: [2, 3]}), "first-fit", Surroundings(requests=str(path))) == [(0, "2-3")]
    assert simulated(jobs, GPUS, places({1: None}), "first-fit", Surroundings(requests=str(path))) == [(0, "0-1")]


@pytest.mark.parametrize(
    ("cores", "message"),
    [
        ({7: [0, 1, 2]}, r"0 ns: .* job 7 on cores 0-2: 3 of the cores of host 0; allowed: whole hosts, which .*"),
        ({7: range(6)}, r"0 ns: .* job 7 on cores 0-5: it does not need host 1; allowed: as many whole hosts as it needs"),
        ({7: [4, 5]}, r"0 ns: .* job 7 on cores 4-5: its units can use 2 of them, and it asks for 3"),
    ],
)  # fmt: skip
def test_whole_hosts(cores: dict[int, Any], message: str) -> None:
    refused(machine(4, 2), cores, message, jobs=JOBS[:1], placed="whole-host")


def test_whole_hosts_are_named_whole() -> None:
    jobs = Workload.from_jobs([(1, 0, 10, 3, 10), (2, 0, 10, 5, 10)])
    cores: dict[int, Iterable[int] | None] = {1: range(6, 10), 2: range(6)}
    assert simulated(jobs, machine(4, 2, 4), places(cores), "whole-host") == [(0, "6-9"), (0, "0-5")]


def test_switches() -> None:
    switches = (Switch("a", hosts="0-1"), Switch("b", hosts="2"), Switch("top", switches=("a", "b")))
    platform = Platform((HostGroup(3, 2, 1.0),), switches=switches)
    jobs, said = [(7, 0, 10, 2, 10)], Surroundings(switches="1")
    message = r"0 ns: .* job 7 on cores 0 4: they are on 2 leaf switches, and it accepts 1"
    refused(platform, {7: [0, 4]}, message, jobs=jobs, said=said, placed="topology")
    for cores in ([0, 3], [4, 5]):
        named = places({7: cores})
        assert simulated(Workload.from_jobs(jobs), platform, named, "topology", said)[0][0] == 0

    def patient(view: View) -> Iterator[Any]:
        for job in view.waiting:
            if view.now_ns >= 5 * S:
                yield job, [0, 4]
            view.wake_after(1 * S)

    # Once it has waited for long enough, it accepts any number.
    rules = Rules(switch_wait_ns=5 * S)
    found = simulated(Workload.from_jobs(jobs), platform, always(patient), "topology", said, rules=rules)
    assert found == [(5 * S, "0 4")]


def test_a_job_that_waits_for_another_cannot_be_placed(tmp_path: Path) -> None:
    jobs = Workload.from_jobs(
        [
            {"job_id": 1, "submit_s": 0, "run_s": 10, "cores": 1},
            {"job_id": 2, "submit_s": 0, "run_s": 10, "cores": 1, "preceding": 1},
        ]
    )

    def answer(view: View) -> Any:
        return [(job, [job.job_id]) for job in (*view.waiting, *view.held)]

    with pytest.raises(PluginError, match=r"at 0 ns: decide\(\) gave job 2, which waits for job 1$"):
        simulated(jobs, machine(4), always(answer), "first-fit", Surroundings(dependencies=True))


def test_a_refusal_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(
        "class Once:\n    name = 'once'\n    def decide(self, view):\n"
        "        for job in view.waiting:\n            yield job, range(job.cores)\n"
    )
    good = twolevel("run", "sample", "--select", "first:1", "--bls", "mine.py:Once", "--no-trace", "--out", "r")
    assert good.code == 0, good.err
    before = {path: path.read_bytes() for path in Path("r").iterdir()}
    bad = twolevel("run", "sample", "--bls", "mine.py:Once", "--no-trace", "--out", "r", "--force")
    assert bad.code == 1
    line = r"batch policy once, at \d+ ns: decide\(\) placed job \d+ on cores? [\d -]+: core \d+ is held by job \d+"
    assert re.search(line, bad.err.strip().splitlines()[-1]), bad.err
    assert {path: path.read_bytes() for path in Path("r").iterdir()} == before


def test_what_is_not_placed_at_all_is_stuck() -> None:
    with pytest.raises(PluginError, match="batch policy mine does not start it"):
        simulated(Workload.from_jobs(JOBS), machine(4, 2), always(lambda view: []), "first-fit")
