"""The scale of a core's speed, set by the batch level: whole parts per billion, the same number in every process."""

from traces.base.errors import real

WHOLE = 1_000_000_000  #: the scale of a core at its own speed
LOWEST, HIGHEST = 0.001, 2.0  #: the allowed factors


def scale_of(factor: object, where: str = "factor") -> int:
    """Return a factor as a scale. Raises InputError if it is not a number from ``LOWEST`` to ``HIGHEST``; the message begins
    with ``where``."""
    return round(real(where, factor, LOWEST, HIGHEST) * WHOLE)


def factor_of(scale: int) -> float:
    """Return a scale as a factor."""
    return scale / WHOLE
