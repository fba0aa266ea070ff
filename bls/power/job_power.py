"""The power and speed of the cores and GPUs of a job, by a power factor, a memory-bound share and a share on GPUs; and the jobs
that may be slowed (docs/reference/power.md).

The memory-bound share is 1 - β of C.-H. Hsu and U. Kremer (PLDI 2003), with β as in M. Etinski, J. Corbalan, J. Labarta and M.
Valero (*Optimizing job performance under a given power constraint in HPC centers*, IGCC 2010): T(f) / T(fmax) = β
(fmax / f - 1) + 1.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from numbers import Real
from typing import Any, Final

import numpy as np

from bls.constraints.resource_requests import read_request_file
from bls.engine.features.limits.options import ALLOWED
from bls.options import JOB_POWER
from bls.power.table import MOST_MW, PowerTable
from bls.workloads.workload import Workload
from traces.base.columns import Columns
from traces.base.errors import InputError, one_of, real, shown
from traces.base.scale import WHOLE
from traces.compiled import Array

POWER, MEMORY_BOUND, GPU_SHARE = "power", "memory_bound", "gpu_share"  #: the columns
HIGHEST: Final = {POWER: 10, MEMORY_BOUND: 1, GPU_SHARE: 1}  #: largest value of each
_DEFAULT: Final = {POWER: WHOLE, MEMORY_BOUND: 0, GPU_SHARE: WHOLE}  #: default values, parts per billion

_ANY: Final = f"{POWER}, {MEMORY_BOUND} or {GPU_SHARE}"

#: The keyword in Python, and the name of the file in errors.
_KEYWORD, _KIND = "job_power", f"file of job_id, {POWER}, {MEMORY_BOUND} and {GPU_SHARE}"

_NUMBER = re.compile(r"([0-9]{1,2})(?:\.([0-9]{1,9}))?")

#: From a column and its values by default to the values by applications; None if no application gives any.
Said = Callable[[str, Array], Array | None]


@dataclass(frozen=True, eq=False)
class JobPower:
    """The given power of jobs; int64 (n,) each, parts per billion."""

    power: Array
    memory_bound: Array
    gpu_share: Array  # of the time that depends on speed, the part that depends on that of GPUs; 0 only without GPUs
    given: tuple[str, ...]  # the columns that are given for any job; ``gpu_share`` if any has GPUs


@dataclass(frozen=True)
class PowerClasses(Columns):
    """The power of a core of G groups in S states, and its speed there, for jobs of K classes: all int64."""

    kind: Array  # (n,): the class of each job, or of each row of a table of jobs; class 0 has the platform's power
    speed: Array  # (K, S, G): as in ``PowerTable``
    active_mw: Array  # (K, S, G): as in ``PowerTable``
    gpu_w: Array  # (K, S, G): as in ``PowerTable``


def active_mw(
    table: PowerTable, classes: PowerClasses | None, row: Array, scale: Array, group: Array, *, gpus: bool = False
) -> Array:
    """The power of cores of these groups that work for the jobs of these rows, at these scales; or, with ``gpus``, of
    thousandths of GPUs: int64 (k,), mW. They are in the slowest of their job's states that is at least as fast. ``classes``: by
    rows; None: all have the platform's power."""
    least = np.minimum(scale, WHOLE)
    if classes is None:
        power = table.gpu_w if gpus else table.active_mw
        return np.asarray(power[(table.speed[:, group] >= least).sum(axis=0) - 1, group])
    kind = classes.kind[row]
    fits = classes.speed[kind, :, group] >= least[:, None]
    return np.asarray((classes.gpu_w if gpus else classes.active_mw)[kind, fits.sum(axis=1) - 1, group])


def part_of(where: str, column: str, value: object) -> int:
    """A number in parts per billion. Raises InputError, beginning with ``where``, if it is not from 0 to :data:`HIGHEST`."""
    return round(real(where, value, 0, HIGHEST[column]) * WHOLE)


