"""A first call of the functions of a policy that is not ours, before it is trusted with a run."""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np

from bls.engine.signatures import ACCOUNT, SCORE
from bls.policies.contract import KnownJobs, ScorePolicy
from traces.compiled import Array
from traces.trials import Fences, rule_answers, try_rule

#: So many jobs wait.
_WAITING: Final = 16


def try_out(policy: ScorePolicy, jobs: KnownJobs, numbers: Array, memory: Array) -> None:
    """Have some jobs of a run scored, started and ended, on copies of what the policy has prepared. Raises PluginError if a
    function raises, writes outside its arrays or into what is only to be looked at, is killed, or is not made by
    ``score_kernel`` or ``account_kernel``."""
    who = f"batch policy {policy.name}"
    n = len(jobs.job_id)
    rows = np.unique(np.linspace(0, n - 1, _WAITING).astype(np.int64))
    kept = {"numbers": np.ravel(numbers), "memory": memory}
    score = partial(_score, who, policy, jobs, rows, kept)
    account = partial(_account, who, policy, jobs, rows, kept)
    try_rule(who, policy.score, SCORE, "it with score_kernel", score)
    try_rule(who, policy.account, ACCOUNT, "it with account_kernel", account)


def _score(who: str, policy: ScorePolicy, jobs: KnownJobs, rows: Array, kept: dict[str, Array]) -> None:
    columns = {"eligible_ns": jobs.submit_ns, "submit_ns": jobs.submit_ns, "estimate_ns": jobs.estimate_ns}
    fences = Fences(who, waiting=rows, **columns, cores=jobs.cores, **kept, key=np.zeros(len(jobs.job_id)))
    waiting, *others = _arrays(fences, jobs)
    with rule_answers(who):
        policy.score(int(jobs.submit_ns.max()), waiting, len(rows), *others)
    fences.check("numbers", "memory", "key")


def _account(who: str, policy: ScorePolicy, jobs: KnownJobs, rows: Array, kept: dict[str, Array]) -> None:
    fences = Fences(who, **kept)
    arrays = _arrays(fences, jobs)
    for change in (1, -1):
        for row in rows.tolist():
            with rule_answers(who):
                policy.account(int(jobs.submit_ns.max()), row, int(jobs.cores[row]), change, *arrays)
            fences.check()


def _arrays(fences: Fences, jobs: KnownJobs) -> list[Array]:
    # In their order, the numbers in as many columns as there are jobs.
    arrays = fences.arrays
    return list((arrays | {"numbers": arrays["numbers"].reshape(-1, len(jobs.job_id))}).values())
