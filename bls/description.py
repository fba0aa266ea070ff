"""What a workload looks like: the figures that ``twolevel workload info`` prints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from bls.calendar import Calendar, header_facts
from bls.log_statistics import (
    Arrivals,
    Estimates,
    Members,
    Percentiles,
    Period,
    Spread,
    Users,
    arrivals,
    estimates,
    members,
    names_in,
    percentiles,
    periods,
    spread,
    users,
    work_core_s,
)
from bls.platform import Platform
from bls.selection import busiest_window
from bls.workload import Workload
from traces.compiled import Array
from traces.errors import InputError
from traces.time import NS_PER_S, format_ns

__all__ = ["Description", "Spread", "describe", "header_facts"]

_DAY_NS = 24 * 3600 * NS_PER_S
_FACTS_SHOWN = (
    "Computer",
    "Installation",
    "MaxJobs",
    "MaxNodes",
    "MaxProcs",
    "UnixStartTime",
    "TimeZoneString",
)
_BAR = 30

#: Steps of the time line, with their lengths in days: the longest of which the log has at least 20 is taken.
_STEPS = (("year", 365.0), ("month", 30.0), ("week", 7.0), ("day", 1.0), ("hour", 1 / 24))
_LEAST_STEPS = 20

#: What SWF's numbers of the status field mean.
STATUSES = {
    -1: "unknown",
    0: "failed",
    1: "completed",
    2: "part, to be continued",
    3: "last part, completed",
    4: "last part, failed",
    5: "cancelled",
}

_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

#: Members of a class, and frequent estimates, that the text shows.
_ROWS, _FREQUENT = 8, 5


@dataclass(frozen=True)
class Description:
    """Figures of a workload on a platform.

    Attributes
    ----------
    source : str
        The workload's file.
    platform, platform_cores : str, int
        The platform's name and number of cores.
    lines, jobs : int
        Lines of the file that are neither comment nor blank, and the jobs described.
    rejects : dict of str to int
        Rejected lines by reason.
    reordered, clamped : int
        Jobs read that were moved to their place by submit, and jobs narrowed to the platform.
    first_submit_ns, span_ns : int
        The first submit, and the time from it to the last.
    cores : Spread
        Widths.
    widths : tuple of (int, int, int)
        Rows (lowest, highest, jobs with as many cores): every power of two is a highest.
    run_ns, estimate_ns : Spread
        Run times and their estimates.
    overestimate : Spread
        Estimate / run time.
    underestimated : int
        Jobs that ran longer than estimated.
    cancelled : int
        Jobs that were cancelled before their start. They have no run time, and no part in what is said of run times,
        overestimates and work.
    busiest_day_ns, busiest_day_jobs : int
        Start of the 24 hours with most submits (it is a submit), and the number of them.
    work_core_s : float
        Sum of cores × run time in core-seconds.
    load : float or None
        Offered load: work / (platform cores × span). None where all jobs are submitted at one instant.
    header : dict of str to str
        The header's facts.
    serial, powers_of_two : int
        Jobs of one core, and of 2, 4, 8, … cores.
    width_work_core_s : tuple of float
        Cores × run time in core-seconds, for every row of ``widths``.
    run_percentiles_ns, estimate_percentiles_ns : Percentiles
        The distributions behind ``run_ns`` and ``estimate_ns``.
    estimates : Estimates
        How good the estimates are.
    arrivals : Arrivals
        Submits by hour, day of the week and month.
    months : tuple of Period
        Jobs, work and offered load in every month from the first submit to the last.
    step, timeline : str, tuple of Period
        The same in steps (year, month, week, day or hour) of which the log has at least 20, so as to draw it.
    wait_ns : Spread or None
        Waits that the log records. None where it records none.
    users : Users or None
        How users share the machine. None where the log names none.
    queues, partitions, qos, statuses : tuple of Members
        Jobs by queue, partition, quality of service and status, the most frequent first. Empty where none is known.
    memory_kb : Spread or None
        Memory per core (KB) of those jobs that say it. None where none does.
    memory_known : int
        How many do.
    """

    source: str
    platform: str
    platform_cores: int
    lines: int
    jobs: int
    rejects: dict[str, int]
    reordered: int
    clamped: int
    first_submit_ns: int
    span_ns: int
    cores: Spread
    widths: tuple[tuple[int, int, int], ...]
    run_ns: Spread
    estimate_ns: Spread
    overestimate: Spread
    underestimated: int
    cancelled: int
    busiest_day_ns: int
    busiest_day_jobs: int
    work_core_s: float
    load: float | None
    header: dict[str, str]
    serial: int
    powers_of_two: int
    width_work_core_s: tuple[float, ...]
    run_percentiles_ns: Percentiles
    estimate_percentiles_ns: Percentiles
    estimates: Estimates
    arrivals: Arrivals
    months: tuple[Period, ...]
    step: str
    timeline: tuple[Period, ...]
    wait_ns: Spread | None
    users: Users | None
    queues: tuple[Members, ...]
    partitions: tuple[Members, ...]
    qos: tuple[Members, ...]
    statuses: tuple[Members, ...]
    memory_kb: Spread | None
    memory_known: int

    def as_dict(self) -> dict[str, Any]:
        """The figures in plain values, as JSON can hold them."""
        return {name: _plain(value) for name, value in asdict(self).items()}

    def __str__(self) -> str:
        """The figures as text for people: a line each, in aligned columns."""
        rows = [*self._of_the_file(), *self._of_time(), *self._of_jobs(), *self._of_people()]
        width = max(len(name) for name, _ in rows) + 2
        return "\n".join(f"{name:<{width}}{value}".rstrip() for name, value in rows) + "\n"

    def _of_the_file(self) -> Iterator[tuple[str, str]]:
        yield "workload", self.source
        yield from ((f"  {name}", value) for name, value in self.header.items() if name in _FACTS_SHOWN)
        yield "lines", f"{self.lines}"
        yield "jobs", f"{self.jobs}"
        yield "rejects", f"{sum(self.rejects.values())}"
        yield from ((f"  {reason}", f"{count}") for reason, count in self.rejects.items())
        yield "clamped", f"{self.clamped}"
        yield "reordered", f"{self.reordered}"

    def _of_time(self) -> Iterator[tuple[str, str]]:
        found = self.arrivals
        first, last = (f" ({at[:16].replace('T', ' ')})" if found.start else "" for at in (found.first, found.last))
        yield "first submit", format_ns(self.first_submit_ns) + first
        yield "last submit", format_ns(self.first_submit_ns + self.span_ns) + last
        yield "span of submits", format_ns(self.span_ns)
        day = f"{self.busiest_day_jobs} jobs in the 24 h from {format_ns(self.busiest_day_ns)}"
        yield "busiest day", f"{day} (--select busiest:24h)"
        if found.interarrival_ns is not None:
            yield "between submits", _spread_text(found.interarrival_ns)
        clocks = f"by the clocks of {found.zone}"
        yield (
            "arrivals",
            clocks if found.start else "the log does not say when it began: time 0 counts as a Monday, 0 h",
        )
        yield from (("  remark", remark) for remark in found.remarks)
        wide = len(f"{max(*found.by_hour, *found.by_weekday, *found.by_month)}") + 2
        for hour in range(0, 24, 6):
            yield f"  {hour}-{hour + 5} h", _cells(found.by_hour[hour : hour + 6], wide)
        yield "  Mon-Sun", _cells(found.by_weekday, wide)
        yield "  Jan-Jun", _cells(found.by_month[:6], wide)
        yield "  Jul-Dec", _cells(found.by_month[6:], wide)
        load = "undefined: all jobs are submitted at one instant" if self.load is None else f"{self.load:.3f}"
        yield "work", f"{self.work_core_s / 3600:.6g} core-hours"
        yield "offered load", f"{load} on {self.platform} ({self.platform_cores} cores)"
        yield from self._load_by_month()

    def _load_by_month(self) -> Iterator[tuple[str, str]]:
        if len(self.months) < 2:
            return
        loads = {month.start[:7]: "-" if month.load is None else f"{month.load:.3f}" for month in self.months}
        wide = max(5, *map(len, loads.values())) + 2
        yield "  by month", _cells(_MONTHS, wide)
        for year in range(int(min(loads)[:4]), int(max(loads)[:4]) + 1):
            shown = [loads.get(f"{year:04}-{month:02}", ".") for month in range(1, 13)]
            yield f"  {year if self.arrivals.start else f'year {year - 2000}'}", _cells(shown, wide)

    def _of_jobs(self) -> Iterator[tuple[str, str]]:
        yield "run time", _spread_text(self.run_ns)
        yield "  percentiles", _percentiles_text(self.run_percentiles_ns)
        yield "estimate", _spread_text(self.estimate_ns)
        yield "  percentiles", _percentiles_text(self.estimate_percentiles_ns)
        yield "overestimate", _spread_text(self.overestimate, "{:.3g}".format)
        yield "run / estimate", _percentiles_text(self.estimates.accuracy, "{:.3g}".format)
        yield "underestimated", f"{self.underestimated} jobs ran longer than estimated"
        found, ran = self.estimates, self.jobs - self.cancelled
        exact = f"{_share(found.exact, ran)} exactly"
        yield "at the limit", f"{_share(found.at_limit, ran)} of jobs ran for 99 % to 101 % of their estimate, {exact}"
        if found.exact == ran:
            yield "round estimates", "every estimate is the run time: the log seems to have none"
        else:
            round_ones = f"{_share(found.five_minutes, ran)} multiples of 5 min, {_share(found.hours, ran)} of an hour"
            yield "round estimates", f"{round_ones}; {found.distinct} different ones"
            often = (f"{format_ns(ns)} ({_share(jobs, ran)})" for ns, jobs in found.popular[:_FREQUENT])
            yield "  frequent", "   ".join(often)
        if self.cancelled:
            yield "cancelled", f"{self.cancelled} jobs before their start"
        if self.wait_ns is not None:
            yield "recorded wait", _spread_text(self.wait_ns)
        if self.memory_kb is not None:
            known = "" if self.memory_known == self.jobs else f"   ({_share(self.memory_known, self.jobs)} of jobs)"
            yield "memory per core", _spread_text(self.memory_kb, _memory) + known
        yield "cores", _spread_text(self.cores, "{:.6g}".format)
        serial, powers = _share(self.serial, self.jobs), _share(self.powers_of_two, self.jobs)
        yield "", f"{serial} of jobs have one core, {powers} another power of two"
        yield from self._histogram()

    def _histogram(self) -> Iterator[tuple[str, str]]:
        most = max(count for _, _, count in self.widths)
        digits = len(str(most))
        for lowest, highest, count in self.widths:
            name = f"{lowest}" if lowest == highest else f"{lowest}-{highest}"
            bar = "#" * -(-count * _BAR // most)  # rounded up: one job is seen
            yield f"  {name}", f"{count:<{digits}}  {bar}"

    def _of_people(self) -> Iterator[tuple[str, str]]:
        if self.users is None:
            yield "users", "the log names none"
        else:
            known = self.jobs - self.users.unknown
            yield (
                "users",
                f"{self.users.users} in {self.users.groups} groups; {self.users.half} submit half of the jobs",
            )
            yield from _classes("users", self.users.top, known, self.work_core_s)
        for name, rows in (
            ("queues", self.queues),
            ("partitions", self.partitions),
            ("qos", self.qos),
            ("statuses", self.statuses),
        ):
            if rows:
                yield name, f"{len(rows)}"
                yield from _classes(name, rows, self.jobs, self.work_core_s)


def describe(workload: Workload, platform: Platform) -> Description:
    """The figures of a workload, the jobs of which fit the platform (``bls.selection.fit``).

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
    calendar = Calendar.of(workload)
    work = work_core_s(workload)
    all_work_core_s = float(np.sum(work))
    of_run, of_estimate = percentiles(run), percentiles(workload.estimate_ns)
    widths = _widths(cores)
    step = next((name for name, days in _STEPS if span_ns >= _LEAST_STEPS * days * _DAY_NS), _STEPS[-1][0])
    months = periods(workload, calendar, platform.n_cores, work, "month")
    waits, memory = workload.wait_ns[workload.wait_ns >= 0], workload.memory_kb[workload.memory_kb >= 0]
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
        cores=spread(cores),
        widths=widths,
        run_ns=of_run.spread(float(run.astype(np.float64).mean())),
        estimate_ns=of_estimate.spread(float(workload.estimate_ns.astype(np.float64).mean())),
        overestimate=spread(estimate / run),
        underestimated=int(np.count_nonzero(estimate < run)),
        cancelled=int(np.count_nonzero(~ran)),
        busiest_day_ns=day_ns,
        busiest_day_jobs=day_jobs,
        work_core_s=all_work_core_s,
        load=all_work_core_s / (platform.n_cores * (span_ns / NS_PER_S)) if span_ns else None,
        header=header_facts(workload.header),
        serial=int(np.count_nonzero(cores == 1)),
        powers_of_two=int(np.count_nonzero((cores > 1) & (cores & (cores - 1) == 0))),
        width_work_core_s=tuple(_by_width(cores, work, widths)),
        run_percentiles_ns=of_run,
        estimate_percentiles_ns=of_estimate,
        estimates=estimates(run, estimate),
        arrivals=arrivals(workload, calendar),
        months=months,
        step=step,
        timeline=months if step == "month" else periods(workload, calendar, platform.n_cores, work, step),
        wait_ns=spread(waits) if len(waits) else None,
        users=users(workload, work),
        queues=members(workload.queue, work, kinds["Queue"]),
        partitions=members(workload.partition, work, kinds["Partition"]),
        qos=members(workload.qos, work, kinds["QOS"]),
        statuses=members(workload.status, work, STATUSES),
        memory_kb=spread(memory) if len(memory) else None,
        memory_known=len(memory),
    )


