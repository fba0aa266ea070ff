"""Uniform lengths: between µ·(1 - √3·cov) and µ·(1 + √3·cov).

The standard deviation of a uniform number over an interval of width d is d/√12. At cov = 1/√3 the interval begins at 0; it
cannot be wider.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from als.lengths.contract import LengthModel, length_kernel
from als.lengths.equal import equal_lengths
from als.streams import next_word, uniform_from_word
from traces.base.ranges import real
from traces.compiled import Array

__all__ = ["Uniform"]

#: The largest coefficient of variation of uniform numbers that are not below 0.
_MAX_COV = 1.0 / math.sqrt(3.0)


@length_kernel
def _next_length(
    k: int, n: int, mean: float, params: Array, pattern: Array, memo: Array, keys: Array, cursor: Array, words: Array
) -> float:
    return float(mean * (1.0 + params[0] * (2.0 * uniform_from_word(next_word(keys, cursor, words)) - 1.0)))


@dataclass(frozen=True)
class Uniform:
    """Parameters of the uniform distribution.

    Attributes
    ----------
    cov : float or None
        Standard deviation over mean, 0 to 1/√3; None: the run's variation. 0: equal lengths.
    """

    name: ClassVar[str] = "uniform"
    cov: float | None = None

    def __post_init__(self) -> None:
        if self.cov is not None:
            object.__setattr__(self, "cov", real("lengths uniform: cov", self.cov, 0.0, _MAX_COV))

    def lengths(self, variation: float) -> LengthModel:
        """The model with this cov or the run's."""
        cov = Uniform(variation).cov if self.cov is None else self.cov
        if not cov:
            return equal_lengths(self.name)
        # At the largest cov the product may be above 1 by a rounding.
        half = min(1.0, math.sqrt(3.0) * cov)
        return LengthModel(self.name, _next_length, (half,), cov=cov, source="its definition")
