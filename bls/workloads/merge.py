"""Several workloads as one: the jobs of all logs, on one clock."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bls.options import ALIGN
from bls.workloads.calendar import Calendar
from bls.workloads.columns import COLUMNS, OPTIONAL
from bls.workloads.header import log_name, merged_header
from bls.workloads.workload import Workload
from traces.base.errors import InputError
from traces.base.time import MAX_NS, NS_PER_S
from traces.compiled import Array

__all__ = ["merge"]

# Of these the numbers of two logs are never of the same: they are moved apart. Queues and partitions are what a platform
# calls so, and stay.
_APART = ("user", "group", "application")

_NO_ROOM = "cannot be moved apart from the others' within 2**62"


def merge(workloads: Sequence[Workload], *, align: str = ALIGN.default, where: str = ALIGN.name) -> Workload:
    """The jobs of several workloads as one workload.

    Parameters
    ----------
    workloads : sequence of Workload
        One or more. The first keeps its numbers. Another of which any job number is taken is renumbered as a whole, its
        lowest number following the highest so far; so are users, groups and applications (of which the same number in two
        logs is never the same one). Queues, partitions and QOS keep their numbers. A preceding job that its log does not
        have is none.
    align : {"calendar", "start"}
        Whether the logs lie on each other as their ``UnixStartTime`` says, the earliest being time 0, or each begins at
        time 0.
    where : str
        The option it was given in, for messages.

    Returns
    -------
    Workload
        Jobs by (submit, log, line), with lines numbered through all logs; counts are sums; a further column that a log
        does not have is -1 in its rows.

    Raises
    ------
    InputError
        If there is none, a log does not say when it began, jobs of a later log run already at its time 0, or a number or
        an instant is beyond 2**62.
    """
    ALIGN.check(align, where)
    if not workloads:
        raise InputError("merge: no workload; allowed: one or more")
    starts_s = [_start_s(workload) for workload in workloads]
    start_s: int | None = None
    if align == "calendar":
        for workload, begun in zip(workloads, starts_s, strict=True):
            if begun is None:
                raise InputError(f"{where}: {workload.source} has no UnixStartTime in its header; allowed: start")
        start_s = min(begun for begun in starts_s if begun is not None)
    elif len(set(starts_s)) == 1:
        start_s = starts_s[0]
    offsets_ns = [
        0 if align == "start" or begun is None or start_s is None else (begun - start_s) * NS_PER_S
        for begun in starts_s
    ]
    parts: list[dict[str, Array]] = []  # of each log
    for workload, offset_ns in zip(workloads, offsets_ns, strict=True):
        parts.append(_apart(workload, offset_ns, parts))
    names: dict[int, str] = {}
    for workload, part in zip(workloads, parts, strict=True):
        known = int(np.argmax(workload.application))  # where it is moved, all of it is
        shift = int(part["application"][known] - workload.application[known])
        names |= {number + shift: name for number, name in workload.names.items()}
    # By (submit, line): the rows of each log are so, and the lines of a log are above those of the logs before it.
    order = np.argsort(np.concatenate([part["submit_ns"] for part in parts]), kind="stable")
    columns = {name: _joined([part.pop(name) for part in parts], order) for name in list(parts[0])}
    extras: dict[str, Array] = {}
    for name in dict.fromkeys(name for workload in workloads for name in workload.extras):
        given = [workload.extras.get(name, np.broadcast_to(np.int64(-1), len(workload))) for workload in workloads]
        extras[name] = _joined(given, order)
    reasons = dict.fromkeys(reason for workload in workloads for reason in workload.rejects)
    return Workload(
        **columns,
        window=None,
        header=merged_header(workloads, len(order), start_s),
        rejects={reason: sum(workload.rejects.get(reason, 0) for workload in workloads) for reason in reasons},
        reordered=sum(workload.reordered for workload in workloads),
        clamped=sum(workload.clamped for workload in workloads),
        source=" + ".join(log_name(workload) for workload in workloads),
        n_lines=sum(workload.n_lines for workload in workloads),
        extras=extras,
        names=names,
        waiting=sum(workload.waiting for workload in workloads),
    )


def _joined(parts: Sequence[Array], order: Array) -> Array:
    """Columns one after the other, in an order; what is one number for all rows of all logs stays one number."""
    if all(part.strides == (0,) and part[0] == parts[0][0] for part in parts):
        return np.asarray(parts[0][0])
    return np.asarray(np.concatenate(parts)[order])


def _start_s(workload: Workload) -> int | None:
    start = Calendar.of(workload).start
    return None if start is None else int(start.timestamp())


def _apart(workload: Workload, offset_ns: int, before: Sequence[dict[str, Array]]) -> dict[str, Array]:
    """The columns of a log, later by an offset, with numbers that those before it do not have."""
    part: dict[str, Array] = {name: getattr(workload, name) for name in (*COLUMNS, *OPTIONAL)}
    latest = {name: int(getattr(workload, name).max()) for name in ("cancel_ns", "begin_ns")}
    if max(int(workload.submit_ns[-1]), *latest.values()) + offset_ns > MAX_NS:
        raise InputError(f"{workload.source}: begins too long after the others: an instant is beyond 2**62 ns")
    if offset_ns and np.any(workload.preset == 1):
        raise InputError(f"{workload.source}: has jobs that run already at its time 0, which is not that of the whole")
    part["submit_ns"] = workload.submit_ns + offset_ns
    for name, last_ns in latest.items():
        if last_ns >= 0:
            part[name] = np.where(part[name] < 0, -1, part[name] + offset_ns)
    part["line"] = workload.line + max((int(other["line"].max()) for other in before), default=0)
    for name in _APART:
        shift = _shift(part[name], [other[name] for other in before])
        if int(part[name].max()) + shift > MAX_NS:
            raise InputError(f"{workload.source}: its {name} numbers {_NO_ROOM}")
        if shift:
            part[name] = np.where(part[name] < 0, -1, part[name] + shift)
    shift = _shift(workload.job_id, [other["job_id"] for other in before])
    if int(workload.job_id.max()) + shift > MAX_NS:
        raise InputError(f"{workload.source}: its job numbers {_NO_ROOM}")
    part["job_id"] = workload.job_id + shift
    if int(workload.preceding.max()) >= 0:
        there = np.isin(workload.preceding, workload.job_id)
        part["preceding"] = np.where(there, workload.preceding + np.where(there, shift, 0), -1)
    return part


def _shift(numbers: Array, taken: Sequence[Array]) -> int:
    """What is added to all numbers (but -1) so that none of them is taken: 0 where none is."""
    if numbers.strides == (0,):
        numbers = numbers[:1]
    known = numbers[numbers >= 0]
    if len(known) == 0 or not taken:
        return 0
    lowest, highest = int(known.min()), int(known.max())
    free = max(int(column.max()) for column in taken) + 1
    near = [column[(column >= lowest) & (column <= highest)] for column in taken]
    return free - lowest if any(np.isin(known, column).any() for column in near if len(column)) else 0
