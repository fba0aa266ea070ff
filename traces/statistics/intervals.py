"""Confidence intervals of means of few values: the studentised bootstrap, smoothed.

The studentised bootstrap, or bootstrap-t (B. Efron, R. Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 12),
estimates the distribution of t = (mean* − mean) / se* from resamples, and so follows skewed values. With few values it is
unstable: a resample of equal values has se* = 0. Noise on every resampled value prevents this (A. Polansky, "Stabilizing
bootstrap-t confidence intervals for small samples", Canadian Journal of Statistics 28(3), 2000); here it is normal, with
variance s²/n.

Resamples depend only on the number of values: their generator has a fixed seed. Each is used with its mirror image, so that
the interval of −x mirrors the interval of x. Values are sorted first, so that their order has no effect.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from traces.base.errors import InputError, real
from traces.compiled import Array

CONFIDENCE = 0.95  #: share of intervals that contain the true value
MIN_SEEDS = 5  #: with fewer values there is no interval
RESAMPLES = 20_000  #: resamples of few values; with other resamples the bounds would move by about 1 % of the width
_RESAMPLED, _FEWEST = 600_000, 4_000  #: most resampled values for many values, and fewest resamples
_CONFIDENCES = (0.5, 0.995)  #: lowest and highest confidence with enough resamples in the tails

_SEED = 1993

_KEPT = 300  #: most values whose resamples are kept; for more they are drawn again in blocks
_BLOCK = 1_000_000  #: most resampled values of a block

#: Numbers that differ by less, relative to their size, differ only by rounding.
ROUNDING = 8 * np.finfo(np.float64).eps


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean and its confidence interval."""

    n: int  #: number of values
    mean: float  #: NaN without values
    low: float  #: beginning of the interval, <= mean; NaN below :data:`MIN_SEEDS` values
    high: float  #: its end, >= mean; NaN as above

    @property
    def has_interval(self) -> bool:
        """Whether there were enough values."""
        return self.low <= self.high


class _Draws(NamedTuple):
    # For some resamples (rows) of n values (columns): how often each value was drawn, and the sum of the noise added to it;
    # and for each resample the mean of its noise and the sum of the squares.
    counts: Array
    noise: Array
    mean_noise: Array
    square_noise: Array


def _draws(n: int) -> Iterator[_Draws]:
    # One half of the resamples, a block at a time; the other half are their mirror images.
    generator = np.random.default_rng(_SEED)
    left = max(_FEWEST, min(RESAMPLES, _RESAMPLED // n)) // 2
    while left:
        rows = min(left, max(1, _BLOCK // n))
        left -= rows
        drawn = generator.integers(0, n, (rows, n))
        noise = generator.standard_normal((rows, n)) / np.sqrt(n)
        flat = (drawn + n * np.arange(rows)[:, None]).ravel()
        yield _Draws(
            np.bincount(flat, minlength=rows * n).reshape(rows, n).astype(np.float64),
            np.bincount(flat, weights=noise.ravel(), minlength=rows * n).reshape(rows, n),
            noise.mean(axis=1),
            np.square(noise).sum(axis=1),
        )


@lru_cache(maxsize=16)
def _kept_draws(n: int) -> tuple[_Draws, ...]:
    return tuple(_draws(n))


def _pivots(z: Array) -> Array:
    # The t of every resample of n values with mean 0 and standard deviation 1.
    n = len(z)
    found = []
    for draws in _kept_draws(n) if n <= _KEPT else _draws(n):
        for sign, values in ((1.0, z), (-1.0, -z[::-1])):
            mean = draws.counts @ values / n + draws.mean_noise
            squares = draws.counts @ np.square(values) + 2.0 * (draws.noise @ values) + draws.square_noise
            variance = (squares - n * np.square(mean)) / (n - 1)
            found.append(sign * mean * np.sqrt(n / variance))
    return np.concatenate(found)


def mean_intervals(
    values: Array, *, confidence: float = CONFIDENCE, magnitude: float | Array | None = None
) -> tuple[Array, Array]:
    """The confidence intervals of the means of many samples of one size.

    Parameters
    ----------
    values : ndarray of float64, shape (n, k)
        One column per sample; all finite.
    confidence : float
        From 0.5 to 0.995.
    magnitude : float or ndarray of shape (k,), optional
        The size of the numbers that the values were computed from, if they are differences. Values that differ by no
        more than the rounding of such numbers count as equal. Default: the largest absolute value.

    Returns
    -------
    low, high : ndarray of float64, shape (k,)
        Both the mean where all values are equal; NaN where there are fewer than :data:`MIN_SEEDS`.

    Raises
    ------
    InputError
        If a value is not finite, or the confidence is out of range.
    """
    confidence = real("confidence", confidence, *_CONFIDENCES)
    column = np.sort(np.asarray(values, np.float64), axis=0)
    n, k = column.shape
    if not np.isfinite(column).all():
        raise InputError("an interval of values that are not finite; allowed: finite numbers")
    if n < MIN_SEEDS:
        return np.full(k, np.nan), np.full(k, np.nan)
    mean = np.clip(column.mean(axis=0), column[0], column[-1])
    size = np.abs(column).max(axis=0) if magnitude is None else np.broadcast_to(np.abs(magnitude), k)
    apart = column[-1] - column[0] > ROUNDING * size
    low, high = mean.copy(), mean.copy()
    if apart.any():
        centred = column[:, apart] - mean[apart]
        deviation = centred.std(axis=0, ddof=1)
        tail = (1.0 - confidence) / 2.0
        z = np.ascontiguousarray((centred / deviation).T)
        # One sample at a time: the resamples of several leave the processor's cache.
        below, above = np.array([np.quantile(_pivots(one), (tail, 1.0 - tail)) for one in z]).T
        # The upper tail of t bounds the mean from below.
        low[apart] -= np.maximum(above, 0.0) * deviation / np.sqrt(n)
        high[apart] -= np.minimum(below, 0.0) * deviation / np.sqrt(n)
    return low, high


def mean_interval(
    values: Sequence[float] | Array, *, confidence: float = CONFIDENCE, magnitude: float | None = None
) -> Estimate:
    """The mean of some values and its confidence interval.

    Parameters
    ----------
    values : sequence of float, shape (m,)
        One per run; NaN for a run that did not finish, which is left out.
    confidence, magnitude
        As for :func:`mean_intervals`.

    Returns
    -------
    Estimate
        Of the n ≤ m values that are numbers. ``low`` and ``high`` are NaN below :data:`MIN_SEEDS`, and both the mean
        where all values are equal.

    Raises
    ------
    InputError
        If a value is infinite, or the confidence is out of range.
    """
    column = np.asarray(values, np.float64).ravel()
    column = column[~np.isnan(column)]
    n = len(column)
    low, high = mean_intervals(column[:, None], confidence=confidence, magnitude=magnitude)
    if n == 0:
        return Estimate(0, np.nan, np.nan, np.nan)
    column = np.sort(column)
    mean = float(np.clip(column.mean(), column[0], column[-1]))
    return Estimate(n, mean, float(low[0]), float(high[0]))
