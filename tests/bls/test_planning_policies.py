"""hcp19, cp-classes, pcp19 and pcp20 in runs: what they are shown, what they answer, and what they leave to be read."""

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tables import table_rows

import bridge
from bls import HostGroup, Partition, Platform, Workload
from bls.cp import MODELS, scheduling
from bls.cp.dispatch import dispatch
from bls.machine.host_power import HostPower
from bls.policies import policy
from bls.policies.planning import run
from bls.policies.planning.planner import PCP20
from bls.power.options import Power
from bls.scheduler_options import ConstraintOptions
from traces.base.errors import InputError, PluginError
from traces.base.time import NS_PER_S
from traces.checks.ledger import check_ledger

pytestmark = pytest.mark.whole

#: Four nodes of 4 cores: two with 2 GPUs, two with a MIC.
CARDS = Platform((HostGroup(2, 4, 4.0, resources={"gpu": 2}), HostGroup(2, 4, 4.0, resources={"mic": 1})))
PLAIN = Platform((HostGroup(2, 4, 4.0),))


def jobs_with_cards(seed: int, folder: Path, n: int = 30) -> tuple[Workload, Path]:
    """Jobs of a few units that request cores, and some of them cards; and the file of their requests."""
    chance = np.random.default_rng(seed)
    rows, asked, t = [], ["job_id,unit_cores,gpu,mic"], 0
    for number in range(1, n + 1):
        t += int(chance.choice([0, 1, 4]))
        units, unit, card = int(chance.integers(1, 4)), int(chance.integers(1, 4)), int(chance.integers(0, 4))
        units = min(units, 2) if card else units
        gpu, mic = (int(chance.integers(1, 3)) if card == 1 else 0), int(card == 2)
        rows.append((number, t, int(chance.integers(1, 12)), units * unit, int(chance.integers(1, 20))))
        asked.append(f"{number},{unit},{gpu},{mic}")
    path = folder / f"asked-{seed}.csv"
    path.write_text("\n".join(asked) + "\n", encoding="utf-8")
    return Workload.from_jobs(rows), path


def simulated(bls: str, seed: int, folder: Path, **rules: Any) -> bridge.Result:
    workload, asked = jobs_with_cards(seed, folder)
    return bridge.simulate(workload, CARDS, bls=bls, als="recorded", keep_decisions=True, **rules, requests=asked)


@pytest.mark.parametrize(("model", "search"), [*zip(MODELS, ["hinted", "paper", "lns", "list"], strict=True)])
def test_units_lie_where_the_cards_are_and_all_jobs_run(model: str, search: str, tmp_path: Path) -> None:
    """Every model has both choices of jobs, and so has every search."""
    for which, seed in (("fits", 1), ("all", 2)):
        result = simulated(f"{model}:search={search},which={which}", seed, tmp_path)
        check_ledger(result.ledger)
        jobs, asked = result.ledger.jobs, result.scenario.constraints.requests
        assert (jobs.end_ns > jobs.start_ns).all()
        for instant in np.unique(jobs.start_ns).tolist():
            left = CARDS.host_resources.astype(np.int64).copy()
            for row in np.flatnonzero((jobs.start_ns <= instant) & (instant < jobs.end_ns)).tolist():
                for lo, hi in jobs.allocation(row):
                    hosts, cores = np.unique(CARDS.core_host[lo:hi], return_counts=True)
                    np.subtract.at(left, hosts, (cores / asked.unit_cores[row])[:, None] * asked.per_unit[row])
            assert (left >= 0).all()


SEARCHED = [(model, search) for model in MODELS for search in ("hinted", "paper", "lns", "list")]


@pytest.mark.parametrize(("model", "search"), SEARCHED)
def test_whole_gpus_are_counted_as_amounts_are(model: str, search: str, tmp_path: Path) -> None:
    """The slower reference of numbered GPUs: the same numbers of GPUs as mere amounts of hosts."""
    workload, asked = jobs_with_cards(3, tmp_path)
    rows = [line.split(",") for line in asked.read_text().splitlines()[1:]]
    found = []
    for column, group in (
        ("gpus_per_task", HostGroup(2, 4, 4.0, gpus=2)),
        ("gpu", HostGroup(2, 4, 4.0, resources={"gpu": 2})),
    ):
        lines = [f"job_id,unit_cores,{column}", *(f"{job},{unit},{gpu}" for job, unit, gpu, _ in rows)]
        asked.write_text("\n".join(lines) + "\n")
        platform = Platform((group, HostGroup(2, 4, 4.0)))
        bls = f"{model}:search={search},which=all"
        found.append(bridge.simulate(workload, platform, bls=bls, als="recorded", requests=asked).jobs)
    names = ["start_ns", "end_ns", "allocation"]
    assert found[0][names].equals(found[1][names])


