"""Which cores jobs held from when until when, as rectangles: of a table of jobs, not of a ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from traces.compiled import Array
from traces.figures.drawing.frames import arrays
from traces.holdings import spans

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Held", "held_cores", "interval_columns"]


class Held(NamedTuple):
    """A row is a run of cores that a job held for a time: int64 (k,) each, by job, then core, then time."""

    job: Array
    lo: Array
    hi: Array
    begin_ns: Array
    end_ns: Array


def interval_columns(texts: list[str]) -> tuple[Array, Array, Array]:
    """Of many texts as ``0-63 128`` the intervals: number of the text, first core, one beyond the last; int64 each."""
    data = np.frombuffer("\n".join(texts).encode("ascii") + b"\n", np.uint8)
    digit = (data >= ord("0")) & (data <= ord("9"))
    edges = np.flatnonzero(np.diff(digit, prepend=False))
    first, stop = edges[0::2], edges[1::2]
    number = np.zeros(len(first), np.int64)
    for place in range(int((stop - first).max(initial=0))):
        there = first + place < stop
        number[there] = number[there] * 10 + (data[first[there] + place] - ord("0"))
    ends = np.zeros(len(first), np.bool_)  # whether a number ends a range
    ends[1:] = data[first[1:] - 1] == ord("-")
    text = np.searchsorted(np.flatnonzero(data == ord("\n")), first)
    lo = number[~ends]
    hi = lo.copy()
    hi[np.cumsum(~ends)[ends] - 1] = number[ends]
    return text[~ends], lo, hi + 1


def held_cores(jobs: pd.DataFrame, releases: pd.DataFrame | None, widths: pd.DataFrame | None) -> Held:
    """What the jobs of a table held, and from when to when.

    Raises
    ------
    InputError
        If a table has not the columns that it needs.
    """
    allocation, start, end = arrays(jobs, ("allocation", "start_ns", "end_ns"), "jobs")
    job, lo, hi = interval_columns(allocation.tolist())
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
    core = np.repeat(lo[split], width) + np.arange(int(width.sum())) - np.repeat(np.cumsum(width) - width, width)
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
