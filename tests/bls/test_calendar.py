"""The local time of a log's instants, against Python's own dates."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bls.workloads.calendar import Calendar
from bls.workloads.workload import Workload

S, H, D = 10**9, 3600 * 10**9, 86_400 * 10**9


def log(*header: str) -> Workload:
    columns = [np.array([value]) for value in (1, 0, 1, 1, 1, 1)]
    return Workload.from_lines(columns, header=header, rejects={}, source="log", n_lines=1)


def at(calendar: Calendar, *ns: int) -> tuple[list[int], list[int], list[int], list[int]]:
    instants = np.array(ns)
    found = (calendar.hour, calendar.half_hour, calendar.weekday, calendar.month)
    return tuple(read(instants).tolist() for read in found)


def test_a_log_that_does_not_say_when_it_began_begins_on_a_monday() -> None:
    calendar = Calendar.of(log("; TimeZoneString: Europe/Paris"))
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
    calendar = Calendar.of(log("; UnixStartTime: 1000000000", *header))
    assert (calendar.zone, len(calendar.remarks)) == (zone, remarks)
    assert str(calendar.zone) == ("UTC-08:00" if "-28800" in str(header) else str(zone))


@pytest.mark.parametrize(
    ("fact", "said"),
    [
        ("UnixStartTime: soon", "UnixStartTime 'soon'"),
        ("UnixStartTime: -1", "UnixStartTime '-1'"),
        ("UnixStartTime: 1296571124000", "UnixStartTime '1296571124000'"),  # milliseconds
        ("UnixStartTime: " + "9" * 500, "UnixStartTime '999"),
        ("TimeZoneString: Mars/Base", "TimeZoneString 'Mars/Base'"),
        ("TimeZoneString: Europe", "TimeZoneString 'Europe'"),
        ("TimeZoneString: ../../etc/passwd", "TimeZoneString '../../etc/passwd'"),
        ("TimeZoneString: /etc", "TimeZoneString '/etc'"),
        ("TimeZone: CET", "TimeZone 'CET'"),
        ("TimeZone: 86400", "TimeZone '86400'"),
    ],
)
def test_a_fact_that_cannot_be_used_is_remarked(fact: str, said: str) -> None:
    calendar = Calendar.of(log(f"; {fact}", "; UnixStartTime: 0"))
    assert [remark[: len(said)] for remark in calendar.remarks] == [said]
    assert len(calendar.remarks[0]) < 200
    assert (calendar.zone, calendar.start is not None) == (UTC, not fact.startswith("UnixStartTime"))


ZONES = (
    "Europe/Stockholm",
    "US/Pacific",
    "Asia/Kolkata",
    "Australia/Lord_Howe",  # half an hour of daylight saving
    "Africa/Casablanca",  # off daylight saving for a month of each summer
    "America/Sao_Paulo",  # clocks that change at midnight
    "Pacific/Apia",  # a day left out
)


@given(
    zone=st.sampled_from(ZONES),
    start_s=st.integers(0, 2_500_000_000),
    days=st.sampled_from([2, 400, 20_000]),
    data=st.data(),
)
def test_equal_to_dates_of_python(zone: str, start_s: int, days: int, data: st.DataObject) -> None:
    ns = data.draw(st.lists(st.integers(0, days * D), min_size=1, max_size=30))
    calendar = Calendar.of(log(f"; UnixStartTime: {start_s}", f"; TimeZoneString: {zone}"))
    dates = [datetime.fromtimestamp(start_s + one // S, ZoneInfo(zone)) for one in ns]
    expected = [(date.hour, 2 * date.hour + date.minute // 30, date.weekday(), date.month) for date in dates]
    assert list(zip(*at(calendar, *ns), strict=True)) == expected
    instants = np.array(ns)
    assert calendar.day(instants).tolist() == [date.toordinal() - 719_163 for date in dates]
    assert calendar.month_number(instants).tolist() == [12 * (date.year - 1970) + date.month - 1 for date in dates]
    assert [calendar.date(one) for one in ns] == dates
    assert [calendar.date(one).utcoffset() for one in ns] == [date.utcoffset() for date in dates]
