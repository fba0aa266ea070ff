"""Normal lengths: mean µ, standard deviation cov·µ, those that are not above 0 drawn again (two-level paper, section 5.1).

To draw again cuts the distribution off at 0, which the paper's variations, up to 0.25, never show: one draw of 31,574
is cut off at 0.25. With a large cov the mean of the draws becomes µ·(1 + cov·φ(1/cov)/Φ(1/cov)). With the paper's draw the
loop then has fewer, longer tasks; otherwise the lengths are scaled to the work.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from als.lengths.contract import WORK_NORMAL, LengthModel, length_kernel
from als.lengths.spread import Spread
from als.streams import next_word, normal_from_word
from traces.compiled import Array


@length_kernel
def _next_length(
    k: int, n: int, mean: float, params: Array, pattern: Array, memo: Array, keys: Array, cursor: Array, words: Array
) -> float:
    return float(mean + (params[0] * mean) * normal_from_word(next_word(keys, cursor, words)))


@dataclass(frozen=True)
class Normal(Spread):
    """Parameters of the normal distribution."""

    name: ClassVar[str] = "normal"

    def model(self, cov: float) -> LengthModel:
        return LengthModel(
            self.name, _next_length, (cov,), mode=WORK_NORMAL, cov=cov, source="two-level paper, section 5.1"
        )
