"""What generated jobs ask for and how long they run: the three phases of the AccaSim paper's section 7.3.

First the type of a job, serial or parallel, and its nodes; then what it asks for on each node, uniformly within the request
limits; then its run time, which is a number of FLOPs over the speed of all that it asks for. The FLOPs are those of
a job of the source, drawn with equal chances: run time × cores × speed of a core.

``accasim``: the type and the nodes do not depend on the FLOPs. A job is serial with the source's share of serial jobs
(one core); the nodes of the others are two-stage uniform in their log2 (``bls.workloads.generators.sizes``), from 1 to the
source's most, which grow with the number of nodes; the bend is at the median of the source's parallel jobs, and the share
of powers of two is theirs. On one node a parallel job asks for two cores at least. The paper lets any FLOPs meet any
width, so that the work of the widest job would keep a single core busy for decades. Here, as in AccaSim's program,
a job is parallel if its FLOPs are beyond those of every serial job of the source, and it gets as many nodes, if there are,
as it needs in order not to run for longer than the source's longest job (on the source's cores).

``calendar``: the job whose FLOPs were drawn is taken whole. It is serial if that one is, and where there are no limits of
cores, it asks for as many cores. Jobs of several nodes grow with the number of nodes; those of one node do not.

A parallel job asks for GPUs too with the share of nodes that have any as its probability, if so many nodes have them.

Source: C. Galleguillos et al., Cluster Computing 23, 2020, section 7.3, doi:10.1007/s10586-019-02905-5.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bls.workloads.generators.machines import EqualNodes
from bls.workloads.generators.made import stream
from bls.workloads.generators.sizes import JobSizes
from bls.workloads.workload import Workload
from traces.base.errors import InputError
from traces.base.time import MAX_NS, NS_PER_S
from traces.compiled import Array


class DrawnRequests(NamedTuple):
    """What jobs ask for: int64 arrays of shape (n,).

    ``cores`` in all; ``unit_cores`` and ``gpus`` on each of cores / unit_cores nodes; ``memory_kb`` for each core, or
    None where there are no limits of memory.
    """

    cores: Array
    unit_cores: Array
    gpus: Array
    memory_kb: Array | None


def drawn_requests(
    source: Workload,
    rows: Array,
    before: EqualNodes,
    machine: EqualNodes,
    limits: dict[str, tuple[int, int]],
    method: str,
    seed: int,
) -> DrawnRequests:
    """The requests of generated jobs.

    - ``source``: jobs that fit ``before``
    - ``rows``, int64 (n,): the source's job that each is made of
    - ``before``, ``machine``: the source's machine, and the generated jobs'
    - ``limits``: as ``bls.workloads.generators.machines.checked_limits`` gives them
    - ``method``, {"calendar", "accasim"}: how the first phase is done
    - ``seed``: of the streams
    """
    n = len(rows)
    gflop = _gflop(source, before)
    work = gflop[rows]
    chance = stream(seed, "requests")
    if method == "accasim":
        sizes = node_sizes(source, before, machine)
        serial = gflop[source.cores == 1]
        parallel = stream(seed, "types").random(n) >= len(serial) / len(source)
        parallel |= work > (serial.max() if len(serial) else 0.0)
        nodes = np.where(parallel, sizes.drawn(n, machine.nodes, stream(seed, "nodes")), 1)
        limits = {"cores": (1, machine.node_cores)} | limits
        width = nodes
    else:
        width = _scaled(source.cores[rows], before, machine)
        parallel = width > 1
        nodes = np.minimum(-(-width // machine.node_cores), machine.nodes)
    if "cores" in limits:
        low, high = limits["cores"]
        if high == 1:  # nodes of one core: a parallel job needs two of them
            nodes = np.where(parallel, np.minimum(np.maximum(nodes, 2), machine.nodes), nodes)
        least = np.where(parallel & (nodes == 1), min(max(low, 2), high), low)
        most = np.where(parallel, high, low)
        unit = least + np.floor(chance.random(n) * (most - least + 1)).astype(np.int64)
        if method == "accasim":
            longest_s = int(source.run_ns.max()) / NS_PER_S
            needed = np.ceil(work / (unit * before.core_gflops * longest_s) - 1e-9).astype(np.int64)
            nodes = np.minimum(np.maximum(nodes, needed), machine.nodes)
        width = nodes * unit
    else:
        unit = width // nodes
    gpus = np.zeros(n, np.int64)
    if machine.cards:
        low, high = limits.get("gpus", (1, machine.cards))
        with_gpus = stream(seed, "gpus").random(n) < machine.gpu_nodes / machine.nodes
        with_gpus &= parallel & (nodes <= machine.gpu_nodes)
        gpus[with_gpus] = stream(seed, "cards").integers(low, high + 1, int(np.count_nonzero(with_gpus)))
        width = np.where(gpus > 0, nodes * unit, width)  # equal on all nodes
    unit = np.where(nodes * unit == width, unit, 1)
    if "memory_kb" not in limits:
        return DrawnRequests(width, unit, gpus, None)
    low, high = limits["memory_kb"]
    each = stream(seed, "memory").integers(low, high + 1, n)
    return DrawnRequests(width, unit, gpus, np.maximum(each // unit, 1))


def node_sizes(source: Workload, before: EqualNodes, machine: EqualNodes) -> JobSizes:
    """The distribution of the nodes of parallel jobs in the ``accasim`` method; all of its jobs are parallel."""
    parallel = source.cores[source.cores > 1]
    if len(parallel) == 0:
        return JobSizes(serial=0.0, power_of_two=0.0, low=0.0, middle=0.0, high=0.0, first=1.0)
    nodes = np.maximum(1, np.rint(-(-parallel // before.node_cores) * (machine.nodes / before.nodes)))
    nodes = np.minimum(nodes, machine.nodes)
    bend = float(np.median(nodes))
    return JobSizes(
        serial=0.0,
        power_of_two=float(np.mean(np.exp2(np.rint(np.log2(nodes))) == nodes)),
        low=0.0,
        middle=math.log2(bend),
        high=math.log2(float(nodes.max())),
        first=float(np.mean(nodes <= bend)),
    )


def _gflop(source: Workload, before: EqualNodes) -> Array:
    return np.asarray(source.cores * (source.run_ns / NS_PER_S) * before.core_gflops)


def _scaled(cores: Array, before: EqualNodes, machine: EqualNodes) -> Array:
    """Widths on a machine of another number of nodes: those of jobs of several nodes grow or shrink with it."""
    if machine.nodes == before.nodes:
        return cores
    several = cores > before.node_cores
    grown = np.rint(cores * (machine.nodes / before.nodes)).astype(np.int64)
    return np.minimum(np.where(several, np.maximum(grown, 1), cores), machine.cores)


def run_times_ns(
    source: Workload, rows: Array, before: EqualNodes, machine: EqualNodes, requests: DrawnRequests
) -> Array:
    """Run times: whole seconds in ns, at least one. Raises InputError if one is beyond 146 years."""
    nodes = requests.cores // requests.unit_cores
    speed = requests.cores * machine.core_gflops + nodes * requests.gpus * machine.card_gflops
    run_s = np.maximum(np.rint(_gflop(source, before)[rows] / speed), 1.0)
    if not run_s.max() * NS_PER_S <= MAX_NS:
        raise InputError(
            f"speed_factor: cores of {machine.core_gflops:g} GFLOP/s would need more than 146 years for a job of "
            f"{source.source}"
        )
    return run_s.astype(np.int64) * NS_PER_S
