"""Which cores jobs held from when until when, as rectangles: of a table of jobs, not of a ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from traces.compiled import Array
from traces.figures.drawing.frames import arrays
from traces.holdings import spans
from traces.intervals import intervals_of, parse_texts

if TYPE_CHECKING:
    import pandas as pd


class Held(NamedTuple):
    """A row is a run of cores that a job held for a time: int64 (k,) each, by job, then core, then time."""

    job: Array
    lo: Array
    hi: Array
    begin_ns: Array
    end_ns: Array


def held_cores(jobs: pd.DataFrame, releases: pd.DataFrame | None, widths: pd.DataFrame | None) -> Held:
    """What the jobs of a table held, and from when to when.

    Raises
    ------
    InputError
        If a table has not the columns that it needs, or an allocation is none.
    """
    allocation, start, end = arrays(jobs, ("allocation", "start_ns", "end_ns"), "jobs")
    first, lo, hi = parse_texts(allocation.tolist(), "allocation")
    job = np.repeat(np.arange(len(start)), np.diff(first))
    none = np.zeros(0, np.int64)
    released: tuple[Array, ...] = (none, none, none)
    given = released
    if releases is not None:
        released = tuple(arrays(releases, ("row", "core", "released_ns"), "releases"))
    if widths is not None:
        *rows, change = arrays(widths, ("row", "core", "told_ns", "change"), "widths")
        given = tuple(column[change > 0] for column in rows)
    apart = np.zeros(len(start), np.bool_)
    apart[released[0]] = apart[given[0]] = True
    split = apart[job]
    if not split.any():
        return Held(job, lo, hi, start[job], end[job])
    # Core by core where a job has not all of them from its start to its end.
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
