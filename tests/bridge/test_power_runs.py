"""Power through both levels: jobs that are slowed in the middle of their tasks, in every coupling."""

import json
import random
import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import otf2
import pandas as pd
import pytest
from command_line import succeeds, twolevel
from directing import POWERED as PLATFORM
from directing import jobs
from directing import power_drawn as drawn
from directors import Director
from one_result import assert_one_result
from tables import table_rows, table_text

import bridge
from als.techniques.contract import Technique
from bls import ConstraintOptions, HostGroup, Platform, Rules, Workload
from bls.engine.features.directions.records import ScaleRecords
from bls.machine.host_power import HostPower
from bls.power.accounting import HostIntervals, host_energies
from bls.power.options import Power
from bls.simulator import BatchSimulator
from bridge.compare.power import indexes_of
from bridge.scenarios.application_map import parse_application_map
from bridge.scenarios.remarks import power_words
from bridge.scenarios.scenario import Application
from bridge.standard_error import on_command_line
from traces.base.errors import InputError
from traces.checks.ledger import check_ledger

pytestmark = pytest.mark.whole

S = 10**9
LENGTHS = (4, 6, 4, 2, 8, 2)


def machine(hosts: int = 1, states: Any = ((1, 100), (0.5, 70)), **power: Any) -> Platform:
    """Hosts of two cores of 1 GFLOP/s, which draw 50 W each idle and 100 W at work, or 70 W at half their speed."""
    return Platform((HostGroup(hosts, 2, 2.0, power=HostPower(50, list(states), **power)),))


def of_three_users(applications: str, power: Power | None) -> bridge.Result:
    """Jobs 1 to 3, of users 1 to 3, of 100 s on two cores each."""
    plain = {"submit_s": 0, "run_s": 100, "cores": 2, "estimate_s": 100}
    log = Workload.from_jobs([{"job_id": user, "user": user, **plain} for user in (1, 2, 3)])
    level = Application(applications=parse_application_map(applications, "m.toml"))
    options: dict[str, Any] = {"als": "static", "tasks_per_core": 1, "variation": 0.0, "application": level}
    return bridge.simulate(log, machine(3), power=power, **options)


@pytest.mark.parametrize(("als", "of", "end_s", "joules"), table_rows(__file__, "a_loop_by_hand"))
def test_a_loop_by_hand(als: str, of: str, end_s: int, joules: float, tmp_path: Path) -> None:
    """Six tasks on two cores, at half their speed from 5 to 15 s; with SS another core gets the long task."""
    lengths, applications = tmp_path / "lengths.txt", tmp_path / "map.toml"
    lengths.write_text("".join(f"{length}\n" for length in LENGTHS))
    applications.write_text("[default]\ntasks = 6\n")
    level = Application(lengths=f"file:{lengths},scale=no", applications=applications)
    options: dict[str, Any] = {"als": als} | ({} if als == "recorded" else {"application": level})
    power = Power(of=of, limits=[(5 * S, 15 * S, 150)], fallback="dvfs")
    result = bridge.simulate(Workload.from_jobs([(1, 0, 12, 2, 12)]), machine(), power=power, **options)
    check_ledger(result.ledger)
    assert result.jobs.end_ns.tolist() == [end_s * S]
    assert result.jobs.energy_j.tolist() == result.nodes.energy_jobs_j.tolist() == [joules]
    assert result.metrics["energy_j"] == joules


def scenario(seed: int) -> tuple[Workload, dict[str, Any]]:
    options = drawn(seed)
    if options["als"] != "recorded":
        chance = random.Random(~seed)
        options["application"] = Application(
            latency_ns=chance.choice((0, 5_000_000)),
            speeds=chance.choice(((), ("square:period=3s,low=0.4,duty=0.3",), ("lost:cores=5 11,at=40s,until=60s",))),
        )
        if chance.random() < 0.3:
            options["rules"] = Rules(coordination="release:host", max_attempts=10**6)
    return jobs(random.Random(seed + 10**6), 25), options


def assert_same(one: bridge.Result, other: bridge.Result) -> None:
    for result in (one, other):
        check_ledger(result.ledger)
    assert_one_result(one, other)
    pd.testing.assert_frame_equal(one.power_over_time, other.power_over_time, check_exact=True)


