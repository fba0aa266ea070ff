"""The table of host states over time."""

from __future__ import annotations

from typing import Any

import numpy as np

from bls.metrics.node_states import HOST_STATES, NO_WINDOWS, core_windows, host_states, host_windows
from bls.metrics.schedule import Allocations
from bridge.runs.result import Result
from traces.holdings import holdings

__all__ = ["node_columns"]


def node_columns(result: Result) -> dict[str, Any]:
    """A row for every interval in which a host's state stays the same: ``host, begin_ns, end_ns, state``.

    From the first submit to the last end; no rows if nothing ran.
    """
    jobs, first_core, down = result.ledger.jobs, result.ledger.machine.first_core, result.notes.downtime
    begin_ns = int(jobs.submit_ns.min())
    windows = result.scenario.circumstances.windows
    maintenance = reservations = NO_WINDOWS
    if windows is not None:
        window = np.repeat(np.arange(len(windows)), np.diff(windows.core_first))
        columns = (windows.core_lo, windows.core_hi, windows.begin_ns[window], windows.end_ns[window])
        reserved = windows.is_reservation[window] == 1
        reservations = core_windows(*(column[reserved] for column in columns))
        maintenance = core_windows(*(column[~reserved] for column in columns))
    held = holdings(result.ledger)
    states = host_states(
        host_first=first_core,
        start_ns=held.start_ns,
        end_ns=held.end_ns,
        allocations=Allocations(held.first, held.lo, held.hi),
        begin_ns=begin_ns,
        until_ns=max(begin_ns, int(jobs.end_ns.max())),
        outages=host_windows(first_core, down.host, down.down_ns, down.up_ns),
        maintenance=maintenance,
        reservations=reservations,
    )
    return {
        "host": states.host,
        "begin_ns": states.begin_ns,
        "end_ns": states.end_ns,
        "state": np.array(HOST_STATES)[states.state].tolist(),
    }
