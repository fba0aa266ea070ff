"""Statistics of a log, each a pure function of a workload: arrivals, run times, estimates, users, classes, periods.

``bls.analysis.description`` combines them. Shares are fractions, times nanoseconds, work core-seconds; percentiles and medians
between two jobs are interpolated linearly.
"""

from dataclasses import dataclass
from datetime import date, datetime, timedelta

import numpy as np

from bls.workloads.columns import distinct
from bls.workloads.header import Calendar
from bls.workloads.workload import Workload
from traces.base.time import NS_PER_S
from traces.compiled import Array

_PARTS = 20  #: bars of the histogram of run time / estimate: one for every 5 % up to 100 %
_AT_LIMIT = 0.01  #: largest relative distance from its estimate of a run time that ended "at the limit"
_POPULAR, _TOP_USERS = 20, 10


@dataclass(frozen=True)
class ColumnSpread:
    """Smallest, median, mean and largest of a column, in its own unit."""

    min: float
    median: float
    mean: float
    max: float


@dataclass(frozen=True)
class Percentiles:
    """The distribution of a column, in its own unit: ``at[k]`` has k % of the jobs at or below it (k = 0 to 100)."""

    at: tuple[float, ...]

    def spread(self, mean: float) -> ColumnSpread:
        """Its smallest, median and largest value, after a mean."""
        return ColumnSpread(self.at[0], self.at[50], mean, self.at[100])


@dataclass(frozen=True)
class SubmitClocks:
    """Times of submits, in the local time of the log."""

    zone: str  # time zone of all hours and dates here, as ``Europe/Paris``, ``UTC+01:00`` or ``UTC``
    # time 0 of the log as an ISO date. None if the log does not state it; then time 0 counts as Monday, 1 January 2001,
    # 00:00 UTC.
    start: str | None
    # the first submit and the last, ISO, to the second
    first: str
    last: str
    remarks: tuple[str, ...]  # facts about time in the header that could not be used
    by_hour: tuple[int, ...]  # jobs by hour of the day
    by_weekday: tuple[int, ...]  # jobs by day of the week, from Monday
    by_month: tuple[int, ...]  # jobs by month of the year, from January
    by_weekday_and_hour: tuple[tuple[int, ...], ...]  # jobs by both
    interarrival_ns: ColumnSpread | None  # times between one submit and the next. None for a single job.


@dataclass(frozen=True)
class Estimates:
    """Accuracy of the users' estimates, over the jobs that have a run time."""

    accuracy: Percentiles  # run time / estimate
    # jobs with run time / estimate in (0, 5 %], (5 %, 10 %] … (95 %, 100 %], and above
    accuracy_counts: tuple[int, ...]
    # jobs whose estimate is the run time, including jobs without an estimate in the log, for which the run time is used
    exact: int
    # jobs with a run time within 1 % of the estimate, including exact estimates: most were ended by the limit
    at_limit: int
    distinct: int  # different estimates
    # rows (estimate, jobs) of the 20 most frequent estimates, the most frequent first
    popular: tuple[tuple[int, int], ...]
    # jobs whose estimate is a multiple of 5 minutes, and of an hour
    five_minutes: int
    hours: int


@dataclass(frozen=True)
class Members:
    """One queue, partition, quality of service, status or user, and its jobs."""

    number: int  # number in the log; -1 for jobs without one
    name: str  # name in the header (statuses: in the format); empty without one
    jobs: int  # number of its jobs
    work_core_s: float  # their cores × run time


@dataclass(frozen=True)
class Users:
    """Shares of users in the machine, over the jobs whose user is known."""

    # different ones
    users: int
    groups: int
    unknown: int  # jobs without a user
    half: int  # the smallest number of users that together submitted half of the jobs
    top: tuple[Members, ...]  # the 10 users with most jobs
    # rows (k, share of the jobs that the k users with most jobs submitted, share of the work of the k users with most
    # work), for some k from 1 to all
    curve: tuple[tuple[int, float, float], ...]


def work_core_s(workload: Workload) -> Array:
    """Cores × run time of every job (float64, core-seconds); 0 if the run time is unknown."""
    work = workload.cores.astype(np.float64) * workload.run_ns / NS_PER_S
    work[workload.run_unknown] = 0.0
    return work


def spread(column: Array) -> ColumnSpread:
    """Smallest, median, mean and largest."""
    values = column.astype(np.float64)  # a sum of times may be beyond int64
    return percentiles(column).spread(float(values.mean()))


def percentiles(column: Array) -> Percentiles:
    """The 0 % to 100 % percentiles of a column that has at least one row."""
    ordered = np.sort(column)
    last = len(ordered) - 1
    steps = np.arange(101) * last
    below = steps // 100
    low, high = ordered[below].astype(np.float64), ordered[np.minimum(below + 1, last)].astype(np.float64)
    return Percentiles(tuple((low + (high - low) * (steps % 100 / 100)).tolist()))


