"""Parts of the machine that limits to power are of: a partition, a switch, or some hosts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bls.machine.partitions import partition_table
from bls.machine.platform import Platform
from bls.power.limits import Limit, Limits
from bls.power.table import PowerTable
from traces.base.columns import Columns
from traces.base.errors import InputError, one_of, shown
from traces.compiled import Array
from traces.intervals import intervals_text, parse_intervals

_ALLOWED = "allowed: nothing, for the machine, partition:NAME, switch:NAME, or hosts:4-7"


@dataclass(frozen=True, eq=False)
class Domain(Columns):
    """Some hosts of the machine that limits of their own are of."""

    name: str  # as in the file: ``partition:a``, ``switch:s0``, ``hosts:4-7``
    hosts: Array  # bool (H,): which they are
    # int64 (k,): the same as half-open intervals, and their cores
    host_lo: Array
    host_hi: Array
    core_lo: Array
    core_hi: Array
    # what they draw if all of their cores are idle, and if all work at full speed
    idle_mw: int
    full_mw: int
    limits: Limits  # those of this domain

    def clipped(self, lo: Array, hi: Array) -> tuple[Array, Array, Array]:
        """What of some intervals of cores is the domain's: which of them, and the pieces; int64 each."""
        rows, los, his = [], [], []
        for first, stop in zip(self.core_lo.tolist(), self.core_hi.tolist(), strict=True):
            low, high = np.maximum(lo, first), np.minimum(hi, stop)
            some = np.flatnonzero(low < high)
            rows.append(some)
            los.append(low[some])
            his.append(high[some])
        return np.concatenate(rows), np.concatenate(los), np.concatenate(his)


def _intervals(text: str, platform: Platform, where: str) -> tuple[str, list[tuple[int, int]]]:
    # The name as it is kept, and the hosts.
    kind, _, name = text.partition(":")
    kind, name = kind.strip(), name.strip()
    if kind == "partition":
        table = partition_table(platform)
        if name not in table.names:
            raise one_of("partition", name, table.names, where)
        row = table.names.index(name)
        rows = slice(int(table.first[row]), int(table.first[row + 1]))
        found = list(zip(table.host_lo[rows].tolist(), table.host_hi[rows].tolist(), strict=True))
    elif kind == "switch":
        names = platform.topology.names
        if not names:
            raise InputError(f"{where}: {shown(text)}: the platform has no switches; {_ALLOWED}")
        if name not in names:
            raise one_of("switch", name, names, where)
        hosts = platform.topology.below(names.index(name))
        runs = np.split(hosts, np.flatnonzero(np.diff(hosts) != 1) + 1)
        found = [(int(run[0]), int(run[-1]) + 1) for run in runs]
    elif kind == "hosts":
        found = parse_intervals(name, where, platform.n_hosts)
        if not found:
            raise InputError(f"{where}: {shown(text)}: no hosts; {_ALLOWED}")
        if found[-1][1] > platform.n_hosts:
            last = platform.n_hosts - 1
            raise InputError(f"{where}: host {found[-1][1] - 1}; the platform has the hosts 0 to {last}")
        name = intervals_text(found)
    else:
        raise InputError(f"{where}: {shown(text)}; {_ALLOWED}")
    return f"{kind}:{name}", found


def domain_named(text: str, platform: Platform, table: PowerTable, where: str) -> Domain:
    """The domain of a limit, of which no limit is known yet.

    - ``text``: ``partition:NAME``, ``switch:NAME`` or ``hosts:4-7``
    - ``table``: what its hosts draw

    Raises InputError if there is no such partition, switch or host.
    """
    name, intervals = _intervals(text, platform, where)
    lo, hi = (np.array(column, np.int64) for column in zip(*intervals, strict=True))
    hosts = np.zeros(platform.n_hosts, np.bool_)
    for first, stop in intervals:
        hosts[first:stop] = True
    group = table.group_of_host(np.flatnonzero(hosts))
    return Domain(
        *(name, hosts, lo, hi, platform.first_core[lo], platform.first_core[hi]),
        idle_mw=int(table.host_idle_mw[group].sum()),
        full_mw=int(table.host_full_mw[group].sum()),
        limits=Limits(),
    )


def domains_of(
    limits: Sequence[Limit], platform: Platform, table: PowerTable, reaction_ns: int, notice_ns: int
) -> tuple[Limits, tuple[Domain, ...]]:
    """The limits of the machine, and those of domains, in the order in which they are named first. All of them know of all
    instants at which any of them changes."""
    found: dict[str, Domain] = {}
    mine: dict[str, list[Limit]] = {"": []}
    for one in limits:
        name = ""
        if one.where:
            domain = domain_named(one.where, platform, table, "limits: where")
            name = domain.name
            found.setdefault(name, domain)
        mine.setdefault(name, []).append(one)
    every = Limits(tuple(limits), reaction_ns, notice_ns).instants
    also = tuple(every.tolist()) if found else ()
    made = {name: Limits(tuple(some), reaction_ns, notice_ns, also) for name, some in mine.items()}
    return made[""], tuple(replace(domain, limits=made[name]) for name, domain in found.items())


def limits_of(limits: Limits, domains: Sequence[Domain]) -> tuple[Limit, ...]:
    """All limits, the machine's first."""
    return (*limits.limits, *(one for domain in domains for one in domain.limits.limits))
