"""Figures and statistics of a log, and its local time: worked out by hand, and against a few lines of plain Python."""

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import table_rows

from bls.analysis.description import describe
from bls.analysis.statistics import (
    ColumnSpread,
    Members,
    arrivals,
    estimates,
    percentiles,
    periods,
    spread,
    users,
    work_core_s,
)
from bls.machine.platform import HostGroup, Platform
from bls.workloads.header import Calendar, header_facts, names_in
from bls.workloads.readers.swf import parse_swf
from bls.workloads.selection import fit
from bls.workloads.workload import Workload
from traces.base.errors import InputError

S, H, D = 10**9, 3600 * 10**9, 86_400 * 10**9

PARIS = ("; UnixStartTime: 1296571124", "; TimeZoneString: Europe/Paris")  # Tuesday, 1 February 2011, 15:38:44


def log(*jobs: tuple[float, float, int], header: tuple[str, ...] = ()) -> Workload:
    """Jobs of (submit s, run s, cores)."""
    made = Workload.from_jobs([(k + 1, submit, run, cores, None) for k, (submit, run, cores) in enumerate(jobs)])
    return replace(made, header=header)


def test_percentiles() -> None:
    assert percentiles(np.array([7])).at == (7.0,) * 101
    found = percentiles(np.array([30, 10, 20])).at
    assert (found[0], found[25], found[50], found[99], found[100]) == (10, 15, 20, 29.8, 30)
    assert spread(np.array([4, 1, 2, 9])) == ColumnSpread(1, 3, 4, 9)
    assert spread(np.full(4, 2**62)).mean == 2.0**62  # a sum beyond int64


def test_arrivals_by_the_clocks_of_the_log() -> None:
    # 15:38 on a Tuesday in February; 0:38 on Wednesday twice; 15:38 on 1 March, a Tuesday.
    workload = log((0, 1, 1), (9 * 3600, 1, 1), (9 * 3600, 1, 1), (28 * 86_400, 1, 1), header=PARIS)
    found = arrivals(workload, Calendar.of(workload))
    assert (found.zone, found.start, found.first) == ("Europe/Paris", *["2011-02-01T15:38:44+01:00"] * 2)
    assert found.last == "2011-03-01T15:38:44+01:00"
    assert {hour: n for hour, n in enumerate(found.by_hour) if n} == {15: 2, 0: 2}
    assert found.by_weekday == (0, 2, 2, 0, 0, 0, 0)
    assert found.by_month == (0, 3, 1, *[0] * 9)
    assert (found.by_weekday_and_hour[1][15], found.by_weekday_and_hour[2][0]) == (2, 2)
    assert sum(map(sum, found.by_weekday_and_hour)) == 4
    assert found.interarrival_ns == ColumnSpread(0, 9 * H, 28 * D / 3, 28 * D - 9 * H)
    one = arrivals(log((5, 1, 1)), Calendar())
    assert (one.start, one.interarrival_ns, one.by_weekday[0]) == (None, None, 1)
    assert one.first == one.last == "2001-01-01T00:00:05+00:00"


def test_load_by_month() -> None:
    # On two cores: 20 days of a core from 17 February (11.35 days are left of it), nothing in March, then April's.
    workload = log((0, 0.1, 1), (16 * 86_400, 20 * 86_400, 1), (80 * 86_400, 86_400, 2), header=PARIS)
    found = periods(workload, Calendar.of(workload), 2, work_core_s(workload), "month")
    assert [one.start for one in found] == ["2011-02-01", "2011-03-01", "2011-04-01"]
    assert [one.jobs for one in found] == [2, 0, 1]
    assert [one.whole for one in found] == [False, True, False]
    first_of_march = 27 * D + (8 * 3600 + 21 * 60 + 16) * S
    assert (found[0].start_ns, found[0].stop_ns) == (0, first_of_march)
    # March loses an hour in Paris.
    assert found[1].stop_ns - found[1].start_ns == 31 * D - H
    assert found[0].load == pytest.approx((20 * 86_400 + 0.1) / (2 * first_of_march / S))
    assert found[1].load == 0.0
    assert found[2].load == pytest.approx(2 * 86_400 / (2 * (80 * D - found[1].stop_ns) / S))


