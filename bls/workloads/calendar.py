"""The local time of a workload: which hour, weekday and month its instants fall into.

A log counts time from its own time 0. Its header says where that is (``UnixStartTime``, seconds since 1970 in UTC)
and what its users' clocks showed (``TimeZoneString``, a name such as ``Europe/Paris``; else ``TimeZone``, seconds
east of UTC). Work follows those clocks, daylight saving included, so arrivals by hour are counted on them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

import numpy as np

from bls.workloads.header import FACT
from bls.workloads.workload import Workload
from traces.base.errors import shown
from traces.base.time import NS_PER_S
from traces.compiled import Array

_HOUR_S, _DAY_S = 3600, 86_400

#: Where time 0 is taken to be in a log that does not say: the month and the week begin there.
_MONDAY = datetime(2001, 1, 1, tzinfo=UTC)

_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")

#: Highest UnixStartTime believed, in the year 5138: with any int64 of nanoseconds added it is still a date, and a
#: start in milliseconds is beyond it.
_LAST_START_S = 10**11


@dataclass(frozen=True)
class Calendar:
    """The local time of a log's instants.

    Arrays of instants are nanoseconds since the log's time 0, of any shape; results are int64 of the same shape.
    """

    # the log's time zone: a ``zoneinfo.ZoneInfo``, a fixed offset, or UTC where the header names none
    zone: tzinfo = UTC
    # time 0 in that zone. None where the log does not say; then time 0 counts as 00:00 UTC of a Monday, the first of
    # January 2001.
    start: datetime | None = None
    remarks: tuple[str, ...] = ()  # what the header says of time that could not be used, a sentence each

    @classmethod
    def of(cls, workload: Workload) -> Calendar:
        """The calendar that a workload's header describes. A fact that cannot be used (a zone that nobody knows, a start that
        is no whole number) is passed over, and :attr:`remarks` says so."""
        facts = header_facts(workload.header)
        remarks: list[str] = []
        start_s = _start_s(facts.get("UnixStartTime"), remarks)
        if start_s is None:
            return cls(remarks=tuple(remarks))
        zone = _zone(facts.get("TimeZoneString"), remarks) or _offset(facts.get("TimeZone"), remarks) or UTC
        start = datetime.fromtimestamp(start_s, UTC).astimezone(zone)
        return cls(zone, start, tuple(remarks))

    @property
    def date_ns(self) -> int:
        """Time 0, ns since 1970 in UTC."""
        return int((self.start or _MONDAY).timestamp()) * NS_PER_S

    @property
    def of_day_ns(self) -> int:
        """What clocks in the zone show at time 0, ns since midnight."""
        return int(self._local_s(np.zeros(1, np.int64))[0]) % _DAY_S * NS_PER_S

    def date(self, ns: int) -> datetime:
        """One instant as a date in the log's zone, to the second below."""
        start = self.start or _MONDAY
        # Through UTC: within a zone, sums of dates and times pass over the hours that daylight saving adds or takes.
        return (start.astimezone(UTC) + timedelta(seconds=ns // NS_PER_S)).astimezone(self.zone)

    def hour(self, ns: Array) -> Array:
        """Hour of the day, 0 to 23."""
        return np.asarray(self._local_s(ns) // _HOUR_S % 24)

    def half_hour(self, ns: Array) -> Array:
        """Half-hour of the day, 0 to 47."""
        return np.asarray(self._local_s(ns) // (_HOUR_S // 2) % 48)

    def weekday(self, ns: Array) -> Array:
        """Day of the week, Monday 0 to Sunday 6."""
        return np.asarray((self.day(ns) + 3) % 7)  # 1 January 1970 was a Thursday

    def day(self, ns: Array) -> Array:
        """Local date, as days since 1 January 1970."""
        return np.asarray(self._local_s(ns) // _DAY_S)

    def month(self, ns: Array) -> Array:
        """Month of the year, 1 to 12."""
        return np.asarray(self.month_number(ns) % 12 + 1)

    def month_number(self, ns: Array) -> Array:
        """Month of the calendar, as months since January 1970: unlike :meth:`month`, no two years share one."""
        days = self.day(ns)
        if days.size == 0:
            return days
        first = int(days.min())
        # A month for every date of the span, then one look-up a row: dates are far fewer than rows.
        dates = np.arange(first, int(days.max()) + 1).astype("datetime64[D]")
        months: Array = dates.astype("datetime64[M]").astype(np.int64)
        return np.asarray(months[days - first])

    def _local_s(self, ns: Array) -> Array:
        """What clocks in the zone show, as seconds since 1 January 1970, 00:00."""
        since = int((self.start or _MONDAY).timestamp())
        seconds = np.asarray(ns, np.int64) // NS_PER_S + since
        if seconds.size == 0:
            return seconds
        starts_s, offsets_s = _offsets(self.zone, int(seconds.min()) // _DAY_S, int(seconds.max()) // _DAY_S)
        if len(offsets_s) == 1:
            return np.asarray(seconds + offsets_s[0])
        return np.asarray(seconds + offsets_s[np.searchsorted(starts_s, seconds, side="right") - 1])


def header_facts(header: Iterable[str]) -> dict[str, str]:
    """What a header says as ``; Key: value``, except notes; of a key that is given twice, the first value. Characters that
    cannot be printed are shown as question marks."""
    facts: dict[str, str] = {}
    for comment in header:
        match = FACT.match(comment)
        if match and match[1] != "Note" and match[2].strip():
            value = "".join(letter if letter.isprintable() else "?" for letter in match[2].strip())
            facts.setdefault(match[1], value)
    return facts


@lru_cache(maxsize=64)
def _offsets(zone: tzinfo, first_day: int, last_day: int) -> tuple[Array, Array]:
    """When (UTC seconds) each offset of a zone begins, and the offset (s east), over some days of UTC, both included. The
    first begins with the first day. An offset that lasts for less than a day may be missed; there is none."""
    starts_s, offsets_s = [first_day * _DAY_S], [_offset_s(zone, first_day * _DAY_S)]
    for day in range(first_day, last_day + 1):
        low, high = day * _DAY_S, (day + 1) * _DAY_S
        later = _offset_s(zone, high)
        if later == offsets_s[-1]:
            continue
        while high - low > 1:  # at low still the old offset, at high the new one
            middle = (low + high) // 2
            low, high = (middle, high) if _offset_s(zone, middle) == offsets_s[-1] else (low, middle)
        starts_s.append(high)
        offsets_s.append(later)
    return np.array(starts_s, np.int64), np.array(offsets_s, np.int64)


def _offset_s(zone: tzinfo, epoch_s: int) -> int:
    offset = datetime.fromtimestamp(epoch_s, zone).utcoffset()
    return 0 if offset is None else int(offset.total_seconds())


def _start_s(text: str | None, remarks: list[str]) -> int | None:
    if text is None:
        return None
    if _WHOLE.fullmatch(text) and 0 <= int(text) <= _LAST_START_S:
        return int(text)
    remarks.append(f"UnixStartTime {shown(text)} is no number of seconds from 0 to {_LAST_START_S}; it is passed over")
    return None


def _zone(text: str | None, remarks: list[str]) -> tzinfo | None:
    if text is None:
        return None
    try:
        return ZoneInfo(text)
    except (KeyError, ValueError, OSError):  # unknown, no name at all, a folder of the database
        remarks.append(f"TimeZoneString {shown(text)} is no time zone known here; it is passed over")
        return None


def _offset(text: str | None, remarks: list[str]) -> tzinfo | None:
    if text is None:
        return None
    if _WHOLE.fullmatch(text) and abs(int(text)) < _DAY_S:
        return timezone(timedelta(seconds=int(text)))
    remarks.append(f"TimeZone {shown(text)} is no number of seconds within a day; it is passed over")
    return None
