"""The first requests and scores of compiled rules of users, in a process of its own."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

from bls.allocators import ALLOCATORS, Allocator, allocator_kernel, placing
from bls.policies import POLICIES, KnownJobs, ScorePolicy, ScoringPolicy, account_kernel, score_kernel, scoring
from traces.base.errors import PluginError
from traces.compiled import jit_enabled

pytestmark = pytest.mark.whole

KILLED = r"was killed by SIG[A-Z]+ in its first trial; allowed: to read and write its arrays only "
KILLED += r"\(.*test_batch_trials\.py:\d+: {}\)$"

compiled_only = pytest.mark.skipif(not jit_enabled(), reason="Python does not let a rule go that far")


@allocator_kernel
def places_astray(request: Any) -> int:
    request.out_lo[request.n_cores * 10**9] = 1
    return 0


@allocator_kernel
def places_beside(request: Any) -> int:
    request.out_hi[request.out_hi.size + 2] = 1
    return 0


@allocator_kernel
def takes_itself(request: Any) -> int:
    request.words[0] = 0
    return 0


@allocator_kernel
def fails(request: Any) -> int:
    if request.n_cores > 40:
        raise ValueError("too wide")
    return 0


@allocator_kernel
def nowhere(request: Any) -> int:
    return 0


def plain(request: Any) -> int:
    return 0


@compiled_only
@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (places_astray, "allocator mine: its rule " + KILLED.format("places_astray")),
        (places_beside, "allocator mine: its rule writes outside out_hi, which has room for 2 there$"),
        (takes_itself, "allocator mine: its rule changes words; allowed: out_lo, out_hi$"),
        (fails, r"allocator mine: its rule raises ValueError too wide; allowed: an answer"),
        (plain, "allocator mine: plain is not compiled for .*; decorate it with allocator_kernel$"),
    ],
)
def test_what_an_allocator_must_not_do_is_said(rule: Any, words: str) -> None:
    for _ in range(2):  # what failed once is not taken for tried
        with pytest.raises(PluginError, match=words):
            placing(Allocator("mine", rule))


def jobs(n: int = 5) -> KnownJobs:
    return KnownJobs(*(np.arange(1, n + 1) * 10**9 for _ in range(4)), np.arange(1, n + 1), n_cores=n)


@score_kernel
def scores_all(
    now_ns: int, waiting: Any, n_waiting: int, eligible_ns: Any, submit_ns: Any, estimate_ns: Any, cores: Any,
    numbers: Any, memory: Any, key: Any,
) -> int:  # fmt: skip
    for k in range(n_waiting):
        key[k] = numbers[0, waiting[k]] + memory[0]
    return 0


@score_kernel
def scores_astray(
    now_ns: int, waiting: Any, n_waiting: int, eligible_ns: Any, submit_ns: Any, estimate_ns: Any, cores: Any,
    numbers: Any, memory: Any, key: Any,
) -> int:  # fmt: skip
    key[now_ns] = 1.0
    return 0


@score_kernel
def scores_by_instant(
    now: int, rows: Any, n: int, eligible: Any, submit: Any, estimate: Any, cores: Any, numbers: Any, memory: Any, key: Any,
) -> int:  # fmt: skip
    submit[0] = 1
    return 0


@account_kernel
def remembers(now_ns: int, row: int, cores: int, change: int, numbers: Any, memory: Any) -> int:
    numbers[0, row] += change
    memory[0] += change
    return 0


@account_kernel
def remembers_astray(now_ns: int, row: int, cores: int, change: int, numbers: Any, memory: Any) -> int:
    numbers[change * 10**9, row] = 1.0
    return 0


def prepared(known: KnownJobs) -> tuple[Any, Any]:
    return np.ones((1, len(known.job_id))), np.zeros(1)


@compiled_only
@pytest.mark.parametrize(
    ("score", "account", "words"),
    [
        (scores_astray, remembers, KILLED.format("scores_astray")),
        (scores_all, remembers_astray, KILLED.format("remembers_astray")),
        (scores_by_instant, remembers, "changes submit_ns; allowed: numbers, memory, key$"),
    ],
)
def test_what_a_policy_must_not_do_is_said(score: Any, account: Any, words: str) -> None:
    for _ in range(2):
        with pytest.raises(PluginError, match="batch policy mine: its rule " + words):
            scoring(ScorePolicy("mine", score, account, prepared), jobs())


@compiled_only
def test_a_rule_is_tried_once_a_process_and_ours_never(monkeypatch: pytest.MonkeyPatch) -> None:
    placing(Allocator("mine", nowhere))
    for n in (1, 2, 100):  # a trial leaves no trace in the run
        made = scoring(ScorePolicy("mine", scores_all, remembers, prepared), jobs(n))
        assert (made.numbers.tolist(), made.memory.tolist()) == ([[1.0] * n], [0.0])
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("tried once more"))
    placing(Allocator("mine", nowhere, parameters=(1,)))
    scoring(ScorePolicy("other", scores_all, remembers, prepared), jobs())
    for allocator in ALLOCATORS.values():
        placing(allocator)
    for policy in POLICIES.values():
        if isinstance(policy, ScoringPolicy):
            scoring(policy, jobs())
