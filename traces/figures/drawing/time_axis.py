"""Axes of simulated time: unit and origin; and ticks for durations on a logarithmic axis."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from traces.base.time import format_ns
from traces.compiled import Array

_UNITS = {"d": 86_400 * 10**9, "h": 3600 * 10**9, "min": 60 * 10**9, "s": 10**9, "ms": 10**6, "µs": 10**3, "ns": 1}


def _marks(numbers: Mapping[str, Sequence[int]]) -> list[tuple[int, str]]:
    sizes = _UNITS | {"y": 365 * _UNITS["d"]}
    return [(n * sizes[unit], f"{n} {unit}") for unit, every in numbers.items() for n in every]


# Marks of a logarithmic axis: the usual ones, and those used if few of them are visible.
_COARSE = _marks(
    {"ns": [1], "µs": [1], "ms": [1], "s": [1, 10], "min": [1, 10], "h": [1, 10], "d": [4, 40], "y": [1, 10, 100]}
)
_ONES, _SIXTIES = (1, 2, 5, 10, 20, 50, 100, 200, 500), (1, 2, 5, 10, 20, 30)
_FINE = _marks(
    dict.fromkeys(("ns", "µs", "ms"), _ONES)
    | {"s": _SIXTIES, "min": _SIXTIES, "h": _ONES[:4], "d": _ONES[:8], "y": _ONES[:7]}
)

_LEAST_APART = 0.1  #: minimum distance of marks as a share of a logarithmic axis, so that their labels do not overlap


def duration_marks(low_ns: float, high_ns: float, most: int = 8) -> list[tuple[int, str]]:
    """At most ``most`` marks for a logarithmic axis of durations from ``low_ns`` to ``high_ns``: ns, and what is written."""
    found = [mark for mark in _COARSE if low_ns <= mark[0] <= high_ns]
    if len(found) < 4:
        found = [mark for mark in _FINE if low_ns <= mark[0] <= high_ns]
    if len(found) > 2:
        apart = (high_ns / low_ns) ** _LEAST_APART
        kept = found[:1]
        for mark in found[1:]:
            if mark[0] >= kept[-1][0] * apart:
                kept.append(mark)
        found = kept
    return found[:: -(-len(found) // most) or 1]


def time_unit(span_ns: int) -> tuple[int, str]:
    """The largest unit that fits at least three times into a span: its ns and its name."""
    return next(((ns, name) for name, ns in _UNITS.items() if span_ns >= 3 * ns), (1, "ns"))


class TimeAxis(NamedTuple):
    """An axis of time."""

    # first_ns, span_ns: the instant at its left end, ns since the workload's time 0, and its length
    first_ns: int
    span_ns: int
    origin_ns: int  # the instant that is 0 on it
    unit_ns: int  # its unit
    unit: str  # the unit's name

    def at(self, instant_ns: Array | int) -> Array:
        """Places of instants on the axis, in its unit: float64."""
        return np.asarray((np.asarray(instant_ns) - self.origin_ns) / self.unit_ns, np.float64)

    @property
    def limits(self) -> tuple[float, float]:
        """Its two ends, in its unit."""
        left = self.first_ns - self.origin_ns
        return left / self.unit_ns, (left + self.span_ns) / self.unit_ns

    @property
    def label(self) -> str:
        """Its label."""
        since = "the start of the workload" if self.origin_ns == 0 else f"{format_ns(self.origin_ns)} of the workload"
        return f"time since {since} [{self.unit}]"


def time_axis(first_ns: int, last_ns: int) -> TimeAxis:
    """The axis from ``first_ns`` to ``last_ns``.

    It begins at the workload's time 0 if that is near. A window late in a long run counts from its own begin, to avoid ticks
    such as 412.0183 h.
    """
    if 4 * first_ns < last_ns:
        first_ns = min(0, first_ns)
    span_ns = max(last_ns - first_ns, 1)
    origin_ns = first_ns if first_ns >= 5 * span_ns else 0
    return TimeAxis(first_ns, span_ns, origin_ns, *time_unit(span_ns))
