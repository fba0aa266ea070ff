"""Guesses a first map of a table's columns, for people to edit, by the words of the columns' names and the first rows.

Units are found by comparing columns where that decides: a run time with end minus start, a time limit with run times. A comment
marks what stays uncertain, and columns that are not used are listed with an example.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from bls.workloads.readers.tables import arrays as ar
from bls.workloads.readers.tables import column_map as cm
from bls.workloads.readers.tables.batch_values import LONGEST_NS
from bls.workloads.readers.tables.cells import READ
from bls.workloads.readers.tables.named import map_text, recognised
from bls.workloads.readers.tables.sources import RowBatch, RowTable, opened
from traces.base.errors import InputError, shown, shown_name
from traces.compiled import Array

_ROWS = 20_000  # rows that are read
_MOST_INFINITE = 3  # numbers that may stand for no limit
_MOST_LISTED = 60  # unused columns, and states, that are listed

#: Words that a target's column has in its name, the best first; ``+`` joins words that are needed together.
_WORDS: Mapping[str, str] = {
    "job_id": "jobid jobidraw idraw+job jid job+id id+job uuid job+number cluster+id task+id id pod job",
    "submit": "submit submitted submission queued creation created arrival qtime qdate ctime adt queue+time",
    "begin": "eligible",
    "start": "start started starttime begin began scheduled sdt",
    "end": "end ended endtime finish finished stop stopped completion deletion event edt",
    "walltime": "list+walltime walltime timelimit timelimitraw wallclock+limit limit requested+time req+time elpl",
    "run": "run runtime elapsed elapsedraw duration used+walltime wallclock wall+clock seconds",
    "cores": "cores ncores cpus ncpus core cpu processors nprocs procs slots processor tasks",
    "hosts": "nodes nnodes node hosts nodect",
    "gpus": "gpus gpu ngpus",
    "memory": "memory mem reqmem",
    "user": "user userid username uid usr owner",
    "group": "account group gid project namespace",
    "queue": "queue queuename qname vc",
    "partition": "partition",
    "qos": "qos",
    "name": "jobname name jnam application app executable",
    "state": "jobstate state status phase jstatus",
}
#: Words that do not make a name mean something else, by the target's kind; ``""``: for all kinds.
_NEUTRAL = {
    "": "job raw alloc allocated used resources resource list requested request req total current",
    cm.LABEL: "id name genid hash",
    cm.IDENTITY: "id number",
    cm.INSTANT: "time timestamp date at",
    cm.DURATION: "time wall clock remote",
    cm.COUNT: "num number count n",
}
_ALONE = ("id", "job")  # words that count only without others
_UNITS_OF_NAME = {
    "ns": "ns nanoseconds",
    "us": "us microseconds",
    "ms": "ms milliseconds",
    "s": "s sec secs seconds",
    "min": "min mins minutes",
    "h": "h hr hours",
    "d": "d days",
    "B": "b bytes",
    "KB": "kb kib",
    "MB": "mb mib",
    "GB": "gb gib",
    "TB": "tb tib",
    "milli": "milli millicores",
    "percent": "percent",
}
_UNITS = {word: unit for unit, words in _UNITS_OF_NAME.items() for word in words.split()}
_STATES = {
    "completed": "COMPLETED COMPLETE DONE SUCCEEDED SUCCESS PASS FINISHED TERMINATED CD OK",
    "failed": "FAILED FAIL TIMEOUT NODE_FAIL OUT_OF_MEMORY BOOT_FAIL DEADLINE PREEMPTED ERROR EXIT F TO NF OOM",
    "cancelled": "CANCELLED CANCELED KILLED REMOVED REVOKED ABORTED CA",
    "not_ended": "PENDING RUNNING SUSPENDED QUEUED WAITING COMPLETING CONFIGURING REQUEUED PD R",
}
_STATE_OF = {word: key for key, words in _STATES.items() for word in words.split()}
_PER = {"node": "host", "host": "host", "core": "core", "cpu": "core"}
_INFINITE = ("UNLIMITED", "INFINITE", "PARTITION_LIMIT")
_EPOCHS = (("s", 3.2e8, 6e9), ("ms", 3.2e11, 6e12), ("us", 3.2e14, 6e15), ("ns", 3.2e17, 6e18))
_FORMATS = ("%d.%m.%Y %H:%M:%S", "%d.%m.%Y %H:%M", "%m/%d/%Y %H:%M:%S", "%m/%d/%Y %H:%M", "%a %b %d %H:%M:%S %Y")
_PARTS = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z])(?=[A-Z])")
_VALUE = re.compile(r"[-+.:/TZ 0-9]*[0-9][-+.:/TZ 0-9]*")  # a number or a date
_OFFSET = re.compile(r"(?:Z|UTC|[+-][0-9]{2}(?::?[0-9]{2})?)$")


def first_map(path: str | os.PathLike[str]) -> str:
    """A map of a table in TOML, with comments where it is uncertain; the project's own if it recognises the table. Raises
    InputError if the file holds no table."""
    source = os.fspath(path)
    with opened(path) as table:
        names = table.names
        known = recognised(names)
        if known is not None:
            name = known.source.removeprefix("map ")
            head = f"# The map {name} of the project, which recognises this table."
            return f"{head}\nfile = {_toml(source)}\n{map_text(name)}"
        if len(named := [name for name in names if name]) == 1:
            allowed = "several, in CSV (separated by commas, tabs, semicolons or bars), JSON or Parquet"
            raise InputError(f"{source}: one column, {shown_name(named[0])}; allowed: {allowed}")
        batch = _first_rows(table)
    has_header = 2 * sum(bool(_VALUE.fullmatch(name)) for name in names) <= len(names)
    header = () if has_header else tuple(f"column {place}" for place in range(1, len(names) + 1))
    if header:
        with opened(path, header=header) as table:
            header = header if table.names == header else ()  # Parquet and JSON always name their columns
            batch = _first_rows(table)
    if batch is None or not len(batch.line):
        raise InputError(f"{source}: no rows after the line that names the columns")
    return "\n".join(_Guess(batch, source, header).lines()) + "\n"


def _first_rows(table: RowTable) -> RowBatch | None:
    """The first rows, with the columns whose names are unique and that have no columns in them."""
    roots = {name.rpartition(".")[0] for name in table.names}
    names = [name for name in table.names if name and name not in roots and table.names.count(name) == 1]
    return next(table.batches(names), None)


class _Guess:
    def __init__(self, batch: RowBatch, source: str, header: tuple[str, ...]) -> None:
        self._source, self._header = source, header
        self._columns: dict[str, Any] = {}
        for name, column in batch.columns.items():
            try:
                self._columns[name] = ar.plain(column.slice(0, _ROWS), name, source)
            except InputError:
                continue  # nested
        self._nested = [name for name in batch.columns if name not in self._columns]
        self._used: dict[str, str] = {}  # column by target
        self._doubts: dict[str, list[str]] = {}
        self._ns: dict[str, Array] = {}  # instants and run times; -1 where unknown

    def lines(self) -> list[str]:
        """The lines of the map."""
        for target in _WORDS:
            self._choose(target)
        self._choose_by_dates()
        made = {target: self._described(target) for target in cm.TARGETS if target in self._used}
        file = shown_name(self._source.rpartition("/")[2])
        lines = [
            f"# A first map of {file}, guessed by names and values: check each line, first of all those with a question mark.",
            "# docs/reference/inputs.md lists the keys.",
            f"file = {_toml(self._source)}",
        ]
        if self._header:
            lines.append(f"header = {_toml(self._header)}  # ? the first line has values: name the columns here")
        if any("no zone" in doubts for doubts in self._doubts.values()):
            lines.append('# zone = "Europe/Rome"  # ? dates have no offset: they count as UTC')
        lines += ["", "[columns]"]
        for target, one in cm.TARGETS.items():
            if target in made:
                doubts = self._doubts.get(target, [])
                lines.append(f"{target} = {made[target]}" + (f"  # ? {'; '.join(doubts)}" if doubts else ""))
            elif target in cm.REQUIRED:
                lines.append(f'# {target} = "…"  # ? {one.meaning.partition(";")[0]}: no column found')
        rest = [name for name in (*self._columns, *self._nested) if name not in self._used.values()]
        if rest:
            lines += ["", "# Columns that are not used; [extras] may keep whole numbers and names:"]
            lines += [f"#   {shown_name(name)}: {self._example(name)}" for name in rest[:_MOST_LISTED]]
            lines += [f"#   … and {len(rest) - _MOST_LISTED} more"] if len(rest) > _MOST_LISTED else []
        return lines

    def _words_of(self, name: str) -> list[str]:
        """The distinct words of a column that are not missing."""
        return [word for word in ar.distinct_words(self._columns[name])[1] if word not in cm.MISSING]

    def _example(self, name: str) -> str:
        if name in self._nested:
            return "nested"
        return shown(words[0], 40) if (words := self._words_of(name)) else "nothing"

    def _free(self) -> list[str]:
        return [name for name in self._columns if name not in self._used.values()]

    def _choose(self, target: str) -> None:
        """The column whose name has a word of the target and the fewest others, of a type that fits."""
        neutral = f"{_NEUTRAL['']} {_NEUTRAL.get(cm.TARGETS[target].kind, '')}".split()
        found = []
        for name in self._free():
            words = set(_split(name).words)
            for rank, wanted in enumerate(_WORDS[target].split()):
                if words.issuperset(wanted.split("+")):
                    others = sorted(words.difference(wanted.split("+"), neutral))
                    is_requested = any(word.startswith("req") for word in words)
                    if len(others) <= (wanted not in _ALONE):
                        found.append((len(others), is_requested, rank, name, others))
        for _, is_requested, _, name, others in sorted(found):
            if self._fits(target, name):
                self._used[target] = name
                if is_requested and target in ("cores", "hosts", "gpus"):
                    self._doubt(target, "requested, not allocated")
                for word in others:
                    self._doubt(target, f"{word}: something else?")
                return

    def _choose_by_dates(self) -> None:
        """Without a submit, take columns of dates as the instants that have no column, in the order of their dates."""
        if "submit" in self._used:
            return
        dated = {name: dates[1] for name in self._free() if (dates := self._dates(name))}
        missing = [target for target in ("submit", "start", "end") if target not in self._used]
        order = sorted(dated, key=lambda name: float(np.mean(dated[name][dated[name] >= 0])))
        for target, name in zip(missing, order, strict=False):
            self._used[target] = name
            self._doubt(target, "by the order of dates")

    def _spec(self, target: str, name: str, unit: str = "") -> cm.SourceColumn:
        kind = cm.TARGETS[target].kind
        return cm.SourceColumn(column=name, kind=kind, unit=unit or cm.UNITS.get(kind, ("",))[0])

    def _fits(self, target: str, name: str) -> bool:
        kind = cm.TARGETS[target].kind
        array, spec = self._columns[name], self._spec(target, name)
        if kind == cm.INSTANT and self._dates(name):
            return True
        try:
            if kind == cm.DURATION:
                found = ar.durations(array, spec, self._source).state
                return bool((found == READ).any()) if target == "walltime" else self._is_most(found, array)
            if kind in (cm.INSTANT, cm.COUNT, cm.MEMORY):
                return self._is_most(ar.amounts(array, spec, self._source).state, array)
        except InputError:
            return False
        return kind != cm.STATE or any(word.split(maxsplit=1)[0].upper() in _STATE_OF for word in self._words_of(name))

    def _doubt(self, target: str, text: str) -> None:
        self._doubts.setdefault(target, []).append(text)

    def _described(self, target: str) -> str:
        name = self._used[target]
        kind = cm.TARGETS[target].kind
        keys: dict[str, Any] = {"column": name}
        _, unit, per = _split(name)
        if kind == cm.INSTANT:
            keys["unit"] = self._instant(target, name)
        elif kind == cm.DURATION:
            keys |= self._duration(target, name)
        elif kind == cm.MEMORY:
            keys |= {"unit": unit if unit in cm.MEMORY_UNITS else "MB", "per": per or "job"}
            if unit not in cm.MEMORY_UNITS:
                self._doubt(target, "unit")
            if not per:
                self._doubt(target, "of the job, a host or a core")
        elif kind == cm.COUNT:
            keys |= {"unit": unit if unit in cm.COUNT_UNITS else "", "per": per}
        elif kind == cm.STATE:
            keys |= self._states(target, name)
        if per and (per not in cm.KEYS["per"].kinds.get(kind, ()) or (per == "host" and "hosts" not in self._used)):
            keys["per"] = ""
            self._doubt(target, f"per {per}")
        keys = {key: value for key, value in keys.items() if value}
        inner = ", ".join(f"{key} = {_toml(value)}" for key, value in keys.items())
        return _toml(name) if len(keys) == 1 else f"{{ {inner} }}"

    def _dates(self, name: str) -> tuple[str, Array] | None:
        """The unit of a column of instants since 1970, and these in ns, -1 if unknown; None if it holds none."""
        array = self._columns[name]
        units = ["", *_FORMATS] if ar.is_text(array) else [""]
        if ar.is_number(array.type) or ar.is_text(array):
            found = ar.amounts(array, self._spec("submit", name), self._source)
            if self._is_most(found.state, array):
                median = float(np.median(np.abs(found.whole[found.state == READ])))
                units = [unit for unit, low, high in _EPOCHS if low <= median < high]
        for unit in units:
            try:
                found_ns = ar.instants(array, self._spec("submit", name, unit), "", self._source)
            except InputError:
                return None
            if self._is_most(found_ns.state, array):
                return unit, np.where(found_ns.state == READ, found_ns.value, -1)
        return None

    def _is_most(self, state: Array, array: Any) -> bool:
        """Whether most cells that are not missing can be read."""
        return bool(np.count_nonzero(state == READ) * 2 > np.count_nonzero(~ar.holds(array, cm.MISSING)))

    def _instant(self, target: str, name: str) -> str:
        array = self._columns[name]
        dates = self._dates(name)
        if dates is None:
            unit = unit if (unit := _split(name).unit) in cm.TIME_UNITS else "s"
            self._doubt(target, f"no dates: numbers of the log's own time, in {unit}")
            values = ar.instants(array, self._spec(target, name, unit), "", self._source)
            self._ns[target] = np.where(values.state == READ, values.value, -1)
            return unit
        unit, self._ns[target] = dates
        is_zoned = getattr(array.type, "tz", None) or any(_OFFSET.search(word) for word in self._words_of(name)[:9])
        if unit.startswith("%"):
            self._doubt(target, "order of day and month")
        if unit not in cm.TIME_UNITS and not is_zoned:
            self._doubt(target, "no zone")
        return unit

    def _duration(self, target: str, name: str) -> dict[str, Any]:
        array = self._columns[name]
        found = ar.durations(array, self._spec(target, name), self._source)
        there = found.state == READ
        words = self._words_of(name) if ar.is_text(array) else []
        infinite = [word for word in words if word.upper() in _INFINITE] if target == "walltime" else []
        if any(":" in word for word in words[:100]):
            unit = "clock"
        else:
            unit = (
                self._unit_of(target, name, found.value, there) if ar.is_text(array) or ar.is_number(array.type) else ""
            )
        seconds, unit_ns = found.value // cm.TIME_UNITS["s"], cm.TIME_UNITS.get(unit, cm.TIME_UNITS["s"])
        endless = there & (seconds > LONGEST_NS // unit_ns)
        if target == "walltime" and endless.any():  # such as 2³² − 1
            codes, every = ar.distinct_words(array)
            numbers = sorted({every[code] for code in codes[endless].tolist()})
            few = len(numbers) <= _MOST_INFINITE
            infinite += numbers if few else []
            self._doubt(target, f"longer than ten years: {'no limit' if few else 'unit'}")
        self._ns[target] = np.where(there & ~endless, seconds * unit_ns, -1)
        return {"unit": unit, "infinite": infinite}

    def _unit_of(self, target: str, name: str, value: Array, there: Array) -> str:
        """The unit of durations, which were read as seconds."""
        by_name = unit if (unit := _split(name).unit) in cm.TIME_UNITS else ""
        run = self._ns.get("run")
        if {"start", "end"} <= set(self._ns) and run is None:
            start, end = self._ns["start"], self._ns["end"]
            run = np.where((start >= 0) & (end > start), end - start, -1)
        if run is None:
            run = np.full(len(value), -1)
        both = there & (run > 0) & (value > 0)
        if target == "run" and both.any():
            ratio = float(np.median(run[both] / value[both])) * 1e9
            for unit, ns in cm.TIME_UNITS.items():
                if 0.9 < ratio / ns < 1.1:
                    return unit
            self._doubt(target, "no unit makes it end minus start")
        if target == "walltime" and both.any():
            for unit in ("ms", "s", "min", "h"):
                limit = value[both] * (cm.TIME_UNITS[unit] / 1e9)
                if np.mean(run[both] <= limit * 1.05 + 60e9) > 0.95:
                    if unit != (by_name or unit):
                        self._doubt(target, f"its name says {by_name}, run times say {unit}")
                    return unit
        if not by_name:
            self._doubt(target, "unit")
        return by_name or "s"

    def _states(self, target: str, name: str) -> dict[str, Any]:
        keys: dict[str, Any] = {}
        unknown = []
        for word in dict.fromkeys(word.split(maxsplit=1)[0] for word in self._words_of(name)):
            if word.upper() in _STATE_OF:
                keys.setdefault(_STATE_OF[word.upper()], []).append(word)
            else:
                unknown.append(word)
        if unknown:
            self._doubt(target, f"not listed: {', '.join(map(shown_name, unknown[:_MOST_LISTED]))}")
        return keys


class _Name(NamedTuple):
    """A column's name."""

    words: list[str]  # without those of the others
    unit: str  # empty if it names none
    per: str  # host or core, if it says that the values are of one


def _split(name: str) -> _Name:
    words = [word.lower() for word in _PARTS.split(name) if word]
    per = ""
    if words[-2:-1] == ["per"] and words[-1] in _PER:
        per, words = _PER[words[-1]], words[:-2]
    if len(words) > 1 and words[-1] in _UNITS:
        return _Name(words[:-1], _UNITS[words[-1]], per)
    return _Name(words, "", per)


def _toml(value: str | Iterable[str]) -> str:
    """A text, or a list of texts, in TOML."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
