"""What constrains the jobs of one run: partitions, what the jobs ask for, who waits for whom, windows and outages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bls.constraints.advance_reservations import Windows
from bls.constraints.dependencies import Dependencies
from bls.constraints.outages import Outages
from bls.constraints.resource_requests import Requests
from bls.constraints.widths import Widths
from bls.engine.state import NEVER
from bls.machine.partitions import PartitionTable, partition_table
from bls.machine.platform import Platform
from traces.base.time import MAX_NS
from traces.compiled import Array

_WORD = 32


@dataclass(frozen=True, eq=False)
class JobConstraints:
    """Everything about n jobs that is not in the workload itself. None: there is no such thing."""

    # int64 (n,) or None: each job's partition of the platform; None where the platform names none
    partition: Array | None = None
    requests: Requests | None = None  # what a unit of each job asks for; None: a core
    dependencies: Dependencies | None = None
    windows: Windows | None = None  # reservations and maintenance
    outages: Outages | None = None  # failures of hosts
    widths: Widths | None = None  # between which numbers of cores the jobs' widths may change; None: they do not
    # whether the engine keeps track of single cores although these jobs ask for nothing else: others of the same run may
    cores_differ: bool = False

    @property
    def drains(self) -> bool:
        """Whether hosts are drained."""
        return self.outages is not None and self.outages.drained is not None

    def interchangeable(self, platform: Platform) -> bool:
        """Whether every free core is as good as any other to every job, now and later."""
        table = partition_table(platform)
        return (
            not self.cores_differ
            and len(table) == 1
            and int(table.n_cores[0]) == platform.n_cores
            and (self.requests is None or self.requests.plain)
            and (self.windows is None or len(self.windows) == 0)
        )


def core_mask(lo: Array, hi: Array, n_cores: int) -> Array:
    """The cores of some half-open intervals as words of 32 bits (int64), as ``bls.availability.free_cores`` has them."""
    change = np.zeros(n_cores + 1, np.int64)
    np.add.at(change, lo, 1)
    np.add.at(change, hi, -1)
    within = np.zeros(-(-n_cores // _WORD) * _WORD, bool)
    within[:n_cores] = np.cumsum(change[:-1]) > 0
    return np.packbits(within, bitorder="little").view(np.uint32).astype(np.int64)


def masks(table: PartitionTable, windows: Windows | None, n_cores: int) -> Array:
    """The cores of each partition, then of each window: int64 (P + W, words)."""
    rows = [core_mask(table.core_lo[a:b], table.core_hi[a:b], n_cores) for a, b in _spans(table.first)]
    if windows is not None:
        rows += [core_mask(windows.core_lo[a:b], windows.core_hi[a:b], n_cores) for a, b in _spans(windows.core_first)]
    return np.array(rows)


def planned_outages(windows: Windows | None, n_hosts: int) -> list[list[tuple[int, int]]]:
    """When each host is in maintenance: (begin, end) pairs, ascending."""
    found: list[list[tuple[int, int]]] = [[] for _ in range(n_hosts)]
    if windows is not None:
        for w, (a, b) in enumerate(_spans(windows.host_first)):
            for lo, hi in zip(windows.host_lo[a:b].tolist(), windows.host_hi[a:b].tolist(), strict=True):
                for host in range(lo, hi):
                    found[host].append((int(windows.begin_ns[w]), int(windows.end_ns[w])))
    return [sorted(pairs) for pairs in found]


def outage_columns(outages: Outages | None, windows: Windows | None, n_hosts: int) -> tuple[Array, Array, Array]:
    """``BatchState.outage_first, outage_down, outage_up``: failures of all hosts, then their maintenance, and where there is
    any, when they are drained; empty if none.

    A host that is never repaired is so at ``bls.engine.state.NEVER``, which is no event.
    """
    if outages is None and (windows is None or not len(windows.host_lo)):
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64)
    planned = planned_outages(windows, n_hosts)
    pairs = np.array([pair for host in planned for pair in host], np.int64).reshape(-1, 2)
    counts = np.array([len(host) for host in planned], np.int64)
    if outages is None:
        failures, down, up = np.zeros(n_hosts + 1, np.int64), pairs[:0, 0], pairs[:0, 1]
    else:
        failures, down = outages.first, outages.down_ns
        up = np.where(outages.up_ns < MAX_NS, outages.up_ns, NEVER)
    first = np.concatenate([failures, failures[-1] + np.cumsum(counts)])
    columns = first, np.concatenate([down, pairs[:, 0]]), np.concatenate([up, pairs[:, 1]])
    if outages is None or outages.drained is None:
        return columns
    drained, known = outages.drained, columns[0][-1]
    up = np.where(drained.up_ns < MAX_NS, drained.up_ns, NEVER)
    down = np.where(drained.down_ns < MAX_NS, drained.down_ns, NEVER)
    more = known + drained.first[1:], down, up
    first, down, up = (np.concatenate(both) for both in zip(columns, more, strict=True))
    return first, down, up


def _spans(first: Array) -> list[tuple[int, int]]:
    return list(zip(first[:-1].tolist(), first[1:].tolist(), strict=True))
