"""Hosts that fall asleep as they idle: what that costs and saves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from bls.engine import state as b
from bls.options import SLEEP_AFTER
from bls.power.accounting import HostPassages
from bls.power.plan import PowerPlan
from bls.power.table import PowerTable
from traces.base.time import format_ns


def break_even_ns(table: PowerTable) -> list[int | None]:
    """For how long a host of each group has to idle at the least so that it uses no more if it shuts down as it begins to, and
    boots at the end of it; None if that is never so.

    That is when what it draws less than an idle one, off, has come to what its passages take: what it draws on its way off
    beyond a host that is off, and the whole of its boot, which comes on top, as a job waits for it.
    """
    found: list[int | None] = []
    for group in range(len(table.cores)):
        names = ("host_idle_mw", "off_mw", "shutdown_ns", "shutdown_mw", "boot_ns", "boot_mw")
        idle, off, down_ns, down, up_ns, up = (int(getattr(table, name)[group]) for name in names)
        costs = (down - off) * down_ns + up * up_ns
        if off < idle:
            found.append(max(down_ns, -(-costs // (idle - off))))
        else:
            found.append(None)
    return found


def sleep_words(plan: PowerPlan) -> Iterator[str]:
    """A line each: that hosts of a group save nothing as they sleep, or fall asleep sooner than pays; that all stay awake."""
    after = plan.options.sleep_after_ns
    if after is None:
        return
    said, n_hosts = f"{SLEEP_AFTER:{format_ns(after)}}", plan.table.n_hosts
    for group, even in enumerate(break_even_ns(plan.table)):
        hosts = f"hosts[{group}]"
        if even is None:
            off, idle = plan.table.off_mw[group] / 1000, plan.table.host_idle_mw[group] / 1000
            yield f"{said}: {hosts} save nothing: they draw {off:g} W off, and {idle:g} W idle"
        elif even > after:
            yield (
                f"{said}: {hosts} may use more than if they stayed awake: to shut down and boot takes as much as they save in "
                f"{format_ns(even)}"
            )
    if plan.options.keep_awake >= int(n_hosts.sum()):
        yield f"{said}: of no effect, as all {int(n_hosts.sum())} hosts are kept awake"


class SleepTotals(NamedTuple):
    """How often hosts fell asleep, and booted; and for how long all of them together were off, ns."""

    sleeps: int
    boots: int
    off_ns: int


def sleep_totals(states: HostPassages, until_ns: int) -> SleepTotals:
    """What hosts did until an instant."""
    _, state, start, end = states.spans(until_ns)
    off = state == b.OFF
    lasts = np.maximum(np.minimum(end, until_ns) - start, 0)[off]
    return SleepTotals(int((state == b.SHUTTING).sum()), int((state == b.BOOTING).sum()), sum(lasts.tolist()))
