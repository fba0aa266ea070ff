"""The power of a machine over time, and the energy of its jobs and hosts: exact integers, from the ledger of a run.

A core is active while a job holds it or, if tasks are distinguished, while it executes a task; its power depends on the state
to which its speed is scaled. Other cores are idle. A GPU is active while jobs hold it, in parts; it follows the scales of its
job's cores on its host. Powers are whole mW, so energies are whole pJ (mW · ns). Since int64 would
overflow within seconds, an energy is stored as whole MJ and the remaining pJ.
"""

from dataclasses import dataclass
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np

from bls.engine import state as b
from bls.engine.features.directions.records import ScaleRecords
from bls.metrics.exact import exact_product_sum
from bls.metrics.schedule import Downtime
from bls.options import POWER
from bls.power.job_power import PowerClasses, active_mw
from bls.power.table import PowerTable
from traces.base.columns import Columns
from traces.base.errors import InputError
from traces.base.scale import WHOLE
from traces.compiled import Array
from traces.holdings import core_spans, gpu_ends, holdings
from traces.intervals import intervals_of
from traces.ledger import Ledger

PJ_PER_J = 10**12  #: pJ per joule; a megajoule is 10**18 pJ
_BILLION = 10**9
_PJ_PER_MJ = _BILLION**2


