"""Measured runs of an OpenMP program: each schedule and number of threads once in each repeat, in turn."""

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from bridge.held_interrupts import interrupts_held
from bridge.measure.folder import MeasurementRecord
from bridge.measure.machine import record_head
from bridge.measure.openmp import Tool, compiler_of, installed_openmp, is_static
from bridge.measure.records import Findings, Tables, joined, run_tables
from bridge.scratch import scratch_folder
from traces.base.errors import InputError, listed, parse_list, shown
from traces.compiled import Array

#: Kinds of OMP_SCHEDULE, and the kind of loop that the runtime reports for each; empty: any.
_SCHEDULES: Final = {
    "static": "static",
    "dynamic": "dynamic",
    "guided": "guided",
    "auto": "",
    "trapezoidal": "other",
    "static_steal": "dynamic",
}
_SCHEDULE = re.compile(r"(?:(?:non)?monotonic:)?([a-z_]+)(?:,([1-9][0-9]*))?")
_INLINED: Final = "schedule(runtime) and twolevel_measure.h help"
_MOST_THREADS: Final = 65_535
_PATIENCE_S = 3.0  #: time that an interrupted program has before it is killed


@dataclass(frozen=True)
class Plan:
    """The runs of a program."""

    command: tuple[str, ...]
    schedules: tuple[str, ...] = ("",)  # texts of OMP_SCHEDULE; "": as in the environment
    threads: tuple[int, ...] = (0,)  # values of OMP_NUM_THREADS; 0: as in the environment
    repeats: int = 1


@dataclass(frozen=True)
class MeasuredRuns:
    """Runs that were measured."""

    record: MeasurementRecord
    tables: Tables
    failed: tuple[str, ...]  # a line for each run that has failed

    def summary(self) -> list[tuple[str, str]]:
        """Return the main numbers, with their names."""
        tables, overhead = self.tables, self.record.overhead
        return [
            ("runs", str(len(tables["runs"]["run"]))),
            ("regions", listed(tables["regions"]["name"])),
            ("instances", str(len(tables["loops"]["loop"]))),
            ("chunks", str(int(tables["chunks"]["chunks"].sum()))),
            ("tasks", str(len(tables["tasks"]["task"]))),
            ("overhead", f"{overhead['share']:.2%}: {overhead['events']} events of {overhead['event_ns']} ns"),
        ]


def read_schedules(text: str | None, where: str) -> tuple[str, ...]:
    """Return the schedules of ``static; dynamic,1; guided``. Raises InputError if one is unknown; it begins with ``where``."""
    found = [] if text is None else [one.strip() for one in text.split(";")]
    for schedule in found:
        parts = _SCHEDULE.fullmatch(schedule)
        if parts is None or parts[1] not in _SCHEDULES:
            allowed = f"{listed(_SCHEDULES)}, each optionally with a chunk size, as 'static; dynamic,16'"
            raise InputError(f"{where}: {shown(schedule)}; allowed: {allowed}")
        if found.count(schedule) > 1:
            raise InputError(f"{where}: {shown(text)} has a schedule twice; allowed: each once")
    return tuple(found) or ("",)


def read_threads(text: str | None, where: str) -> tuple[int, ...]:
    """Return the numbers of threads of ``1,2,4``. Raises InputError if one is not valid; it begins with ``where``."""
    found = [] if text is None else parse_list(text, where)
    for one in found:
        if not one.isascii() or not one.isdigit() or not 1 <= int(one) <= _MOST_THREADS:
            raise InputError(f"{where}: {shown(one)}; allowed: numbers from 1 to {_MOST_THREADS}, separated by commas")
    return tuple(dict.fromkeys(map(int, found))) or (0,)


def measured_runs(plan: Plan) -> MeasuredRuns:
    """Run a program, and measure its loops and tasks.

    Its input, output and exit status are as without. A run that a signal has ended is the last one.

    Raises
    ------
    InputError
        If the program or the runtime is missing, or nothing was measured in any run.
    """
    program = _program(plan.command[0])
    openmp = installed_openmp()
    found, runs, rows = Findings(), list[Tables](), list[dict[str, Any]]()
    with scratch_folder() as folder:
        tool = Tool(openmp, folder)
        event_ns, read_ns = tool.costs(folder)
        each = [(repeat, n, one) for repeat in range(plan.repeats) for n in plan.threads for one in plan.schedules]
        for run, (repeat, threads, schedule) in enumerate(each):
            records = folder / f"run-{run}"
            records.mkdir()
            rows.append({"run": run, "repeat": repeat, "threads": threads})
            rows[-1] |= _run(plan.command, tool, records, schedule, threads)
            runs.append(run_tables(records, rows[-1]["begin_ns"], rows[-1]["end_ns"], found))
            shutil.rmtree(records)
            if rows[-1]["exit_status"] < 0:
                break
    tables = joined(runs)
    tables["runs"] = {column: [row[column] for row in rows] for column in rows[0]}
    for column in ("begin_ns", "end_ns"):
        tables["runs"][column] = [row[column] - rows[0]["begin_ns"] for row in rows]
    remarks = [*_general(found, program), *_unscheduled(tables)]
    ends = [(row["run"], row["exit_status"]) for row in rows if row["exit_status"]]
    failed = tuple(f"run {run}: {plan.command[0]} {_status_words(status)}" for run, status in ends)
    if not len(tables["loops"]["loop"]):
        raise InputError("; ".join(["nothing was measured", *remarks, *failed]))
    head = record_head("openmp", list(plan.command), read_ns, (event_ns, found.events, found.thread_ns))
    further = {"runtime": ", ".join(sorted(found.runtimes)), "compiler": compiler_of(str(program))}
    versions = {**head.versions, **{name: text for name, text in further.items() if text}}
    record = replace(head, versions=versions, affinity=found.affinity, remarks=remarks)
    return MeasuredRuns(record, tables, failed)


