"""Metrics of numbered GPUs: their use, waits of jobs with GPUs, GPUs and cores that are idle for want of each other, and the
fragmentation of idle ones.

Source: Q. Weng et al., "Beware of fragmentation: scheduling GPU-sharing workloads with fragmentation gradient descent",
USENIX ATC 2023 (fragmentation).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bls.machine.platform import Platform, accepts_kind
from bls.metrics.exact import exact_mean, exact_product_sum, exact_quantiles
from bls.metrics.schedule import Downtime, Schedule
from traces.compiled import Array
from traces.holdings import HeldGpus, cores_by_host, gpu_ends, held_gpus, holdings
from traces.ledger import Ledger, MachineShape
from traces.records.gpus import WHOLE_GPU

if TYPE_CHECKING:
    from bls.constraints.resource_requests import Requests

METRICS = (
    "gpu_utilisation",
    "mean_gpu_wait_ns",
    "p95_gpu_wait_ns",
    "gpu_share_without_cores",
    "core_share_without_gpus",
)
FRAGMENTATION = ("gpu_fragmentation",)  #: the metric of :func:`gpu_fragmentation`


@dataclass(frozen=True)
class _Held:
    """Cores and GPUs held on hosts, and downtime: a row for each, with its span. Then come the rows of other hosts."""

    host: Array
    start_ns: Array
    end_ns: Array
    row: Array  # of the jobs whose cores come first; then come the rows of ``Ledger.gpus``, and those of the downtime
    cores: Array  # of the first rows
    n_gpu_rows: int

    def column(self, cores: Array | int = 0, gpus: Array | int = 0, down: int = 0) -> Array:
        """A column of the quantities that the rows hold."""
        found = np.full(len(self.host), down)
        found[: len(self.cores)] = cores
        found[len(self.cores) : len(self.cores) + self.n_gpu_rows] = gpus
        return found


def _held(ledger: Ledger, downtime: Downtime, span_ns: tuple[int, int]) -> _Held:
    gpus, machine = ledger.gpus, ledger.machine
    assert gpus is not None
    held, down = holdings(ledger), downtime.within(*span_ns)
    row, on_host, cores = cores_by_host(machine, held)
    host = np.concatenate([on_host, machine.host_of_gpu(gpus.gpu), down.host])
    start_ns = np.concatenate([held.start_ns[row], ledger.jobs.start_ns[gpus.job], down.down_ns])
    left_ns = gpu_ends(ledger) if ledger.frees_cores else ledger.jobs.end_ns[gpus.job]
    end_ns = np.concatenate([held.end_ns[row], left_ns, down.up_ns])
    return _Held(host, start_ns, end_ns, held.job[row], cores, len(gpus))


_ROWS = 1 << 17  # of hosts that are in memory at once


def _over_time(
    held: _Held, hosts: Array, span_ns: tuple[int, int], *columns: Array
) -> Iterator[tuple[Array, Array, Array]]:
    """Yield the states of some hosts (ascending) within a span, a few hosts at a time: the host, the time for which it is in
    the state, and what is held then of each column, int64 (k, columns)."""
    begin, end = span_ns
    rows = np.argsort(held.host, kind="stable")
    first, last = (np.searchsorted(held.host, hosts, side, sorter=rows) for side in ("left", "right"))
    for some in np.split(np.arange(len(hosts)), np.flatnonzero(np.diff(last // _ROWS)) + 1):
        here = rows[first[some[0]] : last[some[-1]]]
        here = here[np.isin(held.host[here], hosts[some])]
        host = np.concatenate([held.host[here], held.host[here], np.repeat(hosts[some], 2)])
        instant = np.concatenate([held.start_ns[here], held.end_ns[here], np.tile([begin, end], len(some))])
        instant = instant.clip(begin, end)
        order = np.lexsort((instant, host))
        change = np.stack([column[here] for column in columns], axis=1)
        change = np.concatenate([change, -change, np.zeros((2 * len(some), len(columns)), np.int64)])[order]
        host, instant = host[order], instant[order]
        lasting = np.diff(instant, append=np.int64(end)) * np.append(host[1:] == host[:-1], False)
        lasts = lasting > 0
        yield host[lasts], lasting[lasts], np.cumsum(change, axis=0)[lasts]


class GpusOverTime:
    """Sums over time of the GPUs of a machine and of the cores of their hosts, over consecutive spans."""

    def __init__(self, machine: MachineShape) -> None:
        assert machine.first_gpu is not None
        self._n_gpus, self._n_cores = np.diff(machine.first_gpu), np.diff(machine.first_core)
        self._hosts = np.flatnonzero(self._n_gpus)
        self._used = self._idle_gpus = self._idle_cores = 0

    def add(self, ledger: Ledger, downtime: Downtime, begin_ns: int, end_ns: int) -> None:
        """Add a span [begin, end) with all jobs that hold something within it."""
        span_ns, gpus = (begin_ns, end_ns), ledger.gpus
        assert gpus is not None
        held = _held(ledger, downtime, span_ns)
        columns = held.column(cores=held.cores), held.column(gpus=gpus.milli), held.column(down=1)
        for host, lasting, used in _over_time(held, self._hosts, span_ns, *columns):
            free, left = self._n_cores[host] - used[:, 0], WHOLE_GPU * self._n_gpus[host] - used[:, 1]
            no_core, no_gpu = (used[:, 2] == 0) & (free == 0), (used[:, 2] == 0) & (left == 0)
            self._used += exact_product_sum(used[:, 1], lasting)
            self._idle_gpus += exact_product_sum(left[no_core], lasting[no_core])
            self._idle_cores += exact_product_sum(free[no_gpu], lasting[no_gpu])

    def metrics(self, span_ns: Sequence[int], parts: Iterable[tuple[Schedule, Array]]) -> dict[str, float | None]:
        """The metrics; outside of the span nothing was held. ``parts``: parts of the schedule, and which of their rows held
        GPUs, bool (n,)."""
        waits_ns = np.concatenate([_waits_of(*part) for part in parts])
        long = span_ns[1] - span_ns[0]
        gpus, cores = WHOLE_GPU * int(self._n_gpus.sum()) * long, int(self._n_cores[self._hosts].sum()) * long
        sums = (self._used, gpus), (self._idle_gpus, gpus), (self._idle_cores, cores)
        used, *idle = (part / whole if long > 0 else None for part, whole in sums)
        values = used, exact_mean(waits_ns), *exact_quantiles(waits_ns, 95), *idle
        return dict(zip(METRICS, values, strict=True))


def _waits_of(schedule: Schedule, rows: Array) -> Array:
    """The waits (ns) of the measured jobs among some rows, bool (n,)."""
    measured = schedule.measured & rows
    return np.asarray(schedule.start_ns[measured] - schedule.begin_ns[measured])


def gpu_metrics(ledger: Ledger, schedule: Schedule, downtime: Downtime) -> dict[str, float | None]:
    """The metrics of GPUs of a run (docs/reference/metrics.md#gpus); empty if no host has GPUs. Shares are None without a
    span, waits without a measured job that has GPUs. ``schedule``: the schedule of the jobs of the ``ledger``."""
    if ledger.gpus is None or ledger.machine.first_gpu is None:
        return {}
    over_time = GpusOverTime(ledger.machine)
    over_time.add(ledger, downtime, *schedule.span_ns)
    return over_time.metrics(schedule.span_ns, [(schedule, np.diff(ledger.gpus.first) > 0)])


def by_kind(ledger: Ledger, schedule: Schedule, platform: Platform) -> list[dict[str, Any]]:
    """The use of GPUs of each kind, as of :func:`use_by_kind`. Arguments as of :func:`gpu_metrics`."""
    if (held := held_gpus(ledger)) is None:
        return []
    kind = np.repeat([one.gpu for one in platform.hosts], [one.count * one.gpus for one in platform.hosts])
    return use_by_kind(held, kind, schedule.span_ns, schedule.measured, schedule.start_ns - schedule.begin_ns)


def use_by_kind(
    held: HeldGpus, kind: Array, span_ns: Sequence[int], measured: Array, wait_ns: Array
) -> list[dict[str, Any]]:
    """The use of GPUs of each kind, a row for each: ``kind``; ``gpus``, their number; ``gpu_utilisation``, None without a span;
    ``jobs``, the measured jobs that held some; ``mean_wait_ns``, None without any. ``kind``, str (D,): of each GPU.
    ``measured``, bool (n,), ``wait_ns``, (n,): of each row of jobs; only waits of measured ones are read."""
    (begin, end), found = span_ns, list[dict[str, Any]]()
    lasting = held.end_ns.clip(begin, end) - held.start_ns.clip(begin, end)
    for name in np.unique(kind).tolist():
        rows, count = kind[held.gpu] == name, np.count_nonzero(kind == name)
        jobs = np.unique(held.job[rows])
        waits = wait_ns[jobs[measured[jobs]]].astype(np.int64)
        used, total = exact_product_sum(held.milli[rows], lasting[rows]), WHOLE_GPU * count * (end - begin)
        row = {"kind": name, "gpus": count, "gpu_utilisation": used / total if total else None}
        found.append(row | {"jobs": len(waits), "mean_wait_ns": exact_mean(waits)})
    return found


def gpu_fragmentation(
    ledger: Ledger, schedule: Schedule, downtime: Downtime, platform: Platform, requests: "Requests", origin: Array
) -> float:
    """The part of GPUs that are left, over the span, that a random job of the workload cannot use on their hosts: the mean of F
    over the jobs, over what is left; 0 if nothing is left. Arguments as of :func:`gpu_metrics`; ``requests``: of the jobs of
    the workload; ``origin``, int64 (n,): the job of each row of the schedule."""
    gpus = ledger.gpus
    assert gpus is not None
    first, n_gpus = platform.first_gpu, np.diff(platform.first_gpu)
    hosts, held = np.flatnonzero(n_gpus), _held(ledger, downtime, schedule.span_ns)
    job = origin[held.row]
    units = held.cores // requests.unit_cores[job]
    amounts = [held.column(cores=units * one[job]) for one in requests.per_unit.T]
    place = gpus.gpu - first[ledger.machine.host_of_gpu(gpus.gpu)]
    parts = [held.column(gpus=gpus.milli * (place == k)) for k in range(int(n_gpus.max()))]
    columns = held.column(cores=held.cores), held.column(down=1), *amounts, *parts
    classes, _, count = requests.classes
    kinds_of_hosts = platform.gpu_kind_of_host
    whole = broken = 0
    for states in _over_time(held, hosts, schedule.span_ns, *columns):
        up = states[2][:, 1] == 0
        host, lasting, used = (column[up] for column in states)
        free = np.diff(platform.first_core)[host] - used[:, 0]
        room = platform.host_resources[host] - used[:, 2 : 2 + len(amounts)]
        there = np.arange(len(parts)) < n_gpus[host][:, None]
        left = (WHOLE_GPU - used[:, 2 + len(amounts) :]) * there
        total, kind = left.sum(axis=1), kinds_of_hosts[host]
        whole += exact_product_sum(total, lasting) * len(requests)
        for (cores, per_unit, per_host, milli, kinds, *needs), n in zip(classes.tolist(), count.tolist(), strict=True):
            able = (left >= milli) & there
            fits = (free >= cores) & (able.sum(axis=1) >= max(per_unit, per_host)) & accepts_kind(kinds, kind)
            fits &= (room >= np.array(needs, np.int64)).all(axis=1) & (per_unit + per_host > 0)
            lost = np.where(fits, (left * ~able).sum(axis=1), total)
            broken += n * exact_product_sum(lost, lasting)
    return broken / whole if whole else 0.0
