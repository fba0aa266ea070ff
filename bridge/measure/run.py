"""Measured runs of an OpenMP program: each schedule and number of threads once in each repeat, in turn."""

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from bridge.measure.folder import MeasurementRecord, write_measurement
from bridge.measure.machine import clock, machine, own_version
from bridge.measure.openmp import Costs, Tool, compiler_of, installed_openmp, is_static
from bridge.measure.records import Findings, RunTables, joined, run_tables
from bridge.scratch import scratch_folder
from traces.base.errors import InputError, listed, parse_list, shown
from traces.compiled import Array

#: Kinds of OMP_SCHEDULE, and the kind of loop that the runtime reports for each.
SCHEDULES: Final = {
    "static": "static",
    "dynamic": "dynamic",
    "guided": "guided",
    "auto": "",
    "trapezoidal": "other",
    "static_steal": "dynamic",
}
_SCHEDULE = re.compile(r"(?:(?:non)?monotonic:)?([a-z_]+)(?:,([1-9][0-9]*))?")
_HELP: Final = "twolevel_measure.h can measure it"
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
    tables: dict[str, dict[str, Any]]
    failed: tuple[str, ...]  # a line for each run that has failed


def read_schedules(text: str | None, where: str) -> tuple[str, ...]:
    """Return the schedules of ``static; dynamic,1; guided``. Raises InputError if one is unknown; it begins with ``where``."""
    found = []
    for one in () if text is None else text.split(";"):
        schedule = one.strip()
        parts = _SCHEDULE.fullmatch(schedule)
        if parts is None or parts[1] not in SCHEDULES:
            allowed = f"{listed(SCHEDULES)}, each optionally with a chunk size, as 'static; dynamic,16'"
            raise InputError(f"{where}: {shown(schedule)}; allowed: {allowed}")
        found.append(schedule)
    if len(set(found)) < len(found):
        raise InputError(f"{where}: {shown(text)} has a schedule twice; allowed: each once")
    return tuple(found) or ("",)


def read_threads(text: str | None, where: str) -> tuple[int, ...]:
    """Return the numbers of threads of ``1,2,4``. Raises InputError if one is not valid; it begins with ``where``."""
    found = []
    for one in () if text is None else parse_list(text, where):
        if not one.isascii() or not one.isdigit() or not 1 <= int(one) <= _MOST_THREADS:
            raise InputError(f"{where}: {shown(one)}; allowed: numbers from 1 to {_MOST_THREADS}, separated by commas")
        found.append(int(one))
    return tuple(dict.fromkeys(found)) or (0,)


def program_of(command: Sequence[str]) -> Path:
    """Return the file of a command. Raises InputError if there is none, or it cannot be executed."""
    found = shutil.which(command[0])
    if found is None:
        why = "is no program" if Path(command[0]).exists() else "is not found"
        raise InputError(f"measure: {shown(command[0])} {why}; allowed: a program and its arguments")
    return Path(found)


