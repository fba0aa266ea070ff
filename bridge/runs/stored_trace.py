"""Traces of a stored result: its ledger, read from its tables, and files written from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bls.engine.features.records import EVENTS
from bridge.options.declared import KEEP_TASKS, OUT, TRACE_CORES, TRACE_DETAIL, TRACE_WINDOW
from bridge.runs.directory import check_place, named_folder, open_folder, read_record, temporary_folder, unusable
from bridge.runs.stored import hosts, ids_of, no_tasks
from bridge.runs.tracing import TraceRequest, formats_of, technique_labels
from bridge.scenarios.scenario import RECORDED
from traces.base.errors import InputError, shown
from traces.base.time import MAX_NS, format_ns
from traces.compiled import Array
from traces.exporters.shown.part import Excerpt, automatic_detail
from traces.ledger import JobRecords, Ledger, MachineShape, PassRecords, PowerRecords, TaskRecords, TransferRecords
from traces.ledger_tables import TASKS, TRANSFERS, stored_events, stored_ledger
from traces.tables import CUT_BECAUSE, read_jobs, read_power, read_rows

ARCHIVE = Path("trace") / "traces.otf2"  #: the OTF2 trace of a run, in its folder


def ledger_of_results(folder: Path, *, tasks: bool = True) -> Ledger:
    """The ledger of a result of ``twolevel run`` or ``replay``, without the users of jobs and the times at which jobs left that
    never started. With ``tasks``, they are read from tasks.parquet, or without lengths from the OTF2 trace. Raises InputError
    if the folder is no such result, a table is damaged, or tasks are missing."""
    record = read_record(folder)
    first_core, names = hosts(folder)
    path = folder / "jobs.parquet"
    if not path.is_file():
        if "makespan_ns" in record and (folder / TASKS.file).is_file():
            return _of_single(folder, record)
        raise InputError(f"{folder} has no jobs.parquet: it is not a result of twolevel run")
    frame = read_jobs(path)
    columns = {str(name): frame[name] for name in frame.columns}
    platform = record.get("platform")
    cluster = platform.get("name") if isinstance(platform, Mapping) else None
    shape = MachineShape(cluster if isinstance(cluster, str) else "cluster", tuple(names), first_core)
    if (first_gpu := record["machine"].get("first_gpu")) is not None:
        kinds = tuple(group.get("gpu", "") for group in record["platform"]["hosts"] for _ in range(group["count"]))
        shape = replace(shape, first_gpu=np.array(first_gpu, np.int64), gpu_kinds=kinds)
    ledger = stored_ledger(columns, shape)
    als = str((record.get("arguments") or {}).get("als", RECORDED))
    if als != RECORDED:
        labels, which = technique_labels(als, columns, len(frame))
        ledger = replace(ledger, techniques=labels, technique=which)
    if CUT_BECAUSE in frame:
        because = {row: str(text) for row, text in enumerate(frame[CUT_BECAUSE]) if text}
        ledger = replace(ledger, cut_because=because)
    if tasks:
        ledger = _with_tasks(ledger, folder, record)
    ledger = replace(ledger, **_further(folder, record), kinds=dict.fromkeys(EVENTS), ids=ids_of(record, columns))
    return ledger.with_events(*stored_events(folder, len(frame), EVENTS))


def _of_single(folder: Path, record: Mapping[str, Any]) -> Ledger:
    """The ledger of a result of ``twolevel loop`` or ``graph``."""
    first_core, names = hosts(folder)
    path, transfers = folder / TASKS.file, None
    frame = TASKS.read(path)
    tasks = {str(name): frame[name].to_numpy() for name in TASKS.columns}
    n, n_cores = len(frame), int(first_core[-1])
    if not n or (tasks["task"] != np.arange(n)).any() or not 0 <= tasks["core"].min() <= tasks["core"].max() < n_cores:
        raise InputError(f"{path}: has tasks or cores that do not exist in the run")
    if (folder / TRANSFERS.file).is_file():
        sent = TRANSFERS.read(folder / TRANSFERS.file)
        columns = {name: sent[name].to_numpy() for name in ("source", "target", "bytes", "sent_ns", "arrived_ns")}
        transfers = TransferRecords(np.array([0, len(sent)]), **columns)
    machine = MachineShape("graph" if "critical_path" in record else "loop", tuple(names), first_core)
    metrics, arguments = record.get("metrics") or {}, record.get("arguments") or {}
    steps = arguments.get("steps", 1)
    if not (isinstance(steps, int) and steps >= 1 and n % steps == 0):
        raise InputError(f"{folder / 'run.json'}: steps: {shown(steps)}; allowed: a divisor of {n}, the tasks")
    times = int(record["makespan_ns"]), int(record.get("chunks", 0))
    scheduler = str(arguments.get("als", ""))
    return ledger_of_job(machine, tasks, *times, metrics, transfers, steps=steps, scheduler=scheduler)


def ledger_of_job(
    machine: MachineShape,
    tasks: Mapping[str, Any],
    makespan_ns: int,
    n_chunks: int,
    metrics: Mapping[str, Any],
    transfers: TransferRecords | None,
    *,
    steps: int,
    scheduler: str,
) -> Ledger:
    """The ledger of a job that is alone on its machine: job 0, which starts at 0.

    - ``tasks``: its tasks, columns ``traces.ledger_tables.TASKS``.
    - ``steps``: number of time steps of a loop; ``scheduler``: name of the scheduler of its tasks.
    """
    n = len(tasks["task"])
    records = {name: np.array(tasks[name]) for name in ("start_ns", "end_ns", "core", "chunk", "length_gflop")}
    jobs = JobRecords(
        **{name: np.zeros(1, np.int64) for name in ("job_id", "submit_ns", "start_ns", "allocation_lo")},
        **{name: np.array([makespan_ns]) for name in ("end_ns", "estimate_ns", "deadline_ns")},
        **{name: np.array([machine.n_cores]) for name in ("cores", "allocation_hi")},
        tasks=np.array([n]),
        chunks=np.array([n_chunks]),
        length_gflop=np.array([records["length_gflop"].sum()]),
        imbalance=np.array([metrics.get("imbalance")], np.float64),
        cov=np.array([metrics.get("cov")], np.float64),
        allocation_first=np.array([0, 1]),
    )
    known = TaskRecords(first=np.array([0, n]), **records)
    return Ledger(machine, jobs, known, transfers, kinds=dict.fromkeys(EVENTS), steps=steps, scheduler=scheduler)


def _with_tasks(ledger: Ledger, folder: Path, record: Mapping[str, Any]) -> Ledger:
    jobs = ledger.jobs
    if (folder / TASKS.file).is_file():
        path, row, columns = _of_table(ledger, folder)
    elif (record.get("arguments") or {}).get("als") == RECORDED:
        return ledger
    elif (folder / ARCHIVE).is_file():
        path, row, columns = _of_archive(ledger, folder, record)
    else:
        raise InputError(f"{folder} has no tasks.parquet{no_tasks(record)}, or give {TRACE_DETAIL:job}")
    number, core = columns["task"], columns["core"]
    if len(number) and (number.min() < 0 or core.min() < 0 or core.max() >= ledger.machine.n_cores):
        raise InputError(f"{path}: has tasks or cores that do not exist in the run")
    # A job without a finished task has one lost task: it is not shown as a whole.
    most = np.ones(len(jobs), np.int64)
    np.maximum.at(most, row, number + 1)
    start = np.concatenate([[0], np.cumsum(most)])
    place, whole = start[row] + number, len(number) == start[-1]

    def column(name: str, kind: type, missing: int) -> Array:
        values: Array = columns[name].astype(kind, copy=False)
        if whole and (place == np.arange(len(place))).all():
            return values
        found: Array = np.full(start[-1], missing, kind)
        found[place] = values
        return found

    tasks = TaskRecords(
        start,
        column("start_ns", np.int64, -1),
        column("end_ns", np.int64, -1),
        column("core", np.int32, -1),
        column("chunk", np.int32, -1),
        column("length_gflop", np.float64, 0),
    )
    return _with_transfers(replace(ledger, tasks=tasks), folder)


def _of_table(ledger: Ledger, folder: Path) -> tuple[Path, Array, dict[str, Array]]:
    """The source of the tasks, the row of each task's job, and the tasks' columns."""
    path, jobs = folder / TASKS.file, ledger.jobs
    frame = TASKS.read(path)
    row = np.repeat(np.arange(len(jobs)), jobs.tasks)
    if len(frame) != len(row) or (frame["job_id"].to_numpy() != jobs.job_id[row]).any():
        raise InputError(f"{path}: does not match the tasks of {folder / 'jobs.parquet'}")
    columns = {name: frame[name].to_numpy() for name in TASKS.columns}
    return path, row, columns | {name: frame[name].to_numpy(np.int64) for name in ("task", "core")}


def _of_archive(ledger: Ledger, folder: Path, record: Mapping[str, Any]) -> tuple[Path, Array, dict[str, Array]]:
    """The same from the OTF2 trace of a run without ``--tasks``, if that is complete; without lengths."""
    from traces.exporters.otf2.archive_tasks import read_tasks

    path, jobs, arguments = folder / ARCHIVE, ledger.jobs, record.get("arguments") or {}
    instead = f"; simulate again with {KEEP_TASKS} to keep one row per task, or give {TRACE_DETAIL:job}"
    part = [name for name in ("trace_window", "trace_cores") if arguments.get(name) is not None]
    detail = arguments.get("trace_detail", "task")
    if detail == TRACE_DETAIL.default:
        detail = automatic_detail(ledger.machine)
    if part or detail != "task":
        raise InputError(f"{folder} has no tasks.parquet, and {path} lacks some tasks{instead}")
    found = read_tasks(path, ledger.machine.core_names, jobs.job_id.tolist())
    if found.messages:
        raise InputError(f"{folder} has no tasks.parquet, and {path} does not name the jobs of its transfers{instead}")
    if (np.bincount(found.row, minlength=len(jobs)) != jobs.tasks).any():
        raise InputError(f"{path}: does not match the tasks of {folder / 'jobs.parquet'}")
    columns = {name: getattr(found, name) for name in ("task", "chunk", "core", "start_ns", "end_ns")}
    return path, found.row, columns | {"length_gflop": np.zeros(len(found.row))}


def _with_transfers(ledger: Ledger, folder: Path) -> Ledger:
    frame, tasks, jobs = TRANSFERS.read_if_there(folder), ledger.tasks, ledger.jobs
    if frame is None or tasks is None:
        return ledger
    row = _rows_of(jobs, frame["job_id"].to_numpy(np.int64), frame["sent_ns"].to_numpy(np.int64))
    if (row < 0).any() or (np.diff(row) < 0).any():
        raise InputError(f"{folder / TRANSFERS.file}: does not match the transfers of {folder / 'jobs.parquet'}")
    ends = [frame[name].to_numpy(np.int32) for name in ("source", "target")]
    count = np.diff(tasks.first)[row]
    for end in ends:
        if len(end) and (end.min() < 0 or (end >= count).any()):
            raise InputError(f"{folder / TRANSFERS.file}: has transfers of tasks that do not exist")
    columns = (frame[name].to_numpy(kind) for name, kind in (("bytes", float), ("sent_ns", int), ("arrived_ns", int)))
    first = np.searchsorted(row, np.arange(len(jobs) + 1))
    return replace(ledger, transfers=TransferRecords(first, *ends, *columns))


def _rows_of(jobs: JobRecords, job_id: Array, at_ns: Array) -> Array:
    """The row of each job's attempt that ran at an instant; -1 if none did. Of adjacent attempts, the later one."""
    ran = np.flatnonzero(jobs.started)
    order = ran[np.lexsort((ran, jobs.start_ns[ran], jobs.job_id[ran]))]
    numbers, place = np.unique(jobs.job_id[order], return_index=True)
    which = np.minimum(np.searchsorted(numbers, job_id), max(len(numbers) - 1, 0))
    if not len(numbers):
        return np.full(len(job_id), -1)
    stop = np.append(place[1:], len(order))[which]
    found = order[place[which]]
    for step in range(1, int(np.diff(np.append(place, len(order))).max())):
        later = np.minimum(place[which] + step, stop - 1)
        found = np.where(jobs.start_ns[order[later]] <= at_ns, order[later], found)
    return np.where(numbers[which] == job_id, found, -1)


