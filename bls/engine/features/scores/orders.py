"""Scores that order the queue, the accounts of policies, and a policy that rejects all jobs."""

from collections.abc import Callable

import numpy as np

from bls.engine import state as b
from bls.engine.hooks import HOOK
from bls.engine.job_lifecycle import send_away, waiting_from
from bls.engine.signatures import ACCOUNT, SCORE
from bls.engine.status import BatchStatus
from traces.algorithms.copying import copy_first
from traces.algorithms.sorting import sort_places
from traces.compiled import Array, compiled, value_from

_score: Callable[..., Callable[..., int]] = value_from(SCORE)
_account = value_from(ACCOUNT)


@compiled(inner=True)
def _reorder(order: Array, places: Array, rows: Array, n: int) -> None:
    """Permute the first n entries of ``order`` by ``places``; ``rows`` is work space."""
    copy_first(rows, order, n)
    for k in range(n):
        order[k] = rows[places[k]]


@compiled(HOOK)
def put_in_order(state: b.BatchState, _job: int, _begin: int, _stop: int, _sign: int) -> int:
    """Write the waiting jobs by (tier, score, submit, row) into state.order; -1 if a score is not a number."""
    jobs, order, scores = state.jobs, state.order, state.scores
    keys, numbers, memory = scores.keys, scores.numbers, scores.memory
    n, job = 0, waiting_from(state, 0)
    while job >= 0:
        order[n] = job
        n += 1
        job = waiting_from(state, jobs.rank[job] + 1)
    if n == 0:
        return 0
    score = _score(state.functions[b.SCORE_AT])
    eligible, submit, estimate = jobs.eligible_ns, jobs.submit_ns, jobs.estimate_ns
    fault = score(state.now_ns, order, n, eligible, submit, estimate, jobs.cores, numbers, memory, keys)
    if fault != 0:
        state.due_job = max(0, min(fault - 1, jobs.number.size - 1))
        return -1
    for k in range(n):
        if np.isnan(keys[k]):
            state.due_job = order[k]
            return -1
    # Stable: jobs with equal scores stay in the order of the tree, by submit.
    rows, places, space = scores.sorting[0], scores.sorting[1], scores.sorting[2]
    sort_places(keys, places, space, n)
    _reorder(order, places, rows, n)
    if state.partitions.tier.size > 1:
        tiers = scores.sorting[3]
        for k in range(n):
            tiers[k] = -state.partitions.tier[jobs.partition[order[k]]]
        sort_places(tiers, places, space, n)
        _reorder(order, places, rows, n)
    return n


@compiled(HOOK)
def turn_away(state: b.BatchState, _job: int, _begin: int, _stop: int, _sign: int) -> int:
    """Reject all waiting jobs."""
    while state.n_waiting > 0:
        send_away(state, waiting_from(state, 0), b.TURNED_AWAY)
    return BatchStatus.RUNNING


@compiled(HOOK)
def keep_account(state: b.BatchState, job: int, instant: int, more: int, sign: int) -> int:
    """Report to the policy's account function that a job starts on cores, is given cores (``stop`` > 0) or gives them back."""
    if sign == 1:
        return 0  # reported when it starts
    instant = max(instant, state.jobs.start_ns[job])  # the start may have been delayed
    account = _account(state.functions[b.ACCOUNT_AT])
    account(instant, job, abs(more), 1 if more > 0 else -1, state.scores.numbers, state.scores.memory)
    return 0
