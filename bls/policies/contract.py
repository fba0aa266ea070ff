"""The contract of a batch policy: it orders the waiting jobs. There are three kinds.

- static (:class:`Policy`): a key for each job that does not change with time. The engine turns the keys into ranks once.
- dynamic (:class:`ScoringPolicy`, :class:`ScorePolicy`): a compiled function, called when a scheduling pass begins, gives
  every waiting job a key; another is called at every start and every end.
- deciding (:class:`DecidingPolicy`): a Python method, for which the engine suspends, chooses the jobs to start.

The job with the smallest key is the head of the queue; equal keys are ordered by (submit, place in the workload). A
policy suggests: the engine checks its answer, and names it in the error.

A deciding policy may declare more, as attributes of its class:

- ``may_not_fit``: if True, a job that is started without named cores but cannot be placed waits; by default this is an error
- ``decision_columns``: the columns of its notes (``View.note``): names and types, of ``bls.seen.notes.NOTED``
- ``unaware_of``: unsupported features, of ``bls.conflicts.UNAWARE``: a run that has one is refused before it begins
- ``needs_signals``: columns of the file of ``signals`` without which a run is refused
- ``totals()``: its counts at the end of a run, for ``run.json``: names, and values that are int, float, bool or str
- ``for_run()``: returns the object that decides in one run, if one object is used for several runs
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, runtime_checkable
from weakref import WeakSet

import numpy as np

from bls.engine.signatures import ACCOUNT, DECIDE, SCORE
from bls.seen.notes import EXACT, NOTED
from traces.base.columns import read_only
from traces.base.errors import PluginError, TwolevelError, blamed_on, shown
from traces.base.time import NS_PER_S
from traces.compiled import Array, as_value, compiled
from traces.trials import Fences, rule_answers, try_rule

if TYPE_CHECKING:
    from bls.seen.answers import Choice
    from bls.view import View


def _not_said() -> Array:
    return np.empty(0, np.int64)


@dataclass(frozen=True)
class KnownJobs:
    """The jobs' properties that are known at their submits, in workload order; read-only int64 columns of n jobs."""

    job_id: Array
    submit_ns: Array
    estimate_ns: Array  # requested run times
    deadline_ns: Array  # submit + slack × estimate
    cores: Array  # requested cores
    # numbers of users, groups …; -1 is unknown, also for columns that are not given
    user: Array = field(default_factory=_not_said)
    group: Array = field(default_factory=_not_said)
    queue: Array = field(default_factory=_not_said)
    partition: Array = field(default_factory=_not_said)
    qos: Array = field(default_factory=_not_said)
    n_cores: int = 0  # cores of the machine; 0 is unknown
    # power of a core at full speed while it works for the job, mW, the mean over all cores of the machine; -1 is unknown. With
    # estimates of power it is the power of the platform.
    core_mw: Array = field(default_factory=_not_said)
    # requested GPUs, in thousandths: their sum; of requests per host, those of one host; 0 if the column is not given
    gpus: Array = field(default_factory=_not_said)
    n_gpus: int = 0  # GPUs of the machine
    # power of the requested GPUs at full speed while they work for the job, mW, of the accepted kind that draws least; 0 if it
    # requests none, or their power is unknown. With estimates of power it is the power of the platform.
    gpu_mw: Array = field(default_factory=_not_said)

    def __post_init__(self) -> None:
        for name in ("user", "group", "queue", "partition", "qos", "core_mw"):
            if len(getattr(self, name)) != len(self.job_id):
                object.__setattr__(self, name, read_only(np.full(len(self.job_id), -1, np.int64)))
        for name in ("gpus", "gpu_mw"):
            if len(getattr(self, name)) != len(self.job_id):
                object.__setattr__(self, name, read_only(np.zeros(len(self.job_id), np.int64)))


@runtime_checkable
class BatchPolicy(Protocol):
    """The attributes of policies of every kind."""

    @property
    def name(self) -> str:
        """The name in the literature, in lower case."""


