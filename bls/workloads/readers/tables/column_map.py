"""The map of a table's columns: the meaning and unit of each column, read from TOML and checked.

:data:`TARGETS` declares the properties of jobs that a map may describe, :data:`KEYS` how a column is read, and
:data:`MAP_KEYS` what else a map contains. The tables of docs/reference/inputs.md are made from these declarations.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from bls.workloads.columns import NAME_LENGTH
from traces.base.errors import InputError, one_of, shown, shown_name, whole
from traces.base.given_file import check_keys, parse_toml, read_text
from traces.base.time import MAX_NS

_S, _MIN = 10**9, 60 * 10**9
#: Units of time, in ns.
TIME_UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": _S, "min": _MIN, "h": 60 * _MIN, "d": 1440 * _MIN}
MEMORY_UNITS = {"B": 0, "KB": 1, "MB": 2**10, "GB": 2**20, "TB": 2**30}  #: units of memory, in KB; 0: fractions of one
COUNT_UNITS = {"one": 1, "percent": 100, "milli": 1000}  #: units of counts: their number in one
MOST_TIMES = 10**6  #: largest factor of a count

INSTANT, DURATION, COUNT, MEMORY = "instant", "duration", "count", "memory"
LABEL, NUMBER, IDENTITY, STATE, NUMBERS = "label", "number", "id", "state", "numbers"

#: Words for a missing value, in every column.
MISSING = ("", "NULL", "null", "None", "none", "nan", "NaN", "NA", "N/A", "(null)")


class Target(NamedTuple):
    """A property of jobs that a map may describe."""

    kind: str  # how cells are read
    meaning: str  # for people


#: Properties that ``[columns]`` of a map may describe.
TARGETS: Mapping[str, Target] = {
    "job_id": Target(IDENTITY, "number or text that identifies the job; without it, the number of the row"),
    "submit": Target(INSTANT, "submit; required"),
    "begin": Target(INSTANT, "earliest instant at which the job may join the queue, if later than the submit"),
    "start": Target(INSTANT, "start; gives the wait"),
    "end": Target(INSTANT, "end; gives the run time if there is a start, and the cancellation of jobs that never ran"),
    "cancel": Target(INSTANT, "instant at which the user cancels the job"),
    "run": Target(DURATION, "run time; where it is missing, end minus start"),
    "wait": Target(DURATION, "wait; where it is missing, start minus submit"),
    "walltime": Target(DURATION, "time limit: the estimate; where it is missing or infinite, the run time"),
    "think": Target(DURATION, "think time after the preceding job"),
    "cores": Target(COUNT, "cores of the job; required"),
    "hosts": Target(COUNT, "hosts of the job: `nodes` of `workload.extras`"),
    "gpus": Target(COUNT, "GPUs of the job: `gpus` of `workload.extras`"),
    "memory": Target(MEMORY, "requested memory"),
    "power": Target(COUNT, "mean power of the job in W: `power_w` of `workload.extras`"),
    "user": Target(LABEL, "user"),
    "group": Target(LABEL, "group or account"),
    "queue": Target(LABEL, "queue"),
    "partition": Target(LABEL, "partition"),
    "qos": Target(LABEL, "quality of service"),
    "name": Target(LABEL, "name of the job: its application"),
    "state": Target(STATE, "how the job ended"),
    "status": Target(NUMBER, "how the job ended, in SWF's numbers"),
    "preset": Target(NUMBER, "1 for a job that runs at time 0"),
    "preceding": Target(NUMBER, "number of the job after whose end this one is submitted"),
    "also_preceding": Target(NUMBERS, "numbers of further such jobs, separated by blanks"),
}
REQUIRED = ("submit", "cores")  #: properties that every map must describe

#: Extras that ``[columns]`` describes, and their properties.
EXTRAS = {"nodes": "hosts", "gpus": "gpus", "power_w": "power"}

#: Kinds that ``[extras]`` may have, with their key ``kind``.
EXTRA_KINDS = (NUMBER, COUNT, LABEL, DURATION, INSTANT)

#: Units by the kind of the target, the default first; of instants also a format of ``strptime``, which begins with ``%``.
UNITS: Mapping[str, tuple[str, ...]] = {
    INSTANT: ("auto", *TIME_UNITS, "iso"),
    DURATION: ("auto", *TIME_UNITS, "clock"),
    COUNT: tuple(COUNT_UNITS),
    MEMORY: tuple(MEMORY_UNITS),
    LABEL: ("name", "number"),
    IDENTITY: ("auto", "number", "name", "slurm"),
}
FORMATS = ("csv", "jsonl", "json", "parquet")
TIME_ZEROS = ("auto", "given")


@dataclass(frozen=True)
class SourceColumn:
    """How one column of the table is read."""

    column: str = ""  # its name; empty for a constant
    value: str | None = None  # a constant
    kind: str = NUMBER  # the kind of the target
    unit: str = ""  # empty: the first of UNITS
    zone: str = ""
    repeated: str = "first"
    skipped: str = "reject"
    infinite: tuple[str, ...] = ()
    per: str = "job"
    times: int = 1
    tres: tuple[str, ...] = ()
    names: str = ""
    missing: tuple[str, ...] = MISSING
    optional: bool = False
    take: str = ""
    completed: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    cancelled: tuple[str, ...] = ()
    not_ended: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def unit_ns(self) -> int:
        """The unit in ns; 1 s if it is found by the values."""
        return TIME_UNITS.get(self.unit, TIME_UNITS["s"])


@dataclass(frozen=True)
class Events:
    """How the rows of a table of events become jobs: one job for all rows with the same identity."""

    job: str  # the column that identifies the job
    type: str  # the column of the event's type
    time: str  # the column of its instant
    # words of ``type``; of several events of a job, the first submit, the first start and the last end count
    submit: tuple[str, ...] = ()
    start: tuple[str, ...] = ()
    completed: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    cancelled: tuple[str, ...] = ()


EVENT_COLUMNS = ("submit", "start", "end", "state")  #: columns that a table of events gets


@dataclass(frozen=True)
class ColumnMap:
    """A map: how a table is read. :func:`parse_map` makes one from TOML."""

    source: str  # the map's name or file, for messages
    columns: Mapping[str, tuple[SourceColumn, ...]]  # by target; the first with a value counts
    extras: Mapping[str, tuple[SourceColumn, ...]] = field(default_factory=dict)  # by name in ``Workload.extras``
    title: str = ""  # the log's name
    origin: str = ""  # where its description is published
    recognised: tuple[str, ...] = ()  # columns by which a table is recognised: all must be there
    file: str = ""  # the table
    format: str = ""  # csv, jsonl, json or parquet; empty: by the file's content
    separator: str = ""  # of CSV; empty: found in the first line
    header: tuple[str, ...] = ()  # names of the columns, if the file has no header
    records: str = ""  # of JSON: the key of the list of jobs
    zone: str = ""  # time zone of the log
    time_zero: str = "auto"  # or given: instants count from time 0 as they are
    others: str = ""  # columns that begin with this are extras, named by the rest
    cores: int = 0  # size of the machine, for the header; 0: not known
    hosts: int = 0
    events: Events | None = None

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns of the table that the map reads, each once."""
        every = [spec for specs in (*self.columns.values(), *self.extras.values()) for spec in specs]
        names = [name for spec in every for name in (spec.column, spec.names) if name]
        return tuple(dict.fromkeys(names))

    @property
    def optional(self) -> frozenset[str]:
        """The columns that the table may lack."""
        every = [spec for specs in (*self.columns.values(), *self.extras.values()) for spec in specs]
        needed = {spec.column for spec in every if not spec.optional}
        return frozenset(name for spec in every for name in (spec.column, spec.names) if name and name not in needed)


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value:
        raise InputError(f"{where}: {shown(value)}; allowed: a text")
    return value


