"""The scale of a core's speed, as the batch level sets it: whole parts per billion, the same number in every process."""

from traces.base.errors import real

#: The scale of a core that runs at its own speed.
WHOLE = 1_000_000_000

#: The factors that are allowed.
LOWEST, HIGHEST = 0.001, 2.0


def scale_of(factor: object, where: str = "factor") -> int:
    """A factor as a scale. Raises InputError if it is no number from ``LOWEST`` to ``HIGHEST``; the message begins with
    ``where``."""
    return round(real(where, factor, LOWEST, HIGHEST) * WHOLE)


def factor_of(scale: int) -> float:
    """A scale as a factor."""
    return scale / WHOLE
