"""What energy costs, second by second, and the least Z of a dispatch with it: every start of every job is tried."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from reference.cp_dispatch import Case, Cells, available, fits, held, places


def cost(prices: Sequence[tuple[int, Fraction]], watts: Fraction, start: int, duration: int) -> Fraction:
    """What so many watts cost from a start on: prices are (from, for a kWh), ascending from 0."""
    total = Fraction(0)
    for second in range(start, start + duration):
        (now,) = [
            price for (begin, price), (end, _) in pairwise([*prices, (10**9, Fraction(0))]) if begin <= second < end
        ]
        total += now * watts / 1000 / 3600
    return total


def least_priced_z(
    case: Case,
    kind: str,
    rates: Sequence[Fraction],
    watts: Sequence[Fraction],
    prices: Sequence[tuple[int, Fraction]],
    last: int,
) -> Fraction:
    """The least Σ (rate (s - q + d) + what energy costs), with starts up to ``last``."""
    room, ways = available(case, kind), [places(case, kind, job) for job in case.waiting]
    costs = [
        sorted(
            (rate * (start + job.waited + job.duration) + cost(prices, draws, start, job.duration), start)
            for start in range(last + 1)
        )
        for job, rate, draws in zip(case.waiting, rates, watts, strict=True)
    ]
    best: list[Fraction] = []

    def extend(plan: list[tuple[int, int, Cells]], job: int, so_far: Fraction) -> None:
        if job == len(costs):
            best[:] = [so_far]
            return
        others = sum((one[0][0] for one in costs[job + 1 :]), Fraction(0))
        for z, start in costs[job]:
            if best and so_far + z + others >= best[0]:
                return
            for cells in ways[job]:
                end = start + case.waiting[job].duration
                if fits(plan, cells, start, end, room):
                    extend([*plan, (start, end, cells)], job + 1, so_far + z)

    extend([(0, left, cells) for left, cells in held(case, kind)], 0, Fraction(0))
    return best[0]
