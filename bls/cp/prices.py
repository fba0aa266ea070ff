"""What energy costs, and emits, over time, as a dispatch knows it; and what that makes of a job's start.

A job that draws so much beyond idle cores costs the price × what it draws, integrated from its start to its end. As a function
of its start s that is linear but where the price changes at s or at the end, so it is exact in pieces.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from traces.base.columns import Columns
from traces.base.time import NS_PER_S
from traces.compiled import Array, own

#: Prices are whole millionths for a kWh, weights whole millionths, and a kg is a thousand g: so many parts of a weighed
#: price per kWh are whole.
_PARTS: Final = 10**15

#: mW × s of a kWh.
_MWS_PER_KWH: Final = 3_600_000_000


@dataclass(frozen=True)
class Prices(Columns):
    """What holds from instants on, s after t."""

    from_s: Array  # int64 (p,): ascending; the first is 0, and the last holds for ever
    price: Array  # int64 (p,): millionths of the currency for a kWh, which may be below 0
    carbon: Array  # int64 (p,): millionths of a g CO2e for a kWh

    @classmethod
    def at(cls, now_ns: int, instant_ns: Array, price: Array, carbon: Array, *, ahead_s: int) -> Prices:
        """What is known at an instant: what holds, and what changes within ``ahead_s``, in whole seconds, rounded up.

        - ``now_ns``: t
        - ``instant_ns``, ``price``, ``carbon``, int64 (n,): ascending, the first at t or before
        - ``ahead_s``: what comes later is not known: the price that holds then is thought to hold for ever
        """
        from_s = np.maximum(0, -((now_ns - np.asarray(instant_ns, np.int64)) // NS_PER_S))
        # Of those that round to one second the last one holds.
        kept = np.append(from_s[1:] != from_s[:-1], True) & (from_s <= ahead_s)
        columns = (own(column[kept], np.int64) for column in (from_s, np.asarray(price), np.asarray(carbon)))
        return cls(*columns)

    def weighed(self, energy: int, carbon: int) -> Weighed:
        """What a kWh costs in Z, with weights in millionths: of a unit of the currency, and of a kg CO2e."""
        values = [
            1000 * energy * price + carbon * g
            for price, g in zip(self.price.tolist(), self.carbon.tolist(), strict=True)
        ]
        at = [0, *(k for k in range(1, len(values)) if values[k] != values[k - 1])]
        return Weighed([int(self.from_s[k]) for k in at], [values[k] for k in at])


class Piecewise(NamedTuple):
    """A continuous function of a start s from 0 on, 0 at 0, and linear in pieces."""

    at_s: list[int]  # where its pieces begin, ascending from 0; the last one goes on for ever
    value: list[int]  # there
    slope: list[int]  # for a second

    @classmethod
    def of(cls, at_s: Sequence[int], slope: Sequence[int]) -> Piecewise:
        """Of its slopes; pieces of the same slope become one."""
        kept = [0, *(k for k in range(1, len(at_s)) if slope[k] != slope[k - 1])]
        at, slopes, value = [at_s[k] for k in kept], [slope[k] for k in kept], [0]
        for k in range(1, len(at)):
            value.append(value[-1] + slopes[k - 1] * (at[k] - at[k - 1]))
        return cls(at, value, slopes)

    def __call__(self, start_s: int) -> int:
        """Its value at a start."""
        k = bisect_right(self.at_s, start_s) - 1
        return self.value[k] + self.slope[k] * (start_s - self.at_s[k])

    @property
    def minima_s(self) -> list[int]:
        """Where it has been falling and falls no more, ascending: there a job may be held back to."""
        return [self.at_s[k] for k in range(1, len(self.at_s)) if self.slope[k - 1] < 0 <= self.slope[k]]

    def upto(self, last_s: int) -> Piecewise:
        """The same without pieces that begin behind ``last_s``."""
        n = bisect_right(self.at_s, last_s)
        return Piecewise(self.at_s[:n], self.value[:n], self.slope[:n])

    def extremes(self, last_s: int) -> tuple[int, int]:
        """The least and the largest value from 0 to ``last_s``."""
        values = [*self.upto(last_s).value, self(last_s)]
        return min(values), max(values)


class Weighed(NamedTuple):
    """What a kWh costs in Z."""

    from_s: list[int]  # where it changes, from 0
    value: list[int]  # in parts of ``1 / UNIT`` for a mW s

    def until(self, end_s: int) -> int:
        """The integral from t to ``end_s``, for a mW."""
        total = 0
        for k, (begin, value) in enumerate(zip(self.from_s, self.value, strict=True)):
            if begin >= end_s:
                break
            stop = min(end_s, self.from_s[k + 1]) if k + 1 < len(self.from_s) else end_s
            total += value * (stop - begin)
        return total

    def changes(self, duration_s: int) -> tuple[list[int], list[int]]:
        """Where, for a job of a duration, what it costs changes otherwise than before; and by how much for a mW and a second of
        its start."""
        later = {begin - duration_s for begin in self.from_s if begin > duration_s}
        at = sorted(later.union(self.from_s))
        return at, [self._of(begin + duration_s) - self._of(begin) for begin in at]

    def _of(self, instant_s: int) -> int:
        return self.value[bisect_right(self.from_s, instant_s) - 1]

    @property
    def spread(self) -> int:
        """The dearest less the cheapest."""
        return max(self.value) - min(self.value)


#: What :class:`Weighed` counts in.
UNIT: Final = _PARTS * _MWS_PER_KWH
