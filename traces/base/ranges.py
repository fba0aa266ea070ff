"""Numbers that a user gives, checked where they enter: the one way to say what is allowed."""

from __future__ import annotations

from numbers import Integral, Real

from traces.base.errors import InputError, shown

__all__ = ["real", "whole"]


def whole(where: str, value: object, lowest: int, highest: int) -> int:
    """``value`` as an int.

    Raises
    ------
    InputError
        If it is no whole number from ``lowest`` to ``highest``; the message begins with ``where``.
    """
    if type(value) is int and lowest <= value <= highest:
        return value
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InputError(f"{where}: {shown(value)} is not a whole number; allowed: {lowest} to {highest}")
    if not lowest <= int(value) <= highest:
        raise InputError(f"{where}: {shown(value)} is out of range; allowed: {lowest} to {highest}")
    return int(value)


def real(where: str, value: object, lowest: float, highest: float, unit: str = "") -> float:
    """``value`` as a float; messages say its ``unit``.

    Raises
    ------
    InputError
        If it is no number from ``lowest`` to ``highest``, as NaN is not; the message begins with ``where``.
    """
    allowed = f"allowed: {lowest:g} to {highest:g}{' ' * bool(unit)}{unit}"
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(f"{where}: {shown(value)} is not a number; {allowed}")
    try:
        number = float(value)
    except OverflowError:  # an integer beyond every float
        number = float("inf")
    if not lowest <= number <= highest:
        raise InputError(f"{where}: {shown(value)} is out of range; {allowed}")
    return number
