"""Correlated lengths: a normal number that moves along the loop, so that neighbours are alike (AR(1)).

x₀ is a standard normal number, x_k = ρ·x_(k-1) + √(1 - ρ²)·z_k, and a length is µ·(1 + cov·x_k). Every x_k is a standard normal
number, and the correlation of two lengths j tasks apart is ρ^j. A number whose length would not be above 0 is drawn again
from the same x_(k-1), which at cov = 0.25 hardly ever happens; with ρ >= 0 at most every second one is.

Source: Box and Jenkins, "Time Series Analysis", section 3.2 (first-order autoregressive process).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from als.lengths.contract import LengthModel, length_kernel
from als.lengths.spread import Spread
from als.streams import next_word, normal_from_word
from traces.base.errors import real
from traces.compiled import Array

_MAX_RHO = 0.999999


@length_kernel
def _next_length(
    k: int, n: int, mean: float, params: Array, pattern: Array, memo: Array, keys: Array, cursor: Array, words: Array
) -> float:
    cov, kept, moved = params[0], params[1], params[2]
    if k == 0:
        kept, moved = 0.0, 1.0
    while True:
        x = kept * memo[0] + moved * normal_from_word(next_word(keys, cursor, words))
        length = mean * (1.0 + cov * x)
        if length > 0.0:
            memo[0] = x
            return float(length)


@dataclass(frozen=True)
class Correlated(Spread):
    """Parameters of correlated lengths."""

    name: ClassVar[str] = "correlated"
    rho: float = 0.9  # correlation of a task's length with the next one's, 0 to 0.999999

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "rho", real("lengths correlated: rho", self.rho, 0.0, _MAX_RHO))

    def model(self, cov: float) -> LengthModel:
        return LengthModel(
            self.name,
            _next_length,
            (cov, self.rho, math.sqrt(1.0 - self.rho * self.rho)),
            memo_size=1,
            cov=cov,
            sum_cov=cov * math.sqrt((1.0 + self.rho) / (1.0 - self.rho)),
            source="Box and Jenkins, section 3.2",
        )