@runtime_checkable
class Policy(BatchPolicy, Protocol):
    """An order of the queue that does not change with time."""

    def keys(self, jobs: KnownJobs) -> Array:
        """One key per job, int64 or float64 of shape (n,), smallest first; NaN is an error.

        Must depend on ``jobs`` alone and must not change it.
        """


@runtime_checkable
class PredictedPolicy(Policy, Protocol):
    """An order by estimates, which can be computed again when these change."""

    def predicted(self) -> AnyPolicy:
        """The policy with this order for estimates that are known only when a job arrives; ``self`` if none is needed."""


@runtime_checkable
class ScoringPolicy(BatchPolicy, Protocol):
    """An order of the queue that changes with time, perhaps with parameters."""

    def scored(self, jobs: KnownJobs) -> ScorePolicy:
        """The policy as compiled functions, for a run with these jobs. Must not change ``jobs``."""


@runtime_checkable
class DecidingPolicy(BatchPolicy, Protocol):
    """A policy that chooses the jobs to start; the engine suspends for it in every scheduling pass.

    A policy that is a context manager is entered before each run and left after it. In ``decide``, a policy may give running
    jobs the commands that its attribute ``directs`` names (:data:`DIRECTIONS`): ``view.scale``, ``view.cancel`` and
    ``view.requeue``, ``view.resize``, ``view.hint``.

    A policy that is given as a class or by a name is made for each run, also for the second run of one scenario and for each
    cell of a study. A registered object returns it from ``for_run()``; a dataclass is made again with its
    parameters. An object that is given in Python is used itself.
    """

    def decide(self, view: View) -> Iterable[Choice]:
        """The waiting jobs of ``view`` to start now, in this order; perhaps none.

        Each is a job, a pair (job, cores), or a triple (job, cores or None, reason) such as ``bls.Start``. Without cores the
        allocator chooses them; the reason appears in the table of jobs. An impossible answer (a job that does not fit, is
        not waiting, or is named twice; cores that it may not have) is an error that names the policy.
        """


#: Commands that a deciding policy may give to running jobs, if its attribute ``directs`` names them.
DIRECTIONS: Final = ("speeds", "ends", "widths", "hints")
_DIRECTED = f"one of {', '.join(map(repr, DIRECTIONS))}, or a tuple of them"


def directs(policy: object) -> frozenset[str]:
    """The commands to running jobs (:data:`DIRECTIONS`) that a policy declares; empty for a program before its ``hello``.
    Raises PluginError if its attribute ``directs`` is not valid, or it does not decide."""
    named = getattr(policy, "directs", ())
    if not named or not isinstance(policy, BatchPolicy):
        return frozenset()
    where = f"batch policy {policy.name}: directs"
    if not isinstance(policy, DecidingPolicy):
        raise PluginError(f"{where}: {shown(named)}; allowed: of a policy with decide(view)")
    if not isinstance(named, str | tuple | list | set | frozenset):
        raise PluginError(f"{where}: {shown(named)}; allowed: {_DIRECTED}")
    found = [named] if isinstance(named, str) else named
    if unknown := [one for one in found if one not in DIRECTIONS]:
        raise PluginError(f"{where}: {shown(unknown[0])}; allowed: {_DIRECTED}")
    return frozenset(found)


def may_direct(policy: object, what: str) -> bool:
    """Whether a policy declares that command to running jobs, or is a program that has not declared its commands yet."""
    return what in directs(policy) or (isinstance(policy, OtherProgram) and policy.directs is None)


@runtime_checkable
class FollowingPolicy(DecidingPolicy, Protocol):
    """A deciding policy that keeps its own state: it may read the events since its last call from ``view.news()``."""

    def finish(self, view: View) -> None:
        """Called once when all jobs have ended, with the events since its last decision."""


