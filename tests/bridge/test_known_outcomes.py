"""Runs that take their applications from another one are the runs that they would be by themselves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bls import Platform, Workload, sample_path
from bls.constraints.options import ConstraintOptions
from bls.machine.platform import HostGroup
from bls.scheduler_options import Rules
from bridge.runs.result import Result
from bridge.runs.shared_outcomes import all_completed, same_anywhere
from bridge.runs.simulation import run
from bridge.scenarios.application_level import ApplicationLevel
from bridge.scenarios.application_map import ApplicationMap, parse_application_map
from bridge.scenarios.scenario import Options, Scenario, load_workload
from bridge.studies.unit import all_metrics

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
    level = ApplicationLevel(assignment=assignment, applications=_graphs(program))

    def options(bls: str, backfill: str, allocator: str, estimates: str = "requested") -> Options:
        rules = Rules(backfill=backfill, estimates=estimates)
        return Options(
            bls, als, variation, 3, seed, overhead_ns=overhead_ns, allocator=allocator, rules=rules, level=level
        )

    like = run(Scenario.of(workload, PLATFORM, options(first, "none", "first-fit")), keep_tasks=False)
    assert same_anywhere(like.scenario)
    assert all_completed(like)
    for other in others:
        scenario = Scenario.of(workload, PLATFORM, options(*other))
        assert same_anywhere(scenario)
        same(run(scenario, keep_tasks=False, like=like), run(scenario, keep_tasks=False))


def _graphs(program: str | None) -> ApplicationMap | None:
    if program is None:
        return None
    return parse_application_map(f'[[application]]\nname = "graph"\nmatch = {{}}\ngraph = "{program}"\n', "map.toml")


UNLIKE = Platform((HostGroup(count=1, cores=8, speed_gflops=16.0), HostGroup(count=1, cores=8, speed_gflops=8.0)))
TRANSFERS = ApplicationLevel(applications=_graphs("layered:tasks=12,ccr=1"), network="lv08")
NEVER: dict[str, dict[str, Any]] = {
    "recorded": {"options": Options(als="recorded")},
    "killed": {"options": Options(rules=Rules(kill_at_walltime=True))},
    "releases": {"options": Options(rules=Rules(coordination="release"))},
    "failures": {"options": Options(constraints=ConstraintOptions(failures="mtbf:1d,mttr:1h"))},
    "windows": {"options": Options(constraints=ConstraintOptions(windows=Path("w.toml")))},
    "speeds": {"options": Options(level=ApplicationLevel(speeds=("square:period=10m,low=0.5",)))},
    "latency": {"options": Options(level=ApplicationLevel(latency_ns=5))},
    "estimates": {"options": Options(rules=Rules(estimates="exact"))},
    "reject": {"options": Options("reject")},
    "unlike cores": {"platform": UNLIKE},
    "network": {"options": Options(als="heft", level=TRANSFERS)},
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
    assert same_anywhere(Scenario.of(workload, PLATFORM, Options()))
    changed = replace(workload, **case["changes"](workload)) if "changes" in case else workload
    scenario = Scenario.of(changed, case.get("platform", PLATFORM), case.get("options", Options()))
    assert not same_anywhere(scenario)


def test_a_run_in_which_a_job_did_not_end_is_not_taken_from() -> None:
    workload = sixty_jobs()
    killed = run(
        Scenario.of(workload, PLATFORM, Options(variation=0.5, rules=Rules(kill_at_walltime=True))), keep_tasks=False
    )
    assert not all_completed(killed)
