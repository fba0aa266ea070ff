"""The data of a page's timeline: the tables of a run as packed columns, which ``tools/page/src/timeline`` draws.

Tasks are sorted as they are drawn: by core, then by time. Each has the core's idle time before it and its duration; jobs,
numbers and chunks are differences. So a task needs about seven bytes, five of them for its incompressible time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from traces.algorithms.lanes import pack_lanes_of_places
from traces.base.columns import packed_text
from traces.base.errors import InputError
from traces.compiled import Array
from traces.figures.drawing.frames import Held, arrays, held_cores
from traces.figures.drawing.steps import Steps, steps
from traces.holdings import HeldGpus
from traces.tables import DataFrame, distinct


@dataclass(frozen=True, kw_only=True, eq=False)
class TimelineTables:
    """The tables of a run, as in docs/reference/results.md."""

    jobs: DataFrame  # jobs.parquet
    first_core: Array  # int64 (hosts + 1,): first core of each host, and one beyond the last
    host_names: list[str]  # one per host
    # tasks.parquet: all rows; without it the timeline shows which cores jobs held
    tasks: DataFrame | None = None
    # cores released by jobs before their end, and given to them after their start
    releases: DataFrame | None = None
    widths: DataFrame | None = None
    power: DataFrame | None = None  # power.parquet
    gpus: HeldGpus | None = None  # with rows of ``jobs``; None: no host has any
    # scheduler of the tasks of jobs, if the table of jobs does not have it (``chosen``, ``application``)
    technique: str = ""
    users: list[str] | None = None  # user of each row of the jobs, empty if unknown
    # why some jobs started later than in another run, from a comparison: ``job_id``, ``attempt``, ``cause``, ``cause_job`` and
    # ``cause_attempt``, as in ``delays.parquet`` for one of its runs
    causes: DataFrame | None = None
    # time 0, in seconds since 1970 (``UnixStartTime`` of a log); None if unknown
    start_s: float | None = None


def coded(numbers: Array, *, differences: bool = False) -> tuple[Array, dict[str, Any]]:
    """Return planes of bytes, and how to read them.

    - ``numbers``: int (n,), within int64.
    - ``differences``: whether each number is stored as its difference from the previous one (the first from 0).

    Returns:
    - ``planes``: uint8 (width × n,).
    - ``how``: ``rows``, ``width`` (bytes of a number, 1 to 8), ``differences`` and ``signed``.
    """
    values = np.ascontiguousarray(numbers, np.int64)
    if differences and len(values):
        values = np.concatenate([values[:1], values[1:] - values[:-1]])  # wraps around like int64, in both directions
    signed = bool(len(values)) and int(values.min()) < 0
    if signed:
        values = (values << 1) ^ (values >> 63)
    plain = values.view(np.uint64)
    width = max(1, -(-int(plain.max(initial=np.uint64(0))).bit_length() // 8))
    octets = plain.astype("<u8", copy=False).view(np.uint8).reshape(-1, 8)
    planes = np.ascontiguousarray(octets[:, :width].T).reshape(-1)
    return planes, {"rows": len(values), "width": width, "differences": differences, "signed": signed}


def coded_columns(columns: Mapping[str, Array], differences: frozenset[str]) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return :func:`coded` of several columns, those in `differences` as differences: the planes, and how to read them."""
    planes: dict[str, Array] = {}
    how: dict[str, Any] = {}
    for name, column in columns.items():
        planes[name], how[name] = coded(column, differences=name in differences)
    return planes, how


_JOB_COLUMNS = (
    *("job_id", "attempt", "submit_ns", "eligible_ns", "start_ns", "end_ns", "cores", "held_cores", "tasks"),
    "chunks",
)

#: Text columns of jobs with few distinct words, or with given reasons.
_JOB_TEXTS = ("why", "state", "name", "application", "started_because", "cut_because", "rejected_because")

_TASK_COLUMNS = ("job_id", "core", "start_ns", "end_ns", "task", "chunk")

_DIFFERENCES = frozenset(
    (
        *("job_id", "submit", "hold_job", "hold_lo", "task_job", "task_number", "task_chunk", "queue_at", "queue"),
        *("busy_at", "busy", "gpus_at", "gpus", "power_at", "power", "limit"),
    )
)


def timeline_text(tables: TimelineTables) -> str:
    """Return the text of a page's timeline: packed columns (``traces.base.columns``).

    Instants are exact, whatever their unit on the page. Raises InputError if a table lacks a column, or the tables do not
    match.
    """
    job_id, attempt, submit, eligible, start, end, *counts = arrays(tables.jobs, _JOB_COLUMNS, "jobs")
    started = start >= 0
    base = int(submit.min(initial=np.iinfo(np.int64).max))
    base = min(base, int(start[started].min(initial=base))) if len(submit) else 0
    held = held_cores(tables.jobs, tables.releases, tables.widths)
    columns: dict[str, Array] = {
        "job_id": job_id,
        "attempt": attempt,
        "submit": submit - base,
        "eligible_after": np.where(eligible < 0, 0, eligible - submit),  # 0 also if it never was
        "wait": np.where(started, start - eligible, 0),
        "run": np.where(started, end - start, 0),
        "started": started.astype(np.int64),
        **dict(zip(_JOB_COLUMNS[6:], counts, strict=True)),
        "hold_job": held.job,
        "hold_lo": held.lo,
        "hold_cores": held.hi - held.lo,
        "hold_late": held.begin_ns - start[held.job],
        "hold_early": end[held.job] - held.end_ns,
        "first_core": np.diff(tables.first_core),
    }
    columns |= _series(tables, held, base, started)
    if tables.gpus is not None:
        columns |= _gpus(tables.gpus, end, base)
    if tables.tasks is not None:
        columns |= _tasks(tables, base)
    texts: dict[str, Any] = {}
    for name, (codes, words) in _job_texts(tables).items():
        columns[f"{name}_code"], texts[name] = codes, words
    if tables.causes is not None:
        columns["cause_job"], causes = _causes(tables.causes, job_id, attempt)
        columns["cause_code"], texts["cause"] = _codes(np.array(causes, object))
    planes, how = coded_columns(columns, _DIFFERENCES)
    if "imbalance" in tables.jobs:
        planes["imbalance"] = tables.jobs["imbalance"].to_numpy(np.float64)
    about = {
        "base_ns": str(base),  # a JSON number would lose digits
        "start_s": tables.start_s,
        "hosts": tables.host_names,
        "texts": texts,
        "coded": how,
    }
    if tables.gpus is not None:
        about["gpu_kinds"] = list(tables.gpus.kinds)
    return packed_text(planes, about)