def _character(value: Any, where: str) -> str:
    if len(_text(value, where)) != 1 or not value.isascii() or value in '"\r\n':
        raise InputError(f"{where}: {shown(value)}; allowed: one character of ASCII, no quotation mark")
    return str(value)


def _date_format(value: str, where: str) -> str:
    try:
        datetime.strptime("", value)
    except ValueError as error:
        if "does not match" not in str(error):
            raise InputError(f"{where}: {shown(value)}: {error}") from None
    return value


def _constant(value: Any, where: str) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise InputError(f"{where}: {shown(value)}; allowed: a number or a text")
    return f"{value}"


def _words(value: Any, where: str) -> tuple[str, ...]:
    several = value if isinstance(value, list) else [value]
    for one in several:
        if isinstance(one, bool) or not isinstance(one, str | int | float):
            raise InputError(f"{where}: {shown(value)}; allowed: a text, or a list of texts")
    return tuple(f"{one}" for one in several)


def _distinct(value: Any, where: str) -> tuple[str, ...]:
    names = _words(value, where)
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{where}: column {shown_name(name)} appears twice")
    return names


def _flag(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"{where}: {shown(value)}; allowed: true or false")
    return value


def _factor(value: Any, where: str) -> int:
    return whole(where, value, 1, MOST_TIMES)


@lru_cache(maxsize=32)
def zone_of(name: str) -> ZoneInfo:
    """The time zone of a name. Raises KeyError, ValueError or OSError if there is none."""
    return ZoneInfo(name)


