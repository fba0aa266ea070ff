"""What a policy in Python says that it knows nothing of, and what of that a run has: refused before its first event."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

from bls.constraints.job_constraints import JobConstraints
from bls.machine.partitions import partition_table
from bls.options import ALLOCATOR, BLS, DEPENDENCIES, FALLBACK, LIMITS, SIGNALS
from traces.base.errors import InputError, PluginError, shown
from traces.compiled import Array

if TYPE_CHECKING:
    from bls.allocators import Allocator
    from bls.machine.platform import Platform
    from bls.power.signals import Signals
    from bls.workloads.workload import Workload

#: What a policy may know nothing of, and what is allowed then.
UNAWARE: Final[Mapping[str, str]] = {
    "allocator": "first-fit, as the policy places jobs itself",
    "partitions": "one partition of all hosts, without limits",
    "windows": "no reservations and no maintenance",
    "licences": "cores and resources of hosts",
    "switches": "cores and resources of hosts",
    "power": f"no {LIMITS}, or {FALLBACK:none}",
    "dependencies": f"no {DEPENDENCIES}",
}

#: Those of a partition.
_LIMITS: Final = (
    "max_cores", "min_cores", "max_time_ns", "max_running_jobs", "max_running_cores", "max_jobs_per_user",
    "max_cores_per_user",
)  # fmt: skip

_LOWEST = ("first-fit", "lowest")


def unaware_of(policy: object) -> frozenset[str]:
    """What a policy knows nothing of. Raises PluginError if its attribute ``unaware_of`` is no collection of names of
    :data:`UNAWARE`."""
    said: object = getattr(policy, "unaware_of", ())
    names = frozenset(said) if isinstance(said, Collection) and not isinstance(said, str) else None
    if names is None or not names <= UNAWARE.keys():
        name = getattr(policy, "name", type(policy).__name__)
        raise PluginError(
            f"batch policy {name}: unaware_of: {shown(said)}; allowed: a collection of {', '.join(UNAWARE)}"
        )
    return names


def check_aware(
    policy: object,
    workload: Workload,
    platform: Platform,
    allocator: Allocator,
    constraints: JobConstraints,
    *,
    limits_power: bool,
) -> None:
    """That a run has nothing that its policy knows nothing of. Raises InputError if it has."""
    unaware = unaware_of(policy)
    if not unaware:
        return
    asked, windows = constraints.requests, constraints.windows
    found: dict[str, str | None] = {
        "allocator": None if allocator.name in _LOWEST else f"{ALLOCATOR:{allocator.name}}",
        "partitions": None if _whole(platform) else "partitions and their limits",
        "windows": "reservations and maintenance" if windows is not None and len(windows) else None,
        "licences": None if asked is None else _first(workload, np.asarray(asked.licences.any(axis=1)), "licences"),
        "switches": None if asked is None else _first(workload, np.asarray(asked.switches > 0), "few switches"),
        "power": "a limit to power" if limits_power else None,
        "dependencies": _waits(workload, constraints),
    }
    name = getattr(policy, "name", type(policy).__name__)
    for what, words in found.items():
        if what in unaware and words is not None:
            raise InputError(f"{BLS:{name}}: {words}: it knows nothing of that; allowed: {UNAWARE[what]}")


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


def _whole(platform: Platform) -> bool:
    # Whether there is one partition, of all cores, without limits.
    table, named = partition_table(platform), platform.partitions
    if len(table) > 1 or int(table.n_cores[0]) != platform.n_cores:
        return False
    return not any(getattr(one, limit) is not None for one in named for limit in _LIMITS)


def _waits(workload: Workload, constraints: JobConstraints) -> str | None:
    known = constraints.dependencies
    waits = np.zeros(0, bool) if known is None else np.asarray(known.depends_on >= 0)
    return f"job {workload.job_id[int(np.argmax(waits))]} waits for another" if waits.any() else None


def _first(workload: Workload, asks: Array, what: str) -> str | None:
    return f"job {workload.job_id[int(np.argmax(asks))]} asks for {what}" if asks.any() else None
