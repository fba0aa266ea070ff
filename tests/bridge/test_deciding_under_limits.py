"""Policies and schedulers that decide themselves, under a limit to power: told of it, and held to it; and limits to parts of
the machine, in every coupling, through the command line, and back from the files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command_line import twolevel
from directing import changed_toy
from test_power_runs import MAP, PLATFORM, S, assert_same, hosts_make_the_machine, scenario

import bridge
from bls import HostGroup, Platform, Workload
from bls.machine.host_power import HostPower
from bls.power.options import PowerOptions
from bridge.scenarios.application_level import ApplicationLevel
from traces.base.errors import PeerError, PluginError

POWER = HostPower(10, [(1, 100), (0.5, 40)])
#: 40 W idle; a core that works draws 90 W more, or 30 W in its slower state.
MACHINE = Platform((HostGroup(1, 4, 4.0, power=POWER),))
LIMIT = [(0, 100 * S, 300.0)]
#: Of two cores and of one; together they would draw 270 W more than idle cores, and 260 W are left.
JOBS = Workload.from_jobs([(1, 0, 10, 2, 10), (2, 0, 20, 1, 20)])


class Sees:
    """Starts what fits, and notes what it sees of power: instant, limit, what is left, and what each waiting job would draw."""

    name = "sees"

    def __init__(self) -> None:
        self.seen: list[tuple[int, float | None, float | None, list[float | None]]] = []

    def decide(self, view: Any) -> Iterator[Any]:
        waiting, left = list(view.waiting), view.power_left_w
        self.seen.append((view.now_ns // S, view.power_limit_w, left, [view.power_of(job) for job in waiting]))
        for job in waiting:
            if left is None or view.power_of(job) <= left:
                left = None if left is None else left - view.power_of(job)
                yield job


@pytest.mark.parametrize(
    ("fallback", "starts", "seen"),
    [
        ("hold", [0, 10], [(0, 300, 260, [180, 90]), (10, 300, 260, [90])]),
        ("dvfs", [0, 0], [(0, 300, 260, [60, 30])]),
        ("none", [0, 0], [(0, None, None, [None, None])]),
        ("stop:idle", [100, 100], [(0, None, None, [None, None])]),
    ],
)
def test_what_a_policy_sees(fallback: str, starts: list[int], seen: list[Any]) -> None:
    policy = Sees()
    power = PowerOptions(limits=LIMIT, fallback=fallback)
    if fallback == "stop:idle":
        with pytest.raises(PluginError, match=r"gave job 1, which does not fit: it asks for 2 cores, and 0 are free$"):
            bridge.simulate(JOBS, MACHINE, bls=policy, als="recorded", power=power)
    else:
        found = bridge.simulate(JOBS, MACHINE, bls=policy, als="recorded", power=power)
        assert (found.jobs.start_ns // S).tolist() == starts
    assert [one for one in policy.seen if one[3]] == seen


class Starts:
    """Starts all that wait, where it names cores on these, one job after the other."""

    name = "starts"

    def __init__(self, cores: list[int] | None = None) -> None:
        self.cores = cores

    def decide(self, view: Any) -> Iterator[Any]:
        left = list(self.cores or ())
        for job in view.waiting:
            yield (job, [left.pop(0) for _ in range(job.cores)]) if self.cores else job


@pytest.mark.parametrize(("cores", "als"), [(None, "recorded"), ([0, 1, 2], "ss")])
def test_what_does_not_fit_is_said(cores: list[int] | None, als: str) -> None:
    power = PowerOptions(limits=LIMIT, fallback="hold")
    message = (
        r"decide.. gave job 2, which would draw 90 W more than idle cores; under the limit to power 80 W are left$"
    )
    with pytest.raises(PluginError, match=message):
        bridge.simulate(JOBS, MACHINE, bls=Starts(cores), als=als, power=power)


def test_cores_of_unlike_hosts_draw_what_they_do() -> None:
    """Two hosts of two cores; those of the second draw 290 W more. 230 W are left: for two of the first, for none of these."""
    machine = Platform((HostGroup(1, 2, 2.0, power=POWER), HostGroup(1, 2, 2.0, power=HostPower(10, [(1, 300)]))))
    power = PowerOptions(limits=[(0, 100 * S, 270.0)], fallback="hold")
    workload = Workload.from_jobs([(1, 0, 10, 2, 10)])
    found = bridge.simulate(workload, machine, bls=Starts([0, 1]), als="recorded", power=power)
    assert found.jobs.start_ns.tolist() == [0]
    with pytest.raises(PluginError, match=r"gave job 1, which would draw 380 W more than idle .* 230 W are left$"):
        bridge.simulate(workload, machine, bls=Starts([1, 2]), als="recorded", power=power)

    class OfCores:
        name = "of-cores"

        def decide(self, view: Any) -> Iterator[Any]:
            for job in view.waiting:
                assert [view.power_of(job), view.power_of(job, [1, 2]), view.power_of(job, [2, 3])] == [180, 380, 580]
                yield job

    assert bridge.simulate(workload, machine, bls=OfCores(), als="recorded", power=power).jobs.start_ns.tolist() == [0]


#: The toy in Python, which looks at power; and one that starts only what it is enough for.
LOOKS = {
    "def decide():\n": 'def decide():\n    assert message["power_left_mw"] == 260_000, message\n',
    '    elif kind == "submitted":\n': '    elif kind == "submitted":\n'
    '        assert message["power_mw"] == 90_000 * message["cores"], message\n',
}


def test_another_program_is_told_and_held_to_it(tmp_path: Path) -> None:
    said: dict[str, Any] = {"als": "ss", "coupling": "pool", "power": PowerOptions(limits=LIMIT, fallback="hold")}
    message = r"^scheduler .*, at 0 ns: it gave job 2, which would draw 90 W more than idle cores; .* 80 W are left$"
    with pytest.raises(PeerError, match=message):
        bridge.simulate(JOBS, MACHINE, bls_command=changed_toy(tmp_path, LOOKS), **said)
    alone = Workload.from_jobs([(1, 0, 10, 2, 10)])
    found = bridge.simulate(alone, MACHINE, bls_command=changed_toy(tmp_path, LOOKS), **said)
    assert found.jobs.start_ns.tolist() == [0]


# Limits to parts of the machine


def limits_of(options: dict[str, object]) -> list[tuple[object, ...]]:
    power = options["power"]
    assert isinstance(power, PowerOptions)
    return [*power.limits, (10 * S, 200 * S, 330.0, "hosts:0-1"), (30 * S, 120 * S, 260.0, "hosts:1-2")]  # type: ignore[misc]


def test_limits_to_parts_are_the_same_in_processes(tmp_path: Path) -> None:
    applications = tmp_path / "map.toml"
    applications.write_text(MAP)
    workload, options = scenario(4)
    options["power"] = PowerOptions(limits=limits_of(options), fallback="dvfs:slow=latest", allowed="0.8")
    options |= {"als": "af", "level": ApplicationLevel(applications=applications)}
    one = bridge.simulate(workload, PLATFORM, **options)
    hosts_make_the_machine(one)
    assert len(one.scales) > 10
    other = bridge.simulate(workload, PLATFORM, **options, coupling="pool", workers=2)
    assert_same(one, other)
    pd.testing.assert_frame_equal(one.power_of_domains, other.power_of_domains, check_exact=True)


RACKS = """
[[hosts]]
count = 4
cores = 64
speed_gflops = 3000.0