@pytest.mark.parametrize(("model", "search"), SEARCHED)
def test_kinds_and_shares_of_gpus_are_never_held_twice(model: str, search: str, tmp_path: Path) -> None:
    kinds = ((2, "a"), (2, "a"), (1, "b"), (0, ""))
    platform = Platform(tuple(HostGroup(1, 4, 4.0, gpus=gpus, gpu=kind) for gpus, kind in kinds))
    chance = np.random.default_rng(SEARCHED.index((model, search)))
    lines = ["job_id,unit_cores,gpus_per_task,gpu_milli,gpu_kind"]
    jobs, submit = [], 0
    for number in range(1, 31):
        submit += int(chance.choice([0, 1, 4]))
        kind, milli = str(chance.choice(["", "a", "a|b", "b"])), int(chance.choice([1000, 1000, 600, 300]))
        most = 1 if milli < 1000 or kind == "b" else 2
        unit = int(chance.integers(1, 3))
        units = 1 if kind == "b" else int(chance.integers(1, 3))
        gpus = chance.integers(most + 1)
        jobs.append((number, submit, int(chance.integers(1, 12)), unit * units, int(chance.integers(1, 20))))
        lines.append(f"{number},{unit},{gpus},{milli},{kind}" if gpus else f"{number},{unit},,,")
    asked = tmp_path / "asked.csv"
    asked.write_text("\n".join(lines) + "\n")
    for which in ("fits", "all"):
        bls = f"{model}:search={search},which={which}"
        result = bridge.simulate(Workload.from_jobs(jobs), platform, bls=bls, als="recorded", requests=asked)
        check_ledger(result.ledger)
        assert (result.jobs.state == "completed").all()
        kind = np.repeat([name for _, name in kinds], [number for number, _ in kinds])
        gpus = result.ledger.gpus
        for row, line in enumerate(lines[1:]):
            accepted = line.split(",")[-1].split("|")
            held = gpus.gpu[gpus.first[row] : gpus.first[row + 1]]
            assert accepted == [""] or set(kind[held]) <= set(accepted)


