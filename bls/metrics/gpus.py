"""Metrics of numbered GPUs: their use, waits of jobs with GPUs, and GPUs and cores that are idle for want of each other."""

import numpy as np

from bls.metrics.exact import exact_mean, exact_product_sum, exact_quantiles
from bls.metrics.schedule import Downtime, Schedule
from traces.holdings import cores_by_host, gpu_ends, holdings
from traces.ledger import Ledger
from traces.records.gpus import WHOLE

METRICS = (
    "gpu_utilisation",
    "mean_gpu_wait_ns",
    "p95_gpu_wait_ns",
    "gpu_share_without_cores",
    "core_share_without_gpus",
)


def gpu_metrics(ledger: Ledger, schedule: Schedule, downtime: Downtime) -> dict[str, float | None]:
    """The metrics of GPUs of a run (docs/reference/metrics.md#gpus); empty if no host has GPUs. Shares are None without a
    span, waits without a measured job that has GPUs. ``schedule``: the schedule of the jobs of the ``ledger``."""
    gpus, machine = ledger.gpus, ledger.machine
    if gpus is None or machine.first_gpu is None:
        return {}
    begin, end = schedule.span_ns
    n_gpus, n_cores = np.diff(machine.first_gpu), np.diff(machine.first_core)
    held, down = holdings(ledger), downtime.within(begin, end)
    row, on_host, cores = cores_by_host(machine, held)
    gpu_host = np.searchsorted(machine.first_gpu[1:], gpus.gpu, side="right")
    # Changes of cores, of GPUs, and of downtime: of each host that has GPUs, in order.
    host = np.concatenate([on_host, gpu_host, down.host])
    start_ns = np.concatenate([held.start_ns[row], schedule.start_ns[gpus.job], down.down_ns])
    end_ns = np.concatenate([held.end_ns[row], gpu_ends(ledger), down.up_ns])
    change = np.zeros((3, len(host)), np.int64)
    change[0, : len(row)], change[1, len(row) : len(row) + len(gpus)], change[2, len(row) + len(gpus) :] = (
        cores,
        gpus.milli,
        1,
    )
    with_gpus = np.flatnonzero(n_gpus)
    bounds = np.repeat(with_gpus, 2)
    host = np.concatenate([host, host, bounds])
    instant = np.clip(np.concatenate([start_ns, end_ns, np.tile([begin, end], len(with_gpus))]), begin, end)
    order = np.lexsort((instant, host))
    order = order[n_gpus[host[order]] > 0]
    change = np.concatenate([change, -change, np.zeros((3, len(bounds)), np.int64)], axis=1)[:, order].cumsum(axis=1)
    host, instant = host[order], instant[order]
    lasting = np.where(np.append(host[1:] == host[:-1], False), np.append(instant[1:], 0) - instant, 0)
    free, left, up = n_cores[host] - change[0], WHOLE * n_gpus[host] - change[1], change[2] == 0

    def share(of: np.ndarray, when: np.ndarray, total: int) -> float | None:
        return exact_product_sum(of[when], lasting[when]) / (total * (end - begin)) if end > begin else None

    total = WHOLE * int(n_gpus.sum())
    has = np.zeros(len(schedule), np.bool_)
    has[gpus.job] = True
    measured = schedule.measured & has
    waits = schedule.start_ns[measured] - schedule.begin_ns[measured]
    waited = (exact_mean(waits), *exact_quantiles(waits, 95))
    idle = share(left, up & (free == 0), total), share(free, up & (left == 0), int(n_cores[with_gpus].sum()))
    return dict(zip(METRICS, (share(change[1], lasting > 0, total), *waited, *idle), strict=True))
