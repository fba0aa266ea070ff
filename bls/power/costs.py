"""Numbers computed from a finished run's power: costs, emissions, and the power of the whole facility.

Energies are exact sums over pieces of constant power; each result is an exact fraction that is rounded once.
Source: The Green Grid, *PUE: A comprehensive examination of the metric*, white paper 49, 2012 (power usage effectiveness).
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from bls.options import PUE
from bls.power.accounting import PJ_PER_J, Energy, PowerRun, PowerSeries, job_pieces
from bls.power.signals import KINDS, PARTS, Signals
from traces.base.errors import InputError, shown
from traces.compiled import Array
from traces.intervals import intervals_of

_PJ_PER_KWH: Final = 3_600_000 * PJ_PER_J

#: Metrics from prices and emissions: of the machine, and of the cores that jobs held.
COST_METRICS: Final = ("cost", "cost_jobs", "co2e_g", "co2e_jobs_g")

FACILITY_METRICS: Final = ("facility_energy_j", "facility_mean_pue", "facility_peak_w")  #: metrics from a PUE


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


def facility_metrics(power: FinishedPower, pue: "Pue") -> dict[str, float | None]:
    """Compute the energy of the facility, its mean PUE (None without energy), and its highest power."""
    series, total = power.series, power.series.energy_pj()
    levels, of = np.unique(series.power_mw, return_inverse=True)
    lasts = np.zeros(len(levels), np.int64)
    np.add.at(lasts, of.reshape(-1), np.diff(np.append(series.instant_ns, series.until_ns)))
    drawn = [mw * pue.at(Fraction(mw, max(1, power.full_mw))) for mw in levels.tolist()]
    used = sum((mw * ns for mw, ns in zip(drawn, lasts.tolist(), strict=True)), start=Fraction(0))
    peak = max(drawn, default=Fraction(0))
    values = (float(used / PJ_PER_J), float(used / total) if total else None, float(peak / 1000))
    return dict(zip(FACILITY_METRICS, values, strict=True))


def _spent(
    signals: Signals, pieces: Iterable[tuple[Array, Array, Array, Array]], n: int
) -> tuple[dict[str, Array], dict[str, float]]:
    # Costs and emissions, each rounded once, by metric: of each consumer, float64 (n,), and of all. ``pieces``, (place,
    # start_ns, end_ns, mw), int64 each: consumer ``place`` of n draws this power from the start to the end.
    k = len(signals.instant_ns)
    exact = {name: [0] * n for name in signals.values}
    for place, start, end, mw in pieces:
        row, segment, lasts = _cut(signals.instant_ns, start, end)
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


def _cut(instant_ns: Array, start: Array, end: Array) -> tuple[Array, Array, Array]:
    # Cut spans where a signal changes: the row of the span, the number of the value, and its duration.
    first = np.searchsorted(instant_ns, start, side="right") - 1
    last = np.maximum(first, np.searchsorted(instant_ns, end, side="left") - 1)
    row = np.repeat(np.arange(len(start)), last - first + 1)
    segment = intervals_of(first, last - first + 1)
    until = np.append(instant_ns[1:], np.iinfo(np.int64).max)
    return row, segment, np.minimum(end[row], until[segment]) - np.maximum(start[row], instant_ns[segment])


_MOST_PUE: Final = 100
_PUE_NUMBER: Final = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,6})?")
_ALLOWED: Final = f"1 to {_MOST_PUE}, e.g. 1.4, or one per load, ascending from 0% to 100%, as 0%:2 50%:1.5 100%:1.3"


@dataclass(frozen=True)
class Pue:
    """The PUE at ``loads``, shares from 0 to 1, ascending, at least one; ``values`` of at least 1."""

    loads: tuple[Fraction, ...]
    values: tuple[Fraction, ...]

    def at(self, load: Fraction) -> Fraction:
        """The PUE at a load."""
        place = bisect_right(self.loads, load)
        if place == 0 or place == len(self.loads):
            return self.values[max(0, place - 1)]
        (low, high), (first, second) = self.loads[place - 1 : place + 1], self.values[place - 1 : place + 1]
        return first + (second - first) * (load - low) / (high - low)


def parse_pue(text: str) -> Pue:
    """Read a PUE as users write it. Raises InputError if it is not valid, or its loads do not ascend."""
    parts = text.split()
    if len(parts) == 1 and ":" not in text:
        return Pue((Fraction(0),), (_value(parts[0], text, 1, _MOST_PUE),))
    loads: list[Fraction] = []
    values: list[Fraction] = []
    for part in parts:
        load, colon, value = part.partition(":")
        if not colon or not load.endswith("%"):
            raise _wrong(text)
        loads.append(_value(load.removesuffix("%"), text, 0, 100) / 100)
        values.append(_value(value, text, 1, _MOST_PUE))
    if not loads or any(second <= first for first, second in pairwise(loads)):
        raise _wrong(text)
    return Pue(tuple(loads), tuple(values))


def _value(word: str, text: str, least: int, most: int) -> Fraction:
    if not _PUE_NUMBER.fullmatch(word) or not least <= (found := Fraction(word)) <= most:
        raise _wrong(text)
    return found


def _wrong(text: str) -> InputError:
    return InputError(f"{PUE}: {shown(text)}; allowed: {_ALLOWED}")