def test_estimates() -> None:
    minutes = 60 * S
    run = np.array([60, 30, 33, 60, 61, 600, 3, 59.9]) * S
    estimate = np.array([60, 60, 60, 60, 60, 300, 60, 60]) * S
    found = estimates(run.astype(np.int64), estimate.astype(np.int64))
    # 3 s of 60 are 5 %, the end of the first bar; 33 s of 60 are 55 %, the end of the eleventh.
    assert {bar: n for bar, n in enumerate(found.accuracy_counts) if n} == {0: 1, 9: 1, 10: 1, 19: 3, 20: 2}
    assert (found.exact, found.at_limit, found.distinct) == (2, 3, 2)
    assert found.popular == ((minutes, 7), (5 * minutes, 1))
    assert (found.five_minutes, found.hours) == (1, 0)
    assert (found.accuracy.at[0], found.accuracy.at[100]) == (0.05, 2.0)
    ends = estimates(np.arange(3, 63, 3) * S, np.full(20, 60 * S))
    assert ends.accuracy_counts == (*[1] * 20, 0)
    # As frequent ones come in their order, and not all of them.
    found = estimates(np.full(30, S), np.arange(30, 0, -1) * H)
    assert [ns // H for ns, _ in found.popular] == list(range(1, 21))
    assert (found.distinct, found.five_minutes, found.hours, found.exact, found.at_limit) == (30, 30, 30, 0, 0)
    huge = estimates(np.array([2**62, 1]), np.array([1, 2**62]))
    assert (huge.accuracy_counts[0], huge.accuracy_counts[20]) == (1, 1)


def test_names_in_a_header() -> None:
    header = (
        "; Queue: 1  [fque:1]",
        ";Partition: 2 x\x1b",
        "; Queue: 1 again",
        "; Queue: 7",
        "; Queue: y z",
        "Queue: 3 a",
    )
    assert names_in(header, "Queue") == {1: "[fque:1]"}
    assert names_in(header, "Partition") == {2: "x?"}
    assert names_in(header, "QOS") == {}


def test_users() -> None:
    rows = [(1, 10, 1), (1, 10, 1), (1, 10, 1), (2, 100, 1), (2, 100, 1), (5, 1000, 4), (-1, 7, 7)]
    jobs = [
        {"job_id": k, "submit_s": k, "run_s": run, "cores": cores, "user": user, "group": user // 2}
        for k, (user, run, cores) in enumerate(rows)
    ]
    workload = Workload.from_jobs(jobs)
    found = users(workload, work_core_s(workload))
    assert found is not None
    assert (found.users, found.groups, found.unknown, found.half) == (3, 3, 1, 1)
    assert found.top == (Members(1, "", 3, 30.0), Members(2, "", 2, 200.0), Members(5, "", 1, 4000.0))
    total = 4230.0
    assert found.curve == ((1, 0.5, 4000 / total), (2, 5 / 6, 4200 / total), (3, 1.0, 1.0))
    no_users = log((0, 1, 1))
    assert users(no_users, work_core_s(no_users)) is None


PLATFORM = Platform((HostGroup(1, 8, 8.0),), name="eight")

TEXT = Path(__file__).with_name("tables").joinpath("small.swf").read_bytes()


def small() -> Workload:
    return fit(parse_swf(TEXT, "small.swf"), PLATFORM.n_cores)


def test_figures() -> None:
    found = describe(small(), PLATFORM)
    counts = (found.source, found.lines, found.jobs, found.reordered, found.clamped)
    assert counts == ("small.swf", 6, 3, 2, 0)
    rejects = {reason: n for reason, n in found.rejects.items() if n}
    assert rejects == {"malformed": 1, "no run time": 1, "wider than the platform": 1}
    assert (found.first_submit_ns, found.span_ns) == (100 * 10**9, 200 * 10**9)
    assert found.cores == ColumnSpread(1, 5, 14 / 3, 8)
    assert found.widths == ((1, 1, 1), (2, 2, 0), (3, 4, 0), (5, 8, 2))
    assert (found.run_ns, found.estimate_ns) == (
        ColumnSpread(10e9, 20e9, 20e9, 30e9),
        ColumnSpread(15e9, 20e9, 55e9 / 3, 20e9),
    )
    assert (found.overestimate.min, found.overestimate.median, found.overestimate.max) == (0.5, 1.0, 2.0)
    assert found.underestimated == 1
    assert (found.busiest_day_ns, found.busiest_day_jobs) == (100 * 10**9, 3)
    assert (found.heaviest_day_ns, found.heaviest_day_core_s) == (100 * 10**9, 320)
    assert found.work_core_s == 10 + 150 + 160
    assert found.load == pytest.approx(320 / (8 * 200))
    assert found.header == {"Computer": "Small ?[31m", "MaxProcs": "8"}
    lines = str(found).splitlines()
    column = lines[0].index("small.swf")
    assert f"{'offered load':<{column}}0.200 on eight (8 cores)" in lines
    assert f"{'  1':<{column}}1  {'#' * 15}" in lines
    assert f"{'  5-8':<{column}}2  {'#' * 30}" in lines


def test_unusual_workloads() -> None:
    one = describe(Workload.from_jobs([(1, 5, 10, 2, 20)]), PLATFORM)
    assert one.load is None, "there is no span"
    assert "undefined" in str(one)
    century_s = 100 * 365 * 86400
    found = describe(Workload.from_jobs([(k, k, century_s, 8, None) for k in range(9)]), PLATFORM)
    assert math.isclose(found.run_ns.mean, century_s * 1e9), "a sum of times beyond int64"
    assert math.isclose(found.work_core_s, 9 * 8 * century_s)
    found = describe(Workload.from_jobs([(cores, 0, 1, cores, 1) for cores in (1, 2, 3, 6, 7, 8)]), PLATFORM)
    assert (found.serial, found.powers_of_two) == (1, 2)


def test_jobs_cancelled_before_their_start_have_no_run_time() -> None:
    never = {"job_id": 9, "submit_s": 0, "run_s": None, "estimate_s": 99, "cores": 4, "cancel_s": 3}
    found = describe(Workload.from_jobs([(1, 5, 10, 2, 20), never]), PLATFORM)
    assert (found.jobs, found.cancelled, found.underestimated, found.work_core_s) == (2, 1, 0, 20)
    assert (found.run_ns.min, found.overestimate.max, found.cores.max) == (10e9, 2.0, 4)
    assert "1 jobs before their start" in str(found)
    assert "cancelled" not in str(describe(small(), PLATFORM))
    with pytest.raises(InputError, match="every job was cancelled before its start"):
        describe(Workload.from_jobs([never]), PLATFORM)


def test_header_facts() -> None:
    header = ["; MaxProcs: 4", ";MaxProcs: 5", "; Note: x: y", "; TimeZone:", "; a b: c", ";  Queue: 1 [x]", "x: y"]
    assert header_facts(header) == {"MaxProcs": "4", "Queue": "1 [x]"}
    assert header_facts([";    http://www.example.org/", "; Information: http://x/"]) == {"Information": "http://x/"}


LOG = Path(__file__).with_name("tables").joinpath("seth.swf").read_bytes()


def test_calendar_users_and_queues_of_a_log() -> None:
    found = describe(fit(parse_swf(LOG, "seth.swf"), PLATFORM.n_cores), PLATFORM)
    # Sunday, 28 July 2002, 9:04 in Stockholm.
    assert (found.arrivals.start, found.arrivals.by_weekday) == ("2002-07-28T09:04:05+02:00", (0, 1, 1, 0, 0, 0, 2))
    assert (found.arrivals.by_hour[9], found.arrivals.by_hour[10]) == (3, 1)
    assert [(month.start, month.jobs) for month in found.months] == [("2002-07-01", 2), ("2002-08-01", 2)]
    # Less than half of July lies in the log; 26.3 days of August do.
    assert found.months[0].load is None
    assert found.months[1].load == pytest.approx((8 * 7300 + 7200) / (8 * (2_592_000 - 3 * 86_400 - 53_755)))
    assert (found.step, len(found.timeline)) == ("day", 31)
    assert (found.serial, found.powers_of_two) == (2, 2)
    assert list(found.width_work_core_s) == [9000, 0, 14400, 58400]
    assert sum(found.width_work_core_s) == found.work_core_s
    assert (found.estimates.exact, found.estimates.at_limit, found.underestimated) == (2, 2, 1)
    assert found.wait_ns == ColumnSpread(5e9, 10e9, 10e9, 15e9)
    assert found.users is not None
    assert (found.users.users, found.users.groups, found.users.half) == (3, 2, 1)
    assert [(one.number, one.name, one.jobs) for one in found.queues] == [(1, "batch", 2), (2, "", 2)]
    assert [(one.name, one.jobs) for one in found.statuses] == [("completed", 2), ("failed", 1), ("cancelled", 1)]
    assert (found.partitions, found.qos) == ((), ())
    assert found.memory_kb == ColumnSpread(2000, 3000, 3000, 4000)
    assert found.memory_known == 2


def test_text_of_time_people_and_classes() -> None:
    text = str(describe(fit(parse_swf(LOG, "seth.swf"), PLATFORM.n_cores), PLATFORM))
    lines = text.splitlines()
    column = lines[0].index("seth.swf")
    rows = [(line[:column].rstrip(), line[column:]) for line in lines]
    assert all(line == line.rstrip() and line.isprintable() and len(line) < 150 for line in lines)
    assert {line[column - 1] for line in lines} == {" "}
    assert all(line[column] != " " for line in lines)
    said = dict(rows)
    expected = dict(table_rows(__file__, "rows_of_the_text"))
    assert {name: said[name] for name in expected} == expected
    assert said["round estimates"].endswith("75.0 % of an hour; 2 different values")
    assert said["memory per core"].endswith("max 4 MB   (50.0 % of jobs)")
    counts = (said[name].split() for name in ("  6-11 h", "  Mon-Sun", "  Jul-Dec"))
    assert ["".join(row) for row in counts] == ["000310", "0110002", "220000"]
    assert said["  by month"].split()[6:8] == ["Jul", "Aug"]
    assert said["  2002"].split() == [*"......", "-", "0.004", *"...."]
    assert said["  2002"].index("0.004") == said["  by month"].index("Aug")
    assert "qos" not in said


@pytest.mark.parametrize(
    ("days", "step"),
    [(0, "hour"), (19, "hour"), (20, "day"), (139, "day"), (140, "week"), (600, "month"), (7300, "year")],
)
def test_the_step_of_the_time_line(days: int, step: str) -> None:
    found = describe(Workload.from_jobs([(1, 0, 1, 1, 1), (2, 86_400 * days, 1, 1, 1)]), PLATFORM)
    assert found.step == step
    assert sum(one.jobs for one in found.timeline) == 2


def began(*header: str) -> Workload:
    columns = [np.array([value]) for value in (1, 0, 1, 1, 1, 1)]
    return Workload.from_lines(columns, header=header, rejects={}, source="log", n_lines=1)


def at(calendar: Calendar, *ns: int) -> tuple[list[int], list[int], list[int], list[int]]:
    instants = np.array(ns)
    found = (calendar.hour, calendar.half_hour, calendar.weekday, calendar.month)
    return tuple(read(instants).tolist() for read in found)


def test_a_log_that_does_not_say_when_it_began_begins_on_a_monday() -> None:
    calendar = Calendar.of(began("; TimeZoneString: Europe/Paris"))
    assert (calendar.start, calendar.zone, calendar.remarks) == (None, UTC, ())
    assert at(calendar, 0, 25 * H, 7 * D - 1, 31 * D) == ([0, 1, 23, 0], [0, 2, 47, 0], [0, 1, 6, 3], [1, 1, 1, 2])
    assert calendar.date(0).isoformat() == "2001-01-01T00:00:00+00:00"


@pytest.mark.parametrize(
    ("header", "zone", "remarks"),
    [
        (("; TimeZone: 7200", "; TimeZoneString: Asia/Kolkata"), ZoneInfo("Asia/Kolkata"), 0),
        (("; TimeZone: -28800",), timezone(timedelta(hours=-8)), 0),
        ((), UTC, 0),
        (("; TimeZoneString: Mars", "; TimeZone: 3600"), timezone(timedelta(hours=1)), 1),  # unknown: the offset
    ],
)
def test_a_zone_has_a_name_or_an_offset_or_is_utc(header: tuple[str, ...], zone: object, remarks: int) -> None:
    calendar = Calendar.of(began("; UnixStartTime: 1000000000", *header))
    assert (calendar.zone, len(calendar.remarks)) == (zone, remarks)
    assert str(calendar.zone) == ("UTC-08:00" if "-28800" in str(header) else str(zone))


FACTS = ["UnixStartTime: soon", "UnixStartTime: -1", "UnixStartTime: 1296571124000", "UnixStartTime: " + "9" * 500]
FACTS += [
    "TimeZoneString: Mars/Base",
    "TimeZoneString: Europe",
    "TimeZoneString: ../../etc/passwd",
    "TimeZoneString: /etc",
]
FACTS += ["TimeZone: CET", "TimeZone: 86400"]


@pytest.mark.parametrize("fact", FACTS)
def test_a_fact_that_cannot_be_used_is_remarked(fact: str) -> None:
    said = fact.replace(": ", " '")[:24]
    calendar = Calendar.of(began(f"; {fact}", "; UnixStartTime: 0"))
    assert [remark[: len(said)] for remark in calendar.remarks] == [said]
    assert len(calendar.remarks[0]) < 200
    assert (calendar.zone, calendar.start is not None) == (UTC, not fact.startswith("UnixStartTime"))


CLOCKS = table_rows(__file__, "clocks")


@given(
    zone=st.sampled_from(CLOCKS),
    start_s=st.integers(0, 2_500_000_000),
    days=st.sampled_from([2, 400, 20_000]),
    data=st.data(),
)
def test_equal_to_dates_of_python(zone: str, start_s: int, days: int, data: st.DataObject) -> None:
    ns = data.draw(st.lists(st.integers(0, days * D), min_size=1, max_size=30))
    calendar = Calendar.of(began(f"; UnixStartTime: {start_s}", f"; TimeZoneString: {zone}"))
    dates = [datetime.fromtimestamp(start_s + one // S, ZoneInfo(zone)) for one in ns]
    expected = [(date.hour, 2 * date.hour + date.minute // 30, date.weekday(), date.month) for date in dates]
    assert list(zip(*at(calendar, *ns), strict=True)) == expected
    instants = np.array(ns)
    assert calendar.day(instants).tolist() == [date.toordinal() - 719_163 for date in dates]
    assert calendar.month(instants).tolist() == [date.month for date in dates]
    assert [calendar.date(one) for one in ns] == dates
    assert [calendar.date(one).utcoffset() for one in ns] == [date.utcoffset() for date in dates]
