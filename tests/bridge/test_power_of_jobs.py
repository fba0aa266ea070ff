"""What jobs draw by their applications, at both levels and in every coupling."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command_line import twolevel
from test_power_runs import PLATFORM_TEXT

import bridge
from bls import HostGroup, Platform, Workload
from bls.machine.host_power import HostPower
from bls.power.options import PowerOptions
from bridge.scenarios.application_level import ApplicationLevel
from bridge.scenarios.application_map import parse_application_map
from bridge.scenarios.power_words import power_words
from traces.base.errors import InputError

S = 10**9


def test_a_loop_by_hand() -> None:
    """Two cores, idle 50 W and waiting 60 W, at work 100 W, or at half of their speed 70 W; 16 tasks of 1 s on each core.

    The job draws half of that beyond idle ones, 75 W, or 60 W, a core, and half of its time no speed changes. From 4 to 10 s
    130 W are allowed: it is at 1 / (0.5 / 0.5 + 0.5) of full speed, and does 4 of its 16 s in these 6 s. It ends at 18 s.
    """
    machine = Platform((HostGroup(1, 2, 2.0, power=HostPower(50, [(1, 100), (0.5, 70)], waiting_w=60)),))
    given = {"job_id": [1], "power": [0.5], "memory_bound": [0.5]}
    power = PowerOptions(limits=[(4 * S, 10 * S, 130)], fallback="dvfs", job_power=given)
    job = Workload.from_jobs([(1, 0, 16, 2, 16)])
    said: dict[str, Any] = {"als": "static", "tasks_per_core": 16, "variation": 0.0}
    for of in ("held", "working"):
        found = bridge.simulate(job, machine, power=replace(power, of=of), **said)
        assert abs(found.jobs.end_ns[0] - 18 * S) <= 16
        assert found.jobs.energy_j[0] == pytest.approx(2 * (75 * 12 + 60 * 6), rel=1e-8)
        assert found.metrics["above_limit_ns"] == 0


def test_an_application_map_says_what_jobs_draw() -> None:
    """The map goes before the file; of a job of which neither says anything it is what the platform says."""
    text = """
[[application]]
name = "light"
match = { user = 1 }
power = 0.5
[[application]]
name = "bound"
match = { user = 2 }
memory_bound = 0.25
[default]
power = 2
"""
    plain = {"submit_s": 0, "run_s": 100, "cores": 2, "estimate_s": 100}
    log = Workload.from_jobs([{"job_id": user, "user": user, **plain} for user in (1, 2, 3)])
    machine = Platform((HostGroup(3, 2, 2.0, power=HostPower(50, [(1, 100), (0.5, 70)])),))
    level = ApplicationLevel(applications=parse_application_map(text, "m.toml"))
    said: dict[str, Any] = {"als": "static", "tasks_per_core": 1, "variation": 0.0, "level": level}
    given = {"job_id": [1, 2], "power": [0.7, 0.8], "memory_bound": [1, 1]}
    found = bridge.simulate(log, machine, **said, power=PowerOptions(job_power=given))
    assert found.jobs.power.tolist() == [0.5, 0.8, 2]
    assert found.jobs.memory_bound.tolist() == [1, 0.25, 0]
    assert found.jobs.energy_j.tolist() == [2 * 75 * 100, 2 * 90 * 100, 2 * 150 * 100]
    alone = bridge.simulate(log, machine, **said, power=PowerOptions())
    assert alone.jobs.power.tolist() == [0.5, 1, 2]
    assert alone.jobs.memory_bound.tolist() == [0, 0.25, 0]
    assert "power" not in bridge.simulate(log, machine, **said).jobs
    for key, value, allowed in (("power", 11, "0 to 10"), ("memory_bound", '"all"', "0 to 1")):
        broken = f'[[application]]\nname = "a"\n{key} = {value}\n'
        with pytest.raises(InputError, match=rf"m.toml: application\[0\].{key}: .*; allowed: {allowed}"):
            parse_application_map(broken, "m.toml")


def test_what_is_to_be_said_of_predictions() -> None:
    machine = Platform((HostGroup(3, 2, 2.0, power=HostPower(50, [(1, 100), (0.5, 70)])),))
    log = Workload.from_jobs([(1, 0, 1, 1, 1)])

    def words(**said: Any) -> list[str]:
        power = PowerOptions(limits=[(0, S, 600)], estimates="platform", **said)
        return list(power_words(bridge.simulate(log, machine, als="recorded", power=power).scenario))

    given = {"job_id": [1], "power": [0.5]}
    assert words(fallback="hold", job_power=given) == []
    assert words(fallback="stop:idle", job_power=given) == []
    assert words(job_power=given) == ["--power-estimates: of no effect, as --fallback none ignores limits"]
    assert words(fallback="hold") == ["--power-estimates: of no effect, as nobody says what jobs draw"]


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was said is in the record, and in the tables; and a run that is checked while it runs is the same."""
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(PLATFORM_TEXT)
    Path("jobs.csv").write_text("job_id,power,memory_bound\n1,0.8,0.6\n2,1.15,\n")
    Path("limits.csv").write_text("from,to,limit_w\n2h,12h,60%\n")
    words = ("run", "sample", "--select", "first:40", "--als", "recorded", "--platform", "small.toml", "--no-trace")
    words += (
        "--job-power",
        "jobs.csv",
        "--limits",
        "limits.csv",
        "--fallback",
        "dvfs",
        "--power-estimates",
        "last-two",
    )
    assert twolevel(*words, "--out", "plain").code == 0
    assert twolevel(*words, "--check", "--same-as", "plain", "--out", "checked").code == 0
    record = json.loads(Path("plain/run.json").read_text())
    assert record["arguments"]["job_power"] == "jobs.csv"
    assert record["arguments"]["power_estimates"] == "last-two"
    assert "mean_power_error" in record["power"]
    jobs = pd.read_parquet("plain/jobs.parquet").set_index("job_id")
    assert jobs.power[[1, 2, 3]].tolist() == [0.8, 1.15, 1]
    assert jobs.memory_bound[[1, 2, 3]].tolist() == [0.6, 0, 0]
    assert "predicted_power" in jobs
    broken = twolevel(*words[:-6], "--job-power", "none.csv", "--out", "broken")
    assert (broken.code, broken.err.count("\n")) == (2, 1)
    alone = twolevel(*words[:9], "--job-power", "jobs.csv", "--out", "alone")
    assert alone.code == 0
    assert "power" in json.loads(Path("alone/run.json").read_text())