def _program(name: str) -> Path:
    found = shutil.which(name)
    if found is None:
        why = "is no program" if Path(name).exists() else "is not found"
        raise InputError(f"measure: {shown(name)} {why}; allowed: a program and its arguments")
    return Path(found)


def _run(command: Sequence[str], tool: Tool, records: Path, schedule: str, threads: int) -> dict[str, Any]:
    # Values of the table of runs; times are those of the monotonic clock.
    given = {"OMP_SCHEDULE": schedule, "OMP_NUM_THREADS": str(threads or "")}
    environment = os.environ | {name: value for name, value in given.items() if value}
    quiet_ns = tool.spin_ns()
    begin_ns = time.monotonic_ns()
    status = _status(command, tool.environment(records, environment))
    times = {"begin_ns": begin_ns, "end_ns": time.monotonic_ns(), "quiet_ns": quiet_ns}
    return {"schedule": environment.get("OMP_SCHEDULE", ""), **times, "exit_status": status}


def _status(command: Sequence[str], environment: dict[str, str]) -> int:
    # Run a program, and return its exit status.
    with interrupts_held() as held:  # an interrupt within Popen would leave the program running
        try:
            process = subprocess.Popen(command, env=environment)
        except OSError as error:
            why = error.strerror
            raise InputError(f"measure: {command[0]}: {why}; allowed: a program and its arguments") from None
        try:
            held.let_through()
            return process.wait()
        except BaseException:
            process.terminate()
            try:
                process.wait(_PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            raise


def _status_words(status: int) -> str:
    if status >= 0:
        return f"ended with exit code {status}"
    known = {int(one): f" ({one.name})" for one in signal.Signals}
    return f"was ended by signal {-status}{known.get(-status, '')}"


def _general(found: Findings, program: Path) -> list[str]:
    # What was merged or could not be measured, one line for each kind.
    why = "is linked statically" if is_static(str(program)) else "has called no OpenMP runtime that is a library"
    part, (seen, n) = next(iter(found.partly.items()), ("", (0, 0)))
    one_process = [cores for thread, cores in found.affinity.items() if "." not in thread]
    cores, threads = set[int]().union(*one_process), len(one_process)
    nothing = found.processes and not found.thread_ns and not found.empty
    facts: list[tuple[object, str]] = [
        (not found.processes, f"{program.name} {why}; twolevel_measure.h can measure it"),
        (nothing, f"{program.name} has executed no parallel loop and no task"),
        (
            found.empty and not found.own,
            f"parallel regions without loops of the runtime: {listed(found.empty)}; the compiler has put their schedule into "
            f"the program; {_INLINED}",
        ),
        (part, f"{part}: the runtime has reported {seen} of {n} iterations; {_INLINED}"),
        (found.merged, f"{found.merged} chunks are in rows of several: a thread had more than 2^20 chunks in one loop"),
        (found.lost, f"{found.lost} events were lost, as a file of records had no room; run fewer iterations"),
        (
            found.unfinished,
            f"chunks and tasks that had not ended when the program did are left out: {found.unfinished}",
        ),
        (found.stray, f"{found.stray} chunks are left out, as their process has begun no loop"),
        (found.forks, "OpenMP in a forked process was not measured; a program that it executes would be"),
        (found.backward, f"the clock went back {found.backward} times; these times are those of the event before"),
        (found.shifted, "the program's clock differs from the system's; times begin with its first event"),
        (found.nested, "parallel regions are nested: a chunk or task includes the regions that it executes"),
        (found.processes > 1, f"{found.processes} processes used OpenMP; their loops are numbered together"),
        (
            len(cores) < threads,
            f"{threads} threads may use only {len(cores)} processors (OMP_PROC_BIND, taskset): {sorted(cores)}",
        ),
    ]
    return [line for holds, line in facts if holds]


def _unscheduled(tables: Tables) -> list[str]:
    # Loops that do not follow OMP_SCHEDULE.
    loops, schedules, names = tables["loops"], tables["runs"]["schedule"], tables["regions"]["name"]
    columns = [loops[name].tolist() for name in ("run", "region", "schedule", "iterations", "threads")]
    others: dict[str, None] = {}
    for run, region, kind, n, threads, largest in zip(*columns, _largest(tables).tolist(), strict=True):
        parts = _SCHEDULE.fullmatch(schedules[run])
        if parts is None or tables["regions"]["kind"][region] != "loop" or kind == "taskloop" or threads < 2:
            continue
        expected = _SCHEDULES.get(parts[1], "")
        size = min(int(parts[2] or 1), n) if parts[1] == "dynamic" else largest
        if (expected and kind != expected) or largest not in (0, size):
            others[names[region]] = None
    line = f"loops that do not follow OMP_SCHEDULE, as they have no schedule(runtime): {listed(others)}"
    return [line] if others else []


def _largest(tables: Tables) -> Array:
    # The size of the largest chunk of each loop; 0 if chunks were merged, or there are none.
    loops, chunks = tables["loops"], tables["chunks"]
    most = int(loops["loop"].max(initial=0)) + 1
    keys = loops["run"] * most + loops["loop"]  # in increasing order
    place = np.searchsorted(keys, chunks["run"] * most + chunks["loop"])
    found: Array = np.zeros(len(keys), np.int64)
    np.maximum.at(found, place, chunks["iterations"])
    found[place[chunks["chunks"] > 1]] = 0
    return found
