"""The table of host states over time, and of the energy that hosts used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bls.metrics.node_states import HOST_STATES, NO_WINDOWS, core_windows, host_states, host_windows
from bls.metrics.schedule import Allocations
from traces.compiled import Array
from traces.holdings import holdings
from traces.ledger import NodeRecords

if TYPE_CHECKING:
    from bls.power.accounting import HostPassages
    from bridge.runs.result import Result

#: States of hosts without jobs under power limits, named as in the table of power; by the numbers of ``bls.engine.state``.
POWER_STATES: Final = ("", "out", "stopping", "off", "booting")


def node_columns(result: Result) -> dict[str, Any]:
    """Intervals of equal state of each host, ``host, begin_ns, end_ns, state``, and energies if known; none if nothing ran."""
    jobs, first_core, down = result.ledger.jobs, result.ledger.machine.first_core, result.notes.downtime
    begin_ns = int(jobs.submit_ns.min())
    until_ns = max(begin_ns, int(jobs.end_ns.max()))
    windows = result.scenario.constraints.windows
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
        until_ns=until_ns,
        outages=host_windows(first_core, down.host, down.down_ns, down.up_ns),
        maintenance=maintenance,
        reservations=reservations,
    )
    names = [*HOST_STATES, *POWER_STATES[1:]]
    found = states.host, states.begin_ns, states.end_ns, states.state.astype(np.int64)
    if (power := result.power) is not None and power.stopped is not None:
        found = _with_stopped(*found, power.stopped, until_ns)
    host, begin, end, state = found
    values = [host, begin, end, np.array(names)[state].tolist()]
    if power is not None:
        from bls.power.host_accounts import HostIntervals  # not needed by most runs

        used = power.host_energies(HostIntervals(host, begin, end))
        values += [one.joules() for one in (used.total, used.jobs, used.idle_cores, used.base, used.off)]
    return dict(zip(NodeRecords.columns(), values, strict=False))


def _with_stopped(
    host: Array, begin: Array, end: Array, state: Array, stopped: HostPassages, until_ns: int
) -> tuple[Array, Array, Array, Array]:
    # An idle host has the state that the power limit or sleep gave it, if that is not idle.
    if not len(host):
        return host, begin, end, state
    of, became, since, until = stopped.spans(until_ns)
    some = (became > 0) & (until > since)
    of, became, since, until = of[some], became[some], since[some], until[some]
    # A new interval begins wherever a state or one of these passages begins or ends, within the host's time.
    low, high = int(begin.min()), int(end.max())
    instants = np.concatenate([begin, np.clip(since, low, high), np.clip(until, low, high)])
    cuts = np.stack([np.concatenate([host, of, of]), instants])
    cuts = np.unique(cuts[:, cuts[1] < high], axis=1)
    at_host, at = cuts
    row = _latest(host, begin, at_host, at)
    new = state[row]
    span = _latest(of, since, at_host, at)
    inside = span >= 0
    inside[inside] = at[inside] < until[span[inside]]
    unused = np.isin(new, [HOST_STATES.index("idle"), HOST_STATES.index("reserved")])
    shown = inside & unused
    new[shown] = len(HOST_STATES) - 1 + became[span[shown]]
    another = np.append(True, (at_host[1:] != at_host[:-1]) | (new[1:] != new[:-1]))
    at_host, at, new = at_host[another], at[another], new[another]
    ends = np.append(at[1:], high)
    ends[:-1][at_host[1:] != at_host[:-1]] = high
    return at_host, at, ends, new


def _latest(host: Array, since: Array, at_host: Array, at: Array) -> Array:
    # The place of the last row, by host and instant, that begins no later on the same host; -1 if there is none.
    rank = np.unique(np.concatenate([since, at]), return_inverse=True)[1].reshape(-1)
    width = int(rank.max(initial=0)) + 1
    place = np.searchsorted(host * width + rank[: len(since)], at_host * width + rank[len(since) :], side="right") - 1
    other = place < 0
    other[~other] = host[place[~other]] != at_host[~other]
    found: Array = np.where(other, -1, place)
    return found
