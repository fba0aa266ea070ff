"""Tables of jobs, row by row, with the csv and json modules, decimals and dates of Python's library; no code of the reader.

The map is the plain content of a TOML file. Only maps that are right are read, and only what random cases use.
"""

import csv
import gzip
import io
import json
import math
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

MOST = 2**62
MISSING = {"", "NULL", "null", "None", "none", "nan", "NaN", "NA", "N/A", "(null)"}
UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9, "d": 86400 * 10**9}
KB = {"B": Fraction(1, 1024), "KB": 1, "MB": 1024, "GB": 1024**2, "TB": 1024**3}
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_DATE = re.compile(
    r"([0-9]{4})([-/])([0-9]{2})\2([0-9]{2})(?:[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]+))?)?"
    r"(?: ?(Z|UTC|[+-][0-9]{2}(?::?[0-9]{2})?))?)?"
)
_CLOCK = re.compile(r"(?:([0-9]+)-)?(?:([0-9]+):)?([0-9]+):([0-9]+)")
_EXACT = Context(prec=200)


class Absent(Exception):
    """The cell has no value."""


class Wrong(Exception):
    """The cell cannot be read."""


class Skipped(Exception):
    """The date is in a skipped hour."""


class Found(NamedTuple):
    """What was read."""

    jobs: list[dict[str, int]]
    rejects: Counter[str]
    n_lines: int


def rows_of(path: Path, separator: str = ",") -> list[tuple[int, dict[str, Any]]]:
    """The rows of a file with their numbers."""
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        return list(enumerate(pq.read_table(path).to_pylist(), 1))
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    text = data.decode()
    if ".jsonl" in path.name:
        lines = enumerate(text.split("\n")[:-1], 1)
        return [(line, json.loads(one, parse_int=str, parse_float=str)) for line, one in lines]
    header, *others = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    return [(line, dict(zip(header, row, strict=True))) for line, row in enumerate(others, 2)]


def read(rows: list[tuple[int, dict[str, Any]]], given: dict[str, Any]) -> Found:
    """The jobs of rows, and the counts of the others."""
    return _Reader(given).read(rows)


def _word(cell: Any) -> str:
    return (
        cell.strip()
        if isinstance(cell, str)
        else str(int(cell))
        if isinstance(cell, float) and cell.is_integer()
        else str(cell)
    )


