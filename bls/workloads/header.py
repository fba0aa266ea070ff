"""The header of a log: its comments, updated when its jobs change, and the facts in them: calendar and machine.

A log counts time from its own time 0. The header states the date of time 0 (``UnixStartTime``, seconds since 1970 in UTC) and
the time zone (``TimeZoneString``, a name such as ``Europe/Paris``; else ``TimeZone``, seconds east of UTC).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache, partial
from typing import TypeVar
from zoneinfo import ZoneInfo

import numpy as np

from bls.machine.platform import MAX_CORES, HostGroup, Platform
from bls.workloads.columns import BEGIN
from bls.workloads.workload import Workload
from traces.base.errors import shown, unescaped
from traces.base.options import CORE_GFLOPS
from traces.base.time import MAX_NS, NS_PER_S
from traces.compiled import Array

#: A comment that states a fact: the fact's name and value; the value may end in blanks.
FACT = re.compile(r";\s*([A-Za-z]+):(?!//)\s*(.*)\s*")

#: Columns whose numbers may have names in a header, and the key of such a line: ``; Queue: 1 batch``.
TITLES = {"queue": "Queue", "partition": "Partition", "qos": "QOS"}
MOST_NAMES = 1000  #: largest number of names of one column that are written as header lines

#: A comment that names a further field of the lines: the field's number and name; the name may be empty.
NAMED_FIELD = re.compile(r";\s*(?:field|column)\s+([0-9]+)\s*:\s*(.*)", re.IGNORECASE)

#: A comment that names a job: the job's number and name, as ``; Job: 12 w0!3``.
NAMED_JOB = re.compile(r";\s*Job:\s*([0-9]{1,19})\s+(\S.*)", re.DOTALL)

T = TypeVar("T")

_WHOLE = re.compile(r"[0-9]{1,15}")
_NAMED = re.compile(r";\s*(Queue|Partition|QOS):\s*(-?[0-9]{1,18})\s+(\S.*)")


def log_name(workload: Workload) -> str:
    """The name of a workload's file, without its folder."""
    return os.path.basename(workload.source) or workload.source


def _stated_start_s(line: str) -> int | None:
    match = FACT.fullmatch(line)
    found = match and match[1] == "UnixStartTime" and _WHOLE.fullmatch(match[2].rstrip())
    return int(found[0]) if found else None


def header_start_s(header: Iterable[str]) -> int | None:
    """The first ``UnixStartTime`` of a header that is an integer, s; None if there is none."""
    for line in header:
        start_s = _stated_start_s(line)
        if start_s is not None:
            return start_s
    return None


def has_begin(header: Sequence[str]) -> bool:
    """Whether a comment names the further field of the column ``begin_ns``."""
    return any((match := NAMED_FIELD.fullmatch(line)) and match[2].rstrip() == BEGIN for line in header)


def with_start(header: Sequence[str], start_ns: int) -> tuple[str, ...]:
    """The header with time 0 moved to ``start_ns``: ``UnixStartTime`` is later by that time in whole seconds, rounded down."""
    return tuple(_later(line, start_ns) for line in header)


def _later(line: str, start_ns: int) -> str:
    start_s = _stated_start_s(line)
    return line if start_s is None or not start_ns else f"; UnixStartTime: {start_s + start_ns // NS_PER_S}"


def moved_header(
    header: Sequence[str], n_jobs: int, start_ns: int, note: str, *, same_span: bool = False
) -> tuple[str, ...]:
    """The header of a workload made from another one: ``MaxJobs`` and ``MaxRecords`` become ``n_jobs``, ``UnixStartTime`` moves
    by ``start_ns`` as in :func:`with_start`, and ``note`` describes the change. ``same_span``: whether ``StartTime`` and
    ``EndTime``, which state the span of the log in words, still hold; otherwise they are left out."""
    lines: list[str] = []
    for line in header:
        match = FACT.fullmatch(line)
        name = match[1] if match else ""
        if name in ("MaxJobs", "MaxRecords"):
            lines.append(f"; {name}: {n_jobs}")
        elif name == "UnixStartTime":
            lines.append(_later(line, start_ns))
        elif name not in ("StartTime", "EndTime") or same_span:
            lines.append(line)
    return (*lines, f"; Note: {' '.join(note.split())}")


