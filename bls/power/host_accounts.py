"""Accounts of hosts: power and time in each state, and the costs and savings of sleep."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import numpy as np

from bls.engine import state as b
from bls.metrics.schedule import Downtime
from bls.options import SLEEP_AFTER
from bls.power.accounting import Energy, HostPassages, PowerRun, job_pieces
from bls.power.plan import PowerPlan
from bls.power.table import PowerTable
from traces.base.columns import Columns
from traces.base.time import format_ns
from traces.compiled import Array


def break_even_ns(table: PowerTable) -> list[int | None]:
    """The shortest idle time for which shutting down a host of each group uses no more energy; None if there is none.

    After this time the energy saved while the host is off equals the additional energy of its shutdown and its boot. The whole
    energy of the boot is additional, because a job waits for it.
    """
    names = ("host_idle_mw", "off_mw", "shutdown_ns", "shutdown_mw", "boot_ns", "boot_mw")
    found: list[int | None] = []
    for idle, off, down_ns, down, up_ns, up in zip(*(getattr(table, name).tolist() for name in names), strict=True):
        costs = (down - off) * down_ns + up * up_ns
        found.append(max(down_ns, -(-costs // (idle - off))) if off < idle else None)
    return found


def sleep_words(plan: PowerPlan) -> Iterator[str]:
    """Warnings, one line each: hosts of a group save nothing by sleeping, or fall asleep too early; or all stay awake."""
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
            takes = f"to shut down and boot takes as much as they save in {format_ns(even)}"
            yield f"{said}: {hosts} may use more than if they stayed awake: {takes}"
    if plan.options.keep_awake >= int(n_hosts.sum()):
        yield f"{said}: of no effect, as all {int(n_hosts.sum())} hosts are kept awake"


def sleep_totals(states: HostPassages, until_ns: int) -> tuple[int, int, int]:
    """Numbers of sleeps and boots of hosts until an instant, and the total time for which hosts were off, ns."""
    _, state, start, end = states.spans(until_ns)
    off = state == b.OFF
    lasts = np.maximum(np.minimum(end, until_ns) - start, 0)[off]
    return int((state == b.SHUTTING).sum()), int((state == b.BOOTING).sum()), sum(lasts.tolist())


class HostIntervals(NamedTuple):
    """Half-open intervals of hosts: int64 (n,) each; by host, then by time, without gaps within a host."""

    host: Array
    begin_ns: Array
    end_ns: Array


@dataclass(frozen=True)
class HostEnergies(Columns):
    """The energy of hosts during intervals, by use; an ``Energy`` of n rows each."""

    jobs: Energy  # by cores that jobs held
    idle_cores: Energy  # by cores that no job held, of a host that was up
    base: Energy  # by hosts that were up, without their cores
    off: Energy  # by hosts that were not up: off, shutting down, booting, or down

    @property
    def total(self) -> Energy:
        """The sum of all uses."""
        return self.jobs.plus(self.idle_cores).plus(self.base).plus(self.off)


class _Pieces(NamedTuple):
    # Temporary changes of the power of hosts, int64 (k,) each.
    host: Array
    start_ns: Array
    end_ns: Array
    mw: Array  # may be negative


def host_energies(run: PowerRun, intervals: HostIntervals) -> HostEnergies:
    """Compute the energy of hosts during intervals only. Raises InputError as :func:`bls.power.accounting.account`."""
    host, begin, end = intervals
    table, lasts = run.table, end - begin
    of_host, idle = table.group_of_host(host), table.cores * table.idle_mw
    pieces = job_pieces(run, by_host=True)
    parts = [_during(intervals, _Pieces(one.part, one.start_ns, one.end_ns, one.drawn_mw)) for one in pieces]
    held = pieces[0]  # these cores are not idle
    held_idle = _Pieces(held.part, held.start_ns, held.end_ns, held.more_mw - held.drawn_mw)
    first, until = (int(begin.min()), int(end.max())) if len(host) else (0, 0)
    away = _away(table, run.downtime.within(first, until), run.stopped, until)
    group = table.group_of_host(away.host)
    # The power of an idle host while it is up, without the cores that jobs hold.
    idle_cores = (held_idle, away._replace(mw=-idle[group]))
    base = Energy.of(table.base_mw[of_host], lasts).plus(_during(intervals, away._replace(mw=-table.base_mw[group])))
    idle_parts = [Energy.of(idle[of_host], lasts), *(_during(intervals, one) for one in idle_cores)]
    jobs, idles = (reduce(Energy.plus, some) for some in (parts, idle_parts))
    return HostEnergies(jobs=jobs, idle_cores=idles, base=base, off=_during(intervals, away))


def _away(table: PowerTable, down: Downtime, stopped: HostPassages | None, until_ns: int) -> _Pieces:
    # The power of hosts that are not up; a host that is out of service and idle is up.
    columns = [(down.host, down.down_ns, down.up_ns, table.off_mw[table.group_of_host(down.host)])]
    if stopped is not None:
        host, state, start, end = stopped.spans(until_ns)
        draws = {b.SHUTTING: table.shutdown_mw, b.OFF: table.off_mw, b.BOOTING: table.boot_mw}
        for what, watts in draws.items():
            some = state == what
            columns.append((host[some], start[some], end[some], watts[table.group_of_host(host[some])]))
    return _Pieces(*(np.concatenate(column) for column in zip(*columns, strict=True)))


def _during(intervals: HostIntervals, pieces: _Pieces) -> Energy:
    # Sums of the pieces during intervals: the instants of each host are the bounds of its pieces and of its intervals.
    host, begin, _ = intervals
    n = len(host)
    some = pieces.mw != 0
    of, start, end, mw = (column[some] for column in pieces)
    hosts = np.concatenate([of, of, host, host])
    at = np.concatenate([start, end, begin, intervals.end_ns])
    change = np.concatenate([mw, -mw, np.zeros(2 * n, np.int64)])
    # The number of the interval that begins there; none after the end of an interval, unless another begins.
    opens = np.concatenate([np.zeros(2 * len(of), np.int64), np.ones(n, np.int64), np.zeros(n, np.int64)])
    closes = np.concatenate([np.zeros(2 * len(of) + n, np.int64), np.ones(n, np.int64)])
    order = np.lexsort((at, hosts))
    hosts, at = hosts[order], at[order]
    power, opened, closed = (np.cumsum(column[order]) for column in (change, opens, closes))
    if not len(at):
        return Energy(np.zeros(n, np.int64), np.zeros(n, np.int64))
    # Each value applies up to the next instant of the same host; there is none after the last instant.
    inside = (hosts[:-1] == hosts[1:]) & (at[:-1] < at[1:]) & (opened[:-1] > closed[:-1])
    return Energy.of(power[:-1][inside], (at[1:] - at[:-1])[inside]).by(opened[:-1][inside] - 1, n)
