"""Equal lengths: exactly n tasks of the mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from als.lengths.contract import COUNT, LengthModel, length_kernel
from traces.compiled import Array


@length_kernel
def _next_length(
    k: int, n: int, mean: float, params: Array, pattern: Array, memo: Array, keys: Array, cursor: Array, words: Array
) -> float:
    return mean


def equal_lengths(name: str = "equal") -> LengthModel:
    """Equal lengths, under the name of a distribution whose variation is 0."""
    return LengthModel(name, _next_length, mode=COUNT, cov=0.0, source="two-level paper, section 5.1 (variation 0)")


@dataclass(frozen=True)
class Equal:
    """Equal lengths; no parameters."""

    name: ClassVar[str] = "equal"

    def lengths(self, variation: float) -> LengthModel:
        return equal_lengths()
