"""Balance of the cores of a job: metrics over its cores' finishing times and busy times, and their summaries.

t_p is the instant at which core p ended its last task, less the job's start; 0 if it had none. T is the largest t_p, the job's
run time. W_p is the time of core p in tasks. P is the number of cores. Means are over all P cores, also those without tasks.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from traces.compiled import Array, compiled
from traces.kernels.signatures import Floats, Ints

#: Names and units of the values of :func:`measure`, in its order; unit 1 is a fraction or a ratio, never a percentage.
LOOP_METRICS = (
    ("cov", "1"),
    ("imbalance", "1"),
    ("load_balance", "1"),
    ("percent_imbalance", "1"),
    ("max_minus_mean_ns", "ns"),
    ("sakellariou_lr", "1"),
    ("efficiency", "1"),
    ("scheduling_ns", "ns"),
    ("scheduling_share", "1"),
    ("rounds", "chunks"),
    ("length_cov", "1"),
    ("computing_ns", "ns"),
)


@compiled()
def finish_imbalance(finish_ns: Ints, start_ns: int) -> float:
    """Return max(t)/mean(t) - 1 of the cores' finishing times: the mean time that a core waits for the last one, over the mean
    finishing time. 0 is perfect balance; NaN if no core did anything."""
    total, most = 0.0, 0
    for p in range(finish_ns.size):
        total += float(finish_ns[p] - start_ns)
        most = max(most, finish_ns[p] - start_ns)
    if most == 0:
        return math.nan
    return max(0.0, float(most) * finish_ns.size / total - 1.0)


@compiled()
def finish_cov(finish_ns: Ints, start_ns: int) -> float:
    """Return the coefficient of variation of the cores' finishing times, σ(t)/mean(t) with the population's σ; NaN if all are
    0."""
    n, total, squares = finish_ns.size, 0.0, 0.0
    for p in range(n):
        total += float(finish_ns[p] - start_ns)
    if total == 0.0:
        return math.nan
    mean = total / n
    for p in range(n):
        deviation = float(finish_ns[p] - start_ns) - mean
        squares += deviation * deviation
    return math.sqrt(squares / n) / mean


@compiled()
def measure(
    values: Floats, start_ns: int, finish_ns: Ints, busy_ns: Ints, speed_gflops: Floats, total_gflop: float,
    length_cov: float, scheduling_ns: int, chunks: int,
) -> None:  # fmt: skip
    """Compute all :data:`LOOP_METRICS` of one job, in their order: all NaN if no core did anything.

    - ``cov``: σ(t)/mean(t) with the population's σ.
    - ``imbalance``: max(t)/mean(t) - 1. ``load_balance``: mean(t)/max(t), as POP has it.
    - ``percent_imbalance``: (max(t) - mean(t))/max(t) · P/(P - 1) (DeRose, Homer and Johnson 2007,
      doi:10.1007/978-3-540-74466-5_17), as a fraction: 1 if one core did everything; 0 for P = 1.
    - ``max_minus_mean_ns``: max(t) - mean(t).
    - ``sakellariou_lr``: 1 - ΣW/(P·max(W)).
    - ``efficiency``: work/(T · Σ speed), with the speeds at the job's start; T_seq/(P·T) if all cores are equal. It may
      exceed 1 if speeds change later.
    - ``scheduling_ns`` as given, and ``scheduling_share``, its share of P·T.
    - ``rounds``: the assigned chunks. ``length_cov`` as given. ``computing_ns``: ΣW.

    ``finish_ns``: the cores' finishing instants, none before ``start_ns``. ``busy_ns``: the time of each core in tasks, without
    overhead, latency and waiting. ``scheduling_ns``: the total cost of assigning chunks."""
    n, last, total, busiest, busy, speed = finish_ns.size, 0, 0.0, 0, 0.0, 0.0
    for p in range(n):
        last = max(last, finish_ns[p] - start_ns)
        total += float(finish_ns[p] - start_ns)
        busiest = max(busiest, busy_ns[p])
        busy += float(busy_ns[p])
        speed += speed_gflops[p]
    if last == 0:
        values[:] = math.nan
        return
    most, mean = float(last), total / n
    beyond = max(0.0, most - mean)
    values[0] = finish_cov(finish_ns, start_ns)
    values[1] = finish_imbalance(finish_ns, start_ns)
    values[2] = min(1.0, mean / most)
    values[3] = beyond / most * (n / (n - 1.0)) if n > 1 else 0.0
    values[4] = beyond
    values[5] = max(0.0, 1.0 - busy / (n * float(busiest))) if busiest > 0 else math.nan
    values[6] = total_gflop / (most * 1e-9 * speed) if speed > 0.0 else math.nan
    values[7] = float(scheduling_ns)
    values[8] = float(scheduling_ns) / (n * most)
    values[9] = float(chunks)
    values[10] = length_cov
    values[11] = busy


def by_name(metrics: Sequence[tuple[str, str]], values: Array) -> dict[str, float]:
    """Return the values of metrics by their names."""
    return {name: float(value) for (name, _), value in zip(metrics, values, strict=True)}


def application_metrics(
    tasks: Array, chunks: Array, imbalance: Array, cov: Array, loops: Array, capacity_ns: float, *, detail: bool = True
) -> dict[str, Any]:
    """Return totals and means of the application level over jobs.

    Parameters
    ----------
    tasks, chunks : int64 (n,)
    imbalance, cov : float64 (n,)
        Per job; NaN without an application level.
    loops : float64 (K, n)
        The values of :func:`measure` per job, one row per metric; NaN as above.
    capacity_ns : float
        Cores of the machine × makespan.
    detail : bool
        Whether to compute ``distribution``: :func:`distributions` of :data:`LOOP_METRICS`.

    Returns
    -------
    dict
        ``tasks`` and ``chunks`` (totals), mean and maximum of ``imbalance`` and ``cov`` over jobs, and
        ``computing_utilisation``, the time of cores in tasks over ``capacity_ns``; the last five are None if no job had an
        application level.
    """
    known = ~np.isnan(imbalance)
    some = bool(known.any())
    figures: dict[str, Any] = {"tasks": int(tasks.sum()), "chunks": int(chunks.sum())}
    for name, row in (("imbalance", imbalance[known]), ("cov", cov[known])):
        figures[f"mean_{name}"] = float(row.mean()) if some else None
        figures[f"max_{name}"] = float(row.max()) if some else None
    computing_ns = float(np.nansum(loops[-1]))
    figures["computing_utilisation"] = computing_ns / capacity_ns if some and capacity_ns else None
    if detail:
        figures["distribution"] = distributions(LOOP_METRICS, loops)
    return figures


def distributions(metrics: Sequence[tuple[str, str]], values: Array) -> dict[str, dict[str, float | None]]:
    """Return the distributions of metrics over the jobs that have them. ``values`` has one row per metric, with NaN for jobs
    that have none. Each metric has its mean, median, percentiles 10 and 90 (linear between neighbours) and maximum, each None
    if no job has it."""
    return {name: _distribution(row) for (name, _), row in zip(metrics, values, strict=True)}


def _distribution(row: Array) -> dict[str, float | None]:
    known = row[~np.isnan(row)]
    if len(known) == 0:
        return dict.fromkeys(("mean", "median", "p10", "p90", "max"))
    mean, most = float(known.mean()), float(known.max())
    p10, median, p90 = np.percentile(known, [10.0, 50.0, 90.0], overwrite_input=True).tolist()  # ``known`` is ours
    return {"mean": mean, "median": median, "p10": p10, "p90": p90, "max": most}