@runtime_checkable
class OtherProgram(FollowingPolicy, Protocol):
    """A deciding policy whose decisions come from another program."""

    @property
    def who(self) -> str:
        """The name for errors: ``scheduler 'CMD'``."""

    @property
    def directs(self) -> Collection[str] | None:
        """The commands to running jobs (:data:`DIRECTIONS`) that it declares; None before its ``hello``."""

    @property
    def cost(self) -> Mapping[str, int]:
        """The cost of the communication with it, for the record of a run."""

    def break_off(self) -> None:
        """Stop waiting for its answer; called from another thread."""


#: A policy of one of the three kinds. If it has several methods, ``decide`` takes precedence over ``scored``, then ``keys``.
AnyPolicy: TypeAlias = Policy | ScoringPolicy | DecidingPolicy


def by_prediction(policy: AnyPolicy) -> AnyPolicy:
    """The policy for runs in which a job's estimate is known only when it arrives: the same order, computed in every pass.

    The keys of a static policy are computed before the simulation begins. A policy that depends on estimates therefore
    returns a scoring policy from ``predicted()``. The keys of other policies depend on the requests, for example deadlines, and
    the keys of ``multifactor``, which Slurm computes from time limits.
    """
    return policy.predicted() if isinstance(policy, PredictedPolicy) else policy


def goes_by_estimates(policy: AnyPolicy) -> bool:
    """Whether an order is known to depend on estimates: it declares so, or its ``predicted()`` is another policy."""
    if isinstance(policy, PredictedPolicy):
        return policy.predicted() is not policy
    return bool(getattr(policy, "by_estimates", False))


def ranks(policy: Policy, jobs: KnownJobs, tier: Array | None = None) -> Array:
    """The place of every job in a static policy's total order, by tier, then key, then submit, then workload order: int64 (n,),
    a permutation of 0 … n-1.

    ``jobs``: the n jobs of the workload. ``tier``, int64 (n,): tiers of the jobs' partitions, the highest first. Raises
    PluginError if the policy's keys have another shape, are not numbers or contain NaN, and InputError if the policy raises it,
    for an error of the user.
    """
    n = len(jobs.submit_ns)
    with blamed_on(f"batch policy {policy.name}: keys() failed"):
        keys = np.asarray(policy.keys(jobs))
    if keys.shape != (n,) or keys.dtype.kind not in "iuf":
        gave = f"keys() gave {keys.dtype} of shape {keys.shape}"
        raise PluginError(f"batch policy {policy.name}: {gave}; allowed: numbers of shape ({n},)")
    if keys.dtype.kind == "f" and np.isnan(keys).any():
        row = int(np.isnan(keys).argmax())
        raise PluginError(f"batch policy {policy.name}: keys() gave NaN for job {jobs.job_id[row]}")
    sorted_by = [np.arange(n), jobs.submit_ns, keys]
    if tier is not None:
        sorted_by.append(~np.asarray(tier, np.int64))  # -tier - 1, which cannot overflow
    return np.argsort(np.lexsort(sorted_by))


_TYPES = ", ".join(one.__name__ for one in NOTED)

#: The columns of every table of decisions, and the further column for policies with ``may_not_fit``.
PASS_COLUMNS: Final = ("now_ns", "waiting", "started", "decision_ns", "did_not_fit")

_LONGEST_NAME = 60


def may_not_fit(policy: object) -> bool:
    """Whether jobs that a policy starts but that cannot be placed wait. Raises PluginError if its value is not a bool."""
    said = getattr(policy, "may_not_fit", False)
    if not isinstance(policy, DecidingPolicy):
        return False
    if not isinstance(said, bool):
        raise PluginError(f"batch policy {policy.name}: may_not_fit: {shown(said)}; allowed: True, False")
    return said


