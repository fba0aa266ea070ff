"""The map of a table's columns: which column of a log means what, in which unit, read from TOML and checked.

:data:`TARGETS` declares what a map may describe, and :class:`SourceColumn` with :data:`KEYS` how a column is read;
docs/reference/inputs.md is made from these declarations.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from bls.workloads.columns import NAME_LENGTH
from traces.base.errors import InputError, one_of, shown, shown_name, whole
from traces.base.given_file import check_keys, parse_toml, read_text
from traces.base.time import MAX_NS

#: Units of time, in ns.
TIME_UNITS = {
    "ns": 1,
    "us": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "min": 60 * 10**9,
    "h": 3600 * 10**9,
    "d": 86_400 * 10**9,
}
MEMORY_UNITS = {
    "B": 0,
    "KB": 1,
    "MB": 2**10,
    "GB": 2**20,
    "TB": 2**30,
}  #: units of memory, in KB; a byte is a fraction of one
COUNT_UNITS = {"one": 1, "percent": 100, "milli": 1000}  #: units of counts: how many of them are one
MOST_TIMES = 10**6  #: largest factor of a count

INSTANT, DURATION, COUNT, MEMORY = "instant", "duration", "count", "memory"
LABEL, NUMBER, IDENTITY, STATE, NUMBERS = "label", "number", "id", "state", "numbers"

#: Words for a missing value, in every column.
MISSING = ("", "NULL", "null", "None", "none", "nan", "NaN", "NA", "N/A", "(null)")


class Target(NamedTuple):
    """A property of jobs that a map may describe."""

    kind: str  # how cells are read: a key of KEYS
    meaning: str  # for people


#: What ``[columns]`` of a map may describe.
TARGETS: Mapping[str, Target] = {
    "job_id": Target(
        IDENTITY, "number or text that identifies the job; without it, jobs have the numbers of their rows"
    ),
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
    "attempt": Target(NUMBER, "number of the attempt: of the rows of a job the one with the highest number counts"),
}
REQUIRED = ("submit", "cores")  #: what every map must describe

_EVERY = ("column", "value", "missing", "optional", "take")

#: Keys of a column, by the kind of its target.
KEYS: Mapping[str, tuple[str, ...]] = {
    INSTANT: (*_EVERY, "unit", "zone", "repeated", "skipped"),
    DURATION: (*_EVERY, "unit", "infinite"),
    COUNT: (*_EVERY, "unit", "per", "times", "tres"),
    MEMORY: (*_EVERY, "unit", "per", "tres"),
    LABEL: (*_EVERY, "unit", "names"),
    NUMBER: _EVERY,
    NUMBERS: _EVERY,
    IDENTITY: (*_EVERY, "unit", "names"),
    STATE: (*_EVERY, "completed", "failed", "cancelled", "not_ended", "unknown"),
}

#: Kinds that ``[extras]`` may have, with their key ``kind``.
EXTRA_KINDS = (NUMBER, COUNT, LABEL, DURATION, INSTANT)

#: Allowed words of a key, by the kind of the target; a unit that begins with ``%`` is a format of ``strptime``.
UNITS: Mapping[str, tuple[str, ...]] = {
    INSTANT: ("auto", *TIME_UNITS, "iso"),
    DURATION: ("auto", *TIME_UNITS, "clock"),
    COUNT: tuple(COUNT_UNITS),
    MEMORY: tuple(MEMORY_UNITS),
    LABEL: ("name", "number"),
    IDENTITY: ("auto", "number", "name", "slurm"),
}
PER: Mapping[str, tuple[str, ...]] = {COUNT: ("job", "host"), MEMORY: ("job", "host", "core")}
REPEATED, SKIPPED = ("first", "second"), ("reject", "forward")
TAKES = ("first", "last", "sum", "mean", "max", "count")

#: Meaning of the keys of a column, for people.
KEY_MEANINGS: Mapping[str, str] = {
    "column": "name of the column; in JSON and Parquet also a path, as `attempts[-1].start_time`",
    "value": "a constant instead of a column",
    "unit": "unit of the values",
    "zone": "time zone of dates without an offset, as `Europe/Rome`; else that of the map, else UTC",
    "repeated": "which instant a date of the repeated hour means, when clocks go back",
    "skipped": "dates of the skipped hour, when clocks go forward: a reject, or moved forward by the skipped time",
    "infinite": "words for no limit",
    "per": "what the value is of; of a host, it is multiplied by `hosts`",
    "times": f"factor of the value, 1 to {MOST_TIMES:,}",
    "tres": "names of Slurm's resources in words such as `cpu=4,gres/gpu=2`; their counts are added",
    "names": "a column with the names of the numbers of this one",
    "missing": f"words for a missing value, besides {', '.join(f'`{word}`' for word in MISSING if word)} and nothing",
    "optional": "whether the table may lack the column",
    "take": "what is taken of a list",
    "completed": "words for status 1; the first word of a cell counts",
    "failed": "words for status 0",
    "cancelled": "words for status 5",
    "not_ended": "words for jobs that wait or run: rejects",
    "unknown": "words that say nothing about how the job ended",
    "kind": "of `[extras]`: what the values are",
}


@dataclass(frozen=True)
class SourceColumn:
    """How one column of the table is read."""

    column: str = ""  # its name; empty for a constant
    value: str | None = None  # a constant
    kind: str = NUMBER  # the kind of the target
    unit: str = ""  # empty: the first of UNITS
    zone: str = ""
    repeated: str = REPEATED[0]
    skipped: str = SKIPPED[0]
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
    # words of ``type``; the first submit and start, and the last end count
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


FORMATS = ("csv", "jsonl", "json", "parquet")
#: Keys of a map besides its tables, and their meaning.
MAP_KEYS: Mapping[str, str] = {
    "title": "name of the log",
    "origin": "where the log's columns are described",
    "file": "the table, relative to the map: with it, the map itself is a WORKLOAD",
    "format": f"one of {', '.join(FORMATS)}; default: by the file's name and content",
    "separator": "separator of CSV; default: found in the first line, of comma, tab, semicolon and bar",
    "header": "names of the columns, for a CSV file without a header",
    "records": "of JSON: the key of the list of jobs",
    "recognised": "columns by which tables are recognised, in maps of the project",
    "zone": "time zone of the log, as `Europe/Rome`: of dates without an offset, and for local time in metrics",
    "time_zero": "`auto`: instants after 1980 count since 1970, and time 0 is the earliest submit; `given`: as they are",
    "others": "prefix of columns that are extras of whole numbers, named by the rest",
    "missing": "words for a missing value in all columns",
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
    texts: dict[str, Any] = {key: _text(given[key], f"{source}: {key}") for key in given if key in _TEXTS}
    lists: dict[str, Any] = {
        key: _words(given[key], f"{source}: {key}") for key in ("recognised", "header", "missing") if key in given
    }
    _one_of("format", texts.get("format", FORMATS[0]), FORMATS, f"{source}: format")
    _one_of("time_zero", texts.get("time_zero", "auto"), ("auto", "given"), f"{source}: time_zero")
    _check_zone(texts.get("zone", ""), f"{source}: zone")
    if len(texts.get("separator", ",")) != 1:
        raise InputError(f"{source}: separator: {shown(texts['separator'])}; allowed: one character")
    for name in lists.get("header", ()):
        if lists["header"].count(name) > 1:
            raise InputError(f"{source}: header: column {shown_name(name)} appears twice")
    missing = (*MISSING, *lists.pop("missing", ()))
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
            raise InputError(f"{source}: columns.{name}: missing; every map says which column is the {name}")
    further = {}
    for name, value in extras.items():
        where = f"{source}: extras.{shown_name(name)}"
        if not name.isprintable() or not 1 <= len(name) <= NAME_LENGTH or name in ("gpus", "nodes"):
            allowed = f"1 to {NAME_LENGTH} printable characters, and not gpus or nodes, which are in [columns]"
            raise InputError(f"{where}: allowed: {allowed}")
        further[name] = _specs("", value, missing, where)
    if "hosts" not in read:
        for name, specs in read.items():
            if any(spec.per == "host" for spec in specs):
                raise InputError(f"{source}: columns.{name}.per: of a host; it needs columns.hosts")
    values: dict[str, Any] = {
        key: whole(f"{source}: machine.{key}", value, 1, MAX_NS) for key, value in machine.items()
    }
    values |= texts | lists
    return ColumnMap(source=source, columns=read, extras=further, events=_events(given, source), **values)


_TEXTS = tuple(key for key in MAP_KEYS if key not in ("recognised", "header", "missing"))


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
        raise InputError(
            f"{where}: an empty list; allowed: a column's name, or several columns; the first with a value counts"
        )
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
        kind = given.get("kind", NUMBER)
        _one_of("kind", kind, EXTRA_KINDS, f"{where}.kind")
        given = {key: value for key, value in given.items() if key != "kind"}
    check_keys(given, KEYS[kind], f"{where}.")
    if ("column" in given) == ("value" in given):
        raise InputError(f"{where}: {shown(given)}; allowed: either column or value")
    values: dict[str, Any] = {"kind": kind}
    for key, value in given.items():
        values[key] = _key(key, value, kind, f"{where}.{key}")
    values["missing"] = (*missing, *values.get("missing", ()))
    values.setdefault("unit", UNITS[kind][0] if kind in UNITS else "")
    return SourceColumn(**values)


def _key(key: str, value: Any, kind: str, where: str) -> Any:
    """The value of a key of a column, checked."""
    match key:
        case "column" | "names":
            return _text(value, where)
        case "value":
            if isinstance(value, bool) or not isinstance(value, int | float | str):
                raise InputError(f"{where}: {shown(value)}; allowed: a number or a text")
            return f"{value}"
        case "optional":
            if not isinstance(value, bool):
                raise InputError(f"{where}: {shown(value)}; allowed: true or false")
            return value
        case "times":
            return whole(where, value, 1, MOST_TIMES)
        case "zone":
            _check_zone(value, where)
            return value
        case "unit":
            if not (kind == INSTANT and isinstance(value, str) and value.startswith("%")):
                _one_of("unit", value, UNITS[kind], where)
            return value
        case "per":
            return _one_of("reference", value, PER[kind], where)
        case "repeated" | "skipped":
            return _one_of("rule", value, REPEATED if key == "repeated" else SKIPPED, where)
        case "take":
            return _one_of("part of a list", value, TAKES, where)
    return _words(value, where)


def _one_of(what: str, value: Any, known: tuple[str, ...], where: str) -> str:
    if not isinstance(value, str) or value not in known:
        raise one_of(what, value, known, where)
    return value


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value:
        raise InputError(f"{where}: {shown(value)}; allowed: a text")
    return value


def _words(value: Any, where: str) -> tuple[str, ...]:
    several = value if isinstance(value, list) else [value]
    for one in several:
        if isinstance(one, bool) or not isinstance(one, str | int | float):
            raise InputError(f"{where}: {shown(value)}; allowed: a text, or a list of texts")
    return tuple(f"{one}" for one in several)


@lru_cache(maxsize=32)
def zone_of(name: str) -> ZoneInfo:
    """The time zone of a name. Raises KeyError, ValueError or OSError if there is none."""
    return ZoneInfo(name)


def _check_zone(value: Any, where: str) -> None:
    if value == "":
        return
    try:
        zone_of(value if isinstance(value, str) else "")
    except (KeyError, ValueError, OSError, TypeError):
        from zoneinfo import available_timezones

        near = one_of("time zone", value, sorted(available_timezones()), where, page="the IANA database")
        raise near from None
