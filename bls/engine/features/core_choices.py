"""Properties of policies and allocators with which features conflict."""

from typing import Any, Final

from bls.options import ALLOCATOR, BLS
from traces.base.options import ChosenFeature, has, said


def policy_name(chosen: Any) -> str:
    """Return the policy of a run, for errors."""
    return f"batch policy {chosen.policy.name}"


allocator_text: Final = said(ALLOCATOR, lambda run: run.allocator.name)
REJECTS: Final = has(f"{BLS:reject}", lambda one: one.rejects, policy_name, bls="reject")
_STARTS: Final = f"a {BLS} that decides itself which jobs start"
DECIDES: Final = has(_STARTS, lambda one: one.decides, policy_name, bls="DECIDES")
DIRECTS: Final = has(f"a {BLS} that directs running jobs", lambda one: one.directs, policy_name, bls="DIRECTS")
NO_HEAD: Final = "{second} decides itself which jobs start, and its queue has no head"


def headless(directs: str, further: str) -> ChosenFeature:
    """Return the feature of a queue without a head: the policy decides itself or starts none, and does not direct this."""
    name = f"{_STARTS}, or starts none{further}"
    return has(
        name, lambda one: (one.decides or one.rejects) and directs not in one.may_direct, policy_name, bls="reject"
    )
