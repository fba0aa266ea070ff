"""Price and emissions of electricity over time, from a CSV file; and the power usage effectiveness (PUE) of a facility, by
its machine's load (docs/reference/power.md).

Source: The Green Grid, *PUE: A comprehensive examination of the metric*, white paper 49, 2012 (the PUE).
"""

import os
import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from bls.options import PUE
from bls.power.accounting import PJ_PER_J, Energy, PowerSeries
from traces.base.columns import Columns
from traces.base.errors import InputError, shown
from traces.base.given_file import read_csv
from traces.base.time import parse_instant_ns
from traces.compiled import Array

#: What a signal is of: the column of its file, and what energies come to, as a metric is called.
KINDS: Final = {"price_per_kwh": "cost", "g_co2e_per_kwh": "co2e_g"}

#: A number of a file is kept as so many whole parts of one.
_PARTS: Final = 10**6
_MOST: Final = 10**6
_NUMBER = re.compile(r"-?[0-9]{1,7}(\.[0-9]{1,6})?")

_PJ_PER_KWH: Final = 3_600_000 * PJ_PER_J


@dataclass(frozen=True)
class Signals(Columns):
    """What holds from each instant on."""

    source: str  # the file, for messages
    instant_ns: Array  # int64 (k,): ascending, the first is 0
    values: dict[str, list[int]]  # by the names of :data:`KINDS`: millionths for a kWh


class Spending(NamedTuple):
    """What some energies come to, each rounded once."""

    each: dict[str, Array]  # dict of str to float64 (n,): of each of them, by what it is called (:data:`KINDS`)
    total: dict[str, float]  # of all together


def spent(signals: Signals, pieces: Iterable[tuple[Array, Array, Array, Array]], n: int) -> Spending:
    """What the energy of pieces of time comes to, exactly. ``pieces``, iterable of (place, start_ns, end_ns, mw), int64
    each: whose it is, of ``n``, and that so much is drawn from one instant to another."""
    k = len(signals.instant_ns)
    exact = {name: [0] * n for name in signals.values}
    for place, start, end, mw in pieces:
        row, segment, lasts = _cut(signals.instant_ns, start, end)
        keys, of = np.unique(place[row] * k + segment, return_inverse=True)
        energies = Energy.of(mw[row], lasts).by(of.reshape(-1), len(keys)).pj_each()
        owners, segments = (keys // k).tolist(), (keys % k).tolist()
        for name, values in signals.values.items():
            mine = exact[name]
            for owner, at, pj in zip(owners, segments, energies, strict=True):
                mine[owner] += pj * values[at]
    unit = _PJ_PER_KWH * _PARTS
    each = {KINDS[name]: np.array([value / unit for value in mine], np.float64) for name, mine in exact.items()}
    return Spending(each, {KINDS[name]: sum(mine) / unit for name, mine in exact.items()})


def _cut(instant_ns: Array, start: Array, end: Array) -> tuple[Array, Array, Array]:
    # Spans, cut where a signal changes: which span, during which value, how long.
    first = np.searchsorted(instant_ns, start, side="right") - 1
    last = np.maximum(first, np.searchsorted(instant_ns, end, side="left") - 1)
    count = last - first + 1
    row = np.repeat(np.arange(len(start)), count)
    segment = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count) + first[row]
    until = np.append(instant_ns[1:], np.iinfo(np.int64).max)
    return row, segment, np.minimum(end[row], until[segment]) - np.maximum(start[row], instant_ns[segment])


def read_signals(path: str | os.PathLike[str]) -> Signals:
    """The signals of a file. Raises InputError, in one line that names the file and the line, if columns are missing or
    unknown, a time is none or not after the one before it, the first is not 0, or a number is none."""
    source = os.fspath(path)
    lines = read_csv(path, "file of signals")
    _, header = next(lines)
    kinds = [name for name in KINDS if name in header]
    if not kinds or sorted(header) != sorted(["from", *kinds]):
        raise InputError(
            f"{source}: the columns are {shown(','.join(header))}; allowed: from, and one or both of {', '.join(KINDS)}"
        )
    instants: list[int] = []
    values: dict[str, list[int]] = {name: [] for name in kinds}
    for line, fields in lines:
        given = dict(zip(header, fields, strict=True))
        where = f"{source}: line {line}"
        at = parse_instant_ns(given["from"], f"{where}: from")
        if not instants and at != 0:
            raise InputError(
                f"{where}: from {given['from']}; allowed: 0 in the first line, as nothing would hold before"
            )
        if instants and at <= instants[-1]:
            raise InputError(f"{where}: from {given['from']} is not after the line before; allowed: ascending")
        instants.append(at)
        for name in kinds:
            values[name].append(_parts(given[name], f"{where}: {name}", least=-_MOST if name == "price_per_kwh" else 0))
    if not instants:
        raise InputError(
            f"{source}: no signal; allowed: a line for each, as 0,{'0.25,380' if len(kinds) > 1 else '0.25'}"
        )
    return Signals(source, np.array(instants, np.int64), values)


def _parts(text: str, where: str, *, least: int) -> int:
    # A decimal number as whole parts, so that nothing is rounded.
    if _NUMBER.fullmatch(text):
        whole, _, part = text.partition(".")
        sign = -1 if text.startswith("-") else 1
        found = sign * (abs(int(whole)) * _PARTS + int(part.ljust(6, "0") if part else 0))
        if least * _PARTS <= found <= _MOST * _PARTS:
            return found
    raise InputError(f"{where}: {shown(text)}; allowed: {least} to {_MOST}, with up to six decimals, as 0.25")


_MOST_PUE: Final = 100
_PUE_NUMBER: Final = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,6})?")
_ALLOWED: Final = (
    f"1 to {_MOST_PUE}, as 1.4, or such numbers at ascending loads from 0% to 100%, as 0%:2 50%:1.5 100%:1.3"
)


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


def facility(series: PowerSeries, full_mw: int, pue: Pue) -> tuple[Fraction, Fraction]:
    """What the facility uses, pJ, and the most that it draws, mW, exactly, if its machine draws this, and up to ``full_mw``."""
    levels, of = np.unique(series.power_mw, return_inverse=True)
    lasts = np.zeros(len(levels), np.int64)
    np.add.at(lasts, of.reshape(-1), np.diff(np.append(series.instant_ns, series.until_ns)))
    drawn = [mw * pue.at(Fraction(mw, max(1, full_mw))) for mw in levels.tolist()]
    used = sum((mw * ns for mw, ns in zip(drawn, lasts.tolist(), strict=True)), start=Fraction(0))
    return used, max(drawn, default=Fraction(0))


def parse_pue(text: str) -> Pue:
    """A PUE as it is written. Raises InputError if it is none, or its loads are not ascending."""
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
