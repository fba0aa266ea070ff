"""Jobs as plain Python values, converted one by one to rows of a workload (``Workload.from_jobs``)."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

from bls.workloads.columns import CANCELLED, FAILED, OPTIONAL
from traces.base.errors import InputError, one_of, shown
from traces.base.time import MAX_NS, NS_PER_S

_KEYS = ("job_id", "submit_s", "run_s", "cores", "estimate_s")
_OPTIONAL_KEYS = tuple(f"{name.removesuffix('_ns')}_s" if name.endswith("_ns") else name for name in OPTIONAL)


def job_row(job: Sequence[Any] | Mapping[str, Any], where: str) -> tuple[int, ...]:
    """A job of ``Workload.from_jobs`` as job_id, submit_ns, run_ns, cores, estimate_ns, followed by the columns of
    ``OPTIONAL``. Raises InputError if a value is not a number or out of range, or a key is unknown or missing."""
    extra: tuple[int, ...] = tuple(OPTIONAL.values())
    if isinstance(job, Mapping):
        for key in job:
            if key not in _KEYS and key not in _OPTIONAL_KEYS:
                raise one_of("key", key, (*_KEYS, *_OPTIONAL_KEYS, "name"), where)
        for key in _KEYS[:4]:
            if key not in job:
                raise InputError(f"{where}: {key}: missing")
        if job["run_s"] is None:
            return _cancelled(job, where)
        extra = tuple(_optional(job, key, default, where) for key, default in zip(_OPTIONAL_KEYS, extra, strict=True))
        job = [job.get(key) for key in _KEYS]
    if len(job) != 5:
        raise InputError(f"{where}: {len(job)} values; a job is (job_id, submit_s, run_s, cores, estimate_s)")
    job_id, submit, run, cores, estimate = job
    row = (
        _number(job_id, 1, 0, f"{where}: job_id"),
        _number(submit, NS_PER_S, 0, f"{where}: submit_s"),
        _number(run, NS_PER_S, 1, f"{where}: run_s"),
        _number(cores, 1, 1, f"{where}: cores"),
    )
    asked = 0 if estimate is None else _number(estimate, NS_PER_S, -MAX_NS, f"{where}: estimate_s")
    return (*row, asked if asked > 0 else row[2], *extra)


def numbered(job: Any, names: dict[str, int], where: str) -> Any:
    """Replace the ``name`` of a job by a number, from 1. Raises InputError if the job has a number too, or no text."""
    if not isinstance(job, Mapping) or "name" not in job:
        return job
    rest = {key: value for key, value in job.items() if key != "name"}
    name = job["name"]
    if name is None:
        return rest
    if rest.get("application") is not None:
        raise InputError(f"{where}: name: given together with application; allowed: one of them")
    if not isinstance(name, str) or not name:
        raise InputError(f"{where}: name: {shown(name)}; allowed: a text")
    return {**rest, "application": names.setdefault(name, len(names) + 1)}


def with_one_preceding(job: Any, others: dict[int, tuple[int, ...]], where: str) -> Any:
    """Return the job with only the first job of a list ``preceding``; the others are added to ``others``. Raises InputError for
    an empty list or a value that is not a job number."""
    if not isinstance(job, Mapping) or not isinstance(job.get("preceding"), list | tuple):
        return job
    several = dict.fromkeys(_number(one, 1, 0, f"{where}: preceding") for one in job["preceding"])
    if not several:
        raise InputError(f"{where}: preceding: an empty list; allowed: a job number, a list of them, or None")
    first, *further = several
    if further:
        others[_number(job.get("job_id"), 1, 0, f"{where}: job_id")] = tuple(further)
    return {**job, "preceding": first}


def _cancelled(job: Mapping[str, Any], where: str) -> tuple[int, ...]:
    # A job without a known run time: this status and run time mark it for ``Workload.run_unknown``.
    for key in ("cancel_s", "estimate_s"):
        if job.get(key) is None:
            raise InputError(f"{where}: run_s: None needs {key}: nothing else states how long the job lasts")
    if job.get("status", CANCELLED) not in (FAILED, CANCELLED):
        raise InputError(f"{where}: status: {shown(job['status'])} with run_s None; allowed: 0 or 5")
    return job_row({"status": CANCELLED, **job, "run_s": 1e-9}, where)


def _optional(job: Mapping[str, Any], key: str, default: int, where: str) -> int:
    if job.get(key) is None:
        return default
    unit = NS_PER_S if key.endswith("_s") else 1
    value = job[key]
    if default == -1 and type(value) is not bool and isinstance(value, Integral) and int(value) == -1:
        return -1  # unknown
    return _number(value, unit, 0, f"{where}: {key}")


def _number(value: Any, unit: int, lowest: int, where: str) -> int:
    """``value`` in multiples of 1/``unit``, rounded half to even; with ``unit`` 1 it must be an integer."""
    exact: Fraction | None = None
    if isinstance(value, bool):
        pass  # True is not a number of seconds
    elif isinstance(value, Integral):
        exact = Fraction(int(value))
    elif isinstance(value, Real) and math.isfinite(value):
        exact = Fraction(float(value))
    if exact is not None:
        rounded = round(exact * unit)
        if lowest <= rounded and abs(rounded) <= MAX_NS and (unit > 1 or rounded == exact):
            return rounded
    kind = "whole number" if unit == 1 else "number of seconds"
    bound = {1: " above 0", 0: " from 0"}.get(lowest, "")
    raise InputError(f"{where}: {shown(value)} is not a {kind}{bound}, or is beyond the range")
