"""Arithmetic of the techniques' rules: roundings, and parameters that default to the job's values."""

import math

from traces.compiled import compiled

CEIL, FLOOR, HALF_EVEN = 0, 1, 2  #: the roundings and their numbers in ``params``
ROUNDINGS = ("ceil", "floor", "half-even")

#: A computed size this close to a whole number counts as that number. A formula with a whole exact value is often off by some
#: 1e-15 of itself, as 1.1 · 50 is, and a plain ceiling would add a task. 1e-9 exceeds this error for every chunk of less than a
#: million tasks, and is smaller than real differences between sizes.
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
    """Return ``above / below`` (>= 0, > 0) rounded as ``how`` (CEIL, FLOOR, HALF_EVEN) says, exactly."""
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
    """Return ``size``, at least ``lowest``, at most ``remaining``."""
    return min(max(size, lowest), remaining)


@compiled(merged=True)
def given_or(given: float, known: float) -> float:
    """Return a given parameter, or, if it is NaN, the job's value."""
    # As floats: numpy's scalars warn of overflows when the JIT is off.
    return float(known) if math.isnan(given) else float(given)
