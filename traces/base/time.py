"""Time is an integer: nanoseconds in int64, from the workload reader to the OTF2 tick.

Work is float64 GFLOP. Where work meets speed, a duration is rounded to a nanosecond once (:func:`duration_ns`).
"""

import re
from decimal import Decimal
from typing import Annotated, TypeAlias

import numpy as np

from traces.base.errors import InputError, parse_real, parse_whole, shown, whole
from traces.compiled import compiled

NS_PER_S = 1_000_000_000

#: No simulated instant or duration may exceed this (146 years), so that sums of two never overflow int64.
MAX_NS = 2**62

_UNITS_S = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "w": 604800}
_UNITS_NS = {"ns": 1, "us": 1000, "ms": 1_000_000} | {unit: seconds * NS_PER_S for unit, seconds in _UNITS_S.items()}
_ALLOWED = "a positive number and ns, us, ms, s, m, h, d or w, as 24h"

Seconds: TypeAlias = Annotated[float, "s"]  #: a plug-in's parameter in seconds, which may be given with another unit

_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)")


@compiled()
def duration_ns(work_gflop: float, speed_gflops: float) -> int:
    """Return the nanoseconds that ``work_gflop`` takes at ``speed_gflops``: rounded once, half to even, and at least 1, so that
    a core that has just got work is never idle at the same instant. Saturates at ``MAX_NS``, which every caller treats as an
    overflow."""
    exact = work_gflop / speed_gflops * 1e9
    if not exact < MAX_NS:
        return MAX_NS
    return max(1, int(np.rint(exact)))


def parse_duration_ns(text: str, where: str) -> int:
    """Parse a duration such as ``24h``, ``90m``, ``1.5d`` or ``3600`` (without a unit: seconds), in nanoseconds.

    Raises InputError unless it is a positive number followed by ns, us, ms, s, m (min), h, d, w or nothing, up to
    :data:`MAX_NS`.
    """
    ns = round(_exact_ns(text, "s") or 0)
    if ns > MAX_NS:
        raise InputError(f"{where}: {shown(text)} is too long; allowed: up to {MAX_NS // _UNITS_NS['w']}w")
    if ns <= 0:
        raise InputError(f"{where}: {shown(text)} is no time; allowed: {_ALLOWED}")
    return ns


def parse_instant_ns(text: str, where: str) -> int:
    """Parse an instant as :func:`parse_duration_ns`; it may be 0. Raises InputError if it is invalid."""
    return 0 if _exact_ns(text, "s") == 0 else parse_duration_ns(text, where)


def time_in(unit: str, text: str, where: str, *, whole: bool = False) -> float:
    """Parse a time such as ``1ms`` and convert it to ``unit``, optionally as a whole number; without a unit, as ``2.5e-3``, it
    is in ``unit`` already. Raises InputError if it is invalid."""
    kind, read = (int, parse_whole) if whole else (float, parse_real)
    try:
        ns = _exact_ns(text, unit)
        if ns is None:
            return read(text)
        exact = ns / _UNITS_NS[unit]
        if kind(exact) == exact or not whole:
            return kind(exact)
    except ValueError:
        pass
    raise InputError(
        f"{where}: {shown(text)} is no time; allowed: a number and ns, us, ms, s, m, h, d or w, as 1ms, or "
        f"a {'whole ' * whole}number of {unit}"
    )


def _exact_ns(text: str, bare: str) -> Decimal | None:
    # None: not a number with a unit; ``bare`` is the unit of numbers without one.
    match = _DURATION.fullmatch(text.strip().lower())
    return Decimal(match[1]) * _UNITS_NS[match[2] or bare] if match and match[2] in _UNITS_NS else None


def format_ns(ns: int) -> str:
    """Format a duration for people: ``93 s``, ``2 h 05 min``, ``3 d 04 h``."""
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


def given_instant_ns(value: object, where: str) -> int:
    """Return the nanoseconds of an instant in a TOML file: a text such as ``"1.5h"``, or whole seconds from 0. Raises
    InputError if it is neither."""
    if isinstance(value, str):
        return parse_instant_ns(value, where)
    if isinstance(value, int) and not isinstance(value, bool):
        return whole(where, value, 0, MAX_NS // NS_PER_S) * NS_PER_S
    raise InputError(f"{where}: {shown(value)} is no time; allowed: e.g. 3600 (seconds) or '24h'")


def given_duration_ns(value: object, where: str) -> int:
    """Return a duration as :func:`given_instant_ns`, but above 0."""
    ns = given_instant_ns(value, where)
    if ns == 0:
        raise InputError(f"{where}: {shown(value)} is out of range; allowed: a time above 0, as '24h'")
    return ns