def columns_declared(policy: object) -> dict[str, type]:
    """The columns of a policy's notes on its decisions: names and types; empty for a policy that does not decide. Raises
    PluginError if its attribute ``decision_columns`` is not valid."""
    said = getattr(policy, "decision_columns", None)
    if said is None or not isinstance(policy, DecidingPolicy):
        return {}
    where = f"batch policy {policy.name}: decision_columns"
    if not isinstance(said, Mapping):
        raise PluginError(f"{where}: {shown(said)}; allowed: a mapping of names to {_TYPES}")
    taken = set(PASS_COLUMNS)
    for name, kind in said.items():
        if not isinstance(name, str) or not name.isidentifier() or len(name) > _LONGEST_NAME:
            allowed = f"names of up to {_LONGEST_NAME} characters, as in Python"
            raise PluginError(f"{where}: {shown(name)}; allowed: {allowed}")
        if kind not in NOTED:
            raise PluginError(f"{where}: {name}: {shown(kind)}; allowed: {_TYPES}")
        for column in (name, name + EXACT) if kind is Fraction else (name,):
            if column in taken:
                raise PluginError(f"{where}: {shown(name)}: there is a column {column} already")
            taken.add(column)
    return dict(said)


def policy_totals(policy: object) -> dict[str, Any]:
    """The totals of a policy that decides, as ``{"policy": …}``; empty for a policy without ``totals()``.
    Raises PluginError if it fails, or does not return names with plain values."""
    total = getattr(policy, "totals", None)
    if not isinstance(policy, DecidingPolicy) or not callable(total):
        return {}
    where = f"batch policy {policy.name}: totals()"
    with blamed_on(f"{where} failed"):
        given: object = total()
    if not isinstance(given, Mapping) or not all(
        isinstance(name, str) and name.isidentifier() and isinstance(value, int | float | str)
        for name, value in given.items()
    ):
        raise PluginError(f"{where} gave {shown(given)}; allowed: names with values that are int, float, bool or str")
    return {"policy": dict(given)}


def for_one_run(given: object, named: bool = False) -> Any:
    """The policy of one run, which shares no state with other runs.

    A class is called without arguments for every run. A deciding object with ``for_run()`` is replaced by its result, and a
    dataclass that was found by its name (``named``) by a copy. Any other object is used itself: its user may run it several
    times, and read it afterwards. Raises PluginError if it cannot be made, or ``for_run()`` returns no deciding policy.
    """
    if isinstance(given, type):
        with blamed_on(f"batch policy {given.__name__}() cannot be made"):
            given = given()
    if not isinstance(given, DecidingPolicy):
        return given
    name, make = given.name, getattr(given, "for_run", None)
    if callable(make):
        where = f"batch policy {name}: for_run()"
        with blamed_on(f"{where} failed"):
            made: object = make()
        if not isinstance(made, BatchPolicy) or not isinstance(made, DecidingPolicy):
            raise PluginError(f"{where} gave {shown(made)}; allowed: a policy with a name and decide(view)")
        return made
    if named and is_dataclass(type(given)):
        with blamed_on(f"batch policy {name}: another of it cannot be made"):
            return replace(given)  # type: ignore[type-var]
    return given


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
    held_gpus : int
        Row of ``numbers`` in which the engine writes the thousandths of GPUs that each job holds, before it calls ``account``;
        -1: none.
    """

    name: str
    score: Callable[..., int]
    account: Callable[..., int] = no_account
    prepare: Callable[[KnownJobs], tuple[Array, Array]] = NO_NUMBERS
    blame: type[TwolevelError] = PluginError
    by_estimates: bool = field(default=False, metadata={"parameter": False})
    held_gpus: int = field(default=-1, metadata={"parameter": False})

    def scored(self, jobs: KnownJobs) -> ScorePolicy:
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
    if not -1 <= scored.held_gpus < len(numbers):
        raise PluginError(
            f"{blamed}: held_gpus: {scored.held_gpus}; allowed: -1 to {len(numbers) - 1}, rows of numbers"
        )
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
