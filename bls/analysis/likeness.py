"""Distances between a generated workload and its source: distances between the distributions of their jobs' properties.

The hour of the day, the weekday and the month of the submits (local time) are cyclic: their shares are compared bin by bin, and

* ``ks``, the distance of Kolmogorov and Smirnov, is the largest difference between the two cumulative shares, counted from
  midnight, Monday and January;
* ``kuiper`` is the sum of the largest differences in both directions, which does not depend on the beginning of the count;
* ``wasserstein`` is the work of moving one distribution to the other, along the shorter way around the cycle.

The time between two submits, cores, run time and GFLOP are not cyclic: ``ks`` and ``wasserstein`` are those of two
samples on a line, and there is no ``kuiper``. A Wasserstein distance is in the unit of its row.

The distance between two logs of the same machine is estimated by :func:`halves`: the distances between the even and the odd
weeks of one log. Both halves have all weekdays and hours, the same seasons and the same growth, and keep bursts of submits.

Sources: N. Kuiper, "Tests concerning random points on a circle", Indag. Math. 63, 1960; J. Rabin, J. Delon, Y. Gousseau,
"Transportation distances on the circle", J. Math. Imaging Vis. 41, 2011, doi:10.1007/s10851-011-0284-0.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from bls.workloads.header import Calendar, header_facts
from bls.workloads.workload import Workload
from traces.base.errors import InputError, parse_real
from traces.base.time import NS_PER_S
from traces.compiled import Array

CYCLES: Mapping[str, int] = {"hour": 24, "weekday": 7, "month": 12}  #: cyclic quantities, with the number of their bins

#: The compared quantities, with their units.
QUANTITIES: Mapping[str, str] = {
    "hour": "h", "weekday": "d", "month": "months", "interarrival": "s", "cores": "cores", "run time": "s",
    "work": "GFLOP",
}  # fmt: skip

_BINS = 36
_MEASURES = ("ks", "kuiper", "wasserstein")


def gflop(workload: Workload, core_gflops: float | None = None) -> Array:
    """The work of each job in GFLOP: run time × the speed of its requested cores and cards; float64 (n,). The header may
    give the speed of a core (``CoreGflops``) and, for a further column ``gpu``, of a card (``GpuGflops``). ``core_gflops``: the
    speed of a core in GFLOP/s without such a header; by default 1."""
    facts = header_facts(workload.header)
    speed = _speed(facts.get("CoreGflops")) or core_gflops or 1.0
    every_second = workload.cores * speed
    cards, unit = workload.extras.get("gpu"), workload.extras.get("unit_cores")
    if cards is not None and unit is not None:
        units = workload.cores // np.maximum(unit, 1)
        every_second = every_second + units * np.maximum(cards, 0) * (_speed(facts.get("GpuGflops")) or 0.0)
    return np.asarray(workload.run_ns / NS_PER_S * every_second)


def _speed(text: str | None) -> float | None:
    try:
        value = parse_real((text or "").strip())
    except ValueError:
        return None
    return value if 0.0 < value < math.inf else None


def _source_speed(source: Workload, generated: Workload) -> float | None:
    if _speed(header_facts(source.header).get("CoreGflops")):
        return None
    return _speed(header_facts(generated.header).get("SourceCoreGflops"))


def _samples(workload: Workload, core_gflops: float | None, chosen: Array | None = None) -> dict[str, Array]:
    """The shares of the bins of each cycle, and a sorted sample of each other quantity. ``chosen``: rows of jobs, and of the
    times since the previous job if this is in the same week."""
    calendar = Calendar.of(workload)
    rows = np.arange(len(workload)) if chosen is None else np.flatnonzero(chosen)
    submit = workload.submit_ns[rows]
    gaps = np.diff(workload.submit_ns) / NS_PER_S
    if chosen is not None:
        gaps = gaps[chosen[1:] & chosen[:-1]]
    return {
        "hour": np.bincount(calendar.hour(submit), minlength=24) / len(rows),
        "weekday": np.bincount(calendar.weekday(submit), minlength=7) / len(rows),
        "month": np.bincount(calendar.month(submit) - 1, minlength=12) / len(rows),
        "interarrival": np.sort(gaps),
        "cores": np.sort(workload.cores[rows]).astype(np.float64),
        "run time": np.sort(workload.run_ns[rows]) / NS_PER_S,
        "work": np.sort(gflop(workload, core_gflops)[rows]),
    }


def likeness(source: Workload, generated: Workload) -> list[dict[str, Any]]:
    """The distances between a source and a workload made from it, of at least two jobs each: a row for each of
    :data:`QUANTITIES` with ``quantity``, ``unit``, ``ks``, ``kuiper`` (NaN if it is not cyclic), ``wasserstein``. If
    the source's header gives no speed, work is computed with the speed in the generated workload's header. Raises
    InputError if one of them has a single job."""
    for workload in (source, generated):
        if len(workload) < 2:
            raise InputError(f"{workload.source}: a single job has no distributions; allowed: at least 2 jobs")
    speed = _source_speed(source, generated)
    return _distances(_samples(source, speed), _samples(generated, speed))


def halves(source: Workload, core_gflops: float | None = None) -> list[dict[str, Any]]:
    """The distances between the even and the odd weeks (from Monday) of a log, as :func:`likeness`. The time between two
    jobs of different halves belongs to neither. Raises InputError if one half has less than two jobs in one week."""
    even = _even_weeks(source)
    if not _both(even):
        raise InputError(f"{source.source}: too short to be halved; allowed: jobs in an even and in an odd week")
    return _distances(_samples(source, core_gflops, even), _samples(source, core_gflops, ~even))


def _even_weeks(source: Workload) -> Array:
    week = (Calendar.of(source).day(source.submit_ns) + 3) // 7  # 1 January 1970 was a Thursday
    return np.asarray(week % 2 == 0)


def _both(even: Array) -> bool:
    # Whether both halves have two jobs in one week.
    return all(bool(np.any(half[1:] & half[:-1])) for half in (even, ~even))


def likeness_table(source: Workload, generated: Workload) -> list[dict[str, Any]]:
    """The rows of :func:`likeness`, with the corresponding distances between the source's halves (``ks_halves``, …), NaN
    if the source is too short to be halved."""
    even = _even_weeks(source)
    speed = _source_speed(source, generated)
    own = halves(source, speed) if _both(even) else [dict.fromkeys(_MEASURES, math.nan)] * len(QUANTITIES)
    return [
        row | {f"{name}_halves": half[name] for name in _MEASURES}
        for row, half in zip(likeness(source, generated), own, strict=True)
    ]


def distributions(source: Workload, generated: Workload) -> list[dict[str, Any]]:
    """The input of the figure ``traces.figures.workload.likeness``: shares of jobs by hour, weekday, month and work, in
    rows with ``panel`` ("hour", "weekday", "month", "work"), ``at`` (the hour 0 to 23, the weekday 0 (Monday) to 6, the
    month 1 to 12, the middle of a bin in log10 GFLOP), ``source`` and ``generated`` (shares, which sum to 1 in each panel)."""
    speed = _source_speed(source, generated)
    first, second = _samples(source, speed), _samples(generated, speed)
    rows = [
        {"panel": name, "at": float(k + (name == "month")), "source": float(a), "generated": float(b)}
        for name in CYCLES
        for k, (a, b) in enumerate(zip(first[name], second[name], strict=True))
    ]
    logs = [np.log10(sample["work"]) for sample in (first, second)]
    low, high = min(log[0] for log in logs), max(log[-1] for log in logs)
    edges = np.linspace(low, high if high > low else low + 1.0, _BINS + 1)
    shares = [np.histogram(log, edges)[0] / len(log) for log in logs]
    middles = (edges[:-1] + edges[1:]) / 2
    rows += [
        {"panel": "work", "at": float(at), "source": float(a), "generated": float(b)}
        for at, a, b in zip(middles, *shares, strict=True)
    ]
    return rows


def _distances(first: Mapping[str, Array], second: Mapping[str, Array]) -> list[dict[str, Any]]:
    rows = []
    for name, unit in QUANTITIES.items():
        measured = (_round if name in CYCLES else _line)(first[name], second[name])
        rows.append({"quantity": name, "unit": unit} | dict(zip(_MEASURES, measured, strict=True)))
    return rows


def _round(first: Array, second: Array) -> tuple[float, float, float]:
    """Distances of shares of cyclic bins; a bin is one unit wide."""
    apart = np.cumsum(first - second)  # its last is 0, up to rounding
    moved = float(np.abs(apart - np.median(apart)).sum())
    return float(np.abs(apart).max()), float(apart.max() - apart.min()), moved


def _line(first: Array, second: Array) -> tuple[float, float, float]:
    both = np.sort(np.concatenate([first, second]))
    shares = [np.searchsorted(sample, both, side="right") / len(sample) for sample in (first, second)]
    apart = np.abs(shares[0] - shares[1])
    return float(apart.max()), math.nan, float((apart[:-1] * np.diff(both)).sum())
