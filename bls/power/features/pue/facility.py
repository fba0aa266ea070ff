"""The power of a facility by its PUE: read, computed from the power of a finished run, and shown.

The energy is an exact sum over pieces of constant power; each result is an exact fraction that is rounded once.
Source: The Green Grid, *PUE: A comprehensive examination of the metric*, white paper 49, 2012 (power usage effectiveness).
"""

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final

import numpy as np

from bls.power.accounting import PJ_PER_J
from bls.power.costs import FinishedPower
from bls.power.features.pue.feature import PUE
from bls.power.words import joules_text, watts_text
from traces.base.errors import InputError, shown

METRICS: Final = ("facility_energy_j", "facility_mean_pue", "facility_peak_w")

COMPARED: Final = {"facility_energy_j": ("facility energy", joules_text)}

_MOST_PUE: Final = 100
_PUE_NUMBER: Final = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,6})?")
_ALLOWED: Final = f"1 to {_MOST_PUE}, e.g. 1.4, or one per load, ascending from 0% to 100%, as 0%:2 50%:1.5 100%:1.3"


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


def parse_pue(text: str) -> Pue:
    """Read a PUE as users write it. Raises InputError if it is not valid, or its loads do not ascend."""
    parts = text.split()
    if len(parts) == 1 and ":" not in text:
        return Pue((Fraction(0),), (_value(parts[0], text, 1, _MOST_PUE),))
    loads: list[Fraction] = []
    values: list[Fraction] = []
    for part in parts:
        load, colon, value = part.partition(":")
        if not colon or not load.endswith("%"):
            raise _wrong(text)
        loads.append(_value(load.removesuffix("%"), text, 0, 100) / 100)
        values.append(_value(value, text, 1, _MOST_PUE))
    if not loads or any(second <= first for first, second in pairwise(loads)):
        raise _wrong(text)
    return Pue(tuple(loads), tuple(values))


def _value(word: str, text: str, least: int, most: int) -> Fraction:
    if not _PUE_NUMBER.fullmatch(word) or not least <= (found := Fraction(word)) <= most:
        raise _wrong(text)
    return found


def _wrong(text: str) -> InputError:
    return InputError(f"{PUE}: {shown(text)}; allowed: {_ALLOWED}")


def facility_metrics(power: FinishedPower, pue: Pue) -> dict[str, float | None]:
    """Compute the energy of the facility, its mean PUE (None without energy), and its highest power."""
    series, total = power.series, power.series.energy_pj()
    levels, of = np.unique(series.power_mw, return_inverse=True)
    lasts = np.zeros(len(levels), np.int64)
    np.add.at(lasts, of.reshape(-1), np.diff(np.append(series.instant_ns, series.until_ns)))
    drawn = [mw * pue.at(Fraction(mw, max(1, power.full_mw))) for mw in levels.tolist()]
    used = sum((mw * ns for mw, ns in zip(drawn, lasts.tolist(), strict=True)), start=Fraction(0))
    peak = max(drawn, default=Fraction(0))
    values = (float(used / PJ_PER_J), float(used / total) if total else None, float(peak / 1000))
    return dict(zip(METRICS, values, strict=True))


def facility_rows(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The facility's power, if ``found`` has these metrics, as (name, text)."""
    if "facility_energy_j" not in found:
        return []
    mean = "" if found["facility_mean_pue"] is None else f", a PUE of {found['facility_mean_pue']:.4g}"
    most = watts_text(found["facility_peak_w"])
    return [("facility", f"{joules_text(found['facility_energy_j'])}{mean}, at most {most}")]
