"""The orders of the queue, their ties, and what a policy may not answer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bls.policies import POLICIES, KnownJobs, policy, ranks
from bls.simulator import deadlines_ns
from bls.workload import Workload
from traces.errors import InputError, PluginError
from traces.time import MAX_NS, NS_PER_S


def known(submit: list[int], estimate: list[int], deadline: list[int]) -> KnownJobs:
    n = len(submit)
    columns = [np.array(values, np.int64) for values in (list(range(n)), submit, estimate, deadline, [1] * n)]
    return KnownJobs(*columns)


@dataclass(frozen=True)
class Answering:
    """A policy that answers the same whatever it is asked."""

    answer: Any
    name: str = "mine"

    def keys(self, jobs: KnownJobs) -> Any:
        return self.answer


@pytest.mark.parametrize(
    ("name", "order"),
    [
        ("fcfs", [0, 1, 2, 3]),
        ("edf", [2, 0, 3, 1]),
        ("sjf", [3, 0, 1, 2]),
    ],
)
def test_who_is_first(name: str, order: list[int]) -> None:
    jobs = known(submit=[0, 1, 2, 3], estimate=[5, 5, 9, 1], deadline=[10, 30, 5, 11])
    assert ranks(POLICIES[name], jobs).argsort().tolist() == order


@given(jobs=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=12))
def test_equal_keys_go_by_submit_then_by_place(jobs: list[tuple[int, int]]) -> None:
    jobs.sort()
    submit, keys = [job[0] for job in jobs], [job[1] for job in jobs]
    rank = ranks(Answering(np.array(keys, float)), known(submit, keys, keys))
    order = sorted(range(len(jobs)), key=lambda row: (keys[row], submit[row], row))
    assert rank.argsort().tolist() == order
    assert sorted(rank.tolist()) == list(range(len(jobs)))


def test_keys_may_be_infinite_or_large() -> None:
    jobs = known([0, 0, 0], [1, 1, 1], [1, 1, 1])
    assert ranks(Answering(np.array([np.inf, -np.inf, 0.0])), jobs).tolist() == [2, 0, 1]
    # Beyond 2**53 floats would tie these.
    assert ranks(Answering(np.array([2**62, 2**62 - 1, 2**62 - 2])), jobs).tolist() == [2, 1, 0]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.zeros(2), r"batch policy mine: keys\(\) gave float64 of shape \(2,\); allowed: numbers of shape \(3,\)"),
        (None, r"batch policy mine: keys\(\) gave object of shape \(\)"),
        (np.array(["a", "b", "c"]), r"batch policy mine: keys\(\) gave <U1"),
        (np.array([0.0, np.nan, 0.0]), r"batch policy mine: keys\(\) gave NaN for job 1"),
    ],
)
def test_keys_that_cannot_be_are_the_policys_fault(answer: Any, message: str) -> None:
    with pytest.raises(PluginError, match=message):
        ranks(Answering(answer), known([0, 0, 0], [1, 1, 1], [1, 1, 1]))


def test_an_unknown_policy_is_told_the_nearest_first() -> None:
    with pytest.raises(InputError) as caught:
        policy("sfj")
    assert str(caught.value).startswith("--bls: unknown batch policy 'sfj'; known: sjf, ")


def test_a_policy_of_ones_own_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "widest.py"
    file.write_text(
        "class Widest:\n    name = 'widest'\n\n    def keys(self, jobs):\n        return -jobs.cores\n",
        encoding="utf-8",
    )
    widest = policy(f"{file}:Widest")
    assert widest.name == "widest"
    assert widest.keys(known([0], [1], [1])).tolist() == [-1]


def workload(*jobs: tuple[float, float]) -> Workload:
    return Workload.from_jobs([(n, submit, 1, 1, estimate) for n, (submit, estimate) in enumerate(jobs)])


def test_a_deadline_is_submit_and_slack_times_estimate() -> None:
    jobs = workload((0, 10), (5, 0.000000003))
    assert deadlines_ns(jobs, 2.0).tolist() == [20 * NS_PER_S, 5 * NS_PER_S + 6]
    assert deadlines_ns(jobs, 0.0).tolist() == [0, 5 * NS_PER_S]
    assert deadlines_ns(jobs, 0.5).tolist() == [5 * NS_PER_S, 5 * NS_PER_S + 2]  # 1.5 ns, half to even


@pytest.mark.parametrize("slack", [0.5, 1.0, 2.0, 1e6])
def test_a_deadline_beyond_the_end_of_time_is_there(slack: float) -> None:
    column = np.array([MAX_NS - 1], np.int64)
    ones = np.ones(1, np.int64)
    late = Workload.from_lines([ones, column, ones, ones, column, ones], header=(), rejects={}, source="w", n_lines=1)
    assert deadlines_ns(late, slack).tolist() == [MAX_NS]
    latest = late.take(np.array([0]), submit_ns=column + 1, estimate_ns=column + 1)
    assert deadlines_ns(latest, slack).tolist() == [MAX_NS]


@pytest.mark.parametrize("slack", [-0.1, 1e7, float("nan"), float("inf")])
def test_a_slack_that_cannot_be(slack: float) -> None:
    with pytest.raises(InputError, match=r"--slack: .*; allowed: 0 to 1e\+06"):
        deadlines_ns(workload((0, 1)), slack)


@dataclass(frozen=True)
class Confused:
    name: str = "confused"

    def keys(self, jobs: KnownJobs) -> Any:
        return {"submit": jobs.submit_ns}["estimate"]


def test_a_policy_that_raises_is_named() -> None:
    jobs = Workload.from_jobs([(1, 0, 1, 1, 1)])
    known = KnownJobs(jobs.job_id, jobs.submit_ns, jobs.estimate_ns, jobs.submit_ns, jobs.cores)
    with pytest.raises(PluginError, match="batch policy confused: keys\\(\\) failed: KeyError: 'estimate'"):
        ranks(Confused(), known)
