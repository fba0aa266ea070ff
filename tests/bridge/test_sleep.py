"""Hosts that fall asleep as they idle: cases by hand, what must hold of every run, and what cannot be."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command_line import twolevel
from test_decided_widths import changed_toy
from test_power_runs import assert_same, hosts_make_the_machine
from test_reaching import jobs

import bridge
from bls import HostGroup, Platform, Rules, Surroundings, Workload
from bls.machine.host_power import HostPower
from bls.power.options import PowerOptions
from bls.power.sleep import break_even_ns
from bls.power.table import power_table
from bls.simulator import BatchSimulator
from bridge.scenarios.application_level import ApplicationLevel
from traces.base.errors import InputError

S = 10**9
STATES = ["hosts_up", "hosts_stopping", "hosts_off", "hosts_booting", "hosts_down"]


def hosts(n: int, cores: int, *, shutdown: str = "10s", boot: str = "20s", off: float = 5, **more: Any) -> Platform:
    """Cores of 50 W idle and 100 W at work, hosts of 10 W beside them; 80 and 90 W on the ways off and back."""
    passages = {"shutdown": (shutdown, 80), "boot": (boot, 90)}
    power = HostPower(50, [(1, 100), (0.75, 85), (0.5, 70)], base_w=10, off_w=off, **passages)
    return Platform((HostGroup(n, cores, float(cores), power=power),), **more)


def ran(rows: list[tuple[float, ...]], machine: Platform, after: int, keep: int = 0, **more: Any) -> bridge.Result:
    """Rows are number, submit, run, cores and estimate."""
    power = more.pop("power", None) or PowerOptions(sleep_after_ns=after, keep_awake=keep)
    return bridge.simulate(Workload.from_jobs(rows), machine, **{"als": "recorded", "power": power} | more)


def starts(result: bridge.Result) -> list[float]:
    return [start / S for start in result.jobs.start_ns.tolist()]


def hosts_over_time(result: bridge.Result) -> list[list[int]]:
    table = result.power_over_time
    return [[int(at / S), *row] for at, row in zip(table.instant_ns, table[STATES].to_numpy().tolist(), strict=True)]


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


LONG = 10**9 * S


@pytest.mark.parametrize("seed", range(3))
def test_who_never_sleeps_runs_as_without_it(seed: int) -> None:
    chance = random.Random(seed)
    options: dict[str, Any] = {
        "als": chance.choice(("recorded", "gss")),
        "rules": Rules(chance.choice(("none", "easy", "conservative")), max_attempts=10**6),
        "allocator": chance.choice(("first-fit", "contiguous")),
        "surroundings": Surroundings(failures=f"mtbf:{chance.choice((200, 500))}s,mttr:5s"),
    }
    workload = jobs(random.Random(seed), 25)
    plain = bridge.simulate(workload, hosts(4, 4), **options, power=PowerOptions())
    never = bridge.simulate(workload, hosts(4, 4), **options, power=PowerOptions(sleep_after_ns=LONG))
    assert (never.jobs.pop("boot_wait_ns").isin([0, -1])).all()
    assert_same(plain, never)


def drawn(seed: int) -> tuple[Workload, dict[str, Any]]:
    """Applications, backfilling, allocators, failures, limits, decisions that take time, and coordination, with sleep."""
    chance = random.Random(seed)
    rules: dict[str, Any] = {"backfill": chance.choice(("none", "easy", "conservative", "2"))}
    fallback = chance.choice(("none", "hold", "submit", "dvfs"))
    around: dict[str, Any] = {}
    if chance.random() < 0.5:
        around["failures"], rules["max_attempts"] = f"mtbf:{chance.choice((60, 200))}s,mttr:5s", 10**6
    if chance.random() < 0.3 and fallback != "dvfs":
        rules |= {"charge_decisions": True, "decision_cost_ns": chance.choice((S // 3, 4 * S))}
    if chance.random() < 0.3:
        rules["coordination"] = chance.choice(("release:host", "hint:host"))
    options = {
        "als": chance.choice(("gss", "static", "fac")),
        "variation": 0.5,
        "tasks_per_core": 4,
        "bls": chance.choice(("fcfs", "sjf", "wfp3")),
        "allocator": chance.choice(("first-fit", "contiguous", "whole-host")),
        "rules": Rules(**rules),
        "surroundings": Surroundings(**around),
        "power": PowerOptions(
            limits=[(20 * S, 120 * S, chance.choice((800, 1200, 3000)))],
            fallback=fallback,
            sleep_after_ns=chance.choice((0, 1, 5 * S, 20 * S)),
            keep_awake=chance.choice((0, 0, 2)),
        ),
        "level": ApplicationLevel(latency_ns=chance.choice((0, 5_000_000))),
    }
    return jobs(random.Random(seed + 77), 25), options


def test_with_all_else_everybody_starts_and_energy_adds_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine's state is checked at every step."""
    monkeypatch.setattr(BatchSimulator, "checks", 1)
    monkeypatch.setattr(BatchSimulator, "most_ends", 1)
    waited = 0
    for seed in range(14):
        workload, options = drawn(seed)
        result = bridge.simulate(workload, hosts(4, 4), **options)
        hosts_make_the_machine(result)
        counts = result.power_over_time.filter(like="hosts_")
        assert (counts.sum(axis=1) == 4).all()
        assert (counts >= 0).all(axis=None)
        assert set(result.jobs.state) <= {"completed", "requeued", "killed"}
        last = result.jobs.groupby("job_id").state.last()
        assert (last != "requeued").all()
        waited += int(result.metrics["boot_waits"])
    assert waited > 20


