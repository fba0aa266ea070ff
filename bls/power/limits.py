"""Power limits from a CSV file (docs/reference/power.md), and when they are known.

A limit is in force from ``from`` up to, not including, ``to``. If several are in force, the lowest counts. The scheduler
knows a limit from its begin on; with ``reaction`` later, with ``notice`` earlier.
"""

import os
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from bls.machine.host_power import milliwatts
from traces.base.errors import InputError, real, shown, whole
from traces.base.given_file import read_csv
from traces.base.time import MAX_NS, parse_instant_ns
from traces.compiled import Array

_COLUMNS = ["from", "to", "limit_w"]
_WHERE = "where"
_REACTION, _NOTICE = "reaction", "notice"
_OPTIONAL = (_WHERE, _REACTION, _NOTICE)
_SHARE = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,9})?)\s*%")
_WATTS = re.compile(r"[0-9]{1,12}(\.[0-9]{1,3})?")
_MOST_W = 10**12

NO_LIMIT: Final = -1  #: entry of tables for no limit


@dataclass(frozen=True)
class Limit:
    """A domain (``bls.power.domains``) may draw at most ``power_mw`` from ``begin_ns`` up to, not including, ``end_ns``."""

    begin_ns: int
    end_ns: int
    power_mw: int
    where: str = ""  # the domain; empty: the machine
    reaction_ns: int = 0  # it is known this long after its begin
    notice_ns: int = 0  # it is known this long before its begin; at most one of the two is not 0

    @property
    def known_ns(self) -> int:
        """The instant from which it is known."""
        return max(0, self.begin_ns + self.reaction_ns - self.notice_ns)

    def __post_init__(self) -> None:
        if self.reaction_ns and self.notice_ns:
            raise InputError(f"{_REACTION} and {_NOTICE}; allowed: one of them")
        if not 0 <= self.begin_ns < self.end_ns <= MAX_NS:
            raise InputError(f"from {self.begin_ns} to {self.end_ns} ns; allowed: from before to")
        if not 0 <= self.power_mw <= _MOST_W * 1000:
            raise InputError(f"{self.power_mw} mW; allowed: 0 to {_MOST_W * 1000}")


class Stairs(NamedTuple):
    """The lowest known limits at some instants: int64 each. The k-th instant has the rows ``first[k]:first[k + 1]``, ascending
    in both columns: at most ``power_mw`` up to ``until_ns``."""

    first: Array
    until_ns: Array
    power_mw: Array


