"""Differences between two settings, over pairs of runs with the same seed."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from traces.base.errors import InputError
from traces.compiled import Array
from traces.statistics.intervals import CONFIDENCE, MIN_SEEDS, ROUNDING, mean_interval


@dataclass(frozen=True, slots=True)
class Paired:
    """Two settings, compared over pairs.

    With fewer than ``MIN_SEEDS`` pairs all fields except the first three are NaN. If all values of each setting are equal,
    nothing was random: difference and ratio are exact, without an interval or an effect size.
    """

    n: int  #: number of pairs
    mean_base: float  #: mean over the pairs; NaN where there are none
    mean_other: float
    difference: float  #: mean of other − base, followed by its interval
    difference_low: float
    difference_high: float
    #: mean_other / mean_base, followed by its interval. NaN unless no value is negative and both means are above 0.
    ratio: float
    ratio_low: float
    ratio_high: float
    #: Hedges' g of pairs: the mean difference as a multiple of the differences' standard deviation (Cohen's d_z; D. Lakens,
    #: Frontiers in Psychology 4:863, 2013), times 1 − 3 / (4 (n − 1) − 1), which corrects its bias with few pairs (L. Hedges,
    #: Journal of Educational Statistics 6(2), 1981). NaN if all differences are equal.
    effect_size: float
    share_greater: float  #: share of the pairs in which other > base; a tie counts as half a pair

    @property
    def changed(self) -> bool:
        """Whether the interval of the difference exists and excludes 0."""
        return self.difference_low > 0 or self.difference_high < 0


def paired(
    base: Sequence[float] | Array,
    other: Sequence[float] | Array,
    *,
    confidence: float = CONFIDENCE,
    exact: bool = False,
) -> Paired:
    """Compare two settings over pairs of runs.

    Parameters
    ----------
    base, other : sequence of float, shape (m,)
        One pair per seed. Pairs with a NaN are left out.
    confidence : float
        From 0.5 to 0.995.
    exact : bool
        Whether nothing was random, so that one pair is enough.

    Returns
    -------
    Paired
        The interval of the ratio is the exponential of that of the mean of ln(ratio) + other/mean_other − base/mean_base,
        which has the mean ln(ratio), and its spread to the first order (delta method). So swapping base and other
        gives the reciprocal interval.

    Raises
    ------
    InputError
        If the lengths differ, a value is infinite, or the confidence is out of range.
    """
    first, second = np.asarray(base, np.float64).ravel(), np.asarray(other, np.float64).ravel()
    if len(first) != len(second):
        raise InputError(f"pairs of {len(first)} and {len(second)} values; allowed: equally many")
    both = ~(np.isnan(first) | np.isnan(second))
    first, second = first[both], second[both]
    n = len(first)
    nan = float("nan")
    mean_base, mean_other = (float(np.sort(column).mean()) if n else nan for column in (first, second))
    if n < (1 if exact else MIN_SEEDS):
        return Paired(n, mean_base, mean_other, nan, nan, nan, nan, nan, nan, nan, nan)
    if _equal(first) and _equal(second):
        change_of_means = 0.0 if _equal(np.array((mean_base, mean_other))) else mean_other - mean_base
        quotient = mean_other / mean_base if mean_base > 0 and mean_other > 0 else nan
        greater = 0.5 * (1.0 + float(np.sign(change_of_means)))
        return Paired(n, mean_base, mean_other, change_of_means, nan, nan, quotient, nan, nan, nan, greater)
    size = np.maximum(np.abs(first), np.abs(second))
    difference = second - first
    difference[np.abs(difference) <= ROUNDING * size] = 0.0
    change = mean_interval(difference, confidence=confidence, magnitude=float(size.max()))
    ratios = _ratio(first, second, mean_base, mean_other, confidence)
    effect_size = nan
    if change.low < change.high:
        effect_size = change.mean / float(np.sort(difference).std(ddof=1)) * (1.0 - 3.0 / (4.0 * (n - 1) - 1.0))
    share = (np.count_nonzero(difference > 0) + 0.5 * np.count_nonzero(difference == 0)) / n
    means = mean_base, mean_other, change.mean, change.low, change.high
    return Paired(n, *means, *ratios, effect_size, float(share))


def _equal(values: Array) -> bool:
    return bool(np.ptp(values) <= ROUNDING * np.max(np.abs(values)))


def _ratio(
    first: Array, second: Array, mean_first: float, mean_second: float, confidence: float
) -> tuple[float, float, float]:
    if min(float(first.min()), float(second.min())) < 0 or not (mean_first > 0 and mean_second > 0):
        return (float("nan"),) * 3
    ratio = mean_second / mean_first
    shares = second / mean_second, first / mean_first
    spread = mean_interval(shares[0] - shares[1], confidence=confidence, magnitude=float(np.max(shares)))
    # The mean of these is 0 but for rounding.
    return ratio, ratio * float(np.exp(min(spread.low, 0.0))), ratio * float(np.exp(max(spread.high, 0.0)))
