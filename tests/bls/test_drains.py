"""Hosts that are drained: who runs there goes on and nobody else starts, by hand and against the slow reference."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from batch_cases import FEATURES, BatchCase, expected, seeded_cases
from batch_drives import engine_of
from reference.machine import Host, Job, Machine, Rules

from bls.constraints.options import Surroundings
from bls.machine.host_power import HostPower
from bls.machine.platform import HostGroup, Platform
from bls.power.options import PowerOptions
from bls.scheduler_options import Rules as BatchRules
from bls.workloads.workload import Workload
from bridge import simulate
from traces.base.errors import InputError

#: What a host that is drained meets, a few at a time, and all of it.
KINDS = [
    ("orders", "kill", "cancel", "outages", "presets", "dependencies"),
    ("units", "resources", "allocators", "switches"),
    ("reservations", "maintenance", "partitions", "limits"),
    ("estimates", "promises", "cost"),
    tuple(name for name in FEATURES if name != "licences"),
    ("dependencies", "held cancel", "switches", "gaps", "patience", "partitions"),
]


def test_by_hand() -> None:
    """Two hosts of two cores; the first is drained from 10 to 50, the second from 60 on."""
    jobs = (
        Job(1, 0, 30, 3, 40),  # on both
        Job(2, 5, 10, 1, 10),  # beside it
        Job(3, 12, 5, 1, 5),  # one core of the second host is held by 1, and the other by 2 till 15
        Job(4, 20, 5, 2, 5),  # of the second host, when 1 has ended
        Job(5, 21, 30, 3, 30),  # of both, when the first is back
        Job(6, 55, 10, 1, 10),  # beside it
        Job(7, 61, 9, 2, 9),  # 5 goes on on the second host, of which nobody else gets a core
    )
    hosts = (Host(2, drains=((10, 50),)), Host(2, drains=((60, 10**6),)))
    case = BatchCase(jobs, Machine(hosts), Rules(order="fcfs", depth=0))
    found = engine_of(case).finish()
    assert [one.start for one in found] == [0, 5, 15, 30, 50, 55, 80]
    assert [one.end for one in found] == [30, 15, 20, 35, 80, 65, 89]
    assert found[6].cores == (0, 1)
    assert found == expected(case)


def test_who_runs_at_the_start_goes_on_on_hosts_that_are_drained_from_then_on() -> None:
    """Both hosts of two cores are drained at 0, the first until 40 and the second until 20."""
    jobs = (
        Job(1, 0, 60, 3, 60, preset=True),  # on all of the first, and a core of the second
        Job(2, 0, 5, 1, 5),  # the other core of the second, when that is back
        Job(3, 0, 5, 2, 5),  # of the second or the first, when two are free: 1 ends
    )
    hosts = (Host(2, drains=((0, 40),)), Host(2, drains=((0, 20),)))
    case = BatchCase(jobs, Machine(hosts), Rules(order="fcfs", depth=0))
    found = engine_of(case).finish()
    assert [(one.start, one.end) for one in found] == [(0, 60), (20, 25), (60, 65)]
    assert found[0].cores == (0, 1, 2)
    assert found[1].cores == (3,)
    assert found == expected(case)


@pytest.mark.parametrize(("keep", "starts"), [(True, [2, 9, 5]), (False, [2, 5, 7])])
def test_the_end_of_a_drain_is_a_gain_as_a_repair_is(keep: bool, starts: list[int]) -> None:
    """Host 0 of two is drained from 1 to 5. Only job 3 has a reservation till then, of host 1 from 8 on: it is kept while
    job 2 gets one behind it, and then comes to 5. Where plans are rebuilt job 2 is first."""
    jobs = (Job(1, 2, 6, 1, 6), Job(2, 3, 2, 3, 5), Job(3, 4, 4, 2, 6))
    for drains, outages in ((((1, 5),), ()), ((), ((1, 5),))):
        machine = Machine((Host(2, drains=drains, outages=outages), Host(2)))
        case = BatchCase(jobs, machine, Rules(order="fcfs", depth=None, keep=keep))
        found = engine_of(case).finish()
        assert [one.start for one in found] == starts
        assert found == expected(case)


@pytest.mark.parametrize("by_cores", [False, True])
@pytest.mark.parametrize("features", KINDS, ids=["lives", "requests", "windows", "estimates", "all", "held"])
def test_agrees_with_the_slow_reference(features: tuple[str, ...], by_cores: bool) -> None:
    seen = held = 0
    for case in seeded_cases(2211, 90, ("drains", *features)):
        if not any(host.drains for host in case.machine.hosts):
            continue
        seen += 1
        known = replace(case, rules=replace(case.rules, counts=False)) if by_cores else case
        found = engine_of(case, by_cores=by_cores or None).finish()
        assert found == expected(known), case
        held += any(_went_on(case, one.cores, one.start, one.end) for one in found)
    assert seen > 10
    assert held > 3  # jobs that have gone on where a host was drained


def _went_on(case: BatchCase, cores: tuple[int, ...], start: int, end: int) -> bool:
    hosts = {case.machine.host_of(core) for core in cores}
    return any(start < begin < end for host in hosts for begin, _ in case.machine.hosts[host].drains)


def test_what_cannot_be_beside_it_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "o.csv"
    path.write_text("host,down_s,up_s,state\n0,1,2,drain\n")
    platform, workload = Platform((HostGroup(2, 2, 2.0),)), Workload.from_jobs([(1, 0, 5, 1, 5)])
    around = Surroundings(failures=str(path))
    for coordination, backfill in (("release", "none"), ("hint", "easy")):
        rules = BatchRules(coordination=coordination, backfill=backfill)
        with pytest.raises(InputError, match=f"drained hosts cannot be beside coordination='{coordination}'; allowed"):
            simulate(workload, platform=platform, rules=rules, surroundings=around)
    power = HostPower(1, [(1, 4)], shutdown=("5s", 1), boot=("5s", 1))
    sleepy = Platform((HostGroup(2, 2, 2.0, power=power),))
    with pytest.raises(
        InputError, match="drained hosts cannot be beside limits to power, or hosts that sleep; allowed"
    ):
        simulate(workload, platform=sleepy, power=PowerOptions(sleep_after_ns=10**9), surroundings=around)
    (tmp_path / "r.csv").write_text("job_id,solver\n1,1\n")
    licensed = Platform((HostGroup(2, 2, 2.0),), licences=(("solver", 1),))
    asked = Surroundings(failures=str(path), requests=tmp_path / "r.csv")
    with pytest.raises(InputError, match="drained hosts cannot be beside licences; allowed"):
        simulate(workload, platform=licensed, surroundings=asked)


def test_a_job_that_is_wider_than_what_is_not_drained_is_named(tmp_path: Path) -> None:
    path = tmp_path / "o.csv"
    path.write_text("host,down_s,up_s,state\n0,1,,drain\n")
    workload = Workload.from_jobs([(1, 0, 5, 4, 5), (7, 2, 5, 3, 5)])
    with pytest.raises(InputError, match=r"stuck at job 7.*1 host is down, or drained, for ever"):
        simulate(
            workload,
            platform=Platform((HostGroup(2, 2, 2.0),)),
            als="recorded",
            surroundings=Surroundings(failures=str(path)),
        )
