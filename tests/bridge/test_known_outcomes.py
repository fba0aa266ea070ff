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
from bls.constraints.options import Surroundings
from bls.machine.platform import HostGroup
from bls.scheduler_options import Rules
from bridge.runs.shared_outcomes import all_completed, same_anywhere
from bridge.runs.simulation import run
from bridge.scenarios.application_level import ApplicationLevel
from bridge.scenarios.application_map import parse_application_map
from bridge.scenarios.scenario import Options, Scenario, load_workload
from bridge.studies.unit import all_metrics

PLATFORM = Platform((HostGroup(2, 8, 16.0),))
JOBS = load_workload(sample_path(), PLATFORM, selection="first:60", oversize="clamp")


def _graphs(graph: str) -> Any:
    return parse_application_map(f'[[application]]\nname = "graph"\nmatch = {{}}\ngraph = "{graph}"\n', "map.toml")


def _names(*names: str) -> st.SearchStrategy[str]:
    return st.sampled_from(names)


WAYS = st.tuples(
    _names("fcfs", "edf", "sjf", "wfp3", "expr:w/t"),
    _names("none", "easy", "conservative", "3"),
    _names("first-fit", "random", "worst-fit", "whole-host"),
    _names("requested", "application"),
)
SHARED = st.fixed_dictionaries(
    {
        "als": _names("static", "ss", "gss", "fac", "rnd", "awf-c", "af", "select:gss,fac", "heft"),
        "variation": st.sampled_from((0.0, 0.4)),
        "seed": st.integers(0, 2**32),
        "overhead_ns": st.sampled_from((0, 10**8)),
    }
)


@given(
    shared=SHARED,
    assignment=_names("distributed", "master"),
    first=_names("fcfs", "sjf"),
    others=st.lists(WAYS, min_size=1, max_size=3),
)
@settings(max_examples=25)
def test_they_are_as_simulated_again(shared: Any, assignment: str, first: str, others: list[Any]) -> None:
    applications = _graphs("layered:tasks=12") if shared["als"] == "heft" else None
    level = ApplicationLevel(assignment=assignment, applications=applications)

    def scenario(bls: str, backfill: str, allocator: str, estimates: str = "requested") -> Scenario:
        rules = Rules(backfill=backfill, estimates=estimates)
        options = Options(bls, tasks_per_core=3, allocator=allocator, rules=rules, level=level, **shared)
        return Scenario.of(JOBS, PLATFORM, options)

    like = run(scenario(first, "none", "first-fit"), keep_tasks=False)
    assert same_anywhere(like.scenario)
    assert all_completed(like)
    for other in others:
        assert same_anywhere(scenario(*other))
        found = run(scenario(*other), keep_tasks=False, like=like)
        expected = run(scenario(*other), keep_tasks=False)
        pd.testing.assert_frame_equal(found.jobs, expected.jobs, check_exact=True)
        assert repr(all_metrics(found)) == repr(all_metrics(expected))


def _withdrawn() -> Workload:
    return replace(JOBS, cancel_ns=JOBS.submit_ns.max() + 1 + 0 * JOBS.submit_ns)


def _preset() -> Workload:
    first = (JOBS.submit_ns == JOBS.submit_ns[0]).astype("int64")
    return replace(JOBS, submit_ns=JOBS.submit_ns - JOBS.submit_ns[0], preset=first)


def _unknown() -> Workload:
    return replace(JOBS, status=0 * JOBS.status + 5, cancel_ns=JOBS.submit_ns + 1)


TWO_SPEEDS = Platform((HostGroup(1, 8, 16.0), HostGroup(1, 8, 8.0)))
NETWORK = ApplicationLevel(applications=_graphs("layered:tasks=12,ccr=1"), network="lv08")
NEVER: dict[str, tuple[Options, Platform, Workload]] = {
    **{
        name: (Options(**options), PLATFORM, JOBS)
        for name, options in {
            "recorded": {"als": "recorded"},
            "killed": {"rules": Rules(kill_at_walltime=True)},
            "releases": {"rules": Rules(coordination="release")},
            "failures": {"around": Surroundings(failures="mtbf:1d,mttr:1h")},
            "speeds": {"level": ApplicationLevel(speeds=("square:period=10m,low=0.5",))},
            "latency": {"level": ApplicationLevel(latency_ns=5)},
            "estimates": {"rules": Rules(estimates="exact")},
            "reject": {"bls": "reject"},
            "network": {"als": "heft", "level": NETWORK},
        }.items()
    },
    "unlike cores": (Options(), TWO_SPEEDS, JOBS),
    **{one.__name__: (Options(), PLATFORM, one()) for one in (_withdrawn, _preset, _unknown)},
}


@pytest.mark.parametrize("name", NEVER)
def test_where_cores_or_instants_matter_nothing_is_taken_over(name: str) -> None:
    options, platform, jobs = NEVER[name]
    assert same_anywhere(Scenario.of(JOBS, PLATFORM, Options()))
    assert not same_anywhere(Scenario.of(jobs, platform, options))


def test_windows_may_cut_a_job_and_a_run_in_which_one_did_not_end_is_not_taken_from(tmp_path: Path) -> None:
    (tmp_path / "w.toml").write_text("[[maintenance]]\nname = 'care'\nbegin = 1\nend = 9\nhosts = '0'\n")
    around = Surroundings(windows=tmp_path / "w.toml")
    assert not same_anywhere(Scenario.of(JOBS, PLATFORM, Options(around=around)))
    killing = Options(variation=0.5, rules=Rules(kill_at_walltime=True))
    assert not all_completed(run(Scenario.of(JOBS, PLATFORM, killing), keep_tasks=False))
