"""Costs and emissions, computed from a finished run's power.

Energies are exact sums over pieces of constant power; each result is an exact fraction that is rounded once.
"""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

import numpy as np

from bls.power.accounting import PJ_PER_J, Energy, PowerRun, PowerSeries, cut_at, job_pieces
from bls.power.signals import KINDS, PARTS, Signals
from traces.compiled import Array

_PJ_PER_KWH: Final = 3_600_000 * PJ_PER_J

#: Metrics from prices and emissions: of the machine, and of the cores that jobs held.
COST_METRICS: Final = ("cost", "cost_jobs", "co2e_g", "co2e_jobs_g")


class FinishedPower(NamedTuple):
    """The power of a finished run."""

    series: PowerSeries  # of the machine
    full_mw: int  # its power at full load
    run: Callable[[], PowerRun]  # for the power of its jobs


class EnergyCosts(NamedTuple):
    """Costs and emissions of a run."""

    metrics: dict[str, float]  # the metrics of :data:`COST_METRICS` for which there are signals
    jobs: dict[str, Array]  # float64 (rows,): ``cost`` and ``co2e_g`` of each row of the table of jobs


def costs(power: FinishedPower, signals: Signals) -> EnergyCosts:
    """Compute the costs and emissions of a run: of its machine from the first submit to the last end, and of its jobs."""
    series = power.series
    ends = np.append(series.instant_ns[1:], series.until_ns)
    _, machine = _spent(signals, [(np.zeros(len(series), np.int64), series.instant_ns, ends, series.power_mw)], 1)
    run = power.run()
    pieces = [(one.job, one.start_ns, one.end_ns, one.drawn_mw) for one in job_pieces(run)]
    jobs, total = _spent(signals, pieces, len(run.ledger.jobs))
    names = dict(zip(COST_METRICS[::2], COST_METRICS[1::2], strict=True))
    found = machine | {names[metric]: value for metric, value in total.items()}
    return EnergyCosts({name: found[name] for name in COST_METRICS if name in found}, jobs)


def _spent(
    signals: Signals, pieces: Iterable[tuple[Array, Array, Array, Array]], n: int
) -> tuple[dict[str, Array], dict[str, float]]:
    # Costs and emissions, each rounded once, by metric: of each consumer, float64 (n,), and of all. ``pieces``, (place,
    # start_ns, end_ns, mw), int64 each: consumer ``place`` of n draws this power from the start to the end.
    k, until = len(signals.instant_ns), np.iinfo(np.int64).max
    exact = {name: [0] * n for name in signals.values}
    for place, start, end, mw in pieces:
        row, segment, lasts = cut_at(np.append(signals.instant_ns, until), start, end)
        keys, of = np.unique(place[row] * k + segment, return_inverse=True)
        energies = Energy.of(mw[row], lasts).by(of.reshape(-1), len(keys)).pj_each()
        owners, segments = (keys // k).tolist(), (keys % k).tolist()
        for name, values in signals.values.items():
            mine = exact[name]
            for owner, at, pj in zip(owners, segments, energies, strict=True):
                mine[owner] += pj * values[at]
    unit = _PJ_PER_KWH * PARTS
    each = {KINDS[name]: np.array([value / unit for value in mine], np.float64) for name, mine in exact.items()}
    return each, {KINDS[name]: sum(mine) / unit for name, mine in exact.items()}
