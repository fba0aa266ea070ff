"""Factors of core speeds over time, each component from its definition: exact fractions, and no arrays."""

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import count

import numpy as np

from reference.drawing import normal

#: (core, instant in ns) to factor, and the instants from 0 on at which it may change, ascending.
Component = tuple[Callable[[int, int], float], Callable[[], Iterator[int]]]

#: The purpose of the first noise's streams.
PURPOSE = 4


def square(period: int, low: float, duty: Fraction, offset: int, cores: set[int]) -> Component:
    high = round(duty * period)

    def factor(core: int, t: int) -> float:
        begins = offset + math.floor(Fraction(t - offset, period)) * period
        return 1.0 if core not in cores or t < begins + high else low

    def instants() -> Iterator[int]:
        for k in count(-(offset // period) - 2):
            yield from (at for at in (offset + k * period, offset + k * period + high) if at >= 0)

    return factor, instants


def noise(period: int, sigma: float, cores: set[int], seed: int, place: int) -> Component:
    """A lognormal number for each core and period; ``place`` is that among the noises."""
    spread = math.sqrt(math.log1p(sigma * sigma))

    def factor(core: int, t: int) -> float:
        if core not in cores:
            return 1.0
        k = t // period
        source = np.random.Philox(
            key=np.array([seed, core], np.uint64), counter=np.array([0, 0, 0, PURPOSE + place * 2**32], np.uint64)
        )
        source.advance(k // 4)  # it counts in blocks of four words
        word = int(source.random_raw(4)[k % 4])
        return math.exp(spread * normal(word) - 0.5 * spread * spread)

    return factor, lambda: (k * period for k in count())


def lines(rows: Sequence[tuple[int, int, float]], period: int) -> Component:
    """A recorded trace, (instant, core, factor) in any order; repeated if there is a period."""

    def factor(core: int, t: int) -> float:
        within = t % period if period else t
        held = [(at, value) for at, of, value in rows if of == core and at <= within]
        return max(held)[1] if held else 1.0

    def instants() -> Iterator[int]:
        for k in count() if period else range(1):
            yield from sorted({k * period, *(k * period + at for at, _, _ in rows)})

    return factor, instants


def window(begin: int, end: int | None, cores: set[int]) -> Component:
    """Cores that are away from an instant up to another, or for good."""

    def factor(core: int, t: int) -> float:
        return 0.0 if core in cores and begin <= t and (end is None or t < end) else 1.0

    return factor, lambda: iter([at for at in (begin, end) if at is not None])


def product(components: Sequence[Component], core: int, t: int) -> float:
    found = 1.0
    for factor, _ in components:
        found *= factor(core, t)
    return found


def changes(
    components: Sequence[Component], cores: Sequence[int], base: Sequence[float], begin: int, end: int
) -> list[tuple[int, int, float]]:
    """Every change after ``begin`` up to and with ``end``, by looking at every instant at which there may be one."""
    instants: set[int] = set()
    for _, of in components:
        for at in of():
            if at > end:
                break
            if at > begin:
                instants.add(at)
    found = []
    current = [product(components, core, begin) for core in cores]
    for at in sorted(instants):
        for c, core in enumerate(cores):
            new = product(components, core, at)
            if new != current[c]:
                found.append((at, c, base[c] * new))
                current[c] = new
    return found