def _read(column: str, where: str, text: str) -> int:
    # From its decimal text, without rounding.
    match = _NUMBER.fullmatch(text)
    found = int(match[1]) * WHOLE + int((match[2] or "").ljust(9, "0")) if match else -1
    if not 0 <= found <= HIGHEST[column] * WHOLE:
        raise InputError(f"{where}: {shown(text)}; allowed: 0 to {HIGHEST[column]}, with up to nine places")
    return found


def given_columns(given: object) -> dict[str, list[Any]]:
    """Columns given in Python as lists: ``job_id`` and any of ``power``, ``memory_bound`` and ``gpu_share``. Missing values,
    ``None`` or NaN, get the default. Raises InputError for other columns."""
    allowed = f"allowed: a CSV file, or columns as {{'job_id': [17, 18], '{POWER}': [0.8, 1.2]}}"
    if not isinstance(given, Mapping) and not hasattr(given, "columns"):
        raise InputError(f"{_KEYWORD}: {shown(given)}; {allowed}")
    columns: Any = given
    found = {}
    for name in columns:
        if name not in ("job_id", *HIGHEST):
            raise one_of("column", str(name), ("job_id", *HIGHEST), _KEYWORD)
        values = columns[name]
        values = values.tolist() if hasattr(values, "tolist") else values
        if isinstance(values, str) or not isinstance(values, Sequence):
            raise InputError(f"{_KEYWORD}: {name}: {shown(values)}; {allowed}")
        found[name] = list(values)
    if "job_id" not in found or len(found) == 1 or len({len(values) for values in found.values()}) > 1:
        counts = ", ".join(f"{len(values)} of {name}" for name, values in found.items()) or "no column"
        raise InputError(f"{_KEYWORD}: {counts}; allowed: as many of job_id as of {_ANY}")
    return found


def _missing(value: object) -> bool:
    # Like an empty field of a file; pandas' NA is recognised by its name, so that pandas need not be imported.
    return value is None or (isinstance(value, Real) and value != value) or type(value).__name__ == "NAType"


def _of_columns(given: Mapping[str, list[Any]], workload: Workload, known: Array) -> dict[str, Array]:
    rows = {job: row for row, job in enumerate(workload.job_id.tolist())}
    others = set(known.tolist()) - rows.keys()
    found = {name: np.full(len(workload), -1, np.int64) for name in given if name != "job_id"}
    seen = set()
    for place, job in enumerate(given["job_id"]):
        where = f"{_KEYWORD}: job_id[{place}]"
        if job not in rows and job not in others:
            raise InputError(f"{where}: job {shown(job)} is not in {workload.source or 'the workload'}")
        if job in seen:
            raise InputError(f"{where}: job {job} is there twice")
        seen.add(job)
        for name, column in found.items():
            if _missing(given[name][place]):
                continue
            value = part_of(f"{_KEYWORD}: {name}[{place}]", name, given[name][place])
            if job in rows:
                column[rows[job]] = value
    return found


def job_power(
    given: str | os.PathLike[str] | Mapping[str, list[Any]] | None,
    workload: Workload,
    known: Array,
    said: Said | None = None,
    gpus: Array | None = None,
) -> JobPower | None:
    """The given power of the jobs of a run; None if nothing is given.

    - ``given``: a file, or columns from :func:`given_columns`
    - ``known``, int64: job numbers that may be named besides the workload's
    - ``said(column, otherwise)`` returns the values with those of applications in place of ``otherwise``, parts per billion;
      None if no application has one
    - ``gpus``, bool (n,): jobs that request GPUs whose power is known; None: none does

    Raises InputError if the file or the columns cannot be used.
    """
    found: dict[str, Array] = {}
    if isinstance(given, Mapping):
        found = _of_columns(given, workload, known)
    elif given is not None:
        readers = {column: partial(_read, column) for column in HIGHEST}
        found = read_request_file(given, workload, tuple(readers), known, readers, _KIND)
        if not found:
            raise InputError(f"{os.fspath(given)}: none of the columns {_ANY}; allowed: at least one")
    columns, there = list[Array](), list[str]()
    for name, default in _DEFAULT.items():
        column = found.get(name, np.full(len(workload), -1, np.int64))
        column = np.where(column < 0, default, column)
        by_application = None if said is None else said(name, column)
        if name != GPU_SHARE and (name in found or by_application is not None):
            there.append(name)
        columns.append(column if by_application is None else by_application)
    power, memory_bound, gpu_share = columns
    has_gpus = np.zeros(len(workload), np.bool_) if gpus is None else gpus
    if has_gpus.any():
        there.append(GPU_SHARE)
    gpu_share = np.where(has_gpus, np.maximum(gpu_share, 1), 0)  # so that states of GPUs have different speeds
    return JobPower(power, memory_bound, gpu_share, tuple(there)) if there else None


