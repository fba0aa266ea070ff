"""Sums that int64 cannot hold: core-nanoseconds and the like, added up exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from traces.compiled import Array

__all__ = ["exact_mean", "exact_product_sum", "exact_quantile", "exact_sum"]

_HALF = 31
_LOW = (1 << _HALF) - 1


def exact_sum(values: Array) -> int:
    """The sum of int64 values, whatever its size: the upper and the lower halves are added apart."""
    return (int((values >> _HALF).sum()) << _HALF) + int((values & _LOW).sum())


def exact_product_sum(a: Array, b: Array) -> int:
    """Σ a·b of int64 values from 0 to 2**62, exactly.

    Parameters
    ----------
    a, b : int64 (n,)
        For example cores and durations.

    Returns
    -------
    int
    """
    a_high, a_low, b_high, b_low = a >> _HALF, a & _LOW, b >> _HALF, b & _LOW  # each below 2**31
    total = exact_sum(a_low * b_low) + (exact_sum(a_low * b_high) << _HALF)
    if a_high.any():
        total += (exact_sum(a_high * b_low) << _HALF) + (exact_sum(a_high * b_high) << 2 * _HALF)
    return total


def exact_mean(values: Array) -> float | None:
    """The mean of int64 values, rounded once; None of none."""
    return float(Fraction(exact_sum(values), len(values))) if len(values) else None


def exact_quantile(values: Array, percent: int) -> float | None:
    """The quantile as numpy's and pandas' default has it (linear between neighbours), rounded once; None of none.

    Parameters
    ----------
    values : int64 or float64 (n,)
        In any order, without NaN.
    percent : int
        0 to 100.
    """
    if not len(values):
        return None
    at, rest = divmod((len(values) - 1) * percent, 100)
    after = min(at + 1, len(values) - 1)
    ordered = np.partition(values, (at, after))
    low, high = Fraction(ordered[at].item()), Fraction(ordered[after].item())
    return float(low + (high - low) * Fraction(rest, 100))
