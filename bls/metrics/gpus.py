"""Metrics of numbered GPUs: their use, waits of jobs with GPUs, GPUs and cores that are idle for want of each other, and the
fragmentation of idle ones.

Source: Q. Weng et al., "Beware of fragmentation: scheduling GPU-sharing workloads with fragmentation gradient descent",
USENIX ATC 2023 (fragmentation).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bls.machine.platform import Platform
from bls.metrics.exact import exact_mean, exact_product_sum, exact_quantiles
from bls.metrics.schedule import Downtime, Schedule
from traces.compiled import Array
from traces.holdings import cores_by_host, gpu_ends, holdings
from traces.ledger import Ledger
from traces.records.gpus import WHOLE

if TYPE_CHECKING:
    from bls.constraints.resource_requests import Requests

METRICS = (
    "gpu_utilisation",
    "mean_gpu_wait_ns",
    "p95_gpu_wait_ns",
    "gpu_share_without_cores",
    "core_share_without_gpus",
)


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


def _held(ledger: Ledger, schedule: Schedule, downtime: Downtime) -> _Held:
    gpus, machine = ledger.gpus, ledger.machine
    assert gpus is not None
    assert machine.first_gpu is not None
    held, down = holdings(ledger), downtime.within(*schedule.span_ns)
    row, on_host, cores = cores_by_host(machine, held)
    host = np.concatenate([on_host, np.searchsorted(machine.first_gpu[1:], gpus.gpu, side="right"), down.host])
    start_ns = np.concatenate([held.start_ns[row], schedule.start_ns[gpus.job], down.down_ns])
    end_ns = np.concatenate([held.end_ns[row], gpu_ends(ledger), down.up_ns])
    return _Held(host, start_ns, end_ns, held.job[row], cores, len(gpus))


def _over_time(held: _Held, hosts: Array, span_ns: tuple[int, int], *columns: Array) -> tuple[Array, Array, Array]:
    """Return the states of some hosts within a span: the host, the time for which it is in the state, and what is held then of
    each column, int64 (k, columns)."""
    begin, end = span_ns
    host = np.concatenate([held.host, held.host, np.repeat(hosts, 2)])
    instant = np.concatenate([held.start_ns, held.end_ns, np.tile([begin, end], len(hosts))]).clip(begin, end)
    order = np.lexsort((instant, host))
    order = order[np.isin(host[order], hosts)]
    change = np.stack(columns, axis=1)
    change = np.concatenate([change, -change, np.zeros((2 * len(hosts), len(columns)), np.int64)])[order]
    host, instant = host[order], instant[order]
    lasting = np.diff(instant, append=np.int64(end)) * np.append(host[1:] == host[:-1], False)
    some = lasting > 0
    return host[some], lasting[some], np.cumsum(change, axis=0)[some]


def gpu_metrics(ledger: Ledger, schedule: Schedule, downtime: Downtime) -> dict[str, float | None]:
    """The metrics of GPUs of a run (docs/reference/metrics.md#gpus); empty if no host has GPUs. Shares are None without a
    span, waits without a measured job that has GPUs. ``schedule``: the schedule of the jobs of the ``ledger``."""
    gpus, machine = ledger.gpus, ledger.machine
    if gpus is None or machine.first_gpu is None:
        return {}
    begin, end = schedule.span_ns
    n_gpus, n_cores = np.diff(machine.first_gpu), np.diff(machine.first_core)
    hosts, held = np.flatnonzero(n_gpus), _held(ledger, schedule, downtime)
    columns = held.column(cores=held.cores), held.column(gpus=gpus.milli), held.column(down=1)
    host, lasting, used = _over_time(held, hosts, (begin, end), *columns)
    free, left, up = n_cores[host] - used[:, 0], WHOLE * n_gpus[host] - used[:, 1], used[:, 2] == 0

    def share(of: Array, when: Array, total: int) -> float | None:
        return exact_product_sum(of[when], lasting[when]) / (total * (end - begin)) if end > begin else None

    total = WHOLE * int(n_gpus.sum())
    has = np.zeros(len(schedule), np.bool_)
    has[gpus.job] = True
    measured = schedule.measured & has
    waits = schedule.start_ns[measured] - schedule.begin_ns[measured]
    waited = (exact_mean(waits), *exact_quantiles(waits, 95))
    idle = share(left, up & (free == 0), total), share(free, up & (left == 0), int(n_cores[hosts].sum()))
    return dict(zip(METRICS, (share(used[:, 1], used[:, 1] > 0, total), *waited, *idle), strict=True))


def gpu_fragmentation(
    ledger: Ledger, schedule: Schedule, downtime: Downtime, platform: Platform, requests: "Requests", origin: Array
) -> float:
    """The part of GPUs that are left, over the span, that a random job of the workload cannot use on their hosts: the mean of F
    over the jobs, over what is left; 0 if nothing is left. Arguments as of :func:`gpu_metrics`; ``requests``: of the jobs of
    the workload; ``origin``, int64 (n,): the job of each row of the schedule."""
    gpus = ledger.gpus
    assert gpus is not None
    first, n_gpus = platform.first_gpu, np.diff(platform.first_gpu)
    hosts, held = np.flatnonzero(n_gpus), _held(ledger, schedule, downtime)
    job = origin[held.row]
    units = held.cores // requests.unit_cores[job]
    amounts = [held.column(cores=units * one[job]) for one in requests.per_unit.T]
    place = gpus.gpu - first[np.searchsorted(first[1:], gpus.gpu, side="right")]
    parts = [held.column(gpus=gpus.milli * (place == k)) for k in range(int(n_gpus.max()))]
    columns = held.column(cores=held.cores), held.column(down=1), *amounts, *parts
    host, lasting, used = _over_time(held, hosts, schedule.span_ns, *columns)
    up = used[:, 1] == 0
    host, lasting, used = host[up], lasting[up], used[up]
    free = np.diff(platform.first_core)[host] - used[:, 0]
    room = platform.host_resources[host] - used[:, 2 : 2 + len(amounts)]
    there = np.arange(len(parts)) < n_gpus[host][:, None]
    left = (WHOLE - used[:, 2 + len(amounts) :]) * there
    kind = np.repeat(
        [platform.gpu_kinds.index(one.gpu) if one.gpus else 0 for one in platform.hosts],
        [one.count for one in platform.hosts],
    )[host]
    classes, _, count = requests.classes
    total, broken = left.sum(axis=1), 0
    for (cores, per_unit, per_host, milli, kinds, *needs), n in zip(classes.tolist(), count.tolist(), strict=True):
        able = (left >= milli) & there
        fits = (free >= cores) & (able.sum(axis=1) >= max(per_unit, per_host)) & ((kinds >> kind) & 1 == 1)
        fits &= (room >= np.array(needs, np.int64)).all(axis=1) & (per_unit + per_host > 0)
        lost = np.where(fits, (left * ~able).sum(axis=1), total)
        broken += n * exact_product_sum(lost, lasting)
    whole = exact_product_sum(total, lasting) * len(requests)
    return broken / whole if whole else 0.0
