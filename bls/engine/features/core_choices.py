"""Properties of runs with which features conflict: of policies, allocators, repeated runs and streams."""

from typing import Any, Final

from bls.options import ALLOCATOR, BLS, FAIR_START, STREAM
from traces.base.options import ChosenFeature, Conflict, has, said


def policy_name(chosen: Any) -> str:
    """Return the policy of a run, for errors."""
    return f"batch policy {chosen.policy.name}"


bls_text: Final = said(BLS, lambda run: run.policy.name)
allocator_text: Final = said(ALLOCATOR, lambda run: run.allocator.name)
REJECTS: Final = has(f"{BLS:reject}", lambda one: one.rejects, policy_name, bls="reject")
_STARTS: Final = f"a {BLS} that decides itself which jobs start"
DECIDES: Final = has(_STARTS, lambda one: one.decides, policy_name, bls="DECIDES")
DIRECTS: Final = has(f"a {BLS} that directs running jobs", lambda one: one.directs, policy_name, bls="DIRECTS")
REPEATS: Final = has(str(FAIR_START), lambda _: True, fair_start=True)
STREAMED: Final = has(str(STREAM), lambda _: True)
NO_HEAD: Final = "{second} decides itself which jobs start, and its queue has no head"


def headless(directs: str, further: str) -> ChosenFeature:
    """Return the feature of a queue without a head: the policy decides itself or starts none, and does not direct this."""
    name = f"{_STARTS}, or starts none{further}"
    return has(
        name, lambda one: (one.decides or one.rejects) and directs not in one.may_direct, policy_name, bls="reject"
    )


def unaware(what: str, other: ChosenFeature, allowed: str) -> tuple[str, Conflict]:
    """Return a feature that a policy may not support (its ``unaware_of``), and the conflict with a run that has it."""
    first = has(f"a {BLS} that is unaware of {what}", lambda run: what in run.unaware, bls_text, bls=f"UNAWARE:{what}")
    return what, Conflict(first, other, reason="{second}: the policy does not support it", allowed=allowed)