@dataclass(frozen=True)
class Energy(Columns):
    """Exact energies: ``mj``, whole MJ, and ``pj``, the remaining pJ, from 0 to below 1 MJ; int64 (n,) each."""

    mj: Array
    pj: Array

    @classmethod
    def of(cls, power_mw: Array, lasts_ns: Array) -> "Energy":
        """The energy at a power, up to ``bls.power.table.MOST_MW``, for a duration."""
        # Both are split into billions and a remainder and multiplied in parts, which fit int64; power · time would not.
        high, low = np.divmod(power_mw, _BILLION)
        seconds, rest = np.divmod(lasts_ns, _BILLION)
        carry, last = np.divmod(low * rest, _BILLION)
        more, middle = np.divmod(high * rest + low * seconds + carry, _BILLION)
        return cls(high * seconds + more, middle * _BILLION + last)

    def by(self, place: Array, n: int) -> "Energy":
        """The sums of the energies with equal ``place``, for n places."""
        order = np.argsort(place, kind="stable")
        mj, high, low = np.zeros((3, n), np.int64)
        np.add.at(mj, place[order], self.mj[order])
        np.add.at(high, place[order], self.pj[order] // _BILLION)  # in halves: a sum of a few pj would overflow
        np.add.at(low, place[order], self.pj[order] % _BILLION)
        more, middle = np.divmod(high + low // _BILLION, _BILLION)
        return Energy(mj + more, middle * _BILLION + low % _BILLION)

    def plus(self, other: "Energy") -> "Energy":
        """The sum of both, row by row."""
        pj = self.pj + other.pj
        return Energy(self.mj + other.mj + pj // _PJ_PER_MJ, pj % _PJ_PER_MJ)

    def pj_each(self) -> list[int]:
        """Each energy in pJ."""
        return [mj * _PJ_PER_MJ + pj for mj, pj in zip(self.mj.tolist(), self.pj.tolist(), strict=True)]

    def joules(self) -> Array:
        """Each energy in J, rounded once: float64 (n,)."""
        return np.array([pj / PJ_PER_J for pj in self.pj_each()], np.float64)

    def total_pj(self) -> int:
        """The sum of all energies, pJ."""
        return sum(self.pj_each())


@dataclass(frozen=True)
class PowerSeries(Columns):
    """A step function of power."""

    instant_ns: Array  # int64 (k,): the first is the begin
    power_mw: Array  # int64 (k,): from each instant on; neighbours differ
    until_ns: int  # the end

    @classmethod
    def of_steps(cls, at: Array, values: Array, until_ns: int) -> "PowerSeries":
        """The series of values from the instants ``at`` on; neighbours may be equal."""
        another = np.append(True, values[1:] != values[:-1])
        return cls(at[another], values[another], until_ns)

    def __len__(self) -> int:
        return len(self.instant_ns)

    def energy_pj(self, begin_ns: int | None = None, end_ns: int | None = None) -> int:
        """The integral over [begin, end), by default over the whole series; the power is 0 outside of it."""
        low = int(self.instant_ns[0]) if begin_ns is None else begin_ns
        high = self.until_ns if end_ns is None else end_ns
        first = max(0, int(np.searchsorted(self.instant_ns, low, side="right")) - 1)
        steps = slice(first, int(np.searchsorted(self.instant_ns, high)))
        ends = np.append(self.instant_ns[1:], self.until_ns)[steps]
        lasts = np.minimum(ends, high) - np.maximum(self.instant_ns[steps], low)
        some = lasts > 0
        return exact_product_sum(lasts[some], self.power_mw[steps][some]) if some.any() else 0

    def at(self, instant_ns: Array) -> Array:
        """The power at instants, which must not be before the begin: int64, mW."""
        return np.asarray(self.power_mw[np.searchsorted(self.instant_ns, instant_ns, side="right") - 1])

    @property
    def peak_mw(self) -> int:
        """The highest power."""
        return int(self.power_mw.max(initial=0))


class PowerAccounts(NamedTuple):
    """The power and energy of a run."""

    series: PowerSeries  # of the machine, from the first submit to the last end
    jobs: Energy  # of the cores and GPUs that each row of the ledger's jobs held, while it held them


class JobPieces(NamedTuple):
    """Cores or GPUs of one part of the machine that a job holds, or cores that are in tasks: int64 (k,) each."""

    job: Array  # row of the table of jobs
    part: Array  # the number of the part: by default the group of hosts
    start_ns: Array
    end_ns: Array
    more_mw: Array  # power beyond idle cores and GPUs
    drawn_mw: Array  # total power; power without a task is part of the held cores


@dataclass(frozen=True, eq=False)
class HostPassages:
    """State changes of hosts that did not stay up: int64 (k,) each; the changes of a host are in the order of time. The states
    are those of ``bls.engine.state``."""

    instant_ns: Array
    host: Array
    state: Array

    @cached_property
    def _by_host(self) -> tuple[Array, Array, Array]:
        # Hosts, states and instants, host by host. Short integers are sorted by radix, for tens of millions of rows.
        key = self.host.astype(np.uint16) if self.host.max(initial=0) < 2**16 else self.host
        order = np.argsort(key, kind="stable")
        return self.host[order], self.state[order], self.instant_ns[order]

    def spans(self, until_ns: int) -> tuple[Array, Array, Array, Array]:
        """The host, state, start and end of each state; ``until_ns`` is the end of those without one."""
        host, state, start = self._by_host
        end = np.full(len(host), until_ns)
        end[:-1][host[1:] == host[:-1]] = start[1:][host[1:] == host[:-1]]
        return host, state, start, end


class PowerRun(NamedTuple):
    """The input of the accounts: the machine and jobs of a run."""

    ledger: Ledger
    table: PowerTable
    downtime: Downtime  # when hosts were down: they draw as if they were off
    stopped: HostPassages | None  # when hosts did not stay up, except for outages
    of: str  # {"held", "working"}: whether cores are active while they are held, or while they are in a task
    begin_ns: int  # begin of the accounts
    until_ns: int  # their end
    classes: PowerClasses | None = None  # power by the rows of the table of jobs; None: the platform's for all


def account(run: PowerRun) -> PowerAccounts:
    """Compute power and energy. Raises InputError if tasks are to be distinguished and there are no records of them."""
    table, pieces = run.table, job_pieces(run)
    columns = [(one.start_ns, one.end_ns, one.more_mw) for one in pieces] + [away[1:] for away in away_hosts(run)]
    start, end, more = (np.concatenate(column) for column in zip(*columns, strict=True))
    series = step_series(table.idle_total_mw, start, end, more, run.begin_ns, run.until_ns)
    used = [Energy.of(one.drawn_mw, one.end_ns - one.start_ns).by(one.job, len(run.ledger.jobs)) for one in pieces]
    return PowerAccounts(series, reduce(Energy.plus, used))


def job_pieces(run: PowerRun, first: Array | None = None) -> list[JobPieces]:
    """The power of jobs: of held cores; if tasks are distinguished, the additional power of tasks; and of held GPUs, if known.
    ``first``, int64, ascending: parts of the machine begin with these cores, the last one ends with the machine; by default
    they are the groups, and none has cores of two groups. Raises InputError as :func:`account`."""
    table, active = run.table, run.of == "held"
    by_group, first = first is None, table.first_core if first is None else first
    group_of_part = table.group_of_core(first)
    job, lo, hi, start, end, scale = held_cores(run.ledger)
    row, part, n = cut_at(first, lo, hi)
    group = part if by_group else group_of_part[part]
    each = active_mw(table, run.classes, job[row], scale[row], group) if active else table.waiting_mw[group]
    found = [JobPieces(job[row], part, start[row], end[row], n * (each - table.idle_mw[group]), n * each)]
    if not active:
        job, core, start, end, scale = working_cores(run.ledger)
        part = np.searchsorted(first, core, side="right") - 1
        group = part if by_group else group_of_part[part]
        more = active_mw(table, run.classes, job, scale, group) - table.waiting_mw[group]
        found.append(JobPieces(job, part, start, end, more, more))
    if run.ledger.gpus is not None and table.gpu_w.any():
        job, core, milli, start, end, scale = _held_gpus(run.ledger)
        part = np.searchsorted(first, core, side="right") - 1
        group = part if by_group else group_of_part[part]
        each = active_mw(table, run.classes, job, scale, group, gpus=True)
        more = milli * (each - table.gpu_idle_w[group])
        found.append(JobPieces(job, part, start, end, more, milli * each))
    return found


def cut_at(first: Array, lo: Array, hi: Array) -> tuple[Array, Array, Array]:
    """Cut intervals of cores at the parts of the machine, which begin with the cores ``first``. Returns the interval, the part
    and the number of cores of each piece."""
    low = np.searchsorted(first, lo, side="right") - 1
    count = np.searchsorted(first, hi, side="left") - low
    row, part = np.repeat(np.arange(len(lo)), count), intervals_of(low, count)
    return row, part, np.minimum(hi[row], first[part + 1]) - np.maximum(lo[row], first[part])


def away_hosts(run: PowerRun) -> list[tuple[Array, Array, Array, Array]]:
    """Hosts that are not in service, in one or two tables: columns of host, start_ns, end_ns, and the power beyond that of an
    idle host, mW; int64 each."""
    table, down = run.table, run.downtime.within(run.begin_ns, run.until_ns)
    more = (table.off_mw - table.host_idle_mw)[table.group_of_host(down.host)]
    columns = [(down.host, down.down_ns, down.up_ns, more)]
    if run.stopped is not None:
        host, state, start, _ = run.stopped.spans(run.until_ns)
        draws = np.stack([table.host_idle_mw, table.host_idle_mw, table.shutdown_mw, table.off_mw, table.boot_mw])
        more = (draws - table.host_idle_mw)[state, table.group_of_host(host)]
        # The change of power at each change of state: half as many instants to sort as begins and ends.
        change = more.copy()
        change[1:] -= np.where(host[1:] == host[:-1], more[:-1], 0)
        columns.append((host, start, np.full(len(start), run.until_ns), change))
    return columns


def ascending(*columns: Array) -> Array:
    """The values of columns, each once, ascending."""
    found = np.sort(np.concatenate(columns))  # np.unique takes three times as long
    return np.asarray(found[np.append(True, found[1:] != found[:-1])[: len(found)]])


def covered(at: Array, start: Array, end: Array) -> Array:
    """Number of spans [start, end) that contain each instant."""
    begun, over = (np.searchsorted(np.sort(instants), at, side="right") for instants in (start, end))
    return np.asarray(begun - over)


def step_series(
    start_mw: int, start_ns: Array, end_ns: Array, more_mw: Array, begin_ns: int, until_ns: int
) -> PowerSeries:
    """The power from begin to until: ``start_mw`` plus ``more_mw`` from each start to its end."""
    start, end = np.clip(start_ns, begin_ns, until_ns), np.clip(end_ns, begin_ns, until_ns)
    some = (end > start) & (more_mw != 0)
    over = some & (end < until_ns)
    at = np.concatenate([start[some], end[over]])
    change = np.concatenate([more_mw[some], -more_mw[over]])
    if not len(at):
        return PowerSeries(np.array([begin_ns]), np.array([start_mw]), until_ns)
    order = np.argsort(at, kind="stable")
    at, change = at[order], change[order]
    first = np.flatnonzero(np.append(True, at[1:] != at[:-1]))
    instants, levels = at[first], start_mw + np.cumsum(change)[np.append(first[1:], len(at)) - 1]
    if instants[0] > begin_ns:
        instants, levels = np.append(begin_ns, instants), np.append(start_mw, levels)
    return PowerSeries.of_steps(instants, levels, until_ns)


def held_cores(ledger: Ledger) -> tuple[Array, ...]:
    """The cores [lo, hi) that jobs held, by time and scale of speed: columns job, lo, hi, start, end, scale."""
    jobs, scales = ledger.jobs, ledger.of(ScaleRecords)
    by_core = np.zeros(len(jobs), np.bool_)
    if scales is not None:
        by_core[scales.job[scales.core >= 0]] = True
    held = holdings(ledger)
    row = np.repeat(np.arange(len(held)), np.diff(held.first))
    plain = ~by_core[held.job[row]]
    row = row[plain]
    found = held.job[row], held.lo[plain], held.hi[plain], held.start_ns[row], held.end_ns[row]
    if scales is None:
        return *found, np.full(len(row), WHOLE, np.int64)
    of_job = ~by_core[scales.job]
    parts = [_scaled(found, found[0], scales.job[of_job], scales.command_ns[of_job], scales.scale[of_job])]
    if by_core.any():
        alone = core_spans(ledger, by_core)
        at, spread = _spread(alone.job, alone.core, scales.job, scales.core)
        unit = np.unique(np.stack([alone.job, alone.core]), axis=1, return_inverse=True)[1].reshape(-1)
        order = np.lexsort((at, scales.command_ns[at], unit[spread]))
        at, of_unit = at[order], unit[spread][order]
        cores = alone.job, alone.core, alone.core + 1, alone.start_ns, alone.end_ns
        parts.append(_scaled(cores, unit, of_unit, scales.command_ns[at], scales.scale[at]))
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))


def _spread(job: Array, core: Array, command_job: Array, command_core: Array) -> tuple[Array, Array]:
    # The scales that belong to each span of cores: indices of scales, and of spans.
    at, spread = [], []
    seen: dict[int, dict[int, int]] = {}
    for place, (one, number) in enumerate(zip(job.tolist(), core.tolist(), strict=True)):
        seen.setdefault(one, {}).setdefault(number, place)
    for place, (one, number) in enumerate(zip(command_job.tolist(), command_core.tolist(), strict=True)):
        mine = seen.get(one, {})
        for span in mine.values() if number < 0 else [mine[number]] if number in mine else []:
            at.append(place)
            spread.append(span)
    return np.array(at, np.int64), np.array(spread, np.int64)


def _scaled(
    found: tuple[Array, ...], unit: Array, command_unit: Array, command_ns: Array, scale: Array
) -> tuple[Array, ...]:
    # Spans cut where the scale of their unit changes: units with commands, by unit, then by instant.
    scaled = np.zeros(int(max(unit.max(initial=0), command_unit.max(initial=0))) + 1, np.bool_)
    scaled[command_unit] = True
    apart: Array = scaled[unit]
    if not apart.all():  # most cores are never scaled
        rest = tuple(column[~apart] for column in found)
        whole = np.full(len(rest[0]), WHOLE, np.int64)
        others = _scaled(tuple(column[apart] for column in found), unit[apart], command_unit, command_ns, scale)
        return tuple(np.concatenate(pair) for pair in zip((*rest, whole), others, strict=True))
    start, end = found[-2], found[-1]
    instants, rank = np.unique(np.concatenate([command_ns, start, end]), return_inverse=True)
    rank = rank.reshape(-1)
    n, k, many = len(command_ns), len(start), len(instants) + 1
    key = command_unit * many + rank[:n]
    # The scale in force at the begin of a span, and the scales that follow within it.
    first = np.searchsorted(key, unit * many + rank[n : n + k], side="right")
    stop = np.maximum(first, np.searchsorted(key, unit * many + rank[n + k :], side="left"))
    count = stop - first + 1
    row = np.repeat(np.arange(k), count)
    place = intervals_of(first, count)
    begins, ends = place == first[row], place == stop[row]
    before = place - 1
    known = (before >= 0) & (command_unit[before] == unit[row]) if n else np.zeros(len(row), np.bool_)
    now = np.where(known, scale[before] if n else WHOLE, WHOLE)
    since = np.where(begins, start[row], command_ns[before] if n else 0)
    until = np.where(ends, end[row], command_ns[np.minimum(place, max(n - 1, 0))] if n else 0)
    some = until > since
    return *(column[row][some] for column in found[:-2]), since[some], until[some], now[some]


def working_cores(ledger: Ledger) -> tuple[Array, ...]:
    """The cores that were in tasks, by time and scale of speed: columns job, core, start, end, scale. Raises InputError if
    there are no records of tasks."""
    tasks, scales = ledger.tasks, ledger.of(ScaleRecords)
    if tasks is None:
        allowed = "with applications, and with records of tasks"
        raise InputError(f"{POWER:working}: there are no records of tasks; allowed: {allowed}")
    ran = np.flatnonzero(tasks.core >= 0)
    job = np.repeat(np.arange(len(ledger.jobs)), np.diff(tasks.first))[ran]
    core = tasks.core[ran].astype(np.int64)
    found: tuple[Array, ...] = job, core, tasks.start_ns[ran], tasks.end_ns[ran]
    if scales is None:
        return *found, np.full(len(ran), WHOLE, np.int64)
    return _with_scales(found, scales, scales.core)


def _with_scales(found: tuple[Array, ...], scales: ScaleRecords, where: Array) -> tuple[Array, ...]:
    # Spans, with the columns job and place first, cut where the scale of their place changes; ``where``: the places of scales,
    # -1 for all of the job.
    job, place = found[:2]
    kinds, unit = np.unique(np.stack([job, place]), axis=1, return_inverse=True)
    at, spread = _spread(kinds[0], kinds[1], scales.job, where)
    order = np.lexsort((at, scales.command_ns[at], spread))
    at = at[order]
    return _scaled(found, unit.reshape(-1), spread[order], scales.command_ns[at], scales.scale[at])


def gpu_spans(ledger: Ledger) -> tuple[Array, ...]:
    """The GPUs that jobs held: columns job, first core of the host, thousandths, start, end."""
    gpus, machine = ledger.gpus, ledger.machine
    assert gpus is not None
    core = machine.first_core[machine.host_of_gpu(gpus.gpu)]
    return gpus.job, core, gpus.milli, ledger.jobs.start_ns[gpus.job], gpu_ends(ledger)


def _held_gpus(ledger: Ledger) -> tuple[Array, ...]:
    # The same, cut where the latest scale of the job, or of any of its cores on the host, changes; and the scale.
    found, scales, first = gpu_spans(ledger), ledger.of(ScaleRecords), ledger.machine.first_core
    if scales is None:
        return *found, np.full(len(found[0]), WHOLE, np.int64)
    of_host = first[np.searchsorted(first, scales.core, side="right") - 1]
    return _with_scales(found, scales, np.where(scales.core < 0, -1, of_host))


class HostIntervals(NamedTuple):
    """Half-open intervals of hosts: int64 (n,) each; by host, then by time, without gaps within a host."""

    host: Array
    begin_ns: Array
    end_ns: Array


@dataclass(frozen=True)
class HostEnergies(Columns):
    """The energy of hosts during intervals, by use; an ``Energy`` of n rows each."""

    jobs: Energy  # by cores and GPUs that jobs held
    idle_cores: Energy  # by cores and GPUs that no job held, of a host that was up
    base: Energy  # by hosts that were up, without their cores and GPUs
    off: Energy  # by hosts that were not up: off, shutting down, booting, or down

    @property
    def total(self) -> Energy:
        """The sum of all uses."""
        return self.jobs.plus(self.idle_cores).plus(self.base).plus(self.off)


def host_energies(run: PowerRun, intervals: HostIntervals) -> HostEnergies:
    """The energy of hosts during intervals, by use; over all hosts and the whole run it is that of the machine. Raises
    InputError as :func:`account`."""
    host, begin, end = intervals
    table, lasts = run.table, end - begin
    of_host, idle = table.group_of_host(host), table.host_idle_mw - table.base_mw
    pieces = job_pieces(run, np.append(0, np.cumsum(np.repeat(table.cores, table.n_hosts))))
    parts = [_during(intervals, one.part, one.start_ns, one.end_ns, one.drawn_mw) for one in pieces]
    first, until = (int(begin.min()), int(end.max())) if len(host) else (0, 0)
    *away, off_mw = _away(table, run.downtime.within(first, until), run.stopped, until)
    group = table.group_of_host(away[0])
    # The power of an idle host while it is up, without the cores and GPUs that jobs hold.
    idle_parts = [
        Energy.of(idle[of_host], lasts),
        *(_during(intervals, one.part, one.start_ns, one.end_ns, one.more_mw - one.drawn_mw) for one in pieces),
        _during(intervals, *away, -idle[group]),
    ]
    base = Energy.of(table.base_mw[of_host], lasts).plus(_during(intervals, *away, -table.base_mw[group]))
    jobs, idles = (reduce(Energy.plus, some) for some in (parts, idle_parts))
    return HostEnergies(jobs=jobs, idle_cores=idles, base=base, off=_during(intervals, *away, off_mw))


def _away(table: PowerTable, down: Downtime, stopped: HostPassages | None, until_ns: int) -> tuple[Array, ...]:
    # The host, start, end and power of hosts that are not up; a host that is out of service and idle is up.
    columns = [(down.host, down.down_ns, down.up_ns, table.off_mw[table.group_of_host(down.host)])]
    if stopped is not None:
        host, state, start, end = stopped.spans(until_ns)
        draws = {b.SHUTTING: table.shutdown_mw, b.OFF: table.off_mw, b.BOOTING: table.boot_mw}
        for what, watts in draws.items():
            some = state == what
            columns.append((host[some], start[some], end[some], watts[table.group_of_host(host[some])]))
    return tuple(np.concatenate(column) for column in zip(*columns, strict=True))


def _during(intervals: HostIntervals, *pieces: Array) -> Energy:
    # Sums of temporary changes of power during intervals: their hosts, starts, ends and mW, which may be negative. The
    # instants of each host are the bounds of its pieces and of its intervals.
    host, begin, _ = intervals
    n = len(host)
    some = pieces[-1] != 0
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
