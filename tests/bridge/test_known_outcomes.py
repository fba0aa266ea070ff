"""Runs in parts are whole runs: with applications of another run, or paused, forked and continued; and drained hosts."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from directors import Director
from hypothesis import given, settings
from hypothesis import strategies as st
from one_result import different
from pages import ROOT, blocks
from scenarios import crowd
from test_power_runs import PLATFORM as POWERED
from test_power_runs import varied

import bridge
from bls import Platform, Workload, sample_path
from bls.constraints.outages import OutageModel, modelled_outages
from bls.engine.features.directions.records import ScaleRecords
from bls.machine.platform import HostGroup
from bls.scheduler_options import ConstraintOptions, Rules
from bridge.runs.result import Result
from bridge.runs.simulation import run
from bridge.scenarios.application_map import ApplicationMap, parse_application_map
from bridge.scenarios.ready import ReadyScenario, load_workload
from bridge.scenarios.scenario import Application, Scenario
from bridge.studies.unit import all_completed, all_metrics, same_anywhere
from traces.base.errors import InputError

PLATFORM = Platform((HostGroup(count=2, cores=8, speed_gflops=16.0),))


def same(found: Result, expected: Result) -> None:
    """To the last bit, but for what no two runs have in common: the wall time of decisions."""
    pd.testing.assert_frame_equal(found.jobs, expected.jobs, check_exact=True)
    assert repr(all_metrics(found)) == repr(all_metrics(expected))


def sixty_jobs() -> Workload:
    return load_workload(sample_path(), PLATFORM, selection="first:60", oversize="clamp")


@given(
    seed=st.integers(0, 2**32),
    als=st.sampled_from(("static", "ss", "gss", "fac", "rnd", "awf-c", "af", "select:gss,fac", "heft")),
    variation=st.sampled_from((0.0, 0.4)),
    overhead_ns=st.sampled_from((0, 10**8)),
    assignment=st.sampled_from(("distributed", "master")),
    first=st.sampled_from(("fcfs", "sjf")),
    others=st.lists(
        st.tuples(
            st.sampled_from(("fcfs", "edf", "sjf", "wfp3", "expr:w/t")),
            st.sampled_from(("none", "easy", "conservative", "3")),
            st.sampled_from(("first-fit", "random", "worst-fit", "whole-host")),
            st.sampled_from(("requested", "application")),
        ),
        min_size=1,
        max_size=3,
    ),
)
@settings(max_examples=25)
def test_they_are_as_simulated_again(
    seed: int,
    als: str,
    variation: float,
    overhead_ns: int,
    assignment: str,
    first: str,
    others: list[tuple[str, str, str, str]],
) -> None:
    workload = sixty_jobs()
    program = "layered:tasks=12" if als == "heft" else None
    level = Application(assignment=assignment, applications=_graphs(program))

    def options(bls: str, backfill: str, allocator: str, estimates: str = "requested") -> Scenario:
        rules = Rules(backfill=backfill, estimates=estimates)
        return Scenario.flat(
            bls=bls,
            als=als,
            variation=variation,
            tasks_per_core=3,
            seed=seed,
            overhead_ns=overhead_ns,
            allocator=allocator,
            rules=rules,
            application=level,
        )

    like = run(ReadyScenario.of(workload, PLATFORM, options(first, "none", "first-fit")), keep_tasks=False)
    assert same_anywhere(like.scenario)
    assert all_completed(like)
    for other in others:
        scenario = ReadyScenario.of(workload, PLATFORM, options(*other))
        assert same_anywhere(scenario)
        same(run(scenario, keep_tasks=False, like=like), run(scenario, keep_tasks=False))


def _graphs(program: str | None) -> ApplicationMap | None:
    if program is None:
        return None
    return parse_application_map(f'[[application]]\nname = "graph"\nmatch = {{}}\ngraph = "{program}"\n', "map.toml")


UNLIKE = Platform((HostGroup(count=1, cores=8, speed_gflops=16.0), HostGroup(count=1, cores=8, speed_gflops=8.0)))
TRANSFERS = Application(applications=_graphs("layered:tasks=12,ccr=1"), network="lv08")
NEVER: dict[str, dict[str, Any]] = {
    "recorded": {"options": Scenario.flat(als="recorded")},
    "killed": {"options": Scenario.flat(kill_at_walltime=True)},
    "releases": {"options": Scenario.flat(coordination="release")},
    "failures": {"options": Scenario.flat(failures="mtbf:1d,mttr:1h")},
    "windows": {"options": Scenario.flat(windows=Path("w.toml"))},
    "speeds": {"options": Scenario.flat(speeds=("square:period=10m,low=0.5",))},
    "latency": {"options": Scenario.flat(latency_ns=5)},
    "estimates": {"options": Scenario.flat(estimates="exact")},
    "reject": {"options": Scenario.flat(bls="reject")},
    "unlike cores": {"platform": UNLIKE},
    "network": {"options": Scenario.flat(als="heft", application=TRANSFERS)},
    # Jobs that may not run to their ends.
    "cancelled": {"changes": lambda jobs: {"cancel_ns": jobs.submit_ns.max() + 1 + 0 * jobs.submit_ns}},
    "cut short": {"changes": lambda jobs: {"status": 0 * jobs.status + 5, "cancel_ns": jobs.submit_ns + 1}},
    "preset": {
        "changes": lambda jobs: {
            "submit_ns": jobs.submit_ns - jobs.submit_ns[0],
            "preset": (jobs.submit_ns == jobs.submit_ns[0]).astype("int64"),
        }
    },
}


@pytest.mark.parametrize("name", NEVER)
def test_where_cores_or_instants_matter_nothing_is_taken_over(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("w.toml").write_text("[[maintenance]]\nname = 'care'\nbegin = 1\nend = 9\nhosts = '0'\n")
    workload, case = sixty_jobs(), NEVER[name]
    assert same_anywhere(ReadyScenario.of(workload, PLATFORM, Scenario()))
    changed = replace(workload, **case["changes"](workload)) if "changes" in case else workload
    scenario = ReadyScenario.of(changed, case.get("platform", PLATFORM), case.get("options", Scenario()))
    assert not same_anywhere(scenario)


def test_a_run_in_which_a_job_did_not_end_is_not_taken_from() -> None:
    workload = sixty_jobs()
    killed = run(
        ReadyScenario.of(workload, PLATFORM, Scenario.flat(variation=0.5, kill_at_walltime=True)), keep_tasks=False
    )
    assert not all_completed(killed)


S = 10**9
CASE = crowd(51, 60, policy="sjf", technique="fac", variation=0.25, tasks_per_core=2)


def scenario(**options: Any) -> ReadyScenario:
    given: dict[str, Any] = {"bls": "sjf", "als": "fac", "variation": 0.25, "rules": Rules("easy")}
    return ReadyScenario.of(CASE.workload(), CASE.options()["platform"], Scenario.flat(**given | options))


def test_drained_hosts_are_as_if_a_file_had_said_so(tmp_path: Path) -> None:
    """They are drained after the events of an instant: the file says 1 ns later."""
    text = "host,down_s,up_s,state\n0,100.000000001,400,drain\n2,100.000000001,400,drain\n"
    (tmp_path / "drains.csv").write_text(text)
    expected = run(scenario(constraints=ConstraintOptions(failures=str(tmp_path / "drains.csv"))))
    plain = run(scenario())
    simulation = bridge.Simulation(scenario(), drainable=True).run(100 * S)
    drained = simulation.fork().drain("0 2", 400 * S)
    for _ in range(2):  # once more, too
        assert different(simulation.result(), plain) == ""
        assert simulation.done
    assert different(drained.result(), expected) == ""
    assert different(expected, plain) != ""


def test_hosts_that_are_drained_fail_by_their_model_as_before(tmp_path: Path) -> None:
    """A file says all that the model draws, and the drains 1 ns later than their commands."""
    model = OutageModel(40 * S, 3 * S, 1)
    said = modelled_outages(model, 3, 512)
    hosts = np.repeat(np.arange(3), 512)
    rows = zip(hosts.tolist(), said.down_ns.tolist(), said.up_ns.tolist(), strict=True)
    lines = [f"{host},{down / S:.9f},{up / S:.9f},down" for host, down, up in rows]
    drains = ["0,100.000000001,150,drain", "2,100.000000001,150,drain"]
    (tmp_path / "failures.csv").write_text("\n".join(["host,down_s,up_s,state", *lines, *drains]) + "\n")
    rules = Rules("easy", max_attempts=1000)
    expected = run(scenario(constraints=ConstraintOptions(failures=str(tmp_path / "failures.csv")), rules=rules))
    failing = scenario(constraints=ConstraintOptions(failures="mtbf:40s,mttr:3s,seed:1"), rules=rules)
    simulation = bridge.Simulation(failing, drainable=True).run(100 * S)
    drained = simulation.fork().drain("0 2", 150 * S)
    assert different(drained.result(), expected) == ""
    assert different(simulation.result(), run(failing)) == ""
    assert expected.jobs.end_ns.max() > 500 * S  # the model was asked for more than once


def test_presets_are_not_among_the_starts_of_a_pass() -> None:
    """Job 1 runs at time 0, job 2 starts then, and job 3 after 10 s."""
    jobs = [{"job_id": n, "submit_s": at, "run_s": 60, "cores": 2} for n, at in ((1, 0), (2, 0), (3, 10))]
    workload = Workload.from_jobs([jobs[0] | {"preset": 1}, *jobs[1:]])
    decisions = bridge.simulate(workload, als="recorded", keep_decisions=True).decisions
    assert decisions.started.tolist()[:2] == [1, 1]
    assert decisions.waiting.tolist()[:2] == [1, 1]


def test_the_view_of_a_fork_shows_the_fork() -> None:
    original = scenario().batch_simulator()
    assert original.view.n_cores == original.platform.n_cores
    fork = original.fork()
    assert fork.view is not original.view
    assert fork.view._run.state is fork.state


@pytest.mark.parametrize("kind", ["plain", "ordered", "graphs", "drawing", "promised"])
def test_forks_of_runs_whose_power_is_limited(kind: str) -> None:
    workload, options = varied(kind, 2)
    if options["als"] == "recorded":
        options["als"] = "fac"
    whole = bridge.simulate(workload, POWERED, **options)
    simulation = bridge.Simulation(whole.scenario)
    scales = whole.ledger.of(ScaleRecords)
    assert scales is not None
    instants = np.unique([*scales.command_ns, *whole.jobs.start_ns])
    forks = [simulation.run(int(instant)).fork() for instant in instants[instants >= 0][::4]]
    assert len(forks) > 3
    for one in (*forks, simulation):
        assert different(one.result(), whole) == ""


def test_bad_input_is_refused() -> None:
    simulation = bridge.Simulation(scenario(), drainable=True).run(5 * S)
    with pytest.raises(InputError, match=r"^until_ns: 4 s is past; the simulation is at 5 s$"):
        simulation.run(4 * S)
    with pytest.raises(InputError, match="drain: hosts: 3-9 is out of range: the machine has hosts 0 to 2"):
        simulation.drain("3-9")
    with pytest.raises(InputError, match=r"^drain: host 1 was drained before; allowed: each host once$"):
        simulation.drain("1").fork().drain("0-1")
    with pytest.raises(InputError, match=re.escape("allowed: Simulation(…, drainable=True)")):
        bridge.Simulation(scenario()).drain("0")
    with pytest.raises(InputError, match="als: recorded: no application is simulated"):
        bridge.Simulation(scenario(als="recorded", variation=0.0))
    director = Director(1, 0.5, 0.05)
    with pytest.raises(InputError, match="decides in Python, or the run has observers"):
        bridge.Simulation(scenario(bls=director, rules=Rules(max_attempts=1000)))
    ended = bridge.Simulation(scenario(), drainable=True).run()
    with pytest.raises(InputError, match=r"^drain: the simulation has ended; allowed: before its end$"):
        ended.drain("0")
    drained = replace(bridge.Simulation(scenario(), drainable=True).scenario)
    with pytest.raises(InputError, match="failures: hosts are drained; allowed: state down"):
        bridge.Simulation(drained, drainable=True)


def test_the_page_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    page = ROOT / "docs/how-to/what-if.md"
    (example,) = blocks(page, "python")
    exec(example, {})
    printed = capsys.readouterr().out
    assert "".join(f"    {line}\n" for line in printed.splitlines()) in page.read_text(encoding="utf-8")
    assert printed.count("mean wait") == 2
