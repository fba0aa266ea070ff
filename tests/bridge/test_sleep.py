"""Hosts that sleep: against a slow reference, by hand, and under limits; and the study of the demand response paper."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import twolevel
from directing import changed_toy, jobs
from hypothesis import given, settings
from hypothesis import strategies as st
from pages import ROOT
from reference.sleep import Case, Job, Machine, Outcome, run
from tables import table_text
from test_power_runs import hosts_make_the_machine

import bridge
from bls import ConstraintOptions, HostGroup, Platform, Rules, Workload
from bls.engine.features.sleep.power import break_even_ns
from bls.machine.host_power import HostPower
from bls.power.options import Power
from bls.power.table import power_table
from bls.simulator import BatchSimulator
from bls.view import View
from bridge.compare.power import indexes_of
from bridge.scenarios.scenario import Application
from bridge.studies.executors.local import Here
from bridge.studies.input.study_file import load_study
from bridge.studies.run_study import run_study
from tools.studies.demand_response_jobs import DAY_S, experiment_2
from traces.base.errors import InputError

pytestmark = pytest.mark.whole

S = 10**9
STATES = ["hosts_up", "hosts_stopping", "hosts_off", "hosts_booting", "hosts_down"]


def hosts(n: int, cores: int, *, shutdown: str = "10s", boot: str = "20s", off: float = 5, **more: Any) -> Platform:
    """Cores of 50 W idle and 100 W at work, hosts of 10 W beside them; 80 and 90 W on the ways off and back."""
    passages = {"shutdown": (shutdown, 80), "boot": (boot, 90)}
    power = HostPower(50, [(1, 100), (0.75, 85), (0.5, 70)], base_w=10, off_w=off, **passages)
    return Platform((HostGroup(n, cores, float(cores), power=power),), **more)


def ran(rows: list[tuple[float, ...]], machine: Platform, after: int, keep: int = 0, **more: Any) -> bridge.Result:
    """Rows are number, submit, run, cores and estimate."""
    power = more.pop("power", None) or Power(sleep_after_ns=after, keep_awake=keep)
    return bridge.simulate(Workload.from_jobs(rows), machine, **{"als": "recorded", "power": power} | more)


def starts(result: bridge.Result) -> list[float]:
    return [start / S for start in result.jobs.start_ns.tolist()]


def hosts_over_time(result: bridge.Result) -> list[list[int]]:
    table = result.power_over_time
    return [[int(at / S), *row] for at, row in zip(table.instant_ns, table[STATES].to_numpy().tolist(), strict=True)]


def test_kept_reservations_are_planned_again_while_hosts_sleep() -> None:
    """With reservations that were planned before the hosts fell asleep, job 5 would never start."""
    rows: list[tuple[float, ...]] = [
        *((2, 21, 80, 4, 240), (4, 42, 80, 6, 80), (5, 62, 40, 8, 40), (6, 122, 5, 3, 5), (7, 122, 5, 8, 5)),
        *((8, 142, 17, 4, 17), (9, 202, 17, 4, 51), (11, 263, 80, 3, 80), (12, 283, 5, 2, 10), (15, 403, 80, 6, 240)),
    ]
    result = ran(rows, hosts(4, 2), 20 * S, rules=Rules(backfill="conservative"))
    assert starts(result) == [21, 121, 221, 261, 266, 271, 271, 288, 288, 423]


def test_two_hosts_by_hand() -> None:
    """Host 1 is at work until 60 s, host 0 until 100 s; either sleeps 30 s later. A job at 200 s has both boot for 20 s."""
    result = ran([(1, 0, 100, 2, 100), (2, 0, 60, 2, 60), (3, 200, 40, 4, 40)], hosts(2, 2), 30 * S)
    assert starts(result) == [0, 0, 220]
    assert result.jobs.boot_wait_ns.tolist() == [0, 0, 20 * S]
    assert hosts_over_time(result) == [
        [0, 2, 0, 0, 0, 0],
        [60, 2, 0, 0, 0, 0],
        [90, 1, 1, 0, 0, 0],
        [100, 1, 0, 1, 0, 0],
        [130, 0, 1, 1, 0, 0],
        [140, 0, 0, 2, 0, 0],
        [200, 0, 0, 0, 2, 0],
        [220, 2, 0, 0, 0, 0],
    ]
    table = result.power_over_time
    assert (table.power_mw / 1000).tolist() == [420, 320, 290, 115, 85, 10, 180, 420]
    assert result.metrics["energy_j"] == 63_000
    assert [result.metrics[name] for name in ("host_sleeps", "host_boots", "sleeping_host_ns", "boot_waits")] == [
        2,
        2,
        160 * S,
        1,
    ]
    assert result.metrics["sleeping_share"] == 160 / 520
    assert result.metrics["mean_boot_wait_ns"] == 20 * S / 3
    nodes = result.nodes
    assert nodes[nodes.host == 1].state.tolist() == ["allocated", "idle", "stopping", "off", "booting", "allocated"]


def drawn(seed: int) -> dict[str, Any]:
    """Applications, backfilling, allocators, failures, limits, decisions that take time, and coordination, with sleep."""
    chance = random.Random(seed)
    rules: dict[str, Any] = {"backfill": chance.choice(("none", "easy", "conservative", "2"))}
    fallback = chance.choice(("none", "hold", "submit", "dvfs"))
    failures = f"mtbf:{chance.choice((60, 200))}s,mttr:5s" if chance.random() < 0.5 else None
    if chance.random() < 0.3 and fallback != "dvfs":
        rules |= {"decision_cost_ns": chance.choice((S // 3, 4 * S))}
    if chance.random() < 0.3:
        rules["coordination"] = chance.choice(("release:host", "hint:host"))
    power = Power(
        limits=[(20 * S, 120 * S, chance.choice((800, 1200, 3000)))],
        fallback=fallback,
        sleep_after_ns=chance.choice((0, 1, 5 * S, 20 * S)),
        keep_awake=chance.choice((0, 0, 2)),
    )
    return {
        "als": chance.choice(("gss", "static", "fac")),
        "variation": 0.5,
        "tasks_per_core": 4,
        "bls": chance.choice(("fcfs", "sjf", "wfp3")),
        "allocator": chance.choice(("first-fit", "contiguous", "whole-host")),
        "rules": Rules(**rules, max_attempts=10**6),
        "constraints": ConstraintOptions(failures=failures),
        "power": power,
        "application": Application(latency_ns=chance.choice((0, 5_000_000))),
    }


def test_with_all_else_everybody_starts_and_energy_adds_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine's state is checked at every step."""
    monkeypatch.setattr(BatchSimulator, "checks", 1)
    monkeypatch.setattr(BatchSimulator, "most_ends", 1)
    waited = 0
    for seed in range(6):
        result = bridge.simulate(jobs(random.Random(seed + 77), 25), hosts(4, 4), **drawn(seed))
        hosts_make_the_machine(result)
        counts = result.power_over_time.filter(like="hosts_")
        assert (counts.sum(axis=1) == 4).all()
        assert (counts >= 0).all(axis=None)
        assert set(result.jobs.state) <= {"completed", "requeued", "killed"}
        last = result.jobs.groupby("job_id").state.last()
        assert (last != "requeued").all()
        waited += int(result.metrics["boot_waits"])
    assert waited > 10


