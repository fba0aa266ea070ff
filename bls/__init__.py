"""The batch level: workloads, the platform, the queue, policies, allocators, and the engine that runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traces.base.lazy import lazy_names

if TYPE_CHECKING:
    from bls.allocators import Allocator, allocator, allocator_kernel
    from bls.analysis.description import describe
    from bls.constraints.options import Surroundings
    from bls.machine.partitions import Partition
    from bls.machine.platform import HostGroup, Network, Platform, load_platform
    from bls.metrics.batch import batch_metrics, schedule_metrics
    from bls.policies import (
        AnyPolicy,
        DecidingPolicy,
        KnownJobs,
        Policy,
        ScorePolicy,
        ScoringPolicy,
        account_kernel,
        policy,
        score_kernel,
    )
    from bls.scheduler_options import Rules
    from bls.simulator import BatchSimulator
    from bls.view import Observer, SeenJob, View
    from bls.workloads import read_workload, sample_path
    from bls.workloads.selection import fit, select
    from bls.workloads.workload import Workload

__all__ = [
    "Allocator",
    "AnyPolicy",
    "BatchSimulator",
    "DecidingPolicy",
    "HostGroup",
    "KnownJobs",
    "Network",
    "Observer",
    "Partition",
    "Platform",
    "Policy",
    "Rules",
    "ScorePolicy",
    "ScoringPolicy",
    "SeenJob",
    "Surroundings",
    "View",
    "Workload",
    "account_kernel",
    "allocator",
    "allocator_kernel",
    "batch_metrics",
    "describe",
    "fit",
    "load_platform",
    "policy",
    "read_workload",
    "sample_path",
    "schedule_metrics",
    "score_kernel",
    "select",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Allocator": "bls.allocators",
        "AnyPolicy": "bls.policies",
        "BatchSimulator": "bls.simulator",
        "DecidingPolicy": "bls.policies",
        "HostGroup": "bls.machine.platform",
        "KnownJobs": "bls.policies",
        "Network": "bls.machine.platform",
        "Observer": "bls.view",
        "Partition": "bls.machine.partitions",
        "Platform": "bls.machine.platform",
        "Policy": "bls.policies",
        "Rules": "bls.scheduler_options",
        "ScorePolicy": "bls.policies",
        "ScoringPolicy": "bls.policies",
        "SeenJob": "bls.view",
        "Surroundings": "bls.constraints.options",
        "View": "bls.view",
        "Workload": "bls.workloads.workload",
        "account_kernel": "bls.policies",
        "allocator": "bls.allocators",
        "allocator_kernel": "bls.allocators",
        "batch_metrics": "bls.metrics.batch",
        "describe": "bls.analysis.description",
        "fit": "bls.workloads.selection",
        "load_platform": "bls.machine.platform",
        "policy": "bls.policies",
        "read_workload": "bls.workloads",
        "sample_path": "bls.workloads",
        "schedule_metrics": "bls.metrics.batch",
        "score_kernel": "bls.policies",
        "select": "bls.workloads.selection",
    },
)
