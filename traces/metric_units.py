"""How a metric is called and in which unit it is shown: its name in a table says its unit (``makespan_ns``)."""

import math
from dataclasses import dataclass

#: From so many ns on (three of the unit) a duration is shown in a unit.
_UNITS_NS = ((86_400 * 10**9, "d"), (3600 * 10**9, "h"), (60 * 10**9, "min"), (10**9, "s"), (10**6, "ms"))

#: Endings of names that are units.
_ENDINGS = (
    ("_jobs_per_s", "jobs/s"),
    ("_core_hours", "core h"),
    ("_kwh", "kWh"),
    ("_mwh", "MWh"),
    ("_s", "s"),
    ("_g", "g"),
)

#: From so many on, energies and powers are shown in a multiple of their units.
_MULTIPLES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_WITH_MULTIPLES = (("_j", "J"), ("_w", "W"))

#: Metrics that are fractions from 0 to 1, or shares that may exceed 1.
_FRACTIONS = ("utilisation", "imbalance", "share", "capacity", "cov", "fragmentation", "efficiency")


#: Of these one wants much, of all others little.
_WANTED = ("utilisation", "efficiency", "speed_up", "jobs_per_s")


@dataclass(frozen=True, slots=True)
class Shown:
    """How a metric is shown."""

    words: str  # what it is, without its unit: ``mean wait``
    unit: str  # ``h``; empty for what has none
    scale: float  # what a value of the table is divided by

    @property
    def label(self) -> str:
        """Name and unit, as on an axis: ``makespan [h]``."""
        return f"{self.words} [{self.unit}]" if self.unit else self.words


def shown_as(metric: str, typical: float) -> Shown:
    """How values of a metric are shown.

    - ``metric``: its name in a table of results, as ``mean_wait_ns``.
    - ``typical``: the size of such a value, as the table has it: a duration of at least three hours is shown in hours.

    Durations are shown by size in d, h, min, s, ms or ns; energies and powers in J and W and multiples of them;
    everything else as it is.
    """
    if metric.endswith("_ns"):
        size = abs(typical) if math.isfinite(typical) else 0.0
        scale, unit = next(((float(ns), name) for ns, name in _UNITS_NS if size >= 3 * ns), (1.0, "ns"))
        return Shown(_words(metric[:-3]), unit, scale)
    for ending, unit in _WITH_MULTIPLES:
        if metric.endswith(ending):
            size = abs(typical) if math.isfinite(typical) else 0.0
            scale, letter = next((one for one in _MULTIPLES if size >= one[0]), (1.0, ""))
            return Shown(_words(metric.removesuffix(ending)), letter + unit, scale)
    for ending, unit in _ENDINGS:
        if metric.endswith(ending) and len(metric) > len(ending):
            return Shown(_words(metric.removesuffix(ending)), unit, 1.0)
    if any(word in metric for word in _FRACTIONS):
        return Shown(_words(metric), "fraction", 1.0)
    return Shown(_words(metric), "", 1.0)


def more_is_better(metric: str) -> bool:
    """Whether the best run is the one with the highest value of a metric, not with the lowest."""
    return any(word in metric for word in _WANTED)


def four_digits(value: float) -> str:
    """A number with four digits, zeros included: ``43.90``; 0 is ``0``."""
    return f"{value:#.4g}".rstrip(".").replace("-", "−") if value else "0"


def interval_text(mean: float, low: float, high: float, *, sign: bool = False) -> str:
    """A number and its interval, ``1.178 [1.160, 1.195]``, all with as many digits as the interval is worth.

    That is two digits of its half width, and up to two more where an end that is not 0 would read as 0; of an interval of no
    width, four digits of the number. A number that is exact stands alone, with four digits.

    - ``mean``: finite.
    - ``low``, ``high``: the interval's ends; NaN for a number that is exact.
    - ``sign``: whether the number shows its sign, as a change does.
    """
    if math.isnan(low):
        exact = four_digits(mean)
        return f"{'+' if sign and mean > 0 else ''}{exact}".replace("-", "−")
    half = (high - low) / 2
    size = half if half > 0 else abs(mean) / 100
    digits = min(max(0, 1 - math.floor(math.log10(size))), 9) if size > 0 else 0
    if digits == 9 or max(abs(low), abs(high)) >= 1e7:
        first, second, third = (f"{value:.4g}" for value in (mean, low, high))
    else:
        # Whether an interval leaves out 0 must be seen.
        most = digits + 2
        while digits < most and any(end and not round(end, digits) for end in (low, high)):
            digits += 1
        # No "-0.0".
        first, second, third = (f"{round(value, digits) or 0.0:.{digits}f}" for value in (mean, low, high))
    plus = "+" if sign and first.strip("0.") and not first.startswith("-") else ""
    return f"{plus}{first} [{second}, {third}]".replace("-", "−")


def _words(name: str) -> str:
    return name.replace("_", " ")
