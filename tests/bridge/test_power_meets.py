"""Limits, parts of the machine, sleep and walltimes together, in every coupling."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import bridge
from bls import HostGroup, Platform, Rules, Surroundings, Workload
from bls.machine.host_power import HostPower
from bls.power.options import PowerOptions
from bls.simulator import BatchSimulator
from traces.base.errors import InputError

S = 10**9
SLEEPY = HostPower(50, [(1, 100), (0.75, 85), (0.5, 70)], base_w=10, off_w=5, shutdown=("4s", 80), boot=("7s", 90))
MACHINE = Platform((HostGroup(4, 2, 2.0, power=SLEEPY),))


def drawn(seed: int, n: int = 14) -> Workload:
    chance, submit, rows = random.Random(f"{seed} meets"), 0, []
    for number in range(1, n + 1):
        submit += chance.choice((0, 1, 2, 20))
        run = chance.randint(2, 30)
        rows.append((number, submit, run, chance.randint(1, 5), run + chance.choice((0, 5))))
    return Workload.from_jobs(rows)


@pytest.mark.parametrize("fallback", ["dvfs", "dvfs:slow=fewest", "submit:state=2"])
@pytest.mark.parametrize("where", ["", "hosts:0-1"])
def test_a_job_whose_hosts_boot_is_told_in_every_coupling(fallback: str, where: str) -> None:
    """It may be told twice before it starts, and before the answer to its first order is there."""
    limit = (10 * S, None, 340, where) if where else (10 * S, None, 580)
    boots = 0
    for seed in range(2):
        power = PowerOptions(limits=[limit], fallback=fallback, sleep_after_ns=2 * S)
        said: dict[str, Any] = {"als": "gss", "tasks_per_core": 5, "variation": 0.3, "seed": seed, "power": power}
        inline = bridge.simulate(drawn(seed), MACHINE, **said)
        boots += inline.metrics["host_boots"]
        for coupling in ("pool", "process")[seed : seed + 1]:
            other = bridge.simulate(drawn(seed), MACHINE, **said, coupling=coupling, workers=1)
            pd.testing.assert_frame_equal(inline.jobs, other.jobs, check_exact=True)
    assert boots > 2


@pytest.mark.parametrize(
    ("fallback", "coupling"), [("submit", "inline"), ("dvfs", "inline"), ("submit", "pool"), ("dvfs", "process")]
)
def test_a_walltime_is_stretched_of_a_job_that_starts_slowed(fallback: str, coupling: str) -> None:
    machine = Platform((HostGroup(1, 2, 2.0, power=HostPower(50, [(1, 100), (0.5, 70)])),))
    power = PowerOptions(limits=[(0, None, 130)], fallback=fallback, stretch_walltime=True)
    found = bridge.simulate(
        *(Workload.from_jobs([(1, 0, 10, 1, 10)]), machine),
        als="static",
        tasks_per_core=5,
        variation=0.0,
        overhead_ns=0,
        rules=Rules(kill_at_walltime=True),
        power=power,
        coupling=coupling,
    )
    assert (found.jobs.end_ns.tolist(), found.jobs.state.tolist()) == ([20 * S], ["completed"])


def test_a_promise_that_a_failure_makes_void_is_not_planned_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BatchSimulator, "checks", 1)
    monkeypatch.setattr(BatchSimulator, "most_ends", 1)
    cut = 0
    for seed in range(12):
        found = bridge.simulate(
            *(drawn(seed, 16), MACHINE),
            als="gss",
            tasks_per_core=5,
            variation=0.3,
            seed=seed,
            power=PowerOptions(limits=[(30 * S, None, 300, "hosts:0-1")], fallback="dvfs", sleep_after_ns=2 * S),
            rules=Rules("conservative", kill_at_walltime=True, coordination="release:host", estimates="application"),
            surroundings=Surroundings(failures="mtbf:80s,mttr:5s"),
        )
        cut += int((found.jobs.state == "requeued").sum())
    assert cut > 5


def test_a_part_that_is_the_machine_draws_what_it_does_while_hosts_sleep() -> None:
    """To the mW, at every instant; above a limit for as long, and for the same reasons."""
    above = 0
    for seed in range(12):
        reports = []
        for where in ((), ("hosts:0-3",)):
            after_ns = random.Random(seed).choice((0, 3, 9)) * S
            power = PowerOptions(limits=[(10 * S, 90 * S, 400, *where)], fallback="hold", sleep_after_ns=after_ns)
            reports.append(bridge.simulate(drawn(seed), MACHINE, als="recorded", power=power).power)
        machine, part = reports
        assert machine is not None
        assert part is not None
        (series,) = part.domain_series
        assert series.instant_ns.tolist() == machine.series.instant_ns.tolist()
        assert series.power_mw.tolist() == machine.series.power_mw.tolist()
        assert [one[:4] for one in part.excesses] == [one[:4] for one in machine.excesses]
        above += len(machine.excesses)
    assert above > 5


def test_a_host_that_boots_is_no_reason_for_another_part() -> None:
    """Host 0 is over its limit as its job ran before; host 1 boots meanwhile."""
    jobs = Workload.from_jobs([(1, 0, 100, 2, 100), (2, 0, 1, 2, 1), (3, 40, 10, 2, 10)])
    machine = Platform((HostGroup(2, 2, 2.0, power=SLEEPY),))
    power = PowerOptions(limits=[(30 * S, 60 * S, 150, "hosts:0")], fallback="hold", sleep_after_ns=S)
    found = bridge.simulate(jobs, machine, als="recorded", power=power)
    assert found.power is not None
    assert found.metrics["host_boots"] == 1
    assert [(one.reason, one.where) for one in found.power.excesses] == [("running", "hosts:0")]


def test_what_cannot_be_where_hosts_sleep(tmp_path: Path) -> None:
    windows, widths = tmp_path / "w.toml", tmp_path / "widths.csv"
    windows.write_text('[[maintenance]]\nname = "m"\nbegin = 10\nend = 20\nhosts = "0"\n')
    widths.write_text("job_id,min_cores,max_cores\n1,1,8\n")
    power = PowerOptions(sleep_after_ns=S)
    with pytest.raises(InputError, match="sleep_after=: not with windows=, as a job that waits"):
        bridge.simulate(drawn(0), MACHINE, als="recorded", power=power, surroundings=Surroundings(windows=windows))
    limited = PowerOptions(sleep_after_ns=S, limits=[(0, S, 400)], fallback="hold")
    with pytest.raises(InputError, match=r"sleep_after=: not with resize=.* and limits=, as a width"):
        bridge.simulate(
            *(drawn(0), MACHINE),
            als="static",
            power=limited,
            rules=Rules(resize="mold"),
            surroundings=Surroundings(malleable=widths),
        )
