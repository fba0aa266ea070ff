"""Columns that follow from a table of jobs and its log: wait, run time, bounded slowdown, user and name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bls.metrics.batch import bounded_slowdown
from traces.tables import BEGIN, NAME

if TYPE_CHECKING:
    import pandas as pd


def with_spans(jobs: pd.DataFrame) -> pd.DataFrame:
    """Add ``wait_ns``, ``run_ns`` and ``bounded_slowdown``, which are NaN for jobs that never started."""
    since = BEGIN if BEGIN in jobs else "submit_ns"
    submit, start, end = (jobs[name] for name in (since, "start_ns", "end_ns"))
    started = start >= 0
    slowdown = start.astype("float64")
    slowdown[:] = bounded_slowdown(submit.to_numpy(), start.to_numpy(), end.to_numpy())
    derived = {"wait_ns": start - submit, "run_ns": end - start, "bounded_slowdown": slowdown}
    return jobs.assign(**{name: column if started.all() else column.where(started) for name, column in derived.items()})


def completed(jobs: pd.DataFrame, users: Sequence[str] | None) -> pd.DataFrame:
    """Add :func:`with_spans`, ``user`` and, if the table has none, ``name``; texts that are empty where the log has none."""
    jobs = with_spans(jobs).assign(user="" if users is None else users)
    return jobs if NAME in jobs else jobs.assign(**{NAME: ""})
