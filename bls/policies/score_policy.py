"""Policies as compiled functions (:class:`ScorePolicy`), prepared for a run. A user's policy is first called on test data."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final
from weakref import WeakSet

import numpy as np

from bls.engine.signatures import ACCOUNT, DECIDE, SCORE
from bls.policies.contract import KnownJobs, ScoringPolicy
from traces.base.errors import PluginError, TwolevelError, blamed_on
from traces.base.time import NS_PER_S
from traces.compiled import Array, as_value, compiled
from traces.trials import Fences, rule_answers, try_rule


def score_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function to the signature of :attr:`ScorePolicy.score`."""
    return compiled(SCORE)(function)


def account_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function to the signature of :attr:`ScorePolicy.account`."""
    return compiled(ACCOUNT)(function)


@score_kernel
def no_score(
    now_ns: int, waiting: Array, n_waiting: int, eligible_ns: Array, submit_ns: Array, estimate_ns: Array, cores: Array,
    numbers: Array, memory: Array, key: Array,
) -> int:  # fmt: skip
    """Placeholder for policies that do not score; it is never called."""
    return 0


@compiled(DECIDE)
def no_decision(now_ns: int) -> int:
    """Placeholder for policies that do not decide; it is never called."""
    return 0


@account_kernel
def no_account(now_ns: int, row: int, cores: int, change: int, numbers: Array, memory: Array) -> int:
    """Account function of policies that do not use starts and ends."""
    return 0


def same_memory(memory: Sequence[float] | Array, jobs: KnownJobs) -> tuple[Array, Array]:
    """Prepare policies that need no numbers of jobs and have the same initial memory in each run."""
    return np.empty((0, len(jobs.job_id))), np.array(memory, np.float64)


#: For policies without numbers: an empty table and an empty memory.
NO_NUMBERS: Final = partial(same_memory, ())


@dataclass(frozen=True)
class ScorePolicy:
    """An order of the queue that changes with time, as compiled functions.

    Attributes
    ----------
    score : callable
        Decorated with :func:`score_kernel`::

            score(now_ns, waiting, n_waiting, eligible_ns, submit_ns, estimate_ns, cores, numbers, memory, key) -> int

        Called when a pass begins. Writes into ``key[k]``, float64, the key of the job in row ``waiting[k]``, for 0 ≤ k <
        ``n_waiting``; smallest first. ``eligible_ns``, ``submit_ns``, ``estimate_ns`` and ``cores`` are int64 columns, and
        ``numbers`` has columns, indexed by row. Returns 0, or 1 + the row of a job that has no key. NaN is no key, either.
    account : callable
        Decorated with :func:`account_kernel`::

            account(now_ns, row, cores, change, numbers, memory) -> int

        Called when a job starts (``change`` = 1) and when it ends (-1). Returns 0.
    prepare : callable
        ``prepare(jobs)`` returns ``numbers``, float64 (k, n), the policy's numbers of each job, and ``memory``, float64
        (m,). Both functions may write to both; they may only read everything else, and must depend on their arguments alone.
    blame : exception type
        The error for a job without a key: an error of the policy, or of the user who wrote it on the command line.
    by_estimates : bool
        Whether the order depends on estimates of run times.
    """

    name: str
    score: Callable[..., int]
    account: Callable[..., int] = no_account
    prepare: Callable[[KnownJobs], tuple[Array, Array]] = NO_NUMBERS
    blame: type[TwolevelError] = PluginError
    by_estimates: bool = field(default=False, metadata={"parameter": False})

    def scored(self, jobs: KnownJobs) -> "ScorePolicy":
        """Itself."""
        return self


@dataclass(frozen=True, eq=False)
class Scoring:
    """A dynamic policy prepared for one run."""

    policy: ScorePolicy  # for its name, and for :func:`unscored`
    score: Callable[..., int]  # a value that can be passed to a kernel
    account: Callable[..., int]  # the same
    accounts: bool  # whether ``account`` does anything
    numbers: Array  # float64 (k, n): writable, and not shared with another run
    memory: Array  # float64 (m,): the same


_TRIED: Final[WeakSet[Any]] = WeakSet()  #: users' functions that were tested in this process


def scoring(policy: ScoringPolicy, jobs: KnownJobs) -> Scoring:
    """Prepare a dynamic policy for a run with these jobs. Raises PluginError if its methods, functions or numbers are not
    valid, or the test of a user's functions fails."""
    blamed = f"batch policy {policy.name}"
    with blamed_on(f"{blamed}: prepare() failed"):
        scored = policy.scored(jobs)
        numbers, memory = scored.prepare(jobs)
        numbers, memory = np.array(numbers, np.float64, order="C"), np.array(memory, np.float64, order="C")
    n = len(jobs.job_id)
    if numbers.ndim != 2 or numbers.shape[1] != n or memory.ndim != 1:
        gave = f"numbers of shape {numbers.shape} and memory of shape {memory.shape}"
        raise PluginError(f"{blamed}: prepare() gave {gave}; allowed: (any, {n}) and (any,)")
    if not all(getattr(rule, "is_ours", False) or rule in _TRIED for rule in (scored.score, scored.account)):
        _try_out(scored, jobs, numbers, memory)
        _TRIED.update((scored.score, scored.account))
    score, account = as_value(scored.score, SCORE), as_value(scored.account, ACCOUNT)
    return Scoring(scored, score, account, scored.account is not no_account, numbers, memory)


