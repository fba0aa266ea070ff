"""What every batch policy keeps: these tests run over the registry, so a new policy is tested by its line there."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scenarios import Case, cases, done

from bls.policies import POLICIES, KnownJobs, policy, ranks

#: (submit, estimate, slack × estimate, cores)
rows = st.lists(
    st.tuples(st.integers(0, 9), st.integers(1, 9), st.integers(0, 20), st.integers(1, 64)), min_size=1, max_size=20
)


def known(values: list[tuple[int, int, int, int]]) -> KnownJobs:
    submit, estimate, slack, cores = np.array(sorted(values), np.int64).T
    columns = (np.arange(len(values)) * 7 + 1, submit, estimate, submit + slack, cores)
    for column in columns:
        column.flags.writeable = False
    return KnownJobs(*columns)


@pytest.mark.parametrize("name", POLICIES)
def test_it_is_found_under_its_own_name(name: str) -> None:
    assert policy(name).name == name == name.lower()
    assert type(POLICIES[name]).__doc__


@settings(max_examples=50)
@given(values=rows)
@pytest.mark.parametrize("name", POLICIES)
def test_it_gives_one_number_a_job_and_looks_only(name: str, values: list[tuple[int, int, int, int]]) -> None:
    jobs = known(values)
    before = [getattr(jobs, field.name).copy() for field in fields(jobs)]
    keys = np.array(POLICIES[name].keys(jobs))
    assert keys.shape == (len(values),)
    assert sorted(ranks(POLICIES[name], jobs).tolist()) == list(range(len(values)))
    assert np.array_equal(keys, POLICIES[name].keys(jobs)), "the same question has the same answer"
    for field, column in zip(fields(jobs), before, strict=True):
        assert np.array_equal(getattr(jobs, field.name), column)


@settings(max_examples=40)
@given(case=cases(recorded=True, max_jobs=12))
@pytest.mark.parametrize("name", POLICIES)
def test_under_it_every_job_runs_once_and_the_records_are_sound(name: str, case: Case) -> None:
    result = case.simulated(bls=name)  # with check_ledger
    jobs = done(result)
    assert sorted(job.number for job in jobs) == sorted(job.number for job in case.jobs)
    assert [job.end - job.start for job in jobs] == result.scenario.workload.run_ns.tolist()
    assert done(case.simulated(bls=name)) == jobs
