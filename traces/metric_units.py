"""Names and units of metrics: a metric's name in a table ends with its unit (``makespan_ns``)."""

import math
from dataclasses import dataclass

#: Units of durations, ns.
_UNITS_NS = {"d": 86_400 * 10**9, "h": 3600 * 10**9, "min": 60 * 10**9, "s": 10**9, "ms": 10**6}

#: Suffixes of names that are units.
_ENDINGS = {"_jobs_per_s": "jobs/s", "_core_hours": "core h", "_kwh": "kWh", "_mwh": "MWh", "_s": "s", "_g": "g"}

#: Energies and powers are shown in a multiple of their units from this value on.
_MULTIPLES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_WITH_MULTIPLES = (("_j", "J"), ("_w", "W"))

#: Metrics that are fractions from 0 to 1, or shares that may exceed 1.
_FRACTIONS = ("utilisation", "imbalance", "share", "capacity", "cov", "fragmentation", "efficiency")

#: Higher values of these metrics are better, lower values of all others.
_WANTED = ("utilisation", "efficiency", "speed_up", "jobs_per_s")


@dataclass(frozen=True, slots=True)
class Shown:
    """Name and unit of a metric for display."""

    words: str  # its name without its unit: ``mean wait``
    unit: str  # ``h``; empty without a unit
    scale: float  # divisor of a value of the table

    @property
    def label(self) -> str:
        """Name and unit, as on an axis: ``makespan [h]``."""
        return f"{self.words} [{self.unit}]" if self.unit else self.words


def shown_as(metric: str, typical: float) -> Shown:
    """Return the name and unit with which values of a metric are shown.

    - ``metric``: its name in a table of results, as ``mean_wait_ns``.
    - ``typical``: a typical value, as in the table: a duration of at least three hours is shown in hours, 0 in s.

    Durations are shown in d, h, min, s, ms or ns; energies and powers in J and W and multiples of them; everything else
    unchanged.
    """
    size = abs(typical) if math.isfinite(typical) else 0.0
    if metric.endswith("_ns"):
        size = abs(typical) if math.isfinite(typical) and typical else 3e9  # 0 in s
        scale, unit = next(((float(ns), name) for name, ns in _UNITS_NS.items() if size >= 3 * ns), (1.0, "ns"))
        return Shown(_words(metric[:-3]), unit, scale)
    for ending, unit in _WITH_MULTIPLES:
        if metric.endswith(ending):
            scale, letter = next((one for one in _MULTIPLES if size >= one[0]), (1.0, ""))
            return Shown(_words(metric.removesuffix(ending)), letter + unit, scale)
    for ending, unit in _ENDINGS.items():
        if metric.endswith(ending) and len(metric) > len(ending):
            return Shown(_words(metric.removesuffix(ending)), unit, 1.0)
    return Shown(_words(metric), "fraction" if any(word in metric for word in _FRACTIONS) else "", 1.0)


def more_is_better(metric: str) -> bool:
    """Return whether higher values of a metric are better."""
    return any(word in metric for word in _WANTED)


def four_digits(value: float) -> str:
    """Return a number with four digits, including zeros: ``43.90``; 0 is ``0``."""
    return f"{value:#.4g}".rstrip(".").replace("-", "−") if value else "0"


def interval_text(mean: float, low: float, high: float, *, sign: bool = False) -> str:
    """Return a number and its interval, ``1.178 [1.160, 1.195]``, with as many digits as the interval justifies.

    This is two digits of its half width, and up to two more if an end that is not 0 would read as 0; for an interval of width
    0, four digits of the number. An exact number is shown alone, with four digits.

    - ``mean``: finite.
    - ``low``, ``high``: the interval's ends; NaN for an exact number.
    - ``sign``: whether the number shows its sign, for changes.
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
        # It must be visible whether an interval excludes 0.
        most = digits + 2
        while digits < most and any(end and not round(end, digits) for end in (low, high)):
            digits += 1
        # Avoid "-0.0".
        first, second, third = (f"{round(value, digits) or 0.0:.{digits}f}" for value in (mean, low, high))
    plus = "+" if sign and first.strip("0.") and not first.startswith("-") else ""
    return f"{plus}{first} [{second}, {third}]".replace("-", "−")


def _words(name: str) -> str:
    return name.replace("_", " ")
