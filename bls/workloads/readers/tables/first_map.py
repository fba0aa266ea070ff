"""Guesses a first map of a table's columns, for people to edit: by the columns' names and the values of the first rows.

Units are found by comparing columns where that decides: a run time with end minus start, a time limit with run times. A comment
marks what stays uncertain, and columns that are not used are listed with an example.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from bls.workloads.readers.tables import arrays as ar
from bls.workloads.readers.tables import column_map as cm
from bls.workloads.readers.tables.cells import READ
from bls.workloads.readers.tables.named import map_text, recognised
from bls.workloads.readers.tables.sources import RowBatch, opened
from traces.base.errors import InputError, shown, shown_name
from traces.compiled import Array

_ROWS = 20_000  # rows that are looked at
_MOST_LISTED = 60  # unused columns that are listed

#: Names of columns without case, marks and units, the best first.
_NAMES: Mapping[str, str] = {
    "job_id": "jobid idjob jobidraw jobnumber jid job id taskid",
    "submit": "submittime submit submission submissiontime timesubmit timesubmission submitted submittedtime submittimestamp "
    "queuetime qtime creationtime created arrival arrivaltime adt",
    "begin": "eligibletime eligible timeeligible",
    "start": "starttime start timestart started startedtime scheduledtime sdt",
    "end": "endtime end timeend ended finish finishtime finished completiontime deletiontime edt",
    "run": "runtime run elapsed elapsedraw elapsedtime duration timeelapsed ruwallclock wallclock",
    "walltime": "timelimit walltime limit timelimitraw requestedtime reqtime walltimereq wallclockreq wallclocklimit "
    "requestedwalltime elpl",
    "cores": "numcoresalloc coresalloc alloccores alloccpus numcpusalloc ncpus cores ncores numcores corecount cpus numcpus "
    "cpunum cpu processors nprocs procs slots reqcpus reqcores cpusreq processorsreq numcoresreq",
    "hosts": "numnodesalloc nodesalloc allocnodes nnodes numnodes nodenum nodecount nodes nodect hosts numhosts "
    "nodesreq reqnodes",
    "gpus": "numgpusalloc gpusalloc allocgpus ngpus numgpus gpunum numgpu gpus gpu gpusreq gpucount",
    "memory": "memalloc allocmem memory mem reqmem memreq memoryreq memrequested memoryrequested",
    "user": "user userid username iduser uid usr owner userhash",
    "group": "account group groupid gid project groupname accountname",
    "queue": "queue queuename qname vc",
    "partition": "partition partitionname",
    "qos": "qos qosname serviceclass",
    "name": "jobname name namejob jnam application app executable",
    "state": "jobstate state status exitstate statecurrent jobstatus finalstate",
}
#: Units by the last part of a column's name.
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
    "milli": "milli",
    "percent": "percent",
}
_UNITS = {word: unit for unit, words in _UNITS_OF_NAME.items() for word in words.split()}
_STATES = {
    "completed": "COMPLETED COMPLETE DONE SUCCEEDED SUCCESS PASS FINISHED TERMINATED CD OK",
    "failed": "FAILED FAIL TIMEOUT NODE_FAIL OUT_OF_MEMORY BOOT_FAIL DEADLINE PREEMPTED ERROR EXIT F TO NF OOM",
    "cancelled": "CANCELLED CANCELED KILLED REMOVED REVOKED ABORTED CA",
    "not_ended": "PENDING RUNNING SUSPENDED QUEUED WAITING COMPLETING CONFIGURING REQUEUED PD R",
}
_MOST_STATES = 40
_EPOCHS = (("s", 3.2e8, 6e9), ("ms", 3.2e11, 6e12), ("us", 3.2e14, 6e15), ("ns", 3.2e17, 6e18))
_PARTS = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z])(?=[A-Z])")
_PLAIN = re.compile(r"[A-Za-z0-9_-]+")


def first_map(path: str | os.PathLike[str]) -> str:
    """A map of a table in TOML, with comments where it is uncertain; the project's own if it recognises the table. Raises
    InputError if the file holds no table."""
    source = os.fspath(path)
    with opened(path) as table:
        known = recognised(table.names)
        if known is not None:
            name = known.source.removeprefix("map ")
            head = f"# The map {name} of the project, which recognises this table."
            return f"{head}\nfile = {_quoted(source)}\n{map_text(name)}"
        names = tuple(name for name in dict.fromkeys(table.names) if name and table.names.count(name) == 1)
        batch = next(table.batches(names), None)
    if batch is None or not len(batch.line):
        raise InputError(f"{source}: no rows after the line that names the columns")
    return "\n".join(_Guess(batch, source).lines()) + "\n"


class _Guess:
    def __init__(self, batch: RowBatch, source: str) -> None:
        self._source = source
        self._columns: dict[str, Any] = {}
        for name, column in batch.columns.items():
            try:
                self._columns[name] = ar.plain(column.slice(0, _ROWS), name, source)
            except InputError:
                continue  # nested
        self._nested = [name for name in batch.columns if name not in self._columns]
        self._used: dict[str, str] = {}  # column by target
        self._doubts: dict[str, list[str]] = {}
        self._times: dict[str, Array] = {}  # ns of start, end and run, where known

    def lines(self) -> list[str]:
        """The lines of the map."""
        for target in _NAMES:
            self._choose(target)
        made = {target: self._described(target) for target in self._used}
        file = shown_name(self._source.rpartition("/")[2])
        lines = [
            f"# A first map of {file}, guessed by names and values: check each line, above all those with",
            "# a question mark. docs/reference/inputs.md lists the keys.",
            f"file = {_quoted(self._source)}",
        ]
        if any("zone" in doubt for doubts in self._doubts.values() for doubt in doubts):
            lines.append('# zone = "Europe/Rome"  # ? dates have no offset: they count as UTC')
        lines += ["", "[columns]"]  # in the order of TARGETS
        for target in cm.TARGETS:
            if target in made:
                doubts = self._doubts.get(target, [])
                lines.append(f"{target} = {made[target]}" + (f"  # ? {'; '.join(doubts)}" if doubts else ""))
            elif target in cm.REQUIRED:
                lines.append(f'# {target} = "…"  # ? {cm.TARGETS[target].meaning}: no column has such a name')
        rest = [name for name in (*self._columns, *self._nested) if name not in self._used.values()]
        if rest:
            lines += ["", "# Columns that are not used; [extras] may keep whole numbers and names:"]
            lines += [f"#   {shown_name(name)}: {self._example(name)}" for name in rest[:_MOST_LISTED]]
            lines += [f"#   … and {len(rest) - _MOST_LISTED} more"] if len(rest) > _MOST_LISTED else []
        return lines

    def _example(self, name: str) -> str:
        if name in self._nested:
            return "nested"
        words = (ar.word_of(cell) for cell in self._columns[name].slice(0, 1000).to_pylist())
        found = next((word for word in words if word not in cm.MISSING), "")
        return shown(found, 40) if found else "nothing"

    def _choose(self, target: str) -> None:
        """The column for a target: the first of its names, of a type that fits."""
        free = {name: _bare(name) for name in self._columns if name not in self._used.values()}
        for wanted in _NAMES[target].split():
            for name, (bare, _) in free.items():
                if bare == wanted and self._fits(target, name):
                    self._used[target] = name
                    return

    def _fits(self, target: str, name: str) -> bool:
        kind = cm.TARGETS[target].kind
        array = self._columns[name]
        if kind in (cm.LABEL, cm.IDENTITY, cm.STATE):
            return True
        spec = self._spec(target, name)
        try:
            if kind == cm.INSTANT:
                state = ar.instants(array, spec, "", self._source).state
            elif kind == cm.DURATION:
                state = ar.durations(array, spec, self._source).state
            else:
                state = ar.amounts(array, spec, self._source).state
        except InputError:
            return False
        return bool(np.count_nonzero(state == READ) > 0.5 * len(state)) or (
            kind == cm.DURATION and target == "walltime" and bool(np.any(state == READ))
        )

    def _spec(self, target: str, name: str, unit: str = "") -> cm.SourceColumn:
        kind = cm.TARGETS[target].kind
        return cm.SourceColumn(column=name, kind=kind, unit=unit or cm.UNITS.get(kind, ("",))[0])

    def _doubt(self, target: str, text: str) -> None:
        self._doubts.setdefault(target, []).append(text)

    def _described(self, target: str) -> str:
        name = self._used[target]
        kind = cm.TARGETS[target].kind
        given: dict[str, Any] = {"column": name}
        if kind == cm.INSTANT:
            given |= self._instant(target, name)
        elif kind == cm.DURATION:
            given |= self._duration(target, name)
        elif kind == cm.MEMORY:
            given |= self._memory(target, name)
        elif kind == cm.COUNT:
            unit = _known(_bare(name)[1], cm.COUNT_UNITS)
            given |= {"unit": unit} if unit else {}
            if "req" in name.lower():
                self._doubt(target, "requested, not allocated")
        elif kind == cm.STATE:
            given |= self._states(target, name)
        return _quoted(name) if len(given) == 1 else _inline(given)

    def _instant(self, target: str, name: str) -> dict[str, Any]:
        array = self._columns[name]
        unit = ""
        if ar.is_text(array) or not _has_type_of_time(array):
            found = ar.amounts(array, self._spec(target, name), self._source)
            numbers = found.whole[found.state == READ]
            if len(numbers):
                median = float(np.median(np.abs(numbers)))
                unit = next((one for one, low, high in _EPOCHS if low <= median < high), "")
                if not unit:
                    unit = _known(_bare(name)[1], cm.TIME_UNITS) or "s"
                    self._doubt(
                        target,
                        f"numbers such as {int(numbers[0])} are no seconds since 1970: of the log's own time, in {unit}",
                    )
            elif not _has_offsets(array):
                self._doubt(target, "no zone")
        elif getattr(array.type, "tz", None) is None:
            self._doubt(target, "no zone")
        values = ar.instants(array, self._spec(target, name, unit), "", self._source)
        self._times[target] = np.where(values.state == READ, values.value, -1)
        return {"unit": unit} if unit else {}

    def _duration(self, target: str, name: str) -> dict[str, Any]:
        array = self._columns[name]
        found = ar.durations(array, self._spec(target, name), self._source)
        there = found.state == READ
        words = (
            [] if not ar.is_text(array) else sorted({ar.word_of(cell) for cell in array.to_pylist()} - set(cm.MISSING))
        )
        infinite = [word for word in words if word.upper() in ("UNLIMITED", "INFINITE", "PARTITION_LIMIT")]
        given: dict[str, Any] = {}
        if ar.is_text(array) and any(":" in word for word in words[:100]):
            given["unit"] = "clock"
        elif not _has_type_of_time(array):
            given["unit"] = self._unit_of(target, name, found.value, there)
        if target == "walltime" and infinite:
            given["infinite"] = infinite
        unit_ns = cm.TIME_UNITS.get(given.get("unit", "s"), cm.TIME_UNITS["s"])
        self._times[target] = np.where(there, found.value // cm.TIME_UNITS["s"] * unit_ns, -1)
        return given

    def _unit_of(self, target: str, name: str, value: Array, there: Array) -> str:
        """The unit of durations, which were read as seconds."""
        by_name = _known(_bare(name)[1], cm.TIME_UNITS)
        if target == "run" and {"start", "end"} <= set(self._times):
            start, end = self._times["start"], self._times["end"]
            both = there & (start >= 0) & (end > start) & (value > 0)
            if both.any():
                ratio = float(np.median((end - start)[both] / value[both]))
                for unit, ns in cm.TIME_UNITS.items():
                    if 0.9 < ratio * 1e9 / ns < 1.1:
                        return unit
                self._doubt(target, "no unit makes it end minus start")
        if target == "walltime":
            run = self._times.get("run")
            if run is None and {"start", "end"} <= set(self._times):
                run = np.where(self._times["start"] >= 0, self._times["end"] - self._times["start"], -1)
            if run is not None:
                both = there & (run > 0) & (value > 0)
                for unit in ("ms", "s", "min", "h"):
                    factor = cm.TIME_UNITS[unit] / 1e9
                    if both.any() and np.mean(run[both] <= value[both] * factor * 1.05 + 60e9) > 0.95:
                        if unit != (by_name or unit):
                            self._doubt(target, f"its name says {by_name}, run times say {unit}")
                        return unit
        if not by_name:
            self._doubt(target, "unit")
        return by_name or "s"

    def _memory(self, target: str, name: str) -> dict[str, Any]:
        unit = _known(_bare(name)[1], cm.MEMORY_UNITS)
        self._doubt(target, "of the job, a host or a core" if unit else "unit; of the job, a host or a core")
        return {"unit": unit or "MB", "per": "job"}

    def _states(self, target: str, name: str) -> dict[str, Any]:
        _, words = ar.distinct_words(self._columns[name])
        known = {word: kind for kind, several in _STATES.items() for word in several.split()}
        given: dict[str, Any] = {}
        unknown = []
        for word in dict.fromkeys(word.split(maxsplit=1)[0] for word in words if word and word not in cm.MISSING):
            kind = known.get(word.upper())
            if kind is None:
                unknown.append(word)
            else:
                given.setdefault(kind, []).append(word)
        if unknown:
            self._doubt(target, f"not listed: {', '.join(map(shown_name, unknown[:_MOST_STATES]))}")
        return given


def _has_type_of_time(array: Any) -> bool:
    return not ar.is_text(array) and any(word in str(array.type) for word in ("timestamp", "date", "duration"))


def _has_offsets(array: Any) -> bool:
    words = (ar.word_of(cell) for cell in array.slice(0, 1000).to_pylist())
    word = next((word for word in words if word not in cm.MISSING), "")
    return re.search(r"(?:Z|UTC|[+-][0-9]{2}:?[0-9]{2})$", word) is not None


def _bare(name: str) -> tuple[str, str]:
    """A column's name without case, marks and a unit at its end, and this unit."""
    words = [word.lower() for word in _PARTS.split(name) if word]
    if len(words) > 1 and words[-1] in _UNITS:
        return "".join(words[:-1]), _UNITS[words[-1]]
    return "".join(words), ""


def _known(unit: str, units: Collection[str]) -> str:
    return unit if unit in units else ""


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _inline(values: Mapping[str, Any]) -> str:
    return f"{{ {', '.join(_pairs(values))} }}"


def _pairs(values: Mapping[str, Any]) -> Iterator[str]:
    for key, value in values.items():
        words = [_quoted(one) for one in value] if isinstance(value, list) else []
        text = f"[{', '.join(words)}]" if words else _quoted(value)
        yield f"{key if _PLAIN.fullmatch(key) else _quoted(key)} = {text}"
