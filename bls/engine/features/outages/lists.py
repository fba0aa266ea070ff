"""The lists of outages of a run, read or changed between two steps of its engine."""

import numpy as np

from bls.engine.state import BatchState
from traces.compiled import Array

Lists = tuple[Array, Array, Array]  #: ``first``, ``down_ns`` and ``up_ns`` of ``OutageState``


def continue_lists(state: BatchState, longer: Lists, *, goes_on: bool) -> None:
    """Replace the lists by longer ones, which may be continued again if ``goes_on``."""
    outages = state.outages
    outages.next_outage += longer[0][:-1] - outages.first[:-1]
    outages.first, outages.down_ns, outages.up_ns = longer
    outages.goes_on = int(goes_on)


def drain_hosts(state: BatchState, changed: Lists, hosts: Array, from_ns: int) -> None:
    """Replace the lists, in which these hosts are drained from another instant, after the last event."""
    outages, events = state.outages, state.outages.events
    _, outages.down_ns, outages.up_ns = changed
    drains = 2 * (len(state.host_first) - 1) + hosts
    outages.next_down_ns[drains] = from_ns
    instants, keys = events.ns[: events.n], events.key[: events.n]
    instants[np.isin(keys, len(outages.first) - 1 + drains)] = from_ns
    order = np.argsort(instants, kind="stable")  # ascending instants are a heap
    instants[:], keys[:] = instants[order], keys[order]


def begun(state: BatchState, until_ns: int) -> Lists:
    """Failures and maintenance before an instant: hosts, begins, and ends that are at most that instant."""
    outages, n_hosts = state.outages, len(state.host_first) - 1
    lists = outages.first[: 2 * n_hosts + 1]  # without drains
    host = np.repeat(np.arange(2 * n_hosts) % n_hosts, np.diff(lists))
    down_ns, up_ns = outages.down_ns[: lists[-1]], np.minimum(outages.up_ns[: lists[-1]], until_ns)
    before = down_ns < until_ns
    return host[before], down_ns[before], up_ns[before]


def why_stuck(state: BatchState, *, drains: bool) -> str:
    """The reason why no job starts any more, if hosts are down; ``drains``: they may be drained."""
    if state.idle_passes > 0 and state.outages.goes_on:
        return "host failures never leave enough hosts up for it"
    if not state.n_down:
        return ""
    word = "down, or drained," if drains else "down"
    return f"{state.n_down} host{'s are' if state.n_down > 1 else ' is'} {word} forever"
