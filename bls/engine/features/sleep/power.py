"""Sleeping hosts in the power of a run: their input, remarks, columns, metrics and texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bls.engine import state as b
from bls.engine.feature import PowerFacts, RunColumns
from bls.engine.features.sleep import options as o
from bls.engine.features.sleep.records import BOOTS
from traces.base.time import format_ns
from traces.compiled import Array

if TYPE_CHECKING:
    from bls.power.plan import PowerPlan
    from bls.power.report import PowerReport
    from bls.power.table import PowerTable

#: Numbers of shutdowns and boots; the time that all hosts together were off, and its share; the number of jobs that waited for
#: boots, and the mean of these waits over all started jobs.
METRICS: Final = (
    "host_sleeps", "host_boots", "sleeping_host_ns", "sleeping_share", "boot_waits", "mean_boot_wait_ns",
)  # fmt: skip


def _give(plan: PowerPlan, given: RunColumns) -> None:
    # ``passages``: int64 (2, H), ns.
    if not o.sleeps(plan):
        return
    table, options = plan.table, plan.options
    passages = np.repeat(np.stack([table.shutdown_ns, table.boot_ns]), table.n_hosts, axis=1)
    rules = {"after_ns": options.sleep_after_ns, "keep_awake": options.keep_awake}
    rules["max_boot_wait_ns"] = int((table.shutdown_ns + table.boot_ns).max())
    given.others["sleep"] = {"passages": passages, **rules}


def break_even_ns(table: PowerTable) -> list[int | None]:
    """The shortest idle time for which shutting down a host of each group uses no more energy; None if there is none.

    After this time the energy saved while the host is off equals the additional energy of its shutdown and its boot. The
    whole energy of the boot is additional, because a job waits for it.
    """
    columns = (table.host_idle_mw, table.off_mw, table.shutdown_ns, table.shutdown_mw, table.boot_ns, table.boot_mw)
    found: list[int | None] = []
    for idle, off, down_ns, down, up_ns, up in zip(*(column.tolist() for column in columns), strict=True):
        costs = (down - off) * down_ns + up * up_ns
        found.append(max(down_ns, -(-costs // (idle - off))) if off < idle else None)
    return found


def _remarks(plan: PowerPlan) -> Iterator[str]:
    # One line each: groups of hosts that save nothing asleep, or sleep for less than the break-even time; all hosts stay awake.
    after = plan.options.sleep_after_ns
    if after is None:
        return
    said, n_hosts = f"{o.SLEEP_AFTER:{format_ns(after)}}", plan.table.n_hosts
    for group, even in enumerate(break_even_ns(plan.table)):
        hosts = f"hosts[{group}]"
        if even is None:
            off, idle = plan.table.off_mw[group] / 1000, plan.table.host_idle_mw[group] / 1000
            yield f"{said}: {hosts} save nothing: they draw {off:g} W off, and {idle:g} W idle"
        elif even > after:
            takes = f"to shut down and boot takes as much as they save in {format_ns(even)}"
            yield f"{said}: {hosts} may use more than if they stayed awake: {takes}"
    if plan.options.keep_awake >= int(n_hosts.sum()):
        yield f"{said}: no effect, since all {int(n_hosts.sum())} hosts are kept awake"


def _waits(report: PowerReport) -> Array | None:
    waits = report.observed.get(BOOTS.column)
    return None if waits is None else np.maximum(waits, 0)


def _measured(report: PowerReport) -> Mapping[str, int | float | None]:
    waits, until_ns = report.observed.get(BOOTS.column), report.until_ns
    if report.stopped is None or waits is None:
        return {}
    _, state, start, end = report.stopped.spans(until_ns)
    off_ns = sum(np.maximum(np.minimum(end, until_ns) - start, 0)[state == b.OFF].tolist())
    found = int((state == b.SHUTTING).sum()), int((state == b.BOOTING).sum()), off_ns
    host_ns = (until_ns - report.begin_ns) * int(report.plan.table.first_host[-1])
    values = (off_ns / host_ns if host_ns else None, int((waits > 0).sum()), report.mean_of_started(waits))
    return dict(zip(METRICS, (*found, *values), strict=True))


def _rows(report: PowerReport) -> Iterator[tuple[str, str]]:
    if o.sleeps(report.plan):
        found = report.metrics
        evens = sorted({-1 if even is None else even for even in break_even_ns(report.plan.table)})
        pays = ", ".join("never" if even < 0 else f"from {format_ns(even)} on" for even in evens)
        off = found["sleeping_share"] or 0
        yield "sleep", f"{found['host_sleeps']} times, {100 * off:.3g} % of the hosts' time off; it pays {pays}"


def _record(report: PowerReport) -> Mapping[str, Any]:
    return {"break_even_ns": break_even_ns(report.plan.table)} if o.sleeps(report.plan) else {}


FACTS = PowerFacts(_give, o.sleeps, _remarks, _waits, METRICS, _measured, _rows, _record)
