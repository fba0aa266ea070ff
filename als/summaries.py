"""Totals, means and distributions of the application level's metrics, over the jobs of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from als.metrics.loops import LOOP_METRICS
from traces.compiled import Array


def by_name(metrics: Sequence[tuple[str, str]], values: Array) -> dict[str, float]:
    """The values of metrics, by their names."""
    return {name: float(value) for (name, _), value in zip(metrics, values, strict=True)}


def application_metrics(
    tasks: Array, chunks: Array, imbalance: Array, cov: Array, loops: Array, capacity_ns: float, *, detail: bool = True
) -> dict[str, Any]:
    """Totals and means over jobs of what the application level did.

    Parameters
    ----------
    tasks, chunks, imbalance, cov : int64 (n,), int64 (n,), float64 (n,), float64 (n,)
        Per job; the last two are NaN where there was no application level.
    loops : float64 (K, n)
        Per job what :func:`als.metrics.loops.measure` found, one row per metric; NaN where there was no application level.
    capacity_ns : float
        Cores of the machine × makespan.
    detail : bool
        Whether to find ``distribution``, too.

    Returns
    -------
    dict
        ``tasks``, ``chunks`` (totals), mean and maximum of ``imbalance`` and ``cov`` over jobs, and
        ``computing_utilisation``, the time that cores spent in tasks over ``capacity_ns``; the last five are None where no
        job had an application level. ``distribution`` is :func:`distributions` of :data:`LOOP_METRICS`.
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
    """How metrics are distributed over the jobs that have them.

    ``values`` has one row per metric, with NaN for jobs that have none. Each metric has its mean, median, percentiles 10 and 90
    (linear between neighbours) and maximum, each None where no job has it.
    """
    return {name: _distribution(row) for (name, _), row in zip(metrics, values, strict=True)}


def _distribution(row: Array) -> dict[str, float | None]:
    known = row[~np.isnan(row)]
    if len(known) == 0:
        return dict.fromkeys(("mean", "median", "p10", "p90", "max"))
    mean, most = float(known.mean()), float(known.max())
    p10, median, p90 = np.percentile(known, [10.0, 50.0, 90.0], overwrite_input=True).tolist()  # ``known`` is ours
    return {"mean": mean, "median": median, "p10": p10, "p90": p90, "max": most}
