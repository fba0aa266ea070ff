"""The switches that connect the hosts: a tree, or several, as in Slurm's topology/tree.

A leaf switch has hosts, a higher one has switches. Every host is on exactly one leaf. The hosts of a switch need not be
neighbours: listed tree by tree, the hosts below a switch follow one another, so that a switch is two numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from traces.base.columns import Columns, read_only
from traces.base.errors import InputError, one_of, shown
from traces.compiled import Array
from traces.intervals import intervals_text, parse_intervals


def printable_name(key: str, value: object) -> str:
    """``value`` as a name: 1 to 100 printable characters, or an InputError that begins with ``key``."""
    if not isinstance(value, str) or not 1 <= len(value) <= 100 or not value.isprintable():
        raise InputError(f"{key}: {shown(value)} is no name; allowed: 1 to 100 printable characters")
    return value


@dataclass(frozen=True)
class Switch:
    """One switch: a leaf, which has hosts, or a higher one, which has switches. Raises InputError if neither or both
    are given, or a value cannot be used; the message begins with its name."""

    name: str  # 1 to 100 printable characters
    hosts: str = ""  # host numbers of a leaf, as ``0-15`` or ``0-3 8``
    switches: tuple[str, ...] = ()  # names of the switches below a higher one

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
        object.__setattr__(self, "hosts", intervals_text(found))


@dataclass(frozen=True, eq=False)
class SwitchColumns(Columns):
    """The switches as arrays: leaves first, then level by level, each level by its lowest hosts. Arrays are read-only."""

    names: tuple[str, ...]  # names of the switches
    hosts: Array  # (H,): all hosts, tree by tree; the hosts of a leaf ascend. Without gaps it is 0 … H - 1.
    # (S,): switch ``s`` covers the hosts ``hosts[lo[s]:hi[s]]``
    lo: Array
    hi: Array
    level: Array  # (S,): 0 for a leaf, else one more than the highest of the switches below
    n_leaves: int  # switch ``s`` is a leaf exactly if ``s < n_leaves``

    def __len__(self) -> int:
        return len(self.names)

    def below(self, row: int) -> Array:
        """The hosts that switch ``row`` covers, int64, ascending."""
        return np.sort(self.hosts[self.lo[row] : self.hi[row]])

    @cached_property
    def leaf_of_host(self) -> Array:
        """The leaf switch of each host, int64 (H,), read-only."""
        leaf = np.zeros(len(self.hosts), np.int64)
        for row in range(self.n_leaves):
            leaf[self.hosts[self.lo[row] : self.hi[row]]] = row
        return read_only(leaf)


def topology(switches: Sequence[Switch], n_hosts: int) -> SwitchColumns:
    """The arrays of some switches; empty ones where there are no switches. Raises InputError if names are used twice or
    unknown, hosts or switches are on two switches, a host is on none, or a switch is above itself. The message begins with
    the key's path."""
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
    hosts = _hosts_of_leaves(switches, n_hosts)  # of each switch that is known, tree by tree
    level = dict.fromkeys(hosts, 0)
    while len(hosts) < len(rows):
        ready = [s for s in switches if s.name not in hosts and all(name in hosts for name in s.switches)]
        if not ready:
            circle = ", ".join(shown(name) for name in rows if name not in hosts)
            raise InputError(f"switches: some are above themselves, among {circle}")
        for switch in ready:
            below = sorted((hosts[name] for name in switch.switches), key=lambda some: int(some.min()))
            hosts[switch.name] = np.concatenate(below)
            level[switch.name] = 1 + max(level[name] for name in switch.switches)
    lowest = {name: int(some.min()) for name, some in hosts.items()}
    roots = sorted((name for name in hosts if name not in above), key=lambda name: lowest[name])
    every = np.concatenate([np.zeros(0, np.int64), *(hosts[name] for name in roots)])
    place = np.argsort(every)
    order = sorted(hosts, key=lambda name: (level[name], lowest[name]))
    lo = np.array([place[hosts[name][0]] for name in order], np.int64)
    hi = lo + np.array([len(hosts[name]) for name in order], np.int64)
    levels = np.array([level[name] for name in order], np.int64)
    return SwitchColumns(tuple(order), every, lo, hi, levels, int(np.count_nonzero(levels == 0)))


def _hosts_of_leaves(switches: Sequence[Switch], n_hosts: int) -> dict[str, Array]:
    # The hosts of each leaf, ascending: every host is on exactly one.
    found: dict[str, Array] = {}
    leaf = np.full(n_hosts, -1, np.int64)
    for row, switch in enumerate(switches):
        if not switch.hosts:
            continue
        spans = parse_intervals(switch.hosts, f"switches[{row}].hosts", n_hosts)
        if spans[-1][1] > n_hosts:
            last = spans[-1][1] - 1
            raise InputError(f"switches[{row}].hosts: host {last}; the platform has the hosts 0 to {n_hosts - 1}")
        hosts = np.concatenate([np.arange(lo, hi) for lo, hi in spans])
        if (twice := hosts[leaf[hosts] >= 0]).size:
            both = f"{shown(switches[leaf[twice[0]]].name)} and {shown(switch.name)}"
            raise InputError(f"switches: host {twice[0]} is on two leaf switches, {both}")
        leaf[hosts] = row
        found[switch.name] = hosts
    if found and (leaf < 0).any():
        raise InputError(f"switches: host {int(leaf.argmin())} is on no leaf switch; every host is on exactly one")
    return found
