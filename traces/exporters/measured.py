"""The folder of a measurement, as of a real program: a simulated run in the tables that measurements have.

An attempt at a job is a loop, or a loop for each of its time steps; with transfers it is a graph of tasks. A chunk begins when
its core has ended the one before: as in measurements, its time includes its request. Only a core that came later begins its
first chunk with its first task. A core waits from the end of its last chunk until the end of the loop.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from traces.base.errors import InputError
from traces.base.written_file import write_text
from traces.compiled import Array
from traces.ledger import Ledger, TaskRecords, TransferRecords
from traces.records.measurements import FORMAT, RECORD, TABLES
from traces.tables import Values, write_rows

FOLDER = "measured"  #: name of the written folder


def write_measured(ledger: Ledger, directory: Path) -> Path:
    """Write a ledger as a measurement in ``directory / "measured"``; equal ledgers give equal bytes. Returns the path of its
    record. Raises InputError if the folder exists or cannot be written."""
    folder = Path(directory) / FOLDER
    if folder.exists():
        raise InputError(f"{folder} exists already")
    tables, remarks = _tables(ledger)
    record = {
        "format": FORMAT,
        "source": "twolevel",
        "command": [],
        "machine": {"cores": ledger.machine.n_cores},
        "versions": {},
        "clock": {"name": "simulated", "resolution_ns": 1, "read_ns": 0.0},
        "overhead": {"event_ns": 0.0, "events": 0, "share": 0.0},
        "affinity": {},
        "remarks": remarks,
    }
    try:
        for name, declared in TABLES.items():
            given = tables.get(name, {})
            columns = {
                column: Values(given.get(column, ()), "text")
                if one.kind == "text"
                else np.asarray(given.get(column, ()), np.int64)
                for column, one in declared.items()
            }
            write_rows(columns, folder / f"{name}.parquet")
        write_text(folder / RECORD, json.dumps(record, indent=2, ensure_ascii=False) + "\n")
    except OSError as error:
        raise InputError(f"{error.filename or folder}: cannot be written: {error.strerror or error}") from None
    return folder / RECORD


class _Loops(NamedTuple):
    """Instances of loops, by begin."""

    job: Array  # row of the job
    step: Array
    begin_ns: Array
    end_ns: Array
    threads: Array

    def find(self, job: Array, step: Array, steps: int) -> Array:
        """Return the loop of each time step of a job."""
        keys = self.job * steps + self.step
        order = np.argsort(keys)
        return np.asarray(order[np.searchsorted(keys[order], job * steps + step)])


class _Ran(NamedTuple):
    """Tasks that ran, at least in part: by job, time step, core and begin."""

    row: Array  # in the records of tasks
    job: Array
    task: Array  # number within its time step
    step: Array
    core: Array
    thread: Array
    late: Array  # whether the core was not among the job's first


def _tables(ledger: Ledger) -> tuple[dict[str, Mapping[str, Any]], list[str]]:
    jobs, tasks = ledger.jobs, ledger.tasks
    one = len(jobs) == 1
    known = ledger.technique
    techniques = (ledger.scheduler or "other",) if known is None else ledger.techniques
    technique = np.zeros(len(jobs), np.int64) if known is None else known
    runs = {
        "schedule": [techniques[0] if len(techniques) == 1 and techniques != ("other",) else ""],
        "threads": [int(jobs.cores[0]) if one else 0],
        "end_ns": [int(jobs.end_ns.max(initial=0))],
        "quiet_ns": [-1],
        **{name: [0] for name in ("run", "repeat", "begin_ns", "exit_status")},
    }
    if tasks is None or not ledger.computes:
        return {"runs": runs}, [f"there are {TaskRecords.missing.partition(':')[0]}, hence no loops"]
    ran = _ran(ledger, tasks)
    loops = _loops(ledger, tasks, ran)
    transfers = ledger.transfers
    graph = np.zeros(len(jobs), np.bool_) if transfers is None else np.diff(transfers.first) > 0
    of_graph, loop = graph[ran.job], loops.find(ran.job, ran.step, ledger.steps)
    numbers, region = np.unique(jobs.job_id[loops.job] * 2 + graph[loops.job], return_inverse=True)
    chunks = _chunks(tasks, ran, loops, loop, ~of_graph)
    ends = {"loop": loop[of_graph], "thread": ran.thread[of_graph], "end_ns": tasks.end_ns[ran.row[of_graph]]}
    found = {
        "runs": runs,
        "regions": {
            "region": np.arange(len(numbers)),
            "name": [f"job {number // 2}" for number in numbers.tolist()],
            "kind": ["tasks" if number % 2 else "loop" for number in numbers.tolist()],
        },
        "loops": {
            "loop": np.arange(len(loops.job)),
            "region": region,
            "schedule": [techniques[place] for place in technique[loops.job].tolist()],
            "iterations": np.where(graph[loops.job], 0, np.diff(tasks.first)[loops.job] // ledger.steps),
            **{name: getattr(loops, name) for name in ("threads", "begin_ns", "end_ns")},
        },
        "chunks": chunks,
        "waits": _waits(loops, {name: np.append(chunks[name], one) for name, one in ends.items()}),
    }
    remarks = []
    if transfers is not None and graph.any():
        found |= _graphs(ledger, tasks, transfers, ran, loops, loop, of_graph)
        remarks.append("dependences are the transfers between cores; others are not known")
    return {name: {"run": np.zeros(_rows(table), np.int64), **table} for name, table in found.items()}, remarks


def _rows(table: Mapping[str, Any]) -> int:
    return len(next(iter(table.values())))


def _ran(ledger: Ledger, tasks: TaskRecords) -> _Ran:
    jobs, row = ledger.jobs, np.flatnonzero(tasks.start_ns >= 0)
    job, core = tasks.job[row], tasks.core[row].astype(np.int64)
    in_step = np.maximum(np.diff(tasks.first)[job] // ledger.steps, 1)
    step, task = np.divmod(row - tasks.first[job], in_step)
    # The thread is the place of the core among those of the job: those of its start, then those that it got later.
    width = ledger.machine.n_cores + 1
    owner, lo, hi = jobs.owner, jobs.allocation_lo, jobs.allocation_hi
    before = np.concatenate([[0], np.cumsum(hi - lo)])
    at = np.searchsorted(owner * width + lo, job * width + core, side="right") - 1
    late = (at < 0) | (owner[at] != job) | (core >= hi[at])
    held = before[jobs.allocation_first]
    thread = before[at] + core - lo[at] - held[job]
    further, place = np.unique(job[late] * width + core[late], return_inverse=True)
    whose = further // width
    rank = np.arange(len(further)) - np.searchsorted(whose, whose)
    thread[late] = np.diff(held)[job[late]] + rank[place]
    order = np.lexsort((tasks.start_ns[row], core, step, job))
    return _Ran(*(column[order] for column in (row, job, task, step, core, thread, late)))


def _loops(ledger: Ledger, tasks: TaskRecords, ran: _Ran) -> _Loops:
    jobs, steps = ledger.jobs, ledger.steps
    key, place = np.unique(ran.job * steps + ran.step, return_inverse=True)
    job, step = np.divmod(key, steps)
    end = np.zeros(len(key), np.int64)
    np.maximum.at(end, place, tasks.end_ns[ran.row])
    begin = np.where(step == 0, jobs.start_ns[job], np.append(0, end[:-1]))
    end = np.where(step == steps - 1, jobs.end_ns[job], end)
    threads = np.minimum(jobs.cores, jobs.held_cores)[job]
    np.maximum.at(threads, place, ran.thread + 1)
    order = np.argsort(begin, kind="stable")
    return _Loops(*(column[order] for column in (job, step, begin, end, threads)))


def _chunks(tasks: TaskRecords, ran: _Ran, loops: _Loops, loop: Array, kept: Array) -> dict[str, Array]:
    row, loop = ran.row[kept], loop[kept]
    thread, task, late = ran.thread[kept], ran.task[kept], ran.late[kept]
    chunk, start, end = tasks.chunk[row], tasks.start_ns[row], tasks.end_ns[row]
    core_changes = _changes(loop) | _changes(thread)
    first = np.flatnonzero(core_changes | _changes(chunk) | _changes(task - np.arange(len(task))))
    last = np.append(first[1:], len(row))[: len(first)] - 1
    earliest = np.where(late[first], start[first], loops.begin_ns[loop[first]])
    columns = {
        "loop": loop[first],
        "thread": thread[first],
        "first": task[first],
        "iterations": last - first + 1,
        "chunks": np.ones(len(first), np.int64),
        "begin_ns": np.where(core_changes[first], earliest, end[first - 1]),
        "end_ns": end[last],
    }
    order = np.lexsort((columns["begin_ns"], columns["thread"], columns["loop"]))
    return {name: column[order] for name, column in columns.items()}


def _changes(values: Array) -> Array:
    found: Array = np.ones(len(values), np.bool_)
    found[1:] = values[1:] != values[:-1]
    return found


def _waits(loops: _Loops, ends: Mapping[str, Array]) -> dict[str, Array]:
    # ``ends``: loop, thread and end of each chunk and task. A core without any waits from the begin of the loop.
    first = np.concatenate([[0], np.cumsum(loops.threads)])
    loop = np.repeat(np.arange(len(loops.job)), loops.threads)
    begin = loops.begin_ns[loop]
    np.maximum.at(begin, first[ends["loop"]] + ends["thread"], ends["end_ns"])
    thread = np.arange(len(loop)) - first[loop]
    return {"loop": loop, "thread": thread, "begin_ns": begin, "end_ns": loops.end_ns[loop]}


def _graphs(
    ledger: Ledger,
    tasks: TaskRecords,
    transfers: TransferRecords,
    ran: _Ran,
    loops: _Loops,
    loop: Array,
    of_graph: Array,
) -> dict[str, dict[str, Array]]:
    order = np.flatnonzero(of_graph)[np.argsort(ran.row[of_graph])]
    row, loop = ran.row[order], loop[order]
    start, end = tasks.start_ns[row], tasks.end_ns[row]
    source, target = (tasks.first[transfers.job] + one for one in (transfers.source, transfers.target))
    both = (tasks.start_ns[source] >= 0) & (tasks.start_ns[target] >= 0)
    in_loop = np.full(len(tasks), -1)
    in_loop[row] = loop
    return {
        "tasks": {
            "loop": loop,
            "task": row,
            "creator": np.full(len(row), -1),
            "thread": ran.thread[order],
            "created_ns": loops.begin_ns[loop],
            "begin_ns": start,
            "end_ns": end,
            "run_ns": end - start,
        },
        "dependences": {"loop": in_loop[source[both]], "before": source[both], "after": target[both]},
    }
