"""The machine that a source ran on, and the changed one that a generated workload is for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from bls.machine.platform import MAX_CORES, MEMORY, Platform
from bls.machine.platform_files import PROCESSOR_GFLOPS
from bls.options import NODES_FACTOR, SPEED_FACTOR
from bls.workloads.header import named_size
from bls.workloads.workload import Workload
from traces.base.errors import InputError, one_of, real, shown, whole
from traces.base.time import MAX_NS

#: What a job's request per node may be limited in.
LIMITS = ("cores", "gpus", "memory_kb")


class Gpus(NamedTuple):
    """Accelerators of a machine: some of its nodes have ``cards`` each, of ``speed_gflops`` GFLOP/s a card."""

    share: float
    cards: int
    speed_gflops: float


#: Smallest and largest amount that a job asks for on each of its nodes, by name.
Limits = Mapping[str, tuple[int, int]]


@dataclass(frozen=True)
class EqualNodes:
    """Equal nodes."""

    # number of nodes, and of cores in all; the cores of a node are cores // nodes
    nodes: int
    cores: int
    core_gflops: float  # speed of a core in GFLOP/s
    node_memory_kb: int = 0  # memory of each node; 0 if unknown
    # nodes that have GPUs, and the cards of each; 0 if there are none
    gpu_nodes: int = 0
    cards: int = 0
    card_gflops: float = 0.0  # speed of a card in GFLOP/s

    @property
    def node_cores(self) -> int:
        """Cores of a node."""
        return self.cores // self.nodes


def machine_of(source: Workload, platform: Platform | None) -> EqualNodes:
    """The machine that a workload ran on. ``platform``: the machine, where it is known; unequal hosts count as so many
    average ones. Without it, what the header says: as many cores as ``MaxProcs`` (else the widest job) on ``MaxNodes`` nodes
    (else one core each), with the default platform's speed per core."""
    if platform is not None:
        speed = float(platform.core_speed_gflops.mean())
        memory = 0
        if MEMORY in platform.resource_names:
            memory = int(platform.host_resources[:, platform.resource_names.index(MEMORY)].min())
        return EqualNodes(platform.n_hosts, platform.n_cores, speed, memory)
    cores, nodes = named_size(source.header)
    cores = max(int(source.cores.max()), cores)
    return EqualNodes(nodes if 0 < nodes <= cores else cores, cores, PROCESSOR_GFLOPS)


def changed(
    machine: EqualNodes, speed_factor: float, nodes_factor: float, gpus: tuple[float, int, float] | None
) -> EqualNodes:
    """The machine with cores so many times as fast, so many times as many nodes, and GPUs. Raises InputError if a
    factor is not from 1e-6 to 1e6, no node or too many cores are left, or the GPUs are impossible."""
    faster = SPEED_FACTOR.check(speed_factor, "speed_factor")
    more = NODES_FACTOR.check(nodes_factor, "nodes_factor")
    nodes = round(machine.nodes * more)
    if nodes < 1:
        raise InputError(
            f"nodes_factor: {shown(nodes_factor)} leaves none of {machine.nodes} nodes; allowed: at least 1"
        )
    cores = machine.cores * nodes // machine.nodes
    if cores > max(MAX_CORES, machine.cores):
        raise InputError(f"nodes_factor: {shown(nodes_factor)} makes {cores} cores; allowed: up to {MAX_CORES}")
    speed = machine.core_gflops * faster
    if gpus is None:
        return EqualNodes(nodes, cores, speed, machine.node_memory_kb)
    if not isinstance(gpus, tuple) or len(gpus) != 3:
        raise InputError(f"gpus: {shown(gpus)}; allowed: (share of the nodes, cards of each, GFLOP/s of a card)")
    share = real("gpus: share", gpus[0], 0.0, 1.0)
    cards = whole("gpus: cards", gpus[1], 1, MAX_CORES)
    card_gflops = real("gpus: speed_gflops", gpus[2], 1e-9, 1e15)
    # A hair more, so that a third of 3 nodes is one.
    gpu_nodes = int(share * nodes + 1e-9)
    if gpu_nodes < 1:
        raise InputError(f"gpus: share {share:g} of {nodes} nodes is less than one node")
    return EqualNodes(nodes, cores, speed, machine.node_memory_kb, gpu_nodes, cards, card_gflops)


def checked_limits(limits: Limits | None, machine: EqualNodes) -> dict[str, tuple[int, int]]:
    """The limits as a dict. Raises InputError if a name is unknown, or a limit is no pair of ascending whole numbers
    that a node of the machine can meet."""
    most = {
        "cores": (1, machine.node_cores),
        "gpus": (0, machine.cards),
        "memory_kb": (1, machine.node_memory_kb or MAX_NS),
    }
    found: dict[str, tuple[int, int]] = {}
    for name, pair in (limits or {}).items():
        if name not in LIMITS:
            raise one_of("limit", name, LIMITS, "limits")
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise InputError(f"limits.{name}: {shown(pair)} is no pair; allowed: (smallest, largest)")
        if name == "gpus" and machine.cards == 0:
            raise InputError(f"limits.gpus: {shown(pair)}: the machine has no GPUs; give it some with gpus")
        lowest, highest = most[name]
        low, high = (whole(f"limits.{name} of a node", value, lowest, highest) for value in pair)
        if low > high:
            raise InputError(f"limits.{name}: {low} to {high} is empty; allowed: the smallest first")
        found[name] = (low, high)
    return found
