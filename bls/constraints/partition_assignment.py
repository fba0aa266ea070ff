"""Which partition a job belongs to, told by what its log says; and who fits none."""

from __future__ import annotations

import numpy as np

from bls.machine.partitions import Partition, partition_table
from bls.machine.platform import Platform
from bls.workloads.rejected import rejects_text
from bls.workloads.workload import TOO_WIDE, Workload
from traces.base.errors import InputError
from traces.base.time import MAX_NS
from traces.compiled import Array

NO_PARTITION = "no partition"
BEYOND_LIMITS = "beyond its partition's limits"


def assign(workload: Workload, platform: Platform) -> tuple[Workload, Array]:
    """The partition of each job: the first whose numbers have the job's, else the default one.

    - ``workload``: any. What is given back may be given again, and stays the same.
    - ``platform``: its partitions; where it has none, all jobs belong to partition 0 of :func:`partition_table`

    Returns ``workload``: the jobs that can run in their partition. The others are counted as rejects, each under the
    first reason that applies: wider than any partition (``TOO_WIDE``), ``NO_PARTITION``, or ``BEYOND_LIMITS``: it asks
    for fewer or more cores or a longer time than its partition allows or ever has free for it; ``partition``, int64
    (n,): row of each job's partition in :func:`partition_table`. Raises InputError if no job is left.
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
    """The row of each job's partition, int64 (n,), -1 of none; and who cannot run there: by reason, bool (n,)."""
    table = partition_table(platform)
    partitions = platform.partitions or (Partition("all", default=True),)
    column = np.full(len(workload), -1, np.int64)
    fallback = -1
    for row, p in enumerate(partitions):
        if p.swf_partitions or p.swf_queues:
            member = column < 0
            if p.swf_partitions:
                member &= np.isin(workload.partition, p.swf_partitions)
            if p.swf_queues:
                member &= np.isin(workload.queue, p.swf_queues)
            column[member] = row
        if p.default:
            fallback = row
    column[column < 0] = fallback
    most = [
        min(limit for limit in (p.max_cores, p.max_running_cores, p.max_cores_per_user, n_cores) if limit)
        for p, n_cores in zip(partitions, table.n_cores.tolist(), strict=True)
    ]
    least = np.array([p.min_cores or 1 for p in partitions], dtype=np.int64)
    longest = np.array([p.max_time_ns or MAX_NS for p in partitions], dtype=np.int64)
    wide = workload.cores > table.n_cores.max()
    homeless = ~wide & (column < 0)
    beyond = workload.cores > np.array(most, dtype=np.int64)[column]
    beyond |= (workload.cores < least[column]) | (workload.estimate_ns > longest[column])
    beyond &= ~wide & ~homeless
    return column, {TOO_WIDE: wide, NO_PARTITION: homeless, BEYOND_LIMITS: beyond}