def test_a_start_waits_if_no_single_gpu_is_left(tmp_path: Path) -> None:
    """Of both GPUs 400 thousandths are left, which the models add up; job 3 needs 500 of one, and job 4 only 300."""
    asked = tmp_path / "asked.csv"
    asked.write_text("job_id,gpus_per_task,gpu_milli\n1,1,600\n2,1,600\n3,1,500\n4,1,300\n")
    jobs = Workload.from_jobs([(1, 0, 10, 1, 10), (2, 0, 20, 1, 20), (3, 1, 5, 1, 5), (4, 2, 5, 1, 5)])
    platform = Platform((HostGroup(1, 4, 4.0, gpus=2),))
    for model in MODELS:
        result = bridge.simulate(jobs, platform, bls=model, als="recorded", requests=asked)
        check_ledger(result.ledger)
        assert (result.jobs.start_ns // NS_PER_S).tolist() == [0, 0, 10, 2]


def test_plans_are_recorded_with_their_pass(tmp_path: Path) -> None:
    result = simulated("pcp20:which=all", 4, tmp_path)
    passes = result.decisions
    planned = passes[passes.status.notna() & (passes.status != "nothing")]
    assert len(planned) > 5
    assert set(planned.status) <= {"optimal", "feasible"}
    assert set(planned.source) == {"planned"}
    assert (planned.z <= planned.list_z).all()
    assert (planned.bound <= planned.z).all()
    assert (planned.modelled > 0).all()
    solved = planned[planned.solves > 0]
    assert (solved.variables > solved.modelled).all()
    assert (solved[["list_ns", "build_ns", "solve_ns"]] > 0).all(axis=None)
    totals = result.notes.decisions["policy"]
    assert totals == {"planned_passes": len(planned), "fallback_passes": 0, "stopped_passes": 0, "repeatable": True}


#: 4 cores: job 1 has 3 of them until 10; job 2 needs all; jobs 3 and 4 fit next to job 1.
PAST = Workload.from_jobs([(1, 0, 10, 3, 10), (2, 1, 5, 4, 5), (3, 2, 8, 1, 8), (4, 10, 20, 1, 20)])


@pytest.mark.parametrize("warm", ["true", "false"])
def test_a_warm_run_remembers_the_plan_before(warm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[tuple[Any, Any]] = []

    def noted(instance: Any, *rest: Any, last_s: Any, **more: Any) -> Any:
        found = dispatch(instance, *rest, last_s=last_s, **more)
        if found.status != "nothing":
            plans.append((found, {row: int(s) for row, s in zip(instance.queue.row.tolist(), last_s.tolist(), strict=True)}
                          if last_s is not None else None))  # fmt: skip
        return found

    monkeypatch.setattr(run, "dispatch", noted)
    simulated(f"hcp19:which=all,search=list,warm={warm}", 5, tmp_path)
    last_starts = [last for _, last in plans]
    assert last_starts[0] is None
    if warm == "false":
        assert set(map(type, last_starts)) == {type(None)}
        return
    # Jobs that were planned for later have their planned start; new jobs have none.
    seconds = [sorted(second for second in last.values() if second >= 0) for last in last_starts if last is not None]
    assert len(seconds) == len(plans) - 1
    assert sum(map(len, seconds)) > 10
    assert any(-1 in last.values() for last in last_starts if last is not None)


def test_solves_stopped_by_the_clock_are_reported(tmp_path: Path) -> None:
    result = simulated("pcp20:which=all,wall_s=1e-9", 5, tmp_path)
    totals = result.notes.decisions["policy"]
    assert not totals["repeatable"]
    assert totals["stopped_passes"] == totals["fallback_passes"] > 0
    assert "fallback" in " ".join(result.jobs.started_because)
    assert "backfilling, allocator" not in dict(result.summary())  # the plan says where jobs are
    assert "not repeatable" in dict(result.summary())["the policy's totals"]
    # After a pass that was not solved the next model has half as many jobs, until one is.
    passes = result.decisions[result.decisions.source.notna()]
    limit = 100
    for source, status, modelled, waiting in passes[["source", "status", "modelled", "waiting"]].itertuples(
        index=False
    ):
        assert modelled == min(waiting, limit)
        limit = 100 if source == "planned" else max(1, modelled // 2)
        assert status in ("unknown", "optimal")


def refused(bls: str = "pcp20", platform: Platform = PLAIN, **options: Any) -> str:
    jobs = Workload.from_jobs([(1, 0, 10, 1, 10), (2, 1, 5, 2, 5)])
    with pytest.raises(InputError) as caught:
        bridge.simulate(jobs, platform, bls=bls, als="recorded", **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_features_outside_the_models_are_refused_in_one_line(tmp_path: Path) -> None:
    for partition in (Partition("small", default=True, max_cores=2), Partition("half", default=True, hosts="1")):
        split = Platform((HostGroup(2, 4, 4.0),), partitions=(partition,))
        assert "partitions and their limits" in refused(platform=split)
    for allocator in ("whole-host", "best-fit"):
        assert f"allocator='{allocator}'" in refused(allocator=allocator)
    asked = tmp_path / "asked.csv"
    asked.write_text("job_id,matlab\n2,1\n", encoding="utf-8")
    licensed = Platform((HostGroup(2, 4, 4.0),), licences={"matlab": 2})
    assert "job 2 requests licences" in refused(platform=licensed, constraints=ConstraintOptions(requests=asked))
    asked.write_text("job_id,gpus_per_host\n2,1\n", encoding="utf-8")
    with_gpus = Platform((HostGroup(2, 4, 4.0, gpus=1),))
    several = refused(platform=with_gpus, constraints=ConstraintOptions(requests=asked))
    assert "GPUs per host of job 2, of several units" in several
    windows = tmp_path / "windows.toml"
    windows.write_text('[[maintenance]]\nname = "cooling"\nbegin = 5\nend = 9\nhosts = "0"\n', encoding="utf-8")
    assert "reservations and maintenance" in refused(constraints=ConstraintOptions(windows=str(windows)))
    drawing = Platform((HostGroup(2, 4, 4.0, power=HostPower(idle_w=1.0, states=((1.0, 240.0),))),))
    for fallback in ("hold", "stop:idle"):
        power = Power(limits=[(10**10, 10**11, 1500.0)], fallback=fallback)
        assert "a limit to power" in refused(platform=drawing, power=power)


@pytest.mark.parametrize("given", [None, [1], {"a b": 1}, {"found": None}])
def test_totals_are_names_and_plain_values(given: object) -> None:
    class Counts:
        name = "counts"

        def decide(self, view: Any) -> list[Any]:
            return [job for job in list(view.waiting)[:1] if job.cores <= view.free_cores]

        def totals(self) -> object:
            return given

    with pytest.raises(PluginError, match=r"batch policy counts: totals\(\) gave"):
        bridge.simulate(PAST, PLAIN, bls=Counts(), als="recorded")


@pytest.mark.parametrize(("text", "said"), table_rows(__file__, "parameters_that_cannot_be"))
def test_parameters_that_cannot_be(text: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        policy(f"pcp20:{text}")
    assert said in str(caught.value)


def test_without_or_tools_an_error_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    real = importlib.import_module

    def missing(name: str, *rest: Any) -> Any:
        if name.startswith("ortools"):
            raise ImportError("No module named 'ortools'")
        return real(name, *rest)

    monkeypatch.setattr(scheduling, "import_module", missing)
    scheduling.cp_model.cache_clear()
    try:
        with pytest.raises(InputError, match=r'pip install "twolevel\[cp\]"'):
            PCP20.for_run()
        assert 'pip install "twolevel[cp]"' in refused()
        for search in ("list", "lns"):  # which need none
            result = simulated(f"pcp20:search={search}", 7, tmp_path)
            assert (result.jobs.state == "completed").all()
    finally:
        scheduling.cp_model.cache_clear()


#: The jobs of "Promises of running applications" on docs/reference/batch-estimates.md, minutes.
PAGE = Workload.from_jobs(
    [tuple(60 * value if k in (1, 2, 4) else value for k, value in enumerate(job))
     for job in ((1, 0, 20, 3, 60), (2, 1, 10, 4, 10), (3, 2, 30, 1, 30))]
)  # fmt: skip
FOUR = Platform((HostGroup(1, 4, 4.0),))


@pytest.mark.parametrize(("model", "search"), [*zip(MODELS, ["hinted", "lns", "list", "lns"], strict=True)])
def test_the_end_that_an_application_promises_is_planned_with(model: str, search: str) -> None:
    """Job 1 requests 60 minutes and promises 20: job 2 is planned at 20, and job 3 would be in its way."""
    for estimates, starts in (("requested", [0, 32, 2]), ("application", [0, 20, 30])):
        bls = f"{model}:which=all,search={search}"
        found = bridge.simulate(PAGE, FOUR, bls=bls, als="recorded", estimates=estimates)
        assert (found.ledger.jobs.start_ns // (60 * NS_PER_S)).tolist() == starts


@pytest.mark.parametrize("coordination", ["release"])
def test_promises_of_tasks_are_the_same_in_every_coupling(coordination: str) -> None:
    jobs = Workload.from_jobs([(k, 2 * k, 10 + 7 * k % 13, 1 + 5 * k % 4, 60 + k) for k in range(1, 13)])
    starts = {}
    for estimates in ("application", "requested"):
        for coupling in ("inline", "process") if estimates == "application" else ("inline",):
            found = bridge.simulate(
                jobs,
                FOUR,
                bls="cp-classes:which=all,search=lns",
                als="gss",
                variation=0.5,
                estimates=estimates,
                coordination=coordination,
                coupling=coupling,
            )
            check_ledger(found.ledger)
            starts[estimates, coupling] = found.ledger.jobs.start_ns.tolist()
    heard = {coupling: one for (estimates, coupling), one in starts.items() if estimates == "application"}
    assert heard["process"] == heard["inline"] != starts["requested", "inline"]
