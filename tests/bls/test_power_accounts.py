"""Power and energy: energies, prices, carbon and cooling, against counts core by core and exact sums; orders by power."""

import random
from dataclasses import replace
from fractions import Fraction
from math import floor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import table_rows
from test_power import POWERS, SHARES

import bridge
from bls import ConstraintOptions, HostGroup, Platform, Rules, Workload
from bls.engine.features.directions.records import ScaleRecords
from bls.engine.state import BOOTING, OFF, OUT, SHUTTING, UP
from bls.machine.host_power import HostPower
from bls.power.accounting import PJ_PER_J, Energy, HostIntervals, host_energies, job_pieces
from bls.power.features.pue.facility import Pue, parse_pue
from bls.power.options import Power
from bls.power.signals import read_signals
from bls.power.table import MOST_MW, power_table
from bls.power.words import cost_rows
from bls.simulator import BatchSimulator
from traces.base.errors import InputError
from traces.base.time import MAX_NS
from traces.intervals import parse_intervals

S = 10**9
PIECES = st.lists(st.tuples(st.integers(-MOST_MW, MOST_MW), st.integers(0, MAX_NS), st.integers(0, 3)), max_size=40)


@settings(max_examples=300)
@given(PIECES)
def test_energies_are_those_of_whole_numbers(pieces: list[tuple[int, int, int]]) -> None:
    power, lasts, place = (np.array([one[k] for one in pieces], np.int64) for k in range(3))
    each = Energy.of(power, lasts)
    assert each.pj_each() == [mw * ns for mw, ns, _ in pieces]
    # What belongs together is never more than the machine's at any time.
    power //= max(1, len(pieces))
    expected = [0] * 4
    for mw, (_, ns, row) in zip(power.tolist(), pieces, strict=True):
        expected[row] += mw * ns
    assert Energy.of(power, lasts).by(place, 4).pj_each() == expected


