"""Lognormal lengths: µ·exp(s·z - s²/2) with s² = ln(1 + cov²) and a normal z: mean µ, standard deviation cov·µ."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from als.lengths.contract import LengthModel, length_kernel
from als.lengths.spread import Spread
from als.streams import next_word, normal_from_word
from traces.compiled import Array


@length_kernel
def _next_length(
    k: int, n: int, mean: float, params: Array, pattern: Array, memo: Array, keys: Array, cursor: Array, words: Array
) -> float:
    s = params[0]
    return float(mean * math.exp(s * normal_from_word(next_word(keys, cursor, words)) - 0.5 * s * s))


@dataclass(frozen=True)
class Lognormal(Spread):
    """Parameters of the lognormal distribution."""

    name: ClassVar[str] = "lognormal"

    def model(self, cov: float) -> LengthModel:
        s = math.sqrt(math.log1p(cov * cov))
        return LengthModel(self.name, _next_length, (s,), cov=cov, source="its definition")
