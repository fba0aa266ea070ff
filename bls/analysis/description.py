"""The statistics that ``twolevel workload info`` prints, and their text."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from bls.analysis import statistics as st
from bls.analysis.statistics import ColumnSpread, Estimates, Members, Percentiles, Period, SubmitClocks, Users
from bls.engine.features.prediction.options import ESTIMATES
from bls.estimates import predictable_by_name
from bls.machine.platform import Platform
from bls.options import SELECT
from bls.workloads.header import Calendar, header_facts, names_in
from bls.workloads.selection import busiest_window, heaviest_window
from bls.workloads.workload import Workload
from traces.base.errors import InputError, in_python, spelled
from traces.base.time import NS_PER_S, format_ns
from traces.compiled import Array

_DAY_NS = 24 * 3600 * NS_PER_S

#: Steps of the time line, with their lengths in days; the longest step that the log contains at least 20 times is used.
_STEPS = (("year", 365.0), ("month", 30.0), ("week", 7.0), ("day", 1.0), ("hour", 1 / 24))
_LEAST_STEPS = 20

#: Meanings of SWF's status numbers.
STATUSES = {
    -1: "unknown", 0: "failed", 1: "completed", 2: "part, to be continued", 3: "last part, completed",
    4: "last part, failed", 5: "cancelled",
}  # fmt: skip


@dataclass(frozen=True)
class Description:
    """Figures of a workload on a platform."""

    source: str  # the workload's file
    # the platform's name and number of cores
    platform: str
    platform_cores: int
    # lines of the file that are neither comment nor blank, and the jobs described
    lines: int
    jobs: int
    rejects: dict[str, int]  # rejected lines by reason
    # jobs that were moved to their place by submit, and jobs narrowed to the platform
    reordered: int
    clamped: int
    # the first submit, and the time from it to the last
    first_submit_ns: int
    span_ns: int
    cores: ColumnSpread  # widths
    # rows (lowest, highest, number of jobs with these numbers of cores); every power of two is the highest of a row
    widths: tuple[tuple[int, int, int], ...]
    # run times and their estimates
    run_ns: ColumnSpread
    estimate_ns: ColumnSpread
    overestimate: ColumnSpread  # estimate / run time
    underestimated: int  # jobs that ran longer than estimated
    # jobs that were cancelled before their start. They have no run time, and do not count in run times, overestimates and work.
    cancelled: int
    # start of the 24 hours with most submits (it is a submit), and the number of them
    busiest_day_ns: int
    busiest_day_jobs: int
    # start of the 24 hours in which most work is submitted (it is a submit), and this work in core-seconds
    heaviest_day_ns: int
    heaviest_day_core_s: float
    work_core_s: float  # sum of cores × run time in core-seconds
    # offered load: work / (platform cores × span). None if all jobs are submitted at one instant.
    load: float | None
    header: dict[str, str]  # the header's facts
    # jobs of one core, and of 2, 4, 8, … cores
    serial: int
    powers_of_two: int
    width_work_core_s: tuple[float, ...]  # cores × run time in core-seconds, for every row of ``widths``
    # the distributions behind ``run_ns`` and ``estimate_ns``
    run_percentiles_ns: Percentiles
    estimate_percentiles_ns: Percentiles
    estimates: Estimates  # accuracy of the estimates
    # the largest share of jobs whose run time ``estimates`` last-two, profile and data-driven can predict
    predictable: dict[str, float]
    arrivals: SubmitClocks  # submits by hour, day of the week and month
    months: tuple[Period, ...]  # jobs, work and offered load in every month from the first submit to the last
    # the same in steps (year, month, week, day or hour) that the log contains at least 20 times, for a figure
    step: str
    timeline: tuple[Period, ...]
    wait_ns: ColumnSpread | None  # recorded waits, from the instant at which a job could start. None without any.
    users: Users | None  # shares of users. None if the log names no users.
    # jobs by queue, partition, quality of service and status, the most frequent first. Empty if none is known.
    queues: tuple[Members, ...]
    partitions: tuple[Members, ...]
    qos: tuple[Members, ...]
    statuses: tuple[Members, ...]
    memory_kb: ColumnSpread | None  # memory per core (KB) of the jobs for which it is known. None if there are none.
    memory_known: int  # number of these jobs

    def as_dict(self) -> dict[str, Any]:
        """The figures as plain values for JSON."""
        found: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return found

    def __str__(self) -> str:
        """The figures as text, one line each, in aligned columns."""
        return spelled(as_text(self), in_python)


def describe(workload: Workload, platform: Platform) -> Description:
    """The statistics of a workload whose jobs fit the platform (``bls.workloads.selection.fit``).

    Raises
    ------
    InputError
        If no job has a run time.
    """
    submit, cores = workload.submit_ns, workload.cores
    ran = ~workload.run_unknown
    if not ran.any():
        raise InputError(f"{workload.source}: every job was cancelled before its start: no run time is known")
    run, estimate = workload.run_ns[ran], workload.estimate_ns[ran]
    span_ns = int(submit[-1] - submit[0])
    day_ns, day_jobs = busiest_window(workload, _DAY_NS)
    heaviest_ns, heaviest_core_ns = heaviest_window(workload, _DAY_NS)
    calendar = Calendar.of(workload)
    work = st.work_core_s(workload)
    all_work_core_s = float(np.sum(work))
    of_run, of_estimate = st.percentiles(run), st.percentiles(workload.estimate_ns)
    widths = _widths(cores)
    step = next((name for name, days in _STEPS if span_ns >= _LEAST_STEPS * days * _DAY_NS), _STEPS[-1][0])
    months = st.periods(workload, calendar, platform.n_cores, work, "month")
    # A wait counts from the instant at which the job could start; a job that started before has no wait.
    waited = np.maximum(workload.wait_ns - (workload.earliest_ns - workload.submit_ns), 0)
    waits, memory = waited[workload.wait_ns >= 0], workload.memory_kb[workload.memory_kb >= 0]
    kinds = {name: names_in(workload.header, name) for name in ("Queue", "Partition", "QOS")}
    return Description(
        source=workload.source,
        platform=platform.name,
        platform_cores=platform.n_cores,
        lines=workload.n_lines,
        jobs=len(workload),
        rejects=dict(workload.rejects),
        reordered=workload.reordered,
        clamped=workload.clamped,
        first_submit_ns=int(submit[0]),
        span_ns=span_ns,
        cores=st.spread(cores),
        widths=widths,
        run_ns=of_run.spread(float(run.astype(np.float64).mean())),
        estimate_ns=of_estimate.spread(float(workload.estimate_ns.astype(np.float64).mean())),
        overestimate=st.spread(estimate / run),
        underestimated=int(np.count_nonzero(estimate < run)),
        cancelled=int(np.count_nonzero(~ran)),
        busiest_day_ns=day_ns,
        busiest_day_jobs=day_jobs,
        heaviest_day_ns=heaviest_ns,
        heaviest_day_core_s=heaviest_core_ns / NS_PER_S,
        work_core_s=all_work_core_s,
        load=all_work_core_s / (platform.n_cores * (span_ns / NS_PER_S)) if span_ns else None,
        header=header_facts(workload.header),
        serial=int(np.count_nonzero(cores == 1)),
        powers_of_two=int(np.count_nonzero((cores > 1) & (cores & (cores - 1) == 0))),
        width_work_core_s=tuple(float(np.sum(work[(cores >= low) & (cores <= high)])) for low, high, _ in widths),
        run_percentiles_ns=of_run,
        estimate_percentiles_ns=of_estimate,
        estimates=st.estimates(run, estimate),
        predictable=predictable_by_name(workload),
        arrivals=st.arrivals(workload, calendar),
        months=months,
        step=step,
        timeline=months if step == "month" else st.periods(workload, calendar, platform.n_cores, work, step),
        wait_ns=st.spread(waits) if len(waits) else None,
        users=st.users(workload, work),
        queues=st.members(workload.queue, work, kinds["Queue"]),
        partitions=st.members(workload.partition, work, kinds["Partition"]),
        qos=st.members(workload.qos, work, kinds["QOS"]),
        statuses=st.members(workload.status, work, STATUSES),
        memory_kb=st.spread(memory) if len(memory) else None,
        memory_known=len(memory),
    )


def _widths(cores: Array) -> tuple[tuple[int, int, int], ...]:
    """Counts for 1, 2, 3-4, 5-8, 9-16, …: every power of two is the highest of its row."""
    rows: list[tuple[int, int, int]] = []
    lowest, highest = 1, 1
    while not rows or rows[-1][1] < int(cores.max()):
        count = int(np.count_nonzero((cores >= lowest) & (cores <= highest)))
        rows.append((lowest, highest, count))
        lowest, highest = highest + 1, highest * 2
    return tuple(rows)


_FACTS_SHOWN = ("Computer", "Installation", "MaxJobs", "MaxNodes", "MaxProcs", "UnixStartTime", "TimeZoneString")
_BAR = 30
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_ROWS, _FREQUENT = 8, 5  #: numbers of members of a class, and of frequent estimates, in the text


def as_text(described: Description) -> str:
    """The figures, one line each, in aligned columns."""
    rows = [*_of_the_file(described), *_of_time(described), *_of_jobs(described), *_of_people(described)]
    width = max(len(name) for name, _ in rows) + 2
    return "\n".join(f"{name:<{width}}{value}".rstrip() for name, value in rows) + "\n"


def _of_the_file(described: Description) -> Iterator[tuple[str, str]]:
    yield "workload", described.source
    yield from ((f"  {name}", value) for name, value in described.header.items() if name in _FACTS_SHOWN)
    yield "lines", f"{described.lines}"
    yield "jobs", f"{described.jobs}"
    yield "rejects", f"{sum(described.rejects.values())}"
    yield from ((f"  {reason}", f"{count}") for reason, count in described.rejects.items())
    yield "clamped", f"{described.clamped}"
    yield "reordered", f"{described.reordered}"


def _of_time(described: Description) -> Iterator[tuple[str, str]]:
    found = described.arrivals
    first, last = (f" ({at[:16].replace('T', ' ')})" if found.start else "" for at in (found.first, found.last))
    yield "first submit", format_ns(described.first_submit_ns) + first
    yield "last submit", format_ns(described.first_submit_ns + described.span_ns) + last
    yield "span of submits", format_ns(described.span_ns)
    day = f"{described.busiest_day_jobs} jobs in the 24 h from {format_ns(described.busiest_day_ns)}"
    yield "busiest day", f"{day} ({SELECT:busiest:24h})"
    heaviest = f"{described.heaviest_day_core_s / 3600:.6g} core-hours submitted"
    yield "heaviest day", f"{heaviest} in the 24 h from {format_ns(described.heaviest_day_ns)} ({SELECT:heaviest:24h})"
    if found.interarrival_ns is not None:
        yield "between submits", _spread_text(found.interarrival_ns)
    clocks = f"by the clocks of {found.zone}"
    yield ("arrivals", clocks if found.start else "the log does not say when it began: time 0 counts as a Monday, 0 h")
    yield from (("  remark", remark) for remark in found.remarks)
    wide = len(f"{max(*found.by_hour, *found.by_weekday, *found.by_month)}") + 2
    for hour in range(0, 24, 6):
        yield f"  {hour}-{hour + 5} h", _cells(found.by_hour[hour : hour + 6], wide)
    yield "  Mon-Sun", _cells(found.by_weekday, wide)
    yield "  Jan-Jun", _cells(found.by_month[:6], wide)
    yield "  Jul-Dec", _cells(found.by_month[6:], wide)
    load = "undefined: all jobs are submitted at one instant" if described.load is None else f"{described.load:.3f}"
    yield "work", f"{described.work_core_s / 3600:.6g} core-hours"
    yield "offered load", f"{load} on {described.platform} ({described.platform_cores} cores)"
    yield from _load_by_month(described)


def _load_by_month(described: Description) -> Iterator[tuple[str, str]]:
    if len(described.months) < 2:
        return
    loads = {month.start[:7]: "-" if month.load is None else f"{month.load:.3f}" for month in described.months}
    wide = max(5, *map(len, loads.values())) + 2
    yield "  by month", _cells(_MONTHS, wide)
    for year in range(int(min(loads)[:4]), int(max(loads)[:4]) + 1):
        shown = [loads.get(f"{year:04}-{month:02}", ".") for month in range(1, 13)]
        yield f"  {year if described.arrivals.start else f'year {year - 2000}'}", _cells(shown, wide)


def _of_jobs(described: Description) -> Iterator[tuple[str, str]]:
    yield "run time", _spread_text(described.run_ns)
    yield "  percentiles", _percentiles_text(described.run_percentiles_ns)
    yield "estimate", _spread_text(described.estimate_ns)
    yield "  percentiles", _percentiles_text(described.estimate_percentiles_ns)
    yield "overestimate", _spread_text(described.overestimate, "{:.3g}".format)
    yield "run / estimate", _percentiles_text(described.estimates.accuracy, "{:.3g}".format)
    yield "underestimated", f"{described.underestimated} jobs ran longer than estimated"
    found, ran = described.estimates, described.jobs - described.cancelled
    exact = f"{_share(found.exact, ran)} exactly"
    yield "at the limit", f"{_share(found.at_limit, ran)} of jobs ran for 99 % to 101 % of their estimate, {exact}"
    if found.exact == ran:
        yield "round estimates", "every estimate is the run time: the log seems to have none"
    else:
        round_ones = f"{_share(found.five_minutes, ran)} multiples of 5 min, {_share(found.hours, ran)} of an hour"
        yield "round estimates", f"{round_ones}; {found.distinct} different values"
        often = (f"{format_ns(ns)} ({_share(jobs, ran)})" for ns, jobs in found.popular[:_FREQUENT])
        yield "  frequent", "   ".join(often)
    shares = [f"{name} {100 * share:.3g} %" for name, share in described.predictable.items()]
    if any(described.predictable.values()):
        yield "predictable", f"at most, by {ESTIMATES}: {', '.join(shares)} of jobs"
    else:
        yield "predictable", "no run time, by any of the built-in estimators that learn from earlier jobs"
    if described.cancelled:
        yield "cancelled", f"{described.cancelled} jobs before their start"
    if described.wait_ns is not None:
        yield "recorded wait", _spread_text(described.wait_ns)
    if described.memory_kb is not None:
        n_known = described.memory_known
        known = "" if n_known == described.jobs else f"   ({_share(n_known, described.jobs)} of jobs)"
        yield "memory per core", _spread_text(described.memory_kb, _memory) + known
    yield "cores", _spread_text(described.cores, "{:.6g}".format)
    serial, powers = _share(described.serial, described.jobs), _share(described.powers_of_two, described.jobs)
    yield "", f"{serial} of jobs have one core, {powers} another power of two"
    yield from _histogram(described)


def _histogram(described: Description) -> Iterator[tuple[str, str]]:
    most = max(count for _, _, count in described.widths)
    digits = len(str(most))
    for lowest, highest, count in described.widths:
        name = f"{lowest}" if lowest == highest else f"{lowest}-{highest}"
        bar = "#" * -(-count * _BAR // most)  # rounded up: a single job is visible
        yield f"  {name}", f"{count:<{digits}}  {bar}"


def _of_people(described: Description) -> Iterator[tuple[str, str]]:
    if (users := described.users) is None:
        yield "users", "the log names none"
    else:
        groups = f"{users.groups} group{'s' * (users.groups != 1)}"
        yield "users", f"{users.users} in {groups}; half of the jobs by {users.half} of them"
        yield from _classes("users", users.top, described.jobs - users.unknown, described.work_core_s)
    for name in ("queues", "partitions", "qos", "statuses"):
        if rows := getattr(described, name):
            yield name, f"{len(rows)}"
            yield from _classes(name, rows, described.jobs, described.work_core_s)


def _cells(values: Iterable[object], wide: int) -> str:
    return "".join(f"{value!s:<{wide}}" for value in values).rstrip()


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "0 %"


def _memory(kb: float) -> str:
    for unit, size in (("GB", 1e6), ("MB", 1e3)):
        if kb >= size:
            return f"{kb / size:.3g} {unit}"
    return f"{kb:.3g} KB"


def _classes(kind: str, rows: tuple[Members, ...], jobs: int, all_work_core_s: float) -> Iterator[tuple[str, str]]:
    for row in rows[:_ROWS]:
        name = f"{row.number} {row.name}".rstrip() if row.number >= 0 else row.name or "none"
        of_work = f"{_share(row.work_core_s, all_work_core_s)} of the work"
        yield f"  {name[:28]}", f"{row.jobs} jobs ({_share(row.jobs, jobs)}), {of_work}"
    if kind != "users" and len(rows) > _ROWS:
        yield "  others", f"{sum(row.jobs for row in rows[_ROWS:])} jobs"


def _spread_text(spread: ColumnSpread, text: Any = None) -> str:
    shown = text or (lambda ns: format_ns(round(ns)))
    parts = (("min", spread.min), ("median", spread.median), ("mean", spread.mean), ("max", spread.max))
    return "   ".join(f"{name} {shown(value):<12}" for name, value in parts).rstrip()


def _percentiles_text(found: Percentiles, text: Any = None) -> str:
    shown = text or (lambda ns: format_ns(round(ns)))
    return "   ".join(f"{k} %: {shown(found.at[k])}" for k in (5, 25, 75, 95, 99))
