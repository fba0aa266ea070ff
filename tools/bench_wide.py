"""The benchmark's cases in which it matters which cores are free: 65,536 of them beside 256, with the same jobs in proportion.

Where nothing is in proportion to the machine's cores, a job on the larger machine costs little more than one on the smaller.
"""

from __future__ import annotations

import random
import statistics
import time

from bls.allocators import allocator
from bls.constraints.job_constraints import JobConstraints
from bls.constraints.partition_assignment import assign
from bls.engine.status import BatchStatus
from bls.machine.partitions import Partition
from bls.machine.platform import HostGroup, Platform
from bls.policies import policy
from bls.scheduler_options import Rules
from bls.simulator import BatchSimulator
from bls.workloads.workload import Workload
from tools.bench_rows import Row, row, timed

__all__ = ["which_cores"]

_HOSTS, _CORES = (16, 4_096), 16
_JOBS = 1_500


def _machine(hosts: int, partitions: int) -> Platform:
    size = hosts // partitions
    parts = tuple(
        Partition(str(k), hosts=f"{k * size}-{(k + 1) * size - 1}", swf_partitions=(k,)) for k in range(partitions)
    )
    return Platform(hosts=(HostGroup(count=hosts, cores=_CORES, speed_gflops=1.0),), partitions=parts)


def _jobs(hosts: int, partitions: int) -> Workload:
    # The widest of them need an eighth of a partition.
    draw = random.Random(1)
    unit = hosts * _CORES // 256
    return Workload.from_jobs(
        {
            "job_id": k + 1,
            "submit_s": 9 * k,
            "run_s": draw.randint(50, 200),
            "cores": draw.randint(1, 32 // partitions) * unit,
            "estimate_s": 300,
            "partition": k % partitions,
        }
        for k in range(_JOBS)
    )


def _us_a_job(placed: str, backfill: str, partitions: int, hosts: int) -> list[float]:
    machine = _machine(hosts, partitions)
    jobs, partition = assign(_jobs(hosts, partitions), machine)
    around = JobConstraints(partition=partition if partitions > 1 else None)

    def work() -> float:
        simulator = BatchSimulator(
            jobs,
            machine,
            policy("fcfs"),
            allocator(placed),
            rules=Rules(backfill),
            circumstances=around,
            recorded=True,
        )
        began = time.perf_counter()
        assert simulator.advance(2**40) == BatchStatus.DONE
        return (time.perf_counter() - began) * 1e6 / _JOBS

    return timed(work, 5)


def which_cores() -> list[Row]:
    """Microseconds a job: contiguous, whole hosts, partitions; without backfilling and with EASY."""
    cases = [
        ("contiguous", "none", 1),
        ("contiguous", "easy", 1),
        ("whole-host", "easy", 1),
        ("first-fit", "none", 4),
        ("first-fit", "easy", 4),
    ]
    rows = []
    for placed, backfill, partitions in cases:
        small, large = (_us_a_job(placed, backfill, partitions, hosts) for hosts in _HOSTS)
        named = f"{placed}, {backfill}{f', {partitions} partitions' if partitions > 1 else ''}"
        times = statistics.median(large) / statistics.median(small)
        note = f"on 256 cores {statistics.median(small):.1f} µs: {times:.1f} times"
        rows.append(row(f"65,536 cores, {named}, a job", "", large, unit="µs", note=note))
    return rows