@dataclass(frozen=True)
class Limits:
    """Limits of one domain."""

    limits: tuple[Limit, ...] = ()
    also_ns: tuple[int, ...] = ()  # further instants to be included in :attr:`instants`
    noticed: bool = False  # whether any limit of the run is known before its begin

    def __bool__(self) -> bool:
        return bool(self.limits)

    @cached_property
    def instants(self) -> Array:
        """The instants at which limits in force, or known limits, change: int64, ascending."""
        bounds = ((min(one.known_ns, one.end_ns), one.begin_ns, one.end_ns) for one in self.limits)
        found = {at for three in bounds for at in three if at < MAX_NS}
        return np.array(sorted(found.union(self.also_ns)), np.int64)

    def any_known(self, instants: Array) -> Array:
        """Whether any limit is known at each of some instants, in force or to come: bool."""
        spans = joined((one.known_ns, one.end_ns) for one in self.limits)
        bounds = np.array([at for span in spans for at in span], np.int64)
        return np.asarray(np.searchsorted(bounds, instants, side="right") % 2 == 1)

    def lowerings(self, most_mw: int) -> tuple[Array, ...]:
        """Decreases of the known limits, at first ``most_mw``, at each of :attr:`instants`: int64 columns first, since_ns,
        until_ns, less_mw. The k-th instant has the rows ``first[k]:first[k + 1]``, which add up."""
        pending = sorted(((one.known_ns, one.begin_ns, one.end_ns, one.power_mw) for one in self.limits), reverse=True)
        # The limits known so far: from each instant up to the next.
        at, power = [0], [most_mw]
        first, rows = [0], list[tuple[int, int, int]]()
        for now in self.instants.tolist():
            while pending and pending[-1][0] <= now:
                _, begin, end, most = pending.pop()
                for instant in (begin, end):
                    place = bisect_right(at, instant) - 1
                    if at[place] < instant:
                        at.insert(place + 1, instant)
                        power.insert(place + 1, power[place])
                for place in range(bisect_left(at, begin), bisect_left(at, end)):
                    if power[place] > most:
                        until = at[place + 1] if place + 1 < len(at) else MAX_NS
                        rows.append((at[place], until, power[place] - most))
                        power[place] = most
            first.append(len(rows))
        columns = np.array(rows, np.int64).reshape(-1, 3).T
        return np.array(first, np.int64), *(column.copy() for column in columns)

    def steps(self, instants: Sequence[int] | Array, none_mw: int, *, known: bool) -> Array:
        """The lowest limit in force (or ``known``) at each of some instants, mW: int64; ``none_mw`` if there is none."""
        bounds = self.instants
        steps = np.full(len(bounds) + 1, none_mw, np.int64)  # there is no limit before the first instant
        # Lower limits overwrite higher limits.
        ordered = sorted(self.limits, key=lambda one: -one.power_mw)
        late = (one.begin_ns + (one.reaction_ns if known else 0) for one in ordered)
        first = np.searchsorted(bounds, np.array([min(begin, MAX_NS) for begin in late], np.int64))
        stop = np.searchsorted(bounds, np.array([one.end_ns for one in ordered], np.int64))
        for one, begin, end in zip(ordered, first.tolist(), stop.tolist(), strict=True):
            steps[begin + 1 : end + 1] = one.power_mw
        return np.asarray(steps[np.searchsorted(bounds, np.asarray(instants, np.int64), side="right")])

    def listed(self) -> list[list[float]]:
        """The limits as [from_ns, to_ns, W], for a record of the run."""
        return [[one.begin_ns, one.end_ns, one.power_mw / 1000] for one in self.limits]

    @cached_property
    def stairs(self) -> Stairs:
        """The known future limits at each of :attr:`instants`."""
        known = ((one.begin_ns + one.reaction_ns, one.end_ns, one.power_mw) for one in self.limits)
        pending = sorted(known, reverse=True)
        # The known limits that count at some time, ascending in both; a limit must outlast those that are no higher.
        until, power = list[int](), list[int]()
        first, untils, powers = [0], list[int](), list[int]()
        for now in self.instants.tolist():
            while pending and pending[-1][0] <= now:
                _, end, most = pending.pop()
                longer = bisect_left(until, end)
                if end <= now or (longer < len(until) and power[longer] <= most):
                    continue
                # Among the limits that end no later, those that are no lower.
                stop = bisect_right(until, end)
                begin = bisect_left(power, most, 0, stop)
                until[begin:stop], power[begin:stop] = [end], [most]
            over = bisect_right(until, now)
            del until[:over], power[:over]
            untils += until
            powers += power
            first.append(len(untils))
        return Stairs(*(np.array(column, np.int64) for column in (first, untils, powers)))


def joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Half-open spans of time, joined to disjoint ascending spans; empty spans are left out."""
    found: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        elif begin < end:
            found.append((begin, end))
    return found


def read_limits(path: str | os.PathLike[str], full_mw: int, full_of: Callable[[str, str], int]) -> tuple[Limit, ...]:
    """The limits of a file. Shares are relative to ``full_mw``, or for another domain to ``full_of(name, where)``. Raises
    InputError, in one line that names the file and the line, if the file is not valid."""
    source = os.fspath(path)
    lines = read_csv(path, "file of limits")
    _, header = next(lines)
    if sorted(set(header).difference(_OPTIONAL)) != sorted(_COLUMNS) or len(set(header)) < len(header):
        allowed = f"{','.join(_COLUMNS)}, and {', '.join(_OPTIONAL)}"
        raise InputError(f"{source}: the columns are {shown(','.join(header))}; allowed: {allowed}")
    found = []
    for line, fields in lines:
        values = dict(zip(header, fields, strict=True))
        where = f"{source}: line {line}"
        begin = parse_instant_ns(values["from"], f"{where}: from")
        end = parse_instant_ns(values["to"], f"{where}: to") if values["to"].strip() else MAX_NS
        if end <= begin:
            raise InputError(f"{where}: to {values['to']} is not after from {values['from']}; allowed: from before to")
        part = values.get(_WHERE, "").strip()
        full = full_of(part, f"{where}: {_WHERE}") if part else full_mw
        times = (parse_instant_ns(values.get(name, "").strip() or "0", f"{where}: {name}") for name in _OPTIONAL[1:])
        power = _power_mw(values["limit_w"].strip(), full, f"{where}: limit_w")
        found.append(_limit(where, begin, end, power, part, *times))
    if not found:
        raise InputError(f"{source}: no limit; allowed: a line for each, as 0,24h,407000")
    return _checked(found, source)


def _limit(where: str, begin: int, end: int, power: int, part: str, *times: int) -> Limit:
    try:
        return Limit(begin, end, power, part, *times)
    except InputError as error:
        raise InputError(f"{where}: {error.text}") from None


def _checked(limits: Sequence[Limit], where: str) -> tuple[Limit, ...]:
    # A pass that plans with future limits cannot respect a limit that becomes known late.
    if any(one.reaction_ns for one in limits) and any(one.notice_ns for one in limits):
        raise InputError(f"{where}: some limits have a {_REACTION}, others a {_NOTICE}; allowed: one of them")
    return tuple(limits)


def given_limits(given: object) -> tuple[Limit, ...]:
    """Return the limits of a sequence of (from_ns, to_ns, W), or also where, reaction_ns and notice_ns, as of ``Power.limits``;
    W are rounded to whole mW. Raises InputError: one line that begins with ``limits``, or ``limits[k]``."""
    as_is = "allowed: (from_ns, to_ns, W) for each, as (0, 86_400 * 10**9, 407_000); to_ns None is for ever"
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray) or not len(given):
        raise InputError(f"limits: {shown(given)}; {as_is}")
    found = []
    for place, one in enumerate(given):
        where = f"limits[{place}]"
        if isinstance(one, str) or not isinstance(one, Sequence | np.ndarray) or not 3 <= len(one) <= 6:
            raise InputError(f"{where}: {shown(one)}; {as_is}")
        begin = whole(f"{where}: from", one[0], 0, MAX_NS)
        end = MAX_NS if one[1] is None else whole(f"{where}: to", one[1], 0, MAX_NS)
        part = one[3] if len(one) > 3 else ""
        if not isinstance(part, str):
            from bls.power.facts import FACTS  # loads what is based on this module

            forms = ", ".join(one.domain_forms for one in FACTS if one.domain_forms)
            raise InputError(f"{where}: where: {shown(part)}; allowed: a text, as {forms}")
        known = zip(_OPTIONAL[1:], one[4:], strict=False)
        times = (whole(f"{where}: {name}_ns", value, 0, MAX_NS) for name, value in known)
        power = round(real(f"{where}: W", one[2], 0, _MOST_W) * 1000)
        found.append(_limit(where, begin, end, power, part.strip(), *times))
    return _checked(found, "limits")


def _power_mw(text: str, full_mw: int, where: str) -> int:
    if (share := _SHARE.fullmatch(text)) and float(share[1]) <= 100:
        whole, _, part = share[1].partition(".")
        found: int = full_mw * int(whole + part) // (100 * 10 ** len(part))
        return found
    if _WATTS.fullmatch(text):
        return milliwatts(where, float(text), most_w=_MOST_W)
    raise InputError(f"{where}: {shown(text)}; allowed: W, as 407000, or a share of full power, 0% to 100%, as 80%")