def names_in(header: Iterable[str], kind: str) -> dict[int, str]:
    """Names of numbers in header lines such as ``; Queue: 1 batch``; ``kind`` is Queue, Partition or QOS."""
    found: dict[int, str] = {}
    for comment in header:
        match = _NAMED.match(comment)
        if match and match[1] == kind:
            found.setdefault(int(match[2]), "".join(c if c.isprintable() else "?" for c in match[3].strip()))
    return found


def without_job_names(header: Iterable[str], job_id: Array | None = None) -> tuple[list[str], dict[int, str]]:
    """Separate the comments that name jobs from a header. ``job_id``: the log's jobs, if known: a comment with another number
    stays. Returns the other comments, and the first name of each job."""
    lines = [(line, NAMED_JOB.fullmatch(line)) for line in header]
    there = {number for _, match in lines if match and (number := int(match[1])) <= MAX_NS}
    if there and job_id is not None:
        there = set(np.intersect1d(np.array([*there]), job_id).tolist())
    others: list[str] = []
    names: dict[int, str] = {}
    for line, match in lines:
        if match and int(match[1]) in there:
            names.setdefault(int(match[1]), unescaped(match[2].strip()))
        else:
            others.append(line)
    return others, names


def merged_header(
    workloads: Sequence[Workload], n_jobs: int, start_s: int | None, labels: Mapping[str, Mapping[int, str]]
) -> tuple[str, ...]:
    """The common header of several workloads. Facts that all share appear once, with ``UnixStartTime`` (if there is a start),
    the number of jobs, and the names of queues, partitions and QOS (``labels``). The headers of all logs follow, marked
    ``[1]``, ``[2]`` …, so that no reader takes them for facts about the whole."""
    shared = [line for line in dict.fromkeys(workloads[0].header) if FACT.fullmatch(line)]
    own = ("UnixStartTime", "MaxJobs", "MaxRecords", "StartTime", "EndTime", "Note", *TITLES.values())
    lines = [
        line
        for line in shared
        if all(line in workload.header for workload in workloads[1:]) and FACT.fullmatch(line)[1] not in own  # type: ignore[index]
    ]
    lines += [] if start_s is None else [f"; UnixStartTime: {start_s}"]
    lines += [f"; MaxJobs: {n_jobs}", f"; MaxRecords: {n_jobs}"]
    for column, title in TITLES.items():
        named = sorted(labels.get(column, {}).items())[:MOST_NAMES]
        lines += [f"; {title}: {number} {name}" for number, name in named]
    for number, workload in enumerate(workloads, 1):
        lines.append(f"; Note: log {number} of {len(workloads)} is {log_name(workload)}, {len(workload)} jobs")
        for line in workload.header:
            # Names of columns are written again with the jobs.
            if not NAMED_FIELD.match(line):
                lines.append(f"; [{number}] {line.lstrip(';').strip()}".rstrip())
    return tuple(lines)


_HOUR_S, _DAY_S = 3600, 86_400

#: Date of time 0 for a log that states none: the beginning of a month and of a week.
_MONDAY = datetime(2001, 1, 1, tzinfo=UTC)
_SIGNED = re.compile(r"[+-]?[0-9]{1,18}")

#: Largest accepted UnixStartTime, in the year 5138: with any int64 of nanoseconds added it is still a date, and a start in
#: milliseconds is beyond it.
_LAST_START_S = 10**11


