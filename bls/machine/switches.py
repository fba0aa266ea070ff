"""The switches that connect the hosts: a tree (or several) over contiguous ranges of hosts, as in Slurm's topology/tree.

A leaf switch has hosts, a higher one has switches. Every host is on exactly one leaf, and a switch covers a contiguous
range of hosts, so that a switch is two numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from traces.base.columns import Columns
from traces.base.errors import InputError, one_of, shown
from traces.compiled import Array
from traces.intervals import intervals_text, parse_intervals

__all__ = ["Switch", "Topology", "printable_name", "topology"]


def printable_name(key: str, value: object) -> str:
    """``value`` as a name: 1 to 100 printable characters, or an InputError that begins with ``key``."""
    if not isinstance(value, str) or not 1 <= len(value) <= 100 or not value.isprintable():
        raise InputError(f"{key}: {shown(value)} is no name; allowed: 1 to 100 printable characters")
    return value


@dataclass(frozen=True)
class Switch:
    """One switch: a leaf, which has hosts, or a higher one, which has switches.

    Parameters
    ----------
    name : str
        1 to 100 printable characters.
    hosts : str
        Host numbers of a leaf, as ``0-15``: a contiguous range.
    switches : tuple of str
        Names of the switches below a higher one.

    Raises
    ------
    InputError
        If neither or both are given, or a value cannot be used; the message begins with its name.
    """

    name: str
    hosts: str = ""
    switches: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        printable_name("name", self.name)
        if not isinstance(self.hosts, str):
            raise InputError(f"hosts: {shown(self.hosts)} is not a text; allowed: as '0-15'")
        below: object = self.switches
        if not isinstance(below, list | tuple) or not all(isinstance(name, str) for name in below):
            raise InputError(f"switches: {shown(below)} is no list of names; allowed: as ['s0', 's1']")
        object.__setattr__(self, "switches", tuple(below))
        found = parse_intervals(self.hosts, "hosts")
        if bool(found) == bool(self.switches):
            raise InputError("hosts: a switch has either hosts or switches")
        if len(found) > 1:
            raise InputError(f"hosts: {shown(self.hosts)} has gaps; allowed: a contiguous range, as '0-15'")
        object.__setattr__(self, "hosts", intervals_text(found))


@dataclass(frozen=True, eq=False)
class Topology(Columns):
    """The switches as arrays: leaves first, by host; then the others by level and host. Arrays are read-only.

    Attributes
    ----------
    names : tuple of str, length S
        Of the switches.
    lo, hi : ndarray of int64, shape (S,)
        Switch ``s`` covers the hosts ``lo[s]`` up to, not including, ``hi[s]``.
    level : ndarray of int64, shape (S,)
        0 for a leaf, else one more than the highest of the switches below.
    n_leaves : int
        Switch ``s`` is a leaf exactly if ``s < n_leaves``.
    """

    names: tuple[str, ...]
    lo: Array
    hi: Array
    level: Array
    n_leaves: int

    def __len__(self) -> int:
        return len(self.names)


def topology(switches: Sequence[Switch], n_hosts: int) -> Topology:
    """The arrays of some switches; empty ones where there are no switches.

    Raises
    ------
    InputError
        If names are used twice or unknown, hosts or switches are on two switches, a host is on none, a switch
        is above itself, or what one covers has gaps. The message begins with the key's path.
    """
    rows: dict[str, int] = {}
    above: dict[str, str] = {}
    for row, switch in enumerate(switches):
        if switch.name in rows:
            raise InputError(f"switches[{row}].name: {shown(switch.name)} is the name of two switches")
        rows[switch.name] = row
    for row, switch in enumerate(switches):
        for name in switch.switches:
            if name not in rows:
                raise one_of("switch", name, rows, f"switches[{row}].switches")
            if name in above:
                both = f"{shown(above[name])} and {shown(switch.name)}"
                raise InputError(f"switches[{row}].switches: switch {shown(name)} is below two: {both}")
            above[name] = switch.name
    found: dict[str, tuple[int, int, int]] = {}  # level, lo, hi
    for row, switch in enumerate(switches):
        if switch.hosts:
            ((lo, hi),) = parse_intervals(switch.hosts, f"switches[{row}].hosts", n_hosts)
            if hi > n_hosts:
                raise InputError(f"switches[{row}].hosts: host {hi - 1}; the platform has the hosts 0 to {n_hosts - 1}")
            found[switch.name] = (0, lo, hi)
    _check_leaves(found, n_hosts)
    while len(found) < len(rows):
        ready = [s for s in switches if s.name not in found and all(name in found for name in s.switches)]
        if not ready:
            circle = ", ".join(shown(name) for name in rows if name not in found)
            raise InputError(f"switches: some are above themselves, among {circle}")
        for switch in ready:
            below = sorted(found[name][1:] for name in switch.switches)
            if any(a[1] != b[0] for a, b in itertools.pairwise(below)):
                hosts = intervals_text(below)
                raise InputError(f"switches[{rows[switch.name]}].switches: what they cover has gaps: hosts {hosts}")
            level = 1 + max(found[name][0] for name in switch.switches)
            found[switch.name] = (level, below[0][0], below[-1][1])
    order = sorted(found, key=lambda name: found[name])
    columns = np.array([found[name] for name in order], dtype=np.int64).reshape(-1, 3).T
    levels = columns[0].copy()
    n_leaves = int(np.count_nonzero(levels == 0))
    return Topology(tuple(order), columns[1].copy(), columns[2].copy(), levels, n_leaves)


def _check_leaves(leaves: dict[str, tuple[int, int, int]], n_hosts: int) -> None:
    # Every host is on exactly one leaf.
    stop, last = 0, ""
    for name, (_, lo, hi) in sorted(leaves.items(), key=lambda item: item[1]):
        if lo < stop:
            raise InputError(f"switches: host {lo} is on two leaf switches, {shown(last)} and {shown(name)}")
        if lo > stop:
            break
        stop, last = hi, name
    if leaves and stop < n_hosts:
        raise InputError(f"switches: host {stop} is on no leaf switch; every host is on exactly one")
