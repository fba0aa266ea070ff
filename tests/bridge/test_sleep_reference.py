"""Hosts that fall asleep, against a slow reference: starts, ends, hosts over time, and what is drawn."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.sleep import Case, Job, Machine, Outcome, run

import bridge
from bls import HostGroup, Platform, Workload
from bls.constraints.options import Surroundings
from bls.machine.host_power import HostPower
from bls.power.options import PowerOptions
from bls.scheduler_options import Rules

pytestmark = pytest.mark.filterwarnings("ignore")

S = 10**9
WHAT = ("hosts_up", "hosts_stopping", "hosts_off", "hosts_booting", "hosts_down")


@st.composite
def cases(draw: Any) -> Case:
    small = st.integers(0, 6)
    machine = Machine(
        hosts=draw(st.integers(1, 4)),
        cores=draw(st.integers(1, 3)),
        idle=draw(st.integers(0, 5)) * 1000,
        active=draw(st.integers(5, 9)) * 1000,
        base=draw(st.integers(0, 20)) * 1000,
        off=draw(st.integers(0, 9)) * 1000,
        shutdown=(draw(small) * S, draw(st.integers(0, 30)) * 1000),
        boot=(draw(small) * S, draw(st.integers(0, 30)) * 1000),
    )
    jobs, at = [], draw(st.integers(0, 3))
    for _ in range(draw(st.integers(1, 9))):
        at += draw(st.sampled_from([0, 0, 1, 2, 5, 12]))
        lasts = draw(st.integers(1, 12))
        cores = draw(st.integers(1, machine.hosts * machine.cores))
        jobs.append(Job(at * S, cores, lasts * S, (lasts + draw(st.sampled_from([0, 0, 1, 7]))) * S))
    easy = draw(st.booleans())
    downs = []
    if not easy and draw(st.booleans()):
        for host in range(machine.hosts):
            begin = jobs[0].submit // S + draw(st.integers(0, 40))
            if draw(st.booleans()):
                downs.append((host, begin * S + S // 2, (begin + draw(st.integers(1, 9))) * S))
    after = draw(st.sampled_from([0, 1, 2, 4, 9])) * S
    keep = draw(st.sampled_from([0, 0, 1, 2]))
    cost = 0 if downs else draw(st.sampled_from([0, 0, S // 4, 3 * S]))
    return Case(machine, tuple(jobs), after, keep, easy, tuple(downs), cost)


def simulated(case: Case, folder: Path, **more: Any) -> Any:
    machine = case.machine
    power = HostPower(
        machine.idle / 1000,
        [(1, machine.active / 1000)],
        base_w=machine.base / 1000,
        off_w=machine.off / 1000,
        **{
            name: (f"{lasts}ns", mw / 1000)
            for name, (lasts, mw) in (("shutdown", machine.shutdown), ("boot", machine.boot))
            if lasts
        },
    )
    around = Surroundings()
    if case.downs:
        lines = [f"{host},{begin / S},{end / S}" for host, begin, end in case.downs]
        (folder / "downs.csv").write_text("\n".join(["host,down_s,up_s", *lines]) + "\n")
        around = Surroundings(failures=str(folder / "downs.csv"))
    charged = {"charge_decisions": True, "decision_cost_ns": case.cost} if case.cost else {}
    return bridge.simulate(
        Workload.from_jobs(
            [(k, one.submit / S, one.run / S, one.cores, one.estimate / S) for k, one in enumerate(case.jobs)]
        ),
        Platform((HostGroup(machine.hosts, machine.cores, 1.0, power=power),)),
        als="recorded",
        rules=Rules("easy" if case.easy else "none", **charged),
        surroundings=around,
        power=PowerOptions(sleep_after_ns=case.after, keep_awake=case.keep),
        **more,
    )


def counted(found: Outcome, n_hosts: int, at: np.ndarray) -> list[list[int]]:
    """How many hosts are up, stopping, off, booting, down at instants."""
    rows = []
    for instant in at.tolist():
        now = ["up"] * n_hosts
        for when, host, what in found.hosts:
            if when <= instant:
                now[host] = what
        rows.append([now.count(what) for what in ("up", "stopping", "off", "booting", "down")])
    return rows


@settings(max_examples=150)
@given(case=cases())
def test_it_is_as_the_reference_says(case: Case) -> None:
    with TemporaryDirectory() as folder:
        result, found = simulated(case, Path(folder)), run(case)
    jobs = result.jobs
    got = sorted(zip(jobs.job_id.tolist(), jobs.start_ns.tolist(), jobs.end_ns.tolist(), strict=True))
    assert got == sorted(found.attempts)
    last = jobs[jobs.state == "completed"]
    assert dict(zip(last.job_id.tolist(), last.boot_wait_ns.tolist(), strict=True)) == found.boot_wait
    power, until = result.power_over_time, int(jobs.end_ns.max())
    assert power[list(WHAT)].to_numpy().tolist() == counted(found, case.machine.hosts, power.instant_ns.to_numpy())
    drawn = [(at, mw) for at, mw in found.power if at < until]
    series = result.power.series
    assert list(zip(series.instant_ns.tolist(), series.power_mw.tolist(), strict=True)) == drawn
    ends = [at for at, _ in drawn[1:]] + [until]
    used = sum(mw * (end - at) for (at, mw), end in zip(drawn, ends, strict=True))
    assert result.metrics["energy_j"] == used / 10**12
    of_hosts = result.nodes.energy_j.sum()
    assert of_hosts == pytest.approx(used / 10**12)
