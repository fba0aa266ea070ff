"""The batch level: workloads, the platform, the queue, policies, allocators, and the engine that runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traces.lazy import lazy_names

if TYPE_CHECKING:
    from bls.allocators import Allocator, allocator, allocator_kernel
    from bls.description import describe
    from bls.metrics import batch_metrics, schedule_metrics
    from bls.partitions import Partition
    from bls.platform import HostGroup, Network, Platform, load_platform
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
    from bls.rules import Rules
    from bls.selection import fit, select
    from bls.simulator import BatchSimulator
    from bls.surroundings import Surroundings
    from bls.view import Observer, SeenJob, View
    from bls.workload import Workload
    from bls.workloads import read_workload, sample_path

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
        "HostGroup": "bls.platform",
        "KnownJobs": "bls.policies",
        "Network": "bls.platform",
        "Observer": "bls.view",
        "Partition": "bls.partitions",
        "Platform": "bls.platform",
        "Policy": "bls.policies",
        "Rules": "bls.rules",
        "ScorePolicy": "bls.policies",
        "ScoringPolicy": "bls.policies",
        "SeenJob": "bls.view",
        "Surroundings": "bls.surroundings",
        "View": "bls.view",
        "Workload": "bls.workload",
        "account_kernel": "bls.policies",
        "allocator": "bls.allocators",
        "allocator_kernel": "bls.allocators",
        "batch_metrics": "bls.metrics",
        "describe": "bls.description",
        "fit": "bls.selection",
        "load_platform": "bls.platform",
        "policy": "bls.policies",
        "read_workload": "bls.workloads",
        "sample_path": "bls.workloads",
        "schedule_metrics": "bls.metrics",
        "score_kernel": "bls.policies",
        "select": "bls.selection",
    },
)