def unscored(policy: ScorePolicy, job_id: int, now_ns: int) -> TwolevelError:
    """The error for a job that has no key at an instant, to be raised by the caller."""
    when = f"at {now_ns / NS_PER_S:.15g} s"
    return policy.blame(f"batch policy {policy.name}: no finite key for job {job_id} {when} (as by a division by zero)")


_WAITING: Final = 16  #: number of waiting jobs in the test


def _try_out(policy: ScorePolicy, jobs: KnownJobs, numbers: Array, memory: Array) -> None:
    """Score, start and end some jobs of a run, on copies of the policy's arrays. Raises PluginError if a function fails,
    writes outside its arrays, is killed, or is not made by ``score_kernel`` or ``account_kernel``."""
    who = f"batch policy {policy.name}"
    rows = np.unique(np.linspace(0, len(jobs.job_id) - 1, _WAITING).astype(np.int64))
    kept = {"numbers": np.ravel(numbers), "memory": memory}
    given = (who, policy, jobs, rows, kept)
    try_rule(who, policy.score, SCORE, "it with score_kernel", partial(_try_score, *given))
    try_rule(who, policy.account, ACCOUNT, "it with account_kernel", partial(_try_account, *given))


def _try_score(who: str, policy: ScorePolicy, jobs: KnownJobs, rows: Array, kept: dict[str, Array]) -> None:
    columns = {"eligible_ns": jobs.submit_ns, "submit_ns": jobs.submit_ns, "estimate_ns": jobs.estimate_ns}
    fences = Fences(who, waiting=rows, **columns, cores=jobs.cores, **kept, key=np.zeros(len(jobs.job_id)))
    waiting, *others = _arrays(fences, jobs)
    with rule_answers(who):
        policy.score(int(jobs.submit_ns.max()), waiting, len(rows), *others)
    fences.check("numbers", "memory", "key")


def _try_account(who: str, policy: ScorePolicy, jobs: KnownJobs, rows: Array, kept: dict[str, Array]) -> None:
    fences = Fences(who, **kept)
    arrays = _arrays(fences, jobs)
    for change in (1, -1):
        for row in rows.tolist():
            with rule_answers(who):
                policy.account(int(jobs.submit_ns.max()), row, int(jobs.cores[row]), change, *arrays)
            fences.check()


def _arrays(fences: Fences, jobs: KnownJobs) -> list[Array]:
    # The arguments in their order; numbers have one column per job.
    arrays = fences.arrays
    return list((arrays | {"numbers": arrays["numbers"].reshape(-1, len(jobs.job_id))}).values())
