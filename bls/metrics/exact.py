"""Exact sums that exceed int64, such as core-nanoseconds."""

from collections.abc import Iterator
from fractions import Fraction
from functools import reduce
from typing import TypeAlias

import numpy as np

from traces.compiled import Array

_HALF = 31
_LOW = (1 << _HALF) - 1

# Numbers are lists of limbs (arrays), the lowest first, with this number of bits, so that sums of 64 products of two limbs fit
# int64. All limbs but the last are at least 0; a few may be added before they are multiplied.
_BITS = 28
_LIMB = (1 << _BITS) - 1
_BLOCK = 1 << 14  #: number of rows processed at once: their limbs stay in the processor's cache
Limbs: TypeAlias = list[Array]


def exact_sum(values: Array) -> int:
    """The sum of int64 values, of any size: the upper and the lower halves are added separately."""
    return sum((int((some >> _HALF).sum()) << _HALF) + int((some & _LOW).sum()) for (some,) in blocks(values))


def limbs(values: Array) -> Limbs:
    """int64 values (n,), n ≥ 1, as limbs."""
    found = []
    while values.min() < -_LIMB or values.max() > _LIMB:
        found.append(values & _LIMB)
        values = values >> _BITS
    return [*found, values]


def limbs_sum(a: Limbs, b: Limbs) -> Limbs:
    """a + b."""
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    return [x + y for x, y in zip(longer, shorter, strict=False)] + longer[len(shorter) :]


def limbs_product(a: Limbs, b: Limbs) -> Limbs:
    """a · b."""
    found: Limbs = [np.zeros(len(a[0]), np.int64) for _ in range(len(a) + len(b) - 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            found[i + j] += x * y
    for place in range(len(found) - 1):
        found[place + 1] += found[place] >> _BITS
        found[place] &= _LIMB
    return [*found[:-1], *limbs(found[-1])]


def limbs_total(a: Limbs) -> int:
    """The sum of all numbers of at most 2**32 rows."""
    return sum(int(limb.sum()) << _BITS * place for place, limb in enumerate(a))


def blocks(*columns: Array) -> Iterator[tuple[Array, ...]]:
    """Columns of equal length, block by block of rows."""
    for first in range(0, len(columns[0]), _BLOCK):
        yield tuple(column[first : first + _BLOCK] for column in columns)


def exact_product_sum(*columns: Array) -> int:
    """Σ a·b·… of int64 values, exactly. ``*columns``, int64 (n,): for example cores and durations."""
    return sum(limbs_total(reduce(limbs_product, map(limbs, block))) for block in blocks(*columns))


def exact_mean(values: Array) -> float | None:
    """The mean of int64 values, rounded once; None without values."""
    return float(Fraction(exact_sum(values), len(values))) if len(values) else None


def exact_quantiles(values: Array, *percents: int, in_place: bool = False) -> list[float | None]:
    """Quantiles by linear interpolation (the default of numpy and pandas), each rounded once; None without values.
    ``values``, int64 or float64 (n,): without NaN. ``in_place``: they may be reordered. ``percents``: 0 to 100."""
    if not len(values):
        return [None] * len(percents)
    places = [divmod((len(values) - 1) * percent, 100) for percent in percents]
    last = len(values) - 1
    ordered = values if in_place else values.copy()
    ordered.partition(sorted({place for at, _ in places for place in (at, min(at + 1, last))}))
    found: list[float | None] = []
    for at, rest in places:
        low, high = Fraction(ordered[at].item()), Fraction(ordered[min(at + 1, last)].item())
        found.append(float(low + (high - low) * Fraction(rest, 100)))
    return found
