"""Limits to parts of the machine in every coupling, through the command line, and back from the files."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
from command_line import twolevel
from test_power_runs import MAP, PLATFORM, S, assert_same, hosts_make_the_machine, scenario

import bridge
from bls.power.options import PowerOptions
from bridge.scenarios.application_level import ApplicationLevel


def limits_of(options: dict[str, object]) -> list[tuple[object, ...]]:
    """Those of the machine, and of parts as far as they are to be reached."""
    power = options["power"]
    assert isinstance(power, PowerOptions)
    return [*power.limits, (10 * S, 200 * S, 330.0, "hosts:0-1"), (30 * S, 120 * S, 260.0, "hosts:1-2")]  # type: ignore[misc]


def test_in_processes_it_is_the_same(tmp_path: Path) -> None:
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


PLATFORM_TOML = """
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


def test_the_commands(tmp_path: Path) -> None:
    platform, limits, out = tmp_path / "racks.toml", tmp_path / "limits.csv", tmp_path / "out"
    platform.write_text(PLATFORM_TOML)
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
