"""Workloads out of workloads: a part of one, several as one, one that is denser, faster or wider.

All are pure functions. Job numbers, users and the rest stay with their jobs; the header says what was done, and its
``UnixStartTime`` moves along with time 0, so that calendars keep working.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from bls.options import SELECT
from bls.workloads.header import log_name, moved_header
from bls.workloads.merge import merge
from bls.workloads.selection import running_and_queued, select
from bls.workloads.workload import Workload
from traces.base.errors import InputError, real
from traces.base.time import MAX_NS, format_ns
from traces.compiled import Array

__all__ = ["FACTORS", "cut", "filter_jobs", "merge", "scale"]

#: The least and the greatest factor that :func:`scale` takes.
FACTORS = (0.001, 1000.0)

# A factor is the nearest fraction with such a denominator, so that columns are scaled in whole numbers: with the range of
# factors, no product below is beyond int64.
_MOST_DENOMINATOR = 10**7


def cut(workload: Workload, spec: object, *, where: str = "") -> Workload:
    """A part of a workload, as long as one wants it.

    - ``workload``: jobs of any width
    - ``spec``: as :func:`bls.workloads.selection.select`

    Returns the jobs that are submitted in the part. ``remarks`` say how many jobs are left out that the log has running
    or queued at the start of a window. Raises InputError as :func:`bls.workloads.selection.select`.
    """
    where = where or str(SELECT)
    chosen = select(workload, spec, preset=False, where=where)
    start_ns, remarks = 0, workload.remarks
    if chosen.window is not None:
        start_ns = chosen.window.begin_ns
        running, queued = running_and_queued(workload, start_ns)
        if running or queued:
            remarks += (f"window: written without the {running} running and {queued} queued jobs of the log",)
    text = f"{spec}".strip()
    note = f"{'all jobs' if text == 'all' else f'the jobs {text}'} of {log_name(workload)}"
    header = moved_header(workload.header, len(chosen), start_ns, note)
    return chosen.take(np.arange(len(chosen)), header=header, window=None, remarks=remarks)


def filter_jobs(
    workload: Workload,
    *,
    users: Iterable[int] | None = None,
    queues: Iterable[int] | None = None,
    partitions: Iterable[int] | None = None,
    cores: tuple[int | None, int | None] = (None, None),
    run: tuple[int | None, int | None] = (None, None),
    status: Iterable[int] | None = None,
) -> Workload:
    """The jobs that pass every test; their times stay.

    - ``workload``: jobs of any width
    - ``users``, ``queues``, ``partitions``, ``status``: numbers of which the job must have one; -1 is what the log does
      not know
    - ``cores``, (int or None, int or None): least and greatest width, both included; None is no bound
    - ``run``, (int or None, int or None): least and greatest run time in ns, both included

    Raises InputError if no job is left, or a bound is above the other.
    """
    kept = np.ones(len(workload), bool)
    said: list[str] = []
    for name, column, numbers in (
        ("users", workload.user, users),
        ("queues", workload.queue, queues),
        ("partitions", workload.partition, partitions),
        ("status", workload.status, status),
    ):
        if numbers is not None:
            wanted = np.unique(np.fromiter(numbers, np.int64))
            kept &= np.isin(column, wanted)
            said.append(f"{name} {_listed(wanted.tolist())}")
    for name, column, (low, high) in (("cores", workload.cores, cores), ("run", workload.run_ns, run)):
        shown_as = format_ns if name == "run" else str
        if low is not None and high is not None and low > high:
            raise InputError(f"{name}: from {shown_as(low)} to {shown_as(high)}: nothing is between them")
        if low is not None:
            kept &= column >= low
            said.append(f"{name} from {shown_as(low)}")
        if high is not None:
            kept &= column <= high
            said.append(f"{name} to {shown_as(high)}")
        if name == "run" and (low is not None or high is not None):
            kept &= ~workload.run_unknown
    what = ", ".join(said) or "all"
    if not kept.any():
        raise InputError(f"{workload.source}: none of {len(workload)} jobs is left ({what})")
    n = int(np.count_nonzero(kept))
    return workload.take(
        kept, header=moved_header(workload.header, n, 0, f"the jobs with {what} of {log_name(workload)}")
    )


def scale(
    workload: Workload, *, load: float | None = None, speed: float | None = None, cores: float | None = None
) -> Workload:
    """The same jobs, denser, faster or wider.

    Everything is rounded once, half to even. Waits that the log recorded are unknown in the result: no such system ever
    ran. A user who gave up waiting does so after the same time, and a job is held for the same time; think times stay.

    - ``workload``: jobs of any width
    - ``load``: the times between submits are divided by it; the first submit stays where it is
    - ``speed``: run times and estimates are divided by it, to at least 1 ns
    - ``cores``: widths are multiplied by it, to at least 1 core

    Raises InputError if no factor is given, one is not from 0.001 to 1000, or a time or width is beyond 2**62 then.
    """
    given = {name: value for name, value in (("load", load), ("speed", speed), ("cores", cores)) if value is not None}
    if not given:
        raise InputError("scale: nothing to do; allowed: a factor of load, speed or cores")
    factors = {name: _fraction(name, value) for name, value in given.items()}
    changed: dict[str, Any] = {}
    submit, unknown = workload.submit_ns, workload.run_unknown
    if load is not None:
        first = submit[0]
        submit = first + _times(submit - first, 1 / factors["load"], "submit_ns", workload.source)
    if speed is not None:
        run = np.maximum(_times(workload.run_ns, 1 / factors["speed"], "run_ns", workload.source), 1)
        changed["run_ns"] = np.where(unknown, workload.run_ns, run)
        estimate = _times(workload.estimate_ns, 1 / factors["speed"], "estimate_ns", workload.source)
        changed["estimate_ns"] = np.maximum(estimate, 1)
    if cores is not None:
        changed["cores"] = np.maximum(_times(workload.cores, factors["cores"], "cores", workload.source), 1)
    changed["submit_ns"], changed["wait_ns"] = submit, np.array(-1)
    if int(workload.cancel_ns.max()) >= 0:
        patience = workload.cancel_ns - workload.submit_ns
        if np.any((workload.cancel_ns >= 0) & (patience > MAX_NS - submit)):
            raise _beyond("cancel_ns", workload.source)
        changed["cancel_ns"] = np.where(workload.cancel_ns < 0, -1, submit + patience)
        changed["wait_ns"] = np.where(unknown, patience, -1)
    if workload.held.any():
        hold = workload.earliest_ns - workload.submit_ns
        if np.any(hold > MAX_NS - submit):
            raise _beyond("begin_ns", workload.source)
        changed["begin_ns"] = np.where(workload.held, submit + hold, -1)
    what = ", ".join(f"{name} × {float(value):g}" for name, value in given.items())
    header = moved_header(
        workload.header, len(workload), 0, f"{log_name(workload)} with {what}", same_span=load is None
    )
    # Jobs that were submitted one after the other may now be submitted together: then the order of lines counts.
    if np.any((np.diff(submit) == 0) & (np.diff(workload.line) < 0)):
        order = np.lexsort((workload.line, submit))
        moved = {name: column[order] if column.ndim else column for name, column in changed.items()}
        return workload.take(order, **moved, header=header)
    return replace(workload, **changed, header=header)


def _fraction(name: str, value: float) -> Fraction:
    real(name, value, *FACTORS)
    # As it is written in decimals: 1.2 is 6/5, not the nearest binary number.
    return Fraction(repr(float(value))).limit_denominator(_MOST_DENOMINATOR)


def _times(column: Array, factor: Fraction, name: str, source: str) -> Array:
    """``column`` (from 0) times a factor, rounded half to even, in whole numbers."""
    up, down = factor.numerator, factor.denominator
    if int(column.max()) * up // down >= MAX_NS:
        raise _beyond(name, source)
    whole = column // down
    rest = (column - whole * down) * up
    parts = rest // down
    left = 2 * (rest - parts * down)
    result = whole * up + parts
    return np.asarray(result + ((left > down) | ((left == down) & (result % 2 == 1))))


def _beyond(name: str, source: str) -> InputError:
    return InputError(f"{source}: with this factor, {name} is beyond the range; allowed: to {MAX_NS}")


def _listed(numbers: Sequence[int]) -> str:
    return " ".join(map(str, numbers)) if len(numbers) <= 10 else f"{len(numbers)} of them"