def commanded_states(result: bridge.Result) -> None:
    """At every instant, all running jobs that may be slowed are in the state of the level that the table of power has."""
    plan, table = result.scenario.power, result.power_over_time
    assert plan is not None
    if plan.fallback != "dvfs":
        return
    ledger = result.ledger
    scales, jobs_ = ledger.of(ScaleRecords), ledger.jobs
    assert scales is not None
    for row in np.flatnonzero(jobs_.started).tolist():
        mine = scales.job == row
        origin = result.scenario.workload.job_id.tolist().index(int(jobs_.job_id[row]))
        allowed = bool(plan.allowed[origin])
        inside = table[(table.instant_ns > jobs_.start_ns[row]) & (table.instant_ns < jobs_.end_ns[row])]
        for instant, level in zip(inside.instant_ns.tolist(), inside.level.tolist(), strict=True):
            stated = np.flatnonzero(mine & (scales.command_ns <= instant))
            expected = level if allowed else 0
            if not len(stated):
                assert expected == 0
                continue
            last = stated[scales.command_ns[stated] == scales.command_ns[stated].max()]
            groups = plan.table.group_of_core(np.maximum(scales.core[last], 0))
            if scales.core[last[0]] >= 0:
                assert (scales.scale[last] == plan.table.speed[expected, groups]).all()


def hosts_make_the_machine(result: bridge.Result) -> None:
    power, nodes = result.power, result.nodes
    assert power is not None
    used = host_energies(power.run, HostIntervals(*(nodes[name].to_numpy() for name in ("host", "begin_ns", "end_ns"))))
    assert used.total.total_pj() == power.series.energy_pj()
    assert used.jobs.total_pj() == power.accounts.jobs.total_pj()
    assert all((part.mj >= 0).all() for part in (used.jobs, used.idle_cores, used.base, used.off))


ORDERS = ("fewest", "least-sensitive")
MAP = table_text(__file__, "map")
KINDS = ("plain", "ordered", "graphs", "drawing", "promised", "charged", "held")


def varied(kind: str, seed: int) -> tuple[Workload, dict[str, Any]]:
    """A scenario in which jobs are slowed in an order, draw power of their own, promise their ends, or deciding takes time."""
    workload, options = scenario(seed)
    power, rules, chance = options["power"], options["rules"], random.Random(f"{seed} {kind}")
    if kind in ("ordered", "graphs"):
        power = replace(power, fallback=f"dvfs:slow={ORDERS[seed % 2]}")
    if kind == "graphs":
        level = Application(applications=parse_application_map(MAP, "map.toml"))
        options |= {"als": ("gss", "af")[seed % 2], "application": level, "variation": 0.3, "tasks_per_core": 3}
    if kind == "drawing":
        workload = replace(workload, user=workload.job_id % 3)
        draws = {"power": (0.5, 1, 1.4), "memory_bound": (0, 0.4, 1)}
        given = {name: [chance.choice(values) for _ in workload.job_id] for name, values in draws.items()}
        estimates = ("exact", "last-two")[seed % 2]
        power = replace(power, job_power={"job_id": workload.job_id.tolist(), **given}, estimates=estimates)
    if kind in ("promised", "charged", "held"):
        options.pop("backfill", None)
        rules = replace(rules, backfill=("easy", "3", "conservative")[seed % 3])
    if kind == "promised":
        power = replace(power, fallback=("dvfs", "submit:state=1")[seed % 2])
        rules = replace(rules, estimates="application")
    if kind in ("charged", "held"):
        power = replace(power, fallback="hold" if kind == "held" else "submit:state=2")
        rules = replace(rules, decision_cost_ns=2 * S)
    return workload, options | {"power": power, "rules": rules}