def test_a_machine_of_30_mw() -> None:
    """One job has all of it for 0.9 s: 29.9 MW · 0.9 s; 9.2 GmW · 1 s is already beyond int64 in pJ."""
    machine = Platform((HostGroup(1000, 100, 1.0, power=HostPower(100, [(1, 299)])),))
    jobs = Workload.from_jobs([{"job_id": 1, "submit_s": 0, "run_s": 100, "cores": 100_000}])
    result = bridge.simulate(jobs, machine, als="recorded", power=True)
    assert result.jobs.energy_j.tolist() == [29_900_000 * 100]
    assert result.metrics["energy_idle_j"] == 0
    assert Energy.of(np.array([29_900_000_000]), np.array([9 * S // 10])).joules().tolist() == [26_910_000.0]


def test_a_machine_that_draws_too_much() -> None:
    power = HostPower(0, [(1, 10**9)])
    with pytest.raises(
        InputError, match=r"--power: the platform's hosts draw up to 1.6e\+16 W; allowed: up to 1.153e\+15 W"
    ):
        power_table(Platform((HostGroup(16_000, 1000, 1.0, power=power),)), "--power")
    boots = HostPower(0, [(1, 1)], boot=("1s", 10**9))
    with pytest.raises(InputError, match=r"draw up to 1.6e\+15 W"):
        power_table(Platform((HostGroup(1_600_000, 1, 1.0, power=boots),)), "--power")
    assert power_table(Platform((HostGroup(1000, 1000, 1.0, power=power),)), "--power").full_total_mw == 10**18


def _mw(watts: float) -> int:
    found = Fraction(str(watts)) * 1000
    assert found.denominator == 1
    return int(found)


def _state_mw(power: HostPower, factor: float, of_job: float, memory_bound: float, share: float) -> tuple[int, int]:
    # Power of a core, and of a thousandth of a GPU, in the slowest state that is no slower, as this job works; distinguished
    # by a billionth, as commands are. Further states of the one with fewer are its last.
    idle, memory, slowest, on_gpus = _mw(power.idle_w), Fraction(str(memory_bound)), (0, 0), Fraction(str(share))
    scale = round(min(factor, 1.0) * 10**9)
    speed, gpu_states = 10**9 + 1, power.gpu_states or [(speed, 0) for speed, _ in power.states]
    for k in range(max(len(power.states), len(gpu_states))):
        (own, watts), (gpu, gpu_w) = (
            power.states[min(k, len(power.states) - 1)],
            gpu_states[min(k, len(gpu_states) - 1)],
        )
        exact = 1 / ((1 - memory) * ((1 - on_gpus) / Fraction(str(own)) + on_gpus / Fraction(str(gpu))) + memory)
        speed = min(speed - 1, floor(exact * 10**9 + Fraction(1, 2)))
        if speed >= scale:
            more = Fraction(str(of_job))
            of_gpu = int(power.gpu_idle_w) + floor((gpu_w - power.gpu_idle_w) * more + Fraction(1, 2))
            slowest = idle + floor((_mw(watts) - idle) * more + Fraction(1, 2)), of_gpu
    return slowest


def _away_mw(group: HostGroup, state: int) -> int:
    power = group.power
    if state in (UP, OUT):
        return _mw(power.base_w) + group.cores * _mw(power.idle_w) + group.gpus * _mw(power.gpu_idle_w)
    passage = {SHUTTING: power.shutdown, BOOTING: power.boot, OFF: (0, power.off_w)}[state]
    return 0 if passage is None else _mw(passage[1])


def used_pj(result: bridge.Result) -> tuple[list[int], int]:
    """Energy of each row of the table of jobs, and of the machine from the first submit to the last end: mW · ns.

    Of runs in which jobs hold the same cores and GPUs from start to end, and held ones are active.
    """
    hosts = [group for group in result.scenario.platform.hosts for _ in range(group.count)]
    powers = [group.power for group in hosts]
    of_core = [host for host, group in enumerate(hosts) for _ in range(group.cores)]
    begin = int(result.jobs.submit_ns.min())
    until = max(begin, int(result.jobs.end_ns.max()))
    of_gpu = [host for host, group in enumerate(hosts) for _ in range(group.gpus)]
    total = sum(_away_mw(group, UP) for group in hosts) * (until - begin)
    by_row: dict[int, list[tuple[int, int, float]]] = {}
    if result.ledger.of(ScaleRecords) is not None:
        for one in result.scales.itertuples():
            by_row.setdefault(one.row, []).append((one.command_ns, one.core, one.factor))
    jobs = []
    for row, job in enumerate(result.jobs.itertuples()):
        used = 0
        own = getattr(job, "power", 1.0), getattr(job, "memory_bound", 0.0), getattr(job, "gpu_share", 0.0)

        def drawn_pj(host: int, which: int, commands: Any, job: Any = job, own: Any = own) -> int:
            now, factor, found = job.start_ns, 1.0, 0
            for at, to in [*commands, (job.end_ns, 1.0)]:
                found += _state_mw(powers[host], factor, *own)[which] * (at - now)
                now, factor = at, to
            return found

        commands = by_row.get(row, [])
        for low, high in parse_intervals(job.allocation, "allocation") if job.start_ns >= 0 else []:
            for core in range(low, high):
                used += drawn_pj(of_core[core], 0, [(at, to) for at, of, to in commands if of in (-1, core)])
                total -= _mw(powers[of_core[core]].idle_w) * (job.end_ns - job.start_ns)
        for word in getattr(job, "gpu_allocation", "").split():
            gpus, _, milli = word.partition(":")
            for gpu in (one for low, high in parse_intervals(gpus, "gpus") for one in range(low, high)):
                host, part = of_gpu[gpu], int(milli or 1000)
                here = [(at, to) for at, of, to in commands if of == -1 or of_core[of] == host]
                used += part * drawn_pj(host, 1, here)
                total -= part * int(powers[host].gpu_idle_w) * (job.end_ns - job.start_ns)
        jobs.append(used)
    down = result.notes.downtime.within(begin, until)
    away = [(*one, OFF) for one in zip(down.host.tolist(), down.down_ns.tolist(), down.up_ns.tolist(), strict=True)]
    since: dict[int, tuple[int, int]] = {}
    log = zip(*(column.tolist() for column in result.notes.host_states or ()), strict=True)
    for at, host, state in [*log, *((until, host, UP) for host in range(len(hosts)))]:
        if host in since:
            away.append((host, since[host][0], at, since[host][1]))
        since[host] = (at, state)
    for host, start, end, state in away:
        lasts = max(0, min(end, until) - max(start, begin))
        more = [_away_mw(hosts[host], which) for which in (state, UP)]
        total += (more[0] - more[1]) * lasts
    return jobs, total + sum(jobs)


IDLE = HostPower(50, [(1, 100), (0.5, 70)], off_w=10)
TWO = Platform((HostGroup(2, 2, 2.0, power=IDLE),))
WITHDRAWN = [{"job_id": 1, "submit_s": 0, "run_s": 10, "cores": 4, "cancel_s": 60}]
ALWAYS = [(0, 200 * S, 210)]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (Power("held"), {"bls": "reject"}),
        (Power(limits=ALWAYS, fallback="dvfs"), {"bls": "reject"}),
        (Power(limits=ALWAYS, fallback="dvfs", allowed="none"), {}),
        (Power(limits=[(0, 200 * S, 20)], fallback="stop:off"), {}),
    ],
)
def test_no_job_starts(options: Power, said: dict[str, Any]) -> None:
    """None is allowed to, or it does not fit and is withdrawn: nothing is drawn but what the idle machine takes."""
    jobs = Workload.from_jobs(WITHDRAWN if not said else [{"job_id": 1, "submit_s": 0, "run_s": 10, "cores": 4}])
    result = bridge.simulate(jobs, TWO, **{"als": "recorded", "power": options} | said)
    assert (result.jobs.start_ns < 0).all()
    assert result.power is not None
    assert result.power.series.peak_mw == 200_000
    assert result.jobs.energy_j.tolist() == [0]
    assert len(result.power_over_time) > 0
    assert result.metrics["energy_j"] == 0  # no job ends, so that nothing takes any time
    assert used_pj(result) == ([0], 0)


def with_gpus(workload: Workload, platform: Platform, seed: int, path: Path) -> tuple[Workload, Platform]:
    """Some hosts have GPUs, some without known power; jobs that fit request some in a file."""
    chance, groups = random.Random(f"{seed} gpus"), []
    for group in platform.hosts:
        gpus, states = chance.randint(int(not groups), 3), ((1, 300), (0.9, 200), (0.5, 120))[: chance.randint(1, 3)]
        power = replace(group.power, gpu_idle_w=chance.choice((0, 60)), gpu_states=states)
        groups.append(replace(group, gpus=gpus, power=power if gpus and chance.random() < 0.8 else group.power))
    most = max(group.gpus for group in groups)
    lines, cores = ["job_id,gpus_per_task,gpu_milli\n"], workload.cores.copy()
    for row, job in enumerate(workload.job_id.tolist()):
        if chance.random() < 0.7:
            n = chance.randint(1, most)
            lines.append(f"{job},{n},{chance.choice((300, 500, 1000)) if n == 1 else 1000}\n")
            room = sum(group.count * min(group.cores, group.gpus // n) for group in groups)
            cores[row] = min(cores[row], room)
    path.write_text("".join(lines))
    return replace(workload, cores=cores), Platform(tuple(groups))


def drawn(seed: int) -> tuple[Workload, Platform, dict[str, Any]]:
    """Hosts of one to three kinds, jobs, and limits with whatever fallback."""
    chance = random.Random(seed)
    groups = []
    for _ in range(chance.randint(1, 3)):
        idle = chance.choice((20, 50.125))
        states = [(1, 100), (0.75, 85.5), (0.5, 70)][: chance.randint(1, 3)]
        power = HostPower(
            *(idle, states, chance.choice((0, 30.001))),
            off_w=chance.choice((0, 7)),
            shutdown=("3s", 40),
            boot=("7s", 90),
        )
        groups.append(HostGroup(chance.randint(1, 3), chance.randint(1, 3), 4.0, power=power))
    platform, submit, jobs = Platform(tuple(groups)), 0, []
    for number in range(1, chance.randint(2, 14)):
        submit += chance.choice((0, 0, 3, 7, 20))
        jobs.append((number, submit, chance.randint(1, 60), chance.randint(1, platform.n_cores), 60))
    full = power_table(platform, "").full_total_mw // 1000
    limits = [
        (begin * S, (begin + chance.randint(5, 90)) * S, full * chance.randint(50, 100) // 100) for begin in (10, 70)
    ]
    fallback = chance.choice(("none", "hold", "submit:state=1", "dvfs", "dvfs:slow=fewest", "stop:idle", "stop:off"))
    if fallback == "submit:state=1" and power_table(platform, "").n_states == 1:
        fallback = "dvfs"
    return (
        Workload.from_jobs(jobs),
        platform,
        {
            "power": Power(limits=limits, fallback=fallback),
            "constraints": ConstraintOptions(failures="mtbf:100s,mttr:5s"),
            "allocator": chance.choice(("first-fit", "best-fit")),
            "seed": seed,
        },
    )


def test_as_counted_core_by_core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs, hosts and machine, to the pJ; of hosts of several kinds that fail, with every depth of reservations; the last half
    has GPUs."""
    monkeypatch.setattr(BatchSimulator, "checks", 1)
    monkeypatch.setattr(BatchSimulator, "most_ends", 1)
    scaled = stopped = failed = learned = shares = 0
    for seed in range(48):
        workload, platform, options = drawn(seed % 24)
        if seed >= 24:
            path = tmp_path / "requests.csv"
            workload, platform = with_gpus(workload, platform, seed, path)
            options["constraints"] = replace(options["constraints"], requests=str(path))
        if seed % 2:
            chance, numbers = random.Random(~seed), workload.job_id.tolist()
            given = {
                "job_id": numbers,
                "power": [chance.choice(POWERS) for _ in numbers],
                "memory_bound": [chance.choice(SHARES) for _ in numbers],
                "gpu_share": [chance.choice((0.25, 1)) for _ in numbers],
            }
            workload = replace(workload, user=workload.job_id % 2)
            options["power"] = replace(
                options["power"], job_power=given, estimates=("exact", "last-two")[seed // 2 % 2]
            )
        backfill = ("none", "easy", "2", "conservative")[seed // 2 % 4]
        result = bridge.simulate(workload, platform, als="recorded", backfill=backfill, **options)
        jobs, total = used_pj(result)
        power, nodes = result.power, result.nodes
        assert power is not None
        assert (power.accounts.jobs.pj_each(), power.series.energy_pj()) == (jobs, total)
        assert result.metrics["energy_j"] == total / PJ_PER_J
        hosts = host_energies(
            power.run, HostIntervals(*(nodes[one].to_numpy() for one in ("host", "begin_ns", "end_ns")))
        )
        assert (hosts.jobs.total_pj(), hosts.total.total_pj()) == (sum(jobs), total)
        scaled += len(result.ledger.of(ScaleRecords) or ())
        stopped += 0 if result.notes.host_states is None else len(result.notes.host_states[0])
        failed += len(result.notes.downtime.host)
        shares += len(result.ledger.gpus or ())
        learned += int((result.jobs.predicted_power != 1).sum()) if "predicted_power" in result.jobs else 0
    assert min(scaled, stopped, failed, learned, shares) > 5


PJ_PER_KWH = 3_600_000 * PJ_PER_J

#: kWh in the cases by hand: 3.6 kW for 1,000 s are one.
MACHINE = Platform((HostGroup(1, 2, 2.0, power=HostPower(600, [(1, 1800)])),))


def signals_file(folder: Path, text: str) -> Path:
    path = folder / "signals.csv"
    path.write_text(text)
    return path


def test_energy_has_a_price_and_a_footprint(tmp_path: Path) -> None:
    """3.6 kW for 1,000 s are 1 kWh. Job 1: half a kWh at each price. Job 2: 1.8 kW for 500 s at 0.4, and for 1,500 s at -0.1.
    The idle core next to job 2 draws 0.6 kW, a third of it."""
    jobs = Workload.from_jobs([(1, 0, 1000, 2, 1000), (2, 1000, 2000, 1, 2000)])
    path = signals_file(tmp_path, "from,price_per_kwh,g_co2e_per_kwh\n0,0.2,400\n500,0.4,100.5\n1500s,-0.1,0\n")
    found = bridge.simulate(jobs, MACHINE, als="recorded", power=True).costs(path)
    assert found.metrics == {"cost": 1 / 3, "cost_jobs": 0.325, "co2e_g": 283.75, "co2e_jobs_g": 275.375}
    assert {name: values.tolist() for name, values in found.jobs.items()} == {
        "cost": [0.3, 0.025], "co2e_g": [250.25, 25.125]
    }  # fmt: skip
    said = dict(cost_rows(found.metrics))
    assert said["carbon"] == "283.8 g CO2e, 275.4 g of it by jobs"
    assert said["cost"] == "0.33, 0.33 of it by jobs"
    with pytest.raises(InputError, match="the power of this run is not known"):
        bridge.simulate(jobs, MACHINE, als="recorded").costs(path)


def test_cost_is_the_integral_and_repeating_a_price_changes_nothing(tmp_path: Path) -> None:
    """The machine's cost and each job's, rounded once, against exact fractions."""
    text = "from,price_per_kwh,g_co2e_per_kwh\n0,0.123457,380\n13,99999.999999,0.000001\n40s,-3.5,7\n{more}90,1,2\n"
    for seed in range(8):
        workload, platform, more = drawn(seed)
        found = bridge.simulate(workload, platform, als="recorded", **more)
        again = found.costs(signals_file(tmp_path, text.format(more="41,-3.5,7\n77.5,-3.5,7\n")))
        path = signals_file(tmp_path, text.format(more=""))
        costs = found.costs(path)
        assert costs.metrics == again.metrics
        assert all((again.jobs[name] == column).all() for name, column in costs.jobs.items())
        assert found.power is not None
        series, signals = found.power.series, read_signals(path)
        prices = [*signals.values["price_per_kwh"]]
        borders = [*signals.instant_ns.tolist(), MAX_NS]

        def spent(begin: int, end: int, mw: int, prices: Any = prices, borders: Any = borders) -> Fraction:
            spans = zip(prices, borders, borders[1:], strict=False)
            return sum(
                (Fraction(mw * max(0, min(end, b) - max(begin, a)) * int(price), 10**6) for price, a, b in spans),
                Fraction(0),
            )

        ends = [*series.instant_ns.tolist()[1:], series.until_ns]
        parts = zip(series.instant_ns.tolist(), ends, series.power_mw.tolist(), strict=True)
        assert costs.metrics["cost"] == float(sum((spent(*part) for part in parts), Fraction(0)) / PJ_PER_KWH)
        by_job = [Fraction(0)] * len(found.jobs)
        for one in job_pieces(found.power.run):
            columns = one.job, one.start_ns, one.end_ns, one.drawn_mw
            for row, *part in zip(*(column.tolist() for column in columns), strict=True):
                by_job[row] += spent(*part)
        assert costs.jobs["cost"].tolist() == [float(one / PJ_PER_KWH) for one in by_job]
        assert costs.metrics["cost_jobs"] == float(sum(by_job, Fraction(0)) / PJ_PER_KWH)


@pytest.mark.parametrize("column", ["price_per_kwh", "g_co2e_per_kwh"])
def test_one_column_is_enough(column: str, tmp_path: Path) -> None:
    jobs = Workload.from_jobs([(1, 0, 1000, 2, 1000)])
    result = bridge.simulate(jobs, MACHINE, als="recorded", power=True)
    found = result.costs(signals_file(tmp_path, f"{column},from\n2,0\n"))
    here, other = ("cost", "co2e_g") if column == "price_per_kwh" else ("co2e_g", "cost")
    assert found.metrics[here] == 2.0
    assert other not in found.metrics
    assert [*found.jobs] == [here]


def test_by_tasks(tmp_path: Path) -> None:
    """A waiting core needs less power, and values counted by tasks add up."""
    jobs = Workload.from_jobs([(1, 0, 1000, 2, 1000), (2, 100, 700, 2, 1000)])
    path = signals_file(tmp_path, "from,price_per_kwh\n0,3600\n444.4,7200\n")
    said = {"als": "static", "variation": 0.5, "tasks_per_core": 4}
    held, working = (bridge.simulate(jobs, MACHINE, **said, power=Power(of)) for of in ("held", "working"))
    assert (working.costs(path).jobs["cost"] < held.costs(path).jobs["cost"]).all()
    flat = working.costs(signals_file(tmp_path, "from,price_per_kwh\n0,3.6\n"))
    np.testing.assert_allclose(flat.jobs["cost"], working.jobs.energy_j / 10**6, rtol=1e-15)


@pytest.mark.parametrize(("text", "message"), table_rows(__file__, "files_that_cannot_be_used"))
def test_files_that_cannot_be_used(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "signals.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        read_signals(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


MACHINE_COOLING = Platform((HostGroup(2, 2, 2.0, power=HostPower(50, [(1, 100), (0.5, 70)])),))
JOBS = Workload.from_jobs([(1, 0, 100, 2, 100), (2, 0, 60, 2, 60), (3, 110, 10, 2, 10)])


@pytest.mark.parametrize(
    ("pue", "energy_j", "peak_w"),
    [
        # 400 W for 60 s, 300 W for 40 s, 200 W for 10 s, 300 W for 10 s
        ("1.5", 1.5 * 41_000, 600),
        ("0%:2 100%:1", 400 * 60 + 300 * 1.25 * 50 + 200 * 1.5 * 10, 400),
        ("75%:3 100%:1", 400 * 60 + 300 * 3 * 50 + 200 * 3 * 10, 900),
        ("0%:2 50%:1.2", 1.2 * 41_000, 480),
    ],
)
def test_facilities_by_hand(pue: str, energy_j: float, peak_w: float) -> None:
    """Full the machine draws 400 W, idle 200."""
    result = bridge.simulate(JOBS, MACHINE_COOLING, als="recorded", power=True)
    assert result.metrics["energy_j"] == 41_000
    assert result.facility(pue) == {
        "facility_energy_j": energy_j, "facility_mean_pue": energy_j / 41_000, "facility_peak_w": peak_w
    }  # fmt: skip


def test_as_it_is_written() -> None:
    assert parse_pue("1.25") == Pue((Fraction(0),), (Fraction(5, 4),))
    assert parse_pue(" 0%:2  12.5%:1.5 ") == Pue((Fraction(0), Fraction(1, 8)), (Fraction(2), Fraction(3, 2)))


@pytest.mark.parametrize("text", table_rows(__file__, "facilities_that_cannot_be"))
def test_facilities_that_cannot_be(text: str) -> None:
    with pytest.raises(InputError, match=r"pue.*; allowed: 1 to 100, e.g. 1.4, or one per load, ascending") as error:
        parse_pue(text)
    assert "\n" not in str(error.value)


#: Two cores of 100 W and six of 25.5 W: 44.125 W on the mean.
UNLIKE_HOSTS = Platform(
    (
        HostGroup(1, 2, 2.0, power=HostPower(50, [(1, 100), (0.5, 70)])),
        HostGroup(2, 3, 3.0, power=HostPower(5.5, [(1, 25.5)])),
    )
)
NAMES = ("least-power", "most-power", "least-energy")


def drawn_queue(seed: int) -> tuple[Workload, list[Fraction]]:
    """Jobs of a user each that all wait for the first one, and what they draw."""
    chance = random.Random(seed)
    rows = [(1, 0, 10, 8, 10)]
    rows += [(k, 1, run := chance.randint(1, 9), chance.randint(1, 8), chance.choice((run, 10))) for k in range(2, 14)]
    names = ("job_id", "submit_s", "run_s", "cores", "estimate_s")
    jobs = [dict(zip(names, row, strict=True)) | {"user": row[0]} for row in rows]
    return Workload.from_jobs(jobs), [Fraction(chance.choice((0, 2, 5, 9, 13)), 10) for _ in rows]


def core_w(power: Fraction) -> Fraction:
    high, low = 50_000 + floor(50_000 * power + Fraction(1, 2)), 5500 + floor(20_000 * power + Fraction(1, 2))
    return Fraction(floor(Fraction(2 * high + 6 * low, 8) + Fraction(1, 2)), 1000)


def order(result: bridge.Result) -> list[int]:
    return [int(number) for number in result.jobs.sort_values(["start_ns"], kind="stable").job_id]


def started_as_defined(result: bridge.Result, name: str, workload: Workload, powers: list[Fraction]) -> None:
    in_order(result, name, workload, [int(n) * core_w(power) for n, power in zip(workload.cores, powers, strict=True)])


def in_order(result: bridge.Result, name: str, workload: Workload, keys: list[Fraction]) -> None:
    if name == "least-energy":
        keys = [int(r) * watts for r, watts in zip(workload.estimate_ns, keys, strict=True)]
    starts, sign = result.jobs.start_ns.tolist(), -1 if name == "most-power" else 1
    rows = sorted(range(1, len(starts)), key=lambda row: (sign * keys[row], row))
    assert [starts[row] for row in rows] == sorted(starts[row] for row in rows)


@pytest.mark.parametrize("name", NAMES)
def test_orders_by_power_as_defined(name: str) -> None:
    others = 0
    for seed in range(6):
        workload, powers = drawn_queue(seed)
        said = Power(job_power={"job_id": workload.job_id, "power": [float(power) for power in powers]})
        found = bridge.simulate(workload, UNLIKE_HOSTS, bls=name, als="recorded", power=said)
        started_as_defined(found, name, workload, powers)
        plain = bridge.simulate(workload, UNLIKE_HOSTS, bls=name, als="recorded")
        started_as_defined(plain, name, workload, [Fraction(1)] * len(powers))
        others += order(plain) != order(found)
        score = {"least-power": "-power_w", "most-power": "power_w", "least-energy": "-energy_j"}[name]
        for text in (score, f"{score} + 0*w"):
            scored = bridge.simulate(workload, UNLIKE_HOSTS, bls=f"expr:{text}", als="recorded", power=said)
            assert scored.jobs.start_ns.tolist() == found.jobs.start_ns.tolist()
    assert others > 2


#: The same cores; host 0 has GPUs of kind a, host 1 of kind b, host 2 none. Whole W of each kind: idle, at work.
GPU_W = {"a": (10, 35), "b": (30, 50)}
WITH_GPUS = Platform(
    tuple(
        replace(
            group,
            count=1,
            gpus=2 if kind else 0,
            gpu=kind,
            power=replace(group.power, gpu_idle_w=idle, gpu_states=states),
        )
        for group, kind in zip((*UNLIKE_HOSTS.hosts, UNLIKE_HOSTS.hosts[1]), ("a", "b", ""), strict=True)
        for idle, states in [(GPU_W[kind][0], [(1, GPU_W[kind][1])]) if kind else (0, ())]
    )
)


class _Power:
    """Keeps what is known of the power of waiting jobs."""

    name = "power"

    def __init__(self) -> None:
        self.more: dict[int, tuple[int, float | None]] = {}

    def decide(self, view: Any) -> Any:
        columns = view.waiting_columns
        for job, more in zip(columns.jobs, columns.more_mw.tolist(), strict=True):
            self.more[job.job_id] = more, view.power_of(job)
        return list(view.waiting)[:1] if view.free_cores == view.n_cores else []


@pytest.mark.parametrize("name", NAMES)
def test_orders_by_power_count_the_gpus_that_jobs_request(name: str, tmp_path: Path) -> None:
    """Of the accepted kind that draws least at work, or above idle; a power limit adds the cores of the hosts of that kind."""
    others, path = 0, tmp_path / "gpus.csv"
    for seed in range(4):
        workload, powers = drawn_queue(seed)
        chance, gpu_w, more_mw, limit_w = random.Random(seed), [], [], []
        lines = ["job_id,gpus_per_host,gpus_per_task,gpu_milli,gpu_kind\n"]
        for number, cores, power in zip(workload.job_id.tolist(), workload.cores.tolist(), powers, strict=True):
            asked, kinds = chance.choice((("1,,", 1), (",1,", cores), (",1,300", Fraction(3, 10) * cores))), "a|b"
            if cores <= 2:
                kinds = chance.choice(("a", "b", "a|b"))
                lines.append(f"{number},{asked[0]},{kinds}\n")
            n = asked[1] if cores <= 2 else 0
            above = {kind: floor((work - idle) * power + Fraction(1, 2)) for kind, (idle, work) in GPU_W.items()}
            able = kinds.split("|")
            gpu_w.append(n * min(GPU_W[kind][0] + above[kind] for kind in able))
            more_mw.append(cores * (1000 * core_w(power) - 16_625) + 1000 * n * min(above[kind] for kind in able))
            a, b = (floor(mw * power + Fraction(1, 2)) for mw in (50_000, 20_000))
            on = {"a": cores * a + 1000 * n * above["a"], "b": cores * b + 1000 * n * above["b"]}
            limit_w.append(float(min(on[kind] for kind in able) / 1000))
        path.write_text("".join(lines))
        given = {"job_id": workload.job_id, "power": [float(power) for power in powers]}
        said: dict[str, Any] = {"als": "recorded", "constraints": ConstraintOptions(requests=str(path))}
        found = bridge.simulate(workload, WITH_GPUS, bls=name, power=Power(job_power=given), **said)
        keys = [int(n) * core_w(one) + w for n, one, w in zip(workload.cores, powers, gpu_w, strict=True)]
        in_order(found, name, workload, keys)
        others += order(found) != order(bridge.simulate(workload, UNLIKE_HOSTS, bls=name, als="recorded"))
        policy = _Power()
        power = Power(job_power=given, limits=[(0, 10**15, 10**6)], fallback="hold")
        bridge.simulate(workload, WITH_GPUS, bls=policy, power=power, **said)
        numbers = workload.job_id.tolist()
        assert policy.more == dict(zip(numbers, zip(map(int, more_mw), limit_w, strict=True), strict=True))
    assert others > 2


def test_energy_by_predicted_run_times() -> None:
    """Two jobs of user 1 have run 2 of 100 s; then one of theirs with as many cores precedes another one of 50 s."""
    plain = {"cores": 8, "user": 1}
    jobs = [
        {"job_id": 1, "submit_s": 0, "run_s": 2, "estimate_s": 100, **plain},
        {"job_id": 2, "submit_s": 0, "run_s": 2, "estimate_s": 100, **plain},
        {"job_id": 3, "submit_s": 5, "run_s": 20, "estimate_s": 20, "cores": 8, "user": 2},
        {"job_id": 4, "submit_s": 6, "run_s": 9, "estimate_s": 50, "cores": 8, "user": 3},
        {"job_id": 5, "submit_s": 7, "run_s": 2, "estimate_s": 100, **plain},
    ]
    for estimates, expected in (("requested", [1, 2, 3, 4, 5]), ("last-two", [1, 2, 3, 5, 4])):
        rules = Rules(estimates=estimates)
        found = bridge.simulate(Workload.from_jobs(jobs), UNLIKE_HOSTS, bls="least-energy", als="recorded", rules=rules)
        assert order(found) == expected


@pytest.mark.parametrize("bls", [*NAMES, "expr:-power_w", "expr:w + energy_j"])
def test_a_platform_that_does_not_say_it(bls: str) -> None:
    for machine in (Platform(), Platform((*UNLIKE_HOSTS.hosts, HostGroup(1, 2, 2.0)))):
        with pytest.raises(InputError, match="the platform lacks the power of its hosts; allowed: one whose") as caught:
            bridge.simulate(Workload.from_jobs([(1, 0, 1, 1, 1)]), machine, bls=bls, als="recorded")
        assert "\n" not in str(caught.value)
