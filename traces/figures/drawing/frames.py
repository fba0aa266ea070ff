"""What the figures take from a table of jobs or tasks: its columns as arrays, and its runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from traces.base.errors import InputError
from traces.compiled import Array

if TYPE_CHECKING:
    import pandas as pd


def arrays(frame: pd.DataFrame, names: Sequence[str], what: str) -> list[Array]:
    """Columns of a table. ``frame``: the table; its index does not matter. ``what``: what the table is, as ``"jobs"``.
    Raises InputError if a column is missing."""
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise InputError(f"the table of {what} has no column {missing[0]}; needed: {', '.join(names)}")
    return [frame[name].to_numpy() for name in names]


def counted_values(numbers: Array) -> tuple[Array, Array, Array]:
    """Return ``np.unique(numbers, return_inverse=True, return_counts=True)``, in less time and memory if equal numbers mostly
    follow each other, as the jobs of a table of tasks do."""
    values, place, length = _stretches(numbers)
    return values, np.repeat(place.astype(np.int32), length), _counts(values, place, length)


def value_counts(numbers: Array) -> tuple[Array, Array]:
    """Return ``np.unique(numbers, return_counts=True)``, in less time and memory if equal numbers mostly follow each other."""
    values, place, length = _stretches(numbers)
    return values, _counts(values, place, length)


def _stretches(numbers: Array) -> tuple[Array, Array, Array]:
    # Different numbers; and of each stretch of equal numbers, which of them it is, and its length.
    heads = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1])[: len(numbers)])
    values, place = np.unique(numbers[heads], return_inverse=True)
    return values, place, np.diff(heads, append=len(numbers))


def _counts(values: Array, place: Array, length: Array) -> Array:
    return np.bincount(place, weights=length, minlength=len(values)).astype(np.int64)


def runs(frame: pd.DataFrame) -> list[tuple[str, Array]]:
    """The runs of which a table has rows: the labels in its column ``run`` in the order in which they first appear, each with
    its rows (int64). A table without that column is one run, whose label is empty."""
    if "run" not in frame.columns:
        return [("", np.arange(len(frame)))]
    labels = [str(label) for label in frame["run"].tolist()]
    place = {label: k for k, label in enumerate(dict.fromkeys(labels))}
    of_row = np.array([place[label] for label in labels], np.int64)
    return [(label, np.flatnonzero(of_row == k)) for label, k in place.items()]


def final_rows(jobs: pd.DataFrame) -> Array:
    """Which rows of jobs.parquet are a job that ran, in its last attempt, and that the simulated policy started: bool (n,).

    They are the measured rows of docs/reference/metrics.md: without jobs that never started, attempts that were cut and
    followed by another one, and jobs that were running already when the workload began.
    """
    start_ns, state, why = arrays(jobs, ("start_ns", "state", "why"), "jobs")
    return np.asarray((start_ns >= 0) & (state != "requeued") & (why != "preset"), bool)
