"""Time is an integer: nanoseconds in int64, from the workload reader to the OTF2 tick.

Work is float64 GFLOP. Where work meets speed, a duration is rounded to a nanosecond once (:func:`duration_ns`).
"""

from __future__ import annotations

import re
from decimal import Decimal

import numpy as np

from traces.base.errors import InputError, shown
from traces.compiled import compiled

__all__ = ["MAX_NS", "NS_PER_S", "duration_ns", "format_ns", "parse_duration_ns"]

NS_PER_S = 1_000_000_000

#: No simulated instant or duration may exceed this (146 years), so that sums of two never overflow int64.
MAX_NS = 2**62

_UNITS_S = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "w": 604800}
_UNITS_NS = {"ns": 1, "us": 1000, "ms": 1_000_000} | {unit: seconds * NS_PER_S for unit, seconds in _UNITS_S.items()}
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)")


@compiled()
def duration_ns(work_gflop: float, speed_gflops: float) -> int:
    """Nanoseconds that ``work_gflop`` takes at ``speed_gflops``: rounded once, half to even, and at least 1.

    No work is done in no time, so a core that has just been given work is never idle at the same instant. The result
    saturates at ``MAX_NS`` (2**62), which every caller treats as an overflow.
    """
    exact = work_gflop / speed_gflops * 1e9
    if not exact < MAX_NS:
        return MAX_NS
    return max(1, int(np.rint(exact)))


def parse_duration_ns(text: str, where: str) -> int:
    """Nanoseconds of a duration such as ``24h``, ``90m``, ``1.5d`` or ``3600`` (seconds).

    Raises
    ------
    InputError
        If it is not a positive number followed by ns, us, ms, s, m (min), h, d, w or nothing.
    """
    match = _DURATION.fullmatch(text.strip().lower())
    if match and match[2] in _UNITS_NS:
        exact = Decimal(match[1]) * _UNITS_NS[match[2]]
        if 0 < round(exact) <= MAX_NS:
            return round(exact)
    raise InputError(
        f"{where}: {shown(text)} is not a duration; allowed: a positive number and ns, us, ms, s, m, h, d or w, as 24h"
    )


def format_ns(ns: int) -> str:
    """A duration for people: ``93 s``, ``2 h 05 min``, ``3 d 04 h``."""
    seconds = ns / NS_PER_S
    if seconds < 1:
        return f"{seconds:.3g} s"
    if seconds < 120:
        return f"{seconds:.3g} s" if seconds < 100 else f"{seconds:.0f} s"
    minutes, left = divmod(round(seconds), 60)
    if minutes < 120:
        return f"{minutes} min {left:02d} s"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes:02d} min"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours:02d} h"
