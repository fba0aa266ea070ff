"""Named amounts: the resources of a host and the licences of a machine, as names and whole numbers.

Memory is the one that has a unit. It is given in GB, MB or KB (1 GB = 1024 MB, 1 MB = 1024 KB, as in SWF) and kept in
KB under the name ``memory``; the KB of a text that is written back are called ``memory_kb``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from traces.base.errors import InputError, shown, whole

#: The most there may be of anything on one host (256 TB of memory), so that a machine's total is an int64.
MAX_AMOUNT = 2**38

MEMORY = "memory"

#: The names under which memory may be given, and the KB of their unit.
MEMORY_UNITS_KB = {"memory_gb": 2**20, "memory_mb": 2**10, "memory_kb": 1}

#: (name, amount) pairs in the order of the names.
Amounts = tuple[tuple[str, int], ...]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,39}")
# What a job's request says beside amounts.
_TAKEN = ("cores", "job_id", "switches", "unit_cores")


def memory_unit(name: str, where: str) -> int:
    """What one of ``name`` counts as: its KB if it is memory, else 1. Raises InputError if it is ``memory`` without a unit."""
    if name == MEMORY:
        raise InputError(f"{where}: memory needs a unit; allowed: {', '.join(MEMORY_UNITS_KB)}")
    return MEMORY_UNITS_KB.get(name, 1)


def amounts(key: str, values: object, *, units: bool = True) -> Amounts:
    """Checked amounts, in the order of their names; what there is nothing of is left out.

    - ``key``: where they are given, for messages
    - ``values``: as a user gives them, with memory in a unit; or amounts that this function has made
    - ``units``: whether memory is among what can be given

    Raises InputError if a name cannot be used or an amount is no whole number from 0 to ``MAX_AMOUNT`` (of KB for memory).
    """
    found: dict[str, int] = {}
    if isinstance(values, tuple) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in values):
        made = [(str(name), whole(f"{key}.{name}", value, 0, MAX_AMOUNT)) for name, value in values]
        return tuple(sorted((name, value) for name, value in made if value))
    if not isinstance(values, Mapping):
        raise InputError(f"{key}: {shown(values)} is not a table; allowed: names and amounts, as {{ gpu = 4 }}")
    for name, value in values.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name) or name in _TAKEN:
            raise InputError(
                f"{key}: {shown(name)} is no name of a resource; allowed: up to 40 letters, digits, - and _, "
                f"not {', '.join(_TAKEN)}"
            )
        unit = memory_unit(name, f"{key}.{name}") if units else 1
        if not units and (name == MEMORY or name in MEMORY_UNITS_KB):
            raise InputError(f"{key}.{name}: memory is a host's; allowed: in the resources of [[hosts]]")
        kept = MEMORY if name in MEMORY_UNITS_KB else name
        if kept in found:
            raise InputError(f"{key}.{name}: memory is given twice")
        found[kept] = whole(f"{key}.{name}", value, 0, MAX_AMOUNT // unit) * unit
    return tuple(sorted((name, value) for name, value in found.items() if value))


def given_names(values: Amounts) -> dict[str, int]:
    """Amounts as a user gives them, memory in KB."""
    return {"memory_kb" if name == MEMORY else name: value for name, value in values}