def _further(folder: Path, record: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if (path := folder / "decisions.parquet").is_file():
        names = ("now_ns", "waiting", "started")
        passes = read_rows(path, names)
        found["passes"] = PassRecords(*(passes[name].to_numpy(np.int64) for name in names))
    if (path := folder / "power.parquet").is_file():
        frame, arguments = read_power(path), record.get("arguments") or {}
        said = record.get("power")
        full = float(said["full_w"]) if isinstance(said, Mapping) and "full_w" in said else 0.0
        dvfs = arguments.get("limits") and arguments.get("fallback") == "dvfs"
        found["power"] = PowerRecords(
            instant_ns=frame["instant_ns"].to_numpy(np.int64),
            power_mw=frame["power_mw"].to_numpy(np.int64),
            full_mw=round(1000 * full),
            limit_mw=frame["limit_mw"].to_numpy(np.int64) if arguments.get("limits") else None,
            level=frame["level"].to_numpy(np.int64) if dvfs else None,
        )
    return found


def write_part(
    folder: Path, out: str, formats: str, detail: str, part: Excerpt, say: Callable[[str], None]
) -> list[Path]:
    """Write a part of a result as traces into a new folder; return the files for viewers. ``say`` gets lines for the user.
    Raises InputError if an option or the folder is not allowed, or the part is empty."""
    target = named_folder(out)
    request = TraceRequest(formats_of(formats), TRACE_DETAIL.check(detail), part).checked()
    try:
        if target.exists() or target.is_symlink():
            raise InputError(f"{OUT}: {target} exists; choose another folder")
    except OSError as error:
        raise unusable(target, str(OUT), error) from None
    check_place(target, str(OUT))
    _refuse_archive(folder)
    first_core, names = hosts(folder)
    machine = MachineShape("", tuple(names), first_core)
    ledger = ledger_of_results(folder, tasks=request.needs_tasks(machine))
    if line := request.note(machine, f"add {TRACE_DETAIL:task} for all cores, trace cut {TRACE_CORES} for some"):
        say(line)
    last_ns = int(ledger.jobs.end_ns.max(initial=0))
    if part.window_ns is not None and last_ns < part.window_ns[1] < MAX_NS:
        say(f"{TRACE_WINDOW}: the run ends before the window does, after {format_ns(last_ns)}")
    with temporary_folder(target, str(OUT)) as partial:
        written = [path.relative_to(partial) for path in request.write(ledger, partial)]
        open_folder(partial)
        partial.rename(target)
    return [target / path for path in written]


def _refuse_archive(folder: Path) -> None:
    # An archive lacks the cores that jobs held and the requests of running jobs; the tables of the folder have them.
    anchor = folder if folder.suffix == ".otf2" else folder / ARCHIVE.name
    if anchor.is_file() and not (folder / "run.json").is_file():
        run = anchor.parent.parent
        named = f", here {run}" if (run / "run.json").is_file() else ""
        raise InputError(f"{folder} is an OTF2 archive; allowed: the folder that twolevel run has written{named}")
