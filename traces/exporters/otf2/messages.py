"""The sends and receives of each core by time: a counting sort by core, then a sort by instant."""

import numpy as np

from traces.compiled import Array, State, compiled
from traces.kernels.signatures import Floats, Ints, Shorts
from traces.ledger import Ledger, TransferRecords


class CoreMessages(State):
    """The transfers of a run by core.

    - ``send_first``, ``receive_first``: int64 (n_cores + 1,), core ``c`` sends ``send_row[send_first[c]:send_first[c +
      1]]``; the same for its receives.
    - ``send_row``, ``receive_row``: int64 (m,), rows of transfers: each core's by the instant of sending, or of arrival, then
      by row.
    """

    # ndarray of int32, shape (m,): cores of each transfer
    source_core: Shorts
    target_core: Shorts
    send_first: Ints
    send_row: Ints
    receive_first: Ints
    receive_row: Ints
    # (m,): ``bytes``, ``sent_ns`` and ``arrived_ns`` of each transfer
    size: Floats
    sent: Ints
    arrived: Ints


@compiled()
def transfer_cores(transfers_first: Ints, task: Shorts, rows_first: Ints, task_core: Shorts, core: Shorts) -> None:
    """Write the core of each transfer's ``task``, its source or its target."""
    for job in range(len(transfers_first) - 1):
        for k in range(transfers_first[job], transfers_first[job + 1]):
            core[k] = task_core[rows_first[job] + task[k]]


@compiled(makes_arrays=True)
def place_messages(core: Shorts, instant: Ints, first: Ints, cursor: Ints, row: Ints) -> None:
    """Sort transfers by core, then by instant, then by row.

    ``first`` (int64, shape (n_cores + 1,)) initially begins with 0, and afterwards delimits each core's part of ``row``
    (int64, shape (m,)); ``cursor`` (int64, shape (n_cores,)) is work space.
    """
    for k in range(len(core)):
        first[core[k] + 1] += 1
    for c in range(len(cursor)):
        cursor[c] = first[c]
        first[c + 1] += first[c]
    for k in range(len(core)):
        row[cursor[core[k]]] = k
        cursor[core[k]] += 1
    for c in range(len(cursor)):
        ascending = True
        for k in range(first[c] + 1, first[c + 1]):
            if instant[row[k]] < instant[row[k - 1]]:
                ascending = False
                break
        if not ascending:
            mine = row[first[c] : first[c + 1]].copy()
            order = np.argsort(instant[mine], kind="mergesort")  # stable: rows ascend at one instant
            for k in range(len(mine)):
                row[first[c] + k] = mine[order[k]]


def core_messages(ledger: Ledger, transfers: TransferRecords) -> CoreMessages:
    """Return the transfers of a checked ledger (``traces.checks.ledger.check_ledger``) by core; empty without transfers."""
    n_cores, n = ledger.machine.n_cores, len(transfers)
    cores = []
    for task in (transfers.source, transfers.target):
        core = np.empty(n, np.int32)
        if ledger.tasks is not None and n:
            transfer_cores(transfers.first, task, ledger.tasks.first, ledger.tasks.core, core)
        cores.append(core)
    placed = []
    for core, instant in zip(cores, (transfers.sent_ns, transfers.arrived_ns), strict=True):
        first, row = np.zeros(n_cores + 1, np.int64), np.empty(n, np.int64)
        if n:
            place_messages(core, instant, first, np.empty(n_cores, np.int64), row)
        placed += [first, row]
    times = (np.ascontiguousarray(column, np.int64) for column in (transfers.sent_ns, transfers.arrived_ns))
    return CoreMessages(*cores, *placed, np.ascontiguousarray(transfers.bytes, np.float64), *times)


def ranked(messages: CoreMessages, number: Array) -> CoreMessages:
    """Replace cores by ranks: their indices in ``number``, which ascends."""
    cores = messages.source_core, messages.target_core
    source, target = (np.searchsorted(number, core).astype(np.int32) for core in cores)
    return messages._replace(source_core=source, target_core=target)
