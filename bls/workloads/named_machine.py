"""The machine that a log names: what its header, or what a reader makes of other formats, says of nodes and processors."""

from __future__ import annotations

import re
from collections.abc import Iterable

from bls.machine.platform import MAX_CORES, HostGroup, Platform
from bls.workloads.calendar import header_facts
from bls.workloads.workload import Workload
from traces.base.options import CORE_GFLOPS

#: A number, behind which may stand in parentheses how it is divided among partitions.
_NUMBER = re.compile(r"([0-9]{1,18})(?:\s*\(.*\))?")


def named_size(header: Iterable[str]) -> tuple[int, int]:
    """How many cores (``MaxProcs``) and nodes (``MaxNodes``) a header names; 0 for what it does not say."""
    facts = header_facts(header)
    found = (_NUMBER.fullmatch(facts.get(name, "")) for name in ("MaxProcs", "MaxNodes"))
    cores, nodes = (int(one[1]) if one else 0 for one in found)
    return cores, nodes


def named_machine(log: Workload) -> Platform | None:
    """The machine that a log names, its cores as fast as those of the two-level paper's.

    It has as many cores as ``MaxProcs`` says, on as many hosts as ``MaxNodes`` says. Where these do not divide, the
    first hosts have a core more than the others. Without a number of nodes, or with more nodes than cores, each host
    has one core. Returns None if the header names no number of cores, or one that no platform may have.
    """
    cores, nodes = named_size(log.header)
    if not 0 < cores <= MAX_CORES:
        return None
    hosts = nodes if 0 < nodes <= cores else cores
    each, larger = divmod(cores, hosts)
    groups = ((larger, each + 1), (hosts - larger, each))
    return Platform(tuple(HostGroup(count, size, size * CORE_GFLOPS.default) for count, size in groups if count))
