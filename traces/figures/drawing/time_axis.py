"""Axes of simulated time: unit and origin; and ticks for durations on a logarithmic axis."""

from typing import NamedTuple

import numpy as np

from traces.base.time import format_ns
from traces.compiled import Array

_UNITS = ((86_400 * 10**9, "d"), (3600 * 10**9, "h"), (60 * 10**9, "min"), (10**9, "s"), (10**6, "ms"), (10**3, "µs"))

_SECOND, _MINUTE, _HOUR, _DAY = 10**9, 60 * 10**9, 3600 * 10**9, 86_400 * 10**9

# Marks of a logarithmic axis: usual ones, and those for when few of them are in sight.
_COARSE = (
    *((10**power, f"{10 ** (power % 3)} {('ns', 'µs', 'ms')[power // 3]}") for power in range(0, 9, 3)),
    *((n * _SECOND, f"{n} s") for n in (1, 10)),
    *((n * _MINUTE, f"{n} min") for n in (1, 10)),
    *((n * _HOUR, f"{n} h") for n in (1, 10)),
    *((n * _DAY, f"{n} d") for n in (4, 40)),
    *((n * 365 * _DAY, f"{n} y") for n in (1, 10, 100)),
)
_FINE = (
    *(
        (n * 10**power, f"{n * 10 ** (power % 3)} {('ns', 'µs', 'ms')[power // 3]}")
        for power in range(9)
        for n in (1, 2, 5)
    ),
    *((n * _SECOND, f"{n} s") for n in (1, 2, 5, 10, 20, 30)),
    *((n * _MINUTE, f"{n} min") for n in (1, 2, 5, 10, 20, 30)),
    *((n * _HOUR, f"{n} h") for n in (1, 2, 5, 10)),
    *((n * _DAY, f"{n} d") for n in (1, 2, 5, 10, 20, 50, 100, 200)),
    *((n * 365 * _DAY, f"{n} y") for n in (1, 2, 5, 10, 20, 50, 100)),
)


#: Marks of a logarithmic axis are at least this share of it apart, so that their words stay apart.
_LEAST_APART = 0.1


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
    return next(((ns, name) for ns, name in _UNITS if span_ns >= 3 * ns), (1, "ns"))


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