def power_classes(table: PowerTable, jobs: JobPower, job_id: Array) -> PowerClasses:
    """The classes of jobs with equal values. Raises InputError if the machine could draw more than ``MOST_MW``."""
    _check_most(table, jobs, job_id)
    plain, given = np.array([[WHOLE], [0], [0]]), np.stack([jobs.power, jobs.memory_bound, jobs.gpu_share])
    pairs, kind = np.unique(np.concatenate([plain, given], axis=1), axis=1, return_inverse=True)
    kind = kind.reshape(-1)
    # Class 0 has the platform's power; it exists even if it contains no job.
    order = np.append(kind[0], np.delete(np.arange(pairs.shape[1]), kind[0]))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    power, *shares = pairs[:, order]
    both = ((table.active_mw, table.idle_mw), (table.gpu_w, table.gpu_idle_w))
    draws = (np.stack([idle + factored(work - idle, int(one)) for one in power]) for work, idle in both)
    of_shares = list(zip(*(column.tolist() for column in shares), strict=True))
    speeds = {one: _speeds(table, *one) for one in set(of_shares)}
    return PowerClasses(place[kind[1:]], np.stack([speeds[one] for one in of_shares]), *draws)


def factored(mw: Array, factor: int) -> Array:
    """mW times a factor in parts per billion, at most 10, rounded half up; exact as int64."""
    whole, part = np.divmod(mw, WHOLE)
    high, low = divmod(factor, WHOLE)
    return np.asarray(whole * factor + part * high + (part * low + WHOLE // 2) // WHOLE)


def _speeds(table: PowerTable, memory: int, gpu_share: int) -> Array:
    # 1 / ((1 - m) (g / f_gpu + (1 - g) / f) + m), parts per billion, rounded half up. States differ by at least 1, since a
    # core's state is found by its speed.
    found, gpu_speed = np.empty_like(table.speed), table.gpu_speed if gpu_share else table.speed
    for group in range(found.shape[1]):
        last, before = None, WHOLE + 1
        for at, now in enumerate(zip(table.speed[:, group].tolist(), gpu_speed[:, group].tolist(), strict=True)):
            core, gpu = now
            slower = gpu_share * core + (WHOLE - gpu_share) * gpu
            above, below = WHOLE * WHOLE * core * gpu, (WHOLE - memory) * slower + memory * core * gpu
            if now != last:
                before = min((2 * above + below) // (2 * below), before - 1)
            found[at, group], last = before, now
    return found


def _check_most(table: PowerTable, jobs: JobPower, job_id: Array) -> None:
    # In Python's integers, which do not overflow.
    row = int(jobs.power.argmax())
    most = max(int(jobs.power[row]), WHOLE)
    both = (table.idle_mw, table.active_mw[0]), (table.gpu_idle_w, table.gpu_w[0])
    at_work = (idle.astype(object) - (idle - work).astype(object) * most // WHOLE for idle, work in both)
    host = np.maximum.reduce([table.host_most_mw(*at_work), table.off_mw, table.shutdown_mw, table.boot_mw])
    total = int((table.n_hosts * host).sum())
    if total > MOST_MW:
        as_job = f"if all cores draw as those of job {job_id[row]} do, of power {jobs.power[row] / WHOLE:g}"
        draw = f"the platform's hosts draw {total / 1000:.4g} W; allowed: up to {MOST_MW / 1000:.4g} W"
        raise InputError(f"{JOB_POWER}: {as_job}, {draw}")


_STREAM = 0x616C6C6F776564  #: name of the stream from which the jobs of a share are drawn
_SHARE = re.compile(r"[0-9]*\.?[0-9]+(e-?[0-9]+)?", re.IGNORECASE)
_PERCENT = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,9})?)\s*%")
_USERS = re.compile(r"users:([0-9]{1,18}(?:\s+[0-9]{1,18})*)")
_COLUMN = "allowed"


def allowed_jobs(said: str | os.PathLike[str], workload: Workload, known: Array, seed: int) -> Array:
    """Whether each job may be slowed: bool (n,).

    - ``said``: ``none``; ``all``; a share of the jobs from 0 to 1, or as ``75%`` (a smaller share is a subset of a larger
      share); ``users:3 17``, all jobs of these users; or a CSV file with the columns ``job_id`` and ``allowed``, 1 or 0
      (0 for missing jobs)
    - ``known``, int64: job numbers that a file may name besides the workload's
    - ``seed``: the seed with which a share is drawn

    Raises InputError if it is none of these, or the file cannot be used.
    """
    text = os.fspath(said)
    n = len(workload)
    if text in ("none", "all"):
        return np.full(n, text == "all")
    percent = _PERCENT.fullmatch(text)
    if percent or _SHARE.fullmatch(text):
        share = float(Decimal(percent[1]) / 100) if percent else float(text)
        if share > 1:
            raise InputError(f"{ALLOWED}: {shown(text)}; allowed: a share from 0 to 1, or from 0% to 100%")
        return np.asarray(_drawn(workload, seed) < share)
    if text.startswith("users:"):
        return np.isin(workload.user, np.array(_users(text), np.int64))
    if isinstance(said, str) and not os.path.exists(text):
        allowed = "none, all, a share as 0.75 or 75%, users:3 17, or a CSV file"
        raise InputError(f"{ALLOWED}: {shown(text)}: no such file; allowed: {allowed}")
    column = read_request_file(text, workload, (_COLUMN,), known).get(_COLUMN)
    if column is None:
        raise InputError(f"{text}: column {_COLUMN}: missing")
    if len(wrong := np.flatnonzero(column > 1)):
        row = wrong[0]
        raise InputError(f"{text}: job {workload.job_id[row]}: {_COLUMN}: {column[row]}; allowed: 0 or 1")
    return np.asarray(column == 1)


def unknown_users(said: str | os.PathLike[str], workload: Workload) -> list[int]:
    """Users named by ``users:…`` that have no job, ascending; arguments as of :func:`allowed_jobs`."""
    text = os.fspath(said)
    named = set(_users(text)) if text.startswith("users:") else set()
    return sorted(named - set(workload.user.tolist())) if named else []


def _users(text: str) -> list[int]:
    match = _USERS.fullmatch(text)
    if match is None:
        raise InputError(f"{ALLOWED}: {shown(text)}; allowed: numbers of users, separated by spaces, as users:3 17")
    return [int(number) for number in match[1].split()]


def _drawn(workload: Workload, seed: int) -> Array:
    # A number from 0 to 1 for each job, which depends on the job number and the seed, not on other jobs.
    with np.errstate(over="ignore"):
        start = _mix(np.array([seed % 2**64], np.uint64) ^ np.uint64(_STREAM))
        return np.asarray((_mix(start ^ workload.job_id.astype(np.uint64)) >> np.uint64(11)) * 2.0**-53)


def _mix(z: Array) -> Array:
    """splitmix64 (Steele, Lea and Flood, OOPSLA 2014, doi:10.1145/2660193.2660195), modulo 2**64."""
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))