def _zone(value: Any, where: str) -> str:
    try:
        zone_of(value if isinstance(value, str) else "")
    except (KeyError, ValueError, OSError):
        from zoneinfo import available_timezones

        raise one_of("time zone", value, sorted(available_timezones()), where, page="the IANA database") from None
    return str(value)


_ALL: Mapping[str, tuple[str, ...]] = MappingProxyType({})  # all kinds of targets


class MapKey(NamedTuple):
    """A key of a map, or of a column in it."""

    meaning: str  # for people
    kinds: Mapping[str, tuple[str, ...]] = (
        _ALL  # the kinds of targets that have it, with the allowed words; none: any value
    )
    read: Callable[[Any, str], Any] = _words  # checks a value at a place of the map, if any value is allowed

    def value(self, value: Any, kind: str, where: str) -> Any:
        """The checked value for a kind of target."""
        known = self.kinds.get(kind)
        if not known:
            return self.read(value, where)
        if known == UNITS[INSTANT] and isinstance(value, str) and value.startswith("%"):
            return _date_format(value, where)
        if not isinstance(value, str) or value not in known:
            raise one_of("word", value, known, where)
        return value


_STATES: Mapping[str, tuple[str, ...]] = {STATE: ()}
_TAKEN = ("first", "last", "sum", "mean", "max", "count")
_PER = {COUNT: ("job", "host"), MEMORY: ("job", "host", "core")}
_MISSING = ", ".join(f"`{word}`" for word in MISSING if word)

#: Keys of a column.
KEYS: Mapping[str, MapKey] = {
    "column": MapKey("name of the column; in JSON and Parquet also a path, as `attempts[-1].start_time`", read=_text),
    "value": MapKey("a constant instead of a column", read=_constant),
    "unit": MapKey("unit of the values", UNITS, _text),
    "zone": MapKey(
        "time zone of dates without an offset, as `Europe/Rome`; else that of the map, else UTC", {INSTANT: ()}, _zone
    ),
    "repeated": MapKey("which instant a date of an hour that clocks repeat means", {INSTANT: ("first", "second")}),
    "skipped": MapKey(
        "what a date of an hour that clocks skip becomes: a reject, or a later date", {INSTANT: ("reject", "forward")}
    ),
    "infinite": MapKey("words for no limit", {DURATION: ()}),
    "per": MapKey("what the value is of; of a host, it is multiplied by `hosts`", _PER),
    "times": MapKey(f"factor of the value, 1 to {MOST_TIMES:,}", {COUNT: ()}, _factor),
    "tres": MapKey("names of Slurm's resources, whose counts in `cpu=4,gres/gpu=2` are added", {COUNT: (), MEMORY: ()}),
    "names": MapKey("a column with the names of the numbers of this one", {LABEL: (), IDENTITY: ()}, _text),
    "missing": MapKey(f"words for a missing value, besides {_MISSING} and nothing"),
    "optional": MapKey("whether the table may lack the column", read=_flag),
    "take": MapKey("what is taken of a list", dict.fromkeys((*UNITS, NUMBER, NUMBERS, STATE), _TAKEN)),
    "completed": MapKey("words for status 1; the first word of a cell counts", _STATES),
    "failed": MapKey("words for status 0", _STATES),
    "cancelled": MapKey("words for status 5", _STATES),
    "not_ended": MapKey("words for jobs that wait or run: rejects", _STATES),
    "unknown": MapKey("words that say nothing about how the job ended", _STATES),
}
KIND = MapKey("of `[extras]`: what the values are", {"": EXTRA_KINDS})  #: the key ``kind`` of a column of ``[extras]``

#: Keys of a map besides its tables.
MAP_KEYS: Mapping[str, MapKey] = {
    "title": MapKey("name of the log", read=_text),
    "origin": MapKey("where the log's columns are described", read=_text),
    "file": MapKey("the table, relative to the map: with it, the map itself is a WORKLOAD", read=_text),
    "format": MapKey(f"one of {', '.join(FORMATS)}; default: by the file's name and content", {"": FORMATS}),
    "separator": MapKey(
        "separator of CSV; default: the most frequent of comma, tab, semicolon and bar", read=_character
    ),
    "header": MapKey("names of the columns, for a CSV file without a header", read=_distinct),
    "records": MapKey("of JSON: the key of the list of jobs", read=_text),
    "recognised": MapKey("columns by which tables are recognised, in maps of the project"),
    "zone": MapKey("time zone of dates without an offset, as `Europe/Rome`; also of local time in metrics", read=_zone),
    "time_zero": MapKey(
        "`auto`: after 1980 the earliest submit is time 0; `given`: instants count as they are", {"": TIME_ZEROS}
    ),
    "others": MapKey("prefix of columns that are extras of whole numbers, named by the rest", read=_text),
    "missing": MapKey("words for a missing value in all columns"),
}
_TABLES = ("columns", "extras", "machine", "events")


