"""A workload's figures as text for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from bls.analysis.statistics import Members, Percentiles, Spread
from bls.options import ESTIMATES, SELECT
from traces.base.time import format_ns

if TYPE_CHECKING:
    from bls.analysis.description import Description

_FACTS_SHOWN = ("Computer", "Installation", "MaxJobs", "MaxNodes", "MaxProcs", "UnixStartTime", "TimeZoneString")
_BAR = 30

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

#: Members of a class, and frequent estimates, that the text shows.
_ROWS, _FREQUENT = 8, 5


def as_text(described: Description) -> str:
    """The figures, a line each, in aligned columns."""
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
        yield "round estimates", f"{round_ones}; {found.distinct} different ones"
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
        bar = "#" * -(-count * _BAR // most)  # rounded up: one job is seen
        yield f"  {name}", f"{count:<{digits}}  {bar}"


def _of_people(described: Description) -> Iterator[tuple[str, str]]:
    if described.users is None:
        yield "users", "the log names none"
    else:
        known = described.jobs - described.users.unknown
        yield (
            "users",
            f"{described.users.users} in {described.users.groups} groups; {described.users.half} submit half of the jobs",
        )
        yield from _classes("users", described.users.top, known, described.work_core_s)
    for name, rows in (
        ("queues", described.queues),
        ("partitions", described.partitions),
        ("qos", described.qos),
        ("statuses", described.statuses),
    ):
        if rows:
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


def _spread_text(spread: Spread, text: Any = None) -> str:
    shown = text or (lambda ns: format_ns(round(ns)))
    parts = (("min", spread.min), ("median", spread.median), ("mean", spread.mean), ("max", spread.max))
    return "   ".join(f"{name} {shown(value):<12}" for name, value in parts).rstrip()


def _percentiles_text(found: Percentiles, text: Any = None) -> str:
    shown = text or (lambda ns: format_ns(round(ns)))
    return "   ".join(f"{k} %: {shown(found.at[k])}" for k in (5, 25, 75, 95, 99))
