"""The batch policies, named as in the literature; one file for each policy, or for each family of short policies.

To add a policy, write a file here, and add a line to :data:`POLICIES`. Outside packages use the entry-point group
``twolevel.policies``; a single run can use a policy from a file, ``bls my.py:MyPolicy``. A policy that is a frozen dataclass
takes parameters, ``bls NAME:key=value,key=value``; a policy that parses the text after its name itself is in :data:`WRITTEN`.
"""

from collections.abc import Callable

from bls.options import BLS
from bls.policies.contract import (
    AnyPolicy,
    BatchPolicy,
    DecidingPolicy,
    KnownJobs,
    Policy,
    ScorePolicy,
    Scoring,
    ScoringPolicy,
    account_kernel,
    ranks,
    score_kernel,
    scoring,
    unscored,
)
from traces.base.errors import InputError, at
from traces.base.plugins import Registry, resolve, split_names, split_parameters, with_parameters

__all__ = [
    "POLICIES", "WRITTEN", "AnyPolicy", "BatchPolicy", "DecidingPolicy", "KnownJobs", "Policy", "ScorePolicy", "Scoring",
    "ScoringPolicy", "account_kernel", "policy", "ranks", "reads_deadlines", "reads_signals", "score_kernel", "scoring",
    "split_names", "unscored",
]  # fmt: skip

POLICIES = Registry[AnyPolicy](
    {
        "fcfs": "bls.policies.orders:FCFS",
        "sjf": "bls.policies.orders:SJF",
        "ljf": "bls.policies.orders:LJF",
        "edf": "bls.policies.orders:EDF",
        "saf": "bls.policies.orders:SAF",
        "wfp3": "bls.policies.waited:WFP3",
        "unicef": "bls.policies.waited:UNICEF",
        "f1": "bls.policies.regression:F1",
        "f2": "bls.policies.regression:F2",
        "f3": "bls.policies.regression:F3",
        "f4": "bls.policies.regression:F4",
        "least-power": "bls.policies.orders:LEAST_POWER",
        "most-power": "bls.policies.orders:MOST_POWER",
        "least-energy": "bls.policies.orders:LEAST_ENERGY",
        "multifactor": "bls.policies.multifactor.priority:MULTIFACTOR",
        "reject": "bls.policies.orders:REJECT",
        "hcp19": "bls.policies.planning.planner:HCP19",
        "cp-classes": "bls.policies.planning.planner:CP_CLASSES",
        "pcp19": "bls.policies.planning.planner:PCP19",
        "pcp20": "bls.policies.planning.planner:PCP20",
        "slurm": "bls.policies.slurm.parameters:SlurmCycle",
    }
)

#: Policies given as ``NAME:TEXT``: functions of the text and the option in which it was given.
WRITTEN = Registry[Callable[[str, str], AnyPolicy]](
    {"expr": "bls.policies.expression:expression", "multifactor": "bls.policies.multifactor.priority:multifactor"}
)


def reads_deadlines(given: str | AnyPolicy) -> bool:
    """Whether a policy may read deadlines: ``edf``, and every policy from outside the project."""
    plain = (given if isinstance(given, str) else given.name).partition(":")[0]
    return plain == "edf" or plain not in (*POLICIES, *WRITTEN)


def reads_signals(given: str | AnyPolicy) -> bool:
    """Whether a policy may read signals: it needs some, or is from outside the project."""
    name = given if isinstance(given, str) else given.name
    plain = name.partition(":")[0]
    if plain in WRITTEN:
        return False
    found = policy(name) if plain in POLICIES and isinstance(given, str) else given
    return plain not in POLICIES or bool(getattr(found, "needs_signals", ()))


def policy(name: str, *, where: str = "") -> AnyPolicy:
    """The policy of this name.

    Parameters
    ----------
    name : str
        One of :data:`POLICIES`, an installed package's or ``FILE.py:NAME``, each optionally with ``:key=value,key=value``; or
        one of :data:`WRITTEN`, as ``expr:EXPRESSION`` (docs/reference/batch-orders.md).
    where : str
        The option that gave it, for errors.

    Raises
    ------
    InputError
        If there is none (the message lists the known ones, nearest first), or the parameters or the expression are invalid.
    PluginError
        If it cannot be loaded.
    """
    where = at(where or str(BLS), name)
    first, colon, text = name.partition(":")
    if colon and first in WRITTEN:
        return WRITTEN[first](text, where)
    plain, parameters = split_parameters(name)
    found: object = resolve("batch policy", plain, POLICIES, "twolevel.policies", object, where, ("expr:EXPRESSION",))
    if not isinstance(found, BatchPolicy):
        what = "a name, and keys(jobs), scored(jobs) or decide(view)"
        raise InputError(
            f"{where}: {plain} is of type {type(found).__name__}, which has no name; allowed: a policy: {what}"
        )
    if not isinstance(found, DecidingPolicy | ScoringPolicy | Policy):
        without = "no keys(jobs), no scored(jobs) and no decide(view)"
        raise InputError(f"{where}: {plain} has {without}; allowed: one of them")
    return with_parameters(found, parameters, where, "batch policy") if parameters else found
