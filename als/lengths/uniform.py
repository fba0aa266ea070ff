"""Uniform lengths: between µ·(1 - √3·cov) and µ·(1 + √3·cov).

The standard deviation of a uniform number over an interval of width d is d/√12. At cov = 1/√3 the interval begins at 0; it
cannot be wider.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from als.lengths.contract import LengthModel, length_kernel
from als.lengths.spread import Spread
from als.streams import next_word, uniform_from_word
from traces.compiled import Array


@length_kernel
def _next_length(
    k: int, n: int, mean: float, params: Array, pattern: Array, memo: Array, keys: Array, cursor: Array, words: Array
) -> float:
    return float(mean * (1.0 + params[0] * (2.0 * uniform_from_word(next_word(keys, cursor, words)) - 1.0)))


@dataclass(frozen=True)
class Uniform(Spread):
    """Parameters of the uniform distribution."""

    name: ClassVar[str] = "uniform"
    max_cov: ClassVar[float] = 1.0 / math.sqrt(3.0)  # numbers are not below 0

    def model(self, cov: float) -> LengthModel:
        # At the largest cov the product may be above 1 by a rounding.
        half = min(1.0, math.sqrt(3.0) * cov)
        return LengthModel(self.name, _next_length, (half,), cov=cov, source="its definition")