GREEDY = table_text(__file__, "greedy")


@pytest.mark.parametrize("in_python", [True, False])
def test_policies_of_users_have_hosts_woken(in_python: bool, tmp_path: Path) -> None:
    """They start whoever fits, and need know nothing of sleep."""
    (tmp_path / "greedy.py").write_text(GREEDY)
    rows = [(1, 0, 10, 4, 10), (2, 100, 5, 2, 5), (3, 101, 5, 2, 5), (4, 300, 5, 4, 5)]
    who = {"bls": f"{tmp_path}/greedy.py:Greedy"} if in_python else {"bls_command": changed_toy(tmp_path, {})}
    assert starts(ran(rows, hosts(2, 2), 30 * S, **who)) == [0, 120, 121, 320]


class Tries:
    """Starts the jobs that fit into a trial, and keeps the cores that it gave them."""

    name = "tries"

    def __init__(self, *, names: bool) -> None:
        self.names = names
        self.placed: dict[int, list[int]] = {}

    def decide(self, view: View) -> Iterator[Any]:
        trial = view.trial()
        for job in view.waiting:
            cores = trial.place(job)
            if cores is not None:
                self.placed[job.job_id] = cores
                yield (job, cores) if self.names else job


@pytest.mark.parametrize("names", [False, True])
def test_a_trial_places_jobs_on_hosts_that_are_awake(names: bool) -> None:
    """Host 0 idles from 10 s on and sleeps from 40 s on, before anything else happens; host 1 idles from 30 s on."""
    tries = Tries(names=names)
    result = ran([(1, 0, 10, 2, 10), (2, 0, 30, 2, 30), (3, 50, 10, 2, 10)], hosts(2, 2), 30 * S, bls=tries)
    assert tries.placed == {1: [0, 1], 2: [2, 3], 3: [2, 3]}
    assert result.jobs.allocation.tolist() == ["0-1", "2-3", "2-3"]
    assert starts(result) == [0, 0, 50]