def arrivals(workload: Workload, calendar: Calendar) -> SubmitClocks:
    """The times of submits."""
    submit = workload.submit_ns
    by_both = np.bincount(calendar.weekday(submit) * 24 + calendar.hour(submit), minlength=7 * 24).reshape(7, 24)
    return SubmitClocks(
        zone=str(calendar.zone),
        start=calendar.start.isoformat() if calendar.start else None,
        first=calendar.date(int(submit[0])).isoformat(),
        last=calendar.date(int(submit[-1])).isoformat(),
        remarks=calendar.remarks,
        by_hour=tuple(by_both.sum(axis=0).tolist()),
        by_weekday=tuple(by_both.sum(axis=1).tolist()),
        by_month=tuple(np.bincount(calendar.month(submit) - 1, minlength=12).tolist()),
        by_weekday_and_hour=tuple(tuple(row) for row in by_both.tolist()),
        interarrival_ns=spread(np.diff(submit)) if len(submit) > 1 else None,
    )


def estimates(run_ns: Array, estimate_ns: Array) -> Estimates:
    """The accuracy of the estimates of jobs with these run times."""
    ratio = run_ns / estimate_ns
    # Exact at the ends of the bars: for 20 = 16 + 4, (k / 20) × 20 is k again in binary floating point.
    counts = np.bincount(np.clip(np.ceil(ratio * _PARTS), 1, _PARTS + 1).astype(np.int64) - 1, minlength=_PARTS + 1)
    values, jobs = np.unique(estimate_ns, return_counts=True)
    most = np.lexsort((values, -jobs))[:_POPULAR]
    return Estimates(
        accuracy=percentiles(ratio),
        accuracy_counts=tuple(counts.tolist()),
        exact=int(np.count_nonzero(run_ns == estimate_ns)),
        at_limit=int(np.count_nonzero(np.abs(ratio - 1) <= _AT_LIMIT)),
        distinct=len(values),
        popular=tuple(zip(values[most].tolist(), jobs[most].tolist(), strict=True)),
        five_minutes=int(jobs[values % (300 * NS_PER_S) == 0].sum()),
        hours=int(jobs[values % (3600 * NS_PER_S) == 0].sum()),
    )


def members(numbers: Array, work: Array, names: dict[int, str] | None = None) -> tuple[Members, ...]:
    """The different numbers of a column, those with most jobs first; empty if no job has one. ``numbers``, int64 (n,): the
    number of every job, -1 if unknown. ``work``: :func:`work_core_s`. ``names``: names of the numbers."""
    values, place = distinct(numbers)
    jobs, done = np.bincount(place), np.bincount(place, weights=work)
    if len(values) == 1 and values[0] == -1:
        return ()
    order = np.lexsort((values, -jobs))
    rows = zip(values[order].tolist(), jobs[order].tolist(), done[order].tolist(), strict=True)
    return tuple(Members(number, (names or {}).get(number, ""), n, core_s) for number, n, core_s in rows)


def users(workload: Workload, work: Array) -> Users | None:
    """The shares of users in the machine; None if the log names no user."""
    known = workload.user >= 0
    all_users = members(workload.user[known], work[known]) if known.any() else ()
    if not all_users:
        return None
    n_jobs = np.cumsum([one.jobs for one in all_users])
    done = np.cumsum(sorted((one.work_core_s for one in all_users), reverse=True))
    last = len(all_users)
    ranks = np.unique(np.round(np.geomspace(1, last, 41)).astype(np.int64))
    share, of_work = n_jobs / n_jobs[-1], done / done[-1] if done[-1] > 0 else np.zeros(last)
    return Users(
        users=last,
        groups=len(np.unique(workload.group[workload.group >= 0])),
        unknown=int(np.count_nonzero(~known)),
        half=int(np.searchsorted(2 * n_jobs, n_jobs[-1])) + 1,
        top=all_users[:_TOP_USERS],
        curve=tuple((k, float(share[k - 1]), float(of_work[k - 1])) for k in ranks.tolist()),
    )


@dataclass(frozen=True)
class Period:
    """A period of the log: a year, a month, a week, a day or an hour of its calendar."""

    start: str  # its beginning in the log's zone, ISO: a date; for an hour, date and time
    # its part between the first submit and the last, since time 0: [start, stop)
    start_ns: int
    stop_ns: int
    whole: bool  # whether all of it does
    jobs: int  # jobs submitted in it
    work_core_s: float  # their cores × run time
    # offered load: that work / (platform cores × length of the part). None if less than half of the period lies in the log,
    # since one large job just before the end of a log would give a load of thousands.
    load: float | None


def periods(workload: Workload, calendar: Calendar, n_cores: int, work: Array, kind: str) -> tuple[Period, ...]:
    """Submitted jobs and work in every period from the first submit to the last; ``kind``: year, month, week (from Monday), day
    or hour. ``work``: :func:`work_core_s`."""
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
        start = at.strftime("%Y-%m-%dT%H:%M") if kind == "hour" else at.date().isoformat()
        load = done / (n_cores * (part / NS_PER_S)) if 2 * part >= hi - lo else None
        found.append(Period(start, start_ns, stop_ns, part == hi - lo, stop - first, done, load))
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
    if kind == "hour":  # through UTC: an hour that daylight saving repeats occurs twice
        return datetime.fromtimestamp(at.timestamp() + 3600, at.tzinfo)
    day: date = at.date()
    if kind == "month":
        day = date(day.year + day.month // 12, day.month % 12 + 1, 1)
    elif kind == "year":
        day = date(day.year + 1, 1, 1)
    else:
        day += timedelta(days=7 if kind == "week" else 1)
    return datetime(day.year, day.month, day.day, tzinfo=at.tzinfo)