@dataclass(frozen=True)
class Calendar:
    """The local time of a log's instants (ns since its time 0), including daylight saving. Results are int64 of their shape."""

    # the log's time zone: a ``zoneinfo.ZoneInfo``, a fixed offset, or UTC if the header names none
    zone: tzinfo = UTC
    # time 0 in that zone; None if the log does not state it: then time 0 counts as 00:00 UTC of Monday, 1 January 2001
    start: datetime | None = None
    remarks: tuple[str, ...] = ()  # facts about time in the header that could not be used, one sentence each

    @classmethod
    def of(cls, workload: Workload) -> Calendar:
        """The calendar of a workload's header. Facts that cannot be used are ignored and listed in :attr:`remarks`."""
        facts = header_facts(workload.header)
        remarks: list[str] = []

        def read(fact: str, parse: Callable[[str], T], allowed: str) -> T | None:
            if fact not in facts:
                return None
            try:
                return parse(facts[fact])
            except (KeyError, ValueError, OSError):  # of a zone: unknown, not a name, a folder of the database
                remarks.append(f"{fact} {shown(facts[fact])} is not {allowed}; it is ignored")
                return None

        start_s = read(
            "UnixStartTime",
            partial(_seconds, least=0, most=_LAST_START_S),
            f"a number of seconds from 0 to {_LAST_START_S}",
        )
        if start_s is None:
            return cls(remarks=tuple(remarks))
        named = read("TimeZoneString", ZoneInfo, "a known time zone")
        zone: tzinfo = named or read("TimeZone", _offset, "a number of seconds within a day") or UTC
        return cls(zone, datetime.fromtimestamp(start_s, UTC).astimezone(zone), tuple(remarks))

    @property
    def date_ns(self) -> int:
        """Time 0, ns since 1970 in UTC."""
        return int((self.start or _MONDAY).timestamp()) * NS_PER_S

    @property
    def of_day_ns(self) -> int:
        """Local time at time 0, ns since midnight."""
        return int(self._local_s(np.zeros(1, np.int64))[0]) % _DAY_S * NS_PER_S

    def date(self, ns: int) -> datetime:
        """One instant as a date in the log's zone, rounded down to a second."""
        start = self.start or _MONDAY
        # Through UTC: sums within a zone ignore the hours that daylight saving adds or removes.
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
        days = self.day(ns)
        if days.size == 0:
            return days
        first = int(days.min())
        # A month for every date of the span, then one look-up per row: there are far fewer dates than rows.
        dates = np.arange(first, int(days.max()) + 1).astype("datetime64[D]")
        months: Array = dates.astype("datetime64[M]").astype(np.int64) % 12 + 1
        return np.asarray(months[days - first])

    def _local_s(self, ns: Array) -> Array:
        """Local time as seconds since 1 January 1970, 00:00."""
        since = int((self.start or _MONDAY).timestamp())
        seconds = np.asarray(ns, np.int64) // NS_PER_S + since
        if seconds.size == 0:
            return seconds
        starts_s, offsets_s = _offsets(self.zone, int(seconds.min()) // _DAY_S, int(seconds.max()) // _DAY_S)
        if len(offsets_s) == 1:
            return np.asarray(seconds + offsets_s[0])
        return np.asarray(seconds + offsets_s[np.searchsorted(starts_s, seconds, side="right") - 1])


def header_facts(header: Iterable[str]) -> dict[str, str]:
    """The first value of each fact of a header except notes; characters that cannot be printed become question marks."""
    facts: dict[str, str] = {}
    for comment in header:
        match = FACT.match(comment)
        if match and match[1] != "Note" and match[2].strip():
            value = "".join(letter if letter.isprintable() else "?" for letter in match[2].strip())
            facts.setdefault(match[1], value)
    return facts


@lru_cache(maxsize=64)
def _offsets(zone: tzinfo, first_day: int, last_day: int) -> tuple[Array, Array]:
    """Beginnings (UTC seconds) of the offsets of a zone, and the offsets (s east), over some days of UTC, both included. The
    first begins with the first day. Offsets that last less than a day may be missed; none exist."""
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


def _seconds(text: str, least: int, most: int) -> int:
    if not _SIGNED.fullmatch(text) or not least <= int(text) <= most:
        raise ValueError
    return int(text)


def _offset(text: str) -> tzinfo:
    return timezone(timedelta(seconds=_seconds(text, 1 - _DAY_S, _DAY_S - 1)))


#: A number, perhaps followed by its division among partitions in parentheses.
_NUMBER = re.compile(r"([0-9]{1,18})(?:\s*\(.*\))?")


def named_size(header: Iterable[str]) -> tuple[int, int]:
    """Cores (``MaxProcs``) and nodes (``MaxNodes``) that a header names; 0 if it does not."""
    facts = header_facts(header)
    found = (_NUMBER.fullmatch(facts.get(name, "")) for name in ("MaxProcs", "MaxNodes"))
    cores, nodes = (int(one[1]) if one else 0 for one in found)
    return cores, nodes


def named_machine(log: Workload) -> Platform | None:
    """The machine that a log names, ``MaxProcs`` cores on ``MaxNodes`` hosts, with cores as fast as in the two-level paper. If
    these do not divide, the first hosts have one core more. Without a number of nodes, or with more nodes than cores, each host
    has one core. Returns None if the header names no number of cores, or one that no platform may have."""
    cores, nodes = named_size(log.header)
    if not 0 < cores <= MAX_CORES:
        return None
    hosts = nodes if 0 < nodes <= cores else cores
    each, larger = divmod(cores, hosts)
    groups = ((larger, each + 1), (hosts - larger, each))
    return Platform(tuple(HostGroup(count, size, size * CORE_GFLOPS.default) for count, size in groups if count))
