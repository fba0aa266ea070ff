"""Columns, runs and classes of rows that figures take from a table of jobs, tasks or scheduling passes."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from traces.base.errors import InputError
from traces.compiled import Array
from traces.holdings import spans
from traces.intervals import intervals_of, parse_texts
from traces.tables import DataFrame


def arrays(frame: DataFrame, names: Sequence[str], what: str) -> list[Array]:
    """Columns of a table. ``what``: its name in errors, as ``"jobs"``. Raises InputError if a column is missing."""
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise InputError(f"the table of {what} has no column {missing[0]}; needed: {', '.join(names)}")
    return [frame[name].to_numpy() for name in names]


def counted_values(numbers: Array) -> tuple[Array, Array, Array]:
    """Return ``np.unique(numbers, return_inverse=True, return_counts=True)``, in less time and memory for runs of equal
    numbers, such as jobs in a table of tasks."""
    heads = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1])[: len(numbers)])
    length = np.diff(heads, append=len(numbers))
    values, place = np.unique(numbers[heads], return_inverse=True)
    counts = np.bincount(place, weights=length, minlength=len(values)).astype(np.int64)
    return values, np.repeat(place.astype(np.int32), length), counts


def runs(frame: DataFrame) -> list[tuple[str, Array]]:
    """The labels in the column ``run`` of a table, in the order of their first appearance, with their rows (int64). A table
    without this column is one run with an empty label."""
    if "run" not in frame.columns:
        return [("", np.arange(len(frame)))]
    labels = [str(label) for label in frame["run"].tolist()]
    place = {label: k for k, label in enumerate(dict.fromkeys(labels))}
    of_row = np.array([place[label] for label in labels], np.int64)
    return [(label, np.flatnonzero(of_row == k)) for label, k in place.items()]


def final_rows(jobs: DataFrame) -> Array:
    """The measured rows of jobs.parquet (docs/reference/metrics.md), bool (n,): without jobs that never started, attempts
    that were followed by another one, and jobs that ran when the workload began."""
    start_ns, state, why = arrays(jobs, ("start_ns", "state", "why"), "jobs")
    return np.asarray((start_ns >= 0) & (state != "requeued") & (why != "preset"), bool)


def _first_sizes() -> list[int]:
    sizes = list(range(11))
    while sizes[-1] < 2**31:
        sizes.append(int(sizes[-1] * 1.25) + 1)
    return sizes


# The smallest number of each class: one class per number up to 9, then classes that are a quarter wider each.
_FIRST = np.array(_first_sizes(), np.int64)

N_CLASSES = len(_FIRST)  #: number of classes


def class_of(waiting: Array) -> Array:
    """Return the class of each number of waiting jobs, int64."""
    return np.searchsorted(_FIRST, waiting, side="right") - 1


def sums_by_class(waiting: Array, decision_ns: Array) -> Array:
    """Sum passes by class; sums of several tables may be added. Returns float64 (3, N_CLASSES): number of passes, sum
    of waiting jobs, and sum of the times (ns)."""
    place = class_of(waiting)
    return np.array([np.bincount(place, column, N_CLASSES) for column in (np.ones(len(place)), waiting, decision_ns)])


class Held(NamedTuple):
    """Rows of consecutive cores that a job held for a time: int64 (k,) each, by job, then core, then time."""

    job: Array
    lo: Array
    hi: Array
    begin_ns: Array
    end_ns: Array


def held_cores(jobs: DataFrame, releases: DataFrame | None, widths: DataFrame | None) -> Held:
    """The cores that the jobs of a table held, with times. Raises InputError if a table lacks a column, or an allocation
    cannot be read."""
    allocation, start, end = arrays(jobs, ("allocation", "start_ns", "end_ns"), "jobs")
    first, lo, hi = parse_texts(allocation.tolist(), "allocation")
    job = np.repeat(np.arange(len(start)), np.diff(first))
    none = np.zeros(0, np.int64)
    released: tuple[Array, ...] = (none, none, none)
    given = released
    if releases is not None:
        released = tuple(arrays(releases, ("row", "core", "released_ns"), "releases"))
    if widths is not None:
        *rows, change = arrays(widths, ("row", "core", "command_ns", "change"), "widths")
        given = tuple(column[change > 0] for column in rows)
    apart = np.zeros(len(start), np.bool_)
    apart[released[0]] = apart[given[0]] = True
    split = apart[job]
    if not split.any():
        return Held(job, lo, hi, start[job], end[job])
    # One row per core if a job does not have all of them from start to end.
    width = (hi - lo)[split]
    owner = np.repeat(job[split], width)
    core = intervals_of(lo[split], width)
    found = spans(owner, core, start[owner], end[owner], released, given)
    whole = job[~split]
    columns = (
        np.concatenate([whole, found.job]),
        np.concatenate([lo[~split], found.core]),
        np.concatenate([hi[~split], found.core + 1]),
        np.concatenate([start[whole], found.start_ns]),
        np.concatenate([end[whole], found.end_ns]),
    )
    order = np.lexsort((columns[3], columns[1], columns[0]))
    return Held(*(column[order] for column in columns))
