"""What the rules of the techniques compute with: roundings, and "as given, or as known from the job"."""

import math

from traces.compiled import compiled

#: The roundings by the numbers that ``params`` has for them.
CEIL, FLOOR, HALF_EVEN = 0, 1, 2
ROUNDINGS = ("ceil", "floor", "half-even")

#: How far a computed size may lie beyond a whole number and still be that number. A formula whose exact value is whole often
#: comes out some 1e-15 of itself above or below it, as 1.1 · 50 does, and a bare ceiling would add a task. 1e-9 is more than
#: that for every chunk of less than a million tasks, and less than what separates sizes that really differ.
SLACK = 1e-9


@compiled(merged=True)
def ceiling(value: float) -> int:
    """⌈value − SLACK⌉."""
    return math.ceil(value - SLACK)


@compiled(merged=True)
def flooring(value: float) -> int:
    """⌊value + SLACK⌋."""
    return math.floor(value + SLACK)


@compiled(merged=True)
def rounded_ratio(above: int, below: int, how: int) -> int:
    """``above / below`` (>= 0, > 0) rounded as ``how`` (CEIL, FLOOR, HALF_EVEN) says, in whole numbers: exact."""
    quotient = above // below
    rest = above - quotient * below
    if how == CEIL:
        return quotient + 1 if rest > 0 else quotient
    if how == FLOOR:
        return quotient
    if 2 * rest > below or (2 * rest == below and quotient % 2 == 1):
        return quotient + 1
    return quotient


@compiled(merged=True)
def clamped(size: int, lowest: int, remaining: int) -> int:
    """``size``, at least ``lowest``, at most what remains."""
    return min(max(size, lowest), remaining)


@compiled(merged=True)
def given_or(given: float, known: float) -> float:
    """A parameter that was given, or (it is NaN) what is known from the job."""
    # As floats, not as numpy's scalars, which warn of an overflow where the JIT is off.
    return float(known) if math.isnan(given) else float(given)
