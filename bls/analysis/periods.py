"""A log by the years, months, weeks, days or hours of its calendar: jobs, work and offered load of each."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta

import numpy as np

from bls.workloads.calendar import Calendar
from bls.workloads.workload import Workload
from traces.base.time import NS_PER_S
from traces.compiled import Array

_WEEK = 7


@dataclass(frozen=True)
class Period:
    """A stretch of the log: a year, a month, a week, a day or an hour of its calendar."""

    start: str  # its beginning in the log's zone, ISO: a date, of an hour date and time
    # what of it lies between the first submit and the last, since time 0: [start, stop)
    start_ns: int
    stop_ns: int
    whole: bool  # whether all of it does
    jobs: int  # jobs submitted in it
    work_core_s: float  # their cores × run time
    # offered load: that work / (platform cores × length of the part). None where less than half of the period lies in
    # the log: a large job just before the end of a log is no load of thousands.
    load: float | None


def periods(workload: Workload, calendar: Calendar, n_cores: int, work: Array, kind: str) -> tuple[Period, ...]:
    """What is submitted in every year, month, week (from Monday), day or hour from the first submit to the last.

    - ``workload``, ``calendar``: the log, and its calendar
    - ``work``, float64 (n,): :func:`bls.analysis.statistics.work_core_s`
    - ``kind``, {"year", "month", "week", "day", "hour"}: what is counted by
    """
    submit = workload.submit_ns
    first_ns, last_ns = int(submit[0]), int(submit[-1])
    zero_s, last = round(calendar.date(0).timestamp()), calendar.date(last_ns).timestamp()
    starts = [_floor(calendar.date(first_ns), kind)]
    while (following := _next(starts[-1], kind)).timestamp() <= last:
        starts.append(following)
    edges = [(round(at.timestamp()) - zero_s) * NS_PER_S for at in (*starts, following)]
    rows = [0, *np.searchsorted(submit, edges[1:-1]).tolist(), len(submit)]
    found = []
    for at, lo, hi, first, stop in zip(starts, edges, edges[1:], rows, rows[1:], strict=False):
        start_ns, stop_ns = max(lo, first_ns), min(hi, last_ns)
        part, done = stop_ns - start_ns, float(np.sum(work[first:stop]))
        found.append(
            Period(
                start=at.strftime("%Y-%m-%dT%H:%M") if kind == "hour" else at.date().isoformat(),
                start_ns=start_ns,
                stop_ns=stop_ns,
                whole=part == hi - lo,
                jobs=stop - first,
                work_core_s=done,
                load=done / (n_cores * (part / NS_PER_S)) if 2 * part >= hi - lo else None,
            )
        )
    return tuple(found)


def _floor(at: datetime, kind: str) -> datetime:
    if kind == "hour":
        return at.replace(minute=0, second=0, microsecond=0)
    day = at.date()
    if kind in ("year", "month"):
        day = day.replace(day=1) if kind == "month" else date(day.year, 1, 1)
    elif kind == "week":
        day -= timedelta(days=day.weekday())
    return datetime(day.year, day.month, day.day, tzinfo=at.tzinfo)


def _next(at: datetime, kind: str) -> datetime:
    if kind == "hour":  # through UTC: an hour that daylight saving repeats comes twice
        return datetime.fromtimestamp(at.timestamp() + 3600, at.tzinfo)
    day: date = at.date()
    if kind == "month":
        day = date(day.year + day.month // 12, day.month % 12 + 1, 1)
    elif kind == "year":
        day = date(day.year + 1, 1, 1)
    else:
        day += timedelta(days=_WEEK if kind == "week" else 1)
    return datetime(day.year, day.month, day.day, tzinfo=at.tzinfo)
