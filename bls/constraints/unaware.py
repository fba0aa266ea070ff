"""What a policy in Python says that it knows nothing of, and what of that a run has: refused before its first event."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from bls.conflicts import UNAWARE
from bls.options import BLS, SIGNALS
from traces.base.errors import InputError, PluginError, shown

if TYPE_CHECKING:
    from bls.power.signals import Signals

#: The limits of a partition.
LIMITS: Final = (
    "max_cores", "min_cores", "max_time_ns", "max_running_jobs", "max_running_cores", "max_jobs_per_user",
    "max_cores_per_user",
)  # fmt: skip


def unaware_of(policy: object) -> frozenset[str]:
    """What a policy knows nothing of. Raises PluginError if its attribute ``unaware_of`` is no collection of names of
    ``bls.conflicts.UNAWARE``."""
    said: object = getattr(policy, "unaware_of", ())
    names = frozenset(said) if isinstance(said, Collection) and not isinstance(said, str) else None
    if names is None or not names <= UNAWARE.keys():
        name = getattr(policy, "name", type(policy).__name__)
        raise PluginError(
            f"batch policy {name}: unaware_of: {shown(said)}; allowed: a collection of {', '.join(UNAWARE)}"
        )
    return names


def check_signals(policy: object, signals: Signals | None) -> None:
    """That a run has the signals that its policy says it needs, ``needs_signals``: columns of their file. Raises
    InputError if it has not."""
    for needed in getattr(policy, "needs_signals", ()):
        if signals is None or needed not in signals.values:
            name, words = (
                getattr(policy, "name", type(policy).__name__),
                f"there are no {SIGNALS}" if signals is None else f"{signals.source} has no such column",
            )
            raise InputError(f"{BLS:{name}}: it goes by {needed}, and {words}; allowed: {SIGNALS} with that column")
