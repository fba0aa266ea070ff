"""Constraints of the jobs of a run: partitions, requests, dependencies, windows, outages, widths."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bls.conflicts import UNAWARE
from bls.engine.features.switches.options import SWITCHES, switch_limit
from bls.engine.state import NEVER
from bls.machine.partitions import BEYOND_LIMITS, Partition, PartitionTable
from bls.machine.platform import Platform
from bls.options import MEMORY
from bls.scheduler_options import ConstraintOptions
from bls.workloads.columns import rejects_text
from bls.workloads.selection import check_preset
from bls.workloads.workload import TOO_WIDE, Workload
from traces.base.errors import InputError, PluginError, shown
from traces.base.options import SEED, named
from traces.base.time import MAX_NS
from traces.compiled import Array

if TYPE_CHECKING:
    from bls.constraints.advance_reservations import Windows
    from bls.constraints.dependencies import Dependencies
    from bls.constraints.outages import Outages
    from bls.constraints.resource_requests import Requests
    from bls.constraints.widths import Widths

NO_PARTITION = "no partition"


def assign(workload: Workload, platform: Platform) -> tuple[Workload, Array]:
    """The jobs that can run in their partitions, and the partition of each: a row of ``Platform.partition_table``, the first
    that has the job's numbers, or else the default. Applying it again to the result changes nothing.

    Other jobs are counted as rejects, each under the first reason that applies: wider than any partition (``TOO_WIDE``),
    ``NO_PARTITION``, or ``BEYOND_LIMITS``: it requests fewer or more cores or a longer time than its partition allows or can
    ever offer. Raises InputError if no job is left.
    """
    column, reasons = partitions_of(workload, platform)
    rejected = np.any([*reasons.values()], axis=0)
    if not rejected.any():
        return workload, column
    if rejected.all():
        found = {reason: int(np.count_nonzero(mask)) for reason, mask in reasons.items()}
        raise InputError(f"{workload.source}: none of {len(workload)} jobs fits its partition: {rejects_text(found)}")
    return workload.rejecting(reasons), column[~rejected]


def partitions_of(workload: Workload, platform: Platform) -> tuple[Array, dict[str, Array]]:
    """The row of each job's partition, int64 (n,), -1 for none; and masks of jobs that cannot run: bool (n,) by reason."""
    table = platform.partition_table
    partitions = platform.partitions or (Partition("all", default=True),)
    column = np.full(len(workload), -1, np.int64)
    fallback = -1
    for row, p in enumerate(partitions):
        member = (column < 0) & bool(p.swf_partitions or p.swf_queues)
        for numbers, wanted in ((workload.partition, p.swf_partitions), (workload.queue, p.swf_queues)):
            if wanted:
                member &= np.isin(numbers, wanted)
        column[member] = row
        fallback = row if p.default else fallback
    column[column < 0] = fallback
    limits = [(p.max_cores, p.max_running_cores, p.max_cores_per_user) for p in partitions]
    most = [min(filter(None, (*three, n))) for three, n in zip(limits, table.n_cores.tolist(), strict=True)]
    least = np.array([p.min_cores or 1 for p in partitions], dtype=np.int64)
    longest = np.array([p.max_time_ns or MAX_NS for p in partitions], dtype=np.int64)
    wide = workload.cores > table.n_cores.max()
    homeless = ~wide & (column < 0)
    beyond = workload.cores > np.array(most, dtype=np.int64)[column]
    beyond |= (workload.cores < least[column]) | (workload.estimate_ns > longest[column])
    beyond &= ~wide & ~homeless
    return column, {TOO_WIDE: wide, NO_PARTITION: homeless, BEYOND_LIMITS: beyond}


_WORD = 32


