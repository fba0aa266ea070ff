"""Runs that take their applications from another one are the runs that they would be by themselves."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bls import Platform, Workload, sample_path
from bls.machine.platform import HostGroup
from bls.scheduler_options import Rules
from bridge.runs.result import Result
from bridge.runs.simulation import run
from bridge.scenarios.application_map import ApplicationMap, parse_application_map
from bridge.scenarios.ready import ReadyScenario, load_workload
from bridge.scenarios.scenario import Application, Scenario
from bridge.studies.unit import all_completed, all_metrics, same_anywhere

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
def test_they_are_as_simulated_anew(
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
