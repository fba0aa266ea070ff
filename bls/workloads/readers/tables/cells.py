"""Numbers and dates of a table's text cells, read exactly: kernels over the bytes of a column.

A number is read to nine decimals; further ones are rounded half to even. Blanks around a cell are ignored.
"""

from bls.workloads.readers.decimals import blank, number
from traces.base.time import MAX_NS
from traces.compiled import compiled
from traces.kernels.signatures import Chars, Ints, Ints2

READ, ABSENT, WRONG, SKIPPED_HOUR = 0, 1, 2, 3  #: states of a cell

_MAX = MAX_NS
_BILLION = 1_000_000_000
_HALF, _ABOVE_HALF = 2, 3  # of the part after the ninth decimal (``bls.workloads.readers.decimals``)
_READ, _ABSENT, _WRONG = READ, ABSENT, WRONG

_FIRST_YEAR, _LAST_YEAR = 1970, 2199  # of a date


@compiled(merged=True)
def _trimmed(text: Chars, at: int, stop: int) -> tuple[int, int]:
    """The bounds of a cell without the blanks around it."""
    while at < stop and blank(int(text[at])):
        at += 1
    while at < stop and blank(int(text[stop - 1])):
        stop -= 1
    return at, stop


@compiled()
def read_numbers(text: Chars, first: Ints, found: Ints2) -> None:
    """Read the numbers of cells: cell ``k`` is ``text[first[k]:first[k + 1]]``. Fills ``found``, int64 (3, cells), with the
    state, the whole part, at most 2**62, and the billionths, both with the number's sign."""
    for cell in range(len(first) - 1):
        at, stop = _trimmed(text, first[cell], first[cell + 1])
        found[1, cell], found[2, cell] = 0, 0
        if at == stop:
            found[0, cell] = _ABSENT
            continue
        sign, whole, nano, rest, end = number(text, at, stop)
        if rest == _ABOVE_HALF or (rest == _HALF and nano % 2 == 1):
            nano += 1
            if nano == _BILLION:
                whole, nano = whole + 1, 0
        if sign == 0 or end != stop or whole > _MAX:
            found[0, cell] = _WRONG
        else:
            found[0, cell], found[1, cell], found[2, cell] = _READ, sign * whole, sign * nano


@compiled(inner=True)
def _digits(text: Chars, at: int, stop: int, n: int) -> int:
    """The number of exactly ``n`` digits at ``text[at]``; -1 if there are fewer."""
    if at + n > stop:
        return -1
    value = 0
    for k in range(at, at + n):
        digit = int(text[k]) - 48
        if digit < 0 or digit > 9:
            return -1
        value = value * 10 + digit
    return value


