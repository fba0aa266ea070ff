"""Lognormal lengths: µ·exp(s·z - s²/2) with s² = ln(1 + cov²) and a normal z: mean µ, standard deviation cov·µ."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from als.lengths.contract import MAX_COV, LengthModel, length_kernel
from als.lengths.equal import equal_lengths
from als.streams import next_word, normal_from_word
from traces.base.ranges import real
from traces.compiled import Array

__all__ = ["Lognormal"]


@length_kernel
def _next_length(
    k: int, n: int, mean: float, params: Array, pattern: Array, memo: Array, keys: Array, cursor: Array, words: Array
) -> float:
    s = params[0]
    return float(mean * math.exp(s * normal_from_word(next_word(keys, cursor, words)) - 0.5 * s * s))


@dataclass(frozen=True)
class Lognormal:
    """Parameters of the lognormal distribution.

    Attributes
    ----------
    cov : float or None
        Standard deviation over mean, 0 to ``MAX_COV``; None: the run's variation. 0: equal lengths.
    """

    name: ClassVar[str] = "lognormal"
    cov: float | None = None

    def __post_init__(self) -> None:
        if self.cov is not None:
            object.__setattr__(self, "cov", real("lengths lognormal: cov", self.cov, 0.0, MAX_COV))

    def lengths(self, variation: float) -> LengthModel:
        """The model with this cov or the run's."""
        cov = Lognormal(variation).cov if self.cov is None else self.cov
        if not cov:
            return equal_lengths(self.name)
        s = math.sqrt(math.log1p(cov * cov))
        return LengthModel(self.name, _next_length, (s,), cov=cov, source="its definition")