def _plain(value: Any) -> Any:
    """Tuples as lists, within others too."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


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


def _spread_text(spread: Spread, text: Any = None) -> str:
    shown = text or (lambda ns: format_ns(round(ns)))
    parts = (("min", spread.min), ("median", spread.median), ("mean", spread.mean), ("max", spread.max))
    return "   ".join(f"{name} {shown(value):<12}" for name, value in parts).rstrip()


def _percentiles_text(found: Percentiles, text: Any = None) -> str:
    shown = text or (lambda ns: format_ns(round(ns)))
    return "   ".join(f"{k} %: {shown(found.at[k])}" for k in (5, 25, 75, 95, 99))


def _widths(cores: Array) -> tuple[tuple[int, int, int], ...]:
    """Counts for 1, 2, 3-4, 5-8, 9-16, …: every power of two is the highest of its row."""
    rows: list[tuple[int, int, int]] = []
    lowest, highest = 1, 1
    while not rows or rows[-1][1] < int(cores.max()):
        count = int(np.count_nonzero((cores >= lowest) & (cores <= highest)))
        rows.append((lowest, highest, count))
        lowest, highest = highest + 1, highest * 2
    return tuple(rows)


def _by_width(cores: Array, work: Array, widths: tuple[tuple[int, int, int], ...]) -> Iterator[float]:
    for lowest, highest, _ in widths:
        yield float(np.sum(work[(cores >= lowest) & (cores <= highest)]))