def read_map(path: str | os.PathLike[str]) -> ColumnMap:
    """Read a map from a file. Raises InputError if it cannot be read or used; the message names the file and key."""
    source = os.fspath(path)
    found = parse_map(read_text(path, "column map", "TOML"), source)
    if found.file and not os.path.isabs(found.file):
        from dataclasses import replace

        return replace(found, file=str(Path(source).parent / found.file))
    return found


def parse_map(text: str, source: str) -> ColumnMap:
    """Parse the TOML text of a map. Raises InputError as :func:`read_map`."""
    given = parse_toml(text, source)
    check_keys(given, (*MAP_KEYS, *_TABLES), f"{source}: ")
    values = {key: MAP_KEYS[key].value(given[key], "", f"{source}: {key}") for key in given if key in MAP_KEYS}
    missing = (*MISSING, *values.pop("missing", ()))
    columns = _table(given, "columns", source)
    check_keys(columns, TARGETS, f"{source}: columns.")
    extras = _table(given, "extras", source)
    machine = _table(given, "machine", source)
    check_keys(machine, ("cores", "hosts"), f"{source}: machine.")
    read = {
        name: _specs(TARGETS[name].kind, value, missing, f"{source}: columns.{name}") for name, value in columns.items()
    }
    for name in REQUIRED:
        if name not in read:
            raise InputError(f"{source}: columns.{name}: missing; every map needs it")
    further = {}
    for name, value in extras.items():
        where = f"{source}: extras.{shown_name(name)}"
        if not name.isprintable() or not 1 <= len(name) <= NAME_LENGTH or name in EXTRAS:
            allowed = f"1 to {NAME_LENGTH} printable characters, and not {', '.join(EXTRAS)}, which [columns] describes"
            raise InputError(f"{where}: allowed: {allowed}")
        further[name] = _specs("", value, missing, where)
    if "hosts" not in read:
        for name, specs in read.items():
            if any(spec.per == "host" for spec in specs):
                raise InputError(f"{source}: columns.{name}.per: host; this needs columns.hosts")
    values |= {key: whole(f"{source}: machine.{key}", value, 1, MAX_NS) for key, value in machine.items()}
    return ColumnMap(source=source, columns=read, extras=further, events=_events(given, source), **values)


def _table(given: Mapping[str, Any], key: str, source: str) -> dict[str, Any]:
    found = given.get(key, {})
    if not isinstance(found, dict):
        raise InputError(f"{source}: {key}: {shown(found)}; allowed: a table [{key}]")
    return found


def _events(given: Mapping[str, Any], source: str) -> Events | None:
    if "events" not in given:
        return None
    table = _table(given, "events", source)
    names = [entry.name for entry in fields(Events)]
    check_keys(table, names, f"{source}: events.")
    for name in ("job", "type", "time", "submit"):
        if name not in table:
            raise InputError(f"{source}: events.{name}: missing")
    texts: dict[str, Any] = {name: _text(table[name], f"{source}: events.{name}") for name in ("job", "type", "time")}
    words = {name: _words(table[name], f"{source}: events.{name}") for name in table if name not in texts}
    return Events(**texts | words)


def _specs(kind: str, given: Any, missing: tuple[str, ...], where: str) -> tuple[SourceColumn, ...]:
    several = given if isinstance(given, list) else [given]
    if not several:
        raise InputError(f"{where}: an empty list; allowed: one or more columns")
    return tuple(
        _spec(kind, one, missing, f"{where}[{place}]" if isinstance(given, list) else where)
        for place, one in enumerate(several)
    )


def _spec(kind: str, given: Any, missing: tuple[str, ...], where: str) -> SourceColumn:
    if isinstance(given, str):
        given = {"column": given}
    elif isinstance(given, int | float) and not isinstance(given, bool):
        given = {"value": given}
    if not isinstance(given, dict):
        raise InputError(f"{where}: {shown(given)}; allowed: a column's name, a number, or a table with column")
    if not kind:
        kind = KIND.value(given.get("kind", NUMBER), "", f"{where}.kind")
        given = {key: value for key, value in given.items() if key != "kind"}
    check_keys(given, [name for name, key in KEYS.items() if not key.kinds or kind in key.kinds], f"{where}.")
    if ("column" in given) == ("value" in given):
        raise InputError(f"{where}: {shown(given)}; allowed: either column or value")
    values = {key: KEYS[key].value(value, kind, f"{where}.{key}") for key, value in given.items()}
    values["missing"] = () if "value" in given else (*missing, *values.get("missing", ()))
    values.setdefault("unit", UNITS[kind][0] if kind in UNITS else "")
    return SourceColumn(kind=kind, **values)
