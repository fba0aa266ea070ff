"""Decimal numbers of a text file, read exactly: kernels over the file's bytes, for readers of long logs.

A number is an optional sign, digits, optionally a point among or next to them, and optionally an exponent, as numpy writes
it (``3.600000000000000000e+03``); ``nan`` and ``inf`` are not numbers.
"""

from traces.base.time import MAX_NS
from traces.compiled import Array, compiled

_MAX = MAX_NS  # the limit of job numbers and processor counts too
_NS_PER_S = 1_000_000_000
_MAX_WHOLE_S = _MAX // _NS_PER_S
NONE = -_MAX - 1  #: no value: a number that is not allowed in its field

# Numbers with at most this many digits are below 2**62.
_SHORT = 18

# Exponents farther from 0 are replaced by this one: the number is beyond 2**62, or below every decimal that counts.
_FAR = 100_000

# The part of a number after its ninth decimal: nothing, less than half a unit of the ninth decimal, exactly half, more.
_NOTHING, _BELOW_HALF, _HALF, _ABOVE_HALF = 0, 1, 2, 3


@compiled()
def blank(byte: int) -> bool:
    """Whether a byte is a tab, vertical tab, form feed, carriage return or space."""
    return byte == 32 or byte == 9 or (11 <= byte <= 13)


@compiled(inner=True)
def number(text: Array, at: int, stop: int) -> tuple[int, int, int, int, int]:
    """Read the word at ``text[at]``. Returns ``sign``, ``whole``, ``nano``, ``rest``, ``end``: the value is sign × (whole +
    nano × 1e-9 + rest), where ``whole`` is at most 2**62 + 1 and ``rest`` is a class such as ``_HALF``. ``sign`` is 0 if the
    word is not a decimal number. The word ends before ``text[end]``."""
    first = at
    # Almost every word is a short integer.
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

    # Find the end of the mantissa, the number of its digits before the point, and the exponent.
    at = first
    sign, before, digits, exponent, point, good = 1, 0, 0, 0, False, True
    while at < stop and not blank(int(text[at])):
        byte = int(text[at])
        if byte == 101 or byte == 69:  # e, E
            break
        if 48 <= byte <= 57:
            digits += 1
            before += not point
        elif byte == 46 and not point:  # .
            point = True
        elif byte == 45 and at == first:  # -
            sign = -1
        elif byte != 43 or at != first:  # +
            good = False
        at += 1
    end = at
    if at < stop and not blank(int(text[at])):
        at += 1
        down = at < stop and int(text[at]) == 45
        if at < stop and (int(text[at]) == 45 or int(text[at]) == 43):
            at += 1
        good = good and at < stop and not blank(int(text[at]))
        while at < stop and not blank(int(text[at])):
            byte = int(text[at])
            if 48 <= byte <= 57:
                exponent = min(_FAR, exponent * 10 + byte - 48)
            else:
                good = False
            at += 1
        exponent = -exponent if down else exponent
    if digits == 0 or not good:
        return 0, 0, 0, _NOTHING, at
    # The digits again: ``before`` of them now precede the point, padded with zeros.
    before += exponent
    whole, nano, rest, place = 0, 0, _NOTHING, 0
    for k in range(first, end):
        digit = int(text[k]) - 48
        if digit < 0 or digit > 9:
            continue
        after = place - before  # its place among the decimals, from 0
        if after < 0:
            whole = whole * 10 + digit if whole <= (_MAX - digit) // 10 else _MAX + 1
        elif after < 9:
            nano += digit * 10 ** (8 - after)
        elif after == 9:
            if digit > 0:
                rest = _BELOW_HALF if digit < 5 else (_HALF if digit == 5 else _ABOVE_HALF)
        elif digit > 0:
            if rest == _NOTHING:
                rest = _BELOW_HALF
            elif rest == _HALF:
                rest = _ABOVE_HALF
        place += 1
    for _ in range(place, before):
        if whole == 0 or whole > _MAX:
            break
        whole = whole * 10 if whole <= _MAX // 10 else _MAX + 1
    return sign, whole, nano, rest, at


@compiled()
def count(sign: int, whole: int, nano: int, rest: int) -> int:
    """The value of an integer, or ``NONE`` if it is fractional or beyond ±2**62."""
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
