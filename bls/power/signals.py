"""Prices and emissions of electricity over time, read from a CSV file (docs/reference/power.md)."""

import os
import re
from dataclasses import dataclass
from typing import Final

import numpy as np

from traces.base.columns import Columns
from traces.base.errors import InputError, shown
from traces.base.given_file import read_csv
from traces.base.time import parse_instant_ns
from traces.compiled import Array

#: Columns of the file, and the metric that each one gives.
KINDS: Final = {"price_per_kwh": "cost", "g_co2e_per_kwh": "co2e_g"}

PARTS: Final = 10**6  #: numbers of the file are stored as whole millionths
_MOST: Final = 10**6
_NUMBER = re.compile(r"-?[0-9]{1,7}(\.[0-9]{1,6})?")


@dataclass(frozen=True)
class Signals(Columns):
    """Prices and emissions that apply from each instant on."""

    source: str  # the file, for messages
    instant_ns: Array  # int64 (k,): ascending, the first is 0
    values: dict[str, list[int]]  # by the names of :data:`KINDS`: millionths for a kWh


def read_signals(path: str | os.PathLike[str]) -> Signals:
    """Read the signals of a file. Raises InputError, one line that names the file and the line, if columns are missing or
    unknown, times do not ascend from 0, or a number is not valid."""
    source = os.fspath(path)
    lines = read_csv(path, "file of signals")
    _, header = next(lines)
    kinds = [name for name in KINDS if name in header]
    if not kinds or sorted(header) != sorted(["from", *kinds]):
        allowed = f"from, and one or both of {', '.join(KINDS)}"
        raise InputError(f"{source}: the columns are {shown(','.join(header))}; allowed: {allowed}")
    instants: list[int] = []
    values: dict[str, list[int]] = {name: [] for name in kinds}
    for line, fields in lines:
        given = dict(zip(header, fields, strict=True))
        where = f"{source}: line {line}"
        at = parse_instant_ns(given["from"], f"{where}: from")
        if not instants and at != 0:
            allowed = "0 in the first line, as nothing would hold before"
            raise InputError(f"{where}: from {given['from']}; allowed: {allowed}")
        if instants and at <= instants[-1]:
            raise InputError(f"{where}: from {given['from']} is not after the line before; allowed: ascending")
        instants.append(at)
        for name in kinds:
            values[name].append(_parts(given[name], f"{where}: {name}", least=-_MOST if name == "price_per_kwh" else 0))
    if not instants:
        as_is = "0,0.25,380" if len(kinds) > 1 else "0,0.25"
        raise InputError(f"{source}: no signal; allowed: a line for each, as {as_is}")
    return Signals(source, np.array(instants, np.int64), values)


def _parts(text: str, where: str, *, least: int) -> int:
    # A decimal number as whole parts, so that nothing is rounded.
    if _NUMBER.fullmatch(text):
        whole, _, part = text.partition(".")
        sign = -1 if text.startswith("-") else 1
        found = sign * (abs(int(whole)) * PARTS + int(part.ljust(6, "0") if part else 0))
        if least * PARTS <= found <= _MOST * PARTS:
            return found
    raise InputError(f"{where}: {shown(text)}; allowed: {least} to {_MOST}, with up to six decimals, as 0.25")