@pytest.mark.parametrize(("seed", "coupling"), [(0, "pool"), (1, "process"), (2, "pool")])
def test_in_every_coupling(seed: int, coupling: str) -> None:
    workload, options = drawn(seed)
    reference = bridge.simulate(workload, hosts(4, 4), **options)
    assert_same(reference, bridge.simulate(workload, hosts(4, 4), **options, coupling=coupling, workers=2))


def test_jobs_that_are_slowed_while_decisions_take_time_in_a_pool() -> None:
    """They are told their state before they start, and hear it as they do."""
    workload, options = drawn(0)
    options["rules"] = Rules("easy", charge_decisions=True, decision_cost_ns=4 * S)
    options["surroundings"] = Surroundings()
    options["power"] = PowerOptions(limits=[(5 * S, 10**6 * S, 2500)], fallback="submit")
    reference = bridge.simulate(workload, hosts(4, 4), **options)
    assert reference.ledger.scales is not None
    assert_same(reference, bridge.simulate(workload, hosts(4, 4), **options, coupling="pool", workers=2))


GREEDY = """
class Greedy:
    name = "greedy"
    deterministic = True

    def decide(self, view):
        free, chosen = view.free_cores, []
        for job in view.waiting:
            if job.cores <= free:
                chosen.append(job)
                free -= job.cores
        return chosen
"""


@pytest.mark.parametrize("in_python", [True, False])
def test_policies_of_users_have_hosts_woken(in_python: bool, tmp_path: Path) -> None:
    """They start whoever fits, and need know nothing of sleep."""
    (tmp_path / "greedy.py").write_text(GREEDY)
    rows = [(1, 0, 10, 4, 10), (2, 100, 5, 2, 5), (3, 101, 5, 2, 5), (4, 300, 5, 4, 5)]
    who = {"bls": f"{tmp_path}/greedy.py:Greedy"} if in_python else {"bls_command": changed_toy(tmp_path, {})}
    assert starts(ran(rows, hosts(2, 2), 30 * S, **who)) == [0, 120, 121, 320]


