"""Numbers that a user gives, checked where they enter: the one way to say what is allowed."""

from __future__ import annotations

import re
from numbers import Integral, Real

from traces.base.errors import InputError, at, shown

_WHOLE = re.compile(r"[+-]?[0-9]+")
_REAL = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf|infinity|nan)", re.IGNORECASE)


def parse_whole(text: str) -> int:
    """Return the whole number that a text is: an optional sign and digits 0 to 9.

    Use this in place of ``int`` for a text that a user wrote. Python also takes underscores (``900_2`` is 9002), spaces
    around the number and the digits of other scripts. Raises ValueError if the text is anything else, or has more
    digits than Python converts.
    """
    if not _WHOLE.fullmatch(text):
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def parse_real(text: str) -> float:
    """Return the number that a text is: an optional sign, digits 0 to 9, perhaps a point and an exponent.

    Use this in place of ``float`` for a text that a user wrote, as :func:`parse_whole`. ``inf`` and ``nan`` are taken:
    the check of the range refuses them where they are not allowed. Raises ValueError if the text is anything else.
    """
    if not _REAL.fullmatch(text):
        raise ValueError(f"{text!r} is not a number")
    return float(text)


def whole(where: str, value: object, lowest: int, highest: int) -> int:
    """``value`` as an int. Raises InputError if it is no whole number from ``lowest`` to ``highest``; the message
    begins with ``where``."""
    if type(value) is int and lowest <= value <= highest:
        return value
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InputError(f"{at(where, value)}: {shown(value)} is not a whole number; allowed: {lowest} to {highest}")
    if not lowest <= int(value) <= highest:
        raise InputError(f"{at(where, value)}: {shown(value)} is out of range; allowed: {lowest} to {highest}")
    return int(value)


def real(where: str, value: object, lowest: float, highest: float, unit: str = "") -> float:
    """``value`` as a float; messages say its ``unit``. Raises InputError if it is no number from ``lowest`` to
    ``highest``, as NaN is not; the message begins with ``where``."""
    allowed = f"allowed: {lowest:g} to {highest:g}{' ' * bool(unit)}{unit}"
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(f"{at(where, value)}: {shown(value)} is not a number; {allowed}")
    try:
        number = float(value)
    except OverflowError:  # an integer beyond every float
        number = float("inf")
    if not lowest <= number <= highest:
        raise InputError(f"{at(where, value)}: {shown(value)} is out of range; {allowed}")
    return number
