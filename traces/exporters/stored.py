"""The ledger of an earlier result, from its table of jobs: for writers that need no tasks."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from traces.base.errors import InputError, shown
from traces.compiled import Array
from traces.intervals import parse_texts
from traces.ledger import STATES, WHY, JobRecords, Ledger, MachineShape


def stored_ledger(jobs: Mapping[str, Any], machine: MachineShape) -> Ledger:
    """Return the ledger of a jobs table, without tasks.

    - ``jobs``: mapping of str to column, ``traces.tables.JOB_COLUMNS``, and ``begin_ns`` if present.
    - ``machine``: the hosts of the run.

    Raises InputError if an allocation, a state or a reason of a start is invalid, or the machine does not have a core.
    """
    declared = {name: one.dtype for name, one in JobRecords.table_columns().items() if one.dtype != "string"}
    if "begin_ns" in jobs:
        declared["begin_ns"] = "int64"
    numbers = {name: np.array(jobs[name], kind) for name, kind in declared.items()}
    first, lo, hi = parse_texts(list(jobs["allocation"]), "allocation")
    if len(hi) and int(hi.max()) > machine.n_cores:
        raise InputError(f"allocation: core {int(hi.max()) - 1}; the machine has {machine.n_cores}")
    records = JobRecords(
        **numbers,
        why=_places("why", jobs["why"], WHY),
        state=_places("state", jobs["state"], STATES),
        allocation_first=first,
        allocation_lo=lo,
        allocation_hi=hi,
    )
    return Ledger(machine, records, None)


def _places(name: str, column: Any, words: tuple[str, ...]) -> Array:
    place = {word: number for number, word in enumerate(words)}
    try:
        return np.array([place[word] for word in column], np.int8)
    except KeyError as error:
        raise InputError(f"{name}: {shown(error.args[0])}; allowed: {', '.join(words)}") from None