def _codes(words: Any, absent: str = "") -> tuple[Array, list[str]]:
    # Indices of words in the list of distinct ones, in order of appearance; ``absent`` replaces missing texts.
    codes, values = distinct(words)
    place: dict[str, int] = {}
    places = np.array([place.setdefault(_text(word) or absent, len(place)) for word in values], np.int64)
    return places[codes], list(place)


def _job_texts(tables: TimelineTables) -> dict[str, tuple[Array, list[str]]]:
    jobs = tables.jobs
    texts = {name: _codes(jobs[name]) for name in _JOB_TEXTS if name in jobs}
    if "chosen" in jobs:
        texts["technique"] = _codes(jobs["chosen"], tables.technique)
    else:
        texts["technique"] = _codes(np.full(len(jobs), tables.technique, object))
    if tables.tasks is None and not any(texts["technique"][1]):
        del texts["technique"]
    if tables.users is not None:
        if len(tables.users) != len(jobs):
            raise InputError(f"{len(tables.users)} users for {len(jobs)} rows of jobs")
        texts["user"] = _codes(np.array(tables.users, object))
    return texts


def _text(word: object) -> str:
    return word if isinstance(word, str) else ""


def _tasks(tables: TimelineTables, base: int) -> dict[str, Array]:
    assert tables.tasks is not None
    numbers, core, start, end, task, chunk = arrays(tables.tasks, _TASK_COLUMNS, "tasks")
    job_id, count = arrays(tables.jobs, ("job_id", "tasks"), "jobs")
    if int(count.sum()) != len(numbers) or (np.repeat(job_id, count) != numbers).any():
        raise InputError("the tables of jobs and of tasks are not of one run: they differ in the tasks of jobs")
    n_cores = int(tables.first_core[-1])
    if len(core) and not 0 <= int(core.min()) <= int(core.max()) < n_cores:
        raise InputError(f"the table of tasks has a core {int(core.max())}; the machine has {n_cores}")
    order = np.lexsort((end, start, core))
    core, start, end = core[order], start[order], end[order]
    before = np.full(len(core), base, np.int64)
    same = core[1:] == core[:-1]
    before[1:][same] = end[:-1][same]
    return {
        "core_tasks": np.bincount(core, minlength=n_cores),
        "task_gap": start - before,
        "task_run": end - start,
        "task_job": np.repeat(np.arange(len(count)), count)[order],
        "task_number": task[order],
        "task_chunk": chunk[order].astype(np.int64),
    }


def _series(tables: TimelineTables, held: Held, base: int, started: Array) -> dict[str, Array]:
    eligible, start = arrays(tables.jobs, ("eligible_ns", "start_ns"), "jobs")
    queue = steps(eligible[started], start[started], np.ones(int(started.sum()), np.int64))
    busy = steps(held.begin_ns, held.end_ns, held.hi - held.lo)
    found = _steps("queue", queue, base) | _steps("busy", busy, base)
    if tables.power is not None:
        instant, power, limit = arrays(tables.power, ("instant_ns", "power_mw", "limit_mw"), "power")
        found |= {"power_at": instant - base, "power": power, "limit": limit}
    return found


def _gpus(gpus: HeldGpus, end: Array, base: int) -> dict[str, Array]:
    # What jobs held of GPUs, each on a lane of its GPU, and thousandths of busy GPUs.
    lane, count = pack_lanes_of_places(gpus.gpu, gpus.start_ns, gpus.end_ns, int(gpus.first[-1]))
    columns = {
        "host_gpus": np.diff(gpus.first),
        "gpu_lanes": count,
        "gpu_job": gpus.job,
        "gpu_lane": (np.cumsum(count) - count)[gpus.gpu] + lane,
        "gpu_milli": gpus.milli,
        "gpu_early": end[gpus.job] - gpus.end_ns,
    }
    return columns | _steps("gpus", steps(gpus.start_ns, gpus.end_ns, gpus.milli), base)


def _steps(name: str, function: Steps, base: int) -> dict[str, Array]:
    return {f"{name}_at": function.instant_ns - base, name: function.value}


def _causes(causes: DataFrame, job_id: Array, attempt: Array) -> tuple[Array, list[str]]:
    # By row of the jobs: the row that it waited for, or -1, and in which way.
    columns = arrays(causes, ("job_id", "attempt", "cause", "cause_job", "cause_attempt"), "causes")
    row = {key: k for k, key in enumerate(zip(job_id.tolist(), attempt.tolist(), strict=True))}
    found = np.full(len(job_id), -1, np.int64)
    words = [""] * len(job_id)
    for one, trial, word, other, other_trial in zip(*(column.tolist() for column in columns), strict=True):
        at = row.get((one, trial))
        if at is not None:
            words[at] = _text(word)
            found[at] = row.get((other, other_trial), -1)
    return found, words
