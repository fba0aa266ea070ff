"""Decimal numbers of a text file, read exactly: kernels over the file's bytes, for readers of long logs.

A number is an optional sign, digits, and optionally a point among or beside them; an exponent, ``nan`` and ``inf`` are
none.
"""

from __future__ import annotations

from traces.base.time import MAX_NS
from traces.compiled import Array, compiled

__all__ = ["NONE", "blank", "count", "kilobytes", "nanoseconds", "number"]

_MAX = MAX_NS  # the limit of job numbers and processor counts too
_NS_PER_S = 1_000_000_000
_MAX_WHOLE_S = _MAX // _NS_PER_S

#: No value: a number that cannot be used where it stands.
NONE = -_MAX - 1

# So many digits are never beyond 2**62.
_SHORT = 18

# What follows the ninth decimal of a number: nothing, less than half a unit of it, exactly half, more.
_NOTHING, _BELOW_HALF, _HALF, _ABOVE_HALF = 0, 1, 2, 3


@compiled()
def blank(byte: int) -> bool:
    """Whether it is a tab, vertical tab, form feed, carriage return or space."""
    return byte == 32 or byte == 9 or (11 <= byte <= 13)


@compiled(inner=True)
def number(text: Array, at: int, stop: int) -> tuple[int, int, int, int, int]:
    """Read the word at ``text[at]``.

    Returns
    -------
    sign, whole, nano, rest, end : int
        The value is sign × (whole + nano × 1e-9 + rest), where ``whole`` stays at 2**62 + 1 once it is beyond
        2**62 and ``rest`` is a class such as ``_HALF``. ``sign`` is 0 if the word is no decimal number. The
        word ends before ``text[end]``.
    """
    first = at
    # Almost every word is a short whole number.
    sign = -1 if text[at] == 45 else 1  # -
    if sign < 0:
        at += 1
    whole, digits = 0, 0
    while at < stop and digits < _SHORT:
        digit = int(text[at]) - 48
        if digit < 0 or digit > 9:
            break
        whole = whole * 10 + digit
        digits += 1
        at += 1
    if digits > 0 and (at == stop or blank(int(text[at]))):
        return sign, whole, 0, _NOTHING, at

    at = first
    sign, whole, nano, rest = 1, 0, 0, _NOTHING
    digits, decimals, point, good = 0, 0, False, True
    while at < stop:
        byte = int(text[at])
        if blank(byte):
            break
        if 48 <= byte <= 57:
            digit = byte - 48
            digits += 1
            if not point:
                whole = whole * 10 + digit if whole <= (_MAX - digit) // 10 else _MAX + 1
            elif decimals < 9:
                nano = nano * 10 + digit
                decimals += 1
            elif decimals == 9:
                decimals += 1
                if digit > 0:
                    rest = _BELOW_HALF if digit < 5 else (_HALF if digit == 5 else _ABOVE_HALF)
            elif digit > 0:
                if rest == _NOTHING:
                    rest = _BELOW_HALF
                elif rest == _HALF:
                    rest = _ABOVE_HALF
        elif byte == 46 and not point:  # .
            point = True
        elif byte == 45 and at == first:  # -
            sign = -1
        elif byte != 43 or at != first:  # +
            good = False
        at += 1
    for _ in range(decimals, 9):
        nano *= 10
    if digits == 0 or not good:
        sign = 0
    return sign, whole, nano, rest, at


@compiled()
def count(sign: int, whole: int, nano: int, rest: int) -> int:
    """The value of a whole number, or ``NONE`` if it is fractional or beyond ±2**62."""
    if whole > _MAX or nano > 0 or rest != _NOTHING:
        return NONE
    return sign * whole


@compiled()
def nanoseconds(sign: int, whole: int, nano: int, rest: int) -> int:
    """Seconds in ns, rounded half to even, or ``NONE`` if beyond ±2**62 ns."""
    if whole > _MAX_WHOLE_S:
        return NONE
    ns = whole * _NS_PER_S + nano
    if ns > _MAX or (ns == _MAX and rest != _NOTHING):
        return NONE
    if rest == _ABOVE_HALF or (rest == _HALF and ns % 2 == 1):
        ns += 1
    return sign * ns


@compiled()
def kilobytes(sign: int, whole: int, nano: int, rest: int) -> int:
    """The value rounded up, or -1 if it is not positive or beyond 2**62."""
    more = nano > 0 or rest != _NOTHING
    if sign < 0 or whole > _MAX or (whole == _MAX and more) or (whole == 0 and not more):
        return -1
    return whole + 1 if more else whole
