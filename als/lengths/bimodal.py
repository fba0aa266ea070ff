"""Bimodal lengths: a share of long tasks, each a number of times as long as the others.

A task is long with probability s, independently of the others; long = r·short, and the mean stays µ: short =
µ / (1 - s + s·r). The coefficient of variation is √(s·(1 - s))·(r - 1) / (1 - s + s·r), whatever the run's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from als.lengths.contract import LengthModel, length_kernel
from als.streams import next_word, uniform_from_word
from traces.base.errors import real
from traces.compiled import Array

_MAX_RATIO = 1e6


@length_kernel
def _next_length(
    k: int, n: int, mean: float, params: Array, pattern: Array, memo: Array, keys: Array, cursor: Array, words: Array
) -> float:
    if uniform_from_word(next_word(keys, cursor, words)) < params[0]:
        return float(mean * params[2])
    return float(mean * params[1])


@dataclass(frozen=True)
class Bimodal:
    """Parameters of the bimodal distribution."""

    name: ClassVar[str] = "bimodal"
    share: float = 0.1  # s, share of the tasks that is long, 0 to 1
    ratio: float = 10.0  # r, a long task over a short one, 1 to a million

    def __post_init__(self) -> None:
        object.__setattr__(self, "share", real("lengths bimodal: share", self.share, 0.0, 1.0))
        object.__setattr__(self, "ratio", real("lengths bimodal: ratio", self.ratio, 1.0, _MAX_RATIO))

    def lengths(self, variation: float) -> LengthModel:
        s, r = self.share, self.ratio
        over = 1.0 - s + s * r
        cov = math.sqrt(s * (1.0 - s)) * (r - 1.0) / over
        return LengthModel(self.name, _next_length, (s, 1.0 / over, r / over), cov=cov, source="its definition")
