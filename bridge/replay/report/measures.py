"""What is measured of schedules, as RM-Replay defines it (section IV), and how two differ."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bls.metrics.batch import started_and_finished, utilisation_within
from bls.metrics.schedule import Schedule
from bridge.replay.report.sides import Side
from traces.base.time import NS_PER_S
from traces.compiled import Array
from traces.tables import rows_frame

if TYPE_CHECKING:
    import pandas as pd

#: A slowdown above this is high (section VIII-B).
HIGH_SLOWDOWN = 5.0

_HOUR_NS = 3600 * NS_PER_S

#: The classes of Table I: hours, each up to and with its end.
_LENGTHS = (0, 1, 2, 4, 8, 16)


class Interval(NamedTuple):
    """A span of time, ns since the workload's time 0."""

    begin_ns: int
    end_ns: int


def submit_interval(submit_ns: Array) -> Interval:
    """From the first submit to the last, and a second more if they are one; a second if there is none."""
    first, last = (int(submit_ns.min()), int(submit_ns.max())) if len(submit_ns) else (0, 0)
    return Interval(first, max(last, first + NS_PER_S))


def _schedule(side: Side, n_cores: int) -> Schedule:
    return Schedule(
        n_cores=n_cores, submit_ns=side.submit_ns, start_ns=side.start_ns, end_ns=side.end_ns, cores=side.cores
    )


def measures(side: Side, n_cores: int, interval: Interval) -> dict[str, Any]:
    """The measures of a schedule by their names; times in ns, None where no job has one.

    ``makespan_ns`` is max end − min start, ``utilisation`` and ``throughput`` (jobs that start and end within) are of the
    interval, slowdowns (wait + run) / run. Jobs that ran already at time 0 count for makespan and utilisation alone.
    """
    counted = side.measured
    wait, slowdown = counted.wait_ns, counted.slowdown
    high = int(np.count_nonzero(slowdown > HIGH_SLOWDOWN))
    ran = len(counted.job_id) > 0
    return {
        "jobs": len(counted.job_id),
        "attempts": None if side.attempts < 0 else side.attempts,
        "makespan_ns": side.makespan_ns,
        "utilisation": utilisation_within(_schedule(side, n_cores), *interval),
        "throughput": started_and_finished(_schedule(counted, n_cores), *interval),
        "mean_wait_ns": float(wait.mean()) if ran else None,
        "median_wait_ns": float(np.median(wait)) if ran else None,
        "p95_wait_ns": float(np.quantile(wait, 0.95)) if ran else None,
        "max_wait_ns": int(wait.max()) if ran else None,
        "mean_slowdown": float(slowdown.mean()) if len(slowdown) else None,
        "median_slowdown": float(np.median(slowdown)) if len(slowdown) else None,
        "high_slowdown": high,
        "high_slowdown_share": high / len(counted.job_id) if ran else None,
        "killed": None if side.killed < 0 else side.killed,
    }


def differences(side: Side, reference: Side) -> pd.DataFrame:
    """Of every job that ran in both: ``job_id``, ``submit_ns`` of the reference, and how much later it was submitted
    and started and how much longer it lasted: ``delta_submit_ns``, ``delta_start_ns``, ``delta_duration_ns``. Without jobs that
    ran already at time 0."""
    side, reference = side.measured, reference.measured
    _, ours, theirs = np.intersect1d(side.job_id, reference.job_id, assume_unique=True, return_indices=True)
    return rows_frame(
        {
            "side": side.label,
            "job_id": side.job_id[ours],
            "submit_ns": reference.submit_ns[theirs],
            "delta_submit_ns": side.submit_ns[ours] - reference.submit_ns[theirs],
            "delta_start_ns": side.start_ns[ours] - reference.start_ns[theirs],
            "delta_duration_ns": side.run_ns[ours] - reference.run_ns[theirs],
        }
    )


def median_side(sides: Sequence[Side], label: str) -> Side:
    """Of several schedules of the same jobs the one in which each job has its median start and its median run time; of an even
    number the lower of both. Jobs that ran in all."""
    common = sides[0].job_id
    for one in sides[1:]:
        common = np.intersect1d(common, one.job_id, assume_unique=True)
    at = [np.searchsorted(one.job_id, common) for one in sides]
    middle = (len(sides) - 1) // 2
    start = np.sort(np.stack([one.start_ns[rows] for one, rows in zip(sides, at, strict=True)]), axis=0)[middle]
    run = np.sort(np.stack([one.run_ns[rows] for one, rows in zip(sides, at, strict=True)]), axis=0)[middle]
    first, rows = sides[0], at[0]
    not_run = len(first.job_id) + first.not_run - len(common)
    submit, cores, begin = first.submit_ns[rows], first.cores[rows], first.begin_ns[rows]
    preset = None if first.preset is None else first.preset[rows]
    return Side(label, common, submit, start, start + run, cores, first.killed, not_run, first.attempts, preset, begin)


def submissions(submit_ns: Array, of_day_ns: int) -> pd.DataFrame:
    """How many jobs were submitted in each hour (Figure 4): ``hour`` since the first midnight, ``jobs``; hours between,
    too. ``of_day_ns`` is the time of the day at the workload's time 0."""
    hours = (submit_ns + of_day_ns) // _HOUR_NS
    first = int(hours.min())
    counts = np.bincount((hours - first).astype(np.int64))
    return rows_frame({"hour": np.arange(first, first + len(counts)), "jobs": counts})


def classes(side: Side) -> pd.DataFrame:
    """How many jobs are how wide and how long (Table I): ``cores`` doubles from row to row, a column for each class of hours.

    A class of lengths is above its lower and up to its upper end; only the rows are there that hold a job, and those between.
    """
    widths = [1]
    while widths[-1] < int(side.cores.max()):
        widths.append(2 * widths[-1])
    of_width = np.searchsorted(widths, side.cores)
    of_length = np.searchsorted(np.array(_LENGTHS[1:]) * _HOUR_NS, side.run_ns)
    counts = np.zeros((len(widths), len(_LENGTHS)), np.int64)
    np.add.at(counts, (of_width, of_length), 1)
    first = int(of_width.min())
    names = [f"{lo} to {hi} h" for lo, hi in pairwise(_LENGTHS)] + [f"> {_LENGTHS[-1]} h"]
    columns = dict(zip(names, counts[first:].T, strict=True))
    wide = [_width_name(widths, k) for k in range(first, len(widths))]
    return rows_frame({"cores": wide, **columns, "total": counts[first:].sum(axis=1)})


def _width_name(widths: Sequence[int], place: int) -> str:
    low = 1 if place == 0 else widths[place - 1] + 1
    return str(widths[place]) if low == widths[place] else f"{low} to {widths[place]}"
