"""Domains, which have power limits: the machine, and those that features declare (``bls.engine.feature.PowerFacts``)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bls.machine.partitions import PartitionTable
from bls.power.accounting import PowerRun, PowerSeries, account
from bls.power.limits import Limit, Limits
from bls.power.table import PowerTable
from traces.base.columns import Columns
from traces.compiled import Array


@dataclass(frozen=True, eq=False)
class Domain(Columns):
    """The machine, or the base of another domain, which consists of whole hosts."""

    name: str  # as in a file of limits; empty: the machine
    table: PowerTable
    n_hosts: Array  # int64 (G,): the number of its hosts of each group
    limits: Limits

    def total_mw(self, host_mw: Array) -> int:
        """The power of all its hosts, from that of a host of each group."""
        return int((self.n_hosts * host_mw).sum())

    @property
    def idle_mw(self) -> int:
        """Its power if all cores are idle."""
        return self.total_mw(self.table.host_idle_mw)

    @property
    def full_mw(self) -> int:
        """Its power if all cores work at full speed."""
        return self.total_mw(self.table.host_full_mw)

    def has(self, host: Array) -> Array:
        """Whether it has each of some hosts: bool."""
        return np.ones(len(host), np.bool_)

    def in_partitions(self, partitions: PartitionTable) -> tuple[Array, Array]:
        """Whether it has any hosts of each partition, and whether it has all: bool (P,) each."""
        return np.ones(len(partitions), np.bool_), np.ones(len(partitions), np.bool_)

    def in_groups(self, first_core: Array) -> Array:
        """Its cores as half-open intervals within groups, which begin with these cores: begin, end, group, int64 (3, k)."""
        return np.stack([first_core[:-1], first_core[1:], np.arange(len(first_core) - 1)])

    def series(self, run: PowerRun) -> PowerSeries:
        """Its power over time."""
        return account(run).series


def domains_of(limits: Sequence[Limit], table: PowerTable, named: Callable[[str, str], Domain]) -> tuple[Domain, ...]:
    """The machine, and the domains that limits name, in the order of their first mention, with their limits. The instants of
    each include all instants at which any of them changes. ``named`` finds a domain without limits by the text of a limit, and
    where that is."""
    machine = Domain("", table, table.n_hosts, Limits())
    found, mine = {"": machine}, dict[str, list[Limit]]({"": []})
    for one in limits:
        domain = named(one.where, "limits: where") if one.where else machine
        found.setdefault(domain.name, domain)
        mine.setdefault(domain.name, []).append(one)
    every, noticed = tuple(Limits(tuple(limits)).instants.tolist()), any(one.notice_ns for one in limits)
    return tuple(replace(one, limits=Limits(tuple(mine[name]), every, noticed)) for name, one in found.items())
