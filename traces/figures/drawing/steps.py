"""Step functions of time, exact, or reduced to columns for drawing."""

from typing import NamedTuple

import numpy as np

from traces.compiled import Array


class Steps(NamedTuple):
    """Row k holds from its instant until the next row's. Before the first row, and from the last row on, the value is 0."""

    instant_ns: Array  # int64 (k,), strictly increasing
    value: Array  # int64 (k,), after everything that happens at the instant


class StepColumns(NamedTuple):
    """A step function in columns of equal width."""

    edge_ns: Array  # float64 (n + 1,), where the columns begin and end
    # mean, least, most: float64 (n,), over the time of each column
    mean: Array
    least: Array
    most: Array


def steps(begin_ns: Array, end_ns: Array, weight: Array) -> Steps:
    """Return the sum of weights at every instant, where each row adds its weight from its begin until its end.

    - ``begin_ns``, ``end_ns``: int64 (n,), the end is not before the begin; a row of duration 0 adds nothing.
    - ``weight``: int64 (n,), jobs or cores.
    """
    instant = np.concatenate([begin_ns, end_ns])
    change = np.concatenate([weight, -weight]).astype(np.int64)
    order = np.argsort(instant, kind="stable")
    instant, value = instant[order], np.cumsum(change[order])
    last_of_instant = np.append(np.diff(instant) > 0, True)[: len(instant)]
    instant, value = instant[last_of_instant], value[last_of_instant]
    changed = np.diff(value, prepend=0) != 0
    return Steps(instant[changed], value[changed])


def _upto(function: Steps, at_ns: Array) -> Array:
    # The integral from the beginning of time to each instant: linear between the steps.
    if len(function.instant_ns) == 0:
        return np.zeros(len(at_ns))
    pieces = np.diff(function.instant_ns) * function.value[:-1].astype(np.float64)
    upto: Array = np.interp(at_ns, function.instant_ns, np.append(0.0, np.cumsum(pieces)))
    return upto


def mean(function: Steps, begin_ns: int, end_ns: int) -> float:
    """Return the mean over the time from ``begin_ns`` to ``end_ns``; 0 if the two are equal."""
    if end_ns <= begin_ns:
        return 0.0
    low, high = _upto(function, np.array([begin_ns, end_ns], np.float64))
    return float((high - low) / (end_ns - begin_ns))


def in_columns(function: Steps, begin_ns: int, end_ns: int, n_columns: int) -> StepColumns:
    """The mean, the least and the largest value in each of ``n_columns`` equal parts of the time between two instants."""
    edge = np.linspace(begin_ns, end_ns, n_columns + 1)
    means = np.diff(_upto(function, edge)) / np.diff(edge)
    # A 0 precedes the first step, and one more place follows, so the values of each column are a slice.
    value = np.concatenate([[0], function.value, [0]]).astype(np.float64)
    first = np.searchsorted(function.instant_ns, edge[:-1], side="right")
    stop = np.searchsorted(function.instant_ns, edge[1:], side="left") + 1
    pairs = np.stack([first, stop], axis=1).reshape(-1)
    return StepColumns(edge, means, np.minimum.reduceat(value, pairs)[::2], np.maximum.reduceat(value, pairs)[::2])