@compiled(inner=True)
def _day_number(year: int, month: int, day: int) -> int:
    """Days since 1970 of a date of the Gregorian calendar; -1 if there is no such date."""
    if year < _FIRST_YEAR or year > _LAST_YEAR or month < 1 or month > 12 or day < 1:
        return -1
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    length = 28 + is_leap if month == 2 else 30 + (month + month // 8) % 2
    if day > length:
        return -1
    before = year - 1
    days = before * 365 + before // 4 - before // 100 + before // 400 - 719_162
    for other in range(1, month):
        days += 28 + is_leap if other == 2 else 30 + (other + other // 8) % 2
    return days + day - 1


@compiled(merged=True)
def _date(text: Chars, at: int, stop: int) -> int:
    """Days since 1970 of the date at ``text[at]``, of ten characters; -1 if there is none."""
    year, month, day = _digits(text, at, stop, 4), _digits(text, at + 5, stop, 2), _digits(text, at + 8, stop, 2)
    if year < 0 or month < 0 or day < 0:
        return -1
    mark = int(text[at + 4])
    if (mark != 45 and mark != 47) or int(text[at + 7]) != mark:  # - /
        return -1
    return _day_number(year, month, day)


@compiled(merged=True)
def _fraction(text: Chars, at: int, stop: int) -> tuple[int, int]:
    """Billionths of the decimals at ``text[at]``, rounded half to even, and their end, which is ``at`` without decimals."""
    nano, half, n, more = 0, 0, 0, False
    while at + n < stop and 48 <= int(text[at + n]) <= 57:
        digit = int(text[at + n]) - 48
        if n < 9:
            nano = nano * 10 + digit
        elif n == 9:
            half = digit
        elif digit > 0:
            more = True
        n += 1
    for _ in range(n, 9):
        nano *= 10
    if half > 5 or (half == 5 and (more or nano % 2 == 1)):
        nano += 1
    return nano, at + n


@compiled(merged=True)
def _time(text: Chars, at: int, stop: int) -> tuple[int, int, int]:
    """Seconds of the time of day at ``text[at]``, as ``08:15:00.5``, its billionths, and its end; -1, 0, 0 if there is none."""
    hour, minute, second, nano = _digits(text, at, stop, 2), _digits(text, at + 3, stop, 2), 0, 0
    if hour < 0 or hour > 23 or minute < 0 or minute > 59 or int(text[at + 2]) != 58:  # :
        return -1, 0, 0
    at += 5
    if at < stop and int(text[at]) == 58:
        second = _digits(text, at + 1, stop, 2)
        if second < 0 or second > 59:
            return -1, 0, 0
        at += 3
        if at < stop and int(text[at]) == 46:  # .
            begin = at + 1
            nano, at = _fraction(text, begin, stop)
            if at == begin:
                return -1, 0, 0
    return hour * 3600 + minute * 60 + second, nano, at


@compiled(merged=True)
def _offset(text: Chars, at: int, stop: int) -> tuple[int, int]:
    """Seconds of the offset at ``text[at]``, as ``+01:00``, ``+0100``, ``+01``, ``Z`` or ``UTC``, and its end, which is
    ``at`` if there is none, and -1 if it is wrong."""
    sign = int(text[at])
    if sign == 90 and at + 1 == stop:  # Z
        return 0, stop
    if at + 3 == stop and sign == 85 and int(text[at + 1]) == 84 and int(text[at + 2]) == 67:  # UTC
        return 0, stop
    if sign != 43 and sign != 45:  # + -
        return 0, at
    hours, minutes = _digits(text, at + 1, stop, 2), 0
    at += 3
    if at < stop:
        at += int(text[at]) == 58
        minutes = _digits(text, at, stop, 2)
        at += 2
    if hours < 0 or hours > 23 or minutes < 0 or minutes > 59:
        return 0, -1
    return (hours * 3600 + minutes * 60) * (1 if sign == 43 else -1), at


@compiled()
def read_dates(text: Chars, first: Ints, found: Ints2) -> None:
    """Read dates, as ``2024-01-31T08:15:00.5+01:00``; a blank may be in place of the T, ``/`` of ``-``, and the time may be
    left out. Fills ``found``, int64 (4, cells), with the state, seconds since 1970, billionths, and 1 if the date has an offset
    or Z, so that it is exact; a date without one counts as if it were UTC."""
    for cell in range(len(first) - 1):
        at, stop = _trimmed(text, first[cell], first[cell + 1])
        found[1, cell], found[2, cell], found[3, cell] = 0, 0, 0
        found[0, cell] = _ABSENT if at == stop else _WRONG
        days, nano, zoned = _date(text, at, stop), 0, 0
        if days < 0:
            continue
        seconds, at = days * 86_400, at + 10
        if at < stop and (int(text[at]) == 84 or int(text[at]) == 32):  # T, blank
            of_day, nano, at = _time(text, at + 1, stop)
            if of_day < 0:
                continue
            seconds += of_day
            if nano == _BILLION:
                seconds, nano = seconds + 1, 0
            if at + 1 < stop and int(text[at]) == 32:
                at += 1
            if at < stop:
                zoned = 1
                offset, at = _offset(text, at, stop)
                seconds -= offset
        if at == stop and seconds >= 0:
            found[0, cell], found[1, cell], found[2, cell], found[3, cell] = _READ, seconds, nano, zoned
