"""Hosts that are drained: errors of options that cannot be combined with them, and of jobs that never fit.

Schedules are in schedules/drains.toml, and test_differential compares them with the slow reference.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bls.constraints.options import Surroundings
from bls.machine.host_power import HostPower
from bls.machine.platform import HostGroup, Platform
from bls.power.options import PowerOptions
from bls.scheduler_options import Rules as BatchRules
from bls.workloads.workload import Workload
from bridge import simulate
from traces.base.errors import InputError

PLAIN = Platform((HostGroup(2, 2, 2.0),))
ASLEEP = HostPower(1, [(1, 4)], shutdown=("5s", 1), boot=("5s", 1))


@pytest.mark.parametrize(
    ("platform", "options", "words"),
    [
        (PLAIN, {"rules": BatchRules(coordination="release")}, "coordination='release'"),
        (PLAIN, {"rules": BatchRules(coordination="hint", backfill="easy")}, "coordination='hint'"),
        (
            Platform((HostGroup(2, 2, 2.0, power=ASLEEP),)),
            {"power": PowerOptions(sleep_after_ns=10**9)},
            "limits to power, or hosts that sleep",
        ),
        (Platform((HostGroup(2, 2, 2.0),), licences=(("solver", 1),)), {}, "licences"),
    ],
)
def test_options_that_cannot_be_combined_with_drains_are_refused(
    platform: Platform, options: dict[str, Any], words: str, tmp_path: Path
) -> None:
    (tmp_path / "o.csv").write_text("host,down_s,up_s,state\n0,1,2,drain\n")
    (tmp_path / "r.csv").write_text("job_id,solver\n1,1\n")
    around = Surroundings(failures=f"{tmp_path}/o.csv", requests=tmp_path / "r.csv" if platform.licences else None)
    workload = Workload.from_jobs([(1, 0, 5, 1, 5)])
    with pytest.raises(InputError, match=f"drained hosts cannot be beside {words}; allowed"):
        simulate(workload, platform=platform, surroundings=around, **options)


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