@pytest.mark.parametrize("allocator", ["best-fit", "contiguous"])
def test_a_trial_predicts_the_engine(allocator: str) -> None:
    for seed in range(4):
        tries = Tries(names=False)
        workload = jobs(random.Random(seed), 40, cores=8, pauses=(0, 1, 5, 30, 60))
        result = bridge.simulate(
            *(workload, hosts(4, 3)), als="recorded", bls=tries, allocator=allocator, sleep_after_ns=20 * S
        )
        cores = [[core for lo, hi in result.ledger.jobs.allocation(row) for core in range(lo, hi)] for row in range(40)]
        assert dict(zip(result.jobs.job_id.tolist(), cores, strict=True)) == tries.placed
        assert result.metrics["boot_waits"] > 2


#: What options of a table are made of.
def test_what_cannot_be() -> None:
    with pytest.raises(InputError, match="sleep_after_ns=-1: "):
        Power(sleep_after_ns=-1)


def test_break_even() -> None:
    """Off and idle are 5 and 110 W: to shut down takes 75 W for 10 s more than to be off, to boot 90 W for 20 s; 105 W save
    that in 24.3 s. With a shutdown of 50 s it is no less than that; a host that draws as much off never saves anything."""
    machines = (hosts(1, 2), hosts(1, 2, off=110))
    found = [break_even_ns(power_table(machine, "x"))[0] for machine in machines]
    assert found == [-(-(750 + 1800) * S // 105), None]
    assert break_even_ns(power_table(hosts(1, 2, shutdown="50s", boot="1ns"), "x")) == [50 * S]


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("machine.toml").write_text(
        "[[hosts]]\ncount = 4\ncores = 64\nspeed_gflops = 3000.0\n[hosts.power]\nidle_w = 1\nstates = [[1, 4]]\n"
        'shutdown = ["30s", 60]\nboot = ["60s", 300]\n'
    )
    words = (
        "run",
        "sample",
        "--select",
        "first:30",
        "--als",
        "recorded",
        "--platform",
        "machine.toml",
        "--trace",
        "none",
    )
    done = twolevel(*words, "--sleep-after", "1min", "--keep-awake", 1, "--nodes", "--out", "asleep")
    assert "hosts[0] may use more than if they stayed awake" in done.err
    record = json.loads(Path("asleep/run.json").read_text())
    assert record["power"]["break_even_ns"] == [-(-(60 * 30 + 300 * 60) * S // 64)]
    assert record["power"]["host_sleeps"] == record["metrics"]["host_sleeps"] > 0
    assert "of the hosts' time off; it pays from" in done.out
    table = pd.read_parquet("asleep/jobs.parquet")
    assert (table.boot_wait_ns > 0).any()
    assert {"off", "booting"} <= set(pd.read_parquet("asleep/nodes.parquet").state)


SLEEPY = HostPower(50, [(1, 100), (0.75, 85), (0.5, 70)], base_w=10, off_w=5, shutdown=("4s", 80), boot=("7s", 90))
MACHINE = Platform((HostGroup(4, 2, 2.0, power=SLEEPY),))


@pytest.mark.parametrize(
    ("fallback", "where", "coupling"),
    [
        ("dvfs:slow=fewest", "hosts:0-1", "pool"),
        pytest.param("dvfs", "", "process", marks=pytest.mark.release),
        pytest.param("submit:state=2", "hosts:0-1", "process", marks=pytest.mark.release),
    ],
)
def test_a_job_whose_hosts_boot_receives_changes_in_every_coupling(fallback: str, where: str, coupling: str) -> None:
    """It may receive two before it starts, and before the answer to its first order is there."""
    limit = (10 * S, None, 340, where) if where else (10 * S, None, 580)
    workload = jobs(random.Random(1), 20, cores=5, pauses=(0, 1, 2, 20))
    power = Power(limits=[limit], fallback=fallback, sleep_after_ns=2 * S)
    said: dict[str, Any] = {"als": "gss", "tasks_per_core": 5, "variation": 0.3, "power": power}
    inline = bridge.simulate(workload, MACHINE, **said)
    other = bridge.simulate(workload, MACHINE, **said, coupling=coupling, workers=1)
    pd.testing.assert_frame_equal(inline.jobs, other.jobs, check_exact=True)
    assert inline.metrics["host_boots"] > 2


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


def simulated(case: Case, folder: Path) -> bridge.Result:
    machine = case.machine
    passages = {
        name: (f"{lasts}ns", mw / 1000)
        for name, (lasts, mw) in (("shutdown", machine.shutdown), ("boot", machine.boot))
        if lasts
    }
    watts = {"base_w": machine.base / 1000, "off_w": machine.off / 1000}
    power = HostPower(machine.idle / 1000, [(1, machine.active / 1000)], **watts, **passages)
    lines = [f"{host},{begin / S},{end / S}" for host, begin, end in case.downs]
    (folder / "downs.csv").write_text("\n".join(["host,down_s,up_s", *lines]) + "\n")
    charged = {"decision_cost_ns": case.cost} if case.cost else {}
    rows = [(k, one.submit / S, one.run / S, one.cores, one.estimate / S) for k, one in enumerate(case.jobs)]
    return bridge.simulate(
        Workload.from_jobs(rows),
        Platform((HostGroup(machine.hosts, machine.cores, 1.0, power=power),)),
        als="recorded",
        rules=Rules("easy" if case.easy else "none", **charged),
        failures=str(folder / "downs.csv") if case.downs else None,
        sleep_after_ns=case.after,
        keep_awake=case.keep,
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


@pytest.mark.filterwarnings("ignore")
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
    assert power[STATES].to_numpy().tolist() == counted(found, case.machine.hosts, power.instant_ns.to_numpy())
    drawn = [(at, mw) for at, mw in found.power if at < until]
    series = result.power.series
    assert list(zip(series.instant_ns.tolist(), series.power_mw.tolist(), strict=True)) == drawn
    ends = [at for at, _ in drawn[1:]] + [until]
    used = sum(mw * (end - at) for (at, mw), end in zip(drawn, ends, strict=True))
    assert result.metrics["energy_j"] == used / 10**12
    of_hosts = result.nodes.energy_j.sum()
    assert of_hosts == pytest.approx(used / 10**12)


def limited(fallback: str, share: str) -> Power:
    allowed = {} if fallback == "none" else {"allowed": share}
    return Power(limits=[(0, DAY_S * 10**9, 407_000)], fallback=fallback, **allowed)


def test_the_study_of_the_demand_response_paper(tmp_path: Path) -> None:
    """Two of its seeds and shares: its differences are the indexes of the two runs."""
    folder = ROOT / "tools" / "studies"
    text = (folder / "demand-response.toml").read_text()
    text = text.replace("seeds = 10", "seeds = 2").replace('["0", "0.25", "0.5", "0.75", "1"]', '["0.5", "1"]')
    text = text.replace('"hold", "dvfs", "submit:state=1", "stop:idle", "stop:off"', '"dvfs"')
    path = tmp_path / "study.toml"
    path.write_text(text)
    results = run_study(load_study(path, [folder]), tmp_path / "out", lambda needs: Here()).results
    rows = results.set_index(["fallback", "allowed", "seed"])
    for share, seed in (("0.5", 0), ("0.5", 1), ("1", 0), ("1", 1)):
        runs = [
            bridge.simulate(
                experiment_2(seed), "demand-response", als="recorded", power=limited(fallback, share), seed=seed
            )
            for fallback in ("none", "dvfs")
        ]
        places = np.arange(len(runs[0].jobs))
        records = [run.power.record() for run in runs if run.power is not None]
        one = indexes_of(
            (runs[0].jobs, runs[1].jobs),
            (places, places),
            (records[0], records[1]),
            (runs[0].power_over_time, runs[1].power_over_time),
        )
        base, slowed = rows.loc["none", share, seed], rows.loc["dvfs", share, seed]
        for name in ("wait", "run"):
            indexes = getattr(one, name)
            for group in ("all", "allowed", "disallowed"):
                column = f"mean_{name}_{group}_ns".replace("_all_", "_")
                if indexes[group].mean_ns is None:
                    assert np.isnan(slowed[column])
                else:
                    assert slowed[column] - base[column] == pytest.approx(indexes[group].mean_ns, abs=10)
        less = base.mean_power_in_limits_w - slowed.mean_power_in_limits_w
        assert less == pytest.approx(one.power_reduction_w, rel=1e-9)
