"""The batch level: workloads, the platform, the queue, policies, allocators, and the engine that runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traces.lazy import lazy_names

if TYPE_CHECKING:
    from bls.allocators import Allocator, allocator, allocator_kernel
    from bls.description import describe
    from bls.metrics import batch_metrics
    from bls.platform import HostGroup, Network, Platform, load_platform
    from bls.policies import KnownJobs, Policy, policy
    from bls.selection import fit, select
    from bls.simulator import BatchSimulator
    from bls.workload import Workload
    from bls.workloads import read_workload, sample_path

__all__ = [
    "Allocator",
    "BatchSimulator",
    "HostGroup",
    "KnownJobs",
    "Network",
    "Platform",
    "Policy",
    "Workload",
    "allocator",
    "allocator_kernel",
    "batch_metrics",
    "describe",
    "fit",
    "load_platform",
    "policy",
    "read_workload",
    "sample_path",
    "select",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Allocator": "bls.allocators",
        "BatchSimulator": "bls.simulator",
        "HostGroup": "bls.platform",
        "KnownJobs": "bls.policies",
        "Network": "bls.platform",
        "Platform": "bls.platform",
        "Policy": "bls.policies",
        "Workload": "bls.workload",
        "allocator": "bls.allocators",
        "allocator_kernel": "bls.allocators",
        "batch_metrics": "bls.metrics",
        "describe": "bls.description",
        "fit": "bls.selection",
        "load_platform": "bls.platform",
        "policy": "bls.policies",
        "read_workload": "bls.workloads",
        "sample_path": "bls.workloads",
        "select": "bls.selection",
    },
)
