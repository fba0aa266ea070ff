"""Lengths that follow a pattern of their own: task k has number k of it."""

from __future__ import annotations

from als.lengths.contract import PATTERN, LengthModel, length_kernel
from traces.compiled import Array


@length_kernel
def _next_length(
    k: int, n: int, mean: float, params: Array, pattern: Array, memo: Array, keys: Array, cursor: Array, words: Array
) -> float:
    return float(pattern[k])


def pattern_lengths(name: str, pattern: Array, source: str, *, mode: int = PATTERN) -> LengthModel:
    """As many tasks as ``pattern`` has numbers, of these lengths, scaled to the work of the loop if ``mode`` is ``PATTERN``."""
    cov = float(pattern.std() / pattern.mean())
    return LengthModel(name, _next_length, pattern=pattern, mode=mode, count=len(pattern), cov=cov, source=source)
