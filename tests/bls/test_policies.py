"""The orders of the queue, their ties, and what a policy may not answer."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import table_rows

import bls.policies
from bls.inputs import deadlines_ns
from bls.policies import DecidingPolicy, KnownJobs, Policy, ScorePolicy, policy, ranks, scoring, split_names
from bls.workloads.workload import Workload
from traces.base.errors import InputError, PluginError
from traces.base.time import MAX_NS, NS_PER_S
from traces.compiled import jit_enabled


def known(submit: list[int], estimate: list[int], deadline: list[int], cores: list[int] | None = None) -> KnownJobs:
    n = len(submit)
    columns = [np.array(values, np.int64) for values in (list(range(n)), submit, estimate, deadline, cores or [1] * n)]
    return KnownJobs(*columns)


def in_seconds(submit: list[float], estimate: list[float], cores: list[int]) -> KnownJobs:
    ns = [[round(value * NS_PER_S) for value in values] for values in (submit, estimate)]
    return known(ns[0], ns[1], ns[0], cores)


def order(name: str, jobs: KnownJobs, tier: list[int] | None = None) -> list[int]:
    made = policy(name)
    assert isinstance(made, Policy)
    return ranks(made, jobs, None if tier is None else np.array(tier, np.int64)).argsort().tolist()


@dataclass(frozen=True)
class Answering:
    answer: Any
    name: str = "mine"

    def keys(self, jobs: KnownJobs) -> Any:
        return self.answer


sizes = st.integers(1, 9) | st.sampled_from((MAX_NS, MAX_NS - 1, 2**53, 2**53 + 1, 10**9, 3 * 10**9))


@given(jobs=st.lists(st.tuples(st.integers(0, 2), sizes, sizes), min_size=1, max_size=12))
def test_saf_and_ljf_are_exact(jobs: list[tuple[int, int, int]]) -> None:
    jobs.sort()
    submit, estimate, cores = (list(column) for column in zip(*jobs, strict=True))
    rows, asked = range(len(jobs)), known(submit, estimate, submit, cores)
    assert order("saf", asked) == sorted(rows, key=lambda row: (estimate[row] * cores[row], submit[row], row))
    assert order("ljf", asked) == sorted(rows, key=lambda row: (-estimate[row], submit[row], row))


#: What the four are, in Python's own arithmetic: of q, r in seconds and n.
SC17: dict[str, Callable[[float, float, int], float]] = {
    "f1": lambda q, r, n: math.log10(max(r, 1)) * n + 870 * math.log10(max(q, 1)),
    "f2": lambda q, r, n: math.sqrt(r) * n + 25600 * math.log10(max(q, 1)),
    "f3": lambda q, r, n: r * n + 6.86e6 * math.log10(max(q, 1)),
    "f4": lambda q, r, n: r * math.sqrt(n) + 5.3e5 * math.log10(max(q, 1)),
}


@pytest.mark.parametrize("name", SC17)
@given(
    jobs=st.lists(
        st.tuples(st.sampled_from((0, 0.25, 1, 2, 1e6)), st.sampled_from((1e-9, 0.5, 1, 60, 86400)), st.integers(1, 9)),
        min_size=1,
        max_size=8,
    )
)
def test_the_four_regressions_equal_plain_python(name: str, jobs: list[tuple[float, float, int]]) -> None:
    jobs.sort(key=lambda job: job[0])
    expected = [SC17[name](*job) for job in jobs]
    assert policy(name).keys(in_seconds(*map(list, zip(*jobs, strict=True)))).tolist() == expected  # type: ignore


ROWS = st.tuples(st.integers(0, 9), st.sampled_from((1, 2, 3, 7, 0.5, 86400)), st.integers(1, 9))


@given(jobs=st.lists(ROWS, min_size=1, max_size=8), now=st.integers(9, 20) | st.sampled_from((10**6, 9.125)))
def test_wfp3_and_unicef_equal_plain_python(jobs: list[tuple[float, float, int]], now: float) -> None:
    jobs.sort(key=lambda job: job[0])
    asked, n = in_seconds(*map(list, zip(*jobs, strict=True))), len(jobs)  # type: ignore[arg-type]
    wfp3 = [-(((now - q) / r) ** 3) * n for q, r, n in jobs]
    log2 = [math.log2(n) if n > 1 else math.log2(1 + 1e-15) for _, _, n in jobs]
    unicef = [-(now - q) / (log2[k] * r) for k, (q, r, _) in enumerate(jobs)]
    for name, expected in (("wfp3", wfp3), ("expr:(w/t)**3*n", wfp3), ("unicef", unicef)):
        run, key = scoring(policy(name), asked), np.full(n + 1, 7.0)  # type: ignore[arg-type]
        columns = [column.copy() for column in (asked.submit_ns, asked.submit_ns, asked.estimate_ns, asked.cores)]
        rows = np.array([*range(n), -1])
        assert run.policy.score(round(now * NS_PER_S), rows, n, *columns, run.numbers, run.memory, key) == 0
        assert key.tolist() == [*expected, 7.0]  # no other key is written


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


def test_errors_name_where_a_policy_was_said() -> None:
    with pytest.raises(InputError, match="--policy: expr: 'q': column 1: unknown name 'q'"):
        policy("expr:q", where="--policy")


def workload(*jobs: tuple[float, float]) -> Workload:
    return Workload.from_jobs([(n, submit, 1, 1, estimate) for n, (submit, estimate) in enumerate(jobs)])


def test_a_deadline_is_submit_and_slack_times_estimate() -> None:
    jobs = workload((0, 10), (5, 0.000000003))
    assert deadlines_ns(jobs, 2.0).tolist() == [20 * NS_PER_S, 5 * NS_PER_S + 6]
    assert deadlines_ns(jobs, 0.0).tolist() == [0, 5 * NS_PER_S]
    assert deadlines_ns(jobs, 0.5).tolist() == [5 * NS_PER_S, 5 * NS_PER_S + 2]  # 1.5 ns, half to even


@pytest.mark.parametrize("slack", [-0.1, 1e7, float("nan"), float("inf")])
def test_a_slack_that_cannot_be(slack: float) -> None:
    with pytest.raises(InputError, match=r"slack=.*: .*; allowed: 0 to 1e\+06"):
        deadlines_ns(workload((0, 1)), slack)


def test_a_policy_that_raises_is_named() -> None:
    class Confused(Answering):
        def keys(self, jobs: KnownJobs) -> Any:
            return {"submit": jobs.submit_ns}["estimate"]

    with pytest.raises(PluginError, match="batch policy mine: keys\\(\\) failed: KeyError: 'estimate'"):
        ranks(Confused(0), known([0], [1], [1]))


@dataclass(frozen=True)
class Aged:
    weight: float = 1
    power: int = 2
    half_life_ns: int = 7 * 86400 * NS_PER_S
    favour_small: bool = False
    table: str = ""
    limit: float | None = None
    factors: tuple[float, ...] = ()
    name: str = "aged"

    def __post_init__(self) -> None:
        if self.weight < 0:
            raise InputError(f"aged:weight: {self.weight}; allowed: from 0")
        if self.power == 13:
            raise RuntimeError("no luck")

    def scored(self, jobs: KnownJobs) -> ScorePolicy:
        def prepare(jobs: KnownJobs) -> tuple[Any, Any]:
            if self.table == "bad":
                raise KeyError("bad")
            if self.table == "flat":
                return np.zeros(3), np.zeros(1)
            return np.full((1, len(jobs.job_id)), self.weight), np.zeros(0)

        score = policy("wfp3").score if self.power == 2 else max  # type: ignore[union-attr]
        return ScorePolicy(self.name, score, prepare=prepare)


@dataclass(frozen=True)
class Deciding:
    name: str = "deciding"

    def decide(self, view: Any) -> list[int]:
        return []


@pytest.fixture
def more_policies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(bls.policies.POLICIES, "aged", Aged())
    monkeypatch.setitem(bls.policies.POLICIES, "deciding", Deciding())


@pytest.mark.usefixtures("more_policies")
def test_parameters() -> None:
    assert policy("aged") == Aged()
    made = policy("aged: weight=2.5, power=3,half_life=12h,favour_small=yes,table=a.csv,limit=7")
    assert made == Aged(2.5, 3, 12 * 3600 * NS_PER_S, True, "a.csv", 7.0)
    assert type(made.limit) is float  # type: ignore[union-attr]
    assert scoring(policy("aged:weight=3"), known([0, 0], [1, 1], [0, 0])).numbers.tolist() == [[3, 3]]  # type: ignore
    assert isinstance(policy("deciding"), DecidingPolicy)


@pytest.mark.usefixtures("more_policies")
@pytest.mark.parametrize(("name", "message"), table_rows(__file__, "parameters_that_cannot_be"))
def test_parameters_that_cannot_be(name: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        policy(name)
    assert str(caught.value).startswith(message)


@pytest.mark.usefixtures("more_policies")
@pytest.mark.parametrize(("name", "message"), table_rows(__file__, "a_dynamic_policy_that_cannot_be_is_named"))
def test_a_dynamic_policy_that_cannot_be_is_named(name: str, message: str) -> None:
    if name == "aged:power=3" and not jit_enabled():
        return  # any function will do then
    with pytest.raises(PluginError) as caught:
        scoring(policy(name), known([0, 0], [1, 1], [0, 0]))  # type: ignore[arg-type]
    assert str(caught.value).startswith(message)


@pytest.mark.usefixtures("more_policies")
def test_parameters_that_a_policy_chokes_on_are_its_fault() -> None:
    with pytest.raises(PluginError, match="bls='aged:power=13': aged:power=13 cannot be made: RuntimeError: no luck"):
        policy("aged:power=13")


def test_policies_of_ones_own_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from dataclasses import dataclass\n\n\n@dataclass(frozen=True)\nclass Biased:\n    bias: int = 1\n"
        "    name: str = 'biased'\n\n    def keys(self, jobs):\n        return jobs.submit_ns + self.bias\n\n\n"
        "class Named:\n    name = 'named'\n\n\nNUMBER = 3\n",
        encoding="utf-8",
    )
    for parameter, key in (("", 11), (":bias=-5", 5)):
        made = policy(f"{file}:Biased{parameter}")
        assert isinstance(made, Policy)
        assert made.name == "biased"
        assert made.keys(known([10], [1], [1])).tolist() == [key]
    with pytest.raises(InputError, match=r"Named has no keys\(jobs\), no scored\(jobs\) and no decide\(view\)"):
        policy(f"{file}:Named")
    with pytest.raises(
        InputError, match="NUMBER is of type int, which has no name; allowed: a policy: a name, and keys"
    ):
        policy(f"{file}:NUMBER")


@pytest.mark.parametrize(("text", "names"), table_rows(__file__, "a_list_of_policies"))
def test_a_list_of_policies(text: str, names: list[str]) -> None:
    assert split_names(text) == names