class Names:
    """Starts the first that waits on the cores with the highest numbers."""

    name = "names"

    def decide(self, view: Any) -> list[Any]:
        job = next(iter(view.waiting), None)
        return [(job, range(4 - job.cores, 4))] if job is not None and view.is_free[4 - job.cores :].all() else []


def test_cores_that_a_policy_names_have_their_hosts_woken() -> None:
    """Both sleep from 40 s on; who names the cores of host 1 waits for that one."""
    rows = [(1, 0, 10, 4, 10), (2, 100, 5, 2, 5), (3, 106, 5, 2, 5)]
    assert starts(ran(rows, hosts(2, 2), 30 * S, bls=Names())) == [0, 120, 125]


def test_a_partition_has_its_own_hosts_woken(tmp_path: Path) -> None:
    """All jobs are of the partition of hosts 0 and 1; hosts 2 and 3 are never woken."""
    machine = tmp_path / "machine.toml"
    machine.write_text("""
[[hosts]]
count = 4
cores = 2
speed_gflops = 2.0
[hosts.power]
idle_w = 1
states = [[1, 4]]
shutdown = ["10s", 1]
boot = ["20s", 1]
[[partitions]]
name = "right"
hosts = "2-3"
max_time = "20s"
[[partitions]]
name = "left"
hosts = "0-1"
default = true
""")
    said = {"als": "recorded", "power": PowerOptions(sleep_after_ns=10 * S)}
    found = bridge.simulate(
        Workload.from_jobs([(1, 0, 1, 1, 1), (2, 100, 30, 4, 30), (3, 105, 10, 1, 10)]), machine, **said
    )
    assert starts(found) == [0, 120, 150]
    assert found.metrics["host_boots"] == 2
    nodes = found.nodes
    assert (nodes.end_ns[nodes.host > 1] == 160 * S).sum() == 2
    assert set(nodes.state[nodes.host > 1]) == {"idle", "stopping", "off"}


@pytest.mark.parametrize(
    ("options", "more", "message"),
    [
        ({"keep_awake": 1}, {}, r"needs .*sleep.after.*, after which hosts that idle fall asleep"),
        ({"sleep_after_ns": -1}, {}, "sleep"),
        (
            {"sleep_after_ns": S, "limits": [(0, S, 10**5)], "fallback": "stop:off"},
            {},
            r"not with .*stop:off.*, which has hosts shut down and boot itself",
        ),
        ({"sleep_after_ns": S}, {"fair_start": True}, "as it is not known who would have slept"),
        (
            {"sleep_after_ns": S},
            {"als": "gss", "rules": Rules(resize="expand"), "surroundings": Surroundings(malleable="1")},
            "as cores come to running jobs at once",
        ),
    ],
)
def test_what_cannot_be(options: dict[str, Any], more: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ran([(1, 0, 10, 1, 10)], hosts(2, 2), 0, power=PowerOptions(**options), **more)


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
    words = ("run", "sample", "--select", "first:30", "--als", "recorded", "--platform", "machine.toml", "--no-trace")
    done = twolevel(*words, "--sleep-after", "1min", "--keep-awake", 1, "--nodes", "--out", "asleep")
    assert "hosts[0] may use more than if they stayed awake" in done.err
    record = json.loads(Path("asleep/run.json").read_text())
    assert record["power"]["break_even_ns"] == [-(-(60 * 30 + 300 * 60) * S // 64)]
    assert record["power"]["host_sleeps"] == record["metrics"]["host_sleeps"] > 0
    assert "of the hosts' time off; it pays from" in done.out
    table = pd.read_parquet("asleep/jobs.parquet")
    assert (table.boot_wait_ns > 0).any()
    assert {"off", "booting"} <= set(pd.read_parquet("asleep/nodes.parquet").state)
    refused = twolevel(
        "run", "sample", "--stream", "--als", "recorded", "--sleep-after", "1min", "--no-trace", "--out", "x"
    )
    assert refused.code == 2
    assert "--sleep-after: it needs all jobs at once" in refused.err