[hosts.power]
idle_w = 1
base_w = 100
states = [[1, 4], [0.75, 3], [0.5, 2.2]]

[[switches]]
name = "left"
hosts = "0-1"

[[switches]]
name = "right"
hosts = "2-3"
"""


def test_the_commands_of_limits_to_parts(tmp_path: Path) -> None:
    platform, limits, out = tmp_path / "racks.toml", tmp_path / "limits.csv", tmp_path / "out"
    platform.write_text(RACKS)
    limits.write_text("from,to,limit_w,where\n2h,12h,60%,switch:left\n4h,6h,700,\n0,1h,10,hosts:3\n")
    said = ["--select", "first:60", "--platform", str(platform), "--limits", str(limits), "--fallback", "dvfs"]
    done = twolevel("run", "sample", "--als", "gss", *said, "--no-trace", "--check", "--out", str(out))
    assert done.code == 0, done.err
    assert "--limits: hosts:3: 1 of 1 cannot be kept: idle it draws 164 W, and the lowest is 10 W" in done.err
    assert "3 of the machine and 2 parts of it, fallback dvfs" in done.out
    assert "above a limit of hosts:3" in done.out
    table = pd.read_parquet(out / "power_domains.parquet")
    assert table.columns.tolist() == ["instant_ns", "domain", "power_mw", "limit_mw"]
    assert table.domain.unique().tolist() == ["switch:left", "hosts:3"]
    record = json.loads((out / "run.json").read_text())["power"]
    assert list(record["domains"]) == ["switch:left", "hosts:3"]
    assert record["domains"]["switch:left"]["full_w"] == 712
    assert {one["where"] for one in record["above_limit"] if "where" in one} >= {"hosts:3"}
    for figure in ("power.svg", "power.png"):
        drawn = twolevel("power", str(out), "-o", str(tmp_path / figure))
        assert drawn.code == 0, drawn.err
    text = (tmp_path / "power.svg").read_text()
    assert "switch:left" in text or "left" in text
    compared = twolevel("compare", str(out), str(out))
    assert compared.code == 0, compared.err
    assert "power reduction" in compared.out