def measured_runs(plan: Plan) -> MeasuredRuns:
    """Run a program, and measure its loops and tasks.

    Its input, output and exit status are as without. A run that a signal has ended is the last one.

    Raises
    ------
    InputError
        If the program or the runtime is missing, or nothing was measured in any run.
    """
    program = program_of(plan.command)
    openmp = installed_openmp()
    with scratch_folder() as folder:
        tool = Tool(openmp, folder)
        tried = folder / "costs"
        tried.mkdir()
        costs = tool.costs(tried)
        runs: list[RunTables] = []
        rows: list[dict[str, Any]] = []
        failed: list[str] = []
        begin_ns = time.monotonic_ns()
        for repeat in range(plan.repeats):
            for threads in plan.threads:
                for schedule in plan.schedules:
                    if rows and rows[-1]["exit_status"] < 0:
                        break
                    records = folder / f"run-{len(rows)}"
                    records.mkdir()
                    quiet_ns = tool.spin_ns()
                    first_ns, last_ns, status = _run(plan.command, tool, records, schedule, threads)
                    rows.append(
                        {
                            "run": len(rows),
                            "schedule": schedule or os.environ.get("OMP_SCHEDULE", ""),
                            "threads": threads,
                            "repeat": repeat,
                            "begin_ns": first_ns - begin_ns,
                            "end_ns": last_ns - begin_ns,
                            "quiet_ns": quiet_ns,
                            "exit_status": status,
                        }
                    )
                    if status:
                        failed.append(f"run {len(rows) - 1}: {plan.command[0]} {_status_words(status)}")
                    runs.append(run_tables(records, first_ns, last_ns))
                    shutil.rmtree(records)
    tables, regions = joined(runs)
    tables["runs"] = {name: [row[name] for row in rows] for name in rows[0]}
    found = [run.findings for run in runs]
    remarks = [*_general(found, program, own=any(one.own for one in found)), *_unscheduled(tables, regions)]
    if not len(tables["loops"]["loop"]):
        raise InputError("; ".join(["nothing was measured", *remarks, *failed]))
    record = MeasurementRecord(
        "openmp",
        list(plan.command),
        machine(),
        own_version() | _versions(found, program),
        clock(costs.read_ns),
        _overhead(found, costs),
        found[0].affinity,
        remarks,
    )
    return MeasuredRuns(record, tables, tuple(failed))


def _run(command: Sequence[str], tool: Tool, records: Path, schedule: str, threads: int) -> tuple[int, int, int]:
    # Begin and end on the monotonic clock, ns, and the exit status.
    environment = tool.environment(records, os.environ)
    if schedule:
        environment["OMP_SCHEDULE"] = schedule
    if threads:
        environment["OMP_NUM_THREADS"] = str(threads)
    begin_ns = time.monotonic_ns()
    try:
        process = subprocess.Popen(command, env=environment)
    except OSError as error:
        raise InputError(f"measure: {command[0]}: {error.strerror}; allowed: a program and its arguments") from None
    try:
        status = process.wait()
    except BaseException:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        raise
    return begin_ns, time.monotonic_ns(), status


def _status_words(status: int) -> str:
    if status >= 0:
        return f"ended with exit code {status}"
    try:
        return f"was ended by signal {-status} ({signal.Signals(-status).name})"
    except ValueError:
        return f"was ended by signal {-status}"


def _versions(found: Sequence[Findings], program: Path) -> dict[str, str]:
    versions = {"runtime": ", ".join(sorted(set().union(*(one.runtimes for one in found))))}
    versions["compiler"] = compiler_of(str(program))
    return {name: text for name, text in versions.items() if text}


def _overhead(found: Sequence[Findings], costs: Costs) -> dict[str, Any]:
    events, thread_ns = sum(one.events for one in found), sum(one.thread_ns for one in found)
    share = costs.event_ns * events / thread_ns if thread_ns else 0.0
    return {"event_ns": round(costs.event_ns, 1), "events": events, "share": round(min(share, 1.0), 6)}


def _general(found: Sequence[Findings], program: Path, *, own: bool) -> list[str]:
    # What was merged or could not be measured, one line for each kind. ``own``: whether our macros have measured a loop.
    def total(name: str) -> int:
        return sum(getattr(one, name) for one in found)

    lines = []
    if not any(one.processes for one in found):
        why = "is linked statically" if is_static(str(program)) else "has called no OpenMP runtime that is a library"
        lines.append(f"{program.name} {why}; {_HELP}")
    elif (empty := list(dict.fromkeys(name for one in found for name in one.empty))) and not own:
        inlined = "the compiler has put their schedule into the program; schedule(runtime) and twolevel_measure.h help"
        lines.append(f"parallel regions without loops of the runtime: {listed(empty)}; {inlined}")
    elif not any(one.thread_ns for one in found):
        lines.append(f"{program.name} has executed no parallel loop and no task")
    if partly := {name: counts for one in found for name, counts in one.partly.items()}:
        name, (seen, n) = next(iter(partly.items()))
        more = f" (and {len(partly) - 1} more)" if len(partly) > 1 else ""
        lines.append(
            f"{name}{more}: the runtime has reported {seen} of {n} iterations; schedule(runtime) and twolevel_measure.h help"
        )
    if merged := total("merged"):
        lines.append(f"{merged} chunks are in rows of several: a thread had more than 2^20 chunks in one loop")
    if lost := total("lost"):
        lines.append(f"{lost} events were lost, as a file of records had no room; run fewer iterations")
    if unfinished := total("unfinished"):
        lines.append(f"chunks and tasks that had not ended when the program did are left out: {unfinished}")
    if total("forks"):
        lines.append("OpenMP in a forked process was not measured; a program that it executes would be")
    if total("backward"):
        lines.append(f"the clock went back {total('backward')} times; these times are those of the event before")
    if any(one.shifted for one in found):
        lines.append("the program's clock differs from the system's; times begin with its first event")
    if total("nested"):
        lines.append("parallel regions are nested: a chunk or task includes the regions that it executes")
    if (most := max(one.processes for one in found)) > 1:
        lines.append(f"{most} processes used OpenMP; their loops are numbered together")
    if crowd := _crowded(found[0]):
        lines.append(crowd)
    return lines


