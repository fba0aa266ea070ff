"""What a batch policy is: it says in which order waiting jobs are considered. There are three kinds.

static (:class:`Policy`)
    A key a job that does not change with time. The engine turns the keys into ranks once, so that such a policy costs
    nothing while the simulation runs.
dynamic (:class:`ScoringPolicy`, :class:`ScorePolicy`)
    A compiled function, called when a scheduling pass begins, gives every waiting job a key; another is told of every
    start and every end.
deciding (:class:`DecidingPolicy`)
    A Python method, for which the engine suspends, says which jobs start.

The job with the smallest key is the head of the queue; equal keys are ordered by (submit, place in the workload). A
policy suggests: the engine checks what it answers, and names it in the error.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, runtime_checkable
from weakref import WeakSet

import numpy as np

from bls.engine.signatures import ACCOUNT, DECIDE, SCORE
from traces.base.columns import read_only
from traces.base.errors import PluginError, TwolevelError, blamed_on, shown
from traces.base.time import NS_PER_S
from traces.compiled import Array, as_value, compiled

if TYPE_CHECKING:
    from bls.seen.answers import Choice
    from bls.view import View


def _not_said() -> Array:
    return np.empty(0, np.int64)


@dataclass(frozen=True)
class KnownJobs:
    """What is known of the jobs when they are submitted, in workload order; read-only int64 columns of n jobs.

    Attributes
    ----------
    job_id : int64 (n,)
        Job numbers.
    submit_ns : int64 (n,)
        Submit instants.
    estimate_ns : int64 (n,)
        Requested run times (durations).
    deadline_ns : int64 (n,)
        submit + slack × estimate.
    cores : int64 (n,)
        Requested cores.
    user, group, queue, partition, qos : int64 (n,)
        Numbers of the job's user, group, queue, partition and quality of service; -1 is unknown, as is what is left out.
    n_cores : int
        Cores of the machine; 0 is unknown.
    core_mw : int64 (n,)
        What a core draws at full speed that works for the job, mW, the mean over all cores of the machine; -1 is unknown. With
        estimates of power it is what the platform says.
    """

    job_id: Array
    submit_ns: Array
    estimate_ns: Array
    deadline_ns: Array
    cores: Array
    user: Array = field(default_factory=_not_said)
    group: Array = field(default_factory=_not_said)
    queue: Array = field(default_factory=_not_said)
    partition: Array = field(default_factory=_not_said)
    qos: Array = field(default_factory=_not_said)
    n_cores: int = 0
    core_mw: Array = field(default_factory=_not_said)

    def __post_init__(self) -> None:
        for name in ("user", "group", "queue", "partition", "qos", "core_mw"):
            if len(getattr(self, name)) != len(self.job_id):
                object.__setattr__(self, name, read_only(np.full(len(self.job_id), -1, np.int64)))


@runtime_checkable
class BatchPolicy(Protocol):
    """What policies of every kind have."""

    @property
    def name(self) -> str:
        """As the literature names it, in lower case."""
        ...


@runtime_checkable
class Policy(BatchPolicy, Protocol):
    """An order of the queue that does not change with time."""

    def keys(self, jobs: KnownJobs) -> Array:
        """One key a job, int64 or float64 of shape (n,), smallest first; NaN is an error.

        Must depend on ``jobs`` alone and must not change it.
        """
        ...


@runtime_checkable
class PredictedPolicy(Policy, Protocol):
    """An order whose keys are made of estimates, and which can be found anew as these change."""

    def predicted(self) -> AnyPolicy:
        """What gives this order in runs in which estimates are known only when a job arrives; itself if it need not score."""
        ...


@runtime_checkable
class ScoringPolicy(BatchPolicy, Protocol):
    """An order of the queue that changes with time, perhaps with parameters of its own."""

    def scored(self, jobs: KnownJobs) -> ScorePolicy:
        """The policy as compiled functions, for a run with these jobs. Must not change ``jobs``."""
        ...


@runtime_checkable
class DecidingPolicy(BatchPolicy, Protocol):
    """A policy that says itself what starts; the engine suspends for it in every scheduling pass.

    One that is a context manager is entered before each run and left after it. One with an attribute ``directs`` may, in that
    method, do what it names there to jobs that run (:data:`DIRECTIONS`): ``view.scale`` their speeds, ``view.cancel`` and
    ``view.requeue`` them, ``view.resize`` them, ``view.hint`` to them who waits for their cores.

    What it keeps in ``self`` is its run's alone, if it is given as a class, or by a name: each run has another object, also
    the second run of one scenario and each cell of a study. A registered object says with ``for_run()`` which; one of a
    dataclass is made anew with its parameters. An object that is given in Python is used itself. What else it may declare,
    ``may_not_fit`` and ``decision_columns``, is in ``bls.policies.declared``.
    """

    def decide(self, view: View) -> Iterable[Choice]:
        """The waiting jobs of ``view`` to start now, in this order; none is an answer, too.

        Each is a job; a pair of one and its cores; or (job, cores or None, reason), as ``bls.Start`` is: with no cores the
        allocator chooses, and the reason stands in the table of jobs.

        What cannot be (a job that does not fit, is not waiting, or is named twice; cores that it may not have) is an error
        that names the policy.
        """
        ...


#: What a policy that decides may do to jobs that run, if its attribute ``directs`` names it.
DIRECTIONS: Final = ("speeds", "ends", "widths", "hints")
_DIRECTED = f"one of {', '.join(map(repr, DIRECTIONS))}, or a tuple of them"


def directs(policy: object) -> frozenset[str]:
    """What a policy says that it does to jobs that run, of :data:`DIRECTIONS`; nothing, of a program that was not met yet.
    Raises PluginError if its attribute ``directs`` names something else than :data:`DIRECTIONS`, or it does not decide."""
    named = getattr(policy, "directs", ())
    if not named or not isinstance(policy, BatchPolicy):
        return frozenset()
    if not isinstance(policy, DecidingPolicy):
        raise PluginError(
            f"batch policy {policy.name}: directs: {shown(named)}; allowed: of a policy with decide(view)"
        )
    if not isinstance(named, str | tuple | list | set | frozenset):
        raise PluginError(f"batch policy {policy.name}: directs: {shown(named)}; allowed: {_DIRECTED}")
    unknown = [one for one in ([named] if isinstance(named, str) else named) if one not in DIRECTIONS]
    if unknown:
        raise PluginError(f"batch policy {policy.name}: directs: {shown(unknown[0])}; allowed: {_DIRECTED}")
    return frozenset([named] if isinstance(named, str) else named)


def may_direct(policy: object, what: str) -> bool:
    """Whether a policy says that it does that to jobs that run, or is a program that has not said yet what it does."""
    return what in directs(policy) or (isinstance(policy, OtherProgram) and policy.directs is None)


@runtime_checkable
class FollowingPolicy(DecidingPolicy, Protocol):
    """A deciding policy that keeps books of its own: it may ask ``view.news()`` what has happened since it last asked."""

    def finish(self, view: View) -> None:
        """Called once, when all jobs have ended: for the news since its last decision."""
        ...


@runtime_checkable
class OtherProgram(FollowingPolicy, Protocol):
    """A deciding policy that is another program, for which it speaks."""

    @property
    def who(self) -> str:
        """Whom an error names: ``scheduler 'CMD'``."""
        ...

    @property
    def directs(self) -> Collection[str] | None:
        """What it says that it does to jobs that run, of :data:`DIRECTIONS`; None before it was met."""
        ...

    @property
    def cost(self) -> Mapping[str, int]:
        """What it has cost to speak with it, for the record of a run."""
        ...

    def break_off(self) -> None:
        """From another thread: whoever waits for its answer is to give up."""
        ...


#: A policy of one of the three kinds. What has ``decide`` decides, whatever else it has; then ``scored`` comes before ``keys``.
AnyPolicy: TypeAlias = Policy | ScoringPolicy | DecidingPolicy


def by_prediction(policy: AnyPolicy) -> AnyPolicy:
    """The policy for runs in which a job's estimate is known only when it arrives: the same order, found in every pass.

    A static policy is asked for all its keys before the simulation begins. Where run times are predicted from jobs that
    have ended, those of a policy that goes by them are not known then: such a policy of ours says what scores instead,
    ``predicted()``. A policy that does not has keys that are made of the requests; so has ``multifactor``, as Slurm's are
    of time limits, and so have deadlines.
    """
    return policy.predicted() if isinstance(policy, PredictedPolicy) else policy


def goes_by_estimates(policy: AnyPolicy) -> bool:
    """Whether an order is known to go by how long jobs are thought to run: it says so, or is another one with predictions."""
    if isinstance(policy, PredictedPolicy):
        return policy.predicted() is not policy
    return bool(getattr(policy, "by_estimates", False))


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
    """For runs whose policy does not score: it is never called."""
    return 0


@compiled(DECIDE)
def no_decision(now_ns: int) -> int:
    """For runs whose policy does not decide: it is never called."""
    return 0


@account_kernel
def no_account(now_ns: int, row: int, cores: int, change: int, numbers: Array, memory: Array) -> int:
    """For policies that need not know of starts and ends."""
    return 0


def no_numbers(jobs: KnownJobs) -> tuple[Array, Array]:
    """For policies that need no numbers of their own: an empty table and an empty memory."""
    return same_memory((), jobs)


def same_memory(memory: Sequence[float] | Array, jobs: KnownJobs) -> tuple[Array, Array]:
    """For policies that need no numbers of jobs, and begin each run with the same memory."""
    return np.empty((0, len(jobs.job_id))), np.array(memory, np.float64)


@dataclass(frozen=True)
class ScorePolicy:
    """An order of the queue that changes with time, as compiled functions.

    Attributes
    ----------
    name : str
        As the literature names it, in lower case.
    score : callable
        Decorated with :func:`score_kernel`::

            score(now_ns, waiting, n_waiting, eligible_ns, submit_ns, estimate_ns, cores, numbers, memory, key) -> int

        Called when a pass begins. Writes into ``key[k]``, float64, the key of the job in row ``waiting[k]``, for
        0 ≤ k < ``n_waiting``; smallest first. ``eligible_ns``, ``submit_ns``, ``estimate_ns`` and ``cores`` are int64
        columns, and ``numbers`` has columns, indexed by row. Returns 0, or 1 + the row of a job that has no key. NaN is
        no key, either.
    account : callable
        Decorated with :func:`account_kernel`::

            account(now_ns, row, cores, change, numbers, memory) -> int

        Called when a job starts (``change`` = 1) and when it ends (-1). Returns 0.
    prepare : callable
        ``prepare(jobs)`` gives ``numbers``, float64 (k, n), what the policy wants to know of each job, and ``memory``,
        float64 (m,), what it wants to remember. Both functions may write to both, and are the only ones that do.
    blame : exception type
        Who is to blame for a job without a key: the policy, or the user who wrote it on the command line.
    by_estimates : bool
        Whether the order goes by how long jobs are thought to run.

    Everything else that the functions are given is only to look at. They must be pure: what they write depends on their
    arguments alone.
    """

    name: str
    score: Callable[..., int]
    account: Callable[..., int] = no_account
    prepare: Callable[[KnownJobs], tuple[Array, Array]] = no_numbers
    blame: type[TwolevelError] = PluginError
    by_estimates: bool = field(default=False, metadata={"parameter": False})

    def scored(self, jobs: KnownJobs) -> ScorePolicy:
        """Itself."""
        return self


@dataclass(frozen=True, eq=False)
class Scoring:
    """A dynamic policy made ready for one run."""

    policy: ScorePolicy  # for its name, and for :func:`unscored`
    # the two functions, as values that a kernel takes as arguments
    score: Callable[..., int]
    account: Callable[..., int]
    accounts: bool  # whether ``account`` does anything
    # ndarray of float64, shapes (k, n) and (m,): the run's own: writable, and not shared with another run
    numbers: Array
    memory: Array


#: Rules of users that were tried in this process.
_TRIED: Final[WeakSet[Any]] = WeakSet()


def scoring(policy: ScoringPolicy, jobs: KnownJobs) -> Scoring:
    """Make a dynamic policy ready for a run with these jobs. Raises PluginError if its methods fail, its functions are not
    compiled as they must be, its numbers have another shape, or a first trial shows that functions which are not ours are at
    fault."""
    blamed = f"batch policy {policy.name}"
    with blamed_on(f"{blamed}: prepare() failed"):
        scored = policy.scored(jobs)
        numbers, memory = scored.prepare(jobs)
        numbers, memory = np.array(numbers, np.float64, order="C"), np.array(memory, np.float64, order="C")
    n = len(jobs.job_id)
    if numbers.ndim != 2 or numbers.shape[1] != n or memory.ndim != 1:
        raise PluginError(
            f"{blamed}: prepare() gave numbers of shape {numbers.shape} and memory of shape {memory.shape}; "
            f"allowed: (any, {n}) and (any,)"
        )
    if not all(getattr(rule, "is_ours", False) or rule in _TRIED for rule in (scored.score, scored.account)):
        from bls.policies.trial import try_out  # which rules of ours do not need

        try_out(scored, jobs, numbers, memory)
        _TRIED.update((scored.score, scored.account))
    score, account = as_value(scored.score, SCORE), as_value(scored.account, ACCOUNT)
    return Scoring(scored, score, account, scored.account is not no_account, numbers, memory)


def unscored(policy: ScorePolicy, job_id: int, now_ns: int) -> TwolevelError:
    """The error for a job that has no key at an instant, to be raised by the caller."""
    when = f"at {now_ns / NS_PER_S:.15g} s"
    return policy.blame(f"batch policy {policy.name}: no finite key for job {job_id} {when} (as by a division by zero)")


def ranks(policy: Policy, jobs: KnownJobs, tier: Array | None = None) -> Array:
    """The place of every job in a static policy's total order: tier, then key, then submit, then workload order.

    ``policy``: whose keys. ``tier``, int64 (n,): goes before the key, the highest first; as of the jobs' partitions.
    Returns int64 (n,): a permutation of 0 … n-1. Raises PluginError if the policy's keys have another shape, are no
    numbers or contain NaN. Raises InputError if the policy says that the user is to blame.
    """
    n = len(jobs.submit_ns)
    with blamed_on(f"batch policy {policy.name}: keys() failed"):
        keys = np.asarray(policy.keys(jobs))
    if keys.shape != (n,) or keys.dtype.kind not in "iuf":
        raise PluginError(
            f"batch policy {policy.name}: keys() gave {keys.dtype} of shape {keys.shape}; allowed: numbers of shape ({n},)"
        )
    if keys.dtype.kind == "f" and np.isnan(keys).any():
        row = int(np.isnan(keys).argmax())
        raise PluginError(f"batch policy {policy.name}: keys() gave NaN for job {jobs.job_id[row]}")
    sorted_by = [np.arange(n), jobs.submit_ns, keys]
    if tier is not None:
        sorted_by.append(~np.asarray(tier, np.int64))  # -tier - 1, which cannot overflow
    order = np.lexsort(sorted_by)
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(n)
    return rank
