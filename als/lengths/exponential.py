"""Exponential lengths: -µ·ln u; the coefficient of variation is 1, whatever the run's."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from als.lengths.contract import LengthModel, length_kernel
from als.streams import next_word, uniform_from_word
from traces.compiled import Array


@length_kernel
def _next_length(
    k: int, n: int, mean: float, params: Array, pattern: Array, memo: Array, keys: Array, cursor: Array, words: Array
) -> float:
    return -mean * math.log(uniform_from_word(next_word(keys, cursor, words)))


@dataclass(frozen=True)
class Exponential:
    """Exponential lengths; no parameters."""

    name: ClassVar[str] = "exponential"

    def lengths(self, variation: float) -> LengthModel:
        return LengthModel(self.name, _next_length, cov=1.0, source="its definition")
