"""How well a job's cores were balanced: definitions over the finishing times and busy times of its cores.

t_p is the instant at which core p had nothing more to do, less the job's start; a core that was given nothing has t_p = 0.
T is the largest t_p, the job's run time. W_p is the time that core p spent in tasks. P is the number of cores. The means are
over all P cores, also those that did nothing.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from traces.compiled import Array, compiled
from traces.kernels.signatures import Floats, Ints

__all__ = [
    "LOOP_METRICS",
    "application_metrics",
    "distribution",
    "finish_cov",
    "finish_imbalance",
    "loop_metrics",
    "measure",
]

#: Names and units of what :func:`measure` finds, in its order; unit 1 is a fraction or a ratio, never a percentage.
LOOP_METRICS = (
    ("cov", "1"),
    ("cov_sample", "1"),
    ("imbalance", "1"),
    ("load_balance", "1"),
    ("percent_imbalance", "1"),
    ("max_minus_mean_ns", "ns"),
    ("sakellariou_l_ns", "ns"),
    ("sakellariou_lr", "1"),
    ("efficiency", "1"),
    ("scheduling_ns", "ns"),
    ("scheduling_share", "1"),
    ("rounds", "chunks"),
    ("length_cov", "1"),
    ("computing_ns", "ns"),
)

#: The place of ``computing_ns`` in :data:`LOOP_METRICS`.
_COMPUTING = len(LOOP_METRICS) - 1


@compiled()
def finish_imbalance(finish_ns: Ints, start_ns: int) -> float:
    """max(t)/mean(t) - 1 of the cores' finishing instants: the fraction of its time that an average core waits for the last.

    0 is perfect balance; NaN if no core did anything.
    """
    total = 0.0
    most = 0
    for p in range(finish_ns.size):
        t = finish_ns[p] - start_ns
        total += float(t)
        most = max(most, t)
    if most == 0:
        return math.nan
    return max(0.0, float(most) * finish_ns.size / total - 1.0)


@compiled()
def finish_cov(finish_ns: Ints, start_ns: int) -> float:
    """Coefficient of variation of the cores' finishing times, σ(t)/mean(t) with the population's σ; NaN if all are 0."""
    n = finish_ns.size
    total = 0.0
    for p in range(n):
        total += float(finish_ns[p] - start_ns)
    if total == 0.0:
        return math.nan
    mean = total / n
    squares = 0.0
    for p in range(n):
        deviation = float(finish_ns[p] - start_ns) - mean
        squares += deviation * deviation
    return math.sqrt(squares / n) / mean


@compiled()
def measure(
    values: Floats,
    start_ns: int,
    finish_ns: Ints,
    busy_ns: Ints,
    speed_gflops: Floats,
    total_gflop: float,
    length_cov: float,
    scheduling_ns: int,
    chunks: int,
) -> None:
    """Find all :data:`LOOP_METRICS` of one job.

    With t_p, T, W_p and P as above:

    - ``cov``: σ(t)/mean(t) with the population's σ; ``cov_sample`` with the sample's, NaN for P = 1.
    - ``imbalance``: max(t)/mean(t) - 1. ``load_balance``: mean(t)/max(t), as POP has it.
    - ``percent_imbalance``: (max(t) - mean(t))/max(t) · P/(P - 1) (DeRose, Homer and Johnson 2007,
      doi:10.1007/978-3-540-74466-5_17), as a fraction: 1 if one core did everything; 0 for P = 1.
    - ``max_minus_mean_ns``: max(t) - mean(t).
    - ``sakellariou_l_ns``: max(W) - ΣW/P. ``sakellariou_lr``: 1 - ΣW/(P·max(W)).
    - ``efficiency``: work/(T · Σ speed); T_seq/(P·T) where all cores are equal.
    - ``scheduling_ns`` as given, and ``scheduling_share``, its share of P·T.
    - ``rounds``: the chunks that were assigned. ``length_cov`` as given.
    - ``computing_ns``: ΣW.

    Parameters
    ----------
    values : float64 (K,)
        Filled, in the order of :data:`LOOP_METRICS`: all NaN if no core did anything.
    start_ns : int
        Start of the job.
    finish_ns : int64 (P,)
        Finishing instants, none before the start.
    busy_ns : int64 (P,)
        Time that each core spent in tasks: no overhead, no latency, no waiting.
    speed_gflops : float64 (P,)
        Speeds of the cores at the job's start. Where they change later, ``efficiency`` is against these, and may pass 1.
    total_gflop : float
        Work of the tasks that were done.
    length_cov : float
        c.o.v. of the task lengths.
    scheduling_ns : int
        Sum over chunks of what it cost to assign them.
    chunks : int
        How many were assigned.
    """
    n = finish_ns.size
    last, total = 0, 0.0
    busiest, busy, speed = 0, 0.0, 0.0
    for p in range(n):
        t = finish_ns[p] - start_ns
        last = max(last, t)
        total += float(t)
        busiest = max(busiest, busy_ns[p])
        busy += float(busy_ns[p])
        speed += speed_gflops[p]
    if last == 0:
        values[:] = math.nan
        return
    most, mean = float(last), total / n
    cov = finish_cov(finish_ns, start_ns)
    beyond = max(0.0, most - mean)
    values[0] = cov
    values[1] = cov * math.sqrt(n / (n - 1.0)) if n > 1 else math.nan
    values[2] = finish_imbalance(finish_ns, start_ns)
    values[3] = min(1.0, mean / most)
    values[4] = beyond / most * (n / (n - 1.0)) if n > 1 else 0.0
    values[5] = beyond
    values[6] = max(0.0, float(busiest) - busy / n)
    values[7] = max(0.0, 1.0 - busy / (n * float(busiest))) if busiest > 0 else math.nan
    values[8] = total_gflop / (most * 1e-9 * speed) if speed > 0.0 else math.nan
    values[9] = float(scheduling_ns)
    values[10] = float(scheduling_ns) / (n * most)
    values[11] = float(chunks)
    values[12] = length_cov
    values[13] = busy


def loop_metrics(values: Array) -> dict[str, float]:
    """What :func:`measure` found, by name."""
    return {name: float(value) for (name, _), value in zip(LOOP_METRICS, values, strict=True)}


def application_metrics(
    tasks: Array, chunks: Array, imbalance: Array, cov: Array, loops: Array, capacity_ns: float, *, detail: bool = True
) -> dict[str, Any]:
    """Totals and means over jobs of what the application level did.

    Parameters
    ----------
    tasks, chunks : int64 (n,)
        Per job.
    imbalance, cov : float64 (n,)
        Per job; all NaN where there was no application level.
    loops : float64 (K, n)
        Per job what :func:`measure` found, a row a metric; NaN where there was no application level.
    capacity_ns : float
        Cores of the machine × makespan.
    detail : bool
        Whether to find ``distribution``, too.

    Returns
    -------
    dict
        ``tasks``, ``chunks`` (totals), mean and maximum of ``imbalance`` and ``cov`` over jobs, and
        ``computing_utilisation``, the time that cores spent in tasks over ``capacity_ns``; the last five are None where no
        job had an application level. ``distribution`` is, for each of :data:`LOOP_METRICS`, a dict with ``mean``,
        ``median``, ``p10``, ``p90`` and ``max`` over the jobs that have it (percentiles linear between neighbours), each
        None where no job has.
    """
    known = ~np.isnan(imbalance)
    some = bool(known.any())
    figures: dict[str, Any] = {
        "tasks": int(tasks.sum()),
        "chunks": int(chunks.sum()),
        "mean_imbalance": float(imbalance[known].mean()) if some else None,
        "max_imbalance": float(imbalance[known].max()) if some else None,
        "mean_cov": float(cov[known].mean()) if some else None,
        "max_cov": float(cov[known].max()) if some else None,
        "computing_utilisation": float(np.nansum(loops[_COMPUTING])) / capacity_ns if some and capacity_ns else None,
    }
    if detail:
        names = [name for name, _ in LOOP_METRICS]
        figures["distribution"] = {name: distribution(row) for name, row in zip(names, loops, strict=True)}
    return figures


def distribution(row: Array) -> dict[str, float | None]:
    """Mean, median, percentiles 10 and 90 (linear between neighbours) and maximum of what is not NaN; None where all is."""
    known = row[~np.isnan(row)]
    if len(known) == 0:
        return dict.fromkeys(("mean", "median", "p10", "p90", "max"))
    mean, most = float(known.mean()), float(known.max())
    p10, median, p90 = np.percentile(known, [10.0, 50.0, 90.0], overwrite_input=True).tolist()  # ``known`` is ours
    return {"mean": mean, "median": median, "p10": p10, "p90": p90, "max": most}