@dataclass(frozen=True, eq=False)
class JobConstraints:
    """Constraints of n jobs outside the workload. None: there are no such constraints."""

    partition: Array | None = None  # int64 (n,): each job's partition; None if the platform names none
    requests: Requests | None = None  # request of a unit of each job; None: one core
    dependencies: Dependencies | None = None
    windows: Windows | None = None  # reservations and maintenance
    outages: Outages | None = None  # failures of hosts
    widths: Widths | None = None  # least and largest number of cores of malleable jobs; None: there are none
    # whether the engine keeps track of single cores although these jobs request nothing else: other jobs of the run may
    cores_differ: bool = False

    @property
    def drains(self) -> bool:
        """Whether hosts are drained."""
        return self.outages is not None and self.outages.drained is not None

    def requested_gpus(self, cores: Array) -> Array:
        """Thousandths of GPUs that jobs of these cores request in all, int64 (n,): ``GpuRequests.milli_in_all``."""
        asked, gpus = self.requests, None if self.requests is None else self.requests.gpus
        return 0 * cores if asked is None or gpus is None else gpus.milli_in_all(cores // asked.unit_cores)

    def interchangeable(self, platform: Platform) -> bool:
        """Whether all free cores are equivalent to every job, now and later."""
        table = platform.partition_table
        return (
            not self.cores_differ
            and len(table) == 1
            and int(table.n_cores[0]) == platform.n_cores
            and (self.requests is None or self.requests.plain)
            and (self.windows is None or len(self.windows) == 0)
        )


def core_mask(lo: Array, hi: Array, n_cores: int) -> Array:
    """The cores of some half-open intervals as words of 32 bits (int64), as in ``bls.availability.free_cores``."""
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
    """Times of maintenance of each host: (begin, end) pairs, ascending."""
    found: list[list[tuple[int, int]]] = [[] for _ in range(n_hosts)]
    if windows is not None:
        for w, (a, b) in enumerate(_spans(windows.host_first)):
            for lo, hi in zip(windows.host_lo[a:b].tolist(), windows.host_hi[a:b].tolist(), strict=True):
                for host in range(lo, hi):
                    found[host].append((int(windows.begin_ns[w]), int(windows.end_ns[w])))
    return [sorted(pairs) for pairs in found]


def outage_columns(outages: Outages | None, windows: Windows | None, n_hosts: int) -> tuple[Array, Array, Array]:
    """``first``, ``down_ns`` and ``up_ns`` of ``BatchState.outages``: failures of all hosts, then their maintenance, and then
    their drains if there are any; empty if there is nothing. A repair that never happens is at ``bls.engine.state.NEVER``."""
    if outages is None and (windows is None or not len(windows.host_lo)):
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64)
    planned = planned_outages(windows, n_hosts)
    pairs = np.array([pair for host in planned for pair in host], np.int64).reshape(-1, 2)
    nothing = (np.zeros(n_hosts + 1, np.int64), pairs[:0, 0], pairs[:0, 1])
    failures = nothing if outages is None else (outages.first, outages.down_ns, outages.up_ns)
    parts = [failures, (np.cumsum([0, *map(len, planned)]), pairs[:, 0], pairs[:, 1])]
    if outages is not None and (drained := outages.drained) is not None:
        parts.append((drained.first, np.where(drained.down_ns < MAX_NS, drained.down_ns, NEVER), drained.up_ns))
    first = np.zeros(1, np.int64)
    for begins, _, _ in parts:
        first = np.append(first, first[-1] + begins[1:])
    down, up = (np.concatenate([part[column] for part in parts]) for column in (1, 2))
    return first, down, np.where(up < MAX_NS, up, NEVER)


def _spans(first: Array) -> list[tuple[int, int]]:
    return list(zip(first[:-1].tolist(), first[1:].tolist(), strict=True))


def unaware_of(policy: object) -> frozenset[str]:
    """Features that a policy does not take into account. Raises PluginError if they are not names of ``UNAWARE``."""
    said: object = getattr(policy, "unaware_of", ())
    names = frozenset(said) if isinstance(said, Collection) and not isinstance(said, str) else None
    if names is None or not names <= UNAWARE.keys():
        name = getattr(policy, "name", type(policy).__name__)
        allowed = f"a collection of {', '.join(sorted(UNAWARE))}"
        raise PluginError(f"batch policy {name}: unaware_of: {shown(said)}; allowed: {allowed}")
    return names


def constrain(
    workload: Workload,
    platform: Platform,
    said: ConstraintOptions,
    *,
    seed: int = SEED.default,
    known_jobs: Array | None = None,
) -> tuple[Workload, JobConstraints]:
    """The jobs that can run, and their constraints. Jobs that do not fit any partition or host are counted as rejects.
    ``workload``: fitted to the platform and selected. ``seed``: of a model of failures, and of a share of the jobs.
    ``known_jobs``: all job numbers that a file of requests may name, e.g. those of the log before a selection. Raises
    InputError if a file cannot be used or no job is left."""
    check_preset(workload, platform.n_cores)
    workload, partition = assign(workload, platform)
    limit, asked = 0, None
    if said.switches is not None:
        if not platform.switches:
            raise InputError(f"{SWITCHES}: the platform names no switches; give it [[switches]]")
        limit, _ = switch_limit(said.switches)
    if limit or said.memory != MEMORY.default or said.requests is not None or platform.n_gpus:
        from bls.constraints.resource_requests import fit_requests, requests

        memory, path = said.memory, said.requests
        asked = requests(
            workload, platform, memory=memory, path=path, known=known_jobs, switches=limit, partition=partition
        )
        if asked.begin_ns is not None:
            begin_ns = np.where(asked.begin_ns >= 0, asked.begin_ns, workload.begin_ns)
            workload = workload.take(np.arange(len(workload)), begin_ns=begin_ns)
        workload, partition, asked = fit_requests(workload, partition, asked, platform)
    known = np.empty(0, np.int64) if known_jobs is None else known_jobs

    def made(place: str, option: object, *given: object, **seed: int) -> Any:
        # The constraints that an option gives; few runs have any, and load their modules.
        return None if option in (None, False) else named(f"bls.constraints.{place}")(*given, **seed)

    return workload, JobConstraints(
        partition=partition if platform.partitions else None,
        requests=None if asked is None or asked.plain else asked,
        dependencies=made("dependencies:dependencies", said.dependencies, workload),
        windows=made("advance_reservations:load_windows", said.windows, said.windows, platform),
        outages=made("outages:outages", said.failures, said.failures, platform, seed=seed),
        widths=made("widths:widths", said.malleable, said.malleable, workload, platform, partition, known, seed),
    )