@pytest.mark.parametrize("kind", KINDS)
def test_in_place_or_simulated_again_it_is_the_same(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine's state is checked at every step; hosts of groups that are not alike use what the machine does."""
    scaled = 0
    for seed in range(3):
        workload, options = varied(kind, seed)
        with monkeypatch.context() as patch:
            patch.setattr(BatchSimulator, "checks", 1)
            patch.setattr(BatchSimulator, "most_ends", 1)
            kept = bridge.simulate(workload, PLATFORM, **options)
        if kind in ("plain", "promised", "charged"):  # else the states of jobs differ
            commanded_states(kept)
        hosts_make_the_machine(kept)
        with monkeypatch.context() as patch:
            patch.setattr(Technique, "by_memo", False)
            assert_same(kept, bridge.simulate(workload, PLATFORM, **options))
        if options["als"] != "recorded" and kind in ("plain", "drawing"):
            options["power"] = replace(options["power"], of="working")
            hosts_make_the_machine(bridge.simulate(workload, PLATFORM, **options))
        scaled += len(kept.ledger.of(ScaleRecords) or ())
    assert scaled > 10 or kind == "held"


@pytest.mark.parametrize(
    ("kind", "coupling"),
    [
        pytest.param(
            kind, ("pool", "process")[at % 2], marks=[] if kind in ("graphs", "charged") else pytest.mark.release
        )
        for at, kind in enumerate(KINDS)
    ],
)
def test_in_every_coupling(kind: str, coupling: str) -> None:
    workload, options = varied(kind, 4)
    if options["als"] == "recorded":
        options["als"] = "fac"
    reference = bridge.simulate(workload, PLATFORM, **options)
    assert_same(reference, bridge.simulate(workload, PLATFORM, **options, coupling=coupling, workers=2))


def test_what_is_released_of_a_job_that_promised_a_later_end_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """The profile, which is checked at each step, has cores free from their release on, and not only from the requested end."""
    monkeypatch.setattr(BatchSimulator, "checks", 1)
    monkeypatch.setattr(BatchSimulator, "most_ends", 1)
    rules = Rules("conservative", coordination="release:host", estimates="application")
    said: dict[str, Any] = {"als": "ss", "tasks_per_core": 4, "variation": 0.5, "allocator": "contiguous"}
    cases = (jobs(random.Random(seed), 25) for seed in range(4))
    assert sum(len(bridge.simulate(case, PLATFORM, **said, rules=rules).releases) for case in cases) > 20


@pytest.mark.parametrize(
    ("allowed", "ends_s"), [("all", [100, 120, 120]), ("none", [100, 120, 100]), ("users:3", [100, 120, 120])]
)
def test_an_application_map_says_which_jobs_may_be_slowed(allowed: str, ends_s: list[int]) -> None:
    """From 20 to 60 s the limit is below the power of any job: those that may be slowed do half of their work meanwhile."""
    never, always = (
        f'[[application]]\nname = "{may}"\nmatch = {{ user = {user} }}\nallowed = {may}\n'
        for user, may in ((1, "false"), (2, "true"))
    )
    power = Power(limits=[(20 * S, 60 * S, 400)], fallback="dvfs", allowed=allowed)
    result = of_three_users(never + always, power)
    assert result.jobs.end_ns.tolist() == [end * S for end in ends_s]
    assert result.jobs.allowed.tolist() == [0, 1, int(allowed != "none")]
    # Without limits the map changes nothing.
    plain, unlimited = of_three_users(never + always, None), of_three_users(never + always, Power("held"))
    assert plain.jobs.equals(unlimited.jobs.drop(columns="energy_j"))
    assert plain.jobs.end_ns.tolist() == [100 * S] * 3


PLATFORM_TEXT = table_text(__file__, "platform_text")


def test_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs, with and without a fallback; what they are compared to say, their trace, and their figure."""
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(PLATFORM_TEXT)
    Path("limits.csv").write_text("from,to,limit_w\n1h,8h,60%\n")
    words = ("run", "sample", "--als", "gss", "--select", "first:60", "--platform", "small.toml")
    words += ("--limits", "limits.csv", "--allowed", 0.5, "--nodes")
    for fallback in ("none", "dvfs"):
        ran = succeeds(*words, "--fallback", fallback, "--out", fallback)
        assert "energy" in ran.out
    said = twolevel("compare", "none", "dvfs", "-o", "compared").out
    shown = ("energy saved", "peak in limits", "power reduction", "run longer in B, allowed")
    for words_ in (*shown, "wait longer in B, disallowed"):
        assert words_ in said
    runs = [json.loads(Path(name, "run.json").read_text())["power"] for name in ("none", "dvfs")]
    power = json.loads(Path("compared/comparison.json").read_text())["power"]
    for name in ("energy_j", "peak_power_w", "peak_limited_w", "above_limit_j", "above_limit_ns"):
        assert power[name] == [run[name] for run in runs]
    assert power["peak_limited_w"][1] <= 0.6 * runs[1]["full_w"] < power["peak_limited_w"][0]
    assert power["run"]["allowed"]["mean_ns"] > 0
    others = 60 - power["run"]["allowed"]["jobs"]
    assert power["run"]["disallowed"] == {"jobs": others, "mean_ns": 0, "p95_ns": 0, "ratio": 1}
    assert set(power["wait"]) == {"all", "allowed", "disallowed"}
    record = json.loads(Path("dvfs/run.json").read_text())["power"]
    assert record["full_w"] == 4 * (100 + 64 * 4)
    table = pd.read_parquet("dvfs/power.parquet")
    lasts = np.diff(np.append(table.instant_ns, pd.read_parquet("dvfs/jobs.parquet").end_ns.max()))
    assert (table.power_mw * (lasts / 1e9)).sum() / 1000 == pytest.approx(record["energy_j"], rel=1e-12)
    nodes = pd.read_parquet("dvfs/nodes.parquet")
    assert nodes.energy_j.sum() == pytest.approx(record["energy_j"], rel=1e-12)
    assert nodes.energy_jobs_j.sum() == pytest.approx(record["energy_jobs_j"], rel=1e-12)
    assert table.power_mw[table.limit_mw >= 0].max() <= 0.6 * 1000 * record["full_w"]
    with otf2.reader.open("dvfs/trace/traces.otf2") as trace:
        found = [(event.time, *event.values) for location, event in trace.events if location.name == "power"]
    assert [one[1] for one in found] == table.power_mw.tolist()
    full_mw = round(1000 * record["full_w"])
    assert [one[2] for one in found] == table.limit_mw.where(table.limit_mw >= 0, full_mw).tolist()
    assert [one[3] for one in found] == table.level.tolist()
    succeeds("power", "dvfs", "-o", "power.svg")
    drawn_text = Path("power.svg").read_text()
    shown = re.findall(r"<!-- (.*?) -->", drawn_text)  # texts are outlines, which say what of
    assert "sample: fcfs × gss, fallback dvfs" in shown
    assert {"power [kW]", "level"} < set(shown)
    assert any("black: the limit" in text for text in shown)
    wrong = twolevel("power", "elsewhere", "-o", "power.svg")
    assert (wrong.code, wrong.err.count("\n")) == (2, 1)


SMALL = machine(2, off_w=10)
LIMITED = [(20 * S, 80 * S, 300)]


def run_small(jobs_: list[dict[str, Any]] | None = None, **said: Any) -> bridge.Result:
    rows = [{"job_id": 1, "submit_s": 0, "run_s": 100, "cores": 2}] if jobs_ is None else jobs_
    power = {name: said.pop(name) for name in {field.name for field in fields(Power)} & said.keys()}
    rules = said.get("rules", Rules())
    als = "static" if rules.molds or rules.resizing else "recorded"
    options = Power(**{"limits": LIMITED} | power)
    return bridge.simulate(Workload.from_jobs(rows), SMALL, als=als, power=options, **said)


WIDE = ConstraintOptions(malleable="1")
NOTICED = [(*one, "", 0, S) for one in LIMITED]
MOLDED: dict[str, Any] = {"fallback": "hold", "rules": Rules("2", resize="mold"), "constraints": WIDE}
EXPANDED: dict[str, Any] = {"fallback": "hold", "limits": NOTICED, "rules": Rules(resize="expand"), "constraints": WIDE}
CHARGED = Rules(decision_cost_ns="measured")


@pytest.mark.parametrize(
    ("said", "what", "instead"),
    [
        (MOLDED, "resize.*mold.* with several reservations", "stop:idle"),
        (EXPANDED, "resize='expand', as running jobs get cores", "none"),
        ({"fallback": "hold", "limits": NOTICED, "bls": Director(1)}, "batch policy director, as it receives", "none"),
        ({"fallback": "dvfs", "rules": CHARGED}, "decision_cost_ns", "hold"),
        ({"fallback": "dvfs", "rules": CHARGED}, "decision_cost_ns", "stop:off"),
    ],
)
def test_what_is_not_with_a_fallback_is_with_others(said: dict[str, Any], what: str, instead: str) -> None:
    """The line names them, and what it names is possible."""
    rows = [{"job_id": 1, "submit_s": 30, "run_s": 100, "cores": 2}]
    with pytest.raises(InputError, match=rf"not with.*{what}.*allowed.*none") as error:
        run_small(rows, **said)
    assert instead in str(error.value).partition("allowed")[2]
    run_small(rows, **said | {"fallback": instead})


MARKED: dict[str, dict[str, Any]] = {
    "below": {"limits": [(0, S, 250), (S, 2 * S, 20), (2 * S, 3 * S, 19), (3 * S, 4 * S, 10)]},
    "one": {"jobs_": [{"job_id": 1, "submit_s": 0, "run_s": 5, "cores": 1, "user": 3}]},
}


@pytest.mark.parametrize(("fallback", "marks", "said", "words"), table_rows(__file__, "warnings_of_limits"))
def test_warnings_of_limits(fallback: str, marks: list[str], said: dict[str, Any], words: str) -> None:
    for mark in marks:
        said = said | MARKED[mark]
    assert list(map(on_command_line, power_words(run_small(fallback=fallback, **said).scenario))) == (
        [words] if words else []
    )


def test_the_peak_under_a_limit() -> None:
    """Slowed 240 W, with what is idle; at full speed 300 W before and after; without a limit meanwhile there is none."""
    found = run_small(fallback="dvfs", limits=[(20 * S, 80 * S, 260)])
    assert (found.metrics["peak_power_w"], found.metrics["peak_limited_w"]) == (300, 240)
    summary = dict(found.summary())
    assert summary["power"].endswith("at most 300 W, 240 W under a limit")
    assert summary["may be slowed"] == "1 of 1 jobs"
    assert "may be slowed" not in dict(run_small(fallback="hold").summary())
    assert run_small(limits=[(200 * S, 300 * S, 260)], fallback="dvfs").metrics["peak_limited_w"] is None


def test_indexes_by_hand() -> None:
    """As the paper's: with the limit, jobs 1 and 2 take 30 s longer each, job 3 waits for 30 s longer."""

    def run(of: Workload, begin_s: int, end_s: int, limit_w: float, fallback: str = "none") -> bridge.Result:
        power = Power(limits=[(begin_s * S, end_s * S, limit_w)], fallback=fallback)
        return bridge.simulate(of, machine(2), als="recorded", power=power)

    three = Workload.from_jobs([(1, 0, 100, 2, 100), (2, 0, 60, 2, 60), (3, 10, 40, 2, 40)])
    without, limited = runs = [run(three, 20, 80, 300, fallback) for fallback in ("none", "dvfs")]
    records = [one.power.record() for one in runs if one.power is not None]
    rows = (np.arange(3), np.arange(3))
    found = indexes_of(
        (without.jobs, limited.jobs), rows, (records[0], records[1]), (without.power_over_time, limited.power_over_time)
    )
    assert (found.run["all"].mean_ns, found.wait["all"].mean_ns, found.run["disallowed"].jobs) == (20 * S, 10 * S, 0)
    assert (found.power_reduction_w, found.energy_saved_j) == (120, 1200)
    # The same as metrics of each run; the first one is over 10 s earlier, from where on the machine is idle.
    one, other = (run.metrics for run in runs)
    assert (one["mean_run_ns"], other["mean_run_ns"]) == (200 * S / 3, 260 * S / 3)
    assert (one["mean_wait_ns"], other["mean_wait_ns"]) == (50 * S / 3, 80 * S / 3)
    assert (one["mean_power_in_limits_w"], other["mean_power_in_limits_w"]) == (400, 280)
    assert one["mean_wait_allowed_ns"] == one["mean_wait_ns"]
    assert one["mean_run_disallowed_ns"] is None
    early = Power(limits=[(0, 20 * S, 500), (150 * S, 200 * S, 500)], fallback="none")
    idle = bridge.simulate(three, machine(2), als="recorded", power=early).metrics
    assert idle["mean_power_in_limits_w"] == (20 * 400 + 50 * 200) / 70
    # Hours before the first submit are left out; a run ignores the later end of another, and is idle after its own.
    later = Workload.from_jobs([(1, 110, 40, 2, 40)])
    for begin_s in (0, 100, 110):
        assert run(later, begin_s, 200, 500).metrics["mean_power_in_limits_w"] == (40 * 300 + 50 * 200) / 90


@pytest.mark.parametrize(("limit_w", "given"), [(299.0, []), (309.0, []), (310.0, [2]), (400.0, [2, 3])])
def test_cores_that_come_have_to_fit(limit_w: float, given: list[int]) -> None:
    """40 W idle; a core that works draws 90 W more. Two do; as the limit begins, and nobody waits, it has what else fits."""
    found = bridge.simulate(
        Workload.from_jobs([(1, 0, 40, 2, 40)]),
        Platform((HostGroup(1, 4, 4.0, power=HostPower(10, [(1, 100)])),)),
        als="ss",
        tasks_per_core=20,
        resize="expand",
        malleable="1:1:2",
        limits=[(5 * S, 1000 * S, limit_w)],
        fallback="hold",
    )
    assert found.widths.core[found.widths.change == 1].tolist() == given


def test_a_loop_of_a_job_that_draws_less_by_hand() -> None:
    """Two cores, idle 50 W and waiting 60 W, at work 100 W, or at half of their speed 70 W; 16 tasks of 1 s on each core.

    The job draws half of that beyond idle ones, 75 W, or 60 W, a core, and half of its time no speed changes. From 4 to 10 s
    130 W are allowed: it is at 1 / (0.5 / 0.5 + 0.5) of full speed, and does 4 of its 16 s in these 6 s. It ends at 18 s.
    """
    given = {"job_id": [1], "power": [0.5], "memory_bound": [0.5]}
    power = Power(limits=[(4 * S, 10 * S, 130)], fallback="dvfs", job_power=given)
    job = Workload.from_jobs([(1, 0, 16, 2, 16)])
    said: dict[str, Any] = {"als": "static", "tasks_per_core": 16, "variation": 0.0}
    for of in ("held", "working"):
        found = bridge.simulate(job, machine(waiting_w=60), power=replace(power, of=of), **said)
        assert abs(found.jobs.end_ns[0] - 18 * S) <= 16
        assert found.jobs.energy_j[0] == pytest.approx(2 * (75 * 12 + 60 * 6), rel=1e-8)
        assert found.metrics["above_limit_ns"] == 0


def test_an_application_map_says_what_jobs_draw() -> None:
    """The map goes before the file; a job in neither draws what the platform says."""
    text = table_text(__file__, "of_what_jobs_draw")
    given = {"job_id": [1, 2], "power": [0.7, 0.8], "memory_bound": [1, 1]}
    found, alone = (of_three_users(text, Power("held", job_power=one)) for one in (given, None))
    assert (found.jobs.power.tolist(), found.jobs.memory_bound.tolist()) == ([0.5, 0.8, 2], [1, 0.25, 0])
    assert found.jobs.energy_j.tolist() == [2 * 75 * 100, 2 * 90 * 100, 2 * 150 * 100]
    assert (alone.jobs.power.tolist(), alone.jobs.memory_bound.tolist()) == ([0.5, 1, 2], [0, 0.25, 0])
    assert "power" not in of_three_users(text, None).jobs
    for key, value, allowed in (("power", 11, "0 to 10"), ("memory_bound", '"all"', "0 to 1")):
        with pytest.raises(InputError, match=rf"m.toml: application\[0\].{key}: .*; allowed: {allowed}"):
            parse_application_map(f'[[application]]\nname = "a"\n{key} = {value}\n', "m.toml")


def test_an_application_map_says_what_part_of_their_time_jobs_spend_on_gpus(tmp_path: Path) -> None:
    """Jobs of 100 s in a state of half the speed of cores and 0.8 of that of GPUs: 1 / 0.5 times as long with cores alone, 1 /
    0.8 with GPUs alone, and 0.5 / 0.8 + 0.5 / 0.5 times with both. The map goes before the file; a job without GPUs has
    none."""
    (tmp_path / "gpus.csv").write_text("job_id,gpus_per_task\n1,1\n2,1\n3,1\n")
    text = "".join(
        f'[[application]]\nname = "{user}"\nmatch = {{ user = {user} }}\ngpu_share = {share}\n'
        for user, share in ((1, 0.5), (2, 0), (4, 0.5))
    )
    power = HostPower(50, [(1, 100), (0.5, 70)], gpu_idle_w=40, gpu_states=[(1, 300), (0.8, 200)])
    rows = [{"job_id": k, "user": k, "submit_s": 0, "run_s": 100, "cores": 1, "estimate_s": 100} for k in (1, 2, 3, 4)]
    given = {"job_id": [1, 3], "gpu_share": [1, 0.25]}
    asked = Power(limits=[(0, 9 * S, 9000.0)], fallback="submit:state=1", job_power=given)
    found = bridge.simulate(
        Workload.from_jobs(rows), Platform((HostGroup(1, 4, 4.0, gpus=3, power=power),)), als="static", power=asked,
        tasks_per_core=1, variation=0.0, constraints=ConstraintOptions(requests=str(tmp_path / "gpus.csv")),
        application=Application(applications=parse_application_map(text, "m.toml")),
    )  # fmt: skip
    assert found.jobs.gpu_share.tolist() == [0.5, 1e-9, 0.25, 0]
    assert (found.jobs.end_ns / S).tolist() == pytest.approx([162.5, 200, 181.25, 200], rel=1e-7)
    with pytest.raises(InputError, match=r"m.toml: application\[0\].gpu_share: .*; allowed: 0 to 1"):
        parse_application_map('[[application]]\nname = "a"\ngpu_share = 2\n', "m.toml")


def test_limits_to_parts_of_the_machine_in_every_coupling() -> None:
    workload, options = scenario(4)
    parts = [(10 * S, 200 * S, 330.0, "hosts:0-1"), (30 * S, 120 * S, 260.0, "hosts:1-2")]
    limits = [*options["power"].limits, *parts]
    options["power"] = Power(limits=limits, fallback="dvfs:slow=fewest", allowed="0.8")
    options |= {"als": "af", "application": Application(applications=parse_application_map(MAP, "map.toml"))}
    one = bridge.simulate(workload, PLATFORM, **options)
    hosts_make_the_machine(one)
    assert len(one.scales) > 10
    other = bridge.simulate(workload, PLATFORM, **options, coupling="pool", workers=2)
    assert_same(one, other)
    pd.testing.assert_frame_equal(one.power_of_domains, other.power_of_domains, check_exact=True)


def test_the_commands_where_parts_have_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("racks.toml").write_text(PLATFORM_TEXT)
    Path("limits.csv").write_text("from,to,limit_w,where\n2h,12h,60%,switch:left\n4h,6h,700,\n0,1h,10,hosts:3\n")
    words = ("--select", "first:60", "--platform", "racks.toml", "--limits", "limits.csv", "--fallback", "dvfs")
    done = succeeds("run", "sample", "--als", "gss", *words, "--trace", "none", "--check", "--out", "out")
    assert "--limits: hosts:3: 1 of 1 cannot be kept: idle it draws 164 W, and the lowest is 10 W" in done.err
    assert "3 of the machine and 2 parts of it, fallback dvfs" in done.out
    assert "above a limit of hosts:3" in done.out
    table = pd.read_parquet("out/power_domains.parquet")
    assert table.columns.tolist() == ["instant_ns", "domain", "power_mw", "limit_mw"]
    assert table.domain.unique().tolist() == ["switch:left", "hosts:3"]
    record = json.loads(Path("out/run.json").read_text())["power"]
    assert list(record["domains"]) == ["switch:left", "hosts:3"]
    assert record["domains"]["switch:left"]["full_w"] == 712
    assert {one["where"] for one in record["above_limit"] if "where" in one} >= {"hosts:3"}
    assert [twolevel("power", "out", "-o", f"power.{kind}").code for kind in ("svg", "png")] == [0, 0]
    assert "left" in Path("power.svg").read_text()
    assert "power reduction" in twolevel("compare", "out", "out").out
