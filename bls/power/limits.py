"""Limits to what the machine may draw: from a file, and what of them is known when.

A CSV file of one line a limit, in any order::

    from,to,limit_w
    0,24h,407000
    18h,20h,75%

Times are as everywhere (a bare number is seconds since time 0). A limit is in force from ``from`` up to, not including, ``to``;
without ``to`` for ever. It is in W, or a share of what the machine draws if all its cores work at full speed. Of several that
are in force the lowest counts. It is known only some time after it has begun, the reaction.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bls.machine.host_power import milliwatts
from traces.base.errors import InputError, shown
from traces.base.given_file import read_csv
from traces.base.time import MAX_NS, parse_instant_ns
from traces.compiled import Array

__all__ = ["NO_LIMITS", "Limit", "Limits", "read_limits"]

_COLUMNS = ["from", "to", "limit_w"]
_SHARE = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,9})?)\s*%")
_WATTS = re.compile(r"[0-9]{1,12}(\.[0-9]{1,3})?")
_MOST_W = 10**12


@dataclass(frozen=True)
class Limit:
    """The machine may draw no more than ``power_mw`` from ``begin_ns`` up to, not including, ``end_ns``."""

    begin_ns: int
    end_ns: int
    power_mw: int

    def __post_init__(self) -> None:
        if not 0 <= self.begin_ns < self.end_ns <= MAX_NS:
            raise InputError(f"limit: from {self.begin_ns} to {self.end_ns} ns; allowed: from before to")


@dataclass(frozen=True)
class Limits:
    """Limits, and how long after its begin each of them is known.

    Parameters
    ----------
    limits : sequence of Limit
    reaction_ns : int
    """

    limits: tuple[Limit, ...] = ()
    reaction_ns: int = 0

    def __bool__(self) -> bool:
        return bool(self.limits)

    @property
    def instants(self) -> Array:
        """When anything of what is in force, or known, changes: int64, ascending."""
        found = {
            at
            for one in self.limits
            for at in (one.begin_ns, min(one.begin_ns + self.reaction_ns, one.end_ns), one.end_ns)
            if at < MAX_NS
        }
        return np.array(sorted(found), np.int64)

    def at(self, instant_ns: int, *, known: bool) -> int | None:
        """The lowest limit in force, mW, or of those that are known; None if there is none."""
        late = self.reaction_ns if known else 0
        return min(
            (one.power_mw for one in self.limits if one.begin_ns + late <= instant_ns < one.end_ns), default=None
        )

    def steps(self, instants: Sequence[int] | Array, none_mw: int, *, known: bool) -> Array:
        """The same at each of some instants: int64; ``none_mw`` where there is none."""
        bounds, late = self.instants, self.reaction_ns if known else 0
        steps = np.full(len(bounds) + 1, none_mw, np.int64)  # before the first of them there is none
        for one in self.limits:
            first, stop = np.searchsorted(bounds, (one.begin_ns + late, one.end_ns))
            steps[first + 1 : stop + 1] = np.minimum(steps[first + 1 : stop + 1], one.power_mw)
        found: Array = steps[np.searchsorted(bounds, np.asarray(instants, np.int64), side="right")]
        return found

    def ahead(self, instant_ns: int) -> list[tuple[int, int]]:
        """What is known now of the time to come: (until, mW), ascending in both, the lowest limit up to each instant."""
        known = [one for one in self.limits if one.begin_ns + self.reaction_ns <= instant_ns < one.end_ns]
        stairs: list[tuple[int, int]] = []
        for one in sorted(known, key=lambda one: (one.power_mw, -one.end_ns)):
            if not stairs or one.end_ns > stairs[-1][0]:
                stairs.append((one.end_ns, one.power_mw))
        # Of equal heights the later end counts, and it came first.
        return stairs

    def union(self) -> list[tuple[int, int]]:
        """When any limit is in force: disjoint and ascending."""
        found: list[tuple[int, int]] = []
        for one in sorted(self.limits, key=lambda one: one.begin_ns):
            if found and one.begin_ns <= found[-1][1]:
                found[-1] = found[-1][0], max(found[-1][1], one.end_ns)
            else:
                found.append((one.begin_ns, one.end_ns))
        return found


NO_LIMITS = Limits()


def read_limits(path: str | os.PathLike[str], full_mw: int) -> tuple[Limit, ...]:
    """The limits of a file.

    Parameters
    ----------
    path : path
    full_mw : int
        What shares are of.

    Raises
    ------
    InputError
        One line that names the file and the line: columns are missing or unknown, a time is none, ``from`` is not before
        ``to``, a limit is no power and no share.
    """
    source = os.fspath(path)
    lines = read_csv(path, "file of limits")
    _, header = next(lines)
    if sorted(header) != sorted(_COLUMNS):
        raise InputError(f"{source}: the columns are {shown(','.join(header))}; allowed: {','.join(_COLUMNS)}")
    found = []
    for line, fields in lines:
        values = dict(zip(header, fields, strict=True))
        where = f"{source}: line {line}"
        begin = parse_instant_ns(values["from"], f"{where}: from")
        end = parse_instant_ns(values["to"], f"{where}: to") if values["to"].strip() else MAX_NS
        if end <= begin:
            raise InputError(f"{where}: to {values['to']} is not after from {values['from']}; allowed: from before to")
        found.append(Limit(begin, end, _power_mw(values["limit_w"].strip(), full_mw, f"{where}: limit_w")))
    if not found:
        raise InputError(f"{source}: no limit; allowed: a line for each, as 0,24h,407000")
    return tuple(found)


def _power_mw(text: str, full_mw: int, where: str) -> int:
    if (share := _SHARE.fullmatch(text)) and float(share[1]) <= 100:
        whole, _, part = share[1].partition(".")
        found: int = full_mw * int(whole + part) // (100 * 10 ** len(part))
        return found
    if _WATTS.fullmatch(text):
        return milliwatts(where, float(text), most_w=_MOST_W)
    raise InputError(f"{where}: {shown(text)}; allowed: W, as 407000, or a share of full power, 0% to 100%, as 80%")