def _crowded(found: Findings) -> str:
    cores = set().union(*found.affinity.values()) if found.affinity else set()
    if len(cores) >= len(found.affinity):
        return ""
    return (
        f"{len(found.affinity)} threads may use only {len(cores)} processors (OMP_PROC_BIND, taskset): {sorted(cores)}"
    )


def _unscheduled(tables: dict[str, dict[str, Any]], regions: Sequence[tuple[str, str]]) -> list[str]:
    # Loops that do not follow OMP_SCHEDULE.
    loops, schedules = tables["loops"], tables["runs"]["schedule"]
    if not any(schedules) or not len(loops["loop"]):
        return []
    largest = _largest(tables)
    others: dict[str, None] = {}
    for row, (run, region, kind, n, threads) in enumerate(
        zip(*(loops[name].tolist() for name in ("run", "region", "schedule", "iterations", "threads")), strict=True)
    ):
        parts = _SCHEDULE.fullmatch(schedules[run])
        if parts is None or regions[region][1] != "loop" or kind == "taskloop" or threads < 2:
            continue
        expected = SCHEDULES.get(parts[1], "")
        size = int(parts[2] or 1) if parts[1] == "dynamic" else 0
        if (expected and kind != expected) or (size and largest[row] and largest[row] != min(size, n)):
            others[regions[region][0]] = None
    if not others:
        return []
    return [f"loops that do not follow OMP_SCHEDULE, as they have no schedule(runtime): {listed(others)}"]


def _largest(tables: dict[str, dict[str, Any]]) -> Array:
    # The size of the largest chunk of each loop; 0 if chunks were merged, or there are none.
    loops, chunks = tables["loops"], tables["chunks"]
    most = int(max(loops["loop"].max(), 0)) + 1
    keys = loops["run"] * most + loops["loop"]  # in increasing order
    place = np.searchsorted(keys, chunks["run"] * most + chunks["loop"])
    found = np.zeros(len(keys), np.int64)
    np.maximum.at(found, place, chunks["iterations"])
    found[place[chunks["chunks"] > 1]] = 0
    return found


def write_measured(runs: MeasuredRuns, folder: Path) -> None:
    """Write the folder of a measurement."""
    write_measurement(folder, runs.record, runs.tables)


def summary(runs: MeasuredRuns) -> list[tuple[str, str]]:
    """Return the main numbers of a measurement, with their names."""
    tables, overhead = runs.tables, runs.record.overhead
    loops = tables["loops"]["schedule"].tolist()
    tasks, waits = len(tables["tasks"]["task"]), len(tables["waits"]["loop"])
    return [
        ("runs", str(len(tables["runs"]["run"]))),
        ("regions", listed(tables["regions"]["name"]) or "none"),
        ("instances", str(len(loops))),
        ("chunks", str(int(tables["chunks"]["chunks"].sum()))),
        ("tasks", str(tasks)),
        ("waits", str(waits)),
        ("overhead", f"{overhead['share']:.2%}: {overhead['events']} events of {overhead['event_ns']} ns"),
    ]
