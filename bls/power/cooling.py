"""What a facility draws whose machine draws so much: its power usage effectiveness (PUE), by load.

The PUE is what the facility draws, with cooling and all else, by what its machine does. It is one number, ``1.4``, or numbers
at loads, ``0%:2 50%:1.5 100%:1.3``: what the machine draws, in percent of what it does if all its cores work at full speed.
Between two loads it lies on the line between their numbers, below the first and above the last it is theirs.

Source: The Green Grid, *PUE: A comprehensive examination of the metric*, white paper 49, 2012 (the PUE).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from bls.options import PUE
from bls.power.accounting import PowerSeries
from traces.base.errors import InputError, shown

_MOST: Final = 100
_NUMBER: Final = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,6})?")
_ALLOWED: Final = f"1 to {_MOST}, as 1.4, or such numbers at ascending loads from 0% to 100%, as 0%:2 50%:1.5 100%:1.3"


@dataclass(frozen=True)
class Pue:
    """The PUE at ``loads``, shares from 0 to 1, ascending, at least one; ``values`` of at least 1."""

    loads: tuple[Fraction, ...]
    values: tuple[Fraction, ...]

    def at(self, load: Fraction) -> Fraction:
        """The PUE at a load."""
        place = bisect_right(self.loads, load)
        if place == 0 or place == len(self.loads):
            return self.values[max(0, place - 1)]
        (low, high), (first, second) = self.loads[place - 1 : place + 1], self.values[place - 1 : place + 1]
        return first + (second - first) * (load - low) / (high - low)


class Facility(NamedTuple):
    """What a facility has used, in pJ, and the most that it has drawn, in mW; exactly."""

    energy_pj: Fraction
    peak_mw: Fraction


def facility(series: PowerSeries, full_mw: int, pue: Pue) -> Facility:
    """What the facility draws of a machine that draws so much, and up to ``full_mw``."""
    levels, of = np.unique(series.power_mw, return_inverse=True)
    lasts = np.zeros(len(levels), np.int64)
    np.add.at(lasts, of.reshape(-1), np.diff(np.append(series.instant_ns, series.until_ns)))
    drawn = [mw * pue.at(Fraction(mw, max(1, full_mw))) for mw in levels.tolist()]
    used = sum((mw * ns for mw, ns in zip(drawn, lasts.tolist(), strict=True)), start=Fraction(0))
    return Facility(used, max(drawn, default=Fraction(0)))


def parse_pue(text: str) -> Pue:
    """A PUE as it is written. Raises InputError if it is none, or its loads are not ascending."""
    parts = text.split()
    if len(parts) == 1 and ":" not in text:
        return Pue((Fraction(0),), (_value(parts[0], text, 1, _MOST),))
    loads: list[Fraction] = []
    values: list[Fraction] = []
    for part in parts:
        load, colon, value = part.partition(":")
        if not colon or not load.endswith("%"):
            raise _wrong(text)
        loads.append(_value(load.removesuffix("%"), text, 0, 100) / 100)
        values.append(_value(value, text, 1, _MOST))
    if not loads or any(second <= first for first, second in pairwise(loads)):
        raise _wrong(text)
    return Pue(tuple(loads), tuple(values))


def _value(word: str, text: str, least: int, most: int) -> Fraction:
    if not _NUMBER.fullmatch(word) or not least <= (found := Fraction(word)) <= most:
        raise _wrong(text)
    return found


def _wrong(text: str) -> InputError:
    return InputError(f"{PUE}: {shown(text)}; allowed: {_ALLOWED}")
