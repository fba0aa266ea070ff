"""What a policy that decides declares of itself, as attributes of its class; with which rules it can be used; and the object
that decides in a run.

``may_not_fit``
    True: who is started without cores being named, and has no place now, waits; False, the default: that is an error.
``decision_columns``
    What it notes of its decisions (``View.note``): names of columns and their types, of ``bls.seen.notes.NOTED``.
``unaware_of``
    What it knows nothing of, of ``bls.conflicts.UNAWARE``: a run that has it is refused before it begins.
``needs_signals``
    What it goes by that is known over time: columns of the file of ``signals``. A run that has none is refused, too.
``totals()``
    Gives, at the end of a run, what it has counted: names, and values that are int, float, bool or str, for ``run.json``.
``for_run()``
    Gives the object that decides in one run, of an object that stands for many.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass, replace
from fractions import Fraction
from typing import Any, Final

from bls.conflicts import POLICY
from bls.policies.contract import DIRECTIONS, AnyPolicy, BatchPolicy, DecidingPolicy, directs, may_direct
from bls.policies.orders import Reject
from bls.scheduler_options import Rules
from bls.seen.notes import EXACT, NOTED
from traces.base.conflicts import check
from traces.base.errors import PluginError, blamed_on, shown

_TYPES = ", ".join(one.__name__ for one in NOTED)

#: The columns that every table of decisions has; and the one of those whose policy has ``may_not_fit``.
PASS_COLUMNS: Final = ("now_ns", "waiting", "started", "decision_ns", "did_not_fit")

_LONGEST_NAME = 60


def may_not_fit(policy: object) -> bool:
    """Whether jobs that a policy starts may turn out to have no place, and wait then. Raises PluginError if its
    attribute ``may_not_fit`` is neither True nor False."""
    said = getattr(policy, "may_not_fit", False)
    if not isinstance(policy, DecidingPolicy):
        return False
    if not isinstance(said, bool):
        raise PluginError(f"batch policy {policy.name}: may_not_fit: {shown(said)}; allowed: True, False")
    return said


def columns_declared(policy: object) -> dict[str, type]:
    """What a policy notes of its decisions: the names of columns, and their types; nothing of one that does not decide.
    Raises PluginError if its attribute ``decision_columns`` is no mapping of names to ``bls.seen.notes.NOTED``, or two
    columns have one name."""
    said = getattr(policy, "decision_columns", None)
    if said is None or not isinstance(policy, DecidingPolicy):
        return {}
    where = f"batch policy {policy.name}: decision_columns"
    if not isinstance(said, Mapping):
        raise PluginError(f"{where}: {shown(said)}; allowed: a mapping of names to {_TYPES}")
    taken = set(PASS_COLUMNS)
    for name, kind in said.items():
        if not isinstance(name, str) or not name.isidentifier() or len(name) > _LONGEST_NAME:
            raise PluginError(
                f"{where}: {shown(name)}; allowed: names of up to {_LONGEST_NAME} characters, as in Python"
            )
        if kind not in NOTED:
            raise PluginError(f"{where}: {name}: {shown(kind)}; allowed: {_TYPES}")
        for column in (name, name + EXACT) if kind is Fraction else (name,):
            if column in taken:
                raise PluginError(f"{where}: {shown(name)}: there is a column {column} already")
            taken.add(column)
    return dict(said)


def policy_totals(policy: object) -> dict[str, Any]:
    """What a policy that decides has counted in its run, as ``{"policy": …}``; nothing of one that has no ``totals()``.
    Raises PluginError if it fails, or gives something else than names and plain values."""
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
    """The policy of one run, whose state is that run's alone.

    A class stands for what it makes without arguments, for every run anew. Of an object that decides and has
    ``for_run()`` it is what that gives, and of one of a dataclass that was found by its name another one with the same
    parameters. Any other object is itself: whoever gives it has it for as many runs as they like, and may look into it
    afterwards. ``named``: whether it was found by its name, and is nobody's own. Raises PluginError if it cannot be
    made, or is no policy that decides though ``for_run()`` should give one.
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


@dataclass(frozen=True)
class Chosen:
    """A policy and the rules that it is to follow, for tables of conflicts."""

    rules: Rules
    policy: AnyPolicy

    @property
    def decides(self) -> bool:
        """Whether it decides itself which jobs start."""
        return isinstance(self.policy, DecidingPolicy)

    @property
    def rejects(self) -> bool:
        """Whether it starts no job."""
        return isinstance(self.policy, Reject)

    @property
    def directs(self) -> frozenset[str]:
        """What it does to running jobs, of ``bls.policies.contract.DIRECTIONS``."""
        return directs(self.policy)

    @property
    def may_direct(self) -> list[str]:
        """What it does, or may do, as nobody knows yet."""
        return [what for what in DIRECTIONS if may_direct(self.policy, what)]


def check_rules(rules: Rules, policy: AnyPolicy) -> None:
    """See that a policy can be used with these rules.

    Raises
    ------
    InputError
        If there is a conflict of ``bls.conflicts.POLICY``.
    """
    check(POLICY, Chosen(rules, policy))