class _Reader:
    def __init__(self, given: dict[str, Any]) -> None:
        self.given: Any = given
        self.columns = {
            name: [
                one if isinstance(one, dict) else {"column": one} if isinstance(one, str) else {"value": str(one)}
                for one in (value if isinstance(value, list) else [value])
            ]
            for name, value in given["columns"].items()
        }
        self.numbers: dict[str, dict[str, int]] = {name: {} for name in self.columns}

    def read(self, rows: list[tuple[int, dict[str, Any]]]) -> Found:
        jobs: list[dict[str, int]] = []
        rejects: Counter[str] = Counter()
        seen: set[int] = set()
        submits: list[int] = []
        n = 0
        for line, row in rows:
            if all(row.get(column) == "" for column in self._needed()):
                continue
            n += 1
            job = self._job(line, row)
            if isinstance(job, str):
                rejects[job] += 1
                continue
            submits.append(job["submit"])
            if job["job_id"] in seen:
                rejects["duplicate job number"] += 1
            else:
                seen.add(job["job_id"])
                jobs.append(job)
        earliest = min(submits, default=0)
        start = earliest // 10**9 * 10**9 if earliest >= 315_532_800 * 10**9 else 0
        for job in jobs:
            job["submit"] -= start
            for name in ("begin", "cancel"):
                job[name] -= start if job[name] >= 0 else 0
        return Found(sorted(jobs, key=lambda job: (job["submit"], job["line"])), rejects, n)

    def _needed(self) -> set[str]:
        return {spec["column"] for specs in self.columns.values() for spec in specs if "column" in spec}

    def _job(self, line: int, row: dict[str, Any]) -> str | dict[str, int]:
        def of(name: str) -> Any:
            try:
                return self._value(name, row)
            except (Absent, Wrong, Skipped) as error:
                return type(error)

        try:
            job = self._job_id(line, row)
        except Wrong:
            return "malformed"
        submit, start, end, run = of("submit"), of("start"), of("end"), of("run")
        walltime, wait, begin, cancel = of("walltime"), of("wait"), of("begin"), of("cancel")
        hosts, gpus, cores = of("hosts"), of("gpus"), of("cores")
        if submit in (Absent, Wrong) or (isinstance(submit, int) and submit < 0):
            return "malformed"
        if run is Absent and Wrong in (start, end):
            return "malformed"
        if Wrong in (run, walltime, cores, gpus):
            return "malformed"
        if submit is Skipped or (run is Absent and Skipped in (start, end)):
            return "skipped hour"
        status, going = self._status(row)
        if run is Absent:
            run = end - start if isinstance(start, int) and isinstance(end, int) else 0
        reason = "not ended" if going else "no run time" if run <= 0 else ""
        if not reason and (not isinstance(cores, int) or cores <= 0):
            reason = "no processors"
        if reason:
            return reason
        started = isinstance(start, int)
        held = isinstance(begin, int) and begin > submit and (not started or begin <= start)
        recorded = wait if isinstance(wait, int) else start - submit if started else -1
        found = {
            "job_id": job,
            "submit": submit,
            "run": run,
            "cores": cores,
            "line": line,
            "estimate": walltime if isinstance(walltime, int) and walltime > 0 else run,
            "wait": max(recorded, -1),
            "status": status,
            "memory": self._memory(row, cores, hosts),
            "begin": begin if held else -1,
            "cancel": cancel if isinstance(cancel, int) and cancel >= submit else -1,
            "nodes": hosts if isinstance(hosts, int) and hosts >= 0 else -1,
            "gpus": gpus if isinstance(gpus, int) and gpus >= 0 else -1,
        }
        for name in ("user", "queue"):
            found[name] = self._label(name, row)
        return found

    def _job_id(self, line: int, row: dict[str, Any]) -> int:
        if "job_id" not in self.columns:
            return line
        spec = self.columns["job_id"][0]
        cell = row.get(spec["column"])
        if self._is_missing(cell, spec):
            raise Wrong
        if spec.get("unit") == "name":
            return self.numbers["job_id"].setdefault(_word(cell), len(self.numbers["job_id"]) + 1)
        value = self._number(cell, spec)
        if value != int(value) or value < 0:
            raise Wrong
        return int(value)

    def _label(self, name: str, row: dict[str, Any]) -> int:
        for spec in self.columns.get(name, []):
            cell = row.get(spec["column"])
            if not self._is_missing(cell, spec):
                known = self.numbers[name]
                return known.setdefault(_word(cell), len(known) + 1)
        return -1

    def _status(self, row: dict[str, Any]) -> tuple[int, bool]:
        for spec in self.columns.get("state", []):
            cell = row.get(spec["column"])
            if self._is_missing(cell, spec):
                return -1, False
            word = _word(cell)
            for one in (word, word.split(maxsplit=1)[0]):
                for key, status in (("not_ended", -2), ("cancelled", 5), ("failed", 0), ("completed", 1)):
                    if one in spec.get(key, []):
                        return max(status, -1), status == -2
        return -1, False

    def _memory(self, row: dict[str, Any], cores: int, hosts: Any) -> int:
        for spec in self.columns.get("memory", []):
            try:
                value = self._number(row.get(spec["column"]), spec)
            except (Absent, Wrong):
                continue
            factor = Fraction(KB[spec.get("unit", "B")])
            total = math.ceil(Fraction(value) * factor)
            if abs(int(value)) > MOST // max(1, int(factor)) or not 0 < total <= MOST:
                continue
            per = spec.get("per", "job")
            if per == "host":
                if not isinstance(hosts, int) or hosts <= 0 or total > MOST // hosts:
                    continue
                total *= hosts
            return total if per == "core" else -(-total // cores)
        return -1

    def _value(self, name: str, row: dict[str, Any]) -> Any:
        for spec in self.columns.get(name, []):
            try:
                return self._one(name, spec, row)
            except Absent:
                continue
        raise Absent

    def _one(self, name: str, spec: dict[str, Any], row: dict[str, Any]) -> Any:
        cell = spec["value"] if "value" in spec else row.get(spec["column"])
        if name in ("submit", "start", "end", "begin", "cancel"):
            return self._instant(cell, spec)
        if name in ("run", "walltime", "wait"):
            return self._duration(cell, spec)
        value = self._number(cell, spec)
        times, of_one = spec.get("times", 1), {"percent": 100, "milli": 1000}.get(spec.get("unit", "one"), 1)
        if abs(int(value)) > MOST // times:
            raise Wrong
        count = math.ceil(Fraction(value) * times / of_one)
        if abs(count) > MOST:
            raise Wrong
        if spec.get("per") != "host":
            return count
        hosts = self._value("hosts", row)
        if hosts > 0 and abs(count) > MOST // hosts:
            raise Wrong
        return count * max(hosts, 0)

    def _is_missing(self, cell: Any, spec: dict[str, Any]) -> bool:
        if cell is None or (isinstance(cell, float) and math.isnan(cell)):
            return True
        known = MISSING | set(spec.get("missing", [])) | set(self.given.get("missing", []))
        return isinstance(cell, str) and cell.strip() in known

    def _number(self, cell: Any, spec: dict[str, Any]) -> Decimal:
        """A number, rounded to nine decimals."""
        if isinstance(cell, int):
            value = Decimal(cell)
        elif isinstance(cell, float):
            if math.isnan(cell):
                raise Absent
            if not abs(cell) < 2.0**62:
                raise Wrong
            fraction, whole = math.modf(cell)
            value = Decimal(int(whole)) + Decimal(round(fraction * 1e9)).scaleb(-9)
        elif cell is not None and _NUMBER.fullmatch(cell.strip()):
            value = Decimal(cell.strip())
            if value and value.adjusted() > 30:
                raise Wrong
            value = value.quantize(Decimal("1e-9"), ROUND_HALF_EVEN, _EXACT) if value.adjusted() > -30 else Decimal(0)
        else:
            raise Absent if self._is_missing(cell, spec) else Wrong
        if abs(int(value)) > MOST:
            raise Wrong
        if "value" not in spec and _word(cell) in [*spec.get("missing", []), *self.given.get("missing", [])]:
            raise Absent
        return value

    def _times(self, value: Decimal, unit: int) -> int:
        ns = int((value * unit).quantize(Decimal(1), ROUND_HALF_EVEN, _EXACT))
        return ns if abs(ns) <= MOST else MOST + 1 if ns > 0 else -MOST - 1

    def _instant(self, cell: Any, spec: dict[str, Any]) -> int:
        unit = spec.get("unit", "auto")
        if isinstance(cell, datetime):
            return self._of_date(cell, 0, spec)
        if unit != "auto" and unit != "iso":
            return self._times(self._number(cell, spec), UNITS[unit])
        if self._is_missing(cell, spec):
            raise Absent
        match = _DATE.fullmatch(cell.strip()) if isinstance(cell, str) else None
        if match:
            try:
                return self._date(match, spec)
            except ValueError:
                pass
        if unit == "iso":
            raise Wrong
        return self._times(self._number(cell, spec), UNITS["s"])

    def _date(self, match: re.Match[str], spec: dict[str, Any]) -> int:
        year, _, month, day, hour, minute, second, fraction, offset = match.groups()
        date = datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0))
        nano = int(Decimal(f"0.{fraction or 0}").quantize(Decimal("1e-9"), ROUND_HALF_EVEN, _EXACT).scaleb(9))
        if offset is not None:
            east = 0
            if offset[0] in "+-":
                digits = offset[1:].replace(":", "")
                if int(digits[:2]) > 23 or int(digits[2:] or 0) > 59:
                    raise ValueError
                east = (int(digits[:2]) * 60 + int(digits[2:] or 0)) * (1 if offset[0] == "+" else -1)
            date = date.replace(tzinfo=UTC) - timedelta(minutes=east)
        return self._of_date(date, nano, spec)

    def _of_date(self, date: datetime, nano: int, spec: dict[str, Any]) -> int:
        nano += date.microsecond * 1000
        date = date.replace(microsecond=0)
        zone = spec.get("zone") or self.given.get("zone")
        if not 1970 <= date.year <= 2199:
            raise Wrong
        if date.tzinfo is None and not zone:
            date = date.replace(tzinfo=UTC)
        if date.tzinfo is None:
            there = ZoneInfo(str(zone))
            local = date.replace(tzinfo=there)
            skipped = local.astimezone(UTC).astimezone(there).replace(tzinfo=None) != date
            if skipped and spec.get("skipped", "reject") == "reject":
                raise Skipped
            date = local if skipped else local.replace(fold=int(spec.get("repeated") == "second"))
        since = date.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)
        seconds = since.days * 86400 + since.seconds
        if seconds < 0 or seconds * 10**9 + nano > MOST:
            raise Wrong
        return seconds * 10**9 + nano

    def _duration(self, cell: Any, spec: dict[str, Any]) -> int:
        unit = spec.get("unit", "auto")
        if isinstance(cell, timedelta):
            return (cell.days * 86400 + cell.seconds) * 10**9 + cell.microseconds * 1000
        if _word(cell) in spec.get("infinite", []) if cell is not None else False:
            raise Absent
        if (
            unit in ("clock", "auto")
            and isinstance(cell, str)
            and not (unit == "auto" and _NUMBER.fullmatch(cell.strip()))
        ):
            if self._is_missing(cell, spec):
                raise Absent
            match = _CLOCK.fullmatch(cell.strip())
            if match is None or (match[1] and match[2] is None):
                raise Wrong
            days, hours, minutes, seconds = (int(one or 0) for one in match.groups())
            return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 10**9
        return self._times(self._number(cell, spec), UNITS.get(unit, 10**9))
